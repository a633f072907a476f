package reactortest

import (
	"fmt"
	"testing"

	"edge/edge/reactor"
	"edge/edge/reactor/sim"
)

// simulated makes fixtures over the simulation.
func simulated(seed uint64, calm bool) Make {
	return func(t *testing.T, o reactor.Options) Fixture {
		return &SimFixture{S: sim.New(t, sim.Options{
			Seed: seed, Calm: calm, SocketsMax: o.SocketsMax, RecvBytes: o.RecvBytes, RecvBuffers: o.RecvBuffers,
		})}
	}
}

func TestSim(t *testing.T) {
	t.Run("calm", func(t *testing.T) { Run(t, simulated(1, true)) })
	for seed := uint64(1); seed <= 3; seed++ {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { Run(t, simulated(seed, false)) })
	}
}
