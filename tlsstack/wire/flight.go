package wire

// What the server sends under handshake keys before its certificate:
// EncryptedExtensions and CertificateRequest (RFC 9846, 4.4).

// EncryptedExtensions holds what the message says; zero fields are not sent.
type EncryptedExtensions struct {
	ALPN            []byte // the chosen protocol
	ServerNameUsed  bool   // acknowledges server_name (RFC 6066, 3)
	RecordSizeLimit uint16 // bytes (RFC 8449, 4)
	RetryConfigs    []byte // an ECHConfigList, length included (RFC 9849, 7.1)
}

// Append appends the message to dst.
func (m *EncryptedExtensions) Append(dst []byte) []byte {
	dst, message := beginMessage(dst, TypeEncryptedExtensions)
	dst, block := begin(dst, 2)
	var at int
	if m.ServerNameUsed {
		dst, at = beginExtension(dst, ExtServerName)
		dst = end(dst, at, 2)
	}
	if m.ALPN != nil {
		var list int
		dst, at = beginExtension(dst, ExtALPN)
		dst, list = begin(dst, 2)
		dst = end(end(appendVector(dst, 1, m.ALPN), list, 2), at, 2)
	}
	if m.RecordSizeLimit != 0 {
		dst = appendUint16Extension(dst, ExtRecordSizeLimit, m.RecordSizeLimit)
	}
	if m.RetryConfigs != nil {
		dst, at = beginExtension(dst, ExtEncryptedClientHello)
		dst = end(append(dst, m.RetryConfigs...), at, 2)
	}
	return end(end(dst, block, 2), message, 3)
}

// CertificateRequest holds what the message says; nil lists are not sent, but
// SignatureAlgorithms must be (RFC 9846, 4.4.2).
type CertificateRequest struct {
	Context                 []byte // empty in the handshake
	SignatureAlgorithms     []SignatureScheme
	SignatureAlgorithmsCert []SignatureScheme
	CertificateAuthorities  [][]byte // DER distinguished names
}

// Append appends the message to dst.
func (m *CertificateRequest) Append(dst []byte) []byte {
	dst, message := beginMessage(dst, TypeCertificateRequest)
	dst = appendVector(dst, 1, m.Context)
	dst, block := begin(dst, 2)
	var at int
	dst, at = beginExtension(dst, ExtSignatureAlgorithms)
	dst = end(appendSchemes(dst, m.SignatureAlgorithms), at, 2)
	if m.SignatureAlgorithmsCert != nil {
		dst, at = beginExtension(dst, ExtSignatureAlgorithmsCert)
		dst = end(appendSchemes(dst, m.SignatureAlgorithmsCert), at, 2)
	}
	if m.CertificateAuthorities != nil {
		dst, at = beginExtension(dst, ExtCertificateAuthorities)
		dst = end(appendNames(dst, m.CertificateAuthorities), at, 2)
	}
	return end(end(dst, block, 2), message, 3)
}

func appendSchemes(dst []byte, schemes []SignatureScheme) []byte {
	dst, at := begin(dst, 2)
	for _, scheme := range schemes {
		dst = appendUint16(dst, uint16(scheme))
	}
	return end(dst, at, 2)
}

func appendNames(dst []byte, names [][]byte) []byte {
	dst, at := begin(dst, 2)
	for _, name := range names {
		dst = appendVector(dst, 2, name)
	}
	return end(dst, at, 2)
}
