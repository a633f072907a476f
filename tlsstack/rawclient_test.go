package tlsstack

import (
	"crypto/ecdh"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"io"
	"testing"
	"time"

	"edge/tlsstack/keys"
	"edge/tlsstack/record"
	"edge/tlsstack/wire"
)

// rawClient is a TLS 1.3 client in the hands of a test: it makes each message and
// record by itself, in any order, and feeds them to a Conn without a socket. It
// stands on the packages below the machine, which the published traces check.
type rawClient struct {
	t    testing.TB
	conn *Conn
	mode mode
	now  time.Time

	key        *ecdh.PrivateKey
	hello      *rawHello
	suite      *keys.Suite
	transcript keys.Transcript
	traffic    keys.Traffic
	early      keys.Early
	secrets    keys.Handshake
	master     keys.Master
	psk        []byte // resumption secret of a ticket

	in, out              record.Direction
	clientHS, serverHS   keys.Secret
	clientApp, serverApp keys.Secret
	resumption           keys.Secret
	messages             record.Reassembler
	flight               [][]byte // handshake messages received
	stream               []byte   // records received, not yet looked at
	plain                []byte   // application data the server received
	data                 []byte   // application data received
	alerts               []wire.Alert
	ccs                  int
	resumed, wantsCert   bool
	leaf                 *x509.Certificate
	held                 []byte // handshake messages not yet sent, when packing
	confirmed            bool
}

// mode is how the client cuts what it sends.
type mode struct {
	name  string
	chunk int // bytes handed to Receive at a time; 0: all
	split int // most bytes of a handshake message in a record; 0: all
	pack  bool
}

// modes are the ways every handshake test is run.
var modes = []mode{
	{name: "whole"},
	{name: "bytewise", chunk: 1},
	{name: "chunks of 7", chunk: 7},
	{name: "records of 1", split: 1},
	{name: "records of 5, bytewise", split: 5, chunk: 1},
	{name: "packed", pack: true},
}

// inEveryMode runs a test with each way of cutting.
func inEveryMode(t *testing.T, f func(t *testing.T, m mode)) {
	for _, m := range modes {
		t.Run(m.name, func(t *testing.T) { f(t, m) })
	}
}

func newRawClient(t testing.TB, cfg *Config, m mode) *rawClient {
	t.Helper()
	c := &rawClient{t: t, conn: new(Conn), mode: m, now: testTime, hello: defaultHello()}
	c.conn.Init(cfg, rand.Reader)
	var err error
	if c.key, err = ecdh.X25519().GenerateKey(rand.Reader); err != nil {
		t.Fatal(err)
	}
	c.hello.set(wire.ExtKeyShare, keyShareBody(c.share()))
	return c
}

func (c *rawClient) share() wire.KeyShare {
	return wire.KeyShare{Group: wire.GroupX25519, Data: c.key.PublicKey().Bytes()}
}

// feed hands bytes over and continues at the decision. It returns the server's
// error, io.EOF after close_notify.
func (c *rawClient) feed(b []byte) error {
	step := c.mode.chunk
	if step == 0 {
		step = len(b)
	}
	for len(b) > 0 {
		n := min(step, len(b))
		c.stream = append(c.stream, b[:n]...)
		b = b[n:]
		if err := c.pump(); err != nil {
			return err
		}
	}
	return nil
}

// pump lets the server take what it can of the stream.
func (c *rawClient) pump() error {
	for {
		if c.conn.Wait() == WaitDecision {
			if err := c.conn.Continue(c.now); err != nil {
				return err
			}
		}
		n, plain, err := c.conn.Receive(c.now, c.stream)
		c.plain = append(c.plain, plain...)
		if c.stream = c.stream[n:]; len(c.stream) == 0 {
			c.stream = nil
		}
		if err != nil {
			return err
		}
		if n == 0 && c.conn.Wait() != WaitDecision {
			return nil
		}
	}
}

// records makes records of type t, protected once there are keys.
func (c *rawClient) records(t record.ContentType, content []byte, split int) []byte {
	var out []byte
	for first := true; first || len(content) > 0; first = false {
		n := min(len(content), record.PlaintextMax)
		if split > 0 {
			n = min(split, n)
		}
		if c.out.Protected() {
			out = c.out.SealAppend(out, t, content[:n])
		} else {
			out = record.AppendPlaintext(out, t, content[:n], record.PlaintextMax)
		}
		content = content[n:]
	}
	return out
}

// send sends one record of any type, in one piece.
func (c *rawClient) send(t record.ContentType, content []byte) error {
	return c.feed(c.records(t, content, 0))
}

// message adds a handshake message to the transcript and sends it, cut by the
// mode; when packing it waits for the flush that the last of a flight brings.
func (c *rawClient) message(m []byte, last bool) error {
	if c.suite != nil {
		c.transcript.Add(m)
	}
	c.held = append(c.held, m...)
	if c.mode.pack && !last {
		return nil
	}
	b := c.records(record.Handshake, c.held, c.mode.split)
	c.held = nil
	return c.feed(b)
}

// sendHello sends the first or second hello.
func (c *rawClient) sendHello() error {
	m := c.hello.marshal()
	if c.suite == nil {
		c.start(m)
		return c.message(m, true)
	}
	return c.message(m, true)
}

// start begins the transcript; its hash is known before ServerHello because tests
// offer suites of one hash, or one suite.
func (c *rawClient) start(hello []byte) {
	c.transcript.Start(keys.SuiteByID(wire.CipherSuite(c.hello.suites[0])))
	c.transcript.Add(hello)
}

// read takes everything the server has to say.
func (c *rawClient) read() {
	c.t.Helper()
	want := c.conn.OutputLen()
	b := c.conn.AppendOutput(nil)
	if len(b) != want || c.conn.HasOutput() {
		c.t.Fatalf("%d bytes of output, %d were announced", len(b), want)
	}
	c.readOutput(b)
}

// readOutput takes what AppendOutput gave.
func (c *rawClient) readOutput(b []byte) {
	c.t.Helper()
	for len(b) > 0 {
		h, err := record.ParseHeader(b, c.in.Protected())
		if err != nil || len(b) < record.HeaderLen+h.Len {
			c.t.Fatalf("server sent a bad record: %v", err)
		}
		c.readRecord(h, b[:record.HeaderLen+h.Len])
		b = b[record.HeaderLen+h.Len:]
	}
}

func (c *rawClient) readRecord(h record.Header, rec []byte) {
	c.t.Helper()
	typ, content := h.Type, rec[record.HeaderLen:]
	if typ == record.ChangeCipherSpec {
		c.ccs++
		return
	}
	if c.in.Protected() {
		var err error
		if typ, content, err = c.in.Open(rec); err != nil {
			c.t.Fatalf("server's record: %v", err)
		}
	}
	switch typ {
	case record.Handshake:
		c.messages.Add(content)
		for {
			m, err := c.messages.Next(1 << 20)
			if err != nil {
				c.t.Fatal(err)
			}
			if m == nil {
				return
			}
			c.readMessage(append([]byte(nil), m...))
		}
	case record.Alert:
		c.alerts = append(c.alerts, wire.Alert(content[1]))
	case record.ApplicationData:
		c.data = append(c.data, content...)
	}
}

// readMessage takes one handshake message of the server.
func (c *rawClient) readMessage(m []byte) {
	c.t.Helper()
	c.flight = append(c.flight, m)
	switch wire.HandshakeType(m[0]) {
	case wire.TypeServerHello:
		c.readServerHello(m)
		return
	case wire.TypeNewSessionTicket:
		return
	case wire.TypeKeyUpdate:
		var t keys.Traffic
		t.Update(c.suite, &c.serverApp)
		c.in.SetKey(t.Key())
		return
	case wire.TypeCertificateRequest:
		c.wantsCert = true
	case wire.TypeCertificate:
		c.readCertificate(m)
	case wire.TypeCertificateVerify:
		c.checkVerify(m)
	case wire.TypeFinished:
		c.checkFinished(m)
	}
	c.transcript.Add(m)
	if wire.HandshakeType(m[0]) == wire.TypeFinished {
		c.applicationKeys()
	}
}

// readServerHello takes a ServerHello or HelloRetryRequest.
func (c *rawClient) readServerHello(m []byte) {
	c.t.Helper()
	sid := int(m[38])
	if string(m[39:39+sid]) != string(c.hello.sessionID) {
		c.t.Error("session id is not echoed")
	}
	c.suite = keys.SuiteByID(wire.CipherSuite(uint16(m[39+sid])<<8 | uint16(m[40+sid])))
	if [32]byte(m[6:38]) == wire.HelloRetryRequestRandom {
		c.transcript.Retry()
		c.transcript.Add(m)
		return
	}
	c.transcript.Add(m)
	share := serverExtension(m[39+sid+3:], wire.ExtKeyShare)
	peer, err := ecdh.X25519().NewPublicKey(share[4:])
	if err != nil {
		c.t.Fatal(err)
	}
	shared, err := c.key.ECDH(peer)
	if err != nil {
		c.t.Fatal(err)
	}
	if c.resumed = serverExtension(m[39+sid+3:], wire.ExtPreSharedKey) != nil; c.resumed {
		c.early.Handshake(&c.secrets, shared)
	} else {
		c.secrets.StartWithoutPSK(c.suite, shared)
	}
	c.secrets.Traffic(c.transcript.Sum(), &c.clientHS, &c.serverHS)
	c.traffic.Load(c.suite, &c.serverHS)
	c.in.SetKey(c.traffic.Key())
	c.traffic.Load(c.suite, &c.clientHS)
	c.out.SetKey(c.traffic.Key())
}

// serverExtension finds an extension in a block with its length.
func serverExtension(b []byte, typ wire.ExtensionType) []byte {
	b = b[2:]
	for len(b) > 0 {
		n := int(b[2])<<8 | int(b[3])
		if wire.ExtensionType(uint16(b[0])<<8|uint16(b[1])) == typ {
			return b[4 : 4+n]
		}
		b = b[4+n:]
	}
	return nil
}

func (c *rawClient) readCertificate(m []byte) {
	c.t.Helper()
	var cert wire.Certificate
	entry := m[wire.HeaderBytes+1+3:]
	n := int(entry[0])<<16 | int(entry[1])<<8 | int(entry[2])
	cert.Chain = [][]byte{entry[3 : 3+n]}
	var err error
	if c.leaf, err = x509.ParseCertificate(cert.Chain[0]); err != nil {
		c.t.Fatal(err)
	}
}

func (c *rawClient) checkVerify(m []byte) {
	c.t.Helper()
	scheme, signature, err := wire.ParseCertificateVerify(m)
	if err != nil {
		c.t.Fatal(err)
	}
	content := appendVerifyContent(nil, serverContext, c.transcript.Sum())
	if e := verifySignature(c.leaf.PublicKey, scheme, content, signature); e != nil {
		c.t.Fatalf("server's CertificateVerify: %v", e)
	}
}

func (c *rawClient) checkFinished(m []byte) {
	c.t.Helper()
	c.traffic.Load(c.suite, &c.serverHS)
	if !keys.Equal(c.traffic.Finished(c.transcript.Sum()), m[wire.HeaderBytes:]) {
		c.t.Fatal("server's Finished does not verify")
	}
}

// applicationKeys follows the server's Finished: its application keys are in use
// from there, ours from our Finished.
func (c *rawClient) applicationKeys() {
	c.secrets.Master(&c.master)
	c.master.Traffic(c.transcript.Sum(), &c.clientApp, &c.serverApp)
	c.traffic.Load(c.suite, &c.serverApp)
	c.in.SetKey(c.traffic.Key())
}

// finished is the client's Finished message for what was hashed so far.
func (c *rawClient) finished() []byte {
	c.traffic.Load(c.suite, &c.clientHS)
	return wire.AppendFinished(nil, c.traffic.Finished(c.transcript.Sum()))
}

// sendFinished sends it, changes the write key, and reads what comes.
func (c *rawClient) sendFinished() error {
	c.t.Helper()
	err := c.message(c.finished(), true)
	c.master.Resumption(c.transcript.Sum(), &c.resumption)
	c.traffic.Load(c.suite, &c.clientApp)
	c.out.SetKey(c.traffic.Key())
	if err == nil {
		c.read()
	}
	return err
}

// sendKeyUpdate sends a KeyUpdate and changes the write key.
func (c *rawClient) sendKeyUpdate(requested bool) error {
	err := c.feed(c.records(record.Handshake, wire.AppendKeyUpdate(nil, requested), c.mode.split))
	var t keys.Traffic
	t.Update(c.suite, &c.clientApp)
	c.out.SetKey(t.Key())
	return err
}

// handshake does all of it and fails the test if anything goes wrong.
func (c *rawClient) handshake() {
	c.t.Helper()
	c.must(c.sendHello())
	c.read()
	c.must(c.sendFinished())
	if !c.conn.Established() {
		c.t.Fatal("the handshake is not done")
	}
}

// talk sends application data both ways.
func (c *rawClient) talk() {
	c.t.Helper()
	c.plain, c.data = nil, nil
	c.must(c.send(record.ApplicationData, []byte("from the client")))
	if string(c.plain) != "from the client" {
		c.t.Fatalf("server received %q", c.plain)
	}
	c.readBytes(c.conn.SealAppend(nil, []byte("from the server")))
	if string(c.data) != "from the server" {
		c.t.Fatalf("client received %q", c.data)
	}
}

// readBytes reads records that did not come through AppendOutput.
func (c *rawClient) readBytes(b []byte) {
	c.t.Helper()
	for len(b) > 0 {
		h, err := record.ParseHeader(b, true)
		if err != nil {
			c.t.Fatal(err)
		}
		c.readRecord(h, b[:record.HeaderLen+h.Len])
		b = b[record.HeaderLen+h.Len:]
	}
}

func (c *rawClient) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// mustFail checks that an error has the alert and that the alert reaches the
// client, and nothing after it.
func (c *rawClient) mustFail(err error, want wire.Alert) {
	c.t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		c.t.Fatalf("got %v, want %v", err, want)
	}
	if e.Alert != want {
		c.t.Fatalf("got %v, want %v", e, want)
	}
	c.read()
	if len(c.alerts) != 1 || c.alerts[0] != want {
		c.t.Fatalf("client received alerts %v, want %v", c.alerts, want)
	}
	if n, _, again := c.conn.Receive(c.now, []byte{22, 3, 3, 0, 1, 1}); n != 0 || again != err || c.conn.HasOutput() {
		c.t.Fatalf("a failed connection goes on: %d, %v", n, again)
	}
	if c.conn.Wait() != WaitNothing {
		c.t.Fatal("a failed connection waits for something")
	}
}

// mustClose checks for an orderly close.
func (c *rawClient) mustClose(err error) {
	c.t.Helper()
	if !errors.Is(err, io.EOF) {
		c.t.Fatalf("got %v, want io.EOF", err)
	}
}
