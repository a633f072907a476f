package ech

import (
	"bytes"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Key files (RFC 9934): PEM blocks PRIVATE KEY, in PKCS #8, and ECHCONFIG, an
// ECHConfigList. Several of either may be in one file, in any order, as long as
// each key finds a config that it belongs to and each config its key; configs
// of unknown versions are skipped.
//
// What a key is for stands in lines outside the blocks, where RFC 7468, 2 lets
// explanatory text be, so that other programs read the same file:
//
//	ECH-Role: decrypt-only
//	ECH-Not-Before: 2026-12-01T00:00:00Z
//	ECH-Remove-After: 2027-01-01T00:00:00Z
//	-----BEGIN PRIVATE KEY-----
//	…
//
// They hold for the whole file. The role may be given by the file's name too:
// what ends in ".decrypt-only.pem" is decrypt-only whatever its text says, so
// that retiring a key is one rename.

// PEM block types (RFC 9934, 3).
const (
	blockPrivateKey = "PRIVATE KEY"
	blockConfig     = "ECHCONFIG"
)

// Lines outside the blocks.
const (
	linePrefix      = "ECH-"
	lineRole        = "ECH-Role"
	lineNotBefore   = "ECH-Not-Before"
	lineRemoveAfter = "ECH-Remove-After"
)

// KeyFileBytesMax is the size of the largest key file that is read.
const KeyFileBytesMax = 64 << 10

var (
	errFileLong     = fmt.Errorf("larger than %d bytes", KeyFileBytesMax)
	errFileEmpty    = errors.New("holds no PRIVATE KEY and ECHCONFIG")
	errNoPrivateKey = errors.New("holds no PRIVATE KEY")
	errNoConfig     = errors.New("holds no ECHCONFIG of a supported version")
	errBlockBroken  = errors.New("a PEM block is malformed (RFC 7468, 3)")
	errBlockHeaders = errors.New("a PEM block has headers, or is encrypted (RFC 7468, 3)")
	errPKCS8        = errors.New("PRIVATE KEY is not PKCS #8 of an X25519 or P-256 key")
	errKeyUnused    = errors.New("PRIVATE KEY belongs to no ECHCONFIG of the file")
	errConfigNoKey  = errors.New("ECHCONFIG has no PRIVATE KEY in the file that belongs to it")
	errLineTwice    = errors.New("a line beginning with " + linePrefix + " is there twice")
)

// keyFile is what a key file holds, before its halves are joined.
type keyFile struct {
	keys    []*ecdh.PrivateKey
	configs []Config
	blocks  int // of either kind

	role                   Role
	notBefore, removeAfter time.Time
}

// ParseKeyFile parses the contents of a key file. The errors say what is wrong
// but never quote the file.
func ParseKeyFile(data []byte) ([]*Key, error) {
	if len(data) > KeyFileBytesMax {
		return nil, errFileLong
	}
	var f keyFile
	if err := f.readLines(data); err != nil {
		return nil, err
	}
	if err := f.readBlocks(data); err != nil {
		return nil, err
	}
	return f.join()
}

// readLines reads the lines outside the blocks.
func (f *keyFile) readLines(data []byte) error {
	seen := make(map[string]bool)
	inBlock := false
	for line := range bytes.Lines(data) {
		line = bytes.TrimSpace(line)
		switch {
		case bytes.HasPrefix(line, []byte("-----BEGIN ")):
			inBlock = true
			f.blocks++
		case bytes.HasPrefix(line, []byte("-----END ")):
			inBlock = false
		case !inBlock && bytes.HasPrefix(line, []byte(linePrefix)):
			name, value, _ := strings.Cut(string(line), ":")
			if seen[name] {
				return errLineTwice
			}
			seen[name] = true
			if err := f.setLine(name, strings.TrimSpace(value)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *keyFile) setLine(name, value string) (err error) {
	switch name {
	case lineRole:
		switch value {
		case Current.String():
			f.role = Current
		case DecryptOnly.String():
			f.role = DecryptOnly
		default:
			return fmt.Errorf("%s is neither %s nor %s", lineRole, Current, DecryptOnly)
		}
	case lineNotBefore:
		f.notBefore, err = time.Parse(time.RFC3339, value)
	case lineRemoveAfter:
		f.removeAfter, err = time.Parse(time.RFC3339, value)
	default:
		return errors.New("a line begins with " + linePrefix + " but is none that is known")
	}
	if err != nil {
		return fmt.Errorf("%s is not a time like 2026-12-31T23:59:59Z", name)
	}
	return nil
}

// readBlocks decodes the PEM blocks.
func (f *keyFile) readBlocks(data []byte) error {
	decoded := 0
	for {
		var block *pem.Block
		if block, data = pem.Decode(data); block == nil {
			break
		}
		decoded++
		if err := f.readBlock(block); err != nil {
			return err
		}
	}
	if decoded != f.blocks {
		return errBlockBroken // pem.Decode passes over what it cannot decode
	}
	return nil
}

func (f *keyFile) readBlock(block *pem.Block) error {
	if len(block.Headers) > 0 {
		return errBlockHeaders
	}
	switch block.Type {
	case blockPrivateKey:
		key, err := parsePKCS8(block.Bytes)
		if err != nil {
			return err
		}
		f.keys = append(f.keys, key)
	case blockConfig:
		configs, err := ParseConfigList(block.Bytes)
		if err != nil {
			return err
		}
		f.configs = append(f.configs, configs...)
	default:
		return errors.New("holds a PEM block that is neither " + blockPrivateKey + " nor " + blockConfig)
	}
	return nil
}

// parsePKCS8 reads a private key of a supported KEM.
func parsePKCS8(der []byte) (*ecdh.PrivateKey, error) {
	parsed, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, errPKCS8
	}
	if ec, ok := parsed.(*ecdsa.PrivateKey); ok {
		if parsed, err = ec.ECDH(); err != nil {
			return nil, errPKCS8
		}
	}
	key, ok := parsed.(*ecdh.PrivateKey)
	if !ok || key.Curve() != ecdh.X25519() && key.Curve() != ecdh.P256() {
		return nil, errPKCS8
	}
	return key, nil
}

// join finds the private key of each config.
func (f *keyFile) join() ([]*Key, error) {
	switch {
	case f.blocks == 0:
		return nil, errFileEmpty
	case len(f.keys) == 0:
		return nil, errNoPrivateKey
	}
	used := make([]bool, len(f.keys))
	var joined []*Key
	for i := range f.configs {
		if f.configs[i].Version != Version {
			continue // RFC 9849, 4: to be ignored
		}
		key, n, err := f.joinOne(&f.configs[i])
		if err != nil {
			return nil, err
		}
		used[n] = true
		joined = append(joined, key)
	}
	switch {
	case len(joined) == 0:
		return nil, errNoConfig
	case slices.Contains(used, false):
		return nil, errKeyUnused
	}
	return joined, nil
}

// joinOne makes the key of one config, and returns the index of its private half.
func (f *keyFile) joinOne(c *Config) (*Key, int, error) {
	if err := c.Usable(); err != nil {
		return nil, 0, fmt.Errorf("ECHCONFIG: %w", err)
	}
	n := f.keyOf(c)
	if n < 0 {
		return nil, 0, errConfigNoKey
	}
	key, err := newKey(*c, f.keys[n].Bytes())
	if err != nil {
		return nil, 0, err
	}
	key.Role, key.NotBefore, key.RemoveAfter = f.role, f.notBefore, f.removeAfter
	return key, n, nil
}

// keyOf returns the index of the private key of a config, -1 when the file does
// not hold it.
func (f *keyFile) keyOf(c *Config) int {
	for i, key := range f.keys {
		if key.Curve() == curve(c.KEM) && bytes.Equal(key.PublicKey().Bytes(), c.PublicKey) {
			return i
		}
	}
	return -1
}

// MarshalKeyFile returns the text of a key file that holds k. Write it with
// mode 0600. k.File is not in it.
func (k *Key) MarshalKeyFile() ([]byte, error) {
	raw, err := k.private.MarshalBinary()
	if err != nil {
		return nil, errPrivateKey
	}
	private, err := curve(k.Config.KEM).NewPrivateKey(raw)
	if err != nil {
		return nil, errPrivateKey
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, errPrivateKey
	}
	list, err := AppendConfigList(nil, k.Config.Raw)
	if err != nil {
		return nil, err
	}
	var text []byte
	if k.Role != Current {
		text = fmt.Appendf(text, "%s: %s\n", lineRole, k.Role)
	}
	text = appendTimeLine(text, lineNotBefore, k.NotBefore)
	text = appendTimeLine(text, lineRemoveAfter, k.RemoveAfter)
	text = append(text, pem.EncodeToMemory(&pem.Block{Type: blockPrivateKey, Bytes: der})...)
	return append(text, pem.EncodeToMemory(&pem.Block{Type: blockConfig, Bytes: list})...), nil
}

func appendTimeLine(dst []byte, name string, t time.Time) []byte {
	if t.IsZero() {
		return dst
	}
	return fmt.Appendf(dst, "%s: %s\n", name, t.UTC().Format(time.RFC3339))
}
