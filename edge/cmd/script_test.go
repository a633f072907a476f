package cmd

import (
	"archive/tar"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"edge/edge/sdk"
)

const scriptVectors = "../../testvectors/bpf/scripts/"

func needClang(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("clang"); err != nil {
		t.Skip("clang is not installed: C is not compiled here")
	}
}

func object(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(scriptVectors + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestSDK(t *testing.T) {
	if status, out, errs := run(t, "sdk"); status != ExitOK || out != sdk.Header || errs != "" {
		t.Errorf("status %d, %d bytes, stderr %q", status, len(out), errs)
	}
}

func TestScriptCheck(t *testing.T) {
	status, out, errs := run(t, "script", "check", scriptVectors+"header.o", scriptVectors+"loop.o")
	if status != ExitOK || errs != "" {
		t.Fatalf("status %d, stderr %q", status, errs)
	}
	for _, want := range []string{
		"header.o: good, ", "  edge/request header: ", " instructions, stack 512 bytes at most\n",
		"    calls edge_request_method, edge_request_target, edge_header_set\n", "loop.o: good, ", "  edge/response late: ",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	text := filepath.Join(t.TempDir(), "text.o")
	if err := os.WriteFile(text, []byte("no object"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ file, want string }{
		{text, "edge: " + text + ": "},
		{"../../testvectors/bpf/elf/clang14/refused_hook.o", "refused_hook.o: "},
		{"nowhere.o", "nowhere.o: no such file"},
	} {
		if status, out, errs := run(t, "script", "check", tc.file); status != ExitFailure || out != "" || !strings.Contains(errs, tc.want) {
			t.Errorf("%s: status %d, stdout %q, stderr %q, want %q", tc.file, status, out, errs, tc.want)
		}
	}
}

// Every program in C compiles without a warning, and passes.
func TestScriptsCompile(t *testing.T) {
	needClang(t)
	all, err := filepath.Glob(scriptVectors + "*.c")
	if err != nil || len(all) == 0 {
		t.Fatalf("%d programs, %v", len(all), err)
	}
	more, _ := filepath.Glob("programs/*.c")
	examples, _ := filepath.Glob("../../examples/site/.edge/scripts/*.c")
	all = append(append(all, more...), examples...)
	status, out, errs := run(t, append([]string{"script", "check"}, all...)...)
	if status != ExitOK || errs != "" || strings.Count(out, ": good, ") != len(all) {
		t.Errorf("status %d, stdout %q, stderr %q", status, out, errs)
	}
}

func TestCompileErrors(t *testing.T) {
	needClang(t)
	dir := t.TempDir()
	for name, tc := range map[string]struct{ source, want string }{
		"syntax.c": {"int x;\nint y = ;\n", "syntax.c:2:9: error: expected expression"},
		"hook.c":   {"#include \"edge.h\"\nSEC(\"edge/nothing\") int f(void *c) { return 0; }\n", "edge/nothing"},
		"none.c":   {"#include \"edge.h\"\n", "no program: there is no global function"},
		"stack.c":  {"#include \"edge.h\"\nSEC(\"edge/request\") int f(void *c) { char b[600]; edge_peer(b, 600); return 0; }\n", "stack.c:2:"},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(tc.source), 0o644); err != nil {
			t.Fatal(err)
		}
		if status, _, errs := run(t, "script", "check", path); status != ExitFailure || !strings.Contains(errs, tc.want) || !strings.Contains(errs, path) {
			t.Errorf("%s: status %d, stderr %q, want %q", name, status, errs, tc.want)
		}
	}
	warned := filepath.Join(dir, "warned.c")
	source := "#include \"edge.h\"\nSEC(\"edge/request\") int f(void *c) { int unused; return 0; }\n"
	if err := os.WriteFile(warned, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	if status, _, errs := run(t, "script", "check", warned); status != ExitOK || !strings.Contains(errs, "warned.c:2:42: warning: unused variable") {
		t.Errorf("status %d, stderr %q", status, errs)
	}
}

// Without clang the error says what to do.
func TestNoCompiler(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	status, _, errs := run(t, "script", "check", scriptVectors+"header.c")
	if want := "header.c: clang is not installed: install it (apt install clang"; status != ExitFailure || !strings.Contains(errs, want) {
		t.Errorf("status %d, stderr %q", status, errs)
	}
}

func TestPackTakesObjects(t *testing.T) {
	dir := tree(t, map[string]string{"index.html": "x", ".edge/scripts/a.o": object(t, "header.o"), ".edge/scripts/own.h": "", ".edge/notes": "y"})
	status, out, errs := run(t, "pack", dir)
	if status != ExitOK {
		t.Fatalf("status %d, stderr %q", status, errs)
	}
	if got, want := names(t, []byte(out)), []string{".edge/notes", ".edge/scripts/a.o", "index.html"}; !slices.Equal(got, want) {
		t.Errorf("packed %q, want %q", got, want)
	}
}

func TestPackRefusesBadPrograms(t *testing.T) {
	for name, tc := range map[string]struct {
		files map[string]string
		want  string
	}{
		"no object": {map[string]string{".edge/scripts/a.o": "text"}, ".edge/scripts/a.o: "},
		"twice":     {map[string]string{".edge/scripts/a.o": object(t, "header.o"), ".edge/scripts/a.c": object(t, "header.c")}, "it is there as C and as an object"},
	} {
		if name == "twice" {
			needClang(t)
		}
		if status, _, errs := run(t, "pack", tree(t, tc.files)); status != ExitFailure || !strings.Contains(errs, tc.want) {
			t.Errorf("%s: status %d, stderr %q, want %q", name, status, errs, tc.want)
		}
	}
}

// What pack compiles is the same bytes wherever the site lies.
func TestPackCompiles(t *testing.T) {
	needClang(t)
	files := map[string]string{"index.html": "x", ".edge/scripts/b.c": object(t, "header.c"), ".edge/scripts/a.c": "#include \"own.h\"\n" + object(t, "order.c"), ".edge/scripts/own.h": ""}
	var objects [][]byte
	for range 2 {
		status, out, errs := run(t, "pack", tree(t, files))
		if status != ExitOK || errs != "" {
			t.Fatalf("status %d, stderr %q", status, errs)
		}
		if got, want := names(t, []byte(out)), []string{".edge/scripts/a.o", ".edge/scripts/b.o", "index.html"}; !slices.Equal(got, want) {
			t.Fatalf("packed %q, want %q", got, want)
		}
		r := tar.NewReader(strings.NewReader(out))
		for {
			h, err := r.Next()
			if err != nil {
				t.Fatal(err)
			}
			if h.Name == ".edge/scripts/b.o" {
				break
			}
		}
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		objects = append(objects, b)
	}
	if !bytes.Equal(objects[0], objects[1]) {
		t.Error("the objects differ from place to place")
	}
}
