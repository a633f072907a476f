package ech

import (
	"errors"
	"fmt"

	"golang.org/x/crypto/cryptobyte"
)

// The ECHConfigList: what is published in DNS and sent as retry_configs
// (RFC 9849, 4).
//
//	list length  version  length  id  kem  public key  suites        max name  public name  extensions
//	+-----------+--------+-------+---+----+--+- - - - +--+----------+---------+-+- - - - - +--+- - -
//	| 2         | 2      | 2     | 1 | 2  |2 |        |2 | kdf aead | 1       |1|          |2 |
//	+-----------+--------+-------+---+----+--+- - - - +--+----------+---------+-+- - - - - +--+- - -
//	            |<--- one ECHConfig, Config.Raw ------------------------------------------------->|

// Version is the only version of ECHConfig that is understood (RFC 9849, 4).
const Version uint16 = 0xfe0d

// configHeaderBytes is version and length of an ECHConfig.
const configHeaderBytes = 4

// mandatoryBit marks a config extension that a client must understand
// (RFC 9849, 4.2).
const mandatoryBit = 0x8000

// Suite is an HpkeSymmetricCipherSuite (RFC 9849, 4): RFC 9180 code points.
type Suite struct {
	KDF, AEAD uint16
}

// ConfigExtension is an ECHConfigExtension (RFC 9849, 4.2). None is known here.
type ConfigExtension struct {
	Type uint16
	Data []byte
}

// Config is one ECHConfig. Of a version that is not understood, only Version and
// Raw are set.
type Config struct {
	Raw     []byte // the whole ECHConfig, version and length included
	Version uint16

	ID                uint8 // config_id
	KEM               uint16
	PublicKey         []byte
	Suites            []Suite
	MaximumNameLength uint8 // bytes, 0 for unknown
	PublicName        string
	Extensions        []ConfigExtension
}

var (
	errListFraming = errors.New("ECHConfigList: a length does not fit (RFC 9849, 4)")
	errListEmpty   = errors.New("ECHConfigList is empty (RFC 9849, 4)")
	errContents    = errors.New("ECHConfig malformed (RFC 9849, 4)")
)

// ParseConfigList parses an ECHConfigList, length included. Configs of unknown
// versions are listed but not looked into (RFC 9849, 4). One malformed config of
// the known version fails the list. The configs borrow list.
func ParseConfigList(list []byte) ([]Config, error) {
	s := cryptobyte.String(list)
	var configs cryptobyte.String
	if !s.ReadUint16LengthPrefixed(&configs) || !s.Empty() {
		return nil, errListFraming
	}
	if configs.Empty() {
		return nil, errListEmpty
	}
	var parsed []Config
	for !configs.Empty() {
		c, err := readConfig(&configs)
		if err != nil {
			return nil, err
		}
		parsed = append(parsed, c)
	}
	return parsed, nil
}

// ParseConfig parses a single ECHConfig. The config borrows raw.
func ParseConfig(raw []byte) (Config, error) {
	s := cryptobyte.String(raw)
	c, err := readConfig(&s)
	if err == nil && !s.Empty() {
		err = errListFraming
	}
	return c, err
}

// readConfig takes one ECHConfig off a list.
func readConfig(s *cryptobyte.String) (Config, error) {
	raw := []byte(*s)
	var c Config
	var contents cryptobyte.String
	if !s.ReadUint16(&c.Version) || !s.ReadUint16LengthPrefixed(&contents) {
		return Config{}, errListFraming
	}
	c.Raw = raw[:len(raw)-len(*s)]
	if c.Version != Version {
		return c, nil
	}
	if err := c.parseContents(contents); err != nil {
		return Config{}, err
	}
	return c, nil
}

// parseContents reads an ECHConfigContents.
func (c *Config) parseContents(s cryptobyte.String) error {
	var key, suites, name, extensions cryptobyte.String
	if !s.ReadUint8(&c.ID) || !s.ReadUint16(&c.KEM) || !s.ReadUint16LengthPrefixed(&key) ||
		!s.ReadUint16LengthPrefixed(&suites) || !s.ReadUint8(&c.MaximumNameLength) ||
		!s.ReadUint8LengthPrefixed(&name) || !s.ReadUint16LengthPrefixed(&extensions) || !s.Empty() {
		return errContents
	}
	if key.Empty() || suites.Empty() || len(suites)%4 != 0 || name.Empty() {
		return errContents
	}
	c.PublicKey = key
	c.PublicName = string(name)
	for !suites.Empty() {
		var suite Suite
		if !suites.ReadUint16(&suite.KDF) || !suites.ReadUint16(&suite.AEAD) {
			return errContents
		}
		c.Suites = append(c.Suites, suite)
	}
	return c.parseExtensions(extensions)
}

func (c *Config) parseExtensions(s cryptobyte.String) error {
	for !s.Empty() {
		var e ConfigExtension
		if !s.ReadUint16(&e.Type) || !s.ReadUint16LengthPrefixed((*cryptobyte.String)(&e.Data)) {
			return errContents
		}
		c.Extensions = append(c.Extensions, e)
	}
	return nil
}

// Usable returns nil when a client that knows what this package knows can
// encrypt to the config, and otherwise why it cannot. A server must not be
// given one that is not usable: nobody would encrypt to it, or the rejection of
// it could not be authenticated.
func (c *Config) Usable() error {
	if c.Version != Version {
		return fmt.Errorf("version 0x%04x is not supported", c.Version)
	}
	if !kemSupported(c.KEM) {
		return fmt.Errorf("KEM 0x%04x is not supported", c.KEM)
	}
	if err := checkPublicKey(c.KEM, c.PublicKey); err != nil {
		return err
	}
	if !c.hasSupportedSuite() {
		return errors.New("none of the cipher suites is supported")
	}
	if err := checkPublicName(c.PublicName); err != nil {
		return err
	}
	return c.checkExtensions()
}

func (c *Config) hasSupportedSuite() bool {
	for _, s := range c.Suites {
		if suiteSupported(s) {
			return true
		}
	}
	return false
}

// Offers reports whether the config lists the suite.
func (c *Config) Offers(s Suite) bool {
	for _, have := range c.Suites {
		if have == s {
			return true
		}
	}
	return false
}

// checkExtensions applies RFC 9849, 4.2: "there MUST NOT be more than one
// extension of the same type in the extensions block", and an unknown mandatory
// one makes the config unusable.
func (c *Config) checkExtensions() error {
	seen := make(map[uint16]bool, len(c.Extensions))
	for _, e := range c.Extensions {
		if seen[e.Type] {
			return fmt.Errorf("config extension 0x%04x is there twice", e.Type)
		}
		seen[e.Type] = true
		if e.Type&mandatoryBit != 0 {
			return fmt.Errorf("mandatory config extension 0x%04x is not supported", e.Type)
		}
	}
	return nil
}

// AppendConfigList appends an ECHConfigList of whole ECHConfigs, in decreasing
// order of preference. Fails when they do not fit a list.
func AppendConfigList(dst []byte, configs ...[]byte) ([]byte, error) {
	b := cryptobyte.NewBuilder(dst)
	b.AddUint16LengthPrefixed(func(b *cryptobyte.Builder) {
		for _, c := range configs {
			b.AddBytes(c)
		}
	})
	return b.Bytes()
}

// marshal sets c.Raw from the other fields. Fails when one is too long.
func (c *Config) marshal() error {
	b := cryptobyte.NewBuilder(nil)
	b.AddUint16(c.Version)
	b.AddUint16LengthPrefixed(func(b *cryptobyte.Builder) {
		b.AddUint8(c.ID)
		b.AddUint16(c.KEM)
		b.AddUint16LengthPrefixed(func(b *cryptobyte.Builder) { b.AddBytes(c.PublicKey) })
		b.AddUint16LengthPrefixed(func(b *cryptobyte.Builder) {
			for _, s := range c.Suites {
				b.AddUint16(s.KDF)
				b.AddUint16(s.AEAD)
			}
		})
		b.AddUint8(c.MaximumNameLength)
		b.AddUint8LengthPrefixed(func(b *cryptobyte.Builder) { b.AddBytes([]byte(c.PublicName)) })
		b.AddUint16LengthPrefixed(func(b *cryptobyte.Builder) {
			for _, e := range c.Extensions {
				b.AddUint16(e.Type)
				b.AddUint16LengthPrefixed(func(b *cryptobyte.Builder) { b.AddBytes(e.Data) })
			}
		})
	})
	raw, err := b.Bytes()
	c.Raw = raw
	return err
}
