package keydir

import (
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"edge/ech"
)

// keyOf makes a key that is in no file.
func keyOf(t *testing.T, name string, kem uint16) *ech.Key {
	t.Helper()
	k, err := ech.GenerateKey(ech.KeyParameters{PublicName: name, KEM: kem, Suites: ech.Suites}, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// TestPlan: rows of keys, each "NAME ROLE TIMES", with times in hours from now:
// current keys have the time they are given out from, others the time to be
// removed and the time their file was written. Names that begin with P are of
// another KEM, those with a digit 9 of another public name.
func TestPlan(t *testing.T) {
	const never = "-"
	policy := Policy{Overlap: 48 * time.Hour, TTL: time.Hour, Every: 24 * time.Hour}
	lead, force, other, always := policy, policy, policy, policy
	always.Every = 0
	again := always
	again.Force = true
	lead.Lead = 2 * time.Hour
	force.Force = true
	other.PublicName = "OTHER.example"
	for _, c := range []struct {
		what string
		p    Policy
		keys []string
		want string
	}{
		{"young", policy, []string{"K1 current -23"}, "stays K1 1h"},
		{"old", policy, []string{"K1 current -24"}, "made 0s, retired K1 48h"},
		{"old, with a lead", lead, []string{"K1 current -24"}, "made 2h"},
		{"successor not given out yet", lead, []string{"K1 current -24", "K2 current 1"}, "stays K2 25h"},
		{"successor given out", lead, []string{"K1 current -25", "K2 current 0"}, "retired K1 48h, stays K2 24h"},
		{"successor old as well", lead, []string{"K1 current -50", "K2 current -25"}, "made 2h, retired K1 48h"},
		{"two successors at once", policy, []string{"K1 current -24", "K2 current 0", "K3 current 0"}, "retired K3 48h, retired K1 48h, stays K2 24h"},
		{"two kinds", policy, []string{"K1 current -24", "P1 current -24"}, "made 0s, made 0s, retired K1 48h, retired P1 48h"},
		{"only one name", other, []string{"K1 current -24", "K9 current -24"}, "made 0s, retired K9 48h"},
		{"at any age", always, []string{"K1 current 0"}, "made 0s, retired K1 48h"},
		{"twice", always, []string{"K2 current 0", "K1 decrypt-only 48 0"}, "stays K2 1h"},
		{"twice, forced", again, []string{"K2 current 0", "K1 decrypt-only 48 0"}, "made 0s, retired K2 48h"},
		{"twice, of which one is of another kind", always, []string{"K2 current 0", "P1 decrypt-only 48 0"}, "made 0s, retired K2 48h"},
		{"after a key was added", always, []string{"K2 current 0", "K1 current -1"}, "retired K1 48h, stays K2 1h"},
		{"not given out yet", always, []string{"K1 current 1"}, "stays K1 1h"},
		{"no key given out yet", policy, []string{"K1 current 1", "K2 current 2"}, "stays K2 26h"},

		{"overlap not over", policy, []string{"K2 current -1", "K1 decrypt-only 1 -40"}, "stays K2 23h"},
		{"overlap over", policy, []string{"K2 current -1", "K1 decrypt-only 0 -40"}, "removed K1, stays K2 23h"},
		{"overlap over, but within the TTL", policy, []string{"K2 current -1", "K1 decrypt-only -1 0"}, "stays K2 23h, stays K1 1h"},
		{"the same, forced", force, []string{"K2 current -1", "K1 decrypt-only -1 0"}, "removed K1, stays K2 23h"},
		{"retired by hand", policy, []string{"K2 current -1", "K1 decrypt-only " + never + " -40"}, "retired K1 48h, stays K2 23h"},
		{"other names are left alone", other, []string{"K9 current -1", "K1 decrypt-only 0 -40"}, "stays K9 23h"},
		{"retired for the second time", policy, []string{"K2 current -1", "K1 current -2 90"}, "retired K1 90h, stays K2 23h"},
	} {
		names := make(map[string]string)
		var files []*file
		for _, row := range c.keys {
			f := planFile(t, row)
			files = append(files, f)
			names[string(f.keys[0].Config.Raw)] = f.name
		}
		if got := summary(plan(files, c.p, start), names, start); got != c.want {
			t.Errorf("%s: %s; want %s", c.what, got, c.want)
		}
	}
}

// planFile reads a row of TestPlan.
func planFile(t *testing.T, row string) *file {
	t.Helper()
	at := func(s string) time.Time {
		if s == "-" {
			return time.Time{}
		}
		d, err := time.ParseDuration(s + "h")
		if err != nil {
			t.Fatal(err)
		}
		return start.Add(d)
	}
	words := strings.Fields(row)
	name, kem := "public.example", ech.KEMX25519
	if words[0][0] == 'P' {
		kem = ech.KEMP256
	}
	if words[0][1] == '9' {
		name = "other.example"
	}
	k := keyOf(t, name, kem)
	k.File = words[0]
	f := &file{name: words[0], keys: []*ech.Key{k}}
	if words[1] == "current" {
		k.NotBefore = at(words[2])
		if len(words) > 3 {
			k.RemoveAfter = at(words[3])
		}
		return f
	}
	k.NotBefore = start.Add(-100 * time.Hour)
	k.Role, k.RemoveAfter, f.written = ech.DecryptOnly, at(words[2]), at(words[3])
	return f
}

func TestPolicyCheck(t *testing.T) {
	h := time.Hour
	for _, c := range []struct {
		p    Policy
		want string
	}{
		{Policy{Overlap: h, TTL: h, Every: h}, ""},
		{Policy{Overlap: h - 1, TTL: h, Every: h}, "overlap"},
		{Policy{Overlap: 1, TTL: h, Force: true}, ""},
		{Policy{Overlap: h, Lead: -1}, "negative"},
		{Policy{Overlap: -1, Force: true}, "negative"},
	} {
		err := c.p.Check()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.p, err, c.want)
		}
	}
}
