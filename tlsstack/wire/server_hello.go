package wire

// ServerHello and HelloRetryRequest (RFC 9846, 4.2.3 and 4.2.4), and the
// stand-in for the first ClientHello in the transcript after a retry.

// echConfirmationBytes is the length of the ECH acceptance signal (RFC 9849,
// 7.2).
const echConfirmationBytes = 8

// ServerHelloConfirmationOffset is where the last eight bytes of random lie in a
// ServerHello message: there goes the ECH acceptance signal (RFC 9849, 7.2).
const ServerHelloConfirmationOffset = HeaderBytes + 2 + 32 - echConfirmationBytes

// ServerHello holds what a ServerHello says.
type ServerHello struct {
	Random      [32]byte
	SessionID   []byte // echoed from the ClientHello
	CipherSuite CipherSuite
	Group       Group
	KeyShare    []byte // the server's share; nil for none (psk_ke, never sent here)
	PSK         bool   // pre_shared_key is sent
	PSKIdentity uint16 // index of the accepted identity
}

// Append appends the message to dst.
func (m *ServerHello) Append(dst []byte) []byte {
	dst, message := beginMessage(dst, TypeServerHello)
	dst = appendServerHelloHead(dst, &m.Random, m.SessionID, m.CipherSuite)
	dst, block := begin(dst, 2)
	dst = appendSupportedVersions(dst)
	if m.KeyShare != nil {
		var share int
		dst, share = beginExtension(dst, ExtKeyShare)
		dst = appendUint16(dst, uint16(m.Group))
		dst = appendVector(dst, 2, m.KeyShare)
		dst = end(dst, share, 2)
	}
	if m.PSK {
		dst = appendUint16Extension(dst, ExtPreSharedKey, m.PSKIdentity)
	}
	return end(end(dst, block, 2), message, 3)
}

// HelloRetryRequest holds what a HelloRetryRequest says.
type HelloRetryRequest struct {
	SessionID   []byte // echoed from the ClientHello
	CipherSuite CipherSuite
	Group       Group  // group to send a share for; 0 for none
	Cookie      []byte // to be echoed; nil for none

	// ECHConfirmation leaves room for the acceptance signal: an
	// encrypted_client_hello of eight zero bytes, as it is hashed, to be
	// overwritten in place (RFC 9849, 7.2.1).
	ECHConfirmation bool
}

// Append appends the message to dst. confirmation is the offset of the eight
// ECH bytes from the start of the message, 0 when there are none.
func (m *HelloRetryRequest) Append(dst []byte) (out []byte, confirmation int) {
	start := len(dst)
	dst, message := beginMessage(dst, TypeServerHello)
	dst = appendServerHelloHead(dst, &HelloRetryRequestRandom, m.SessionID, m.CipherSuite)
	dst, block := begin(dst, 2)
	dst = appendSupportedVersions(dst)
	if m.Group != 0 {
		dst = appendUint16Extension(dst, ExtKeyShare, uint16(m.Group))
	}
	if m.Cookie != nil {
		var cookie int
		dst, cookie = beginExtension(dst, ExtCookie)
		dst = end(appendVector(dst, 2, m.Cookie), cookie, 2)
	}
	if m.ECHConfirmation {
		var ech int
		dst, ech = beginExtension(dst, ExtEncryptedClientHello)
		confirmation = len(dst) - start
		dst = append(dst, make([]byte, echConfirmationBytes)...)
		dst = end(dst, ech, 2)
	}
	return end(end(dst, block, 2), message, 3), confirmation
}

// appendServerHelloHead appends what precedes the extensions.
func appendServerHelloHead(dst []byte, random *[32]byte, sessionID []byte, suite CipherSuite) []byte {
	dst = appendUint16(dst, VersionTLS12) // legacy_version
	dst = append(dst, random[:]...)
	dst = appendVector(dst, 1, sessionID)
	dst = appendUint16(dst, uint16(suite))
	return append(dst, 0) // legacy_compression_method
}

func appendSupportedVersions(dst []byte) []byte {
	return appendUint16Extension(dst, ExtSupportedVersions, VersionTLS13)
}

// appendUint16Extension appends an extension that holds one 16-bit value.
func appendUint16Extension(dst []byte, typ ExtensionType, v uint16) []byte {
	dst, at := beginExtension(dst, typ)
	return end(appendUint16(dst, v), at, 2)
}

// AppendMessageHash appends the synthetic message that takes the place of the
// first ClientHello in the transcript after a HelloRetryRequest (RFC 9846,
// 4.1).
func AppendMessageHash(dst, hash []byte) []byte {
	dst, at := beginMessage(dst, TypeMessageHash)
	return end(append(dst, hash...), at, 3)
}
