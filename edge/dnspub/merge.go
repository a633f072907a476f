package dnspub

import (
	"errors"
	"fmt"
	"strings"

	"github.com/miekg/dns"
)

// merge returns the records that an owner is to have, made of those it has.
func (p *Publication) merge(have []*dns.HTTPS) ([]*dns.HTTPS, error) {
	if len(have) == 0 {
		if p.List == nil {
			return nil, nil
		}
		rr, err := NewRecord(p.Owner, p.NewTTL, p.New, p.List)
		if err != nil {
			return nil, err
		}
		return []*dns.HTTPS{rr}, nil
	}
	ours, err := p.ours(have)
	if err != nil {
		return nil, err
	}
	want := make([]*dns.HTTPS, 0, len(have))
	for i, rr := range have {
		rr = dns.Copy(rr).(*dns.HTTPS)
		if p.TTL != nil {
			rr.Hdr.Ttl = *p.TTL // of all: the set has one
		}
		if ours[i] {
			if err := p.change(rr); err != nil {
				return nil, err
			}
		}
		want = append(want, rr)
	}
	return want, nil
}

// ours picks the records whose server is one that holds our keys. Others may lead
// to another operator's servers, with other keys or none.
func (p *Publication) ours(have []*dns.HTTPS) ([]bool, error) {
	if len(have) == 1 && have[0].Priority == 0 {
		return nil, fmt.Errorf("the record is an alias of %s (AliasMode): publish for that name", have[0].Target)
	}
	if len(have) == 1 && p.Target == "" {
		return []bool{true}, nil
	}
	ours, found := make([]bool, len(have)), false
	for i, rr := range have {
		ours[i] = rr.Priority != 0 && p.isTarget(rr)
		found = found || ours[i]
	}
	if !found && p.Target == "" {
		return nil, errors.New("there are several records and none for the name itself: choose by --target")
	}
	if !found {
		return nil, fmt.Errorf("there is no record with the target %s", p.Target)
	}
	return ours, nil
}

// isTarget says whether a record leads to the target that was asked for, which is
// the host itself if none was.
func (p *Publication) isTarget(rr *dns.HTTPS) bool {
	if p.Target != "" && p.Target != "." {
		return sameTarget(rr, p.Target)
	}
	return rr.Target == "." || sameTarget(rr, p.Owner.Self())
}

// sameTarget compares targets; "." is the name at which the record lies (RFC 9460,
// 2.5.2).
func sameTarget(rr *dns.HTTPS, target string) bool {
	whole := func(t string) string {
		if t == "." {
			return dns.CanonicalName(rr.Hdr.Name)
		}
		return dns.CanonicalName(t)
	}
	return strings.EqualFold(whole(rr.Target), whole(target))
}

// change makes one record say what is to be published.
func (p *Publication) change(rr *dns.HTTPS) error {
	if p.List == nil {
		rr.Value = unset(rr.Value, dns.SVCB_ECHCONFIG)
		unsetMandatory(rr)
	} else {
		rr.Value = set(rr.Value, &dns.SVCBECHConfig{ECH: p.List})
	}
	for _, key := range p.Unset {
		rr.Value = unset(rr.Value, key)
	}
	for _, kv := range p.Set {
		rr.Value = set(rr.Value, kv)
	}
	return Check(rr)
}

// unsetMandatory takes ech off the list of mandatory parameters.
func unsetMandatory(rr *dns.HTTPS) {
	m, ok := get(rr.Value, dns.SVCB_MANDATORY).(*dns.SVCBMandatory)
	if !ok {
		return
	}
	var left []dns.SVCBKey
	for _, key := range m.Code {
		if key != dns.SVCB_ECHCONFIG {
			left = append(left, key)
		}
	}
	rr.Value = unset(rr.Value, dns.SVCB_MANDATORY)
	if len(left) > 0 {
		rr.Value = set(rr.Value, &dns.SVCBMandatory{Code: left})
	}
}
