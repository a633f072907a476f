package gateway

import "testing"

// Memory is tidied after the start and when a burst of handshakes is over, and
// each time once more when connections rest: not during the burst, not for a few
// handshakes, not for ever.
func TestTidier(t *testing.T) {
	tidy := newTidier()
	for i, step := range []struct {
		litter int64
		want   bool
	}{
		{0, true}, {0, false}, {10, true}, {40, false}, // the start
		{255, false}, {700, false}, {750, true}, // a burst, and its end
		{751, false}, {760, true}, // its connections have come to rest
		{760, false}, {800, false}, {840, false}, {880, false}, {920, false}, {960, false}, {1000, false},
		{1006, true},                               // as many as a burst, however slowly
		{1100, false}, {1250, false}, {1300, true}, // another
		{1300 + tidyWorth, false}, {1301 + tidyWorth, true}, // a reload
		{1302 + tidyWorth, false}, {1302 + tidyWorth, true}, // and what it replaced
	} {
		if got := tidy.look(step.litter); got != step.want {
			t.Errorf("look %d, litter %d: %v", i, step.litter, got)
		}
	}
}
