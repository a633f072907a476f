package wire

import "fmt"

// String is the suite's registered name (RFC 9846, B.4).
func (s CipherSuite) String() string {
	switch s {
	case SuiteAES128GCMSHA256:
		return "TLS_AES_128_GCM_SHA256"
	case SuiteAES256GCMSHA384:
		return "TLS_AES_256_GCM_SHA384"
	case SuiteChaCha20Poly1305SHA256:
		return "TLS_CHACHA20_POLY1305_SHA256"
	}
	return fmt.Sprintf("0x%04x", uint16(s))
}

// String is the group's registered name.
func (g Group) String() string {
	switch g {
	case GroupP256:
		return "secp256r1"
	case GroupP384:
		return "secp384r1"
	case GroupP521:
		return "secp521r1"
	case GroupX25519:
		return "x25519"
	case GroupX25519MLKEM768:
		return "X25519MLKEM768"
	}
	return fmt.Sprintf("0x%04x", uint16(g))
}
