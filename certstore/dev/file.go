package dev

// This file reads and writes the state directory.

import (
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// lock takes the lock of a state directory, waiting for another process that
// holds it, and returns how to give it back.
func lock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX)
		if err == nil {
			return func() { f.Close() }, nil
		}
		if err != unix.EINTR {
			f.Close()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
	}
}

// errNoPair says that two files are not there or not a certificate with its key,
// so that nothing is lost when they are made anew.
var errNoPair = errors.New("no certificate with its key")

// loadPair reads a certificate and its key. Any error but errNoPair is one of
// reading the files.
func loadPair(certFile, keyFile string) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	certDER, err := loadBlock(certFile, "CERTIFICATE")
	if err != nil {
		return nil, nil, err
	}
	keyDER, err := loadBlock(keyFile, "PRIVATE KEY")
	if err != nil {
		return nil, nil, err
	}
	cert, err := x509.ParseCertificate(certDER)
	if err != nil {
		return nil, nil, errNoPair
	}
	parsed, err := x509.ParsePKCS8PrivateKey(keyDER)
	if err != nil {
		return nil, nil, errNoPair
	}
	key, is := parsed.(*ecdsa.PrivateKey)
	if !is || !key.PublicKey.Equal(cert.PublicKey) {
		return nil, nil, errNoPair
	}
	return cert, key, nil
}

// loadBlock reads the first PEM block of a file.
func loadBlock(path, label string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, errNoPair
	}
	if err != nil {
		return nil, err
	}
	b, _ := pem.Decode(data)
	if b == nil || b.Type != label {
		return nil, errNoPair
	}
	return b.Bytes, nil
}

// savePair writes a certificate chain and its key. The key goes first: between
// the two a watcher sees a mismatch and waits.
func savePair(certFile, keyFile string, chain [][]byte, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	if err := save(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600); err != nil {
		return err
	}
	var text []byte
	for _, cert := range chain {
		text = append(text, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert})...)
	}
	return save(certFile, text, 0o644)
}

// save writes a file whole or not at all.
func save(path string, data []byte, mode os.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // fails once it is renamed
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
