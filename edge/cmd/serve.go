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
as they are when it starts. Without a site and without --proxy it answers with a
page that says what to do next.

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
		Args: oneSite,
		RunE: func(c *cobra.Command, args []string) error {
			if err := takeSite(conf, args); err != nil {
				return err
			}
			return serve(c.Context(), env, conf)
		},
	}
	showGroups(c, conf.Flags())
	return c
}

func oneSite(_ *cobra.Command, args []string) error {
	if len(args) > 1 {
		return fmt.Errorf("one site is served, %d given", len(args))
	}
	return nil
}

// takeSite completes what the flags say with the argument, and checks it.
func takeSite(conf *config.Config, args []string) error {
	if len(args) == 1 {
		conf.Site = args[0]
	}
	if err := conf.Check(); err != nil {
		return usageError{err}
	}
	return nil
}

func newCheck(env Env) *cobra.Command {
	conf := config.New()
	c := &cobra.Command{
		Use:   "check [SITE.tar | DIR]",
		Short: "Say whether serve would start, or a reload succeed",
		Long: `check takes the flags of serve and loads all that serve would load: site,
programs, certificates, keys. It says what is wrong with the first of them that
cannot be used, and ends with 1; with 0 when all can be served. It does not listen,
so that it can run beside a server, before its SIGHUP.`,
		Example: `  edge check --cert-dir /etc/edge/certs site.tar && systemctl reload edge`,
		Args:    oneSite,
		RunE: func(_ *cobra.Command, args []string) error {
			if err := takeSite(conf, args); err != nil {
				return err
			}
			if _, err := useDev(conf); err != nil {
				return err
			}
			if err := gateway.Check(gateway.Options{Config: conf, Log: gateway.NewLog(env.Err), Getenv: env.Getenv}); err != nil {
				return err
			}
			fmt.Fprintln(env.Out, "all of it can be served")
			return nil
		},
	}
	showGroups(c, conf.Flags())
	return c
}

// useDev has the development certificate served if it is asked for; made is nil if
// it is not.
func useDev(conf *config.Config) (made *dev.Result, err error) {
	if !conf.Dev {
		return nil, nil
	}
	if made, err = dev.Ensure(conf.DevDir(), nil); err != nil {
		return nil, err
	}
	conf.CertDir, conf.Dev = made.CertDir, false
	return made, nil
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
	made, err := useDev(conf)
	if err != nil {
		return err
	}
	if made != nil {
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
