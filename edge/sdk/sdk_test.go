package sdk

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"
)

func TestCompile(t *testing.T) {
	if _, err := exec.LookPath(compiler); err != nil {
		t.Skip("clang is not installed: C is not compiled here")
	}
	const head = "#include \"edge.h\"\nSEC(\"edge/request\") int f(struct edge_ctx *ctx) { "
	for name, tc := range map[string]struct{ source, fails, warns string }{
		"good.c":            {head + "return EDGE_NEXT; }\n", "", ""},
		"syntax.c":          {head + "return }\n", "syntax.c:2:", ""},
		"a \"quoted\" \\.c": {head + "return x; }\n", "use of undeclared identifier 'x'", ""},
		"missing.c":         {"#include \"nowhere.h\"\n", "missing.c:1:10: fatal error: 'nowhere.h' file not found", ""},
		"warned.c":          {head + "int unused; return 0; }\n", "", "warned.c:2:"},
		"builtin.c":         {head + "static char a[300], b[300]; for (int i = 0; i < 300; i++) a[i] = b[i]; return a[ctx->hook]; }\n", "", ""},
	} {
		var warned string
		object, err := Compile(t.Context(), name, []byte(tc.source), "", func(line string) { warned += line })
		switch {
		case (err != nil) != (tc.fails != ""), err != nil && !strings.Contains(err.Error(), tc.fails):
			t.Errorf("%s: %v, want %q", name, err, tc.fails)
		case err == nil && !strings.HasPrefix(string(object), "\x7fELF"):
			t.Errorf("%s: no object", name)
		case (warned != "") != (tc.warns != "") || !strings.Contains(warned, tc.warns):
			t.Errorf("%s: warnings %q, want %q", name, warned, tc.warns)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Compile(ended, "good.c", []byte(head+"return 0; }\n"), "", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("after its context has ended: %v", err)
	}
}

func TestNoCompiler(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := Compile(t.Context(), "x.c", nil, "", nil); !errors.Is(err, ErrNoCompiler) || !strings.HasPrefix(err.Error(), "x.c: ") {
		t.Errorf("error %v", err)
	}
}

func TestLimitedBuffer(t *testing.T) {
	var b limitedBuffer
	for range 3 {
		if n, err := b.Write(make([]byte, messageBytesMax/2+1)); n != messageBytesMax/2+1 || err != nil {
			t.Fatalf("Write: %d, %v", n, err)
		}
	}
	if b.Len() != messageBytesMax {
		t.Errorf("%d bytes are kept", b.Len())
	}
}
