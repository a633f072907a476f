package tidy

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A dependency is worth a line: what for, and why this one.
func TestReadmeListsTheDependencies(t *testing.T) {
	listed := map[string]bool{}
	row := regexp.MustCompile("(?m)^\\| `([a-z0-9.-]+\\.[a-z]+/[^`]+)` \\| [^|]{8,} \\| [^|]{8,} \\|$")
	for _, m := range row.FindAllStringSubmatch(read(t, "README.md"), -1) {
		listed[m[1]] = true
	}
	required := requirements(t)
	for _, module := range required {
		if !listed[module] {
			t.Errorf("README.md has no complete row for %s", module)
		}
	}
	for module := range listed {
		if !slices.Contains(required, module) {
			t.Errorf("README.md lists %s, go.mod does not require it", module)
		}
	}
}

// requirements returns the modules go.mod requires directly.
func requirements(t *testing.T) []string {
	t.Helper()
	var out []string
	within := false
	for line := range strings.SplitSeq(read(t, "go.mod"), "\n") {
		f := strings.Fields(line)
		switch {
		case line == "require (":
			within = true
		case line == ")":
			within = false
		case within && len(f) == 2:
			out = append(out, f[0])
		}
	}
	if len(out) == 0 {
		t.Fatal("go.mod requires nothing: it is not read right")
	}
	return out
}

// The README is the map of the house: every room is on it.
func TestReadmeNamesEveryFolder(t *testing.T) {
	readme := read(t, "README.md")
	missing := map[string]bool{}
	for _, f := range goFiles(t) {
		if !f.test && !strings.Contains(readme, "| `"+f.pkg+"` |") {
			missing[f.pkg] = true
		}
	}
	for pkg := range missing {
		t.Errorf("README.md has no row for `%s`", pkg)
	}
}

// Whatever the README says to type after make exists.
func TestReadmeNamesRealTargets(t *testing.T) {
	makefile := read(t, "Makefile")
	found := regexp.MustCompile("(?m)(?:^    |`)make ([a-z-]+)").FindAllStringSubmatch(read(t, "README.md"), -1)
	if len(found) == 0 {
		t.Fatal("README.md names no make target")
	}
	for _, m := range found {
		if !strings.Contains(makefile, "\n"+m[1]+":") {
			t.Errorf("README.md says make %s: Makefile has no such target", m[1])
		}
	}
}
