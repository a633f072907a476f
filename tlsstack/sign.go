package tlsstack

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	_ "crypto/sha256" // the hashes of the schemes
	_ "crypto/sha512"

	"edge/tlsstack/wire"
)

// What CertificateVerify signs (RFC 9846, 4.5.2):
//
//	| 64 spaces | context string | 0 | transcript hash |
const (
	verifySpaces  = 64
	serverContext = "TLS 1.3, server CertificateVerify\x00"
	clientContext = "TLS 1.3, client CertificateVerify\x00"
)

// appendVerifyContent appends what is signed.
func appendVerifyContent(dst []byte, context string, transcript []byte) []byte {
	for range verifySpaces {
		dst = append(dst, ' ')
	}
	dst = append(dst, context...)
	return append(dst, transcript...)
}

// scheme is how one signature scheme is made and checked.
type scheme struct {
	hash crypto.Hash // 0: the content itself is signed
	opts crypto.SignerOpts
}

// The schemes, as values made once: an option that is made for each signature
// would be an allocation for each.
var (
	ecdsaSHA256   = scheme{crypto.SHA256, crypto.SHA256}
	ecdsaSHA384   = scheme{crypto.SHA384, crypto.SHA384}
	ecdsaSHA512   = scheme{crypto.SHA512, crypto.SHA512}
	pssSHA256     = scheme{crypto.SHA256, pssOptions(crypto.SHA256)}
	pssSHA384     = scheme{crypto.SHA384, pssOptions(crypto.SHA384)}
	pssSHA512     = scheme{crypto.SHA512, pssOptions(crypto.SHA512)}
	pureEd25519   = scheme{0, crypto.Hash(0)}
	unknownScheme = scheme{}
)

// pssOptions: RFC 9846, 4.3.3: "The length of the Salt MUST be equal to the
// length of the output of the digest algorithm."
func pssOptions(h crypto.Hash) *rsa.PSSOptions {
	return &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash, Hash: h}
}

// schemeParams returns how s works; opts is nil for schemes that TLS 1.3 cannot
// sign with.
func schemeParams(s wire.SignatureScheme) *scheme {
	switch s {
	case wire.SchemeECDSAP256SHA256:
		return &ecdsaSHA256
	case wire.SchemeECDSAP384SHA384:
		return &ecdsaSHA384
	case wire.SchemeECDSAP521SHA512:
		return &ecdsaSHA512
	case wire.SchemeRSAPSSSHA256:
		return &pssSHA256
	case wire.SchemeRSAPSSSHA384:
		return &pssSHA384
	case wire.SchemeRSAPSSSHA512:
		return &pssSHA512
	case wire.SchemeEd25519:
		return &pureEd25519
	}
	return &unknownScheme
}

// digest hashes content with the scheme's hash.
func (s *scheme) digest(content []byte) []byte {
	if s.hash == 0 {
		return content
	}
	h := s.hash.New()
	h.Write(content)
	return h.Sum(nil)
}

// appendCertificateVerify signs the transcript so far.
func (c *Conn) appendCertificateVerify(dst []byte) ([]byte, error) {
	hs, p := c.hs, &c.hs.params
	hs.verify = appendVerifyContent(hs.verify[:0], serverContext, hs.transcript.Sum())
	s := schemeParams(p.scheme)
	signature, err := p.credential.Signer.Sign(c.rand, s.digest(hs.verify), s.opts)
	if err != nil {
		return dst, err
	}
	return wire.AppendCertificateVerify(dst, p.scheme, signature), nil
}

// verifySignature checks a client's signature over content. The scheme has to be
// one that fits the key: RFC 9846, 4.3.3 ties ECDSA hashes to curves.
func verifySignature(public crypto.PublicKey, id wire.SignatureScheme, content, signature []byte) *Error {
	s := schemeParams(id)
	ok := false
	switch k := public.(type) {
	case *ecdsa.PublicKey:
		if !curveFits(id, k.Curve) {
			return refuse(ReasonClientScheme)
		}
		ok = ecdsa.VerifyASN1(k, s.digest(content), signature)
	case ed25519.PublicKey:
		if id != wire.SchemeEd25519 {
			return refuse(ReasonClientScheme)
		}
		ok = ed25519.Verify(k, content, signature)
	case *rsa.PublicKey:
		opts, isPSS := s.opts.(*rsa.PSSOptions)
		if !isPSS {
			return refuse(ReasonClientScheme)
		}
		ok = rsa.VerifyPSS(k, s.hash, s.digest(content), signature, opts) == nil
	default:
		return refuse(ReasonClientCertUnsupported)
	}
	if !ok {
		return refuse(ReasonClientSignature)
	}
	return nil
}

// curveFits reports whether an ECDSA scheme belongs to the curve.
func curveFits(id wire.SignatureScheme, curve elliptic.Curve) bool {
	switch id {
	case wire.SchemeECDSAP256SHA256:
		return curve == elliptic.P256()
	case wire.SchemeECDSAP384SHA384:
		return curve == elliptic.P384()
	case wire.SchemeECDSAP521SHA512:
		return curve == elliptic.P521()
	}
	return false
}
