package ech_test

import (
	"crypto/ecdh"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"edge/ech"
)

// pemParts splits a key file into its PRIVATE KEY and ECHCONFIG blocks.
func pemParts(t *testing.T, k *ech.Key) (private, config string) {
	t.Helper()
	text, err := k.MarshalKeyFile()
	if err != nil {
		t.Fatal(err)
	}
	at := strings.Index(string(text), "-----BEGIN ECHCONFIG")
	return string(text[:at]), string(text[at:])
}

// configBlock is an ECHCONFIG block of a list of configs.
func configBlock(t *testing.T, raws ...[]byte) string {
	t.Helper()
	list, err := ech.AppendConfigList(nil, raws...)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "ECHCONFIG", Bytes: list}))
}

// editedConfig returns the key's config with old replaced by new, of one length.
func editedConfig(k *ech.Key, old, new string) []byte {
	return []byte(strings.Replace(string(k.Config.Raw), old, new, 1))
}

// TestKeyFiles reads every form of a file that is met: good ones with the number
// of keys, bad ones with what the error says.
func TestKeyFiles(t *testing.T) {
	a, b := generate(t, ech.KeyParameters{}), generate(t, ech.KeyParameters{KEM: ech.KEMP256})
	keyA, configA := pemParts(t, a)
	keyB, configB := pemParts(t, b)
	unknown := []byte{0xfe, 0x0a, 0, 3, 1, 2, 3}
	x448 := editedConfig(a, "\x00\x20\x00\x20", "\x00\x21\x00\x20")
	mandatory := withExtension(a.Config.Raw, 0xaaaa)
	optional := withExtension(a.Config.Raw, 0x2a2a)
	for _, c := range []struct {
		what, text string
		keys       int
		err        string
	}{
		{"key and config", keyA + configA, 1, ""},
		{"swapped", configA + keyA, 1, ""},
		{"P-256", keyB + configB, 1, ""},
		{"two pairs", keyA + configA + keyB + configB, 2, ""},
		{"two keys, one list", keyA + keyB + configBlock(t, a.Config.Raw, b.Config.Raw), 2, ""},
		{"two keys after two configs", configA + configB + keyB + keyA, 2, ""},
		{"one key, two configs", keyA + configA + configBlock(t, editedConfig(a, "public.example", "second.example")), 2, ""},
		{"CRLF", strings.ReplaceAll(keyA+configA, "\n", "\r\n"), 1, ""},
		{"text around", "made by hand\n\n" + keyA + "between\n" + configA + "after\n", 1, ""},
		{"unknown version beside a known one", keyA + configBlock(t, unknown, a.Config.Raw), 1, ""},
		{"optional config extension", keyA + configBlock(t, optional), 1, ""},

		{"empty", "", 0, "holds no PRIVATE KEY and ECHCONFIG"},
		{"only text", "nothing here\n", 0, "holds no PRIVATE KEY and ECHCONFIG"},
		{"only a key", keyA, 0, "holds no ECHCONFIG"},
		{"only a config", configA, 0, "holds no PRIVATE KEY"},
		{"only an unknown version", keyA + configBlock(t, unknown), 0, "supported version"},
		{"key of another config", keyB + configA, 0, "no PRIVATE KEY in the file that belongs to it"},
		{"second config without key", keyA + configA + configB, 0, "no PRIVATE KEY in the file"},
		{"key without config", keyA + keyB + configA, 0, "belongs to no ECHCONFIG"},
		{"mandatory config extension", keyA + configBlock(t, mandatory), 0, "mandatory config extension 0xaaaa"},
		{"KEM not supported", keyA + configBlock(t, x448), 0, "KEM 0x0021"},
		{"public name an address", keyA + configBlock(t, editedConfig(a, "public.example", "public.example"[:5]+".0x7f.001")), 0, "IPv4"},
		{"public name with a dot at the end", keyA + configBlock(t, editedConfig(a, "public.example", "public.exampl.")), 0, "LDH"},
		{"truncated block", keyA + configA[:len(configA)-30], 0, "PEM block"},
		{"broken base64", keyA + strings.Replace(configA, "\nA", "\n*", 1), 0, "PEM block"},
		{"other block", keyA + configA + "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", 0, "neither"},
		{"not PKCS #8", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n" + configA, 0, "PKCS #8"},
		{"encrypted", "-----BEGIN PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nAAAA\n-----END PRIVATE KEY-----\n" + configA, 0, "headers"},
		{"too long", keyA + configA + strings.Repeat("x", ech.KeyFileBytesMax), 0, "larger than"},
		{"unknown line", "ECH-Rule: current\n" + keyA + configA, 0, "none that is known"},
		{"unknown role", "ECH-Role: old\n" + keyA + configA, 0, "neither current nor decrypt-only"},
		{"role twice", "ECH-Role: current\nECH-Role: current\n" + keyA + configA, 0, "twice"},
		{"not a time", "ECH-Not-Before: tomorrow\n" + keyA + configA, 0, "not a time"},
	} {
		keys, err := ech.ParseKeyFile([]byte(c.text))
		if c.err == "" && err == nil && len(keys) == c.keys {
			continue
		}
		if c.err == "" || err == nil || !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %d keys, %v", c.what, len(keys), err)
		}
		if err != nil {
			checkSecret(t, c.what, err.Error(), a, b)
		}
	}
}

// withExtension adds an empty extension to a config that ends with an empty list
// of them.
func withExtension(config []byte, typ uint16) []byte {
	c := append([]byte{}, config[:len(config)-2]...)
	c = append(c, 0, 4, byte(typ>>8), byte(typ), 0, 0)
	c[3] += 4
	return c
}

// privateBytes takes the raw key out of the file, since no API gives it.
func privateBytes(t *testing.T, k *ech.Key) []byte {
	t.Helper()
	text, err := k.MarshalKeyFile()
	if err != nil {
		t.Fatal(err)
	}
	at := strings.Index(string(text), "-----BEGIN PRIVATE KEY")
	block, _ := pem.Decode(text[at:])
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	if c, ok := parsed.(interface {
		ECDH() (*ecdh.PrivateKey, error)
	}); ok {
		if parsed, err = c.ECDH(); err != nil {
			t.Fatal(err)
		}
	}
	return parsed.(*ecdh.PrivateKey).Bytes()
}

// checkSecret looks for the keys in a text, in every form a log could show them.
func checkSecret(t *testing.T, what, text string, keys ...*ech.Key) {
	t.Helper()
	for _, k := range keys {
		raw := privateBytes(t, k)
		file, _ := k.MarshalKeyFile()
		for _, secret := range []string{
			string(raw), hex.EncodeToString(raw), strings.ToUpper(hex.EncodeToString(raw)),
			base64.StdEncoding.EncodeToString(raw)[:40], fmt.Sprint(raw)[1:20], string(file[30:60]),
		} {
			if strings.Contains(text, secret) {
				t.Errorf("%s shows the private key", what)
			}
		}
	}
}

// TestKeysAreNotPrinted formats keys and sets in all ways.
func TestKeysAreNotPrinted(t *testing.T) {
	for _, kem := range []uint16{ech.KEMX25519, ech.KEMP256} {
		key := generate(t, ech.KeyParameters{KEM: kem})
		set := newSet(t, key)
		ctx := startRetry(t, generate(t, ech.KeyParameters{})).ctx
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%q", "%d"} {
			for _, v := range []any{key, set, *set, ctx, struct{ K *ech.Key }{key}, []*ech.Key{key}} {
				checkSecret(t, verb, fmt.Sprintf(verb, v), key, ctx.Key)
			}
		}
		for _, v := range []any{key, set} {
			b, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			checkSecret(t, "JSON", string(b), key)
		}
	}
}

// TestRoles reads a key's role and times back from its file, and applies them to
// what is given out.
func TestRoles(t *testing.T) {
	noon := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	old, now, next := generate(t, ech.KeyParameters{}), generate(t, ech.KeyParameters{}), generate(t, ech.KeyParameters{})
	old.Role, old.RemoveAfter = ech.DecryptOnly, noon
	next.NotBefore = noon
	var read []*ech.Key
	for _, k := range []*ech.Key{next, now, old} {
		text, err := k.MarshalKeyFile()
		if err != nil {
			t.Fatal(err)
		}
		keys, err := ech.ParseKeyFile(text)
		if err != nil || len(keys) != 1 {
			t.Fatal(err)
		}
		got := keys[0]
		if got.Role != k.Role || !got.NotBefore.Equal(k.NotBefore) || !got.RemoveAfter.Equal(k.RemoveAfter) {
			t.Errorf("%s read back as %v %v %v", text, got.Role, got.NotBefore, got.RemoveAfter)
		}
		read = append(read, got)
	}
	set := newSet(t, read...)
	checkRetry(t, "before", set, noon.Add(-time.Second), now)
	checkRetry(t, "after", set, noon, next, now)
	checkRetry(t, "only in the future", newSet(t, next, old), noon.Add(-time.Hour), next)
	checkRetry(t, "none current", newSet(t, old), noon)
	if !set.IsPublicName([]byte("public.example")) || set.IsPublicName([]byte("secret.example")) {
		t.Error("public names")
	}
}

// checkRetry compares the retry configs at a time with those of keys, in order
// (RFC 9849, 7.1: "up-to-date keys").
func checkRetry(t *testing.T, what string, set *ech.Set, now time.Time, keys ...*ech.Key) {
	t.Helper()
	got := set.RetryConfigs(now)
	if len(keys) == 0 {
		if got != nil {
			t.Errorf("%s: %x", what, got)
		}
		return
	}
	text, err := ech.Base64ConfigList(keys...)
	if err != nil || base64.StdEncoding.EncodeToString(got) != text {
		t.Errorf("%s: %x, %v", what, got, err)
	}
}

// TestLoadDir reads a directory: bad files are named, the others are used, the
// name can retire a key.
func TestLoadDir(t *testing.T) {
	later := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	first, second, retired := generate(t, ech.KeyParameters{}), generate(t, ech.KeyParameters{}), generate(t, ech.KeyParameters{})
	second.NotBefore = later
	dir := fstest.MapFS{
		"a.pem":                 keyFile(t, first),
		"b.ech":                 keyFile(t, second),
		"c.decrypt-only.pem":    keyFile(t, retired),
		"empty.pem":             {},
		"bad.pem":               {Data: []byte("-----BEGIN PRIVATE KEY-----\n")},
		".a.pem.swp":            {Data: []byte("not read")},
		"notes.txt":             {Data: []byte("not read")},
		"same.pem":              keyFile(t, first),
		"sub.pem/file":          {Data: []byte("not read")},
		"sub/looks-like-it.pem": {Data: []byte("not read")},
	}
	set, err := ech.LoadDir(dir)
	if set == nil || len(set.Keys()) != 4 {
		t.Fatal(set, err)
	}
	for _, name := range []string{"empty.pem", "bad.pem", "sub.pem"} {
		if !strings.Contains(err.Error(), "ECH key file "+name+":") {
			t.Errorf("%s is not named by %v", name, err)
		}
	}
	var file *ech.FileError
	if !errors.As(err, &file) {
		t.Errorf("%T", err)
	}
	checkRetry(t, "now", set, later.Add(-1), first)
	checkRetry(t, "later", set, later, second, first)
	for _, k := range set.Keys() {
		if k.File == "c.decrypt-only.pem" && k.Role != ech.DecryptOnly {
			t.Error("the name did not retire the key")
		}
	}
	if _, err := ech.LoadDir(fstest.MapFS{"a.pem": dir["a.pem"]}); err != nil {
		t.Error(err)
	}
	if set, err := ech.LoadDir(os.DirFS(filepath.Join(t.TempDir(), "missing"))); set != nil || err == nil {
		t.Error("a missing directory gives", set, err)
	}
}

func keyFile(t *testing.T, k *ech.Key) *fstest.MapFile {
	t.Helper()
	text, err := k.MarshalKeyFile()
	if err != nil {
		t.Fatal(err)
	}
	return &fstest.MapFile{Data: text, Mode: 0o600}
}
