package echcheck

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"edge/ech"
	"edge/ech/keydir"
	"edge/edge/dnspub"
	"edge/edge/dnspub/dnstest"
)

// now is the time of all checks here.
var now = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

const hidden = "hidden.example"

// keys is a directory with keys, by short names.
type keys struct {
	t   *testing.T
	dir string
	by  map[string]*ech.Key
}

func newKeys(t *testing.T) *keys {
	t.Helper()
	return &keys{t, t.TempDir(), make(map[string]*ech.Key)}
}

// add makes a key that is given out from some time before now. A role other than
// current is followed by the time until it is removed.
func (k *keys) add(name string, kem uint16, age time.Duration, retired ...time.Duration) {
	k.t.Helper()
	key, err := keydir.Generate(k.t.Context(), k.dir, ech.KeyParameters{PublicName: "public.example", KEM: kem, Suites: ech.Suites}, now.Add(-age), rand.Reader)
	if err != nil {
		k.t.Fatal(err)
	}
	k.by[name] = key
	if len(retired) == 0 {
		return
	}
	path := filepath.Join(k.dir, key.File)
	data, err := os.ReadFile(path)
	if err != nil {
		k.t.Fatal(err)
	}
	if data, err = ech.RetireKeyFile(data, now.Add(retired[0])); err != nil {
		k.t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		k.t.Fatal(err)
	}
}

// list is the ech parameter with the configs of keys.
func (k *keys) list(names ...string) string {
	k.t.Helper()
	var all []*ech.Key
	for _, name := range names {
		all = append(all, k.by[name])
	}
	text, err := ech.Base64ConfigList(all...)
	if err != nil {
		k.t.Fatal(err)
	}
	return text
}

func (k *keys) listing() *keydir.Listing {
	k.t.Helper()
	l, err := keydir.List(k.dir, now)
	if err != nil {
		k.t.Fatal(err)
	}
	return l
}

// fill replaces {a} by the list of key a, {a,b} by that of both, #a by the id of
// key a, and @a by the name of its file.
func (k *keys) fill(text string) string {
	for name, key := range k.by {
		text = strings.ReplaceAll(text, "#"+name, fmt.Sprint(key.Config.ID))
		text = strings.ReplaceAll(text, "@"+name, key.File)
	}
	for {
		at := strings.Index(text, "{")
		if at < 0 {
			return strings.ReplaceAll(text, "DIR", k.dir)
		}
		end := strings.Index(text, "}")
		text = text[:at] + k.list(strings.Split(text[at+1:end], ",")...) + text[end+1:]
	}
}

func ownerOf(t *testing.T, s string) dnspub.Owner {
	t.Helper()
	o, err := dnspub.ParseOwner(s)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// findings in one string.
func findings(r *Report) string {
	var lines []string
	for _, f := range r.Findings {
		lines = append(lines, string(f.Level)+": "+f.Text)
	}
	return strings.Join(lines, "\n")
}

// TestFindings: keys, what DNS has, and everything that is found.
func TestFindings(t *testing.T) {
	const h = time.Hour
	one := func(k *keys) { k.add("a", ech.KEMX25519, 100*h) }
	two := func(k *keys) {
		k.add("old", ech.KEMX25519, 100*h, 24*h)
		k.add("a", ech.KEMX25519, 24*h)
	}
	for _, c := range []struct {
		what    string
		keys    func(*keys)
		records []string
		want    string // "" for nothing
	}{
		{"all well", one, []string{"3600 HTTPS 1 . ech={a}"}, ""},
		{"all well after a rotation", two, []string{"3600 HTTPS 1 . ech={a}"}, ""},
		{"two current keys", func(k *keys) { one(k); k.add("p", ech.KEMP256, 99*h) }, []string{"60 HTTPS 1 . ech={p,a}"}, ""},
		{"no record", one, nil, "fail: SERVER has no HTTPS record at hidden.example.: publish one (`edge keys publish`, `edge keys record`)"},
		{"only an address", one, []string{"60 A 192.0.2.1"}, "fail: SERVER has no HTTPS record at hidden.example.: publish one (`edge keys publish`, `edge keys record`)"},
		{"no ech", one, []string{"60 HTTPS 1 . alpn=h2"}, "fail: the record at hidden.example. that clients use has no ech: publish it (`edge keys publish`)"},
		{"ech in the second record alone", one, []string{"60 HTTPS 1 . alpn=h2", "60 HTTPS 2 . ech={a}"}, "fail: the record at hidden.example. that clients use has no ech: publish it (`edge keys publish`)"},
		{"ech in the first record alone", one, []string{"60 HTTPS 1 . ech={a}", "60 HTTPS 2 . alpn=h2"}, "warn: one of the records at hidden.example. has no ech: who blocks the others makes clients go without (RFC 9848)"},
		{"not a list", one, []string{"60 HTTPS 1 . ech=AAAA"}, "fail: the ech at hidden.example. cannot be read: ECHConfigList: a length does not fit (RFC 9849, 4)"},
		{"no usable config", one, []string{"60 HTTPS 1 . ech=AAj+CgAEAAAAAA=="}, "fail: clients can use none of the configs at hidden.example.: version 0xfe0a is not supported"},
		{"unknown and mandatory", one, []string{"60 HTTPS 1 . mandatory=key65400 key65400=x ech={a}"}, "fail: every record at hidden.example. makes something mandatory that clients do not know: they use none"},
		{"the same, but another", one, []string{"60 HTTPS 1 . mandatory=key65400 key65400=x", "60 HTTPS 2 . ech={a}"}, "warn: one of the records at hidden.example. has no ech: who blocks the others makes clients go without (RFC 9848)"},
		{"server fails", one, []string{"60 CNAME hidden.example."}, "fail: SERVER: the aliases of hidden.example. lead nowhere"},

		{"foreign key", func(k *keys) { one(k); k.forget("b") }, []string{"60 HTTPS 1 . ech={b}"},
			"fail: clients encrypt to config #b for public.example, whose key is not in DIR: they come again with what we give out, if we hold a certificate for public.example, and without ECH if that name is relayed: run `edge keys publish`"},
		{"foreign key, nothing to give instead", func(k *keys) { k.add("old", ech.KEMX25519, 100*h, 24*h); k.forget("b") }, []string{"60 HTTPS 1 . ech={b}"},
			"fail: DIR holds no current key: make one with `edge keys gen-ech`\nfail: clients encrypt to config #b for public.example, whose key is not in DIR, and get nothing instead"},
		{"stale", two, []string{"3600 HTTPS 1 . ech={old}"}, "warn: DNS still publishes key #old (@old), which is decrypt-only: run `edge keys publish`"},
		{"stale, and soon gone", two, []string{"90000 HTTPS 1 . ech={old}"}, "fail: DNS still publishes key #old (@old), to be removed in 24h0m0s: caches keep it for 25h0m0s from now: run `edge keys publish`, and do not rotate before then"},
		{"stale, and due", func(k *keys) { k.add("old", ech.KEMX25519, 100*h, -h); k.add("a", ech.KEMX25519, 99*h) }, []string{"60 HTTPS 1 . ech={old}"},
			"fail: DNS still publishes key #old (@old), to be removed by the next rotation: caches keep it for 1m0s from now: run `edge keys publish`, and do not rotate before then"},
		{"a new key is not published", func(k *keys) { one(k); k.add("p", ech.KEMP256, 99*h) }, []string{"60 HTTPS 1 . ech={a}"}, "warn: SERVER publishes the configs #a, and we give out #p, #a: run `edge keys publish`"},
		{"not given out yet", func(k *keys) { one(k); k.add("next", ech.KEMX25519, -h) }, []string{"60 HTTPS 1 . ech={a}"}, ""},
		{"young, and the first", func(k *keys) { k.add("a", ech.KEMX25519, h) }, []string{"7200 HTTPS 1 . ech={a}"},
			"note: key #a is younger (1h0m0s) than the TTL (2h0m0s) and follows no other here: if something else was published before, caches may hold that until 2026-12-01T13:00:00Z"},
		{"overlap shorter than the TTL", func(k *keys) { k.add("old", ech.KEMX25519, 10*h, 2*h); k.add("a", ech.KEMX25519, 4*h) }, []string{"86400 HTTPS 1 . ech={a}"},
			"warn: key #old (@old) is to be removed 6h0m0s after its successor was given out, within the TTL of 24h0m0s: rotate with a longer overlap, or lower the TTL"},
		{"bad file", func(k *keys) { one(k); k.write("bad.pem") }, []string{"60 HTTPS 1 . ech={a}"}, "fail: bad.pem cannot be used: holds no PRIVATE KEY and ECHCONFIG: servers that run do not reload"},
	} {
		k := newKeys(t)
		c.keys(k)
		var records []string
		for _, r := range c.records {
			records = append(records, hidden+". "+k.fill(r))
		}
		there := dnstest.Start(t, []string{"example."}, nil, records...)
		server := &dnspub.Server{Address: there.Address, Timeout: 2 * time.Second}
		r := Run(t.Context(), Options{Owner: ownerOf(t, hidden), Servers: []*dnspub.Server{server}, Keys: k.listing(), Dir: k.dir, Now: now})
		want := strings.ReplaceAll(k.fill(c.want), "SERVER", there.Address)
		if got := findings(r); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", c.what, got, want)
		}
		if r.Failed() != strings.Contains(c.want, "fail: ") {
			t.Errorf("%s: failed %v", c.what, r.Failed())
		}
		k.checkSecrets(fmt.Sprintf("%+v %#v", r, r))
	}
}

// TestTargetOfAPort: "." is the name at which a record lies, which is not the
// host's for another port than 443 (RFC 9460, 2.5.2).
func TestTargetOfAPort(t *testing.T) {
	k := newKeys(t)
	k.add("a", ech.KEMX25519, 100*time.Hour)
	for target, want := range map[string]string{hidden + ".": "", "svc.example.": "",
		".": `warn: the target "." at _8443._https.hidden.example. stands for that very name: clients look for addresses there, and browsers pass the record over: make it hidden.example.`} {
		there := dnstest.Start(t, []string{"example."}, nil, k.fill("_8443._https."+hidden+". 60 HTTPS 1 "+target+" ech={a}"))
		server := &dnspub.Server{Address: there.Address, Timeout: 2 * time.Second}
		r := Run(t.Context(), Options{Owner: ownerOf(t, hidden+":8443"), Servers: []*dnspub.Server{server}, Keys: k.listing(), Dir: k.dir, Now: now})
		if got := findings(r); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", target, got, want)
		}
	}
}

// forget makes a key that is not in the directory.
func (k *keys) forget(name string) {
	k.t.Helper()
	other := newKeys(k.t)
	other.add(name, ech.KEMX25519, 0)
	k.by[name] = other.by[name]
}

func (k *keys) write(name string) {
	k.t.Helper()
	if err := os.WriteFile(filepath.Join(k.dir, name), nil, 0o600); err != nil {
		k.t.Fatal(err)
	}
}

// checkSecrets looks for private keys as PEM has them.
func (k *keys) checkSecrets(text string) {
	k.t.Helper()
	files, err := filepath.Glob(filepath.Join(k.dir, "*.pem"))
	if err != nil {
		k.t.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			k.t.Fatal(err)
		}
		_, after, found := strings.Cut(string(data), "PRIVATE KEY-----\n")
		if found && strings.Contains(text, strings.Split(after, "\n")[0][20:]) {
			k.t.Fatal("a private key is shown")
		}
	}
}

// A name in a config is anyone's bytes.
func TestNamesArePrintable(t *testing.T) {
	k := newKeys(t)
	k.add("a", ech.KEMX25519, 0)
	raw := []byte(strings.Replace(string(k.by["a"].Config.Raw), "public.example", "pub\x1b[2J\nxample", 1))
	list, err := ech.AppendConfigList(nil, raw)
	if err != nil {
		t.Fatal(err)
	}
	configs, err := readList(list, nil)
	if err != nil || configs[0].PublicName != `"pub\x1b[2J\nxample"` || configs[0].Unusable == "" {
		t.Errorf("%+v, %v", configs, err)
	}
}

// The facts of a report, as a program reads them.
func TestReportAsJSON(t *testing.T) {
	k := newKeys(t)
	k.add("old", ech.KEMP256, 48*time.Hour, time.Hour)
	k.add("a", ech.KEMX25519, 24*time.Hour)
	there := dnstest.Start(t, []string{"example."}, nil,
		"alias.example. 60 CNAME hidden.example.", hidden+". 300 HTTPS 1 . alpn=h2 ech="+k.list("a", "old"))
	server := &dnspub.Server{Address: there.Address, Timeout: 2 * time.Second}
	r := Run(t.Context(), Options{Owner: ownerOf(t, "alias.example"), Servers: []*dnspub.Server{server}, Keys: k.listing(), Dir: k.dir, Now: now})
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	k.checkSecrets(string(text))
	var back Report
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	d := back.DNS[0]
	if d.At != "hidden.example." || len(d.Aliases) != 1 || !d.Authoritative || len(d.Records) != 1 || d.Records[0].TTL != 300 {
		t.Fatalf("%+v", d)
	}
	a, old := d.Records[0].Configs[0], d.Records[0].Configs[1]
	if a.Role != "current" || a.File != k.by["a"].File || !a.Chosen || !a.Opens || a.KEM != "x25519" {
		t.Errorf("%+v", a)
	}
	if old.Role != "decrypt-only" || old.Chosen || old.Opens || old.KEM != "p256" {
		t.Errorf("%+v", old)
	}
	if len(back.Keys) != 2 || !back.Keys[0].GivenOut || back.Keys[1].GivenOut || back.Keys[1].RemoveAfter == nil {
		t.Errorf("%+v", back.Keys)
	}
	for _, empty := range []string{`"connections":[]`} {
		if !strings.Contains(string(text), empty) {
			t.Errorf("%s is missing: lists are never null", empty)
		}
	}
	if strings.Contains(string(text), ":null") {
		t.Errorf("a null in %s", text)
	}
}

// Without keys, DNS alone is shown.
func TestWithoutKeys(t *testing.T) {
	k := newKeys(t)
	k.add("a", ech.KEMX25519, time.Hour)
	there := dnstest.Start(t, []string{"example."}, nil, "*.example. 300 HTTPS 1 . ech="+k.list("a"))
	server := &dnspub.Server{Address: there.Address, Timeout: 2 * time.Second}
	r := Run(t.Context(), Options{Owner: ownerOf(t, "*.example"), Servers: []*dnspub.Server{server}, Now: now})
	if got := findings(r); got != "note: no directory of keys is given (--dir): DNS is shown, not compared" || r.Failed() {
		t.Error(got)
	}
	if c := r.DNS[0].Records[0].Configs[0]; !c.Chosen || c.Opens || c.Role != "unknown" {
		t.Errorf("%+v", c)
	}
}

func TestServersDisagree(t *testing.T) {
	k := newKeys(t)
	k.add("old", ech.KEMX25519, 48*time.Hour, 24*time.Hour)
	k.add("a", ech.KEMX25519, 24*time.Hour)
	var servers []*dnspub.Server
	for _, name := range []string{"a", "old"} {
		there := dnstest.Start(t, []string{"example."}, nil, hidden+". 300 HTTPS 1 . ech="+k.list(name))
		servers = append(servers, &dnspub.Server{Address: there.Address, Timeout: 2 * time.Second})
	}
	r := Run(t.Context(), Options{Owner: ownerOf(t, hidden), Servers: servers, Keys: k.listing(), Dir: k.dir, Now: now})
	if got := findings(r); !strings.Contains(got, servers[0].Address+" and "+servers[1].Address+" publish different lists") {
		t.Error(got)
	}
}

// A hello opens with its key, of either KEM, and with no other.
func TestOpens(t *testing.T) {
	k, others := newKeys(t), newKeys(t)
	k.add("x", ech.KEMX25519, 0)
	k.add("p", ech.KEMP256, 0)
	others.add("x", ech.KEMX25519, 0)
	for _, name := range []string{"x", "p"} {
		if !opens(k.listing().Set, k.by[name].Config.Raw, hidden) {
			t.Errorf("%s: does not open", name)
		}
		if opens(others.listing().Set, k.by[name].Config.Raw, hidden) || opens(nil, k.by[name].Config.Raw, hidden) {
			t.Errorf("%s: opens without its key", name)
		}
	}
	if opens(k.listing().Set, []byte{1, 2, 3}, hidden) {
		t.Error("opens what is no config")
	}
}

func TestPublished(t *testing.T) {
	k := newKeys(t)
	k.add("a", ech.KEMX25519, 0)
	k.add("p", ech.KEMP256, 0)
	there := dnstest.Start(t, []string{"example."}, nil,
		"a.example. 60 HTTPS 1 . ech="+k.list("a", "p"), "a.example. 60 HTTPS 2 . alpn=h2", "a.example. 60 HTTPS 3 b. ech="+k.list("a"),
		"bad.example. 60 HTTPS 1 . ech=AAAA")
	server := &dnspub.Server{Address: there.Address, Timeout: 2 * time.Second}
	for name, want := range map[string]int{"a.example": 3, "none.example": 0, "bad.example": -1, "example.org": -1} {
		got, err := Published(t.Context(), server, ownerOf(t, name))
		if (err != nil) != (want < 0) || want >= 0 && len(got) != want {
			t.Errorf("%s: %d configs, %v", name, len(got), err)
		}
	}
}
