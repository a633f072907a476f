package dnspub

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/miekg/dns"
)

// aliasesMax bounds a chain of aliases (RFC 9460, 3: "MUST NOT follow" loops).
const aliasesMax = 8

// Answer is what a server says about an owner.
type Answer struct {
	Server        string       // that was asked
	Name          string       // at which the records were found, with its final dot
	Aliases       []string     // names that lead there, the owner's first
	Records       []*dns.HTTPS // in the order in which clients try them; none when there are none
	Authoritative bool         // the time to live is the zone's own, not what is left of it in a cache
}

// Lookup asks for an owner's HTTPS records and follows aliases, CNAME as well as
// AliasMode, as a client does (RFC 9460, 3).
func (s *Server) Lookup(ctx context.Context, o Owner) (*Answer, error) {
	a := &Answer{Server: s.Address, Name: o.Name()}
	for {
		r, err := s.query(ctx, a.Name, dns.TypeHTTPS, true)
		if err != nil {
			return nil, err
		}
		a.Authoritative = r.Authoritative
		more, err := a.take(r)
		if err != nil {
			return nil, s.failed(err)
		}
		if !more {
			return a, nil
		}
	}
}

// take reads an answer. It reports whether the name that it leads to is still to
// be asked for.
func (a *Answer) take(r *dns.Msg) (more bool, err error) {
	asked := a.Name
	for target := cnameAt(r, a.Name); target != ""; target = cnameAt(r, a.Name) {
		if err := a.follow(target); err != nil {
			return false, err
		}
	}
	a.Records = recordsAt(r, a.Name)
	if len(a.Records) == 0 {
		// An authoritative server knows an alias, but perhaps not where it leads.
		return a.Name != asked, nil
	}
	// RFC 9460, 2.4.1: beside an alias, others do not count. "." says that there
	// is no service.
	if first := a.Records[0]; first.Priority == 0 {
		a.Records = nil
		if first.Target == "." {
			return false, nil
		}
		return true, a.follow(first.Target)
	}
	return false, nil
}

func cnameAt(r *dns.Msg, name string) string {
	for _, rr := range r.Answer {
		if c, ok := rr.(*dns.CNAME); ok && strings.EqualFold(c.Hdr.Name, name) {
			return c.Target
		}
	}
	return ""
}

// recordsAt returns the records at a name, in the order in which clients try
// them.
func recordsAt(r *dns.Msg, name string) []*dns.HTTPS {
	var found []*dns.HTTPS
	for _, rr := range r.Answer {
		if h, ok := rr.(*dns.HTTPS); ok && strings.EqualFold(h.Hdr.Name, name) {
			found = append(found, h)
		}
	}
	slices.SortStableFunc(found, func(x, y *dns.HTTPS) int { return int(x.Priority) - int(y.Priority) })
	return found
}

// follow moves on to the target of an alias.
func (a *Answer) follow(target string) error {
	a.Aliases = append(a.Aliases, a.Name)
	a.Name = dns.CanonicalName(target)
	if len(a.Aliases) > aliasesMax || slices.Contains(a.Aliases, a.Name) {
		return fmt.Errorf("the aliases of %s lead nowhere", a.Aliases[0])
	}
	return nil
}

// Usable reports whether a client that knows the parameters of RFC 9460, RFC 9848
// and RFC 9461 takes the record: it must throw away one that lists others as
// mandatory (RFC 9460, 8).
func Usable(rr *dns.HTTPS) bool {
	m, ok := get(rr.Value, dns.SVCB_MANDATORY).(*dns.SVCBMandatory)
	if !ok {
		return true
	}
	return !slices.ContainsFunc(m.Code, func(key dns.SVCBKey) bool { return key > dns.SVCB_OHTTP || get(rr.Value, key) == nil })
}
