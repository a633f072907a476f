package echcheck

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"

	"edge/ech"
)

// connect makes handshakes: with what DNS publishes (or, when that is nothing,
// with what we give out), then either with what the server gave instead, or with
// a key of nobody, to see what it would give.
func (r *Report) connect(ctx context.Context, o *Options) {
	list, with := r.published()
	if list == nil {
		if list, with = o.set().RetryConfigs(o.Now), "the keys in "+o.Dir; list == nil {
			r.add(Fail, "there is no config to connect with, in DNS or in a directory of keys")
			return
		}
	}
	first := r.handshake(ctx, o, list, with)
	switch {
	case first.Accepted:
		if foreign, err := foreignList(list); err == nil {
			r.handshake(ctx, o, foreign, "a key of nobody")
		}
	case first.retry != nil:
		r.handshake(ctx, o, first.retry, "the retry_configs")
	}
	r.judgeConnections(o)
}

// published returns the list that a client takes from DNS, nil when there is
// none.
func (r *Report) published() (list []byte, with string) {
	for i := range r.DNS {
		if r.DNS[i].chosen() != nil {
			return r.DNS[i].first().list, "DNS of " + r.DNS[i].Server
		}
	}
	return nil, ""
}

// foreignList makes a list with the public name of another, to a key that nobody
// holds: what a client with a list from long ago would send.
func foreignList(list []byte) ([]byte, error) {
	configs, err := ech.ParseConfigList(list)
	if err != nil {
		return nil, err
	}
	for i := range configs {
		if configs[i].Usable() != nil {
			continue
		}
		k, err := ech.GenerateKey(ech.KeyParameters{PublicName: configs[i].PublicName, KEM: ech.KEMX25519, Suites: ech.Suites}, rand.Reader)
		if err != nil {
			return nil, err
		}
		return ech.AppendConfigList(nil, k.Config.Raw)
	}
	return nil, errors.New("no config can be used")
}

// handshake makes one and adds it to the report.
func (r *Report) handshake(ctx context.Context, o *Options, list []byte, with string) *Connection {
	c := Connection{Address: o.Connect, With: with, Retry: []Config{}, Name: o.serverName()}
	c.make(ctx, o, list)
	r.Connections = append(r.Connections, c)
	return &r.Connections[len(r.Connections)-1]
}

func (c *Connection) make(ctx context.Context, o *Options, list []byte) {
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", c.Address)
	if err != nil {
		c.Error = err.Error()
		return
	}
	defer conn.Close()
	conf := clientConfig(list, c.Name)
	conf.EncryptedClientHelloRejectionVerify = func(tls.ConnectionState) error {
		return nil // looked at below, and said in the report
	}
	client := tls.Client(conn, conf)
	err = client.HandshakeContext(ctx)
	s := client.ConnectionState()
	var rejection *tls.ECHRejectionError
	switch {
	case errors.As(err, &rejection):
		c.Rejected, c.Name = true, s.ServerName // now the public name
		c.setRetry(o, rejection.RetryConfigList)
	case err != nil:
		c.Error = printable(err.Error())
		return
	default:
		c.Accepted = s.ECHAccepted
	}
	c.Certificate = verify(o, s.PeerCertificates, c.Name)
}

// setRetry takes what the server gave. A list that cannot be read counts as
// none, as clients treat it.
func (c *Connection) setRetry(o *Options, list []byte) {
	if len(list) == 0 {
		return
	}
	configs, err := readList(list, o.set())
	if err != nil {
		c.Error = "retry_configs: " + err.Error()
		return
	}
	c.Retry, c.retry = configs, bytes.Clone(list)
}

// verify says why a chain is not valid for a name, empty when it is.
func verify(o *Options, chain []*x509.Certificate, name string) string {
	if len(chain) == 0 {
		return "none was sent"
	}
	options := x509.VerifyOptions{DNSName: name, Roots: o.Roots, CurrentTime: o.Now, Intermediates: x509.NewCertPool()}
	for _, cert := range chain[1:] {
		options.Intermediates.AddCert(cert)
	}
	if _, err := chain[0].Verify(options); err != nil {
		return printable(err.Error())
	}
	return ""
}
