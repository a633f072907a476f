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
  SIGHUP           load site, certificates and keys again, together or not at all,
                   and open the log files again
  SIGUSR1          open the log files again, and log the counters
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

// serve serves what conf says. Programs that are built in come first.
func serve(ctx context.Context, env Env, conf *config.Config, programs ...gateway.ProgramFile) error {
	signals := catchSignals()
	defer signals.release()
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
		out = &devHints{Writer: env.Out, to: env.Err, trust: made.TrustHelp()}
	}
	return gateway.Serve(ctx, gateway.Options{
		Config:     conf,
		NewReactor: env.NewReactor,
		Out:        out,
		Log:        log,
		Reload:     signals.reload,
		Reopen:     signals.reopen,
		Upgrade:    signals.upgrade,
		Getenv:     env.Getenv,
		Programs:   programs,
	})
}

// signals are those that do not end the process. One that comes several times
// before it is looked at counts once.
type signals struct{ reload, reopen, upgrade chan os.Signal }

// catchSignals comes first: until then each of them would end the process. So
// would writing to a standard output or error that nobody reads any more; that is
// an error like another from here on.
func catchSignals() signals {
	s := signals{make(chan os.Signal, 1), make(chan os.Signal, 1), make(chan os.Signal, 1)}
	signal.Notify(s.reload, syscall.SIGHUP)
	signal.Notify(s.reopen, syscall.SIGUSR1)
	signal.Notify(s.upgrade, syscall.SIGUSR2)
	signal.Ignore(syscall.SIGPIPE)
	return s
}

func (s signals) release() {
	signal.Reset(syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGPIPE)
}

// devHints passes lines on, and says after the first TLS address how to use it
// with the development certificate.
type devHints struct {
	io.Writer
	to    io.Writer
	trust string // how to trust the authority, with PORT where the port goes
	done  bool
}

func (h *devHints) Write(p []byte) (int, error) {
	n, err := h.Writer.Write(p)
	address, ok := bytes.CutPrefix(bytes.TrimSpace(p), []byte("listening https://"))
	if err != nil || !ok || h.done || bytes.HasPrefix(address, []byte("unix:")) {
		return n, err
	}
	h.done = true
	_, port, err := net.SplitHostPort(string(address))
	if err != nil {
		return n, fmt.Errorf("reading back the address %s: %w", address, err)
	}
	fmt.Fprintf(h.to, "\n  https://localhost:%s/\n\n%s\n", port, strings.ReplaceAll(h.trust, "PORT", port))
	return n, nil
}
