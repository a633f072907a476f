package gateway

import (
	"strings"
	"testing"
	"time"

	"edge/ech"
)

func TestECHWatch(t *testing.T) {
	at := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		before, since echCounts
		want          string
	}{
		"nothing":                   {echCounts{}, echCounts{}, ""},
		"stale, and nothing before": {echCounts{100, 0}, echCounts{90, 10}, "10 of 100"},
		"too few to tell":           {echCounts{100, 0}, echCounts{0, 9}, ""},
		"no more than before":       {echCounts{50, 50}, echCounts{50, 50}, ""},
		"twice as often as before":  {echCounts{90, 10}, echCounts{80, 20}, ""},
		"more than that":            {echCounts{90, 10}, echCounts{79, 21}, "21 of 100 hellos that were meant for them did not open, before 10 of 100"},
		"one in a hundred":          {echCounts{1000, 0}, echCounts{990, 10}, ""},
		"after a quiet start":       {echCounts{}, echCounts{0, 10}, "before 0 of 0"},
	} {
		var e echWatch
		if e.look(c.before) != "" {
			t.Errorf("%s: something is told before the keys ever changed", name)
		}
		e.keysChanged(at, c.before)
		total := echCounts{c.before.opened + c.since.opened, c.before.stale + c.since.stale}
		got := e.look(total)
		if !strings.Contains(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if c.want == "" {
			continue
		}
		if !strings.Contains(got, "2026-12-01T00:00:00Z") {
			t.Errorf("%s: %q does not say since when", name, got)
		}
		// Told again when there are twice as many, and not before.
		total.stale += c.since.stale - 1
		if got := e.look(total); got != "" {
			t.Errorf("%s: told twice: %q", name, got)
		}
		total.stale++
		if e.look(total) == "" {
			t.Errorf("%s: twice as many are not told", name)
		}
		// The next keys start anew, measured by these.
		e.keysChanged(at, total)
		if got := e.look(total); got != "" {
			t.Errorf("%s: told of the next keys: %q", name, got)
		}
	}
}

func TestSameKeys(t *testing.T) {
	a, b := newECHKey(t, "public.example"), newECHKey(t, "public.example")
	retired := *a
	retired.Role = ech.DecryptOnly
	set := func(keys ...*ech.Key) *ech.Set {
		t.Helper()
		s, err := ech.NewSet(keys)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	if !sameKeys(nil, nil) || !sameKeys(set(a, b), set(a, b)) {
		t.Error("the same keys are not the same")
	}
	for name, other := range map[string]*ech.Set{"none": nil, "fewer": set(a), "another": set(a, a), "retired": set(&retired, b)} {
		if sameKeys(set(a, b), other) || sameKeys(other, set(a, b)) {
			t.Errorf("%s: the same", name)
		}
	}
}
