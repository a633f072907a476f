package dnspub

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/miekg/dns"
)

func TestParseOwner(t *testing.T) {
	long := strings.Repeat("a.", 120) + "example"
	for _, c := range []struct{ in, host, name, err string }{
		{"example.com", "example.com", "example.com.", ""},
		{"Example.COM.", "example.com", "example.com.", ""},
		{"example.com:443", "example.com", "example.com.", ""},
		{"example.com:8443", "example.com", "_8443._https.example.com.", ""},
		{"*.example.com", "*.example.com", "*.example.com.", ""},
		{"localhost", "localhost", "localhost.", ""},
		{"_x.example", "_x.example", "_x.example.", ""},
		{long, long, long + ".", ""},

		{"", "", "", "not a host name"},
		{".", "", "", "not a host name"},
		{"*", "", "", "not a host name"},
		{"a..b", "", "", "not a host name"},
		{"a b", "", "", "not a host name"},
		{"a.*.b", "", "", "not a host name"},
		{`a\.b`, "", "", "not a host name"},
		{strings.Repeat("a", 64) + ".example", "", "", "not a host name"},
		{"bücher.example", "", "", "xn--"},
		{"192.0.2.1", "", "", "is an address"},
		{"::1", "", "", "NAME:PORT"},
		{"example.com:0", "", "", "NAME:PORT"},
		{"example.com:65536", "", "", "NAME:PORT"},
		{"example.com:https", "", "", "NAME:PORT"},
		{"*.example.com:8443", "", "", "a wildcard cannot have a port"},
		{long + ":8443", "", "", "too long"},
	} {
		o, err := ParseOwner(c.in)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%q: %v, %v; want error %q", c.in, o, err, c.err)
			}
			continue
		}
		if err != nil || o.Host != c.host || o.Name() != c.name {
			t.Errorf("%q: host %q, name %q, %v", c.in, o.Host, o.Name(), err)
		}
		if again, err := ParseOwner(o.String()); err != nil || again != o {
			t.Errorf("%q: %v read again is %v, %v", c.in, o, again, err)
		}
	}
}

// params reads "key=value" or "key", separated by blanks.
func params(t *testing.T, text string) []dns.SVCBKeyValue {
	t.Helper()
	var out []dns.SVCBKeyValue
	for _, word := range strings.Fields(text) {
		key, value, _ := strings.Cut(word, "=")
		kv, err := ParseParam(key, value)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, kv)
	}
	return out
}

func owner(t *testing.T, s string) Owner {
	t.Helper()
	o, err := ParseOwner(s)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

var list = []byte("\x00\x04\xfe\x0d\x00\x00")

// TestRecords: the text of a record, to the letter, and read back by a parser
// of zone files.
func TestRecords(t *testing.T) {
	for _, c := range []struct{ owner, params, want string }{
		{"example.com", "", `example.com.	300	IN	HTTPS	1 . ech="AAT+DQAA"`},
		{"example.com:8443", "alpn=h2,http/1.1", `_8443._https.example.com.	300	IN	HTTPS	1 example.com. alpn="h2,http/1.1" ech="AAT+DQAA"`},
		{"*.example.com", "port=8443", `*.example.com.	300	IN	HTTPS	1 . port="8443" ech="AAT+DQAA"`},
		{"", "alpn=h2", `@	300	IN	HTTPS	1 . alpn="h2" ech="AAT+DQAA"`},
		{"a.example", "ipv6hint=2001:db8::1 ipv4hint=192.0.2.1,192.0.2.2 no-default-alpn alpn=h2 mandatory=ech,alpn",
			`a.example.	300	IN	HTTPS	1 . mandatory="ech,alpn" alpn="h2" no-default-alpn="" ipv4hint="192.0.2.1,192.0.2.2" ech="AAT+DQAA" ipv6hint="2001:db8::1"`},
		{"a.example", `key65400=a\"b dohpath=/q{?dns}`, `a.example.	300	IN	HTTPS	1 . ech="AAT+DQAA" dohpath="/q{?dns}" key65400="a\"b"`},
	} {
		if strings.Contains(c.params, `\"`) { // quotes are not taken: as a byte
			c.params = strings.ReplaceAll(c.params, `\"`, `\034`)
		}
		var o Owner
		if c.owner != "" {
			o = owner(t, c.owner)
		}
		rr, err := NewRecord(o, 300, Service{Priority: 1, Target: ".", Params: params(t, c.params)}, list)
		if err != nil {
			t.Errorf("%s %s: %v", c.owner, c.params, err)
			continue
		}
		var text bytes.Buffer
		if err := WriteZone(&text, []*dns.HTTPS{rr}); err != nil || text.String() != c.want+"\n" {
			t.Errorf("got  %s\nwant %s", text.String(), c.want)
		}
		zone := dns.NewZoneParser(&text, ".", "")
		again, ok := zone.Next()
		if !ok || !dns.IsDuplicate(rr, again) || again.Header().Ttl != 300 {
			t.Errorf("%s read back: %v, %v", c.want, again, zone.Err())
		}
		if got := again.(*dns.HTTPS); !bytes.Equal(ECH(got), list) {
			t.Errorf("ech read back: %x", ECH(got))
		}
	}
}

func TestRefusedRecords(t *testing.T) {
	for _, c := range []struct {
		priority uint16
		ttl      uint32
		params   string
		want     string
	}{
		{0, 300, "", "priority 0"},
		{1, 1 << 31, "", "TTL"},
		{1, 300, "no-default-alpn", "needs alpn"},
		{1, 300, "mandatory=port port=1", "mandatory anyway"},
		{1, 300, "mandatory=mandatory", "mandatory anyway"},
		{1, 300, "mandatory=alpn", "does not have"},
		{1, 300, "mandatory=nonsense", "does not have"},
		{1, 300, "mandatory=ech,ech", "twice"},
	} {
		rr, err := NewRecord(owner(t, "example.com"), c.ttl, Service{Priority: c.priority, Target: ".", Params: params(t, c.params)}, list)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, %v", c, rr, err)
		}
	}
	for _, p := range [][2]string{
		{"", "x"}, {"ALPN", "h2"}, {"alpn", ""}, {"alpn", "a,,b"}, {"alpn", strings.Repeat("x", 300)}, {"port", "x"}, {"port", "65536"},
		{"ipv4hint", "::1"}, {"ipv4hint", ""}, {"ipv6hint", "192.0.2.1"}, {"ipv6hint", ""}, {"mandatory", ""},
		{"no-default-alpn", "x"}, {"key3", "x"}, {"key65535", "x"}, {"nonsense", "x"}, {"key65400", "a\"b"}, {"key65400", "a\nb"},
		{"key65400", `a\`}, {"ech", "*"}, {"a=b", "c"},
	} {
		kv, err := ParseParam(p[0], p[1])
		if err == nil && p[0] == "alpn" {
			_, err = NewRecord(owner(t, "example.com"), 1, Service{Priority: 1, Target: ".", Params: []dns.SVCBKeyValue{kv}}, list)
		}
		if err == nil {
			t.Errorf("%s=%q: %v", p[0], p[1], kv)
		}
	}
}

func TestOtherFormats(t *testing.T) {
	var records []*dns.HTTPS
	for _, name := range []string{"example.com", "b.example:8443"} {
		rr, err := NewRecord(owner(t, name), 60, Service{Priority: 1, Target: ".", Params: params(t, "alpn=h2,http/1.1")}, list)
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, rr)
	}
	var script bytes.Buffer
	if err := WriteNSUpdate(&script, records); err != nil {
		t.Fatal(err)
	}
	const want = `update delete example.com. HTTPS
update add example.com. 60 HTTPS 1 . alpn="h2,http/1.1" ech="AAT+DQAA"
send
update delete _8443._https.b.example. HTTPS
update add _8443._https.b.example. 60 HTTPS 1 b.example. alpn="h2,http/1.1" ech="AAT+DQAA"
send
`
	if script.String() != want {
		t.Errorf("got\n%swant\n%s", script.String(), want)
	}
	for i, line := range strings.Split(script.String(), "\n") {
		if add, ok := strings.CutPrefix(line, "update add "); ok {
			if rr, err := dns.NewRR(add); err != nil || !dns.IsDuplicate(rr, records[i/3]) {
				t.Errorf("%q read back: %v, %v", line, rr, err)
			}
		}
	}

	encoded, err := json.Marshal(NewJSON(records[0]))
	if err != nil {
		t.Fatal(err)
	}
	var j JSON
	if err := json.Unmarshal(encoded, &j); err != nil {
		t.Fatal(err)
	}
	if j.Name != "example.com." || j.Type != "HTTPS" || j.TTL != 60 || j.Priority != 1 || j.Target != "." ||
		j.Params["alpn"] != "h2,http/1.1" || j.Params["ech"] != "AAT+DQAA" || j.Rdata != `1 . alpn="h2,http/1.1" ech="AAT+DQAA"` {
		t.Errorf("%+v", j)
	}

	var text bytes.Buffer
	if err := WriteBase64(&text, list); err != nil {
		t.Fatal(err)
	}
	if raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text.String())); err != nil || !bytes.Equal(raw, list) {
		t.Errorf("%x, %v", raw, err)
	}
}

// Whatever parameter is taken makes a record that reads back as itself.
func FuzzParam(f *testing.F) {
	for _, p := range [][2]string{{"alpn", `a\\,b`}, {"alpn", "h2,http/1.1"}, {"port", "1"}, {"ipv6hint", "::ffff:1.2.3.4"}, {"key65400", `\001;"`}, {"dohpath", "/{?dns}"}, {"mandatory", "ech"}, {"ech", "AA=="}} {
		f.Add(p[0], p[1])
	}
	f.Fuzz(func(t *testing.T, key, value string) {
		kv, err := ParseParam(key, value)
		if err != nil {
			return
		}
		rr, err := NewRecord(Owner{"example.com", 443}, 300, Service{Priority: 1, Target: ".", Params: []dns.SVCBKeyValue{kv}}, list)
		if err != nil {
			return
		}
		var text bytes.Buffer
		if err := WriteZone(&text, []*dns.HTTPS{rr}); err != nil {
			t.Fatal(err)
		}
		again, err := dns.NewRR(text.String())
		if err != nil || !dns.IsDuplicate(rr, again) {
			t.Fatalf("%q read back: %v, %v", text.String(), again, err)
		}
	})
}

func FuzzParseOwner(f *testing.F) {
	f.Add("*.example.com")
	f.Add("example.com:8443")
	f.Fuzz(func(t *testing.T, s string) {
		o, err := ParseOwner(s)
		if err != nil {
			return
		}
		if _, err := dns.NewRR(o.Name() + " 300 IN A 192.0.2.1"); err != nil {
			t.Fatalf("%q: the name %q: %v", s, o.Name(), err)
		}
	})
}
