package tlsstack

import (
	"io"
	"time"

	"edge/ech"
	"edge/tlsstack/keys"
	"edge/tlsstack/record"
	"edge/tlsstack/wire"
)

// sendFlight queues everything from ServerHello to Finished (RFC 9846, 2):
//
//	ServerHello                            plaintext
//	change_cipher_spec                     if the client sent a session id
//	EncryptedExtensions                    handshake keys from here
//	CertificateRequest*                    * unless resumed
//	Certificate*
//	CertificateVerify*
//	Finished
func (c *Conn) sendFlight(now time.Time) *Error {
	hs := c.hs
	if e := c.sendServerHello(); e != nil {
		return e
	}
	c.sendEncryptedExtensions(now)
	if !c.info.Resumed {
		if e := c.sendCertificates(); e != nil {
			return e
		}
	}
	verifyData := hs.server.Finished(hs.transcript.Sum())
	at := len(hs.scratch)
	hs.scratch = wire.AppendFinished(hs.scratch, verifyData)
	hs.addMessage(at)
	c.sealFlight()
	c.afterFlight()
	return nil
}

// sendServerHello queues ServerHello and installs the handshake keys.
func (c *Conn) sendServerHello() *Error {
	hs, p := c.hs, &c.hs.params
	if err := hs.exchange.Respond(p.group, hs.hello.KeyShares.Find(p.group), c.rand); err != nil {
		return refuseMessage(err)
	}
	if _, err := io.ReadFull(c.rand, hs.serverRandom[:]); err != nil {
		return internal(err)
	}
	hello := wire.ServerHello{
		Random:      hs.serverRandom,
		SessionID:   hs.hello.SessionID,
		CipherSuite: p.suite.ID,
		Group:       p.group,
		KeyShare:    hs.exchange.Share(),
		PSK:         c.info.Resumed,
		PSKIdentity: hs.resumed.index,
	}
	hs.scratch = hello.Append(hs.scratch[:0])
	hs.confirmServerHello(hs.scratch)
	hs.transcript.Add(hs.scratch)
	out := record.AppendPlaintext(c.queue(), record.Handshake, hs.scratch, c.cfg.sendPlaintextMax())
	c.output.b = c.appendCCS(out)
	hs.scratch = hs.scratch[:0]
	c.handshakeKeys()
	return nil
}

// handshakeKeys goes down the ladder to the handshake secrets and protects both
// directions with them.
func (c *Conn) handshakeKeys() {
	hs := c.hs
	if c.info.Resumed {
		hs.early.Handshake(&hs.secrets, hs.exchange.Shared())
	} else {
		hs.secrets.StartWithoutPSK(c.suite, hs.exchange.Shared())
	}
	hs.exchange.Wipe()
	hs.secrets.Traffic(hs.transcript.Sum(), &hs.clientSecret, &hs.serverSecret)
	c.logSecret("CLIENT_HANDSHAKE_TRAFFIC_SECRET", hs.clientSecret.Bytes())
	c.logSecret("SERVER_HANDSHAKE_TRAFFIC_SECRET", hs.serverSecret.Bytes())
	hs.server.Load(c.suite, &hs.serverSecret)
	c.out.SetKey(hs.server.Key())
	hs.client.Load(c.suite, &hs.clientSecret)
	c.in.SetKey(hs.client.Key())
	hs.skipping = c.info.EarlyData && !c.info.Retried
}

// addMessage hashes the message that was appended to the flight at offset at.
func (hs *handshake) addMessage(at int) { hs.transcript.Add(hs.scratch[at:]) }

func (c *Conn) sendEncryptedExtensions(now time.Time) {
	hs := c.hs
	var m wire.EncryptedExtensions
	if hs.params.alpn != "" {
		m.ALPN = []byte(hs.params.alpn)
	}
	m.ServerNameUsed = hs.params.nameUsed && !c.info.Resumed // RFC 6066, 3
	if limit := hs.hello.RecordSizeLimit; limit != 0 {
		// RFC 8449, 4: the limit counts the inner content type, and a server must
		// answer with its own. Ours is the largest there is.
		c.sealMax = min(c.sealMax, limit-1)
		m.RecordSizeLimit = record.PlaintextMax + 1
	}
	if hs.ech.outcome != ech.Accepted && hs.hello.Has(wire.ExtEncryptedClientHello) {
		m.RetryConfigs = c.cfg.ECH.RetryConfigs(now)
	}
	at := len(hs.scratch)
	hs.scratch = m.Append(hs.scratch)
	hs.addMessage(at)
}

// sendCertificates adds CertificateRequest, Certificate and CertificateVerify.
func (c *Conn) sendCertificates() *Error {
	hs := c.hs
	if c.cfg.ClientAuth != ClientAuthNone {
		hs.requested = true
		at := len(hs.scratch)
		hs.scratch = c.appendCertificateRequest(hs.scratch)
		hs.addMessage(at)
	}
	at := len(hs.scratch)
	hs.scratch = c.appendCertificate(hs.scratch)
	hs.addMessage(at)
	at = len(hs.scratch)
	var err error
	hs.scratch, err = c.appendCertificateVerify(hs.scratch)
	if err != nil {
		return internal(err)
	}
	hs.addMessage(at)
	return nil
}

// sealFlight protects the messages, packed into as few records as they need.
func (c *Conn) sealFlight() {
	if len(c.hs.scratch) == 0 {
		return
	}
	out := c.queue()
	for rest := c.hs.scratch; len(rest) > 0; {
		n := min(len(rest), int(c.sealMax))
		out = c.out.SealAppend(out, record.Handshake, rest[:n])
		rest = rest[n:]
	}
	c.output.b = out
}

// afterFlight goes down to the application secrets and changes the write key:
// what we send after Finished, alerts too, is protected by it.
func (c *Conn) afterFlight() {
	hs := c.hs
	hs.tickets = hs.hello.OffersPSKMode(wire.PSKModeDHEKE)
	hs.secrets.Master(&hs.master)
	hs.master.Traffic(hs.transcript.Sum(), &hs.clientApp, &c.outSecret)
	c.logSecret("CLIENT_TRAFFIC_SECRET_0", hs.clientApp.Bytes())
	c.logSecret("SERVER_TRAFFIC_SECRET_0", c.outSecret.Bytes())
	c.logExporter()
	hs.traffic.Load(c.suite, &c.outSecret)
	c.out.SetKey(hs.traffic.Key())
	c.messages.Reset()
	c.state = stateFinished
	if hs.requested {
		c.state = stateCertificate
	}
}

// logSecret hands a secret to the key log.
func (c *Conn) logSecret(label string, secret []byte) {
	if c.cfg.KeyLog != nil {
		c.cfg.KeyLog(label, c.hs.random[:], secret)
	}
}

// logExporter derives the exporter secret for the key log, the only one to ask.
func (c *Conn) logExporter() {
	if c.cfg.KeyLog == nil {
		return
	}
	var exporter keys.Secret
	c.hs.master.Exporter(c.hs.transcript.Sum(), &exporter)
	c.logSecret("EXPORTER_SECRET", exporter.Bytes())
}
