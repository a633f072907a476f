package proxy

import (
	"bytes"

	"edge/proxy/httpmsg"
)

// fieldKind is what becomes of a field on its way through.
type fieldKind uint8

const (
	endToEnd      fieldKind = iota // goes on as it is
	hopByHop                       // ends here (RFC 9110, 7.6.1)
	connection                     // Connection: names more that ends here
	upgrade                        // goes on if the upgrade does
	te                             // goes on as "trailers"
	expect                         // goes on if the client waits
	ours                           // set by us, believed from nobody
	requestID                      // set by us, believed from trusted peers
	forwardedFor                   // X-Forwarded-For: the peer is appended
	forwardedOne                   // X-Forwarded-Proto, -Host: kept from trusted peers, else set
	forwardedAny                   // any other X-Forwarded-*: kept from trusted peers
	forwardedList                  // Forwarded: an element is appended
)

// fieldRules names the fields that do not simply go on. A name ending in * stands
// for all that begin so.
//
// The names of fields that upstreams rely on are matched as a gateway interface
// (CGI, RFC 3875, 4.1.18, and what came after it) sees them, where "-", "_" and
// others are one: X_Forwarded_For would be taken for X-Forwarded-For there.
var fieldRules = []struct {
	name string // lower case
	kind fieldKind
}{
	{"connection", connection},
	{"keep-alive", hopByHop},
	{"proxy-connection", hopByHop},
	{"transfer-encoding", hopByHop}, // the writer frames
	{"trailer", hopByHop},
	{"te", te},
	{"upgrade", upgrade},
	{"expect", expect},
	{"http2-settings", hopByHop}, // RFC 9113, 3.1
	{"proxy-authenticate", hopByHop},
	{"proxy-authorization", hopByHop},
	{"proxy-authentication-info", hopByHop},
	{"proxy", hopByHop}, // HTTP_PROXY in the environment of CGI programs

	{"x-forwarded-for", forwardedFor},
	{"x-forwarded-proto", forwardedOne},
	{"x-forwarded-host", forwardedOne},
	{"x-forwarded-*", forwardedAny},
	{"forwarded", forwardedList},
	{"x-real-ip", ours},
	{"x-request-id", requestID},
	{"x-ja4*", ours},
	{"x-ech*", ours},
	{"client-cert*", ours}, // RFC 9440
	{"x-client-cert*", ours},
}

// framingNames are fields that go on (or are written anew) but whose look-alikes
// must not reach a gateway interface: CONTENT_LENGTH is there what they say.
var framingNames = []string{"content-length", "content-type"}

// kindsByStart has the rules by their first letter and the lengths of the names
// they are for: most fields leave there.
var kindsByStart = makeKinds()

type startRules struct {
	lengths uint32 // a bit for each; the last one stands for all that are longer, too
	rules   []fieldRule
}

type fieldRule struct {
	name   string
	prefix bool
	kind   fieldKind
}

// lengthBit is the bit of a length in startRules.lengths.
func lengthBit(n int) uint32 { return 1 << min(n, 31) }

func makeKinds() (t [256]startRules) {
	add := func(r fieldRule) {
		lengths := lengthBit(len(r.name))
		if r.prefix {
			lengths = -lengths // and all that are longer
		}
		for _, c := range []byte{r.name[0], r.name[0] - 'a' + 'A'} {
			t[c].lengths |= lengths
			t[c].rules = append(t[c].rules, r)
		}
	}
	for _, r := range fieldRules {
		prefix := r.name[len(r.name)-1] == '*'
		if prefix {
			r.name = r.name[:len(r.name)-1]
		}
		add(fieldRule{r.name, prefix, r.kind})
	}
	for _, name := range framingNames {
		add(fieldRule{name, false, endToEnd})
	}
	return t
}

// kindOf finds what becomes of a field called name. A look-alike of a name with a
// rule ends here, whoever sends it.
func kindOf(name []byte) fieldKind {
	if len(name) == 0 {
		return hopByHop
	}
	start := &kindsByStart[name[0]]
	if start.lengths&lengthBit(len(name)) == 0 {
		return endToEnd
	}
	for i := range start.rules {
		r := &start.rules[i]
		if len(name) != len(r.name) && (!r.prefix || len(name) < len(r.name)) || !looksLike(name[:len(r.name)], r.name) {
			continue
		}
		if isPlain(name) {
			return r.kind
		}
		return hopByHop
	}
	return endToEnd
}

// looksLike compares name with a rule's name without regard to case, any
// punctuation being as good as "-".
func looksLike(name []byte, rule string) bool {
	for i, c := range name {
		switch {
		case 'A' <= c && c <= 'Z':
			c += 'a' - 'A'
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9':
		default:
			c = '-'
		}
		if c != rule[i] {
			return false
		}
	}
	return true
}

// isPlain says that name has no punctuation but "-".
func isPlain(name []byte) bool {
	for _, c := range name {
		if c != '-' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			return false
		}
	}
	return true
}

// optionsMax bounds how many names Connection may list beside those that every
// sender lists: each is looked for in every field.
const optionsMax = 16

// options are the names that Connection fields list.
type options struct {
	names [optionsMax][]byte
	count int
}

// gather collects the options of all Connection fields of h. It is false if they
// are more than optionsMax.
func (o *options) gather(h *httpmsg.Header) bool {
	for i := range h.Fields {
		f := &h.Fields[i]
		if len(f.Name) == len("connection") && httpmsg.EqualFold(f.Name, "connection") && !o.add(f.Value) {
			return false
		}
	}
	return true
}

func (o *options) add(list []byte) bool {
	for len(list) > 0 {
		var option []byte
		option, list = cutComma(list)
		switch {
		case len(option) == 0,
			httpmsg.EqualFold(option, "close"),
			httpmsg.EqualFold(option, "keep-alive"),
			httpmsg.EqualFold(option, "upgrade"),
			httpmsg.EqualFold(option, "te"):
			continue
		case o.count == optionsMax:
			return false
		}
		o.names[o.count] = option
		o.count++
	}
	return true
}

// has says that the field called name is listed.
func (o *options) has(name []byte) bool {
	for _, option := range o.names[:o.count] {
		if bytes.EqualFold(option, name) {
			return true
		}
	}
	return false
}
