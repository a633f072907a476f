package sdk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// ErrNoCompiler means that there is no clang to compile with.
var ErrNoCompiler = errors.New("clang is not installed: install it (apt install clang, dnf install clang, apk add clang), " +
	"or compile elsewhere and give the .o file")

const (
	compiler = "clang"
	// compileTime is longest that one file may take: a program has some hundred
	// lines, and takes a fraction of a second.
	compileTime = time.Minute
	// messageBytesMax is most of what the compiler says that is passed on.
	messageBytesMax = 4 << 10
)

// compileFlags: -g has the maps' types and the source lines of traps; without
// builtins a loop that copies stays one, since there is no memcpy to call.
var compileFlags = []string{
	"-target", "bpfel", "-mcpu=v3", "-O2", "-g", "-std=gnu11",
	"-ffreestanding", "-fno-builtin", "-fno-color-diagnostics", "-fno-caret-diagnostics",
	"-Wall", "-fdebug-compilation-dir=.",
}

// Compile makes an object of one C file. name is how the file is called in errors
// and in the object's line information; dir is where what it includes with quotes
// is looked for, none if empty. edge.h is always found.
//
// What the compiler finds wrong is the error, its first line with file, line and
// column. Warnings go to warn, if it is not nil, a line each.
func Compile(ctx context.Context, name string, source []byte, dir string, warn func(line string)) ([]byte, error) {
	path, err := exec.LookPath(compiler)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, ErrNoCompiler)
	}
	work, err := os.MkdirTemp("", "edge-compile-*")
	if err != nil {
		return nil, fmt.Errorf("%s: a directory to compile in: %w", name, err)
	}
	defer os.RemoveAll(work)
	if err := os.WriteFile(filepath.Join(work, HeaderName), []byte(Header), 0o644); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	ctx, cancel := context.WithTimeout(ctx, compileTime)
	defer cancel()
	output := filepath.Join(work, "out.o")
	cmd := exec.CommandContext(ctx, path, arguments(work, dir, output)...)
	// The name goes in as a line directive: the file itself comes from memory.
	cmd.Stdin = strings.NewReader(fmt.Sprintf("#line 1 %s\n%s", quoteC(name), source))
	said := &limitedBuffer{}
	cmd.Stderr = said
	err = cmd.Run()
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%s: compiling: %w", name, ctx.Err())
	case err != nil:
		return nil, compileError(name, said.String(), err)
	}
	if warn != nil {
		for line := range strings.Lines(said.String()) {
			if line = strings.TrimSpace(line); strings.Contains(line, "warning:") {
				warn(line)
			}
		}
	}
	object, err := os.ReadFile(output)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return object, nil
}

func arguments(work, dir, output string) []string {
	// Where things lie here is left out of the object: it is the same everywhere.
	args := append([]string{}, compileFlags...)
	args = append(args, "-ffile-prefix-map="+work+"/=")
	if dir != "" {
		args = append(args, "-iquote", dir, "-ffile-prefix-map="+strings.TrimSuffix(dir, "/")+"/=")
	}
	return append(args, "-I", work, "-x", "c", "-c", "-", "-o", output)
}

// compileError says what clang found: its errors and notes, without the lines
// that count them.
func compileError(name, said string, err error) error {
	var lines []string
	for line := range strings.Lines(said) {
		line = strings.TrimSpace(line)
		if strings.Contains(line, ": error: ") || strings.Contains(line, ": fatal error: ") || strings.Contains(line, ": note: ") {
			lines = append(lines, line)
		}
	}
	switch {
	case len(lines) > 0:
		return errors.New(strings.Join(lines, "\n"))
	case strings.TrimSpace(said) != "": // a refusal of another kind
		return fmt.Errorf("%s: %s: %s", name, compiler, strings.TrimSpace(said))
	}
	return fmt.Errorf("%s: %s: %w", name, compiler, err)
}

// quoteC makes a C string literal of a file name.
func quoteC(name string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(name) {
		switch c := name[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < 0x20 || c == 0x7f:
			fmt.Fprintf(&b, "\\%03o", c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// limitedBuffer keeps the first messageBytesMax bytes.
type limitedBuffer struct{ bytes.Buffer }

func (b *limitedBuffer) Write(p []byte) (int, error) {
	if room := messageBytesMax - b.Len(); room > 0 {
		b.Buffer.Write(p[:min(len(p), room)])
	}
	return len(p), nil
}
