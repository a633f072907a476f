package dnspub

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/miekg/dns"
)

// TTLMax is the longest time to live of a record, in seconds (RFC 2181, 8).
const TTLMax = 1<<31 - 1

// Service is what a record in ServiceMode says besides ech.
type Service struct {
	Priority uint16 // 1 and up, the lowest first
	Target   string // the name to connect to, "." for the host itself
	Params   []dns.SVCBKeyValue
}

// ParseParam reads a parameter in presentation form (RFC 9460, 2.1), its value
// as it stands between quotes in a zone file.
func ParseParam(key, value string) (dns.SVCBKeyValue, error) {
	if key == "" || strings.Trim(key, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
		return nil, fmt.Errorf("%q is no name of a parameter", key)
	}
	if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == '"' || r == 0x7f }) || strings.HasSuffix(value, `\`) {
		return nil, fmt.Errorf("%s: a value has no quotes and no control characters", key)
	}
	rr, err := dns.NewRR(fmt.Sprintf(`. HTTPS 1 . %s="%s"`, key, value))
	if err != nil {
		return nil, fmt.Errorf("%s=%q: not as RFC 9460 wants it", key, value)
	}
	kv := rr.(*dns.HTTPS).Value[0]
	if err := checkValue(kv); err != nil {
		return nil, fmt.Errorf("%s=%q: %w", key, value, err)
	}
	return kv, nil
}

// NewRecord makes the record that publishes an ECHConfigList. The owner of the
// zero Owner is the root, which WriteZone shows as "@".
func NewRecord(o Owner, ttl uint32, s Service, list []byte) (*dns.HTTPS, error) {
	rr := &dns.HTTPS{}
	rr.Hdr = dns.RR_Header{Name: o.Name(), Rrtype: dns.TypeHTTPS, Class: dns.ClassINET, Ttl: ttl}
	if o.Host == "" {
		rr.Hdr.Name = "."
	}
	rr.Priority, rr.Target = s.Priority, s.Target
	if s.Target == "." {
		rr.Target = o.Self()
	}
	for _, kv := range s.Params {
		rr.Value = set(rr.Value, kv)
	}
	rr.Value = set(rr.Value, &dns.SVCBECHConfig{ECH: list})
	return rr, Check(rr)
}

// set puts a parameter into its place among others, instead of the one of its
// key: the order is that of the wire (RFC 9460, 2.2).
func set(params []dns.SVCBKeyValue, kv dns.SVCBKeyValue) []dns.SVCBKeyValue {
	out := unset(params, kv.Key())
	at, _ := slices.BinarySearchFunc(out, kv, func(a, b dns.SVCBKeyValue) int { return int(a.Key()) - int(b.Key()) })
	return slices.Insert(out, at, kv)
}

// unset returns the parameters in order, without the one of a key.
func unset(params []dns.SVCBKeyValue, key dns.SVCBKey) []dns.SVCBKeyValue {
	var out []dns.SVCBKeyValue
	for _, kv := range params {
		if kv.Key() != key {
			out = append(out, kv)
		}
	}
	slices.SortStableFunc(out, func(a, b dns.SVCBKeyValue) int { return int(a.Key()) - int(b.Key()) })
	return out
}

// get returns the parameter of a key, nil when there is none.
func get(params []dns.SVCBKeyValue, key dns.SVCBKey) dns.SVCBKeyValue {
	for _, kv := range params {
		if kv.Key() == key {
			return kv
		}
	}
	return nil
}

// ECH returns the ECHConfigList of a record, nil when it has none.
func ECH(rr *dns.HTTPS) []byte {
	if kv, ok := get(rr.Value, dns.SVCB_ECHCONFIG).(*dns.SVCBECHConfig); ok {
		return kv.ECH
	}
	return nil
}

var (
	errAliasMode     = errors.New("priority 0 makes it an alias, which has no parameters (RFC 9460, 2.4.2): give 1 or more")
	errTTL           = fmt.Errorf("the TTL is over %d seconds (RFC 2181, 8)", TTLMax)
	errNeedsALPN     = errors.New("no-default-alpn needs alpn (RFC 9460, 7.1.1)")
	errNoDefaultALPN = errors.New("alpn is empty: name a protocol, or leave it out")
	errNoHint        = errors.New("the list is empty: give an address, or leave it out")
	errMandatory     = errors.New("mandatory lists nothing: name a parameter, or leave it out")
)

// Check reports what would make clients throw the record away.
func Check(rr *dns.HTTPS) error {
	switch {
	case rr.Priority == 0:
		return errAliasMode
	case rr.Hdr.Ttl > TTLMax:
		return errTTL
	case get(rr.Value, dns.SVCB_NO_DEFAULT_ALPN) != nil && get(rr.Value, dns.SVCB_ALPN) == nil:
		return errNeedsALPN
	}
	for _, kv := range rr.Value {
		if err := checkValue(kv); err != nil {
			return err
		}
	}
	if m, ok := get(rr.Value, dns.SVCB_MANDATORY).(*dns.SVCBMandatory); ok {
		if err := checkMandatory(m, rr.Value); err != nil {
			return err
		}
	}
	if _, err := dns.PackRR(rr, make([]byte, dns.MaxMsgSize), 0, nil, false); err != nil {
		return fmt.Errorf("the record cannot be encoded: %w", err)
	}
	return nil
}

// checkValue looks at one parameter alone.
func checkValue(kv dns.SVCBKeyValue) error {
	switch kv := kv.(type) {
	case *dns.SVCBAlpn:
		if len(kv.Alpn) == 0 {
			return errNoDefaultALPN
		}
	case *dns.SVCBIPv4Hint:
		if len(kv.Hint) == 0 {
			return errNoHint
		}
	case *dns.SVCBIPv6Hint:
		if len(kv.Hint) == 0 {
			return errNoHint
		}
	case *dns.SVCBMandatory:
		if len(kv.Code) == 0 {
			return errMandatory
		}
	}
	return nil
}

// checkMandatory applies RFC 9460, 8: what is listed is there, once, and is not
// mandatory without being listed.
func checkMandatory(m *dns.SVCBMandatory, params []dns.SVCBKeyValue) error {
	for i, key := range m.Code {
		switch {
		case key == dns.SVCB_MANDATORY, key == dns.SVCB_PORT, key == dns.SVCB_NO_DEFAULT_ALPN:
			return fmt.Errorf("mandatory lists %s, which is mandatory anyway (RFC 9460, 8): leave it out", key)
		case slices.Contains(m.Code[:i], key):
			return fmt.Errorf("mandatory lists %s twice", key)
		case get(params, key) == nil:
			return fmt.Errorf("mandatory lists %q, which the record does not have", key)
		}
	}
	return nil
}
