package tlsstack

import (
	"crypto/x509"
	"edge/ech"

	"edge/tlsstack/wire"
)

// Info is what a handshake came to. ServerName is set when the connection waits
// for a decision, the rest when the server's flight is made, Client when the
// handshake is done.
type Info struct {
	ServerName  string // SNI in lower case without trailing dot; "" for none or an IP literal
	ALPN        string // chosen protocol; "" when none was
	Suite       wire.CipherSuite
	Group       wire.Group
	Scheme      wire.SignatureScheme // of the server's CertificateVerify; 0 when resumed
	Credential  *Credential          // presented; nil when resumed
	Client      *ClientIdentity      // nil when the client has shown no certificate
	DefaultCert bool                 // nothing is held for ServerName
	ECH         ech.Outcome          // what became of the client's ECH; None for a backend
	PublicName  string               // SNI of the outer hello, when ECH was accepted
	Resumed     bool                 // by a ticket
	Retried     bool                 // a HelloRetryRequest was sent
	EarlyData   bool                 // the client offered early data, which is skipped
}

// ClientIdentity is the certificate a client proved to own. It is immutable.
type ClientIdentity struct {
	Chain  [][]byte          // DER, leaf first, as the client sent it
	Leaf   *x509.Certificate // parsed; shared, do not modify
	Scheme wire.SignatureScheme
}
