package cmd

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

	"edge/ech"
	"edge/edge/dnspub/dnstest"
	"edge/edge/echcheck"
)

const tsigSecret = "dGhlIHNlY3JldCBvZiB0aGUgY29tbWFuZHMnIHRlc3Rz"

// nameServer holds example.com and takes updates signed by the key of the file.
func nameServer(t *testing.T, records ...string) (s *dnstest.Server, keyFile string) {
	t.Helper()
	s = dnstest.Start(t, []string{"example.com."}, map[string]string{"edge.": tsigSecret}, records...)
	return s, writeFile(t, "tsig.key", "key \"edge\" {\n\talgorithm hmac-sha256;\n\tsecret \""+tsigSecret+"\";\n};\n")
}

func listOf(t *testing.T, dir string) string {
	t.Helper()
	text, err := ech.Base64ConfigList(loadKeys(t, dir).Keys()...)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestKeysPublish(t *testing.T) {
	dir := genKey(t)
	key, list := loadKeys(t, dir).Keys()[0], listOf(t, dir)
	server, tsig := nameServer(t,
		"www.example.com. 7200 IN HTTPS 1 . alpn=h3,h2 port=8443",
		"alias.example.com. 60 IN CNAME www.example.com.")
	publish := func(args ...string) (int, string, string) {
		return run(t, append([]string{"keys", "publish", "--dir", dir, "--server", server.Address, "--tsig", tsig}, args...)...)
	}
	record := func(name string) string {
		all := server.HTTPS(name)
		if len(all) != 1 {
			return fmt.Sprint(all)
		}
		return strings.ReplaceAll(strings.TrimPrefix(all[0].String(), name+"\t"), "\t", " ")
	}
	three := []string{"--for", "example.com", "--for", "www.example.com", "--for", "alias.example.com"}

	status, out, errs := publish(append(three, "--dry-run")...)
	if status != ExitFailure || !strings.HasPrefix(out, "would be created example.com.:\nexample.com.\t300\tIN\tHTTPS\t1 . alpn=") || server.Updates() != 0 {
		t.Errorf("dry run: status %d, stderr %q, stdout\n%s", status, errs, out)
	}
	status, out, errs = publish(three...)
	want := fmt.Sprintf(`created example.com.: key %[1]d for public.example, TTL 5m
updated www.example.com.: key %[1]d for public.example, TTL 2h
failed alias.example.com.: the name is an alias (CNAME) of www.example.com.: publish for that name, or give this one records of its own
`, key.Config.ID)
	if status != ExitFailure || out != want || errs != "edge: 1 of 3 names failed\n" {
		t.Errorf("status %d, stderr %q, stdout\n%s\nwant\n%s", status, errs, out, want)
	}
	if got, want := record("www.example.com."), `7200 IN HTTPS 1 . alpn="h3,h2" port="8443" ech="`+list+`"`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := record("example.com."), `300 IN HTTPS 1 . alpn="h2,http/1.1" ech="`+list+`"`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	status, out, errs = publish(three[:4]...)
	if status != ExitOK || errs != "" || strings.Count(out, "unchanged ") != 2 || server.Updates() != 2 {
		t.Errorf("again: status %d, stderr %q, %d updates, stdout\n%s", status, errs, server.Updates(), out)
	}

	// Flags that are given change what is there; the others do not.
	status, _, errs = publish("--for", "www.example.com", "--ttl", "60s", "--alpn", "h2", "--port=", "--param", "key65400=x")
	if got, want := record("www.example.com."), `60 IN HTTPS 1 . alpn="h2" ech="`+list+`" key65400="x"`; status != ExitOK || got != want {
		t.Errorf("status %d, stderr %q: %s, want %s", status, errs, got, want)
	}
	var rows []publishRow
	status, out, _ = publish("--for", "www.example.com:8443", "--for", "www.example.org", "--json")
	if err := json.Unmarshal([]byte(out), &rows); status != ExitFailure || err != nil || len(rows) != 2 || rows[0].Outcome != "created" ||
		rows[0].Name != "_8443._https.www.example.com." || rows[0].ECH != list || rows[0].Zone != "example.com." || rows[1].Outcome != "failed" || rows[1].Error == "" {
		t.Errorf("status %d, %v, %+v", status, err, rows)
	}
	status, out, errs = publish("--for", "www.example.com", "--withdraw")
	if got, want := record("www.example.com."), `60 IN HTTPS 1 . alpn="h2" key65400="x"`; status != ExitOK || got != want || out != "updated www.example.com.: no ech, TTL 1m\n" {
		t.Errorf("status %d, stderr %q, stdout %q: %s, want %s", status, errs, out, got, want)
	}
}

// Keys that servers would not load, or that there are not, are not published.
func TestKeysPublishNeedsKeys(t *testing.T) {
	server, tsig := nameServer(t)
	dir := genKey(t)
	if err := os.WriteFile(filepath.Join(dir, "bad.pem"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	empty := t.TempDir()
	for dir, want := range map[string]string{
		dir:             "bad.pem in " + dir + ": holds no PRIVATE KEY and ECHCONFIG: servers do not load a directory with such a file",
		empty:           empty + " holds no current key: make one with `edge keys gen-ech`",
		empty + "/none": "no such file or directory",
	} {
		for _, args := range []string{"publish --server " + server.Address + " --tsig " + tsig + " --for www.example.com", "record"} {
			status, out, errs := run(t, append([]string{"keys"}, strings.Fields(args+" --dir "+dir)...)...)
			if status != ExitFailure || out != "" || !strings.Contains(errs, want) || strings.Count(errs, "\n") != 1 {
				t.Errorf("%s: status %d, stdout %q, stderr %q, want %q", args, status, out, errs, want)
			}
		}
	}
	if server.Updates() != 0 {
		t.Error("an update was sent")
	}
}

func TestKeysCheck(t *testing.T) {
	dir := genKey(t)
	key, list := loadKeys(t, dir).Keys()[0], listOf(t, dir)
	server, _ := nameServer(t, "www.example.com. 300 IN HTTPS 1 . alpn=h2 port=8443 ech="+list, "alias.example.com. 60 IN CNAME www.example.com.")
	status, out, errs := run(t, "keys", "check", "alias.example.com", "--server", server.Address, "--dir", dir)
	want := fmt.Sprintf(`DNS of %[1]s (authoritative)
  alias.example.com. is an alias
  www.example.com. TTL 300s, priority 1, target ., alpn="h2", port="8443"
    config %[2]d for public.example, x25519: current in %[3]s; clients encrypt to it, and it opens
keys in %[4]s
  key %[2]d for public.example, x25519: current, given out, from %[5]s (%[3]s)
`, server.Address, key.Config.ID, key.File, dir, stamp(key.NotBefore))
	if status != ExitOK || errs != "" || !strings.HasPrefix(out, want) || !strings.HasSuffix(out, "ok: clients get ECH for alias.example.com\n") {
		t.Errorf("status %d, stderr %q, stdout\n%s\nwant\n%s", status, errs, out, want)
	}

	var r echcheck.Report
	status, out, _ = run(t, "keys", "check", "www.example.com", "--server", server.Address, "--dir", dir, "--json")
	if err := json.Unmarshal([]byte(out), &r); status != ExitOK || err != nil || r.Failed() || !r.DNS[0].Records[0].Configs[0].Opens {
		t.Errorf("status %d, %v, %+v", status, err, r)
	}

	// Without the keys, only DNS is shown; with others, it fails.
	t.Chdir(t.TempDir())
	status, out, errs = run(t, "keys", "check", "www.example.com", "--server", server.Address)
	if status != ExitOK || errs != "" || !strings.Contains(out, "not one of our keys; clients encrypt to it\n") || !strings.HasSuffix(out, "ok: DNS publishes ECH for www.example.com\n") {
		t.Errorf("status %d, stderr %q, stdout\n%s", status, errs, out)
	}
	status, out, errs = run(t, "keys", "check", "www.example.com", "--server", server.Address, "--dir", genKey(t))
	if status != ExitFailure || !strings.Contains(out, "fail: clients encrypt to config") || errs != "edge: www.example.com: clients get no ECH, or soon will not: see above\n" {
		t.Errorf("status %d, stderr %q, stdout\n%s", status, errs, out)
	}
	status, out, errs = run(t, "keys", "check", "none.example.com", "--server", server.Address, "--dir", dir)
	if status != ExitFailure || !strings.Contains(out, "has no HTTPS record at none.example.com.") {
		t.Errorf("status %d, stderr %q, stdout\n%s", status, errs, out)
	}
	for args, want := range map[string]string{
		"--dir " + dir + "/none":   "none: no such file or directory",
		"--ca " + dir + "/none":    "--ca: " + dir + "/none: no such file or directory",
		"--ca " + os.DevNull:       "holds no certificate in PEM",
		"--connect 127.0.0.1:1":    "clients get no ECH",
		"--connect nowhere:999999": "give HOST:PORT",
	} {
		status, _, errs := run(t, append([]string{"keys", "check", "www.example.com", "--server", server.Address}, strings.Fields(args)...)...)
		if status == ExitOK || !strings.Contains(errs, want) || strings.Count(errs, "\n") != 1 {
			t.Errorf("%s: status %d, stderr %q", args, status, errs)
		}
	}
}

// A year in the life of a zone, in short: keys are made, replaced and published,
// and every check in between says that clients get ECH.
func TestKeysTogether(t *testing.T) {
	dir := genKey(t)
	server, tsig := nameServer(t)
	step := func(args string) string {
		t.Helper()
		status, out, errs := run(t, append([]string{"keys"}, strings.Fields(args+" --dir "+dir)...)...)
		if status != ExitOK {
			t.Fatalf("edge keys %s: status %d, stderr %q, stdout\n%s", args, status, errs, out)
		}
		return out
	}
	publish := "publish --ttl 1s --server " + server.Address + " --tsig " + tsig + " --for www.example.com"
	check := "check www.example.com --server " + server.Address
	step(publish)
	step(check)
	rotate := "rotate --ttl 1s --overlap 1h --every 0 --force"
	for range 3 {
		step(rotate)
		if out := step(check); !strings.Contains(out, "warn: DNS still publishes key") {
			t.Errorf("before publishing:\n%s", out)
		}
		if out := step(publish); !strings.HasPrefix(out, "updated ") {
			t.Error(out)
		}
		if out := step(check); strings.Contains(out, "warn: ") {
			t.Errorf("after publishing:\n%s", out)
		}
	}
	if keys := loadKeys(t, dir).Keys(); len(keys) != 4 {
		t.Errorf("%d keys", len(keys))
	}
}

// Whatever is wrong with files, flags and servers: no output shows a private key
// or the secret of an update.
func TestKeysShowNoSecrets(t *testing.T) {
	dir := genKey(t)
	run(t, "keys", "gen-ech", "--public-name", "b.example", "--kem", "p256", "--dir", dir)
	server, tsig := nameServer(t)
	badTSIG := writeFile(t, "tsig", "key \"edge\" { algorithm hmac-sha512; secret \""+tsigSecret+"\"; };")
	secrets := append(privateKeys(t, dir), tsigSecret)
	good, err := os.ReadFile(filepath.Join(dir, loadKeys(t, dir).Keys()[0].File))
	if err != nil {
		t.Fatal(err)
	}
	text := string(good)
	bodies := map[string]string{
		"good":         text,
		"cut":          text[:len(text)-30],
		"half":         text[:strings.Index(text, "-----BEGIN ECHCONFIG")],
		"twice":        text + text,
		"unknown line": "ECH-Secret: " + text,
		"CRLF":         strings.ReplaceAll(text, "\n", "\r\n"),
		"no PEM":       strings.ReplaceAll(text, "-----", ""),
		"wrong type":   strings.ReplaceAll(text, "PRIVATE KEY", "EC PRIVATE KEY"),
	}
	for what, body := range bodies {
		if err := os.WriteFile(filepath.Join(dir, "z.pem"), []byte(body), 0o644); err != nil {
			t.Fatal(err)
		}
		for _, args := range []string{
			"list", "list --json", "record", "record --format json", "record --format base64", "rotate --dry-run", "rotate --every 1d",
			"gen-ech --public-name c.example",
			"publish --for www.example.com --server " + server.Address + " --tsig " + tsig,
			"publish --for www.example.com --server " + server.Address + " --tsig " + badTSIG,
			"publish --for www.example.com --server " + server.Address + " --tsig edge:" + tsigSecret,
			"publish --for www.example.com --server " + server.Address + " --tsig " + tsig + ".none",
			"check www.example.com --server " + server.Address,
			"check www.example.com --json --server " + server.Address,
		} {
			_, out, errs := run(t, append([]string{"keys"}, strings.Fields(args+" --dir "+dir)...)...)
			if out+errs == "" {
				t.Errorf("%s: edge keys %s says nothing", what, args)
			}
			for _, s := range secrets {
				if strings.Contains(out+errs, s) {
					t.Fatalf("%s: edge keys %s shows a secret", what, args)
				}
			}
		}
	}
}

// The wait for an answer is bounded by --timeout.
func TestKeysTimeout(t *testing.T) {
	server, _ := nameServer(t)
	server.Fail(dnstest.Faults{DropUDP: true, Code: map[string]int{"www.example.com.": dns.RcodeServerFailure}})
	start := time.Now()
	status, out, _ := run(t, "keys", "check", "www.example.com", "--server", server.Address, "--dir", genKey(t), "--timeout", "50ms")
	if status != ExitFailure || !strings.Contains(out, "SERVFAIL") || time.Since(start) > 30*time.Second {
		t.Errorf("status %d after %v, stdout\n%s", status, time.Since(start), out)
	}
}

// A key whose overlap is over stays while DNS publishes it, and when DNS does not
// answer nothing is done.
func TestKeysRotateAsksDNS(t *testing.T) {
	dir := genKey(t)
	server, _ := nameServer(t, "www.example.com. 60 IN HTTPS 1 . ech="+listOf(t, dir))
	rotate := func(args ...string) (int, string, string) {
		return run(t, append([]string{"keys", "rotate", "--dir", dir, "--every", "1d", "--ttl", "0", "--overlap", "0"}, args...)...)
	}
	run(t, "keys", "rotate", "--dir", dir, "--ttl", "0", "--overlap", "0")
	ask := []string{"--for", "www.example.com", "--server", server.Address, "--timeout", "2s"}
	status, out, errs := rotate(ask...)
	if status != ExitOK || !strings.Contains(out, "is past its time, but still published: publish the current keys\n") || len(loadKeys(t, dir).Keys()) != 2 {
		t.Errorf("status %d, stderr %q, stdout %q", status, errs, out)
	}
	server.Fail(dnstest.Faults{Code: map[string]int{"www.example.com.": dns.RcodeServerFailure}})
	status, out, errs = rotate(ask...)
	if status != ExitFailure || out != "" || !strings.Contains(errs, "looking which keys are published for www.example.com: ") || !strings.Contains(errs, "nothing is rotated") {
		t.Errorf("status %d, stderr %q, stdout %q", status, errs, out)
	}
	server.Fail(dnstest.Faults{})
	server.Remove("www.example.com.", dns.TypeHTTPS)
	status, out, errs = rotate(ask...)
	if status != ExitOK || !strings.Contains(out, "removed ") || len(loadKeys(t, dir).Keys()) != 1 {
		t.Errorf("status %d, stderr %q, stdout %q", status, errs, out)
	}
	for args, want := range map[string]string{"--for ::1": "--for: ", "--for a.example --server a:b:c": "--server: "} {
		if status, _, errs := rotate(strings.Fields(args)...); status != ExitUsage || !strings.Contains(errs, want) {
			t.Errorf("%s: status %d, stderr %q", args, status, errs)
		}
	}
}
