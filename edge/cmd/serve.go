package cmd

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"edge/certstore/dev"
	"edge/edge/config"
	"edge/edge/gateway"
)

func newServe(env Env) *cobra.Command {
	conf := config.New()
	c := &cobra.Command{
		Use:   "serve [SITE.tar | DIR]",
		Short: "Serve a site over TLS 1.3",
		Long: `serve answers on --listen with the site in SITE.tar, or with the files of DIR
as they are when it starts. Without a site it answers with a page that says what
to do next.

Once it is ready it prints one line for each address on standard output:

  listening https://0.0.0.0:8443

Everything else it has to say goes to standard error. Signals:

  SIGTERM, SIGINT  finish the requests in flight and end; a second one ends at once
  SIGHUP           load site and certificates again, together or not at all, and
                   open the log files again
  SIGUSR2          start the binary anew, hand it the listening sockets, and end
                   once it serves`,
		Example: `  edge serve --dev ./public
  edge serve --cert-dir /etc/edge/certs --listen :443 --http :80 --http-redirect site.tar`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return fmt.Errorf("one site is served, %d given", len(args))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 1 {
				conf.Site = args[0]
			}
			if err := conf.Check(); err != nil {
				return usageError{err}
			}
			return serve(c.Context(), env, conf)
		},
	}
	showGroups(c, conf.Flags())
	return c
}

func serve(ctx context.Context, env Env, conf *config.Config) error {
	log := gateway.NewLog(env.Err)
	if conf.ErrorLog != "" {
		var err error
		if log, err = gateway.OpenLog(conf.ErrorLog); err != nil {
			return err
		}
	}
	prepareRuntime(conf.Workers, env.Getenv)
	note, err := fitOpenFiles(conf)
	if err != nil {
		return err
	}
	if note != "" {
		log.Printf("%s", note)
	}
	out := env.Out
	if conf.Dev {
		made, err := dev.Ensure(conf.DevDir(), nil)
		if err != nil {
			return err
		}
		conf.CertDir, conf.Dev = made.CertDir, false
		out = &devHints{Writer: env.Out, to: env.Err, ca: made.Authority}
	}
	reload, upgrade := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(reload, syscall.SIGHUP)
	signal.Notify(upgrade, syscall.SIGUSR2)
	defer signal.Stop(reload)
	defer signal.Stop(upgrade)
	return gateway.Serve(ctx, gateway.Options{
		Config:     conf,
		NewReactor: env.NewReactor,
		Out:        out,
		Log:        log,
		Reload:     reload,
		Upgrade:    upgrade,
		Getenv:     env.Getenv,
	})
}

// devHints passes lines on, and says after the first TLS address how to use it
// with the development certificate.
type devHints struct {
	io.Writer
	to   io.Writer
	ca   string
	done bool
}

func (h *devHints) Write(p []byte) (int, error) {
	n, err := h.Writer.Write(p)
	address, ok := bytes.CutPrefix(bytes.TrimSpace(p), []byte("listening https://"))
	if err != nil || !ok || h.done {
		return n, err
	}
	h.done = true
	_, port, err := net.SplitHostPort(string(address))
	if err != nil {
		return n, fmt.Errorf("reading back the address %s: %w", address, err)
	}
	fmt.Fprintf(h.to, devText, port, quoted(h.ca))
	return n, nil
}

const devText = `
  https://localhost:%[1]s/

  curl --cacert %[2]s https://localhost:%[1]s/

The certificate is from an authority made on this machine, for the names of this
machine alone. For a browser, import %[2]s among its authorities.

`

// quoted makes a path one word for a shell.
func quoted(path string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+,@%", r)
	}
	if path != "" && strings.IndexFunc(path, func(r rune) bool { return !plain(r) }) < 0 {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
