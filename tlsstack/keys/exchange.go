package keys

import (
	"crypto/ecdh"
	"io"

	"edge/tlsstack/wire"

	"github.com/cloudflare/circl/dh/x25519"
	"github.com/cloudflare/circl/kem/mlkem/mlkem768"
)

// Sizes of key shares and secrets, in bytes.
const (
	// ShareBytesMax is the longest share a server sends, of X25519MLKEM768.
	ShareBytesMax = mlkem768.CiphertextSize + x25519.Size

	// SharedBytesMax is the longest shared secret: 64 of the hybrid, 66 of P-521.
	SharedBytesMax = 66
)

// Failures of a key exchange; the client's fault all of them.
var (
	errShareLength = &wire.Error{Alert: wire.AlertIllegalParameter, Reason: "key share of the wrong length (RFC 9846, 4.3.8)"}
	errSharePoint  = &wire.Error{Alert: wire.AlertIllegalParameter, Reason: "key share is not a point on the curve (RFC 9846, 4.3.8.2)"}
	errShareZero   = &wire.Error{Alert: wire.AlertIllegalParameter, Reason: "key share leads to an all-zero secret (RFC 9846, 7.4.2)"}
	errShareMLKEM  = &wire.Error{Alert: wire.AlertIllegalParameter, Reason: "ML-KEM key is not in canonical form (FIPS 203, 7.2)"}
)

// Exchange answers one key share. It is scratch: the values are valid until the
// next Respond, and Wipe forgets them.
type Exchange struct {
	share           [ShareBytesMax]byte
	shared          [SharedBytesMax]byte
	nShare, nShared int

	secret, public, peer, agreed x25519.Key
	seed                         [mlkem768.EncapsulationSeedSize]byte
}

// Supported reports whether Respond knows the group.
func Supported(g wire.Group) bool {
	switch g {
	case wire.GroupX25519MLKEM768, wire.GroupX25519, wire.GroupP256, wire.GroupP384, wire.GroupP521:
		return true
	}
	return false
}

// Share returns the server's key share.
func (x *Exchange) Share() []byte { return x.share[:x.nShare] }

// Shared returns the secret both sides have.
func (x *Exchange) Shared() []byte { return x.shared[:x.nShared] }

// Wipe overwrites every secret part.
func (x *Exchange) Wipe() { *x = Exchange{} }

// Respond makes a fresh ephemeral key in group g from rand, agrees with the
// client's share and keeps the server's share and the secret. It fails with a
// *wire.Error for a bad share, and with rand's error.
func (x *Exchange) Respond(g wire.Group, peer []byte, rand io.Reader) error {
	x.nShare, x.nShared = 0, 0
	switch g {
	case wire.GroupX25519:
		return x.x25519(peer, rand)
	case wire.GroupX25519MLKEM768:
		return x.x25519MLKEM768(peer, rand)
	case wire.GroupP256:
		return x.nist(ecdh.P256(), 32, peer, rand)
	case wire.GroupP384:
		return x.nist(ecdh.P384(), 48, peer, rand)
	case wire.GroupP521:
		return x.nist(ecdh.P521(), 66, peer, rand)
	}
	panic("BUG: keys: key share of a group that is not supported")
}

// x25519 appends an X25519 share and secret to what is there.
func (x *Exchange) x25519(peer []byte, rand io.Reader) error {
	if len(peer) != x25519.Size {
		return errShareLength
	}
	if _, err := io.ReadFull(rand, x.secret[:]); err != nil {
		return err
	}
	copy(x.peer[:], peer)
	x25519.KeyGen(&x.public, &x.secret)
	// RFC 9846, 7.4.2: "MUST check whether the computed Diffie-Hellman shared
	// secret is the all-zero value and abort if so".
	if !x25519.Shared(&x.agreed, &x.secret, &x.peer) {
		return errShareZero
	}
	x.nShare += copy(x.share[x.nShare:], x.public[:])
	x.nShared += copy(x.shared[x.nShared:], x.agreed[:])
	return nil
}

// x25519MLKEM768 is the hybrid of draft-ietf-tls-ecdhe-mlkem, 3.1:
//
//	client  | ML-KEM-768 key, 1184       | X25519, 32 |
//	server  | ML-KEM-768 ciphertext 1088 | X25519, 32 |
//	secret  | ML-KEM 32 | X25519 32 |
func (x *Exchange) x25519MLKEM768(peer []byte, rand io.Reader) error {
	if len(peer) != mlkem768.PublicKeySize+x25519.Size {
		return errShareLength
	}
	var key mlkem768.PublicKey
	if err := key.Unpack(peer[:mlkem768.PublicKeySize]); err != nil {
		return errShareMLKEM
	}
	if _, err := io.ReadFull(rand, x.seed[:]); err != nil {
		return err
	}
	x.nShare, x.nShared = mlkem768.CiphertextSize, mlkem768.SharedKeySize
	key.EncapsulateTo(x.share[:x.nShare], x.shared[:x.nShared], x.seed[:])
	return x.x25519(peer[mlkem768.PublicKeySize:], rand)
}

// scalarTriesMax bounds the search for a private scalar below the group order.
// For P-521, whose top byte is masked, and P-384 a try fails with a probability
// under 2^-190, for P-256 under 2^-32.
const scalarTriesMax = 8

// nist agrees on a NIST curve; n is the length of its scalars in bytes.
func (x *Exchange) nist(curve ecdh.Curve, n int, peer []byte, rand io.Reader) error {
	public, err := curve.NewPublicKey(peer)
	if err != nil {
		return errSharePoint
	}
	key, err := newScalar(curve, n, rand)
	if err != nil {
		return err
	}
	shared, err := key.ECDH(public)
	if err != nil {
		return errSharePoint
	}
	x.nShare = copy(x.share[:], key.PublicKey().Bytes())
	x.nShared = copy(x.shared[:], shared)
	clear(shared)
	return nil
}

// newScalar makes a private key from rand. crypto/ecdh's own GenerateKey does not
// promise to read the reader it is given.
func newScalar(curve ecdh.Curve, n int, rand io.Reader) (*ecdh.PrivateKey, error) {
	var b [66]byte
	defer clear(b[:])
	var err error
	for range scalarTriesMax {
		if _, err = io.ReadFull(rand, b[:n]); err != nil {
			return nil, err
		}
		if n == 66 {
			b[0] &= 1
		}
		var key *ecdh.PrivateKey
		if key, err = curve.NewPrivateKey(b[:n]); err == nil {
			return key, nil
		}
	}
	return nil, err
}
