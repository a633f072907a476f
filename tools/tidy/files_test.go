package tidy

import (
	"bytes"
	"go/format"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// linesMax is where a file wants a split; linesUsual is where most files end.
const linesMax, linesUsual = 500, 300

// longFiles may pass linesMax, each with its reason.
var longFiles = map[string]string{}

func TestFileLength(t *testing.T) {
	used := map[string]bool{}
	for _, name := range files(t, ".go", ".c", ".h", ".s", ".sh", ".py") {
		n := strings.Count(read(t, name), "\n")
		switch {
		case n > linesMax && longFiles[name] != "":
			used[name] = true
		case n > linesMax:
			t.Errorf("%s has %d lines: past %d a file wants a split", name, n, linesMax)
		case n > linesUsual:
			t.Logf("%s has %d lines", name, n)
		}
	}
	for name := range longFiles {
		if !used[name] {
			t.Errorf("%s is excused for its length, and no longer needs to be", name)
		}
	}
}

func TestFormatting(t *testing.T) {
	for _, name := range files(t, ".go") {
		src := []byte(read(t, name))
		if out, err := format.Source(src); err != nil || !bytes.Equal(src, out) {
			t.Errorf("%s is not as gofmt leaves it (%v)", name, err)
		}
	}
}

func TestEveryPackageSaysWhatItIsFor(t *testing.T) {
	said := map[string]bool{}
	for _, f := range goFiles(t) {
		if !f.test {
			said[f.pkg] = said[f.pkg] || f.ast.Doc != nil
		}
	}
	for pkg, ok := range said {
		if !ok {
			t.Errorf("package %s has no package comment", pkg)
		}
	}
}

// Names that say nothing about what is inside.
var emptyNames = []string{"util", "utils", "common", "misc", "shared"}

func TestNoEmptyNames(t *testing.T) {
	for _, f := range goFiles(t) {
		base := strings.TrimSuffix(strings.TrimSuffix(path.Base(f.name), ".go"), "_test")
		if slices.Contains(emptyNames, path.Base(f.pkg)) || slices.Contains(emptyNames, base) {
			t.Errorf("%s: a name should say what is inside", f.name)
		}
	}
}

// Paths of one machine have no place in a tree that others read. The pattern does
// not match itself.
var foreign = regexp.MustCompile(`/(?:root|work)/[a-z.]|GOPROXY=[h]ttp`)

func TestNoMachinePaths(t *testing.T) {
	for _, name := range files(t) {
		if strings.HasPrefix(name, "testvectors/") || strings.Contains(name, "/testdata/") {
			continue
		}
		for i, line := range strings.Split(read(t, name), "\n") {
			if m := foreign.FindString(line); m != "" {
				t.Errorf("%s:%d: %q belongs to a machine, not to the project", name, i+1, m)
			}
		}
	}
}

// vectorFacts is what a folder of vectors must tell, and words that show it does.
var vectorFacts = map[string][]string{
	"where they come from":   {"origin", "for this project", " from "},
	"their licence":          {"licen"},
	"how to make them again": {"refresh", "recorded"},
}

// Vectors come from elsewhere, or were made once: each folder says so.
func TestVectorsHaveAnOrigin(t *testing.T) {
	folders := map[string]bool{}
	for _, name := range files(t) {
		if rest, ok := strings.CutPrefix(name, "testvectors/"); ok {
			if folder, _, deeper := strings.Cut(rest, "/"); deeper {
				folders[folder] = true
			}
		}
	}
	for folder := range folders {
		text := strings.ToLower(read(t, "testvectors/"+folder+"/README.md"))
		for what, words := range vectorFacts {
			if !slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) }) {
				t.Errorf("testvectors/%s/README.md does not say %s (none of %q)", folder, what, words)
			}
		}
	}
}
