package tidy

import (
	"slices"
	"strings"
	"testing"
)

// importRules says who may import which of our packages, all on a line:
//
//	PACKAGE, PACKAGE < WHAT THEY MAY IMPORT
//
// A package that is in no line may import nothing of ours and be imported by
// nobody: a new package needs a line, and the line is the place to think about
// its direction. An entry that ends in /... takes the folders below as well.
// Tests may import what their package may, their package's own folders, and
// what testRules adds.
const importRules = `
	NONE
	< tlsstack/wire, tlsstack/record, certstore, certstore/dev, proxy/httpmsg, proxy/relay, proxy/proxyproto, proxy/resolve, proxy/bridge;

	NONE
	< bpfvm/isa, bpfvm/amd64, edge/config, edge/reactor, edge/sdk, edge/capture;

	tlsstack/wire
	< tlsstack/keys, ja4;

	tlsstack/wire, tlsstack/keys
	< ech;

	ech
	< ech/keydir;

	ech, tlsstack/wire, tlsstack/record
	< ech/split;

	ech
	< ech/keydir;

	tlsstack/wire, tlsstack/record, tlsstack/keys, ech
	< tlsstack;

	bpfvm/isa
	< bpfvm/asm, bpfvm/elf;

	bpfvm/isa, bpfvm/amd64, bpfvm/elf
	< bpfvm;

	proxy/httpmsg
	< proxy/http1, proxy/http2, proxy/coding, edge/site;

	proxy/httpmsg, proxy/http1
	< proxy, proxy/probe;

	edge/reactor
	< edge/reactor/uring, edge/reactor/epoll, edge/reactor/sim, edge/service;

	tlsstack/..., ech/..., ja4, certstore/..., proxy/..., bpfvm/..., edge/config, edge/site,
	edge/sdk, edge/reactor, edge/reactor/sim, edge/service
	< edge/gateway;

	# Publishing keys in DNS is work beside serving: the commands alone do it. To
	# DNS a list of configurations is bytes.
	NONE
	< edge/dnspub, edge/dnspub/dnstest;

	# What a client would do with them.
	ech, ech/keydir, edge/dnspub, tlsstack/wire
	< edge/echcheck;

	# The commands call the package that does the work; main alone knows which
	# reactors there are.
	edge/capture, edge/config, edge/dnspub, edge/echcheck, edge/gateway, edge/reactor, edge/sdk, edge/service, edge/site, certstore/..., tlsstack, ech/..., ja4, bpfvm/...
	< edge/cmd;

	edge/cmd, edge/config, edge/gateway, edge/reactor, edge/reactor/uring, edge/reactor/epoll, edge/service
	< edge;

	# What every reactor must do; the real one runs it from its own tests.
	edge/reactor, edge/reactor/sim
	< edge/reactor/reactortest;

	# Measuring the reactors alone.
	edge/reactor, edge/reactor/uring, edge/reactor/epoll
	< edge/reactor/uring/echobench;

	NONE
	< tools/tidy, tools/bench/looper, tools/doh;

	tlsstack/..., ech, certstore
	< tools/bogoshim;

	bpfvm/...
	< tools/bpfasm;

	NONE
	< tools/soak/websocket, examples/app;

	# Traffic for a proxy, which it looks at from outside alone.
	tools/soak/websocket
	< tools/soak/traffic, tools/browser/app;

	tools/soak/traffic
	< tools/soak;
`

// testRules is what tests may import beyond importRules.
const testRules = `
	# The gateway's tests run it whole, on every reactor.
	edge/reactor/uring, edge/reactor/epoll, edge/capture
	< edge/gateway;

	# What speaks DNS is tested against a server of our own.
	edge/dnspub/dnstest
	< edge/echcheck, edge/cmd;

	edge/reactor/reactortest
	< edge/reactor/uring, edge/reactor/epoll;

	# The whole program, with traffic through it.
	tools/soak/traffic, tools/soak/websocket
	< edge;
`

type rule struct{ may, who []string }

// parseRules reads the table. Its order is "what may be imported < by whom", as
// in go/build's own: the lower floor stands above the line.
func parseRules(t *testing.T, text string) []rule {
	t.Helper()
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	var out []rule
	for r := range strings.SplitSeq(strings.Join(lines, " "), ";") {
		if strings.TrimSpace(r) == "" {
			continue
		}
		may, who, ok := strings.Cut(r, "<")
		if !ok {
			t.Fatalf("rule without <: %q", r)
		}
		out = append(out, rule{list(may), list(who)})
	}
	return out
}

func list(s string) []string {
	var out []string
	for p := range strings.SplitSeq(s, ",") {
		if p = strings.TrimSpace(p); p != "" && p != "NONE" {
			out = append(out, p)
		}
	}
	return out
}

func matches(entry, pkg string) bool {
	if base, tree := strings.CutSuffix(entry, "/..."); tree {
		return pkg == base || strings.HasPrefix(pkg, base+"/")
	}
	return pkg == entry
}

func allowed(rules []rule, from, to string) bool {
	for _, r := range rules {
		if slices.Contains(r.who, from) && slices.ContainsFunc(r.may, func(e string) bool { return matches(e, to) }) {
			return true
		}
	}
	return false
}

func TestImports(t *testing.T) {
	rules, more := parseRules(t, importRules), parseRules(t, testRules)
	known := map[string]bool{}
	for _, r := range rules {
		for _, p := range r.who {
			known[p] = true
		}
	}
	for _, f := range goFiles(t) {
		if !known[f.pkg] {
			t.Errorf("%s: package %s has no line in importRules", f.name, f.pkg)
			continue
		}
		for _, i := range f.imports {
			to, ours := strings.CutPrefix(i, "edge/")
			if !ours && i != "edge" || to == f.pkg || allowed(rules, f.pkg, to) {
				continue
			}
			if f.test && (allowed(more, f.pkg, to) || strings.HasPrefix(to, f.pkg+"/")) {
				continue
			}
			t.Errorf("%s imports %s: importRules does not allow it", f.name, i)
		}
	}
}

// The rules only hold a direction if they have no circle.
func TestImportRulesHaveNoCircle(t *testing.T) {
	rules := parseRules(t, importRules)
	var all []string
	for _, r := range rules {
		all = append(all, r.who...)
	}
	const onPath, done = 1, 2
	state := map[string]int{}
	var visit func(p string, path []string)
	visit = func(p string, path []string) {
		switch state[p] {
		case done:
			return
		case onPath:
			t.Fatalf("importRules has a circle: %s", strings.Join(append(path, p), " imports "))
		}
		state[p] = onPath
		for _, q := range all {
			if q != p && allowed(rules, p, q) {
				visit(q, append(path, p))
			}
		}
		state[p] = done
	}
	for _, p := range all {
		visit(p, nil)
	}
}

// servingPath is what a client's bytes go through. Nothing there may lean on
// crypto/tls: the stack is our own, and its strictness is the point. The proxy
// speaks https to upstreams, which is another matter.
var servingPath = []string{
	"tlsstack/...", "ech/...", "ja4", "certstore/...", "edge/gateway", "edge/reactor/...", "edge/site",
	"proxy/httpmsg", "proxy/http1", "proxy/http2", "proxy/relay",
}

// servingForbidden has a reason for each.
var servingForbidden = map[string]string{
	"crypto/tls": "the serving path has its own TLS",
	"net/http":   "the serving path has its own HTTP",
	"unsafe":     "only the reactor and the program machine handle raw memory",
}

func TestServingPathStandsAlone(t *testing.T) {
	for _, f := range goFiles(t) {
		if f.test || !slices.ContainsFunc(servingPath, func(e string) bool { return matches(e, f.pkg) }) {
			continue
		}
		for _, i := range f.imports {
			why, bad := servingForbidden[i]
			if !bad || i == "unsafe" && matches("edge/reactor/...", f.pkg) {
				continue
			}
			t.Errorf("%s imports %s: %s", f.name, i, why)
		}
	}
}

// The linker flag must not creep: whoever imports giouring needs it too.
func TestGiouringStaysInUring(t *testing.T) {
	for _, f := range goFiles(t) {
		for _, i := range f.imports {
			if strings.HasPrefix(i, "github.com/pawelgaczynski/giouring") && f.pkg != "edge/reactor/uring" {
				t.Errorf("%s imports giouring: only edge/reactor/uring may", f.name)
			}
		}
	}
}

// sansIO are the protocol packages. They are handed bytes, a time and a reader of
// random bytes, and own no socket, clock, randomness or goroutine.
var sansIO = []string{
	"tlsstack/...", "ech", "ja4", "proxy/httpmsg", "proxy/http1", "proxy/http2", "proxy/relay",
}

var sansIOForbidden = []string{"net", "os", "syscall", "golang.org/x/sys/unix", "crypto/rand", "math/rand", "math/rand/v2", "context"}

func TestProtocolsOwnNothing(t *testing.T) {
	for _, f := range goFiles(t) {
		if f.test || !slices.ContainsFunc(sansIO, func(e string) bool { return matches(e, f.pkg) }) {
			continue
		}
		for _, i := range f.imports {
			if slices.Contains(sansIOForbidden, i) {
				t.Errorf("%s imports %s: a protocol package owns no socket, clock, randomness or goroutine", f.name, i)
			}
		}
	}
}
