package cmd

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"edge/ech/keydir"
	"edge/edge/dnspub"
)

func newKeysPublish(env Env) *cobra.Command {
	var p publishFlags
	c := &cobra.Command{
		Use:   "publish --server HOST[:PORT] --tsig KEY --for NAME",
		Short: "Put the current keys into DNS by dynamic update",
		Long: `publish brings the HTTPS records of each name of --for up to date, by dynamic
update (RFC 2136) of the zone's primary server. What a record holds besides ech
stays, unless a flag asks for something else; a name without a record gets one.
A record that someone else changes meanwhile is read again, never overwritten.
What is right already is left alone, so publish may run from cron.

The update is signed (TSIG, RFC 8945) with the key of --tsig:

  --tsig FILE                    as tsig-keygen writes it: key "NAME" { … };
  --tsig [ALGORITHM:]NAME:FILE   FILE holds the secret in base64, nothing else

The secret itself is never given on the command line, where others can read it.
Without --tsig the update is not signed, for servers that trust our address.

One line is printed for each name: created, updated, unchanged or failed. The
exit status is 1 if any failed.`,
		Example: `  edge keys publish --dir /etc/edge/ech --server ns1.example.com --tsig /etc/edge/tsig.key --for example.com --for www.example.com
  edge keys publish --dir /etc/edge/ech --server ns1.example.com:5353 --tsig hmac-sha512:edge:/run/secrets/tsig --for www.example.com:8443
  edge keys publish --server ns1.example.com --tsig /etc/edge/tsig.key --for www.example.com --withdraw`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return p.run(c, env) },
	}
	fs := c.Flags()
	dirFlag(c, &p.dir)
	fs.StringVar(&p.server, "server", "", "the primary server of the zones: `HOST[:PORT]`")
	fs.StringVar(&p.tsig, "tsig", "", "`KEY` to sign with: FILE or [ALGORITHM:]NAME:FILE")
	p.record.register(c)
	fs.BoolVar(&p.withdraw, "withdraw", false, "take ech out of the records, to switch it off")
	fs.BoolVar(&p.dryRun, "dry-run", false, "print what the records would be, and send no update")
	fs.BoolVar(&p.asJSON, "json", false, "print JSON")
	timeoutFlag(c, &p.timeout)
	fs.SortFlags = false
	return c
}

// publishFlags are the flags of publish.
type publishFlags struct {
	dir, server, tsig        string
	record                   recordFlags
	withdraw, dryRun, asJSON bool
	timeout                  span
}

func (p *publishFlags) run(c *cobra.Command, env Env) error {
	server, err := p.parse()
	if err != nil {
		return err
	}
	var list []byte
	what := "no ech"
	if !p.withdraw {
		now := time.Now()
		set, err := usableKeys(p.dir, now)
		if err != nil {
			return err
		}
		list = set.RetryConfigs(now)
		var all []string
		for _, k := range keydir.GivenOut(set, now) {
			all = append(all, describe(k))
		}
		what = strings.Join(all, ", ")
	}
	results := p.publish(c.Context(), server, list)
	if err := p.write(env.Out, results, what, list); err != nil {
		return err
	}
	failed := 0
	for _, r := range results {
		if r.Err != nil {
			failed++
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d names failed", failed, len(results))
	}
	return nil
}

// parse checks the flags and makes the server of them.
func (p *publishFlags) parse() (*dnspub.Server, error) {
	if p.server == "" {
		return nil, usagef("--server is missing: give the primary server of the zone, HOST[:PORT]")
	}
	address, err := dnspub.ParseServer(p.server)
	if err != nil {
		return nil, usagef("--server: %w", err)
	}
	if len(p.record.names) == 0 {
		return nil, usagef("there is no name to publish for: give --for NAME")
	}
	if err := p.record.parse(); err != nil {
		return nil, err
	}
	s := &dnspub.Server{Address: address, Timeout: time.Duration(p.timeout)}
	if p.tsig != "" {
		if s.TSIG, err = dnspub.ReadTSIG(p.tsig); err != nil {
			return nil, usagef("--tsig: %w", err)
		}
	}
	return s, nil
}

// publish does one name after the other: a failure of one is none of the next.
func (p *publishFlags) publish(ctx context.Context, s *dnspub.Server, list []byte) []dnspub.Result {
	f := &p.record
	base := dnspub.Publication{List: list, New: f.service(), NewTTL: f.seconds(), Set: f.asked(), Unset: f.unset}
	if f.given("target") {
		base.Target = f.target
	}
	if f.given("ttl") {
		ttl := f.seconds()
		base.TTL = &ttl
	}
	var results []dnspub.Result
	for _, o := range f.owners {
		base.Owner = o
		results = append(results, s.Publish(ctx, base, p.dryRun))
	}
	return results
}

// publishRow is a result as JSON.
type publishRow struct {
	Name    string        `json:"name"`
	Zone    string        `json:"zone,omitempty"`
	Outcome string        `json:"outcome"`
	Error   string        `json:"error,omitempty"`
	ECH     string        `json:"ech"` // base64 of the ECHConfigList, empty when it was withdrawn
	Records []dnspub.JSON `json:"records"`
}

func (p *publishFlags) write(w io.Writer, results []dnspub.Result, what string, list []byte) error {
	if p.asJSON {
		rows := []publishRow{}
		for _, r := range results {
			rows = append(rows, newPublishRow(r, list))
		}
		return writeJSON(w, rows)
	}
	for _, r := range results {
		if err := p.writeResult(w, r, what); err != nil {
			return err
		}
	}
	return nil
}

func newPublishRow(r dnspub.Result, list []byte) publishRow {
	row := publishRow{Name: r.Name, Zone: r.Zone, Outcome: string(r.Outcome), Records: []dnspub.JSON{}, ECH: base64.StdEncoding.EncodeToString(list)}
	if r.Err != nil {
		row.Error = r.Err.Error()
		return row
	}
	for _, rr := range r.Records {
		row.Records = append(row.Records, dnspub.NewJSON(rr))
	}
	return row
}

func (p *publishFlags) writeResult(w io.Writer, r dnspub.Result, what string) error {
	if r.Err != nil {
		_, err := fmt.Fprintf(w, "%s %s: %s\n", r.Outcome, r.Name, oneLine(r.Err))
		return err
	}
	if p.dryRun {
		if _, err := fmt.Fprintf(w, "would be %s %s:\n", r.Outcome, r.Name); err != nil {
			return err
		}
		return dnspub.WriteZone(w, r.Records)
	}
	ttl := ""
	if len(r.Records) > 0 {
		t := span(time.Duration(r.Records[0].Hdr.Ttl) * time.Second)
		ttl = ", TTL " + t.String()
	}
	_, err := fmt.Fprintf(w, "%s %s: %s%s\n", r.Outcome, r.Name, what, ttl)
	return err
}
