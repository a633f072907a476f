package cmd

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"edge/ech"
	"edge/ech/keydir"
)

// maximumNameLengthDefault covers nearly all host names. It is what a client
// pads shorter names to, so that the length does not tell which it asks for.
const maximumNameLengthDefault = 64

func newKeysGen(env Env) *cobra.Command {
	g := genFlags{kem: kemValue(ech.KEMX25519)}
	c := &cobra.Command{
		Use:   "gen-ech --public-name NAME",
		Short: "Make an ECH key and print the record that publishes it",
		Long: `gen-ech makes a key and writes it to a new file of the directory (PEM, mode
0600, nothing is overwritten), then prints the HTTPS record that publishes it,
together with other current keys of the directory, for each name of --for.

The public name is what everyone sees instead of the names that are visited.
This server, or the one it relays to, needs a certificate for it.

A second key of one kind (public name and KEM) is given out beside the first. To
replace the first, use edge keys rotate.`,
		Example: `  edge keys gen-ech --public-name public.example.com --dir /etc/edge/ech
  edge keys gen-ech --public-name public.example.com --for example.com --for www.example.com:8443 --alpn h2 --ipv4hint 192.0.2.1
  edge keys gen-ech --public-name public.example.com --for www.example.com --format nsupdate | nsupdate -k tsig.key`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return g.run(c, env) },
	}
	fs := c.Flags()
	fs.StringVar(&g.publicName, "public-name", "", "`NAME` that everyone sees")
	dirFlag(c, &g.dir)
	fs.Var(&g.kem, "kem", "x25519, which every client knows, or p256")
	g.maximumNameLength = maximumNameLengthDefault
	fs.Var(&numberValue[uint8]{&g.maximumNameLength, 0, math.MaxUint8}, "max-name-length", "length of the longest name that is hidden; 0 for unknown")
	fs.Var(&g.notBefore, "not-before", "give the key out only after so long: until then it decrypts")
	g.record.register(c)
	g.record.registerFormat(c)
	fs.SortFlags = false
	return c
}

// genFlags are the flags of gen-ech.
type genFlags struct {
	publicName        string
	dir               string
	kem               kemValue
	maximumNameLength uint8
	notBefore         span
	record            recordFlags
}

func (g *genFlags) run(c *cobra.Command, env Env) error {
	if err := g.check(); err != nil {
		return err
	}
	from := time.Now().Add(time.Duration(g.notBefore))
	made, err := keydir.Generate(c.Context(), g.dir, ech.KeyParameters{
		PublicName:        g.publicName,
		KEM:               uint16(g.kem),
		Suites:            ech.Suites,
		MaximumNameLength: g.maximumNameLength,
	}, from, rand.Reader)
	if err != nil {
		return err
	}
	path := filepath.Join(g.dir, made.File)
	fmt.Fprintf(env.Err, "edge: %s is in %s\n", describe(made), path)
	set, err := usableKeys(g.dir, from)
	if err != nil {
		return err
	}
	g.warn(env.Err, len(keydir.GivenOut(set, from)))
	return g.record.write(env.Out, set, from, made)
}

// check refuses what would make a key that is of no use, before it is made.
func (g *genFlags) check() error {
	if g.publicName == "" {
		return usagef("--public-name is missing: give the name that everyone may see, such as public.example.com")
	}
	g.publicName = strings.ToLower(strings.TrimSuffix(g.publicName, "."))
	trial := ech.KeyParameters{PublicName: g.publicName, KEM: uint16(g.kem), Suites: ech.Suites}
	if _, err := ech.GenerateKey(trial, rand.Reader); err != nil {
		return usagef("--public-name %q: %w", g.publicName, err)
	}
	if g.dir == "" {
		return usageError{errors.New("--dir is empty: give a directory")}
	}
	return g.record.parse()
}

// warn says what is odd about what was made.
func (g *genFlags) warn(w io.Writer, given int) {
	if given > 1 {
		fmt.Fprintf(w, "edge: the record holds %d keys: all that are current then\n", given)
	}
	for _, o := range g.record.owners {
		if o.Host == g.publicName {
			fmt.Fprintf(w, "edge: %s is the public name itself, which everyone sees: ECH hides nothing of it\n", o)
		}
	}
}
