package keys

import (
	"crypto/cipher"
	"crypto/hmac"
	"hash"
)

// HKDF as TLS 1.3 uses it (RFC 9846, 7.1): every output is at most one hash
// long, so Expand is a single HMAC (RFC 5869, 2.3 with N = 1):
//
//	HKDF-Extract(salt, IKM)     = HMAC(salt, IKM)
//	HKDF-Expand(PRK, info, L)   = first L bytes of HMAC(PRK, info || 0x01)
//	HKDF-Expand-Label(S, label, context, L), info:
//
//	 0   2   3                       3+n  4+n
//	+---+---+-----------------------+----+---------+
//	| L | n | "tls13 " label        | m  | context |
//	+---+---+-----------------------+----+---------+
//
// The MAC stays keyed while several values are taken from one secret, and the
// scratch lives in the struct: crypto/hkdf costs ten allocations for each value.

// labelPrefix starts every label (RFC 9846, 7.1).
const labelPrefix = "tls13 "

// infoBytesMax holds the longest info: the longest label in use is "tls13 " and
// 12 characters, the longest context one hash; one byte is the block counter.
const infoBytesMax = 2 + 1 + 18 + 1 + HashBytesMax + 1

// expander takes values from one secret. The zero value is keyed by rekey.
type expander struct {
	suite *Suite
	mac   hash.Hash
	used  bool // mac has computed something since it was keyed
	info  [infoBytesMax]byte
	sum   [HashBytesMax]byte
}

// rekey makes secret the one that values are taken from.
func (e *expander) rekey(s *Suite, secret []byte) {
	e.suite = s
	e.mac, e.used = hmac.New(s.newHash, secret), false
}

// label is HKDF-Expand-Label; it fills out, which is at most one hash long.
func (e *expander) label(out []byte, label string, context []byte) {
	n := len(labelPrefix) + len(label)
	info := append(e.info[:0], byte(len(out)>>8), byte(len(out)), byte(n))
	info = append(append(info, labelPrefix...), label...)
	info = append(info, byte(len(context)))
	info = append(append(info, context...), 1)
	copy(out, e.hmac(info))
}

// hmac returns the MAC of data, valid until the next call. A new MAC is not reset:
// the first reset makes crypto/hmac keep its state for later ones, which costs,
// and many secrets are used once.
func (e *expander) hmac(data []byte) []byte {
	if e.used {
		e.mac.Reset()
	}
	e.used = true
	e.mac.Write(data)
	return e.mac.Sum(e.sum[:0])
}

// Secret is a traffic or resumption secret. The zero value is none.
type Secret struct {
	n uint8
	b [HashBytesMax]byte
}

// Bytes returns the secret; it aliases s.
func (s *Secret) Bytes() []byte { return s.b[:s.n] }

// Wipe overwrites the secret.
func (s *Secret) Wipe() { *s = Secret{} }

// set reserves n bytes and returns them.
func (s *Secret) set(n int) []byte {
	s.n = uint8(n)
	return s.b[:n]
}

// Traffic derives what protects records from one traffic secret (RFC 9846, 7.3):
// key, IV and the key of Finished. The zero value is ready; it is scratch that
// may be used for many secrets, one after the other.
type Traffic struct {
	expander
	key [HashBytesMax]byte
}

// Load makes secret the one that is worked on.
func (t *Traffic) Load(s *Suite, secret *Secret) { t.rekey(s, secret.Bytes()) }

// Key returns the AEAD and the static IV.
func (t *Traffic) Key() (aead cipher.AEAD, iv [12]byte) {
	key := t.key[:t.suite.KeyLen]
	t.label(key, "key", nil)
	t.label(iv[:], "iv", nil)
	aead = t.suite.aead(key)
	clear(key)
	return aead, iv
}

// Finished returns verify_data over a transcript hash (RFC 9846, 4.5.3). The
// secret must be loaded again afterwards. The result is valid until the next call.
func (t *Traffic) Finished(transcript []byte) []byte {
	key := t.key[:t.suite.HashLen]
	t.label(key, "finished", nil)
	t.rekey(t.suite, key)
	clear(key)
	return t.hmac(transcript)
}

// Update replaces a secret by the next generation (RFC 9846, 7.2) and loads it.
func (t *Traffic) Update(s *Suite, secret *Secret) {
	t.Load(s, secret)
	t.label(secret.Bytes(), "traffic upd", nil)
	t.Load(s, secret)
}

// Set makes the secret a copy of b; false when it is longer than any hash.
func (s *Secret) Set(b []byte) bool {
	if len(b) > HashBytesMax {
		return false
	}
	s.Wipe()
	copy(s.set(len(b)), b)
	return true
}
