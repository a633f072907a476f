package echcheck

import (
	"crypto/tls"
	"io"
	"net"
	"time"

	"edge/ech"
	"edge/tlsstack/wire"
)

// opens reports whether a client's hello for name, encrypted to a config, opens
// with the keys, and holds the name then.
func opens(set *ech.Set, config []byte, name string) bool {
	msg, err := clientHello(config, name)
	if err != nil {
		return false
	}
	var outer, inner wire.ClientHello
	if wire.ScanClientHello(msg, &outer) != nil {
		return false
	}
	outcome, _, err := set.Open(&outer, &inner, new(ech.Buffers))
	return err == nil && outcome == ech.Accepted && string(inner.AppendServerName(nil)) == name
}

// clientHello returns the first message of a client that has one config.
func clientHello(config []byte, name string) ([]byte, error) {
	list, err := ech.AppendConfigList(nil, config)
	if err != nil {
		return nil, err
	}
	var net recorder
	err = tls.Client(&net, clientConfig(list, name)).Handshake()
	if len(net.sent) == 0 {
		return nil, err
	} // otherwise it failed for lack of an answer, after the hello was out
	return handshakeBytes(net.sent)
}

// clientConfig is that of a client with an ECHConfigList. Certificates are looked
// at by the caller: they do not decide about ECH.
func clientConfig(list []byte, name string) *tls.Config {
	return &tls.Config{
		ServerName:                     name,
		MinVersion:                     tls.VersionTLS13,
		NextProtos:                     []string{"h2", "http/1.1"},
		EncryptedClientHelloConfigList: list,
		InsecureSkipVerify:             true,
	}
}

// recordHeaderBytes is the size of a record's header (RFC 9846, 5.1).
const recordHeaderBytes = 5

// handshakeBytes takes the handshake messages out of plaintext records.
func handshakeBytes(records []byte) ([]byte, error) {
	var msg []byte
	for len(records) > 0 {
		if len(records) < recordHeaderBytes {
			return nil, io.ErrUnexpectedEOF
		}
		end := recordHeaderBytes + int(records[3])<<8 + int(records[4])
		if len(records) < end {
			return nil, io.ErrUnexpectedEOF
		}
		msg = append(msg, records[recordHeaderBytes:end]...)
		records = records[end:]
	}
	return msg, nil
}

// recorder is a connection on which nobody answers.
type recorder struct{ sent []byte }

func (r *recorder) Write(p []byte) (int, error) {
	r.sent = append(r.sent, p...)
	return len(p), nil
}

func (*recorder) Read([]byte) (int, error)         { return 0, io.EOF }
func (*recorder) Close() error                     { return nil }
func (*recorder) LocalAddr() net.Addr              { return nil }
func (*recorder) RemoteAddr() net.Addr             { return nil }
func (*recorder) SetDeadline(time.Time) error      { return nil }
func (*recorder) SetReadDeadline(time.Time) error  { return nil }
func (*recorder) SetWriteDeadline(time.Time) error { return nil }
