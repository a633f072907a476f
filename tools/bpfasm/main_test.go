package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func engineFlags() []string {
	if runtime.GOARCH == "amd64" {
		return []string{"--engine=interpreter", "--engine=native"}
	}
	return []string{"--engine=interpreter"}
}

func TestPlugin(t *testing.T) {
	program := "71 10 02 00 00 00 00 00  0f 20 00 00 00 00 00 00  95 00 00 00 00 00 00 00" // ldxb r0,[r1+2]; add r0,r2; exit
	for _, e := range engineFlags() {
		var out strings.Builder
		if err := command([]string{"aa bb cc dd", e}, strings.NewReader(program), &out); err != nil || out.String() != "d0\n" {
			t.Errorf("%s: printed %q, %v", e, out.String(), err)
		}
		out.Reset()
		err := command([]string{"aa", e}, strings.NewReader(program), &out)
		if err == nil || !strings.Contains(err.Error(), "out of bounds") {
			t.Errorf("%s: with one byte of memory: %q, %v", e, out.String(), err)
		}
	}
	for _, bad := range [][]string{{"zz"}, {"--engine=none"}, {"--nothing"}} {
		if err := command(bad, strings.NewReader(program), &strings.Builder{}); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func TestPluginObject(t *testing.T) {
	object, err := os.ReadFile("../../testvectors/bpf/elf/clang19/v4.o")
	if err != nil {
		t.Fatal(err)
	}
	hex := strings.Builder{}
	for _, b := range object {
		hex.WriteString(string("0123456789abcdef"[b>>4]) + string("0123456789abcdef"[b&15]) + " ")
	}
	input := strings.Repeat("00 ", 16)
	var out strings.Builder
	if err := command([]string{input, "--elf", engineFlags()[0]}, strings.NewReader(hex.String()), &out); err != nil || out.String() != "0\n" {
		t.Errorf("printed %q, %v", out.String(), err)
	}
}

func TestAssembleAndBack(t *testing.T) {
	text := "mov %r0, 7\nlddw %r1, 0x1122334455667788\nja +0\nexit\n"
	file := filepath.Join(t.TempDir(), "p.s")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var hex, back strings.Builder
	if err := command([]string{"asm", file}, nil, &hex); err != nil {
		t.Fatal(err)
	}
	if err := command([]string{"dis"}, strings.NewReader(hex.String()), &back); err != nil || back.String() != text {
		t.Errorf("%q came back as %q, %v", text, back.String(), err)
	}
}

func TestRunCases(t *testing.T) {
	files, err := filepath.Glob("../../testvectors/bpf/*.data")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, e := range engineFlags() {
		var out strings.Builder
		if err := command(append([]string{"run", e}, files...), nil, &out); err != nil {
			t.Errorf("%s: %v\n%s", e, err, out.String())
		}
	}
	wrong := filepath.Join(t.TempDir(), "wrong.data")
	if err := os.WriteFile(wrong, []byte("-- asm\nexit\n-- result\n0x1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := command([]string{"run", engineFlags()[0], wrong}, nil, &out); err == nil || !strings.Contains(out.String(), "got r0 0x0, want 0x1") {
		t.Errorf("a wrong expectation: %v\n%s", err, out.String())
	}
}
