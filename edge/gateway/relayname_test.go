package gateway

import (
	"context"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"edge/edge/config"
	"edge/proxy/resolve"
)

// Names to relay are found by whatever spelling a hello has of them; what no hello
// can name is told.
func TestRelayNamesAreNormal(t *testing.T) {
	to := config.HostPort{Host: "192.0.2.9", Port: 443}
	b := newBench(t, benchOptions{noSite: true, config: func(c *config.Config) {
		c.Relays = []config.Relay{{Name: "bücher.example", Target: to}, {Name: "A.Example", Target: to}, {Name: "192.0.2.1", Target: to}}
	}})
	b.s.resolver = resolve.New(t.Context(), func(context.Context, string) ([]netip.Addr, time.Duration, error) {
		return nil, 0, resolve.ErrNotFound
	}, func(string) {})
	got := slices.Sorted(maps.Keys(b.s.relayTargets(nil)))
	if want := []string{"a.example", "xn--bcher-kva.example"}; !slices.Equal(got, want) {
		t.Errorf("relayed are %q, want %q", got, want)
	}
	if !strings.Contains(b.log.String(), `nothing is relayed for "192.0.2.1"`) {
		t.Errorf("the log says %q", b.log)
	}
	b.done()
}
