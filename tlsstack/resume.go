package tlsstack

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"encoding/binary"
	"io"
	"time"

	"edge/tlsstack/keys"
	"edge/tlsstack/wire"
)

// Session tickets: stateless, always with (EC)DHE (psk_dhe_ke), bound to server
// name, ALPN, and the policy for client certificates.

// identitiesMax is how many of the offered PSKs are tried. Clients offer one or
// two.
const identitiesMax = 8

// resume looks for a PSK that can be used, verifies its binder, and adds the
// rest of the ClientHello to the transcript. Finding none is no error.
func (c *Conn) resume(now time.Time) *Error {
	hs := c.hs
	hs.identity = nil // a session of the first hello proves nothing yet
	if hs.hello.PSK.Count == 0 {
		return nil
	}
	if binder := c.findSession(now); binder != nil {
		if e := c.acceptSession(binder); e != nil {
			return e
		}
	}
	hs.transcript.Add(hs.hello.Raw[hs.bindersAt():])
	return nil
}

// findSession tries the identities in the client's order and returns the binder
// of the first that can be resumed, nil when none can. The session is then in
// hs.resumed.
func (c *Conn) findSession(now time.Time) (binder []byte) {
	hs := c.hs
	if c.cfg.Tickets == nil || !hs.hello.OffersPSKMode(wire.PSKModeDHEKE) {
		return nil
	}
	list := hs.hello.PSK
	for i := range identitiesMax {
		psk, ok := list.Next()
		if !ok {
			return nil
		}
		var found bool
		hs.ticket, found = c.cfg.Tickets.open(hs.ticket[:0], psk.Identity)
		if found && hs.resumed.parse(hs.ticket) && c.usable(now, &hs.resumed) {
			hs.resumed.index = uint16(i)
			return psk.Binder
		}
	}
	return nil
}

// usable checks that a session may go on here and now.
func (c *Conn) usable(now time.Time, s *session) bool {
	seconds := now.Unix()
	suite := keys.SuiteByID(s.suite)
	return suite != nil && suite.HashLen == c.suite.HashLen &&
		c.hs.hello.CipherSuites.Contains(uint16(s.suite)) &&
		seconds-s.sealed <= int64(c.cfg.ticketLifetime()/time.Second) && s.sealed <= seconds+clockSkewMax &&
		seconds-s.started <= int64(sessionLifeMax/time.Second) &&
		bytes.Equal(s.name, c.hs.name) &&
		s.alpn == c.hs.params.alpn &&
		bytes.Equal(s.policy, c.policy(nil)) &&
		(c.cfg.ClientAuth != ClientAuthRequire || len(s.chain) > 0) &&
		c.restoreIdentity(now, s)
}

// clockSkewMax is by how many seconds another machine's clock may be ahead.
const clockSkewMax = 60

// policy appends what binds a session to the way clients are authenticated.
func (c *Conn) policy(dst []byte) []byte {
	if c.cfg.ClientAuth == ClientAuthNone {
		return dst
	}
	digest := c.cfg.ClientVerifier.Digest()
	return append(dst, digest[:sha256.Size]...)
}

// acceptSession verifies the binder (RFC 9846, 4.3.11.2): "If this value is not
// present or does not validate, the server MUST abort the handshake."
func (c *Conn) acceptSession(binder []byte) *Error {
	hs := c.hs
	hs.early.Start(c.suite, hs.resumed.psk.Bytes())
	if !keys.Equal(hs.early.Binder(&hs.traffic, hs.transcript.Sum()), binder) {
		return refuse(ReasonBinder)
	}
	c.info.Resumed = true
	return nil
}

// restoreIdentity makes the client's identity of a ticket's chain. It returns
// false when the verifier will not have it, which makes a whole handshake.
func (c *Conn) restoreIdentity(now time.Time, s *session) bool {
	c.hs.identity = nil
	if len(s.chain) == 0 {
		return true
	}
	identity := &ClientIdentity{Scheme: s.scheme}
	for _, der := range s.chain {
		identity.Chain = append(identity.Chain, bytes.Clone(der))
	}
	leaf, err := x509.ParseCertificate(identity.Chain[0])
	if err != nil || !c.cfg.ClientVerifier.ResumeClient(now, leaf) {
		return false
	}
	identity.Leaf = leaf
	c.hs.identity = identity
	return true
}

// sendTickets queues tickets after the handshake (RFC 9846, 4.7.1): some after a
// whole one, one in place of the one that was used.
func (c *Conn) sendTickets(now time.Time) *Error {
	hs := c.hs
	if c.cfg.Tickets == nil || !hs.tickets {
		return nil
	}
	hs.master.Resumption(hs.transcript.Sum(), &hs.resumption)
	hs.traffic.Load(c.suite, &hs.resumption)
	s := session{
		suite: c.suite.ID, sealed: now.Unix(), started: now.Unix(),
		name: hs.name, alpn: c.info.ALPN, policy: c.policy(nil),
	}
	if c.info.Client != nil {
		s.scheme, s.chain = c.info.Client.Scheme, c.info.Client.Chain
	}
	count := c.cfg.ticketsPerSession()
	if c.info.Resumed {
		s.started, count = hs.resumed.started, 1
	}
	hs.scratch = hs.scratch[:0]
	for i := range count {
		if e := c.appendTicket(&s, byte(i)); e != nil {
			return e
		}
	}
	c.sealFlight()
	return nil
}

// appendTicket adds one NewSessionTicket to what is to be sealed. The nonce sets
// the tickets of one connection apart.
func (c *Conn) appendTicket(s *session, nonce byte) *Error {
	hs := c.hs
	life := min(c.cfg.ticketLifetime(), sessionLifeMax-time.Duration(s.sealed-s.started)*time.Second)
	if life < time.Second {
		return nil
	}
	hs.small[0] = nonce
	hs.traffic.TicketPSK(hs.small[:1], &s.psk)
	plain, ok := s.append(hs.verify[:0])
	hs.verify = plain
	if !ok {
		return nil
	}
	var err error
	if hs.ticket, err = c.cfg.Tickets.seal(hs.ticket[:0], plain, c.rand); err != nil {
		return internal(err)
	}
	if _, err := io.ReadFull(c.rand, hs.small[:]); err != nil {
		return internal(err)
	}
	m := wire.NewSessionTicket{
		LifetimeSeconds: uint32(life / time.Second),
		AgeAdd:          binary.BigEndian.Uint32(hs.small[:]),
		Nonce:           []byte{nonce},
		Ticket:          hs.ticket,
	}
	hs.scratch = m.Append(hs.scratch)
	return nil
}
