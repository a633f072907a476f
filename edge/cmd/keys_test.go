package cmd

import (
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

	"edge/ech"
)

// genKey makes a key by the command and returns the directory.
func genKey(t *testing.T, args ...string) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "ech")
	args = append([]string{"keys", "gen-ech", "--public-name", "public.example", "--dir", dir}, args...)
	if status, _, errs := run(t, args...); status != ExitOK {
		t.Fatalf("status %d, stderr %q", status, errs)
	}
	return dir
}

func loadKeys(t *testing.T, dir string) *ech.Set {
	t.Helper()
	set, err := ech.LoadDir(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func TestKeysHelp(t *testing.T) {
	for _, name := range []string{"gen-ech", "list", "rotate", "record", "publish", "check"} {
		status, out, errs := run(t, "keys", name, "--help")
		if status != ExitOK || errs != "" || !strings.Contains(out, "Usage:\n  edge keys "+name) || !strings.Contains(out, "Examples:\n  edge keys "+name) {
			t.Errorf("%s: status %d, stderr %q, stdout:\n%s", name, status, errs, out)
		}
		for _, line := range strings.Split(out, "\n") {
			if text, _, isFlag := strings.Cut(line, "--"); len(line) > 80 && !isFlag && strings.TrimSpace(text) != "" {
				t.Errorf("%s: a line of %d bytes: %s", name, len(line), line)
			}
		}
	}
	if status, out, errs := run(t, "keys"); status != ExitOK || errs != "" || !strings.Contains(out, "Available Commands:") {
		t.Errorf("status %d, stderr %q, stdout:\n%s", status, errs, out)
	}
}

func TestKeysUsageErrors(t *testing.T) {
	const see = ": see `edge keys "
	secret := writeFile(t, "tsig", "c2VjcmV0c2VjcmV0")
	publish := "keys publish --server 127.0.0.1 --tsig key:" + secret + " "
	for _, tc := range []struct{ args, want string }{
		{"keys rotat", `unknown command "rotat" for "edge keys": there are check, gen-ech, list, publish, record, rotate: see`},
		{"keys list x", `unknown command "x" for "edge keys list"` + see},
		{"keys gen-ech", "--public-name is missing: give the name that everyone may see"},
		{"keys gen-ech --public-name 192.0.2.1", `--public-name "192.0.2.1": public name can be taken for an IPv4 address`},
		{"keys gen-ech --public-name a_b", `--public-name "a_b": public name is not a sequence of LDH labels`},
		{"keys gen-ech --public-name a.example --kem p384", "give x25519 or p256"},
		{"keys gen-ech --public-name a.example --max-name-length 256", "give a number from 0 to 255"},
		{"keys gen-ech --public-name a.example --max-name-length -1", "give a number from 0 to 255"},
		{"keys gen-ech --public-name a.example --not-before soon", "give a time with its unit, such as 90s, 5m, 48h or 30d"},
		{"keys gen-ech --public-name a.example --ttl 70000d", "give a time with its unit"},
		{"keys gen-ech --public-name a.example --ttl 30000d", "the TTL is over 2147483647 seconds"},
		{"keys gen-ech --public-name a.example --for b.example:x", `--for: "b.example:x": give NAME or NAME:PORT`},
		{"keys gen-ech --public-name a.example --for b.example --for B.example.", "--for b.example is given twice"},
		{"keys gen-ech --public-name a.example --format yaml", `--format "yaml": give zone, json, nsupdate or base64`},
		{"keys gen-ech --public-name a.example --format nsupdate", "--format nsupdate needs names: give --for NAME"},
		{"keys gen-ech --public-name a.example --priority 0", "give a number from 1 to 65535"},
		{"keys gen-ech --public-name a.example --target a*b", `--target "a*b": give the name of a server`},
		{"keys gen-ech --public-name a.example --alpn a,,b", `--alpn: alpn="a,,b": not as RFC 9460 wants it`},
		{"keys gen-ech --public-name a.example --alpn= --no-default-alpn", "no-default-alpn needs alpn"},
		{"keys gen-ech --public-name a.example --port 65536", `--port: port="65536"`},
		{"keys gen-ech --public-name a.example --ipv4hint ::1", `--ipv4hint: ipv4hint="::1"`},
		{"keys gen-ech --public-name a.example --mandatory port", "mandatory lists port, which is mandatory anyway"},
		{"keys gen-ech --public-name a.example --mandatory ipv4hint", `mandatory lists "ipv4hint", which the record does not have`},
		{"keys gen-ech --public-name a.example --param ech=AAAA", "--param ech: it is made of the keys"},
		{"keys gen-ech --public-name a.example --param alpn=h2", "--param: alpn is given already"},
		{"keys gen-ech --public-name a.example --param nonsense=1", `--param: nonsense="1"`},
		{"keys gen-ech --public-name a.example --dir=", "--dir is empty"},
		{"keys rotate --overlap 1s", "an overlap of 1s is shorter than the TTL of 5m0s: caches would give out keys that are gone: lengthen it, or give --force"},
		{"keys rotate --every -1s", "give a time with its unit"},
		{"keys publish --for a.example", "--server is missing"},
		{"keys publish --server a:b:c --for a.example", "--server: "},
		{publish, "there is no name to publish for: give --for NAME"},
		{publish + "--for ::1", "--for: "},
		{publish + "--for a.example --tsig c2VjcmV0c2VjcmV0", "--tsig: reading the file with the secret: no such file or directory"},
		{publish + "--for a.example --tsig key:c2VjcmV0c2VjcmV0", "--tsig: reading the file with the secret: no such file or directory"},
		{"keys check", "one NAME is needed, 0 given"},
		{"keys check a b", "one NAME is needed, 2 given"},
		{"keys check 192.0.2.1", `"192.0.2.1" is an address`},
		{"keys check a.example --server a:b:c", "--server: "},
		{"keys check a.example --connect b", `--connect "b": give HOST:PORT`},
	} {
		status, out, errs := run(t, strings.Fields(tc.args)...)
		if status != ExitUsage || out != "" || !strings.Contains(errs, tc.want) || !strings.Contains(errs, see) || strings.Count(errs, "\n") != 1 {
			t.Errorf("edge %s: status %d, stdout %q, stderr %q; want status %d, %q", tc.args, status, out, errs, ExitUsage, tc.want)
		}
		if strings.Contains(errs, "c2VjcmV0") {
			t.Errorf("edge %s shows the secret: %s", tc.args, errs)
		}
	}
	if _, err := os.Stat(dirDefault); err == nil {
		t.Errorf("a wrong command line made the directory %s", dirDefault)
	}
}

func writeFile(t *testing.T, name, text string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestSpans(t *testing.T) {
	for in, want := range map[string]time.Duration{
		"90s": 90 * time.Second, "5m": 5 * time.Minute, "48h": 2 * day, "30d": 30 * day, "1d12h": 36 * time.Hour, "0": 0, "0d": 0,
	} {
		var v, again span
		if err := v.Set(in); err != nil || time.Duration(v) != want {
			t.Errorf("%s: %v, %v", in, time.Duration(v), err)
		}
		if err := again.Set(v.String()); err != nil || again != v {
			t.Errorf("%s: shown as %s, read as %s, %v", in, v.String(), again.String(), err)
		}
	}
	for _, in := range []string{"", "d", "x", "1", "-1s", "-1d", "1.5d", "1d-1h", "1h2d", "99999d", "9999999h"} {
		var v span
		if err := v.Set(in); err == nil {
			t.Errorf("%q: %v", in, time.Duration(v))
		}
	}
}

// The record that gen-ech prints, in each form, is read back as what was asked
// for, and holds the key that was made.
func TestKeysGen(t *testing.T) {
	args := "--kem p256 --max-name-length 99 --for Example.com. --for www.example.com:8443 --ttl 1h --priority 2 --target svc.example.com --alpn h2 --port 8443 --ipv4hint 192.0.2.1 --ipv6hint 2001:db8::1 --mandatory ech --param key65400=x"
	const want = `2 svc.example.com. mandatory="ech" alpn="h2" port="8443" ipv4hint="192.0.2.1" ech="LIST" ipv6hint="2001:db8::1" key65400="x"`
	dir := genKey(t, strings.Fields(args)...)
	set := loadKeys(t, dir)
	key := set.Keys()[0]
	if c := key.Config; c.PublicName != "public.example" || c.KEM != ech.KEMP256 || c.MaximumNameLength != 99 || key.Role != ech.Current {
		t.Errorf("%+v", c)
	}
	if info, err := os.Stat(filepath.Join(dir, key.File)); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	list, err := ech.Base64ConfigList(key)
	if err != nil {
		t.Fatal(err)
	}
	// The same from the directory, so that the list is known.
	record := append(strings.Fields("keys record --dir "+dir), strings.Fields(strings.TrimPrefix(args, "--kem p256 --max-name-length 99 "))...)
	rdata := strings.ReplaceAll(want, "LIST", list)
	status, out, errs := run(t, record...)
	if zone := "example.com.\t3600\tIN\tHTTPS\t" + rdata + "\n_8443._https.www.example.com.\t3600\tIN\tHTTPS\t" + rdata + "\n"; status != ExitOK || errs != "" || out != zone {
		t.Errorf("status %d, stderr %q, stdout\n%s\nwant\n%s", status, errs, out, zone)
	}
	zone := dns.NewZoneParser(strings.NewReader(out), "", "")
	for _, name := range []string{"example.com.", "_8443._https.www.example.com."} {
		if rr, ok := zone.Next(); !ok || rr.Header().Name != name || rr.(*dns.HTTPS).Value[4].String() != list {
			t.Errorf("%s: %v, %v", name, rr, zone.Err())
		}
	}

	_, out, _ = run(t, append(record, "--format", "base64")...)
	if out != list+"\n" {
		t.Errorf("base64: %q", out)
	}
	_, out, _ = run(t, append(record, "--format", "nsupdate")...)
	if !strings.HasPrefix(out, "update delete example.com. HTTPS\nupdate add example.com. 3600 HTTPS "+rdata+"\nsend\n") || strings.Count(out, "send\n") != 2 {
		t.Errorf("nsupdate: %s", out)
	}
	var p published
	_, out, _ = run(t, append(record, "--format", "json")...)
	if err := json.Unmarshal([]byte(out), &p); err != nil || p.ECH != list || len(p.Records) != 2 || p.Records[0].Rdata != rdata || len(p.Keys) != 1 || p.Keys[0].File != key.File || p.Made != "" {
		t.Errorf("json: %v, %+v", err, p)
	}
}

// gen-ech itself prints the record of the key that it made.
func TestKeysGenOutput(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ech")
	status, out, errs := run(t, "keys", "gen-ech", "--public-name", "Public.Example.", "--dir", dir)
	key := loadKeys(t, dir).Keys()[0]
	list, err := ech.Base64ConfigList(key)
	if err != nil {
		t.Fatal(err)
	}
	if want := "@\t300\tIN\tHTTPS\t1 . alpn=\"h2,http/1.1\" ech=\"" + list + "\"\n"; status != ExitOK || out != want {
		t.Errorf("status %d, stdout %q, want %q", status, out, want)
	}
	if want := fmt.Sprintf("edge: key %d for public.example is in %s/%s\n", key.Config.ID, dir, key.File); errs != want {
		t.Errorf("stderr %q, want %q", errs, want)
	}
	var p published
	status, out, errs = run(t, "keys", "gen-ech", "--public-name", "public.example", "--dir", dir, "--for", "public.example", "--format", "json")
	if err := json.Unmarshal([]byte(out), &p); status != ExitOK || err != nil || len(p.Keys) != 2 || p.Made == key.File || p.Made == "" {
		t.Errorf("status %d, %v, %+v", status, err, p)
	}
	for _, want := range []string{"the record holds 2 keys", "public.example is the public name itself"} {
		if !strings.Contains(errs, want) {
			t.Errorf("stderr %q, want %q", errs, want)
		}
	}
	raw, err := base64.StdEncoding.DecodeString(p.ECH)
	if configs, perr := ech.ParseConfigList(raw); err != nil || perr != nil || len(configs) != 2 {
		t.Errorf("%v, %v, %d configs", err, perr, len(configs))
	}
	// One that is to be given out later is in the record all the same.
	status, out, _ = run(t, "keys", "gen-ech", "--public-name", "other.example", "--dir", filepath.Join(t.TempDir(), "ech"), "--not-before", "1d", "--format", "json")
	p = published{}
	if err := json.Unmarshal([]byte(out), &p); status != ExitOK || err != nil || len(p.Keys) != 1 || time.Until(*p.Keys[0].NotBefore) < 23*time.Hour {
		t.Errorf("status %d, %v, %+v", status, err, p)
	}
}

func TestKeysList(t *testing.T) {
	dir := genKey(t)
	key := loadKeys(t, dir).Keys()[0]
	status, out, errs := run(t, "keys", "list", "--dir", dir)
	lines := strings.Split(out, "\n")
	if status != ExitOK || errs != "" || len(lines) != 3 {
		t.Fatalf("status %d, stderr %q, stdout\n%s", status, errs, out)
	}
	want := fmt.Sprintf("%d public.example x25519 current yes %s - %s -", key.Config.ID, stamp(key.NotBefore), key.File)
	if got := strings.Join(strings.Fields(lines[1]), " "); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if err := os.WriteFile(filepath.Join(dir, "bad.pem"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	status, out, errs = run(t, "keys", "list", "--dir", dir)
	if status != ExitFailure || !strings.Contains(out, "bad.pem") || !strings.Contains(out, "  holds no PRIVATE KEY") ||
		errs != "edge: "+dir+": files that cannot be used: 1: mend them or take them away\n" {
		t.Errorf("status %d, stderr %q, stdout\n%s", status, errs, out)
	}
	var rows []map[string]any
	status, out, _ = run(t, "keys", "list", "--dir", dir, "--json")
	if err := json.Unmarshal([]byte(out), &rows); status != ExitFailure || err != nil || len(rows) != 2 {
		t.Fatalf("status %d, %v, %s", status, err, out)
	}
	if rows[0]["config_id"] != float64(key.Config.ID) || rows[0]["file"] != key.File || rows[0]["given_out"] != true || rows[1]["bad_file"] != "bad.pem" || rows[1]["config_id"] != nil {
		t.Errorf("%v", rows)
	}
	if status, out, errs := run(t, "keys", "list", "--dir", filepath.Join(dir, "none")); status != ExitFailure || out != "" || !strings.Contains(errs, "none: no such file or directory") {
		t.Errorf("status %d, stdout %q, stderr %q", status, out, errs)
	}
}

func TestKeysRotate(t *testing.T) {
	dir := genKey(t)
	old := loadKeys(t, dir).Keys()[0]
	status, out, errs := run(t, "keys", "rotate", "--dir", dir, "--overlap", "1d", "--dry-run")
	if want := fmt.Sprintf("would be made: a successor of key %d for public.example", old.Config.ID); status != ExitOK || errs != "" || !strings.HasPrefix(out, want) ||
		!strings.Contains(out, "would be retired "+old.File) || len(loadKeys(t, dir).Keys()) != 1 {
		t.Errorf("status %d, stderr %q, stdout %q", status, errs, out)
	}
	for range 2 { // the second finds nothing to do
		status, out, errs = run(t, "keys", "rotate", "--dir", dir, "--overlap", "1d")
		if status != ExitOK || errs != "" {
			t.Fatalf("status %d, stderr %q", status, errs)
		}
	}
	set := loadKeys(t, dir)
	if keys := set.Keys(); len(keys) != 2 || keys[0].Role != ech.Current && keys[1].Role != ech.Current {
		t.Fatalf("%v", keys)
	}
	if !strings.HasPrefix(out, "stays ") || strings.Count(out, "\n") != 1 {
		t.Errorf("the second run: %q", out)
	}
	for _, k := range set.Keys() {
		if retired := k.File == old.File; retired != (k.Role == ech.DecryptOnly) || retired == k.RemoveAfter.IsZero() {
			t.Errorf("%v, to be removed after %v", k, k.RemoveAfter)
		}
	}
	// Forced, with no overlap, the old ones go at once.
	force := []string{"keys", "rotate", "--dir", dir, "--overlap", "0", "--force"}
	run(t, force...)
	status, out, errs = run(t, append(force, "--every", "1d")...)
	if status != ExitOK || !strings.Contains(out, "removed ") || len(loadKeys(t, dir).Keys()) != 2 {
		t.Errorf("status %d, stderr %q, stdout %q", status, errs, out)
	}
	for args, want := range map[string]string{
		"--public-name other.example":   "for other.example it holds no current key",
		"--dir " + t.TempDir():          "holds no current key to replace: make the first with `edge keys gen-ech`",
		"--dir " + dir + "/none":        "none: no such file or directory",
		"--dry-run --dir " + dir + "/x": "x: no such file or directory",
	} {
		status, out, errs := run(t, append([]string{"keys", "rotate", "--dir", dir}, strings.Fields(args)...)...)
		if status != ExitFailure || out != "" || !strings.Contains(errs, want) || strings.Count(errs, "\n") != 1 {
			t.Errorf("%s: status %d, stdout %q, stderr %q", args, status, out, errs)
		}
	}
}

// privateKeys are the private keys of a directory in every form in which they
// could be shown.
func privateKeys(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.pem"))
	if err != nil {
		t.Fatal(err)
	}
	var secrets []string
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		block, _ := pem.Decode(data)
		if block == nil || block.Type != "PRIVATE KEY" {
			continue
		}
		key := rawKey(t, block.Bytes)
		secrets = append(secrets, string(key), fmt.Sprintf("%x", key), fmt.Sprintf("%X", key), strings.Trim(fmt.Sprint(key), "[]"))
		for shift := range 3 { // base64 of the key at any place in a longer text
			secrets = append(secrets, base64.StdEncoding.EncodeToString(key[shift:shift+24]))
		}
		secrets = append(secrets, strings.Split(string(pem.EncodeToMemory(block)), "\n")[1])
	}
	if len(secrets) == 0 {
		t.Fatal("no private key was found")
	}
	return secrets
}

func rawKey(t *testing.T, pkcs8 []byte) []byte {
	t.Helper()
	parsed, err := x509.ParsePKCS8PrivateKey(pkcs8)
	if err != nil {
		t.Fatal(err)
	}
	switch key := parsed.(type) {
	case *ecdh.PrivateKey:
		return key.Bytes()
	case *ecdsa.PrivateKey:
		raw, err := key.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	t.Fatalf("a private key of type %T", parsed)
	return nil
}
