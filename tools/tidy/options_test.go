package tidy

import (
	"go/ast"
	"strings"
	"testing"
)

// derived are fields that are read through a method of the configuration.
var derived = map[string]string{"StateDir": "DevDir"}

// A flag that nobody reads does nothing, and a flag that does nothing is a lie:
// every field of the configuration is read somewhere outside its package.
func TestEveryOptionIsRead(t *testing.T) {
	read := map[string]bool{}
	for _, f := range goFiles(t) {
		if f.test || !matches("edge/...", f.pkg) && f.pkg != "edge" || f.pkg == "edge/config" {
			continue
		}
		ast.Inspect(parseWhole(t, f.name), func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				read[s.Sel.Name] = true
			}
			return true
		})
	}
	fields := configFields(t)
	for _, name := range fields {
		if !read[name] && !read[derived[name]] {
			t.Errorf("config field %s is read by nobody", name)
		}
	}
	if len(fields) < 10 {
		t.Fatalf("found only the fields %q", fields)
	}
}

// configFields are the fields of the structs that the flags fill.
func configFields(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, name := range files(t, ".go") {
		if !strings.HasPrefix(name, "edge/config/") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		ast.Inspect(parseWhole(t, name), func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok || spec.Name.Name != "Config" && spec.Name.Name != "Limits" && spec.Name.Name != "Timeouts" {
				return true
			}
			for _, f := range spec.Type.(*ast.StructType).Fields.List {
				for _, id := range f.Names {
					out = append(out, id.Name)
				}
			}
			return false
		})
	}
	return out
}
