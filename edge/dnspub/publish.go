package dnspub

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/miekg/dns"
)

// Putting a list into a zone.

// attemptsMax is how often a record that others change at the same time is read
// and merged again.
const attemptsMax = 3

// Publication is what is to be in DNS for one owner.
type Publication struct {
	Owner Owner
	List  []byte // ECHConfigList; nil takes the ech parameter away

	// New is the rest of the record when there is none yet, and NewTTL its time to
	// live.
	New    Service
	NewTTL uint32

	// What a record that is there changes besides ech. Everything else it keeps.
	Set    []dns.SVCBKeyValue
	Unset  []dns.SVCBKey
	Target string  // picks the record by its target where there are several; empty: the owner's own
	TTL    *uint32 // nil: as it is
}

// Outcome is what became of a publication.
type Outcome string

// Outcomes.
const (
	Created   Outcome = "created"   // there was no record
	Updated   Outcome = "updated"   // the record that was there changed
	Unchanged Outcome = "unchanged" // it was right already
	Failed    Outcome = "failed"
)

// Result is the outcome for one owner.
type Result struct {
	Name    string // of the record, with its final dot
	Zone    string // with its final dot; empty when it was not found
	Outcome Outcome
	Records []*dns.HTTPS // as they are in DNS now, or would be in a dry run
	Err     error        // of Failed
}

var (
	errChanged = errors.New("the record was changed by others three times while we changed it: try again")
	errIgnored = errors.New("the server took the update, but gives the record as it was before: does it answer from another copy of the zone?")
)

// Publish brings one owner's records up to date and looks whether they are. With
// dryRun it sends no update.
func (s *Server) Publish(ctx context.Context, p Publication, dryRun bool) Result {
	res := Result{Name: p.Owner.Name(), Outcome: Failed}
	res.Err = s.publish(ctx, p, dryRun, &res)
	if res.Err != nil {
		res.Outcome = Failed
	}
	return res
}

func (s *Server) publish(ctx context.Context, p Publication, dryRun bool, res *Result) error {
	var before []*dns.HTTPS
	for range attemptsMax {
		have, err := s.records(ctx, res.Name)
		if err != nil {
			return err
		}
		if before != nil && sameRecords(have, before) {
			return wildcardError(res.Name)
		}
		before = have
		want, err := p.merge(have)
		if err != nil {
			return err
		}
		res.Outcome, res.Records = outcome(have, want), want
		if res.Outcome == Unchanged {
			return nil
		}
		if res.Zone, err = s.zone(ctx, res.Name); err != nil || dryRun {
			return err
		}
		if err = s.update(ctx, res.Zone, have, want); err == nil {
			return s.verify(ctx, res.Name, want)
		}
		if !errors.Is(err, errChanged) {
			return err
		}
	}
	return errChanged
}

// wildcardError is for records that the server gives and then says are not there:
// it makes them from a wildcard. A record of the name's own would hide all of the
// wildcard's from it, addresses as well (RFC 4592, 2.2).
func wildcardError(name string) error {
	_, parent, _ := strings.Cut(name, ".")
	return fmt.Errorf("the record comes from a wildcard: publish for that, perhaps *.%s", strings.TrimSuffix(parent, "."))
}

// records returns the HTTPS records of a name as the server has them, all with
// the same time to live.
func (s *Server) records(ctx context.Context, name string) ([]*dns.HTTPS, error) {
	r, err := s.query(ctx, name, dns.TypeHTTPS, false)
	if err != nil {
		return nil, err
	}
	if target := cnameAt(r, name); target != "" {
		return nil, fmt.Errorf("the name is an alias (CNAME) of %s: publish for that name, or give this one records of its own", target)
	}
	return recordsAt(r, name), nil
}

// zone finds the zone that a name is in: the answer to a question for its SOA
// names it (RFC 2308, 3), and if it does not, that of a parent will.
func (s *Server) zone(ctx context.Context, name string) (string, error) {
	for at, end := 0, false; !end; at, end = dns.NextLabel(name, at) {
		r, err := s.query(ctx, name[at:], dns.TypeSOA, false)
		if err != nil {
			return "", err
		}
		for _, rr := range slices.Concat(r.Answer, r.Ns) {
			if soa, ok := rr.(*dns.SOA); ok && dns.IsSubDomain(soa.Hdr.Name, name) {
				return dns.CanonicalName(soa.Hdr.Name), nil
			}
		}
	}
	return "", s.failed(errors.New("the server has no zone for the name: ask the zone's primary"))
}

// update replaces the records that there are by those that are wanted, if they
// are still there and no other is (RFC 2136, 2.4.2 and 2.4.3). Fails with
// errChanged when they are not.
func (s *Server) update(ctx context.Context, zone string, have, want []*dns.HTTPS) error {
	m := new(dns.Msg).SetUpdate(zone)
	if len(have) == 0 {
		m.RRsetNotUsed([]dns.RR{want[0]})
	}
	m.Used(copies(have))
	m.Remove(copies(have)) // all of them: the time to live belongs to the set
	m.Insert(copies(want))
	r, err := s.exchange(ctx, m)
	switch {
	case err != nil:
		return err
	case r.Rcode == dns.RcodeSuccess:
		return nil
	case r.Rcode == dns.RcodeNXRrset, r.Rcode == dns.RcodeYXRrset:
		return errChanged
	}
	return s.failed(codeError(r.Rcode))
}

func copies(records []*dns.HTTPS) []dns.RR {
	out := make([]dns.RR, 0, len(records))
	for _, rr := range records {
		out = append(out, dns.Copy(rr))
	}
	return out
}

// verify looks whether an update was carried out: a server passes over what
// cannot be, such as a record beside an alias (RFC 2136, 3.4.2.2).
func (s *Server) verify(ctx context.Context, name string, want []*dns.HTTPS) error {
	have, err := s.records(ctx, name)
	if err != nil {
		return fmt.Errorf("looking whether the update was made: %w", err)
	}
	if !sameRecords(have, want) {
		return errIgnored
	}
	return nil
}

// sameRecords compares sets of records, with their times to live.
func sameRecords(a, b []*dns.HTTPS) bool {
	if len(a) != len(b) {
		return false
	}
	for _, x := range a {
		if !slices.ContainsFunc(b, func(y *dns.HTTPS) bool { return x.Hdr.Ttl == y.Hdr.Ttl && dns.IsDuplicate(x, y) }) {
			return false
		}
	}
	return true
}

func outcome(have, want []*dns.HTTPS) Outcome {
	switch {
	case sameRecords(have, want):
		return Unchanged
	case len(have) == 0:
		return Created
	}
	return Updated
}
