package gateway

import (
	"net/netip"

	"edge/tlsstack"
)

// start opens a fresh connection's first stage.
func (c *conn) start() {
	if !c.on.tls {
		c.stage = stageOpen
		c.waitForRequest()
		return
	}
	c.gen = c.w.join()
	c.tls.Init(c.gen.tlsFor(c.neighbour()), c.w.server.rand)
	c.setTimer(timerHandshake)
}

// advance moves the connection on when the TLS machine has something to decide
// or is done. False: the connection is over.
func (c *conn) advance() bool {
	if c.stage == stageHello && c.tls.Wait() == tlsstack.WaitDecision {
		if c.ech == echUnknown {
			c.judgeECH()
		}
		if goOn, alive := c.askHelloPrograms(); !goOn {
			return alive
		}
		if to := c.originOf(); to != nil {
			c.splitTo(to)
			return false
		}
		if to := c.relayTargetOf(); to != nil {
			c.relayTo(to)
			return false
		}
		if err := c.tls.Continue(c.w.r.Wall()); err != nil {
			c.failTLS(err)
			return false
		}
		c.stage = stageHandshake
		c.logDefault()
	}
	if c.stage == stageHandshake && c.tls.Wait() == tlsstack.WaitData {
		c.established()
	}
	return true
}

// logDefault says that a client asked for a name that we hold no certificate for,
// and was shown the default one. With --strict-sni the handshake fails instead.
func (c *conn) logDefault() {
	if info := c.tls.Info(); info.DefaultCert && info.ServerName != "" {
		c.w.server.log.limitedTo(1, "default", "tls: no certificate for %q: the default one was shown; client %s", c.nameToLog(), c.clientName())
	}
}

// neighbour is who has the other end of the socket.
func (c *conn) neighbour() netip.Addr {
	if c.via.IsValid() {
		return c.via.Addr()
	}
	return c.peer.Addr()
}

// established has the client's Finished.
func (c *conn) established() {
	c.stage = stageOpen
	c.leaveGeneration()
	c.w.stats.handshakes.Add(1)
	if c.tls.Info().Resumed {
		c.w.stats.resumed.Add(1)
	}
	c.waitForRequest()
}
