package main

import (
	"crypto/rand"
	"errors"

	"edge/ech"
	"edge/tlsstack"
	"edge/tlsstack/wire"
)

// setECH gives the server the test's ECH keys. BoringSSL without keys ignores an
// outer hello's ECH, like anybody, but confirms an inner one, like the backend of
// a client-facing server. Here that is a choice of the configuration, so a test
// without keys begins as a backend and falls back when the hello is not inner.
func setECH(cfg *tlsstack.Config, o *options) error {
	if len(o.echConfigs) == 0 {
		cfg.ECHBackend = true
		return nil
	}
	if len(o.echKeys) != len(o.echConfigs) || len(o.echRetry) != len(o.echConfigs) {
		return errors.New("the ECH flags do not come in threes")
	}
	var keys []*ech.Key
	for i, config := range o.echConfigs {
		key, err := ech.NewKey(config, o.echKeys[i])
		if err != nil {
			return err
		}
		if !o.echRetry[i] {
			key.Role = ech.DecryptOnly
		}
		keys = append(keys, key)
	}
	var err error
	cfg.ECH, err = ech.NewSet(keys)
	return err
}

// fallBack begins again as a server without ECH, with the bytes received so far,
// when the hello was meant for one. It reports whether it did.
func (c *session) fallBack() bool {
	hello := c.tls.Hello()
	if !c.cfg.ECHBackend || c.tls.HelloErr() == nil || len(hello.ECH) == 0 ||
		wire.ECHClientHelloType(hello.ECH[0]) != wire.ECHOuter {
		return false
	}
	c.cfg.ECHBackend = false
	c.tls.Init(c.cfg, rand.Reader)
	c.pending = append(c.first, c.pending...)
	c.first = nil
	return true
}
