package bpfvm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"edge/bpfvm/elf"
)

func key32(v uint32) []byte { return binary.LittleEndian.AppendUint32(nil, v) }
func key64(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }

func TestObjectMaps(t *testing.T) {
	eachObject(t, "maps.o", func(g *guest) {
		for n := uint64(1); n <= 3; n++ {
			g.want("visit", 7, n)
		}
		value := make([]byte, 16)
		visits := g.object.Map("visits")
		if visits == nil || !visits.Lookup(key32(7), value) || binary.LittleEndian.Uint64(value) != 3 {
			g.Errorf("visits[7] is % x", value)
		}
		// Four fit; the one least recently used goes. 7 was just used.
		g.want("visit", 1, 1)
		g.want("visit", 7, 4)
		for k := uint32(2); k < 5; k++ {
			g.want("visit", k, 1)
		}
		g.want("visit", 7, 5)
		g.want("visit", 1, 1)
		if n := visits.Len(); n != 4 {
			g.Errorf("visits has %d entries", n)
		}
		// Four runs found their entry: an atomic in shared memory, and this worker's.
		if !g.object.Map("totals").Lookup(key32(0), value[:8]) || binary.LittleEndian.Uint64(value) != 4 {
			g.Errorf("totals[0] is % x", value[:8])
		}
		if g.object.Map("mine") != nil {
			g.Error("a per-CPU map is shared")
		}
		if !g.inst.Map("mine").Lookup(key32(0), value[:8]) || binary.LittleEndian.Uint64(value) != 4 {
			g.Errorf("mine[0] is % x", value[:8])
		}
		g.want("pinned", 5, 1)
		g.want("pinned", 5, 2)
		g.want("forget", 5, 0)
		g.want("forget", 5, ^uint64(1)) // ENOENT
	})
}

// TestMapsBetweenWorkers: shared maps are the same memory in every instance,
// per-CPU ones are not.
func TestMapsBetweenWorkers(t *testing.T) {
	eachObject(t, "maps.o", func(g *guest) {
		second, err := g.object.NewInstance()
		if err != nil {
			g.Fatal(err)
		}
		defer second.Close()
		other := &guest{TB: g.TB, object: g.object, inst: second}
		g.want("visit", 9, 1)
		var wg sync.WaitGroup
		const rounds = 2000
		for _, worker := range []*guest{g, other} {
			wg.Add(1)
			go func() {
				defer wg.Done()
				for range rounds {
					if _, err := worker.run("visit", 9); err != nil {
						worker.Error(err)
					}
				}
			}()
		}
		wg.Wait()
		value := make([]byte, 8)
		g.object.Map("totals").Lookup(key32(0), value)
		if n := binary.LittleEndian.Uint64(value); n != 2*rounds {
			g.Errorf("two workers counted %d, want %d", n, 2*rounds)
		}
		for _, worker := range []*guest{g, other} {
			worker.inst.Map("mine").Lookup(key32(0), value)
			if n := binary.LittleEndian.Uint64(value); n != rounds {
				g.Errorf("a worker's own counter is %d, want %d", n, rounds)
			}
		}
	})
}

// TestMapsOverReload: the next load of the same file finds the maps as they were;
// a pinned one is common to all files; a map of another shape is another map.
func TestMapsOverReload(t *testing.T) {
	var store MapStore
	load := func(file string) *guest {
		o, err := loadFile(t, file, Options{Engine: Interpreter, Maps: &store, InputMax: 64})
		if err != nil {
			t.Fatal(err)
		}
		inst, err := o.NewInstance()
		if err != nil {
			t.Fatal(err)
		}
		return &guest{TB: t, object: o, inst: inst}
	}
	unload := func(g *guest) {
		g.inst.Close()
		g.object.Close()
	}
	files := objects(t, "maps.o")
	if len(files) < 2 {
		t.Skip("two objects are needed")
	}
	first := load(files[0])
	first.want("visit", 1, 1)
	first.want("pinned", 1, 1)
	again := load(files[0])
	again.want("visit", 1, 2)
	unload(first)
	again.want("visit", 1, 3)
	another := load(files[1])
	another.want("visit", 1, 1)
	another.want("pinned", 1, 2)
	unload(again)
	unload(another)
	if len(store.maps) != 0 {
		t.Errorf("%d maps are left when nobody uses them", len(store.maps))
	}
	fresh := load(files[0])
	fresh.want("pinned", 1, 1)
	unload(fresh)

	spec := MapSpec{Name: "m", Type: elf.MapHash, KeyBytes: 4, ValueBytes: 8, EntriesMax: 10}
	a, err := store.acquire("o", spec, false)
	if err != nil {
		t.Fatal(err)
	}
	spec.EntriesMax = 11
	b, err := store.acquire("o", spec, false)
	if err != nil {
		t.Fatal(err)
	}
	if a == b {
		t.Error("maps of different shape are one")
	}
	store.release(a)
	store.release(b)
}

// TestMapModel runs random operations against a Go map.
func TestMapModel(t *testing.T) {
	for _, kind := range []elf.MapType{elf.MapPerCPUHash, elf.MapLRUPerCPU} {
		spec := MapSpec{Name: "m", Type: kind, KeyBytes: 8, ValueBytes: 8, EntriesMax: 50}
		m := &Map{spec: spec, values: make([]byte, spec.valuesBytes()), index: newTable(spec)}
		model := map[uint64]uint64{}
		var order []uint64 // least recently used first
		touch := func(k uint64) {
			for i, have := range order {
				if have == k {
					order = append(order[:i], order[i+1:]...)
					break
				}
			}
			order = append(order, k)
		}
		r := rand.New(rand.NewPCG(3, uint64(kind)))
		for step := range 20000 {
			k, v := r.Uint64N(80), r.Uint64()
			flag := UpdateFlag(r.IntN(3))
			_, there := model[k]
			switch r.IntN(4) {
			case 0:
				err := m.Delete(key64(k))
				if there != (err == nil) {
					t.Fatalf("step %d: delete %d: %v, there %v", step, k, err, there)
				}
				delete(model, k)
				for i, have := range order {
					if have == k {
						order = append(order[:i], order[i+1:]...)
						break
					}
				}
			case 1:
				var want error
				switch {
				case there && flag == UpdateNoExist:
					want = ErrKeyExists
				case !there && flag == UpdateExist:
					want = ErrKeyNotFound
				case !there && len(model) == 50 && !spec.isLRU():
					want = ErrMapFull
				}
				if err := m.Update(key64(k), key64(v), flag); err != want {
					t.Fatalf("step %d: update %d flag %d: %v, want %v", step, k, flag, err, want)
				}
				if there {
					touch(k) // even an update that is refused has looked the key up
				}
				if want == nil {
					if !there && len(model) == 50 {
						delete(model, order[0])
						order = order[1:]
					}
					model[k] = v
					touch(k)
				}
			default:
				value := make([]byte, 8)
				if got := m.Lookup(key64(k), value); got != there || there && binary.LittleEndian.Uint64(value) != model[k] {
					t.Fatalf("step %d: lookup %d: %v % x, want %v %x", step, k, got, value, there, model[k])
				}
				if there {
					touch(k)
				}
			}
			if m.Len() != len(model) {
				t.Fatalf("step %d: %d entries, want %d", step, m.Len(), len(model))
			}
		}
		seen := map[uint64]uint64{}
		m.Each(func(k, v []byte) bool {
			seen[binary.LittleEndian.Uint64(k)] = binary.LittleEndian.Uint64(v)
			return true
		})
		if fmt.Sprint(seen) != fmt.Sprint(model) {
			t.Errorf("Each gave\n%v, want\n%v", seen, model)
		}
	}
}

func TestArrayMap(t *testing.T) {
	spec := MapSpec{Name: "a", Type: elf.MapPerCPUArr, KeyBytes: 4, ValueBytes: 5, EntriesMax: 3}
	m := &Map{spec: spec, values: make([]byte, spec.valuesBytes()), index: newTable(spec)}
	for i := range uint32(3) {
		if err := m.Update(key32(i), []byte{byte(i), 1, 2, 3, 4}, UpdateAny); err != nil {
			t.Error(err)
		}
	}
	value := make([]byte, 5)
	if !m.Lookup(key32(2), value) || value[0] != 2 || value[4] != 4 {
		t.Errorf("a[2] is % x", value)
	}
	for name, c := range map[string]struct {
		err, want error
	}{
		"index 3":        {m.Update(key32(3), value, UpdateAny), ErrMapFull},
		"create":         {m.Update(key32(0), value, UpdateNoExist), ErrKeyExists},
		"short value":    {m.Update(key32(0), value[:4], UpdateAny), ErrMapArgument},
		"unknown flag":   {m.Update(key32(0), value, 4), ErrMapArgument},
		"long key":       {m.Update(key64(0), value, UpdateAny), ErrMapArgument},
		"delete":         {m.Delete(key32(0)), ErrMapArgument},
		"delete long":    {m.Delete(key64(0)), ErrMapArgument},
		"replace index0": {m.Update(key32(0), value, UpdateExist), nil},
	} {
		if !errors.Is(c.err, c.want) {
			t.Errorf("%s: %v, want %v", name, c.err, c.want)
		}
	}
	n := 0
	m.Each(func(k, _ []byte) bool { n++; return binary.LittleEndian.Uint32(k) < 1 })
	if n != 2 || m.Len() != 3 {
		t.Errorf("Each visited %d before it was stopped; %d entries", n, m.Len())
	}
}

func TestMapsRefused(t *testing.T) {
	good := MapSpec{Name: "m", Type: elf.MapHash, KeyBytes: 4, ValueBytes: 4, EntriesMax: 1}
	if err := good.check(); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*MapSpec){
		"neither array":     func(s *MapSpec) { s.Type = 12 },
		"has 4 bytes":       func(s *MapSpec) { s.Type, s.KeyBytes = elf.MapArray, 8 },
		"mapKeyBytesMax":    func(s *MapSpec) { s.KeyBytes = 513 },
		"key of 0":          func(s *MapSpec) { s.KeyBytes = 0 },
		"mapEntriesMax":     func(s *MapSpec) { s.EntriesMax = 0 },
		"mapKeysBytesMax":   func(s *MapSpec) { s.EntriesMax, s.KeyBytes = mapEntriesMax, 512 },
		"mapValuesBytesMax": func(s *MapSpec) { s.EntriesMax, s.ValueBytes = 1000, ^uint32(0) },
		"0 bytes":           func(s *MapSpec) { s.ValueBytes = 0 },
	} {
		s := good
		change(&s)
		if err := s.check(); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "map m") {
			t.Errorf("%+v: %v, want %q", s, err, want)
		}
	}
}

// TestMapArguments: a program that passes nonsense to a map helper is stopped.
func TestMapArguments(t *testing.T) {
	for text, want := range map[string]string{
		"mov %r1, 5\ncall 1\nexit":                   "argument 1 is not a map",
		"call 2\nexit":                               "argument 1 is not a map",
		"lddw %r1, 0x6d61700000000001\ncall 3\nexit": "argument 1 is not a map",
	} {
		l := loadText(t, Interpreter, text)
		l.start(nil)
		if exit := l.task.Run(100); exit != Trap || !strings.Contains(l.task.Trap().Reason, want) {
			t.Errorf("%q: %v, %v", text, exit, l.task.Trap())
		}
	}
	g := mapGuest(t)
	for text, want := range map[string]string{
		"mov %r2, 0\ncall 1\nexit":                             "argument 2 does not point to a key",
		"mov %r2, %r10\nadd %r2, -8\nmov %r3, 1\ncall 2\nexit": "argument 3 does not point to a value",
	} {
		exit, trap := g(text)
		if exit != Trap || !strings.Contains(trap, want) {
			t.Errorf("%q: %v, %v", text, exit, trap)
		}
	}
}

// mapGuest runs text with the handle of a hash map in r1.
func mapGuest(t *testing.T) func(text string) (Exit, string) {
	return func(text string) (Exit, string) {
		insns := append(mustParse(t, "lddw %r1, 0"), mustParse(t, text)...)
		table, _ := NewHelperTable(MapHelpers()...)
		o, err := newObject("", &elf.Object{
			Programs: []elf.Program{{Name: "p", Insns: insns, Refs: []elf.Ref{{Insn: 0, Kind: elf.RefMap}}}},
			Maps:     []elf.Map{{Name: "m", Type: elf.MapHash, KeyBytes: 8, ValueBytes: 8, EntriesMax: 2}},
		}, Options{Helpers: table})
		if err != nil {
			t.Fatal(err)
		}
		defer o.Close()
		inst, err := o.NewInstance()
		if err != nil {
			t.Fatal(err)
		}
		defer inst.Close()
		var task Task
		if err := task.Start(inst, o.Programs()[0], nil); err != nil {
			t.Fatal(err)
		}
		exit := task.Run(1000)
		if exit == Trap {
			return exit, task.Trap().Error()
		}
		return exit, fmt.Sprint(int64(task.Result()))
	}
}

// TestMapErrno: what programs see of map errors.
func TestMapErrno(t *testing.T) {
	run := mapGuest(t)
	const keep = "mov %r6, %r1\nmov %r2, %r10\nadd %r2, -8\nmov %r3, %r10\nadd %r3, -16\n"
	const update = "mov %r1, %r6\nadd %r7, 1\nstxdw [%r10-8], %r7\ncall 2\n"
	for text, want := range map[string]string{
		keep + "mov %r4, 0\n" + update + update + "exit":                                  "0",
		keep + "mov %r4, 0\n" + update + update + update + "exit":                         "-7",
		keep + "mov %r4, 2\n" + update + "exit":                                           "-2",
		keep + "mov %r4, 1\n" + update + "mov %r7, 0\n" + update + "exit":                 "-17",
		keep + "mov %r4, 9\n" + update + "exit":                                           "-22",
		keep + "mov %r4, 0\n" + update + "mov %r1, %r6\ncall 3\nexit":                     "0",
		keep + "mov %r1, %r6\ncall 3\nexit":                                               "-2",
		keep + "mov %r4, 0\n" + update + "mov %r1, %r6\ncall 1\nldxdw %r0, [%r0+0]\nexit": "0",
	} {
		if exit, got := run(text); exit != Done || got != want {
			t.Errorf("%s\n%v, %s; want %s", text, exit, got, want)
		}
	}
}

func TestMapHelpersDoNotAllocate(t *testing.T) {
	eachObject(t, "maps.o", func(g *guest) {
		input := make([]byte, 32)
		var task Task
		n := uint32(0)
		if got := testing.AllocsPerRun(200, func() {
			n++
			binary.LittleEndian.PutUint32(input[4:], n%6) // finds, creates and pushes out
			if err := task.Start(g.inst, g.program("visit"), input); err != nil {
				g.Fatal(err)
			}
			if task.Run(1000) != Done {
				g.Fatal(task.Trap())
			}
		}); got != 0 {
			g.Errorf("a run with map helpers makes %v allocations", got)
		}
	})
}
