package main

import (
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"time"
)

// verifier is the application's check of client certificates: it says what the
// test wants it to.
type verifier struct {
	fail        bool
	authorities [][]byte
}

func (v *verifier) VerifyClient(time.Time, []*x509.Certificate) error {
	if v.fail {
		return errors.New("the test wants the chain refused")
	}
	return nil
}

func (v *verifier) Authorities() [][]byte { return v.authorities }

// Digest is the same for all connections of a test: a session goes on even if
// the check would now fail, which is what the runner expects.
func (v *verifier) Digest() [sha256.Size]byte { return [sha256.Size]byte{} }
