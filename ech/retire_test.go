package ech_test

import (
	"strings"
	"testing"
	"time"

	"edge/ech"
)

// TestRetireKeyFile retires files of several forms: the keys stay, in their new
// role, and so does every other line.
func TestRetireKeyFile(t *testing.T) {
	a, b := generate(t, ech.KeyParameters{}), generate(t, ech.KeyParameters{KEM: ech.KEMP256})
	keyA, configA := pemParts(t, a)
	keyB, configB := pemParts(t, b)
	until := time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC)
	const lines = "ECH-Role: decrypt-only\nECH-Remove-After: 2027-01-02T03:04:05Z\n"
	for what, c := range map[string]struct{ text, want string }{
		"plain":     {keyA + configA, lines + keyA + configA},
		"two pairs": {keyA + configA + keyB + configB, lines + keyA + configA + keyB + configB},
		"comments":  {"first\n" + keyA + "ECHo\n" + configA + "last", lines + "first\n" + keyA + "ECHo\n" + configA + "last"},
		"not before": {"ECH-Not-Before: 2026-01-01T00:00:00Z\n" + keyA + configA,
			lines + "ECH-Not-Before: 2026-01-01T00:00:00Z\n" + keyA + configA},
		"lines of before": {"ECH-Role: current\n" + keyA + "  ECH-Remove-After: 2026-01-01T00:00:00Z\r\n" + configA, lines + keyA + configA},
	} {
		got, err := ech.RetireKeyFile([]byte(c.text), until)
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %v, %d bytes, want %d", what, err, len(got), len(c.want))
			continue
		}
		keys, err := ech.ParseKeyFile(got)
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
		for _, k := range keys {
			if k.Role != ech.DecryptOnly || !k.RemoveAfter.Equal(until) {
				t.Errorf("%s: %v until %v", what, k, k.RemoveAfter)
			}
		}
	}
	for _, text := range []string{"", keyA, keyB + configA, keyA + configA + strings.Repeat("x", ech.KeyFileBytesMax-len(keyA+configA))} {
		if got, err := ech.RetireKeyFile([]byte(text), until); err == nil {
			t.Errorf("retired %d bytes that are no key file, or fit none, into %d", len(text), len(got))
		} else {
			checkSecret(t, "retire", err.Error(), a, b)
		}
	}
}

// FuzzRetireKeyFile: whatever can be read can be read once it is retired, and
// retired again to the same text.
func FuzzRetireKeyFile(f *testing.F) {
	text, err := fuzzKey(f).MarshalKeyFile()
	if err != nil {
		f.Fatal(err)
	}
	for _, lines := range []string{"", "ECH-Role: current\r\n", "  ECH-Remove-After: 2026-12-01T00:00:00Z\nECH-Not-Before: 2026-12-01T00:00:00Z\n", "-----END \n"} {
		f.Add([]byte(lines + string(text)))
	}
	until := time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC)
	f.Fuzz(func(t *testing.T, text []byte) {
		before, err := ech.ParseKeyFile(text)
		if err != nil {
			return
		}
		retired, err := ech.RetireKeyFile(text, until)
		if err != nil {
			return // too long now
		}
		after, err := ech.ParseKeyFile(retired)
		if err != nil || len(after) != len(before) {
			t.Fatalf("%d keys, then %d, %v", len(before), len(after), err)
		}
		for i, k := range after {
			if k.Role != ech.DecryptOnly || !k.RemoveAfter.Equal(until) || !k.NotBefore.Equal(before[i].NotBefore) || string(k.Config.Raw) != string(before[i].Config.Raw) {
				t.Errorf("%v became %v", before[i], k)
			}
		}
		if again, err := ech.RetireKeyFile(retired, until); err != nil || string(again) != string(retired) {
			t.Errorf("retired again: %v, %d bytes, were %d", err, len(again), len(retired))
		}
	})
}
