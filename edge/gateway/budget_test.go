package gateway

import "testing"

// The sum of what is dealt out is the budget, and never more than it by what the
// least number of receive buffers takes.
func TestDealBuffers(t *testing.T) {
	const mb = 1 << 20
	for _, c := range []struct {
		budget     int64
		pool, recv int
	}{
		{1 * mb, mb / 2, 64},
		{8 * mb, 6 * mb, 64},
		{256 * mb, 192 * mb, 2048},
		{1024 * mb, 896 * mb, 4096},
	} {
		pool, recv := dealBuffers(c.budget)
		if pool != c.pool || recv != c.recv {
			t.Errorf("%d MB: %d and %d, want %d and %d", c.budget/mb, pool, recv, c.pool, c.recv)
		}
		if over := int64(pool) + int64(recv)*recvBytes - c.budget; over > recvBuffersMin*recvBytes {
			t.Errorf("%d MB: passed by %d", c.budget/mb, over)
		}
	}
}
