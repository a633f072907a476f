package main

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"edge/ech"
	"edge/tlsstack/wire"
)

// decide looks at the ClientHello as an application would, and goes on.
func (c *session) decide() error {
	hello := c.tls.Hello()
	e := &c.o.expect
	if c.tls.HelloErr() != nil {
		return c.tls.Continue(time.Now())
	}
	if c.o.failEarly {
		return c.tls.Refuse(wire.AlertHandshakeFailure)
	}
	if e.advertisedALPN != nil && string(hello.ALPN) != *e.advertisedALPN {
		return fmt.Errorf("client offers ALPN %q, expected %q", hello.ALPN, *e.advertisedALPN)
	}
	if e.serverName != nil && string(hello.ServerName) != *e.serverName {
		return fmt.Errorf("server name is %q, expected %q", hello.ServerName, *e.serverName)
	}
	if err := c.checkPeerPrefs(hello.SignatureAlgorithms); err != nil {
		return err
	}
	return c.tls.Continue(time.Now())
}

// checkPeerPrefs compares the client's signature algorithms.
func (c *session) checkPeerPrefs(list wire.Uint16List) error {
	want := c.o.expect.peerVerifyPrefs
	if want == nil {
		return nil
	}
	var got []uint16
	for i := range list.Len() {
		got = append(got, list.At(i))
	}
	if !slices.Equal(got, want) {
		return fmt.Errorf("client verifies %x, expected %x", got, want)
	}
	return nil
}

// check compares what the handshake came to with the expectations.
func (c *session) check() error {
	info, e := c.tls.Info(), &c.o.expect
	if want := c.resumed && !e.sessionMiss; info.Resumed != want {
		return fmt.Errorf("resumed is %v, expected %v", info.Resumed, want)
	}
	if e.curve != 0 && int(info.Group) != e.curve {
		return fmt.Errorf("group is %#x, expected %#x", info.Group, e.curve)
	}
	if e.retry && !info.Retried {
		return fmt.Errorf("there was no HelloRetryRequest")
	}
	if e.cipherAES != 0 && e.cipherAES&0xffff != int(info.Suite) {
		return fmt.Errorf("suite is %#x, expected %#x", info.Suite, e.cipherAES)
	}
	if c.o.selectALPN != nil && !c.o.declineALPN && info.ALPN != *c.o.selectALPN {
		return fmt.Errorf("ALPN is %q, expected %q", info.ALPN, *c.o.selectALPN)
	}
	if accepted := info.ECH == ech.Accepted; accepted != e.echAccept && (e.echAccept || !c.resumed) {
		return fmt.Errorf("ECH is %v, expected accepted %v", info.ECH, e.echAccept)
	}
	if err := c.checkCredential(); err != nil {
		return err
	}
	return c.checkClient()
}

// checkCredential compares the credential that was presented; -1 is the default.
func (c *session) checkCredential() error {
	want := c.o.expect.credential
	if want == nil || c.tls.Info().Resumed {
		return nil
	}
	got := slices.Index(c.source.all, c.tls.Info().Credential)
	if got == len(c.source.all)-1 {
		got = -1
	}
	if got != *want {
		return fmt.Errorf("credential is %d, expected %d", got, *want)
	}
	return nil
}

// checkClient compares the client's certificate.
func (c *session) checkClient() error {
	client, e := c.tls.Info().Client, &c.o.expect
	if e.verifyResult && client != nil && !c.tls.Info().Resumed && !c.verify.asked {
		return fmt.Errorf("the client's chain was not checked")
	}
	if e.peerScheme != 0 && (client == nil || int(client.Scheme) != e.peerScheme) {
		return fmt.Errorf("client signed with another scheme than %#x", e.peerScheme)
	}
	if c.o.requireClient && client == nil {
		return fmt.Errorf("there is no client certificate")
	}
	if e.peerCertFile == "" {
		return nil
	}
	want, err := readChain(e.peerCertFile)
	if err != nil {
		return err
	}
	if client == nil || !slices.EqualFunc(client.Chain, want, bytes.Equal) {
		return fmt.Errorf("client certificate is not that of %s", e.peerCertFile)
	}
	return nil
}
