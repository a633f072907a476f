package elf

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const objectDir = "../../testvectors/bpf/elf"

func readFile(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(objectDir, name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

var hooks = Options{Sections: []string{"edge/request", "edge/response"}}

func TestReadObject(t *testing.T) {
	for _, dir := range []string{"clang14", "clang19", "clang22"} {
		o, err := Read("maps.o", readFile(t, dir+"/maps.o"), hooks)
		if err != nil {
			t.Fatal(err)
		}
		var names, maps []string
		for _, p := range o.Programs {
			names = append(names, p.Section+" "+p.Name)
			if len(p.Lines) == 0 || p.Lines[0].Line == 0 || !strings.HasSuffix(p.Lines[0].File, "maps.c") {
				t.Errorf("%s: %s has lines %v", dir, p.Name, p.Lines)
			}
		}
		for _, m := range o.Maps {
			maps = append(maps, m.Name)
			if m.Pinned != (m.Name == "everyone") {
				t.Errorf("%s: map %s: pinned is %v", dir, m.Name, m.Pinned)
			}
		}
		if got := strings.Join(names, ", "); got != "edge/request visit, edge/response forget, edge/response pinned" {
			t.Errorf("%s: programs are %s", dir, got)
		}
		if got := strings.Join(maps, " "); got != "everyone mine totals visits" {
			t.Errorf("%s: maps are %s", dir, got)
		}
		if v := o.Maps[3]; v.Type != MapLRUHash || v.KeyBytes != 4 || v.ValueBytes != 16 || v.EntriesMax != 4 {
			t.Errorf("%s: visits is %+v", dir, v)
		}
	}
}

// TestReferences: no load of an address is left at zero without a reference.
func TestReferences(t *testing.T) {
	for _, name := range []string{"strings.o", "strings_nobtf.o", "globals.o"} {
		o, err := Read(name, readFile(t, "clang14/"+name), hooks)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range o.Programs {
			refs := map[int]Ref{}
			for _, r := range p.Refs {
				refs[r.Insn] = r
			}
			for i, in := range p.Insns {
				if in.Op == 0x18 && refs[i].Name == "" {
					t.Errorf("%s: %s: %v at %d refers to nothing", name, p.Name, in, i)
				}
			}
		}
	}
}

func TestHeaderRefused(t *testing.T) {
	good := readFile(t, "clang14/globals.o")
	change := func(at int, v ...byte) []byte {
		b := bytes.Clone(good)
		copy(b[at:], v)
		return b
	}
	for _, c := range []struct {
		what, want string
		file       []byte
	}{
		{"empty", "not an ELF object", nil},
		{"text", "not an ELF object", []byte("#!/bin/sh\n")},
		{"header alone", "malformed ELF", good[:20]},
		{"32 bits", "ELFCLASS", change(4, 1)},
		{"x86-64", "not for BPF", change(18, 62)},
		{"executable", "object file", change(16, 2)},
		{"too large", "fileBytesMax", make([]byte, fileBytesMax+1)},
		{"sections past the end", "malformed", change(40, 0xff, 0xff, 0xff)},
	} {
		_, err := Read("file.o", c.file, hooks)
		if err == nil || !strings.HasPrefix(err.Error(), "file.o: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.what, err, c.want)
		}
	}
}

// TestSectionsRefused renames sections in place.
func TestSectionsRefused(t *testing.T) {
	for _, c := range []struct{ object, from, to, want string }{
		{"globals_nobtf.o", "\x00.data\x00", "\x00.dota\x00", "section .dota: unknown"},
		{"globals_nobtf.o", "\x00.bss\x00", "\x00.bsx\x00", "section .bsx: unknown"},
		{"globals_nobtf.o", "edge/response\x00", "edge/rejoinde\x00", "is in no hook"},
		{"maps.o", "\x00.maps\x00", "\x00.mops\x00", "section .mops: unknown"},
		{"globals_nobtf.o", "\x00.rodata\x00", "\x00.data\x00.\x00", "there are two of that name"},
	} {
		b := readFile(t, "clang14/"+c.object)
		if !bytes.Contains(b, []byte(c.from)) {
			t.Fatalf("%s has no %q", c.object, c.from)
		}
		b = bytes.ReplaceAll(b, []byte(c.from), []byte(c.to))
		if _, err := Read("file.o", b, hooks); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s with %q: %v, want %q", c.object, c.to, err, c.want)
		}
	}
}

// TestHugeBss: a section of zeros that claims gigabytes takes no memory.
func TestHugeBss(t *testing.T) {
	b := readFile(t, "clang14/globals_nobtf.o")
	le := binary.LittleEndian
	at, n := le.Uint64(b[40:]), int(le.Uint16(b[60:]))
	found := false
	for i := range n {
		header := b[at+uint64(64*i):]
		if le.Uint32(header[4:]) == 8 { // SHT_NOBITS
			le.PutUint64(header[32:], 1<<40)
			found = true
		}
	}
	if !found {
		t.Fatal("no .bss")
	}
	if _, err := Read("file.o", b, hooks); err == nil || !strings.Contains(err.Error(), "dataBytesMax") {
		t.Errorf("a .bss of 1 TiB: %v", err)
	}
}

// TestDamaged cuts objects short and changes bytes: an error or an object, never
// a panic.
func TestDamaged(t *testing.T) {
	for _, name := range []string{"clang14/strings.o", "clang22/maps.o", "clang14/calls_nobtf.o"} {
		good := readFile(t, name)
		for n := 0; n < len(good); n += 61 {
			if _, err := Read("cut.o", good[:n], hooks); err == nil {
				t.Errorf("%s: cut at %d of %d it was accepted", name, n, len(good))
			}
		}
		for at := 0; at < len(good); at += 29 {
			for _, v := range []byte{0x00, 0xff, 0x80} {
				b := bytes.Clone(good)
				b[at] ^= v | 1
				Read("changed.o", b, hooks)
			}
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, name := range []string{"clang14/strings_nobtf.o", "clang22/maps.o", "clang19/calls.o", "clang14/named.o", "clang14/refused_core.o", "clang14/refused_bigendian.o"} {
		f.Add(readFile(f, name))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		o, err := Read("fuzz.o", file, Options{})
		if err != nil {
			return
		}
		for _, p := range o.Programs {
			for _, r := range p.Refs {
				if r.Insn < 0 || r.Insn >= len(p.Insns) ||
					r.Kind == RefData && (r.Index >= len(o.Data) || int(r.Offset) > len(o.Data[r.Index].Bytes)) ||
					r.Kind == RefMap && r.Index >= len(o.Maps) || r.Kind != RefHelper && r.Insn+1 >= len(p.Insns) {
					t.Fatalf("reference out of range: %+v", r)
				}
			}
		}
		for _, r := range o.DataRefs {
			if r.Index >= len(o.Data) || r.Target >= len(o.Data) || int(r.Offset)+8 > len(o.Data[r.Index].Bytes) {
				t.Fatalf("pointer out of range: %+v", r)
			}
		}
	})
}
