package cmd

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"edge/edge/reactor"
)

// errNoReactor is what the reactor of these tests says: everything before it has
// worked.
var errNoReactor = errors.New("these tests have no reactor")

// run is the whole command in this process, as far as the reactor.
func run(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	env := Env{
		In: strings.NewReader(""), Out: &out, Err: &errs, Getenv: os.Getenv,
		NewReactor: func(string, reactor.Options) (reactor.Reactor, error) { return nil, errNoReactor },
	}
	status = Main(t.Context(), env, args)
	return status, out.String(), errs.String()
}

func TestUsageErrors(t *testing.T) {
	for _, tc := range []struct{ args, want string }{
		{"serv", "edge: unknown command \"serv\" for \"edge\": did you mean `edge serve`?\n"},
		{"xyzzy", "edge: unknown command \"xyzzy\" for \"edge\": see `edge --help`\n"},
		{"--colour", "edge: unknown flag: --colour: see `edge --help`\n"},
		{"serve --dev a b", "edge: one site is served, 2 given: see `edge serve --help`\n"},
		{"serve --colour", "edge: unknown flag: --colour: see `edge serve --help`\n"},
		{"serve --listen", "edge: flag needs an argument: --listen: see `edge serve --help`\n"},
		{"serve --workers x", "edge: invalid argument \"x\" for \"--workers\" flag: give a whole number: see `edge serve --help`\n"},
		{"serve", "edge: no certificates: give --cert-dir DIR with PEM files, or --dev for a development certificate: see `edge serve --help`\n"},
		{"pack", "edge: one DIR is needed, 0 given: see `edge pack --help`\n"},
		{"pack a b", "edge: one DIR is needed, 2 given: see `edge pack --help`\n"},
		{"version x", "edge: unknown command \"x\" for \"edge version\": see `edge version --help`\n"},
	} {
		status, out, errs := run(t, strings.Fields(tc.args)...)
		if status != ExitUsage || errs != tc.want || out != "" {
			t.Errorf("edge %s: status %d, stdout %q, stderr %q; want status %d, stderr %q",
				tc.args, status, out, errs, ExitUsage, tc.want)
		}
	}
}

// Every command says how it is used, with an example.
func TestHelp(t *testing.T) {
	root := newRoot(Env{Out: &bytes.Buffer{}, Err: &bytes.Buffer{}})
	names := []string{""}
	for _, c := range root.Commands() {
		names = append(names, c.Name())
	}
	if len(names) < 4 {
		t.Fatalf("commands: %q", names)
	}
	for _, name := range names {
		args := append(strings.Fields(name), "--help")
		status, out, errs := run(t, args...)
		if status != ExitOK || errs != "" || !strings.Contains(out, "Usage:\n  edge") || !strings.Contains(out, "Examples:\n  edge") {
			t.Errorf("edge %q: status %d, stderr %q, stdout:\n%s", args, status, errs, out)
		}
	}
}

func TestNoArgumentsShowsHelp(t *testing.T) {
	if status, out, errs := run(t); status != ExitOK || errs != "" || !strings.Contains(out, "edge serve --dev") {
		t.Errorf("status %d, stderr %q, stdout:\n%s", status, errs, out)
	}
}

func TestCompletion(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if status, out, errs := run(t, "completion", shell); status != ExitOK || errs != "" || !strings.Contains(out, "edge") {
			t.Errorf("%s: status %d, %d bytes, stderr %q", shell, status, len(out), errs)
		}
	}
	// What a shell asks for: `edge ser<TAB>` and `edge serve --ht<TAB>`.
	for args, want := range map[string]string{"__complete ser": "serve", "__complete serve --http-": "--http-redirect"} {
		if status, out, _ := run(t, strings.Fields(args)...); status != ExitOK || !strings.Contains(out, want) {
			t.Errorf("edge %s: status %d, stdout %q, want %q", args, status, out, want)
		}
	}
}

func TestVersion(t *testing.T) {
	status, out, _ := run(t, "version")
	if status != ExitOK || !strings.HasPrefix(out, "edge ") || !strings.Contains(out, "commit") || strings.Count(out, "\n") != 1 {
		t.Errorf("status %d, stdout %q", status, out)
	}
}

func TestErrorsAreOneLine(t *testing.T) {
	if got := oneLine(multi{}); got != "first; second" {
		t.Errorf("oneLine = %q", got)
	}
}

type multi struct{}

func (multi) Error() string { return "first\n\n\tsecond\n" }
