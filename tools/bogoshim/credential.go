package main

import (
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"

	"edge/tlsstack"
	"edge/tlsstack/wire"
)

// source serves the credentials of a test for any name, in their order.
type source struct{ all []*tlsstack.Credential }

func (s *source) Credentials([]byte) []*tlsstack.Credential { return s.all }
func (s *source) Default() []*tlsstack.Credential           { return s.all }

// loadCredentials reads the credentials; one without files is left out but keeps
// its place in the numbering.
func loadCredentials(list []credentialOptions) (*source, error) {
	s := new(source)
	for _, o := range list {
		if o.certFile == "" {
			s.all = append(s.all, nil)
			continue
		}
		c, err := o.load()
		if err != nil {
			return nil, err
		}
		s.all = append(s.all, c)
	}
	return s, nil
}

// load reads the files of one credential.
func (o *credentialOptions) load() (*tlsstack.Credential, error) {
	chain, err := readChain(o.certFile)
	if err != nil {
		return nil, err
	}
	signer, err := readKey(o.keyFile)
	if err != nil {
		return nil, err
	}
	c, err := tlsstack.NewCredential(chain, signer, o.staple, o.scts)
	if err != nil {
		return nil, err
	}
	if o.signingPrefs != nil {
		c = c.WithSchemes(schemes(o.signingPrefs))
	}
	if o.matchIssuer {
		return c.WithIssuerMatch()
	}
	return c, nil
}

func schemes(numbers []uint16) []wire.SignatureScheme {
	var out []wire.SignatureScheme
	for _, n := range numbers {
		out = append(out, wire.SignatureScheme(n))
	}
	return out
}

// readChain reads the certificates of a PEM file.
func readChain(path string) ([][]byte, error) {
	file, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var chain [][]byte
	for {
		var block *pem.Block
		if block, file = pem.Decode(file); block == nil {
			return chain, nil
		}
		chain = append(chain, block.Bytes)
	}
}

// readKey reads a PKCS#8 key.
func readKey(path string) (crypto.Signer, error) {
	file, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(file)
	if block == nil {
		return nil, fmt.Errorf("%s holds no PEM block", path)
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("%s holds a %T, which cannot sign", path, key)
	}
	return signer, nil
}
