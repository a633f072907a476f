package tlsstack

import (
	"time"

	"edge/tlsstack/keys"
	"edge/tlsstack/wire"
)

// clientFinished verifies the client's Finished (RFC 9846, 4.5.3), changes the
// read key, queues tickets and gives the handshake state back.
func (c *Conn) clientFinished(now time.Time, msg []byte) *Error {
	if e := c.atKeyChange(); e != nil {
		return e
	}
	got, err := wire.ParseFinished(msg)
	if err != nil {
		return refuseMessage(err)
	}
	hs := c.hs
	if !keys.Equal(hs.client.Finished(hs.transcript.Sum()), got) {
		return refuse(ReasonFinished)
	}
	hs.transcript.Add(msg)
	c.inSecret = hs.clientApp
	hs.traffic.Load(c.suite, &c.inSecret)
	c.in.SetKey(hs.traffic.Key())
	c.info.Client = hs.identity
	c.state = stateEstablished
	if e := c.sendTickets(now); e != nil {
		return e
	}
	c.endHandshake()
	return nil
}
