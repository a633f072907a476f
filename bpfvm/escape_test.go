package bpfvm

// escape_test.go: attempts to reach memory outside what is allowed, checked against
// bounds worked out here, not by the machine.

import (
	"bytes"
	"fmt"
	"testing"

	"edge/bpfvm/elf"
	"edge/bpfvm/isa"
)

// access builds a program that makes one access at the address in the input's first
// eight bytes plus off.
func accessProgram(kind string, off int16) ([]isa.Insn, int) {
	sizes := map[byte]uint8{'1': isa.SizeB, '2': isa.SizeH, '4': isa.SizeW, '8': isa.SizeDW}
	size := sizes[kind[len(kind)-1]]
	var in isa.Insn
	switch kind[:len(kind)-1] {
	case "load":
		in = isa.New(isa.ClassLDX|isa.ModeMEM|size, isa.R0, isa.R3, off, 0)
	case "signed":
		in = isa.New(isa.ClassLDX|isa.ModeMEMSX|size, isa.R0, isa.R3, off, 0)
	case "store":
		in = isa.New(isa.ClassSTX|isa.ModeMEM|size, isa.R3, isa.R4, off, 0)
	case "imm":
		in = isa.New(isa.ClassST|isa.ModeMEM|size, isa.R3, 0, off, 0x11)
	case "atomic":
		in = isa.New(isa.ClassSTX|isa.ModeATOMIC|size, isa.R3, isa.R4, off, isa.AtomicOr)
	case "fetch":
		in = isa.New(isa.ClassSTX|isa.ModeATOMIC|size, isa.R3, isa.R4, off, isa.AtomicXor|isa.AtomicFetch)
	case "swap":
		in = isa.New(isa.ClassSTX|isa.ModeATOMIC|size, isa.R3, isa.R4, off, isa.AtomicXchg)
	case "compare":
		in = isa.New(isa.ClassSTX|isa.ModeATOMIC|size, isa.R3, isa.R4, off, isa.AtomicCmpxchg)
	}
	return []isa.Insn{
		isa.New(isa.ClassLDX|isa.ModeMEM|isa.SizeDW, isa.R3, isa.R1, 0, 0),
		in,
		isa.New(isa.OpExit, 0, 0, 0, 0),
	}, in.Width()
}

func accessKinds() []string {
	var kinds []string
	for _, k := range []string{"load", "store", "imm"} {
		kinds = append(kinds, k+"1", k+"2", k+"4", k+"8")
	}
	kinds = append(kinds, "signed1", "signed2", "signed4")
	for _, k := range []string{"atomic", "fetch", "swap", "compare"} {
		kinds = append(kinds, k+"4", k+"8")
	}
	return kinds
}

// TestEscapes makes every kind of access around every bound, from below and above,
// directly and by way of the instruction's offset.
func TestEscapes(t *testing.T) {
	for _, writable := range []bool{false, true} {
		for _, kind := range accessKinds() {
			for _, off := range []int16{0, 8, -8, 32767, -32768} {
				eachEngine(t, func(t *testing.T, e Engine) { escape(t, e, kind, off, writable) })
			}
		}
	}
}

func escape(t *testing.T, e Engine, kind string, off int16, writable bool) {
	insns, width := accessProgram(kind, off)
	parsed := &elf.Object{
		Programs: []elf.Program{{Name: kind, Insns: insns}},
		Data: []elf.Data{
			{Name: ".rodata", Bytes: make([]byte, 200), ReadOnly: true},
			{Name: ".data", Bytes: make([]byte, 200)},
		},
	}
	o, err := newObject("", parsed, Options{Engine: e, InputMax: 100, InputWritable: writable})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	inst, err := o.NewInstance()
	if err != nil {
		t.Fatal(err)
	}
	defer inst.Close()
	const inputLen = 72
	l := o.layout
	// What may be accessed, in addresses: loads from lo, stores from mid, both to hi.
	lo, mid := uint64(guestBase), guestBase+uint64(l.stack)
	hi := guestBase + uint64(l.input) + inputLen
	storeHi := hi
	if !writable {
		storeHi = guestBase + uint64(l.input)
	}
	store := kind[0] != 'l' && kind[:2] != "si"
	atomic := kind[0] == 'a' || kind[0] == 'f' || kind[:2] == "sw" || kind[0] == 'c'
	var around []uint64
	for _, edge := range []uint64{0, lo, mid, hi, storeHi, guestBase + uint64(l.size), 1 << 32, 1<<32 + lo, 1 << 63, 1<<63 + lo, mapHandle(0)} {
		for d := -9; d <= 9; d++ {
			around = append(around, edge+uint64(d))
		}
	}
	outside := [2][]byte{inst.arena.mapping[:statePage-int(stateBytes)], inst.arena.mem[l.size:]}
	for _, part := range outside {
		for i := range part {
			part[i] = sentinel
		}
	}
	var input [inputLen]byte
	var task Task
	for _, addr := range around {
		base := addr - uint64(int64(off))
		for i := range 8 {
			input[i] = byte(base >> (8 * i))
		}
		if err := task.Start(inst, o.Programs()[0], input[:]); err != nil {
			t.Fatal(err)
		}
		from, to := lo, hi
		if store {
			from, to = mid, storeHi
		}
		want := Done
		if addr < from || addr > to-uint64(width) || atomic && addr%uint64(width) != 0 {
			want = Trap
		}
		if got := task.Run(100); got != want {
			t.Fatalf("%s at %#x (offset %d), writable input %v: %v, want %v", kind, addr, off, writable, got, want)
		}
		if want == Trap && !bytes.Contains([]byte(task.Trap().Reason), fmt.Appendf(nil, "address %#x ", addr)) {
			t.Fatalf("%s at %#x (offset %d): the trap says %q", kind, addr, off, task.Trap().Reason)
		}
	}
	for _, part := range outside {
		for _, b := range part {
			if b != sentinel {
				t.Fatalf("%s: memory around the arena was written", kind)
			}
		}
	}
}

// TestStateIsOutOfReach: no address that a masked offset can form lies below the
// anchor, and none above the mapping.
func TestStateIsOutOfReach(t *testing.T) {
	l := loadText(t, Interpreter, "exit")
	a, lay := l.inst.arena, l.object.layout
	if lay.size&(lay.size-1) != 0 {
		t.Errorf("arena of %#x bytes is not a power of two", lay.size)
	}
	if highest := uint64(lay.size-1) + uint64(lay.stack) + 8; highest > uint64(len(a.mem)) {
		t.Errorf("a masked store can reach offset %#x of %#x", highest, len(a.mem))
	}
	if stateBytes > statePage {
		t.Errorf("the state has %d bytes, the page before the arena %d", stateBytes, statePage)
	}
	if uintptr(a.anchor)-stateBytes < addressOf(a.mapping) {
		t.Error("the state begins before the mapping")
	}
}
