package keys

import "crypto/hmac"

// The ladder (RFC 9846, 7.1). Each stage is one value keyed by its secret; going
// down a rung consumes it.
//
//	            0
//	            |
//	 PSK or 0 → Extract = Early ──→ binder key (resumption)
//	            |
//	         "derived"
//	            |
//	 (EC)DHE  → Extract = Handshake ──→ client / server handshake traffic
//	            |
//	         "derived"
//	            |
//	        0 → Extract = Master ──→ client / server application traffic
//	                             └─→ resumption → PSK of each ticket

// ladder is what the three stages share.
type ladder struct {
	expander
	secret [HashBytesMax]byte
	salt   [HashBytesMax]byte // scratch of down
}

// zeros stands in for a salt or key that is absent. It is never written.
var zeros [HashBytesMax]byte

// start sets the first rung: Extract(salt, ikm), nil meaning a hash of zeros.
func (l *ladder) start(s *Suite, salt, ikm []byte) {
	if salt == nil {
		salt = zeros[:s.HashLen]
	}
	if ikm == nil {
		ikm = zeros[:s.HashLen]
	}
	l.rekey(s, salt)
	copy(l.secret[:], l.hmac(ikm))
	l.rekey(s, l.secret[:s.HashLen])
}

// derive is Derive-Secret with a transcript hash.
func (l *ladder) derive(out []byte, label string, transcript []byte) {
	l.label(out, label, transcript)
}

// down makes the next rung from this one and ikm, and empties this one.
func (l *ladder) down(next *ladder, ikm []byte) {
	salt := l.salt[:l.suite.HashLen]
	l.derive(salt, "derived", l.suite.emptyHash())
	next.start(l.suite, salt, ikm)
	l.wipe()
}

// wipe forgets the secret; the value is unusable until started again.
func (l *ladder) wipe() { *l = ladder{} }

// Early is the first stage.
type Early struct{ l ladder }

// Start begins the ladder with a pre-shared key.
func (e *Early) Start(s *Suite, psk []byte) { e.l.start(s, nil, psk) }

// Binder computes the binder of a resumption PSK over the transcript hash of the
// truncated ClientHello (RFC 9846, 4.3.11.2). Valid until t is used again.
func (e *Early) Binder(t *Traffic, transcript []byte) []byte {
	var key Secret
	e.l.derive(key.set(e.l.suite.HashLen), "res binder", e.l.suite.emptyHash())
	t.Load(e.l.suite, &key)
	return t.Finished(transcript)
}

// Handshake consumes e and starts the second stage with the (EC)DHE secret.
func (e *Early) Handshake(h *Handshake, shared []byte) { e.l.down(&h.l, shared) }

// Wipe forgets the stage.
func (e *Early) Wipe() { e.l.wipe() }

// Handshake is the second stage.
type Handshake struct{ l ladder }

// StartWithoutPSK begins at the second stage: the early secret of a handshake
// without PSK is a constant of the suite.
func (h *Handshake) StartWithoutPSK(s *Suite, shared []byte) {
	h.l.start(s, s.derived[:s.HashLen], shared)
}

// Traffic derives the two handshake traffic secrets from the transcript hash up
// to ServerHello.
func (h *Handshake) Traffic(transcript []byte, client, server *Secret) {
	n := h.l.suite.HashLen
	h.l.derive(client.set(n), "c hs traffic", transcript)
	h.l.derive(server.set(n), "s hs traffic", transcript)
}

// Master consumes h and starts the third stage.
func (h *Handshake) Master(m *Master) { h.l.down(&m.l, nil) }

// Wipe forgets the stage.
func (h *Handshake) Wipe() { h.l.wipe() }

// Master is the third stage.
type Master struct{ l ladder }

// Traffic derives the first application traffic secrets from the transcript hash
// up to the server's Finished.
func (m *Master) Traffic(transcript []byte, client, server *Secret) {
	n := m.l.suite.HashLen
	m.l.derive(client.set(n), "c ap traffic", transcript)
	m.l.derive(server.set(n), "s ap traffic", transcript)
}

// Exporter derives the exporter secret from the transcript hash up to the
// server's Finished (RFC 9846, 7.5).
func (m *Master) Exporter(transcript []byte, exporter *Secret) {
	m.l.derive(exporter.set(m.l.suite.HashLen), "exp master", transcript)
}

// Resumption derives the resumption secret from the transcript hash up to the
// client's Finished.
func (m *Master) Resumption(transcript []byte, r *Secret) {
	m.l.derive(r.set(m.l.suite.HashLen), "res master", transcript)
}

// Wipe forgets the stage.
func (m *Master) Wipe() { m.l.wipe() }

// TicketPSK derives the PSK of one ticket from the resumption secret, which is
// loaded (RFC 9846, 4.7.1).
func (t *Traffic) TicketPSK(nonce []byte, psk *Secret) {
	t.label(psk.set(t.suite.HashLen), "resumption", nonce)
}

// Equal compares two MACs in constant time.
func Equal(a, b []byte) bool { return hmac.Equal(a, b) }
