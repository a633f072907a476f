package ech

import (
	"crypto/hkdf"
	"hash"
)

// The signal that ECH was accepted, which only the holder of the inner hello
// can compute (RFC 9849, 7.2).

// ConfirmationBytes is the length of the signal.
const ConfirmationBytes = 8

// Labels of the two signals.
const (
	labelServerHello       = "ech accept confirmation"
	labelHelloRetryRequest = "hrr ech accept confirmation"
)

// ConfirmServerHello returns the last eight bytes of ServerHello.random
// (RFC 9849, 7.2). newHash is the hash of the cipher suite, innerRandom the
// random of the inner hello, transcript the hash of everything up to and
// including the ServerHello with those bytes zero, the inner hello standing in
// for the outer one.
func ConfirmServerHello(newHash func() hash.Hash, innerRandom, transcript []byte) [ConfirmationBytes]byte {
	return confirm(newHash, innerRandom, labelServerHello, transcript)
}

// ConfirmHelloRetryRequest returns the eight bytes of encrypted_client_hello in
// a HelloRetryRequest (RFC 9849, 7.2.1). transcript is the hash of message_hash
// for the first inner hello and the HelloRetryRequest with those bytes zero; the
// rest is as for ConfirmServerHello.
func ConfirmHelloRetryRequest(newHash func() hash.Hash, innerRandom, transcript []byte) [ConfirmationBytes]byte {
	return confirm(newHash, innerRandom, labelHelloRetryRequest, transcript)
}

// confirm computes HKDF-Expand-Label(HKDF-Extract(0, random), label, transcript, 8).
func confirm(newHash func() hash.Hash, random []byte, label string, transcript []byte) (out [ConfirmationBytes]byte) {
	secret, err := hkdf.Extract(newHash, random, nil)
	if err == nil {
		var expanded []byte
		expanded, err = hkdf.Expand(newHash, secret, hkdfLabel(label, transcript), ConfirmationBytes)
		copy(out[:], expanded)
	}
	if err != nil {
		panic("BUG: ech: HKDF refused its hash or length")
	}
	return out
}

// hkdfLabel is the HkdfLabel structure (RFC 9846, 7.1).
func hkdfLabel(label string, context []byte) string {
	b := make([]byte, 0, 64+len(context))
	b = append(b, 0, ConfirmationBytes, byte(len("tls13 ")+len(label)))
	b = append(append(b, "tls13 "...), label...)
	b = append(append(b, byte(len(context))), context...)
	return string(b)
}
