package tlsstack

import (
	"bytes"
	"crypto/cipher"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"golang.org/x/crypto/chacha20poly1305"
)

// TicketKeys seals and opens session tickets. It is shared by all workers and
// replaced as a whole: readers take no lock. The first key seals, all open.
//
// A ticket is XChaCha20-Poly1305, whose 24-byte nonce may be random for as many
// tickets as anybody makes, so that a key file that is never rotated is no hazard
// beyond that of its age:
//
//	| key name, 16 | nonce, 24 | sealed session | tag, 16 |   additional data: name
//
// The file form, to share keys between machines, is text: one key a line in 96
// hex digits, the first 32 its name, the rest the key; the first line seals.
// Empty lines and lines that start with # are skipped. A line is made by
// `openssl rand -hex 48`. To rotate, put a new line on top and drop the last;
// give all machines the new file below the first line before it comes first.
type TicketKeys struct {
	ring atomic.Pointer[[]ticketKey]
}

// Sizes in bytes, and the most keys that are kept.
const (
	ticketNameLen   = 16
	ticketSecretLen = chacha20poly1305.KeySize
	ticketOverhead  = ticketNameLen + chacha20poly1305.NonceSizeX + chacha20poly1305.Overhead
	ticketKeysMax   = 16
	ticketKeysKept  = 3 // by Rotate
)

// ticketKey is one key; immutable.
type ticketKey struct {
	name   [ticketNameLen]byte
	secret [ticketSecretLen]byte
	aead   cipher.AEAD
}

// newTicketKey makes a key of its 48 bytes.
func newTicketKey(b []byte) (ticketKey, error) {
	var k ticketKey
	copy(k.name[:], b)
	copy(k.secret[:], b[ticketNameLen:])
	var err error
	k.aead, err = chacha20poly1305.NewX(k.secret[:])
	return k, err
}

// NewTicketKeys makes one key from rand.
func NewTicketKeys(rand io.Reader) (*TicketKeys, error) {
	k := new(TicketKeys)
	k.ring.Store(new([]ticketKey))
	return k, k.Rotate(rand)
}

// Rotate makes a new key from rand that seals from now on, and keeps the two
// before it for opening. Called every half ticket lifetime, no ticket loses its
// key before it expires. Not safe to call from several goroutines at once.
func (k *TicketKeys) Rotate(rand io.Reader) error {
	var b [ticketNameLen + ticketSecretLen]byte
	if _, err := io.ReadFull(rand, b[:]); err != nil {
		return fmt.Errorf("making a ticket key: %w", err)
	}
	key, err := newTicketKey(b[:])
	if err != nil {
		return err
	}
	old := *k.ring.Load()
	ring := append([]ticketKey{key}, old[:min(len(old), ticketKeysKept-1)]...)
	k.ring.Store(&ring)
	return nil
}

// ParseTicketKeys reads the file form.
func ParseTicketKeys(file []byte) (*TicketKeys, error) {
	k := new(TicketKeys)
	return k, k.Load(file)
}

// Load replaces the keys by those of a file; on an error the old ones stay.
func (k *TicketKeys) Load(file []byte) error {
	var ring []ticketKey
	for n, line := range bytes.Split(file, []byte("\n")) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		key, err := parseTicketKey(line)
		if err != nil {
			return fmt.Errorf("ticket key file, line %d: %w", n+1, err)
		}
		ring = append(ring, key)
	}
	switch {
	case len(ring) == 0:
		return errors.New("ticket key file holds no key: make one with `openssl rand -hex 48`")
	case len(ring) > ticketKeysMax:
		return fmt.Errorf("ticket key file holds %d keys, at most %d are used", len(ring), ticketKeysMax)
	}
	k.ring.Store(&ring)
	return nil
}

func parseTicketKey(line []byte) (ticketKey, error) {
	var b [ticketNameLen + ticketSecretLen]byte
	if len(line) != 2*len(b) {
		return ticketKey{}, fmt.Errorf("a key is %d hex digits, this has %d", 2*len(b), len(line))
	}
	if _, err := hex.Decode(b[:], line); err != nil {
		return ticketKey{}, errors.New("a key is hex digits, this is not")
	}
	return newTicketKey(b[:])
}

// Format writes the file form.
func (k *TicketKeys) Format() []byte {
	out := []byte("# ticket keys: name and key in hex, the first seals, all open\n")
	for _, key := range *k.ring.Load() {
		out = hex.AppendEncode(out, key.name[:])
		out = hex.AppendEncode(out, key.secret[:])
		out = append(out, '\n')
	}
	return out
}

// seal appends a ticket that holds plain.
func (k *TicketKeys) seal(dst, plain []byte, rand io.Reader) ([]byte, error) {
	key := &(*k.ring.Load())[0]
	dst = append(dst, key.name[:]...)
	at := len(dst)
	dst = append(dst, make([]byte, chacha20poly1305.NonceSizeX)...)
	nonce := dst[at:]
	if _, err := io.ReadFull(rand, nonce); err != nil {
		return dst, err
	}
	return key.aead.Seal(dst, nonce, plain, key.name[:]), nil
}

// open appends what a ticket holds to dst; false when it is not one of ours.
func (k *TicketKeys) open(dst, ticket []byte) ([]byte, bool) {
	if len(ticket) < ticketOverhead {
		return dst, false
	}
	name, rest := ticket[:ticketNameLen], ticket[ticketNameLen:]
	ring := *k.ring.Load()
	for i := range ring {
		if bytes.Equal(ring[i].name[:], name) {
			nonce := rest[:chacha20poly1305.NonceSizeX]
			out, err := ring[i].aead.Open(dst, nonce, rest[len(nonce):], name)
			return out, err == nil
		}
	}
	return dst, false
}
