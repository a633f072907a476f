package tidy

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// root is the top of the tree, seen from this folder.
const root = "../.."

// skipped are folders that hold nothing of ours to judge.
var skipped = []string{".git", "bin", ".state"}

// files returns the slash paths below the root of all files whose name ends in
// one of the suffixes; of all files when there is none.
func files(t *testing.T, suffixes ...string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		switch {
		case d.IsDir() && slices.Contains(skipped, rel):
			return fs.SkipDir
		case d.Type().IsRegular() && hasSuffix(rel, suffixes):
			out = append(out, rel)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func hasSuffix(name string, suffixes []string) bool {
	return len(suffixes) == 0 || slices.ContainsFunc(suffixes, func(s string) bool { return strings.HasSuffix(name, s) })
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// goFile is one Go file, parsed as far as its imports.
type goFile struct {
	name    string // slash path below the root
	pkg     string // folder: "tlsstack/wire"
	test    bool
	ast     *ast.File
	imports []string
}

// goFiles parses every Go file of the tree. Build constraints are ignored: the
// rules hold for every platform.
func goFiles(t *testing.T) []goFile {
	t.Helper()
	var out []goFile
	fset := token.NewFileSet()
	for _, name := range files(t, ".go") {
		if strings.Contains(name, "/testdata/") {
			continue
		}
		f, err := parser.ParseFile(fset, filepath.Join(root, name), nil, parser.ImportsOnly|parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		g := goFile{name: name, pkg: path.Dir(name), test: strings.HasSuffix(name, "_test.go"), ast: f}
		for _, i := range f.Imports {
			g.imports = append(g.imports, strings.Trim(i.Path.Value, `"`))
		}
		out = append(out, g)
	}
	if len(out) == 0 {
		t.Fatal("no Go files found: the root is wrong")
	}
	return out
}
