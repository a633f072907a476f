// Package cmd is the command line of edge: one file for each command. It reads
// arguments, calls the package that does the work, and turns what went wrong
// into one line and an exit status. It does no work of its own.
//
// It does not choose the reactor: main hands one in through Env, so that this
// package builds and tests without linker flags.
package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"edge/edge/reactor"
)

// Exit statuses.
const (
	ExitOK      = 0
	ExitFailure = 1 // the work failed
	ExitUsage   = 2 // the command line was wrong: nothing was tried
)

// Env is what the commands take from their process. Everything but the
// arguments of Main comes from here, so that tests run whole commands.
type Env struct {
	In       io.Reader
	Out, Err io.Writer
	Getenv   func(string) string

	// NewReactor makes the reactor of one worker, on the worker's thread.
	NewReactor func(kind string, o reactor.Options) (reactor.Reactor, error)
}

// usageError marks a mistake in the command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// usagef makes an error that ends in ExitUsage.
func usagef(format string, a ...any) error {
	return usageError{fmt.Errorf(format, a...)}
}

// Main runs the command that args (without the program's name) ask for and
// returns the exit status. When ctx ends, the command stops what it does.
func Main(ctx context.Context, env Env, args []string) int {
	root := newRoot(env)
	// Until a command's own code is reached, whatever fails is the command line.
	reached := false
	root.PersistentPreRun = func(*cobra.Command, []string) { reached = true }
	root.SetArgs(args)
	c, err := root.ExecuteContextC(ctx)
	if err == nil {
		return ExitOK
	}
	var usage usageError
	if !reached || errors.As(err, &usage) {
		fmt.Fprintf(env.Err, "edge: %s: %s\n", oneLine(err), hint(root, c, args))
		return ExitUsage
	}
	fmt.Fprintf(env.Err, "edge: %s\n", oneLine(err))
	return ExitFailure
}

// hint says what to do about a command line that reached no further than c: the
// command that a mistyped first argument was meant to be, or where to read.
func hint(root, c *cobra.Command, args []string) string {
	if c == root && len(args) > 0 {
		if near := root.SuggestionsFor(args[0]); len(near) > 0 {
			return fmt.Sprintf("did you mean `edge %s`?", near[0])
		}
	}
	return fmt.Sprintf("see `%s --help`", c.CommandPath())
}

// oneArgument asks for exactly one argument, called name in the error.
func oneArgument(name string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return fmt.Errorf("one %s is needed, %d given", name, len(args))
		}
		return nil
	}
}

// oneLine gives the message of err as one line: cobra and joined errors use
// several.
func oneLine(err error) string {
	var lines []string
	for line := range strings.SplitSeq(err.Error(), "\n") {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "; ")
}

func newRoot(env Env) *cobra.Command {
	root := &cobra.Command{
		Use:   "edge",
		Short: "A TLS 1.3 front door on io_uring",
		Long: `edge serves a site from one tar file over TLS 1.3: its own TLS stack, one
io_uring reactor for each CPU, no configuration file.`,
		Example: `  edge serve --dev ./public          try a directory, with a development certificate
  edge pack ./public -o site.tar     make it one file
  edge serve --cert-dir /etc/edge/certs site.tar`,
		SilenceErrors:              true,
		SilenceUsage:               true,
		DisableSuggestions:         true, // they take several lines: Main gives them in one
		SuggestionsMinimumDistance: 2,
	}
	root.SetIn(env.In)
	root.SetOut(env.Out)
	root.SetErr(env.Err)
	root.AddCommand(newServe(env), newCheck(env), newPack(env), newKeys(env), newCert(env), newJA4(env), newScript(env), newSDK(env), newVersion(env))
	return root
}
