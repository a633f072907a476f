package main

import (
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"time"

	"edge/tlsstack/wire"
)

// verifier is the application's check of client certificates: it says what the
// test wants it to.
type verifier struct {
	fail        bool
	custom      bool // BoringSSL's other callback, which chooses another alert
	authorities [][]byte
	asked       bool
}

func (v *verifier) VerifyClient(time.Time, []*x509.Certificate) error {
	v.asked = true
	switch {
	case v.fail && v.custom:
		return errors.New("the test wants the chain refused")
	case v.fail:
		return &wire.Error{Alert: wire.AlertHandshakeFailure, Reason: "the test wants the chain refused"}
	}
	return nil
}

func (v *verifier) ResumeClient(time.Time, *x509.Certificate) bool { return true }

func (v *verifier) Authorities() [][]byte { return v.authorities }

// Digest is the same for all connections of a test: a session goes on even if
// the check would now fail, which is what the runner expects.
func (v *verifier) Digest() [sha256.Size]byte { return [sha256.Size]byte{} }
