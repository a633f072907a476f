package uring

import (
	"testing"

	"edge/edge/reactor"
	"edge/edge/reactor/reactortest"
)

func TestContract(t *testing.T) {
	reactortest.Run(t, func(t *testing.T, o reactor.Options) reactortest.Fixture {
		return &reactortest.RealFixture{T: t, R: newReactor(t, o)}
	})
}
