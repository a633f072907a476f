package main

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"edge/tlsstack"
	"edge/tlsstack/wire"
)

// shim is what lives from one connection of a test to the next.
type shim struct{ tickets *tlsstack.TicketKeys }

func newShim() (*shim, error) {
	tickets, err := tlsstack.NewTicketKeys(rand.Reader)
	return &shim{tickets: tickets}, err
}

// session is one connection.
type session struct {
	o       *options
	source  *source
	cfg     *tlsstack.Config
	verify  *verifier
	conn    net.Conn
	tls     tlsstack.Conn
	pending []byte
	first   []byte // what was received up to the decision
	resumed bool   // a later connection of the test
	decided bool
	greeted bool
}

// drainTime bounds how long a failed connection waits for the runner to close.
const drainTime = 5 * time.Second

// connect makes one connection and plays it to its end.
func (s *shim) connect(o *options, resumed bool) error {
	src, err := loadCredentials(o.credentials)
	if err != nil {
		return err
	}
	verify := &verifier{fail: o.verifyFail, custom: o.customVerify, authorities: o.clientCAs}
	cfg := s.config(o, src, verify)
	if err := setECH(cfg, o); err != nil {
		return err
	}
	conn, err := dial(o)
	if err != nil {
		return err
	}
	defer conn.Close()
	c := &session{o: o, source: src, cfg: cfg, verify: verify, conn: conn, resumed: resumed}
	c.tls.Init(cfg, rand.Reader)
	if err := c.play(); err != nil {
		c.finishFailed()
		return err
	}
	return nil
}

// config turns the options into the server's configuration.
func (s *shim) config(o *options, src *source, verify *verifier) *tlsstack.Config {
	cfg := &tlsstack.Config{
		Certificates:     src.offered(o),
		SendPlaintextMax: o.maxFragment,
		Compressors:      compressors(o),
		ClientVerifier:   verify,
		ClientSchemes:    schemes(o.verifyPrefs),
	}
	if !o.noTicket {
		cfg.Tickets = s.tickets
	}
	for _, n := range o.curves {
		cfg.Groups = append(cfg.Groups, wire.Group(n))
	}
	switch {
	case o.rejectALPN:
		cfg.NextProtos = []string{"nothing anybody offers"}
	case o.selectALPN != nil && *o.selectALPN != "" && !o.declineALPN:
		cfg.NextProtos = []string{*o.selectALPN}
	}
	switch {
	case o.requireClient:
		cfg.ClientAuth = tlsstack.ClientAuthRequire
	case o.verifyPeer:
		cfg.ClientAuth = tlsstack.ClientAuthRequest
	}
	return cfg
}

// offered is what the handshake sees of a source: the credentials that exist,
// none if the test wants the choice to fail.
func (s *source) offered(o *options) *source {
	seen := new(source)
	for _, c := range s.all {
		if c != nil && !o.failCert {
			seen.all = append(seen.all, c)
		}
	}
	return seen
}

// dial connects to the runner and says which test this is.
func dial(o *options) (net.Conn, error) {
	address := fmt.Sprintf("127.0.0.1:%d", o.port)
	if o.ipv6 {
		address = fmt.Sprintf("[::1]:%d", o.port)
	}
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	var id [8]byte
	binary.LittleEndian.PutUint64(id[:], o.shimID)
	_, err = conn.Write(id[:])
	return conn, err
}

// play runs the connection until the runner ends it.
func (c *session) play() error {
	buf := make([]byte, 32<<10)
	if c.o.async {
		buf = buf[:1]
	}
	for {
		n, err := c.conn.Read(buf)
		if n > 0 {
			c.pending = append(c.pending, buf[:n]...)
			done, err := c.take()
			if done || err != nil {
				return err
			}
		}
		if err != nil {
			return c.ended()
		}
	}
}

// ended handles the end of the stream: before the handshake is done it is a
// failure, afterwards the runner may leave as it likes unless a test looks.
func (c *session) ended() error {
	if !c.tls.Established() || c.o.checkCloseNotify {
		return c.tls.ReceiveEOF()
	}
	return nil
}

// take hands over what was received, record by record.
func (c *session) take() (done bool, err error) {
	for {
		n, plain, err := c.tls.Receive(time.Now(), c.pending)
		if !c.decided {
			c.first = append(c.first, c.pending[:n]...)
		}
		c.pending = c.pending[n:]
		if err == nil && c.tls.Wait() == tlsstack.WaitDecision {
			if c.fallBack() {
				continue
			}
			c.decided = true
			err = c.decide()
		}
		if e := c.flush(); e != nil {
			return false, e
		}
		if errors.Is(err, io.EOF) {
			return true, c.close()
		}
		if err != nil {
			return false, err
		}
		if c.tls.Established() && !c.greeted {
			if err := c.greet(); err != nil {
				return false, err
			}
		}
		if err := c.echo(plain); err != nil {
			return false, err
		}
		if n == 0 && len(c.pending) < c.tls.NeedBytes() {
			return false, nil
		}
	}
}

// greet checks the expectations once the handshake is done.
func (c *session) greet() error {
	c.greeted = true
	if err := c.check(); err != nil {
		return err
	}
	if c.o.writesFirst {
		if err := c.write([]byte("hello")); err != nil {
			return err
		}
	}
	if c.o.shutsDown {
		return c.send(c.tls.AppendCloseNotify(nil))
	}
	return nil
}

// echo returns what was read with every bit flipped, in pieces of the read size.
func (c *session) echo(plain []byte) error {
	for len(plain) > 0 && c.tls.CanSeal() {
		n := min(len(plain), c.o.readSize)
		part := append([]byte(nil), plain[:n]...)
		plain = plain[n:]
		for i := range part {
			part[i] ^= 0xff
		}
		if c.o.keyUpdate {
			c.tls.UpdateKey()
		}
		if err := c.write(part); err != nil {
			return err
		}
	}
	return nil
}

func (c *session) write(plain []byte) error { return c.send(c.tls.SealAppend(nil, plain)) }

// flush sends what the connection has to say.
func (c *session) flush() error { return c.send(c.tls.AppendOutput(nil)) }

// send writes b, a byte at a time if the test wants that.
func (c *session) send(b []byte) error {
	if !c.o.async {
		_, err := c.conn.Write(b)
		return err
	}
	for i := range b {
		if _, err := c.conn.Write(b[i : i+1]); err != nil {
			return err
		}
	}
	return nil
}

// close answers close_notify.
func (c *session) close() error {
	if c.tls.Established() && !c.greeted {
		if err := c.greet(); err != nil {
			return err
		}
	}
	if !c.tls.Established() {
		return errors.New("closed before the handshake was done")
	}
	// The runner may be gone already, which is no failure.
	_ = c.send(c.tls.AppendCloseNotify(nil))
	return nil
}

// finishFailed sends the alert, ends our side and reads what is still under way:
// a socket closed with unread input resets, and the runner would never see the
// alert.
func (c *session) finishFailed() {
	c.flush()
	if tcp, ok := c.conn.(*net.TCPConn); ok {
		tcp.CloseWrite()
	}
	c.conn.SetReadDeadline(time.Now().Add(drainTime))
	io.Copy(io.Discard, c.conn)
}
