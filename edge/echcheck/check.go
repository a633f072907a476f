package echcheck

import (
	"context"
	"crypto/x509"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/miekg/dns"

	"edge/ech"
	"edge/ech/keydir"
	"edge/edge/dnspub"
)

// Options say what is checked.
type Options struct {
	Owner   dnspub.Owner
	Servers []*dnspub.Server
	Keys    *keydir.Listing // nil: none are at hand, and DNS is only shown
	Dir     string          // where Keys are from, for what is said
	Now     time.Time

	Connect string         // HOST:PORT to make handshakes with; empty for none
	Roots   *x509.CertPool // for its certificates; nil for the system's
	Timeout time.Duration  // of one handshake
}

// set returns the keys, nil when there are none.
func (o *Options) set() *ech.Set {
	if o.Keys == nil {
		return nil
	}
	return o.Keys.Set
}

// serverName is the name that a client of the owner sends.
func (o *Options) serverName() string {
	if rest, ok := strings.CutPrefix(o.Owner.Host, "*."); ok {
		return "check." + rest // any name that the wildcard covers
	}
	return o.Owner.Host
}

// Run looks, connects when asked to, and judges.
func Run(ctx context.Context, o Options) *Report {
	r := &Report{Name: o.Owner.String(), DNS: []DNS{}, Keys: []Key{}, Connections: []Connection{}, Findings: []Finding{}}
	given := keydir.GivenOut(o.set(), o.Now)
	for _, k := range o.set().Keys() {
		r.Keys = append(r.Keys, NewKey(k, slices.Contains(given, k)))
	}
	for _, s := range o.Servers {
		r.DNS = append(r.DNS, lookup(ctx, &o, s))
	}
	r.judgeKeys(&o)
	for i := range r.DNS {
		r.judgeDNS(&o, &r.DNS[i])
	}
	r.compareServers()
	if o.Connect != "" {
		r.connect(ctx, &o)
	}
	return r
}

// lookup asks one server, and plays the client with the answer.
func lookup(ctx context.Context, o *Options, s *dnspub.Server) DNS {
	answer, err := s.Lookup(ctx, o.Owner)
	if err != nil {
		return DNS{Server: s.Address, Error: strings.TrimPrefix(err.Error(), s.Address+": "), Records: []Record{}}
	}
	d := DNS{Server: s.Address, At: answer.Name, Aliases: answer.Aliases, Authoritative: answer.Authoritative, Records: []Record{}}
	for _, rr := range answer.Records {
		d.Records = append(d.Records, readRecord(o, rr))
	}
	if c := d.chosen(); c != nil {
		c.Chosen = true
		c.Opens = opens(o.set(), c.raw, o.serverName())
	}
	return d
}

func readRecord(o *Options, rr *dns.HTTPS) Record {
	r := Record{JSON: dnspub.NewJSON(rr), Usable: dnspub.Usable(rr), Configs: []Config{}, list: dnspub.ECH(rr)}
	if r.list == nil {
		return r
	}
	configs, err := readList(r.list, o.set())
	if err != nil {
		r.Error = err.Error()
		return r
	}
	r.Configs = configs
	return r
}

// first returns the record that a client uses, nil when there is none.
func (d *DNS) first() *Record {
	for i := range d.Records {
		if d.Records[i].Usable {
			return &d.Records[i]
		}
	}
	return nil
}

// chosen returns the config that a client encrypts to: the first it can use of
// the first record it can use (RFC 9849, 6.1: in decreasing order of preference).
func (d *DNS) chosen() *Config {
	r := d.first()
	if r == nil {
		return nil
	}
	for i := range r.Configs {
		if r.Configs[i].Unusable == "" {
			return &r.Configs[i]
		}
	}
	return nil
}

// Published returns the ECHConfigs that a server gives out for an owner, in all
// of its records. Fails when they cannot be read.
func Published(ctx context.Context, s *dnspub.Server, o dnspub.Owner) ([][]byte, error) {
	answer, err := s.Lookup(ctx, o)
	if err != nil {
		return nil, err
	}
	var published [][]byte
	for _, rr := range answer.Records {
		list := dnspub.ECH(rr)
		if list == nil {
			continue
		}
		configs, err := ech.ParseConfigList(list)
		if err != nil {
			return nil, fmt.Errorf("%s: the ech at %s cannot be read: %w", s.Address, answer.Name, err)
		}
		for i := range configs {
			published = append(published, configs[i].Raw)
		}
	}
	return published, nil
}
