package ech

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/cloudflare/circl/kem"
)

// The keys a server holds, and which of their configs it tells clients about.

// KeysMax is the largest number of keys in a Set: config_id has as many values,
// and more than one key to a value costs a trial decryption each.
const KeysMax = 256

// Role says what a key is for besides decrypting.
type Role uint8

// Roles.
const (
	Current     Role = iota // its config is published, and sent as retry_configs
	DecryptOnly             // its config may still be in caches, but is not given out
)

// String returns the role as key files spell it.
func (r Role) String() string { return [...]string{"current", "decrypt-only"}[r] }

// Key is an ECHConfig with its private key, immutable once it is in a Set.
// Formatted in any way it shows the config's id and name, never the key.
type Key struct {
	Config Config
	Role   Role

	// NotBefore is when a current key's config is first given out; until then it
	// only decrypts. Zero for always.
	NotBefore time.Time

	// RemoveAfter is when the key is no longer needed, because no cache can hold
	// its config any more; zero for unknown. It decrypts as long as it is there.
	RemoveAfter time.Time

	File string // name of the file it was read from, or empty

	private kem.PrivateKey // never as bytes, which formatting would print
	info    []byte         // "tls ech", zero, ECHConfig (RFC 9849, 7.1)
}

// infoPrefix begins the info of the HPKE context (RFC 9849, 7.1).
const infoPrefix = "tls ech\x00"

var errKeyMismatch = errors.New("private key does not belong to the ECHConfig")

// NewKey makes a current key of a whole ECHConfig and the private key that
// belongs to it, as HPKE serializes it (RFC 9180, 7.1.2). Fails when the config
// cannot be used or the key is not the config's.
func NewKey(config, private []byte) (*Key, error) {
	c, err := ParseConfig(config)
	if err != nil {
		return nil, err
	}
	if err := c.Usable(); err != nil {
		return nil, err
	}
	return newKey(c, private)
}

// newKey joins a usable config and a private key.
func newKey(c Config, raw []byte) (*Key, error) {
	private, public, err := newPrivateKey(c.KEM, raw)
	if err != nil {
		return nil, err
	}
	if string(public) != string(c.PublicKey) {
		return nil, errKeyMismatch
	}
	info := append([]byte(infoPrefix), c.Raw...)
	return &Key{Config: c, private: private, info: info}, nil
}

// Format writes what String does, whatever the verb: circl's private keys print
// themselves.
func (k *Key) Format(w fmt.State, _ rune) { io.WriteString(w, k.String()) }

// String returns the config's id and public name and the key's role.
func (k *Key) String() string {
	return fmt.Sprintf("ECH key %d for %s (%s)", k.Config.ID, k.Config.PublicName, k.Role)
}

// Set is the keys of a server. It is immutable and may be shared; a nil Set is
// one without keys.
type Set struct {
	keys  []*Key
	byID  [256][]*Key
	names map[string]struct{} // public names, lower case
	retry []retryList         // ascending in from
}

// retryList is the retry_configs from some time on.
type retryList struct {
	from time.Time
	list []byte // ECHConfigList, length included
}

var (
	errTooManyKeys = fmt.Errorf("more than %d keys", KeysMax)
	errRetryLong   = errors.New("the current configs do not fit an ECHConfigList")
)

// NewSet makes a set. keys are in decreasing order of preference, which is the
// order of the retry_configs. Several keys may have one config_id: each is tried.
func NewSet(keys []*Key) (*Set, error) {
	if len(keys) > KeysMax {
		return nil, errTooManyKeys
	}
	s := &Set{keys: keys, names: make(map[string]struct{})}
	for _, k := range keys {
		s.byID[k.Config.ID] = append(s.byID[k.Config.ID], k)
		s.names[strings.ToLower(k.Config.PublicName)] = struct{}{}
	}
	return s, s.buildRetryLists()
}

// Format keeps private keys out of formatted output, as Key's does.
func (s *Set) Format(w fmt.State, _ rune) { fmt.Fprintf(w, "%d ECH keys", len(s.Keys())) }

// Keys returns the keys, to be read only.
func (s *Set) Keys() []*Key {
	if s == nil {
		return nil
	}
	return s.keys
}

// candidates returns the keys whose config has the id.
func (s *Set) candidates(id uint8) []*Key {
	if s == nil {
		return nil
	}
	return s.byID[id]
}

// IsPublicName reports whether name, in lower case without a trailing dot, is
// the public name of one of the keys. A rejected hello for such a name was meant
// for a key of ours, most likely a stale one; with another name it is GREASE
// (RFC 9849, 6.1 and 6.2).
func (s *Set) IsPublicName(name []byte) bool {
	if s == nil {
		return false
	}
	_, ok := s.names[string(name)]
	return ok
}

// RetryConfigs returns the ECHConfigList for EncryptedExtensions when ECH was
// rejected: the current keys in effect at now (RFC 9849, 7.1: "up-to-date
// keys"). If all current keys lie in the future it is the first of them, since
// it decrypts already. It is nil when there is no current key, which tells
// clients that ECH was switched off.
func (s *Set) RetryConfigs(now time.Time) []byte {
	if s == nil || len(s.retry) == 0 {
		return nil
	}
	list := s.retry[0].list
	for _, r := range s.retry[1:] {
		if r.from.After(now) {
			break
		}
		list = r.list
	}
	return list
}
