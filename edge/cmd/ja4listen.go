package cmd

import (
	_ "embed"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"edge/edge/config"
	"edge/edge/gateway"
)

// ja4Program answers requests with fingerprints.
//
//go:embed programs/ja4.o
var ja4Program []byte

func newJA4Listen(env Env) *cobra.Command {
	conf := config.New()
	conf.Workers = 1
	var listen *pflag.Flag // its place is taken by an argument
	c := &cobra.Command{
		Use:   "listen HOST:PORT",
		Short: "Answer each TLS client with its own fingerprint",
		Long: `listen answers every request over TLS with the JA4 of its client, and of the inner
hello if it used ECH. Without --cert-dir it makes and uses a development
certificate, as serve --dev does.`,
		Example: `  edge ja4 listen 127.0.0.1:8444
  curl -k https://127.0.0.1:8444/`,
		Args: oneArgument("HOST:PORT"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := listen.Value.Set(args[0]); err != nil {
				return usageError{fmt.Errorf("%s: %w", args[0], err)}
			}
			conf.Dev = conf.CertDir == ""
			if err := conf.Check(); err != nil {
				return usageError{err}
			}
			return serve(c.Context(), env, conf, gateway.ProgramFile{Name: "ja4.o", Content: ja4Program})
		},
	}
	for _, g := range conf.Flags() {
		if f := g.Flags.Lookup("listen"); f != nil {
			listen = f
		}
		for _, name := range []string{"cert-dir", "state-dir", "ech", "error-log", "access-log"} {
			if f := g.Flags.Lookup(name); f != nil {
				c.Flags().AddFlag(f)
			}
		}
	}
	return c
}
