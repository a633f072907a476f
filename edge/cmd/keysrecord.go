package cmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/miekg/dns"
	"github.com/spf13/cobra"

	"edge/ech"
	"edge/ech/keydir"
	"edge/edge/dnspub"
	"edge/edge/echcheck"
)

func newKeysRecord(env Env) *cobra.Command {
	var dir string
	var f recordFlags
	c := &cobra.Command{
		Use:   "record",
		Short: "Print the HTTPS records that publish the current keys",
		Long: `record prints, for each name that is given by --for, the HTTPS record that
publishes the current keys of the directory. It changes nothing.

The records hold what is asked for by flags, not what is in DNS now: where a
server takes updates, edge keys publish keeps the rest of what is there.

The output of --format nsupdate is for the program of that name; --format json
is for programs that speak to the interface of a DNS provider.`,
		Example: `  edge keys record --dir /etc/edge/ech --for example.com --for example.com:8443
  edge keys record --dir /etc/edge/ech --for www.example.com --format nsupdate | nsupdate -k tsig.key`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := f.parse(); err != nil {
				return err
			}
			now := time.Now()
			set, err := usableKeys(dir, now)
			if err != nil {
				return err
			}
			return f.write(env.Out, set, now, nil)
		},
	}
	dirFlag(c, &dir)
	f.register(c)
	f.registerFormat(c)
	return c
}

// recordFlags say what an HTTPS record holds besides ech.
type recordFlags struct {
	names         []string
	format        string
	ttl           span
	priority      uint16
	target        string
	params        [len(paramFlags)]string
	noDefaultALPN bool
	more          []string

	// What parse makes of them.
	owners []dnspub.Owner
	set    []dns.SVCBKeyValue
	unset  []dns.SVCBKey // parameters whose flag is given and empty
	given  func(flag string) bool
}

// paramFlag is a parameter with a flag of its own.
type paramFlag struct {
	name  string
	key   dns.SVCBKey
	value string // by default
	help  string
}

var paramFlags = [...]paramFlag{
	{"alpn", dns.SVCB_ALPN, "h2,http/1.1", "`LIST` of protocols, in order of preference"},
	{"port", dns.SVCB_PORT, "", "`PORT` to connect to, where it is not the one in the URL"},
	{"ipv4hint", dns.SVCB_IPV4HINT, "", "`LIST` of IPv4 addresses to try at once"},
	{"ipv6hint", dns.SVCB_IPV6HINT, "", "`LIST` of IPv6 addresses to try at once"},
	{"mandatory", dns.SVCB_MANDATORY, "", "`LIST` of parameters that clients must know to use the record"},
}

func (f *recordFlags) register(c *cobra.Command) {
	f.ttl = span(ttlDefault)
	fs := c.Flags()
	fs.StringArrayVar(&f.names, "for", nil, "`NAME[:PORT]` in the URLs that the record is for; may be repeated")
	fs.Var(&f.ttl, "ttl", "time to live of the record")
	f.priority = 1
	fs.Var(&numberValue[uint16]{&f.priority, 1, math.MaxUint16}, "priority", "lower is tried first")
	fs.StringVar(&f.target, "target", ".", "`NAME` of the server, . for the name itself")
	for i, p := range paramFlags {
		fs.StringVar(&f.params[i], p.name, p.value, p.help)
	}
	fs.BoolVar(&f.noDefaultALPN, "no-default-alpn", false, "nothing but the protocols of --alpn is spoken, not even HTTP/1.1")
	fs.StringArrayVar(&f.more, "param", nil, "`KEY=VALUE` of another parameter, as in a zone file; may be repeated")
	f.given = fs.Changed
}

// Formats of records.
const (
	formatZone     = "zone"
	formatJSON     = "json"
	formatNSUpdate = "nsupdate"
	formatBase64   = "base64"
)

func (f *recordFlags) registerFormat(c *cobra.Command) {
	c.Flags().StringVar(&f.format, "format", formatZone, "`FORM` of the output: zone, json, nsupdate, or base64 for the ech parameter alone")
}

// parse checks the flags before anything is done.
func (f *recordFlags) parse() error {
	if err := f.parseOwners(); err != nil {
		return err
	}
	if err := f.parseTarget(); err != nil {
		return err
	}
	if err := f.parseParams(); err != nil {
		return err
	}
	switch f.format {
	case formatNSUpdate:
		if len(f.owners) == 0 {
			return usagef("--format %s needs names: give --for NAME", f.format)
		}
	case "", formatZone, formatJSON, formatBase64:
	default:
		return usagef("--format %q: give %s, %s, %s or %s", f.format, formatZone, formatJSON, formatNSUpdate, formatBase64)
	}
	// With a list of the right form, whatever is wrong is a flag's.
	if _, err := f.record(dnspub.Owner{}, nil); err != nil {
		return usageError{err}
	}
	return nil
}

func (f *recordFlags) parseOwners() error {
	for _, name := range f.names {
		o, err := dnspub.ParseOwner(name)
		if err != nil {
			return usagef("--for: %w", err)
		}
		if slices.Contains(f.owners, o) {
			return usagef("--for %s is given twice", o)
		}
		f.owners = append(f.owners, o)
	}
	return nil
}

func (f *recordFlags) parseTarget() error {
	if f.target == "." {
		return nil
	}
	host, err := dnspub.ParseHost(f.target)
	if err != nil || strings.HasPrefix(host, "*") {
		return usagef("--target %q: give the name of a server, or . for the name itself", f.target)
	}
	f.target = host + "."
	return nil
}

func (f *recordFlags) parseParams() error {
	for i, p := range paramFlags {
		if f.params[i] == "" {
			if f.given(p.name) {
				f.unset = append(f.unset, p.key)
			}
			continue
		}
		if err := f.parseParam("--"+p.name, p.name, f.params[i]); err != nil {
			return err
		}
	}
	if f.noDefaultALPN {
		f.set = append(f.set, &dns.SVCBNoDefaultAlpn{})
	} else if f.given("no-default-alpn") {
		f.unset = append(f.unset, dns.SVCB_NO_DEFAULT_ALPN)
	}
	for _, text := range f.more {
		key, value, _ := strings.Cut(text, "=")
		if key == dns.SVCB_ECHCONFIG.String() {
			return usagef("--param %s: it is made of the keys", key)
		}
		if err := f.parseParam("--param", key, value); err != nil {
			return err
		}
	}
	return nil
}

func (f *recordFlags) parseParam(flag, key, value string) error {
	kv, err := dnspub.ParseParam(key, value)
	if err != nil {
		return usagef("%s: %w", flag, err)
	}
	if slices.ContainsFunc(f.set, func(o dns.SVCBKeyValue) bool { return o.Key() == kv.Key() }) {
		return usagef("%s: %s is given already", flag, key)
	}
	f.set = append(f.set, kv)
	return nil
}

// asked returns the parameters whose flags were given: those that a record which
// is there changes.
func (f *recordFlags) asked() []dns.SVCBKeyValue {
	var asked []dns.SVCBKeyValue
	for _, kv := range f.set {
		own := slices.IndexFunc(paramFlags[:], func(p paramFlag) bool { return p.key == kv.Key() })
		if own < 0 || f.given(paramFlags[own].name) {
			asked = append(asked, kv)
		}
	}
	return asked
}

func (f *recordFlags) service() dnspub.Service {
	return dnspub.Service{Priority: f.priority, Target: f.target, Params: f.set}
}

func (f *recordFlags) seconds() uint32 {
	return uint32(min(time.Duration(f.ttl)/time.Second, dnspub.TTLMax+1)) // one too many is refused by Check
}

func (f *recordFlags) record(o dnspub.Owner, list []byte) (*dns.HTTPS, error) {
	return dnspub.NewRecord(o, f.seconds(), f.service(), list)
}

// published is what --format json prints.
type published struct {
	Made    string         `json:"made,omitempty"` // file of a key that was made
	Keys    []echcheck.Key `json:"keys"`           // whose configs are published
	ECH     string         `json:"ech"`            // base64 of the ECHConfigList
	Records []dnspub.JSON  `json:"records"`
}

// write prints the records that publish what is given out at a time.
func (f *recordFlags) write(w io.Writer, set *ech.Set, at time.Time, made *ech.Key) error {
	list := set.RetryConfigs(at)
	if list == nil {
		return errors.New("there is no current key to publish")
	}
	owners := f.owners
	if len(owners) == 0 {
		owners = []dnspub.Owner{{}}
	}
	var records []*dns.HTTPS
	for _, o := range owners {
		rr, err := f.record(o, list)
		if err != nil {
			return err
		}
		records = append(records, rr)
	}
	switch f.format {
	case formatBase64:
		return dnspub.WriteBase64(w, list)
	case formatNSUpdate:
		return dnspub.WriteNSUpdate(w, records)
	case formatJSON:
		return writeJSON(w, newPublished(set, at, made, records))
	}
	return dnspub.WriteZone(w, records)
}

func newPublished(set *ech.Set, at time.Time, made *ech.Key, records []*dns.HTTPS) published {
	p := published{Records: []dnspub.JSON{}}
	if made != nil {
		p.Made = made.File
	}
	for _, k := range keydir.GivenOut(set, at) {
		p.Keys = append(p.Keys, echcheck.NewKey(k, true))
	}
	for _, rr := range records {
		p.Records = append(p.Records, dnspub.NewJSON(rr))
	}
	p.ECH = p.Records[0].Params[dns.SVCB_ECHCONFIG.String()]
	return p
}

// writeJSON prints a value for programs, and legible to people.
func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("writing JSON: %w", err)
	}
	return nil
}
