package tlsstack

// CertificateSource is what the handshake wants from a certificate store.
type CertificateSource interface {
	// Credentials returns the candidates for a server name, best first, or nil
	// when the store holds none for it. name is the SNI host in lower case
	// without a trailing dot, empty when the client sent none. It must neither
	// block nor allocate; the result is shared and immutable.
	Credentials(name []byte) []*Credential

	// Default returns the candidates for a name that is not held; nil when there
	// is no default.
	Default() []*Credential
}
