package tidy

import (
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// A panic is for our own mistakes and says so. The simulated reactor is part of
// tests: there the mistake is the test's, and the text is for its author.
func TestPanicsSayBug(t *testing.T) {
	for _, f := range goFiles(t) {
		if f.test || f.pkg == "edge/reactor/sim" {
			continue
		}
		whole := parseWhole(t, f.name)
		ast.Inspect(whole, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) != 1 {
				return true
			}
			if id, ok := call.Fun.(*ast.Ident); ok && id.Name == "panic" && !startsWithBug(call.Args[0]) {
				t.Errorf("%s: panic(%s) does not begin with \"BUG: \"", f.name, text(call.Args[0]))
			}
			return true
		})
	}
}

func parseWhole(t *testing.T, name string) *ast.File {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, name), nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// startsWithBug looks at the leftmost string of an expression: a literal, the
// left end of a concatenation, the format of a call.
func startsWithBug(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.BasicLit:
		return strings.HasPrefix(strings.Trim(e.Value, "\"`"), "BUG: ")
	case *ast.BinaryExpr:
		return startsWithBug(e.X)
	case *ast.CallExpr:
		return len(e.Args) > 0 && startsWithBug(e.Args[0])
	}
	return false
}

func text(e ast.Expr) string {
	var b strings.Builder
	if err := printer.Fprint(&b, token.NewFileSet(), e); err != nil {
		return "?"
	}
	return b.String()
}
