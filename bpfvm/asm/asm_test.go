package asm

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"edge/bpfvm/isa"
)

// TestParseEncodings pins text to bytes, each once worked out by hand from the
// tables of RFC 9669.
func TestParseEncodings(t *testing.T) {
	for _, c := range []struct{ text, hex string }{
		{"mov %r0, -1", "b7 00 00 00 ff ff ff ff"},
		{"mov32 r1, 0xffffffff", "b4 01 00 00 ff ff ff ff"},
		{"add %r3, %r4", "0f 43 00 00 00 00 00 00"},
		{"sdiv32 %r2, 3", "34 02 01 00 03 00 00 00"},
		{"smod %r2, %r3", "9f 32 01 00 00 00 00 00"},
		{"neg %r9", "87 09 00 00 00 00 00 00"},
		{"movsx832 %r1, %r2", "bc 21 08 00 00 00 00 00"},
		{"movsx3264 %r1, %r2", "bf 21 20 00 00 00 00 00"},
		{"le16 %r1", "d4 01 00 00 10 00 00 00"},
		{"be64 %r1", "dc 01 00 00 40 00 00 00"},
		{"bswap32 %r1", "d7 01 00 00 20 00 00 00"},
		{"lddw %r1, 0x1122334455667788", "18 01 00 00 88 77 66 55 00 00 00 00 44 33 22 11"},
		{"ldxh %r1, [%r2+0x10]", "69 21 10 00 00 00 00 00"},
		{"ldxsw %r1, [%r10-4]", "81 a1 fc ff 00 00 00 00"},
		{"stb [%r1], 255", "72 01 00 00 ff 00 00 00"},
		{"stxdw [%r10 - 8], %r3", "7b 3a f8 ff 00 00 00 00"},
		{"lock add32 [%r1+4], %r2", "c3 21 04 00 00 00 00 00"},
		{"lock fetch xor [%r1+8], %r2", "db 21 08 00 a1 00 00 00"},
		{"lock cmpxchg [%r1+8], %r2", "db 21 08 00 f1 00 00 00"},
		{"x: ja x", "05 00 ff ff 00 00 00 00"},
		{"ja32 +70000", "06 00 00 00 70 11 01 00"},
		{"jsle32 %r1, -5, +2", "d6 01 02 00 fb ff ff ff"},
		{"call 6", "85 00 00 00 06 00 00 00"},
		{"call local +1", "85 10 00 00 01 00 00 00"},
		{"jne %r0, %r1, exit\nexit", "5d 10 00 00 00 00 00 00 95 00 00 00 00 00 00 00"},
	} {
		got, err := Parse(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if h := fmt.Sprintf("% x", isa.Append(nil, got...)); h != c.hex {
			t.Errorf("%s: got %s, want %s", c.text, h, c.hex)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"mov %r0", "takes 2 operands"},
		{"mov %r11, 0", "bad register"},
		{"mov32 %r0, 2147483648", "bad 32-bit number"},
		{"mov32 %r0, 0x100000000", "bad 32-bit number"},
		{"\nfrob %r0", `line 2: unknown instruction "frob"`},
		{"ja nowhere", "no label"},
		{"a:\na:", "defined twice"},
		{"ldxb %r0, %r1", "bad memory operand"},
		{"ldxb %r0, [%r1+70000]", "bad offset"},
		{"ja +40000", "does not fit 16 bits"},
		{"lock or [%r10-8]", "takes 2 operands"},
		{"lock", "unknown instruction"},
		{"lock xor8 [%r1], %r2", "unknown instruction"},
		{":", "bad label"},
	} {
		if _, err := Parse(c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %v, want an error with %q", c.text, err, c.want)
		}
	}
}

// TestRoundTrip assembles what isa formats, for every mnemonic there is.
func TestRoundTrip(t *testing.T) {
	operands := map[int][]string{
		0: {""}, 1: {"%r3", "+7", "12"},
		2: {"%r3, %r4", "%r3, -9", "%r3, [%r4-2]", "[%r3+6], %r4", "[%r3+6], 77"},
		3: {"%r3, %r4, -1", "%r3, 99, +5"},
	}
	for name, enc := range mnemonics {
		good := 0
		for _, ops := range operands[enc.operands] {
			in, err := Parse(name + " " + ops)
			if err != nil {
				continue
			}
			good++
			text := strings.Join(isa.Format(in), "\n")
			again, err := Parse(text)
			if err != nil || !reflect.DeepEqual(in, again) {
				t.Errorf("%s %s: formatted as %q: %v", name, ops, text, err)
			}
		}
		if good == 0 {
			t.Errorf("%s: no form of operands was accepted", name)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("mov %r0, 1\nl: jne %r0, 0, l\nexit")
	f.Add("lock fetch add [%r10-8], %r1")
	f.Add("call local f\nf: exit")
	f.Fuzz(func(t *testing.T, text string) {
		in, err := Parse(text)
		if err != nil {
			return
		}
		again, err := Parse(strings.Join(isa.Format(in), "\n"))
		if err != nil || len(in)+len(again) > 0 && !reflect.DeepEqual(in, again) {
			t.Fatalf("%q does not survive formatting: %v", text, err)
		}
	})
}

func TestReadCase(t *testing.T) {
	c, err := ReadCase(strings.NewReader("# about\n-- asm\nmov %r0, 1 # one\nexit\n-- mem\n01 0a\nff\n-- result\n0x1\n-- mem after\n01 0a 00\n"))
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Insns) != 2 || string(c.Mem) != "\x01\x0a\xff" || string(c.MemAfter) != "\x01\x0a\x00" || c.Result != 1 || c.Skipped {
		t.Fatalf("read %+v", c)
	}
	raw, err := ReadCase(strings.NewReader("-- raw\n0x00000001000000b7 0x95\n-- error\nno such thing\n"))
	if err != nil || raw.Error != "no such thing" || raw.Insns[0] != c.Insns[0] || raw.Insns[1] != c.Insns[1] {
		t.Fatalf("read %+v, %v", raw, err)
	}
	if c, err := ReadCase(strings.NewReader("-- result\n0x0\n")); err != nil || !c.Skipped {
		t.Fatalf("a file without a program: %+v, %v", c, err)
	}
}
