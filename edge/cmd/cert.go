package cmd

import (
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"edge/certstore"
)

func newCert(env Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "cert",
		Short: "Look at certificates",
		Long:  `cert has the commands for certificate directories.`,
		Example: `  edge cert list /etc/edge/certs
  edge cert list --json /etc/letsencrypt`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newCertList(env))
	return c
}

func newCertList(env Env) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "list DIR",
		Short: "Say what a certificate directory serves, and what is wrong in it",
		Long: `list reads DIR as serve --cert-dir does and prints a line for each certificate
with its key: until when it is valid, which names it serves, whether it is the
default, whether an OCSP response is stapled. What is wrong with the rest
follows, a line for each problem. In addition to what serve checks, it verifies
the signatures within each chain.

The exit status is 1 if there is nothing to serve, or something is not served, or
not as it is meant (expired, without its key, unreadable). Warnings alone leave it
at 0.`,
		Example: `  edge cert list /etc/edge/certs
  edge cert list /etc/letsencrypt
  edge cert list --json ./certs | jq '.pairs[] | {names, not_after}'`,
		Args: oneArgument("DIR"),
		RunE: func(_ *cobra.Command, args []string) error {
			l, err := newCertListing(args[0], time.Now())
			if err != nil {
				return err
			}
			if asJSON {
				err = l.writeJSON(env.Out)
			} else {
				err = l.writeText(env.Out)
			}
			return errors.Join(err, l.verdict())
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return c
}

// certListing is what the command prints. Its JSON form is stable: fields are
// added, never renamed.
type certListing struct {
	Directory string        `json:"directory"`
	Pairs     []certLine    `json:"pairs"`
	Problems  []certTrouble `json:"problems"`
	now       time.Time
}

type certLine struct {
	Names       []string  `json:"names"`
	Default     bool      `json:"default"`
	Key         string    `json:"key"`
	NotBefore   time.Time `json:"not_before"`
	NotAfter    time.Time `json:"not_after"`
	Issuer      string    `json:"issuer"`
	Serial      string    `json:"serial"` // hexadecimal
	ChainLength int       `json:"chain_length"`
	CertFile    string    `json:"cert_file"`
	KeyFile     string    `json:"key_file"`
	StapleFile  string    `json:"staple_file,omitempty"`
}

type certTrouble struct {
	File    string `json:"file"`
	What    string `json:"what"`
	Fix     string `json:"fix,omitempty"`
	Warning bool   `json:"warning"`
}

// newCertListing loads a directory.
func newCertListing(dir string, now time.Time) (*certListing, error) {
	snap, report, err := certstore.Load(dir, nil, now)
	if err != nil {
		return nil, err
	}
	l := &certListing{Directory: snap.Dir(), Pairs: []certLine{}, Problems: []certTrouble{}, now: now}
	for _, p := range report.Problems {
		l.Problems = append(l.Problems, certTrouble{p.File, p.What, p.Fix, p.Warning})
	}
	for _, p := range snap.Pairs() {
		l.add(p, snap.Default() != nil && slices.Contains(snap.Default().Pairs, p))
	}
	return l, nil
}

// add adds the line of one pair.
func (l *certListing) add(p *certstore.Pair, isDefault bool) {
	line := certLine{
		Names: p.Names, Default: isDefault, Key: p.Kind.String(), NotBefore: p.NotBefore, NotAfter: p.NotAfter,
		ChainLength: len(p.Chain), CertFile: p.CertFile, KeyFile: p.KeyFile, StapleFile: p.StapleFile,
	}
	if leaf, err := x509.ParseCertificate(p.Chain[0]); err == nil { // it was parsed before
		line.Issuer, line.Serial = leaf.Issuer.String(), fmt.Sprintf("%x", leaf.SerialNumber)
	}
	if err := p.CheckSignatures(); err != nil {
		l.Problems = append(l.Problems, certTrouble{File: p.CertFile, What: oneLine(err), Fix: "get the chain again from the authority"})
	}
	l.Pairs = append(l.Pairs, line)
}

// verdict returns the error of the exit status, nil if all is well.
func (l *certListing) verdict() error {
	if len(l.Pairs) == 0 {
		return fmt.Errorf("%s holds no certificate with its key: put PEM files there", l.Directory)
	}
	n := 0
	for _, p := range l.Problems {
		if !p.Warning {
			n++
		}
	}
	switch n {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("%s: one problem to solve", l.Directory)
	}
	return fmt.Errorf("%s: %d problems to solve", l.Directory, n)
}

func (l *certListing) writeJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(l)
}

func (l *certListing) writeText(w io.Writer) error {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	if len(l.Pairs) > 0 {
		fmt.Fprintln(t, "VALID UNTIL (UTC)\tLEFT\tKEY\tFILE\tNAMES")
	}
	for _, p := range l.Pairs {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", p.NotAfter.UTC().Format(time.DateTime), l.left(p), p.Key, printable(p.CertFile), p.served())
	}
	t.Flush() // into a string
	for i, p := range l.Problems {
		if i == 0 && len(l.Pairs) > 0 {
			b.WriteByte('\n')
		}
		kind := "problem"
		if p.Warning {
			kind = "warning"
		}
		fmt.Fprintf(&b, "%s: %s\n", kind, certstore.Problem{File: p.File, What: p.What, Fix: p.Fix})
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// left says how long a certificate is still valid.
func (l *certListing) left(p certLine) string {
	switch left := p.NotAfter.Sub(l.now); {
	case left < 0:
		return "expired"
	case p.NotBefore.After(l.now):
		return "not yet"
	case left < 48*time.Hour:
		return fmt.Sprintf("%d h", int(left.Hours()))
	default:
		return fmt.Sprintf("%d days", int(left.Hours()/24))
	}
}

// served returns the names of a pair and what else it does.
func (p certLine) served() string {
	words := strings.Join(p.Names, " ")
	if words == "" {
		words = "-"
	}
	if p.Default {
		words += " (default)"
	}
	if p.StapleFile != "" {
		words += " (stapled)"
	}
	return words
}

// printable returns a file name fit for a line on a terminal.
func printable(name string) string {
	if strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }) {
		return strconv.Quote(name)
	}
	return name
}
