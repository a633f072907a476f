package cmd

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"edge/ech"
	"edge/ech/keydir"
)

func newKeys(env Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "keys",
		Short: "Make, replace and publish keys for Encrypted ClientHello",
		Long: `keys keeps a directory of ECH keys (PEM files as of RFC 9934, for edge serve
--ech) and the HTTPS records in DNS that publish them (RFC 9848).

A key is current, and given out to clients, or decrypt-only, for those who still
have it from a cache. That stands in its file, so the directory can be copied
between machines by any means, and rotated on any of them.`,
		Example: `  edge keys gen-ech --public-name public.example.com --dir /etc/edge/ech --for www.example.com
  edge keys rotate --dir /etc/edge/ech --every 30d --overlap 2d
  edge keys publish --dir /etc/edge/ech --server ns1.example.com --tsig /etc/edge/tsig.key --for www.example.com
  edge keys check www.example.com --dir /etc/edge/ech`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			var names []string
			for _, sub := range c.Commands() {
				if sub.IsAvailableCommand() {
					names = append(names, sub.Name())
				}
			}
			return fmt.Errorf("unknown command %q for %q: there are %s", args[0], c.CommandPath(), strings.Join(names, ", "))
		},
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newKeysGen(env), newKeysList(env), newKeysRotate(env), newKeysRecord(env), newKeysPublish(env), newKeysCheck(env))
	return c
}

// dirDefault is where the commands look for keys.
const dirDefault = "ech-keys"

// dirFlag gives c the flag for the directory of keys.
func dirFlag(c *cobra.Command, dir *string) {
	c.Flags().StringVar(dir, "dir", dirDefault, "`DIR` of the key files")
}

// usableKeys reads a directory whose keys are to be given out. What servers would
// not load is not published either.
func usableKeys(dir string, now time.Time) (*ech.Set, error) {
	l, err := keydir.List(dir, now)
	if err != nil {
		return nil, err
	}
	for _, e := range l.Entries {
		if e.Key == nil {
			return nil, fmt.Errorf("%s in %s: %s: servers do not load a directory with such a file", e.File, dir, strings.Join(e.Problems, ", "))
		}
	}
	if l.Set.RetryConfigs(now) == nil {
		return nil, fmt.Errorf("%s holds no current key: make one with `edge keys gen-ech`", dir)
	}
	return l.Set, nil
}

// describe names a key in a sentence.
func describe(k *ech.Key) string {
	return fmt.Sprintf("key %d for %s", k.Config.ID, k.Config.PublicName)
}

// stamp shows a time as key files do, "-" for none.
func stamp(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(time.RFC3339)
}
