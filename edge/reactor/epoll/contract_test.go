package epoll

import (
	"testing"

	"edge/edge/reactor"
	"edge/edge/reactor/reactortest"
)

func TestContract(t *testing.T) {
	reactortest.Run(t, func(t *testing.T, o reactor.Options) reactortest.Fixture {
		r, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		return &reactortest.RealFixture{T: t, R: r}
	})
}
