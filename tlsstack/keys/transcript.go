package keys

import (
	"hash"

	"edge/tlsstack/wire"
)

// Transcript is the running hash over the handshake messages (RFC 9846, 4.1).
// The zero value is started with Start. It may be started again for another
// handshake and then allocates nothing if the hash is the same.
type Transcript struct {
	suite *Suite
	h     hash.Hash
	sum   [HashBytesMax]byte
}

// Start empties the transcript and sets the hash of the suite.
func (t *Transcript) Start(s *Suite) {
	if t.suite == nil || t.suite.HashLen != s.HashLen {
		t.h = s.newHash()
	} else {
		t.h.Reset()
	}
	t.suite = s
}

// Add hashes handshake bytes: a message, several, or a part of one.
func (t *Transcript) Add(b []byte) { t.h.Write(b) }

// Sum returns the hash so far, valid until the next call of Sum or Retry.
func (t *Transcript) Sum() []byte { return t.h.Sum(t.sum[:0]) }

// SumWith returns the hash of what was added and of b, without adding b. Valid as
// that of Sum is.
func (t *Transcript) SumWith(b []byte) []byte {
	fork, err := t.h.(hash.Cloner).Clone()
	if err != nil {
		panic("BUG: keys: hash cannot be forked: " + err.Error())
	}
	fork.Write(b)
	return fork.Sum(t.sum[:0])
}

// Retry replaces the first ClientHello, all that was added so far, by the
// synthetic message that holds its hash:
//
//	| 254 | 0 0 HashLen | Hash(ClientHello1) |
//
// RFC 9846, 4.1; needed before HelloRetryRequest is added.
func (t *Transcript) Retry() {
	sum := t.Sum()
	t.h.Reset()
	t.h.Write([]byte{byte(wire.TypeMessageHash), 0, 0, byte(len(sum))})
	t.h.Write(sum)
}
