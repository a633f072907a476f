package wire

// Code points of the TLS registries that this server reads or writes. Unknown
// values of every type are legal on the wire and are skipped.

// HandshakeType is the first byte of a handshake message (RFC 9846, 4).
type HandshakeType uint8

// Handshake message types.
const (
	TypeClientHello           HandshakeType = 1
	TypeServerHello           HandshakeType = 2 // HelloRetryRequest too
	TypeNewSessionTicket      HandshakeType = 4
	TypeEndOfEarlyData        HandshakeType = 5
	TypeEncryptedExtensions   HandshakeType = 8
	TypeCertificate           HandshakeType = 11
	TypeCertificateRequest    HandshakeType = 13
	TypeCertificateVerify     HandshakeType = 15
	TypeFinished              HandshakeType = 20
	TypeKeyUpdate             HandshakeType = 24
	TypeCompressedCertificate HandshakeType = 25  // RFC 8879, 4
	TypeMessageHash           HandshakeType = 254 // transcript only (RFC 9846, 4.1)
)

// Protocol versions (RFC 9846, 4.3.1 and 5.1).
const (
	VersionTLS10 uint16 = 0x0301
	VersionTLS12 uint16 = 0x0303
	VersionTLS13 uint16 = 0x0304
)

// ExtensionType names an extension (IANA "TLS ExtensionType Values").
type ExtensionType uint16

// Extensions that are read, written, or refused.
const (
	ExtServerName              ExtensionType = 0      // RFC 6066, 3
	ExtStatusRequest           ExtensionType = 5      // RFC 6066, 8
	ExtSupportedGroups         ExtensionType = 10     // RFC 9846, 4.3.7
	ExtECPointFormats          ExtensionType = 11     // RFC 8422, ignored by TLS 1.3
	ExtSignatureAlgorithms     ExtensionType = 13     // RFC 9846, 4.3.3
	ExtALPN                    ExtensionType = 16     // RFC 7301
	ExtSCT                     ExtensionType = 18     // RFC 6962, 3.3.1
	ExtPadding                 ExtensionType = 21     // RFC 7685
	ExtCompressCertificate     ExtensionType = 27     // RFC 8879
	ExtRecordSizeLimit         ExtensionType = 28     // RFC 8449
	ExtSessionTicket           ExtensionType = 35     // RFC 5077, ignored by TLS 1.3
	ExtPreSharedKey            ExtensionType = 41     // RFC 9846, 4.3.11
	ExtEarlyData               ExtensionType = 42     // RFC 9846, 4.3.10
	ExtSupportedVersions       ExtensionType = 43     // RFC 9846, 4.3.1
	ExtCookie                  ExtensionType = 44     // RFC 9846, 4.3.2
	ExtPSKKeyExchangeModes     ExtensionType = 45     // RFC 9846, 4.3.9
	ExtCertificateAuthorities  ExtensionType = 47     // RFC 9846, 4.3.4
	ExtOIDFilters              ExtensionType = 48     // RFC 9846, 4.3.5
	ExtPostHandshakeAuth       ExtensionType = 49     // RFC 9846, 4.3.6
	ExtSignatureAlgorithmsCert ExtensionType = 50     // RFC 9846, 4.3.3
	ExtKeyShare                ExtensionType = 51     // RFC 9846, 4.3.8
	ExtQUICTransportParameters ExtensionType = 57     // RFC 9001, 8.2
	ExtECHOuterExtensions      ExtensionType = 0xfd00 // RFC 9849, 5.1
	ExtEncryptedClientHello    ExtensionType = 0xfe0d // RFC 9849, 5
)

// Group is a named group of supported_groups and key_share.
type Group uint16

// Groups that can be negotiated, and those named in tests.
const (
	GroupP256           Group = 0x0017
	GroupP384           Group = 0x0018
	GroupP521           Group = 0x0019
	GroupX25519         Group = 0x001d
	GroupX25519MLKEM768 Group = 0x11ec
)

// CipherSuite is a TLS 1.3 cipher suite (RFC 9846, B.4).
type CipherSuite uint16

// Cipher suites of TLS 1.3 that are negotiated.
const (
	SuiteAES128GCMSHA256        CipherSuite = 0x1301
	SuiteAES256GCMSHA384        CipherSuite = 0x1302
	SuiteChaCha20Poly1305SHA256 CipherSuite = 0x1303
)

// SignatureScheme is a signature algorithm with its hash (RFC 9846, 4.3.3).
type SignatureScheme uint16

// Signature schemes. The PKCS#1 and SHA-1 ones can appear in certificates only.
const (
	SchemeRSAPKCS1SHA1    SignatureScheme = 0x0201
	SchemeECDSASHA1       SignatureScheme = 0x0203
	SchemeRSAPKCS1SHA256  SignatureScheme = 0x0401
	SchemeECDSAP256SHA256 SignatureScheme = 0x0403
	SchemeRSAPKCS1SHA384  SignatureScheme = 0x0501
	SchemeECDSAP384SHA384 SignatureScheme = 0x0503
	SchemeRSAPKCS1SHA512  SignatureScheme = 0x0601
	SchemeECDSAP521SHA512 SignatureScheme = 0x0603
	SchemeRSAPSSSHA256    SignatureScheme = 0x0804 // rsa_pss_rsae_sha256
	SchemeRSAPSSSHA384    SignatureScheme = 0x0805
	SchemeRSAPSSSHA512    SignatureScheme = 0x0806
	SchemeEd25519         SignatureScheme = 0x0807
	SchemeRSAPSSPSSSHA256 SignatureScheme = 0x0809 // rsa_pss_pss_sha256
	SchemeRSAPSSPSSSHA384 SignatureScheme = 0x080a
	SchemeRSAPSSPSSSHA512 SignatureScheme = 0x080b
)

// PSK key exchange modes (RFC 9846, 4.3.9).
const (
	PSKModeKE    uint8 = 0 // refused here: no forward secrecy
	PSKModeDHEKE uint8 = 1
)

// CompressionAlgorithm compresses a Certificate message (RFC 8879, 7.3).
type CompressionAlgorithm uint16

// Certificate compression algorithms.
const (
	CompressZlib   CompressionAlgorithm = 1
	CompressBrotli CompressionAlgorithm = 2
	CompressZstd   CompressionAlgorithm = 3
)

// ECHClientHelloType is the first byte of encrypted_client_hello in a
// ClientHello (RFC 9849, 5).
type ECHClientHelloType uint8

// The two forms of encrypted_client_hello.
const (
	ECHOuter ECHClientHelloType = 0
	ECHInner ECHClientHelloType = 1
)

// statusTypeOCSP is the only CertificateStatusType in use (RFC 6066, 8).
const statusTypeOCSP = 1

// nameTypeHost is the only NameType of server_name (RFC 6066, 3).
const nameTypeHost = 0

// HelloRetryRequestRandom is the random value that turns a ServerHello into a
// HelloRetryRequest: SHA-256 of "HelloRetryRequest" (RFC 9846, 4.2.3).
var HelloRetryRequestRandom = [32]byte{
	0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91,
	0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
}

// IsGREASE reports whether v is one of the sixteen reserved values that clients
// sprinkle into lists of suites, groups, extensions, versions and schemes:
// both bytes equal, low nibble a (RFC 8701, 2).
func IsGREASE(v uint16) bool { return v&0x0f0f == 0x0a0a && v>>8 == v&0xff }
