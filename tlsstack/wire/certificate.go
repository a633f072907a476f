package wire

import "golang.org/x/crypto/cryptobyte"

// Certificate and CertificateVerify in both directions (RFC 9846, 4.5.1 and
// 4.5.2), and CompressedCertificate (RFC 8879, 4) towards the client, which is
// not asked to compress its own.

// CertificateChainMax is the largest number of certificates a client may send.
const CertificateChainMax = 16

// Certificate holds what a Certificate message says. Parsed, its slices are
// parts of the message. To be appended, what it holds must fit: Staple and
// SCTList under 64 KiB together, each certificate and all of them under 16 MiB.
type Certificate struct {
	Context []byte   // certificate_request_context; empty in the handshake
	Chain   [][]byte // DER, leaf first; empty when the client has none
	Staple  []byte   // DER OCSPResponse for the leaf, nil for none (RFC 6066, 8)
	SCTList []byte   // SignedCertificateTimestampList for the leaf, nil for none (RFC 6962, 3.3)
}

// Append appends the message to dst.
func (m *Certificate) Append(dst []byte) []byte {
	dst, message := beginMessage(dst, TypeCertificate)
	dst = appendVector(dst, 1, m.Context)
	dst, list := begin(dst, 3)
	for i, der := range m.Chain {
		dst = appendVector(dst, 3, der)
		var block int
		dst, block = begin(dst, 2)
		if i == 0 {
			dst = m.appendLeafExtensions(dst)
		}
		dst = end(dst, block, 2)
	}
	return end(end(dst, list, 3), message, 3)
}

func (m *Certificate) appendLeafExtensions(dst []byte) []byte {
	var at int
	if m.Staple != nil {
		dst, at = beginExtension(dst, ExtStatusRequest)
		dst = append(dst, statusTypeOCSP)
		dst = end(appendVector(dst, 3, m.Staple), at, 2)
	}
	if m.SCTList != nil {
		dst, at = beginExtension(dst, ExtSCT)
		dst = end(append(dst, m.SCTList...), at, 2)
	}
	return dst
}

var (
	errCertificate          = decodeError("Certificate malformed (RFC 9846, 4.5.1)")
	errCertificateContext   = illegalParameter("certificate_request_context is not the one sent (RFC 9846, 4.5.1)")
	errCertificateCount     = &Error{AlertBadCertificate, "more certificates than CertificateChainMax"}
	errCertificateExtension = &Error{AlertUnsupportedExtension, "certificate extension that was not asked for (RFC 9846, 4.5.1)"}
)

// ParseCertificate parses a client's Certificate, reusing m.Chain. Fails with
// *Error. The request's context is taken to have been empty, as it is during
// the handshake, and no certificate extension to have been asked for.
func ParseCertificate(msg []byte, m *Certificate) error {
	*m = Certificate{Chain: m.Chain[:0]}
	s, err := body(msg, TypeCertificate)
	if err != nil {
		return err
	}
	var context, list cryptobyte.String
	if !s.ReadUint8LengthPrefixed(&context) || !s.ReadUint24LengthPrefixed(&list) || !s.Empty() {
		return errCertificate
	}
	if !context.Empty() {
		return errCertificateContext
	}
	for !list.Empty() {
		if len(m.Chain) == CertificateChainMax {
			return errCertificateCount
		}
		der, err := readCertificateEntry(&list)
		if err != nil {
			return err
		}
		m.Chain = append(m.Chain, der)
	}
	return nil
}

// readCertificateEntry reads one CertificateEntry.
func readCertificateEntry(list *cryptobyte.String) ([]byte, error) {
	var der, extensions cryptobyte.String
	if !list.ReadUint24LengthPrefixed(&der) || der.Empty() || !list.ReadUint16LengthPrefixed(&extensions) {
		return nil, errCertificate
	}
	if !extensions.Empty() {
		var typ uint16
		var data cryptobyte.String
		if !extensions.ReadUint16(&typ) || !extensions.ReadUint16LengthPrefixed(&data) {
			return nil, errCertificate
		}
		return nil, errCertificateExtension
	}
	return der, nil
}

// CompressedCertificate is a Certificate message in compressed form.
type CompressedCertificate struct {
	Algorithm          CompressionAlgorithm
	UncompressedLength int    // bytes of the Certificate message's body, without header
	Data               []byte // compressed body of the Certificate message
}

// Append appends the message to dst.
func (m *CompressedCertificate) Append(dst []byte) []byte {
	dst, message := beginMessage(dst, TypeCompressedCertificate)
	dst = appendUint16(dst, uint16(m.Algorithm))
	dst = appendUint24(dst, m.UncompressedLength)
	return end(appendVector(dst, 3, m.Data), message, 3)
}

// AppendCertificateVerify appends a CertificateVerify to dst.
func AppendCertificateVerify(dst []byte, scheme SignatureScheme, signature []byte) []byte {
	dst, message := beginMessage(dst, TypeCertificateVerify)
	dst = appendUint16(dst, uint16(scheme))
	return end(appendVector(dst, 2, signature), message, 3)
}

var errCertificateVerify = decodeError("CertificateVerify malformed (RFC 9846, 4.5.2)")

// ParseCertificateVerify parses a CertificateVerify. Fails with *Error.
func ParseCertificateVerify(msg []byte) (scheme SignatureScheme, signature []byte, err error) {
	s, err := body(msg, TypeCertificateVerify)
	if err != nil {
		return 0, nil, err
	}
	if !s.ReadUint16((*uint16)(&scheme)) ||
		!s.ReadUint16LengthPrefixed((*cryptobyte.String)(&signature)) || !s.Empty() {
		return 0, nil, errCertificateVerify
	}
	return scheme, signature, nil
}
