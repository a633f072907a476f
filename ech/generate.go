package ech

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
)

// Making keys.

// KeyParameters says what key to make.
type KeyParameters struct {
	PublicName        string
	KEM               uint16 // KEMX25519 or KEMP256
	Suites            []Suite
	MaximumNameLength uint8 // bytes, 0 for unknown

	// Taken are the config_ids in use: all known configs should have distinct
	// ones (RFC 9849, 4.1).
	Taken []uint8
}

var errIDsTaken = errors.New("all 256 config_ids are in use")

// GenerateKey makes a current key with random bytes from rand.
func GenerateKey(p KeyParameters, rand io.Reader) (*Key, error) {
	if !kemSupported(p.KEM) {
		return nil, fmt.Errorf("KEM 0x%04x is not supported", p.KEM)
	}
	for _, s := range p.Suites {
		if !suiteSupported(s) {
			return nil, fmt.Errorf("cipher suite 0x%04x/0x%04x is not supported", s.KDF, s.AEAD)
		}
	}
	id, err := chooseID(p.Taken, rand)
	if err != nil {
		return nil, err
	}
	private, public, err := generatePair(p.KEM, rand)
	if err != nil {
		return nil, err
	}
	c := Config{
		Version:           Version,
		ID:                id,
		KEM:               p.KEM,
		PublicKey:         public,
		Suites:            p.Suites,
		MaximumNameLength: p.MaximumNameLength,
		PublicName:        p.PublicName,
	}
	if err := c.marshal(); err != nil {
		return nil, err
	}
	return NewKey(c.Raw, private)
}

// generatePair makes a key pair (RFC 9180, 7.1.3), both keys serialized.
func generatePair(id uint16, rand io.Reader) (private, public []byte, err error) {
	seed := make([]byte, hpkeKEM(id).SeedSize())
	if _, err := io.ReadFull(rand, seed); err != nil {
		return nil, nil, err
	}
	_, pair := hpkeKEM(id).DeriveKeyPair(seed)
	if private, err = pair.MarshalBinary(); err != nil {
		return nil, nil, errPrivateKey
	}
	_, public, err = newPrivateKey(id, private)
	return private, public, err
}

// chooseID picks a config_id by rejection sampling (RFC 9849, 4.1).
func chooseID(taken []uint8, rand io.Reader) (uint8, error) {
	var used [256]bool
	free := len(used)
	for _, id := range taken {
		if !used[id] {
			used[id] = true
			free--
		}
	}
	if free == 0 {
		return 0, errIDsTaken
	}
	for {
		var id [1]byte
		if _, err := io.ReadFull(rand, id[:]); err != nil {
			return 0, err
		}
		if !used[id[0]] {
			return id[0], nil
		}
	}
}

// Base64ConfigList returns the keys' configs as the value of the ech parameter
// of an HTTPS record in presentation form (RFC 9848, 3): the base64 of an
// ECHConfigList.
func Base64ConfigList(keys ...*Key) (string, error) {
	var configs [][]byte
	for _, k := range keys {
		configs = append(configs, k.Config.Raw)
	}
	list, err := AppendConfigList(nil, configs...)
	return base64.StdEncoding.EncodeToString(list), err
}
