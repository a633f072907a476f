package echcheck

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"

	"edge/ech"
	"edge/edge/dnspub"
)

// Report is what a check found.
type Report struct {
	Name        string       `json:"name"`
	DNS         []DNS        `json:"dns"`         // one for each server that was asked
	Keys        []Key        `json:"keys"`        // that we hold
	Connections []Connection `json:"connections"` // that were made
	Findings    []Finding    `json:"findings"`
}

// DNS is what one server says.
type DNS struct {
	Server        string   `json:"server"`
	Error         string   `json:"error,omitempty"`
	At            string   `json:"at,omitempty"` // where the records are, after Aliases
	Aliases       []string `json:"aliases,omitempty"`
	Authoritative bool     `json:"authoritative"` // if not, the TTL is what is left of it
	Records       []Record `json:"records"`       // in the order in which clients try them
}

// Record is an HTTPS record.
type Record struct {
	dnspub.JSON
	Usable  bool     `json:"usable"`              // no unknown parameter is mandatory
	Error   string   `json:"ech_error,omitempty"` // of the ech parameter
	Configs []Config `json:"configs"`

	list []byte
}

// Config is an ECHConfig that is published or given out.
type Config struct {
	ID         uint8  `json:"config_id"`
	PublicName string `json:"public_name"`
	KEM        string `json:"kem"`
	Unusable   string `json:"unusable,omitempty"` // why clients pass it over
	Role       string `json:"role"`               // of our key: current, decrypt-only, or unknown
	File       string `json:"file,omitempty"`     // of our key
	Chosen     bool   `json:"chosen"`             // what a client encrypts to
	Opens      bool   `json:"opens"`              // a client's hello, encrypted to it, was opened with our keys

	raw []byte
}

// Key is a key that we hold.
type Key struct {
	ID          uint8      `json:"config_id"`
	PublicName  string     `json:"public_name"`
	KEM         string     `json:"kem"`
	Role        string     `json:"role"`
	NotBefore   *time.Time `json:"not_before,omitempty"`
	RemoveAfter *time.Time `json:"remove_after,omitempty"`
	File        string     `json:"file"`
	GivenOut    bool       `json:"given_out"` // in retry_configs, and to be published
}

// NewKey returns a key as reports show it.
func NewKey(k *ech.Key, givenOut bool) Key {
	return Key{
		ID: k.Config.ID, PublicName: k.Config.PublicName, KEM: KEMName(k.Config.KEM), Role: k.Role.String(),
		NotBefore: optional(k.NotBefore), RemoveAfter: optional(k.RemoveAfter), File: k.File,
		GivenOut: givenOut,
	}
}

// Connection is a handshake that was made.
type Connection struct {
	Address     string   `json:"address"`
	With        string   `json:"with"`              // whose configs the client had
	Accepted    bool     `json:"accepted"`          // the server opened the inner hello
	Rejected    bool     `json:"rejected"`          // the server answered the outer hello
	Retry       []Config `json:"retry_configs"`     // that it gave when it rejected
	Error       string   `json:"error,omitempty"`   // what ended the handshake instead
	Name        string   `json:"certificate_for"`   // the name that the certificate must be for
	Certificate string   `json:"certificate_error"` // empty when it is valid

	retry []byte
}

// Level says what a finding means.
type Level string

// Levels.
const (
	Fail Level = "fail" // clients get no ECH, or will not when caches or keys run out
	Warn Level = "warn" // works, and should be mended
	Note Level = "note"
)

// Finding is something to know.
type Finding struct {
	Level Level  `json:"level"`
	Text  string `json:"text"` // with what to do about it
}

// Failed reports whether there is a finding of level Fail.
func (r *Report) Failed() bool {
	for _, f := range r.Findings {
		if f.Level == Fail {
			return true
		}
	}
	return false
}

func (r *Report) add(level Level, format string, a ...any) {
	text := fmt.Sprintf(format, a...)
	for _, f := range r.Findings {
		if f.Text == text {
			return // of another server
		}
	}
	r.Findings = append(r.Findings, Finding{level, text})
}

// kemNames are the KEMs that we use, as flags spell them.
var kemNames = map[uint16]string{ech.KEMX25519: "x25519", ech.KEMP256: "p256"}

// KEMName returns the name of a KEM, its code point when it has none.
func KEMName(kem uint16) string {
	if name := kemNames[kem]; name != "" {
		return name
	}
	return fmt.Sprintf("0x%04x", kem)
}

// optional returns nil for the zero time.
func optional(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// readList takes an ECHConfigList apart and finds our key to each config.
func readList(list []byte, set *ech.Set) ([]Config, error) {
	parsed, err := ech.ParseConfigList(list)
	if err != nil {
		return nil, err
	}
	var configs []Config
	for i := range parsed {
		p := &parsed[i]
		c := Config{ID: p.ID, PublicName: printable(p.PublicName), KEM: KEMName(p.KEM), Role: "unknown", raw: p.Raw}
		if err := p.Usable(); err != nil {
			c.Unusable = err.Error()
		}
		if k := keyOf(set, p.Raw); k != nil {
			c.Role, c.File = k.Role.String(), k.File
		}
		configs = append(configs, c)
	}
	return configs, nil
}

// printable shows text from elsewhere so that it cannot do anything to a terminal.
func printable(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) {
		return strconv.QuoteToASCII(s)
	}
	return s
}

// keyOf returns our key to a config, nil when we do not hold it. Of several files
// with it, one that is current counts.
func keyOf(set *ech.Set, raw []byte) *ech.Key {
	var found *ech.Key
	for _, k := range set.Keys() {
		if bytes.Equal(k.Config.Raw, raw) && (found == nil || found.Role != ech.Current) {
			found = k
		}
	}
	return found
}
