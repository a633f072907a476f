package cmd

import (
	"flag"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the help text into README.md")

const readmeFile = "../../README.md"

// helpStart and helpEnd enclose the help text in the README.
const helpStart, helpEnd = "<!-- edge serve --help -->\n```text\n", "```\n<!-- end -->\n"

// The README shows what `edge serve --help` says, to the letter. After a change:
//
//	go test ./edge/cmd -run Readme -update
func TestReadmeShowsTheFlags(t *testing.T) {
	status, help, errs := run(t, "serve", "--help")
	if status != ExitOK {
		t.Fatalf("edge serve --help: status %d: %s", status, errs)
	}
	b, err := os.ReadFile(readmeFile)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(b), helpStart)
	shown, after, closed := strings.Cut(rest, helpEnd)
	if !found || !closed {
		t.Fatalf("README.md has no block %q … %q", helpStart, helpEnd)
	}
	if shown == help {
		return
	}
	if !*update {
		t.Fatal("README.md and `edge serve --help` differ: go test ./edge/cmd -run Readme -update")
	}
	if err := os.WriteFile(readmeFile, []byte(before+helpStart+help+helpEnd+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// A flag with a value says what kind of value: the name of a Go type is none.
func TestFlagsSayWhatTheyTake(t *testing.T) {
	_, help, _ := run(t, "serve", "--help")
	for line := range strings.Lines(help) {
		words := strings.Fields(line)
		if len(words) < 2 || !strings.HasPrefix(words[0], "--") {
			continue
		}
		switch words[1] {
		case "string", "strings", "stringArray", "stringSlice", "int", "uint", "duration", "float":
			t.Errorf("%s takes a %q", words[0], words[1])
		}
	}
}
