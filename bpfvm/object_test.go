package bpfvm

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const objectDir = "../testvectors/bpf/elf"

var hooks = []string{"edge/request", "edge/response"}

// recorder collects what programs hand to helper 100.
type recorder struct{ said []string }

func objectHelpers(t testing.TB) *HelperTable {
	table, err := NewHelperTable(append(MapHelpers(),
		HelperSpec{100, "record", func(t *Task) (uint64, bool) {
			b, ok := t.Readable(t.Arg(1), int(t.Arg(2)))
			if !ok {
				t.Fail("bad string")
				return 0, true
			}
			t.User.(*recorder).said = append(t.User.(*recorder).said, string(b))
			return uint64(len(b)), true
		}},
		HelperSpec{101, "answer", func(t *Task) (uint64, bool) { return 40 + t.Arg(1) + t.Arg(2), true }},
		HelperSpec{102, "declared", func(t *Task) (uint64, bool) { return 1000 * t.Arg(1), true }},
	)...)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// objects returns the files of that name by every compiler.
func objects(t testing.TB, name string) []string {
	files, err := filepath.Glob(filepath.Join(objectDir, "clang*", name))
	if err != nil || len(files) == 0 {
		t.Fatalf("no object %s: %v", name, err)
	}
	return files
}

// loadFile loads an object, or gives the error.
func loadFile(t testing.TB, file string, opt Options) (*Object, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if opt.Helpers == nil {
		opt.Helpers = objectHelpers(t)
	}
	if opt.Sections == nil {
		opt.Sections = hooks
	}
	return Load(filepath.Base(filepath.Dir(file))+"/"+filepath.Base(file), b, opt)
}

// guest is one instance of an object in a test.
type guest struct {
	testing.TB
	object *Object
	inst   *Instance
	said   recorder
}

// eachObject runs a test on each compiler's object in each engine.
func eachObject(t *testing.T, name string, test func(g *guest)) {
	for _, file := range objects(t, name) {
		for _, e := range engines() {
			t.Run(filepath.Base(filepath.Dir(file))+"/"+e.String(), func(t *testing.T) {
				o, err := loadFile(t, file, Options{Engine: e, InputMax: 64})
				if err != nil {
					t.Fatal(err)
				}
				defer o.Close()
				inst, err := o.NewInstance()
				if err != nil {
					t.Fatal(err)
				}
				defer inst.Close()
				test(&guest{TB: t, object: o, inst: inst})
			})
		}
	}
}

func (g *guest) program(name string) *Program {
	for _, p := range g.object.Programs() {
		if p.Name() == name {
			return p
		}
	}
	g.Fatalf("no program %s", name)
	return nil
}

// run runs a program on struct input{length, kind} and gives r0 or the trap.
func (g *guest) run(name string, kind uint32) (uint64, error) {
	var in [32]byte
	binary.LittleEndian.PutUint32(in[:], 32)
	binary.LittleEndian.PutUint32(in[4:], kind)
	return g.runInput(name, in[:])
}

func (g *guest) runInput(name string, in []byte) (uint64, error) {
	task := Task{User: &g.said}
	if err := task.Start(g.inst, g.program(name), in); err != nil {
		g.Fatal(err)
	}
	switch exit := task.Run(1 << 20); exit {
	case Done:
		return task.Result(), nil
	case Trap:
		return 0, task.Trap()
	default:
		g.Fatalf("%s leaves with %v", name, exit)
		return 0, nil
	}
}

func (g *guest) want(name string, kind uint32, want uint64) {
	g.Helper()
	if got, err := g.run(name, kind); err != nil || got != want {
		g.Errorf("%s(%d) is %d, %v; want %d", name, kind, got, err, want)
	}
}

// What several compilers make of strings, globals, calls and sections loads and works,
// or is refused by name (B08); so do the tests below.
func TestObjectStrings(t *testing.T) {
	for _, name := range []string{"strings.o", "strings_nobtf.o"} {
		eachObject(t, name, func(g *guest) {
			g.want("literals", 0, 0)
			g.want("tables", 2, 5*1000+42)
			g.want("tables", 5, 13*1000+4321)
			g.want("tables", 7, 19*1000+7)
			got := strings.Join(g.said.said, "|")
			if want := "first string|another, longer string|two|one|three"; got != want {
				g.Errorf("strings are %q, want %q", got, want)
			}
		})
	}
}

func TestObjectGlobals(t *testing.T) {
	for _, name := range []string{"globals.o", "globals_nobtf.o"} {
		eachObject(t, name, func(g *guest) {
			const look = 0x1122334455667788 + 77
			g.want("look", 0, look)
			g.want("count", 0, 5)
			g.want("count", 0, 10)
			g.want("look", 0, look+1)
			_, err := g.run("spoil", 0)
			var trap *TrapError
			if !errors.As(err, &trap) || !strings.Contains(trap.Reason, "read-only") {
				g.Errorf("a store to .rodata gives %v", err)
			}
			g.want("look", 0, look+1)
		})
	}
}

func TestObjectCalls(t *testing.T) {
	for _, name := range []string{"calls.o", "calls_nobtf.o"} {
		eachObject(t, name, func(g *guest) {
			g.want("nested", 3, 9+16+10+(3^0xff))
			if len(g.said.said) != 1 || len(g.said.said[0]) != 32 || g.said.said[0][24] != 9 {
				g.Errorf("the caller's array came out as %q", g.said.said)
			}
			// The entry, then down(n) to down(0): eight frames are allowed.
			g.want("recursive", 6, 6*7/2+1)
			_, err := g.run("recursive", 7)
			if err == nil || !strings.Contains(err.Error(), "functions nest deeper than 8") {
				g.Errorf("nine frames give %v", err)
			}
			if n := g.program("recursive").StackBytes(); n != 8*512 {
				g.Errorf("the recursive program's stack is %d", n)
			}
			// nested calls twice, which calls square: three frames.
			if n := g.program("nested").StackBytes(); n != 3*512 {
				g.Errorf("the nested program's stack is %d", n)
			}
		})
	}
}

func TestObjectSections(t *testing.T) {
	eachObject(t, "sections.o", func(g *guest) {
		sum := uint64(0)
		for n := uint64(10); n < 110; n++ {
			sum += 2 * n
		}
		g.want("all", 2, sum)
		if len(g.said.said) != 100 {
			g.Errorf("%d functions of 100 were called", len(g.said.said))
		}
	})
}

func TestObjectNamedHelpers(t *testing.T) {
	for _, name := range []string{"named.o", "named_nobtf.o"} {
		eachObject(t, name, func(g *guest) {
			g.want("ask", 7, 49+3000)
			if got := strings.Join(g.program("ask").Helpers(), " "); got != "answer declared" {
				g.Errorf("helpers are %q", got)
			}
		})
	}
}

func TestObjectVersion4(t *testing.T) {
	eachObject(t, "v4.o", func(g *guest) {
		in := make([]byte, 16)
		in[0] = 0x80 // -128
		h, w, d := int16(-300), int32(-70000), int64(-7)
		binary.LittleEndian.PutUint16(in[2:], uint16(h))
		binary.LittleEndian.PutUint32(in[4:], uint32(w))
		binary.LittleEndian.PutUint64(in[8:], uint64(d))
		sum := int64(-128) + int64(h) + int64(w)
		sum += sum/d + sum%d
		want := sum + int64(w/int32(h|1)) + int64(int8(sum))
		if got, err := g.runInput("arithmetic", in); err != nil || int64(got) != want {
			g.Errorf("arithmetic gives %d, %v; want %d", int64(got), err, want)
		}
	})
}

func TestTrapNamesSource(t *testing.T) {
	eachObject(t, "trap.o", func(g *guest) {
		_, err := g.run("chase", 0)
		if err == nil {
			g.Fatal("a null pointer was read")
		}
		for _, part := range []string{"trap.o: section edge/request, program chase, instruction ", "trap.c:11: load of 8 bytes at address 0x8 is out of bounds"} {
			if !strings.Contains(err.Error(), part) {
				g.Errorf("trap is %q, without %q", err, part)
			}
		}
	})
}

func TestObjectRefused(t *testing.T) {
	for _, c := range []struct{ file, want string }{
		{"refused_core.o", "section edge/request, program core: function core, instruction"},
		{"refused_core.o", "CO-RE"},
		{"refused_pointer.o", "which is not data"},
		{"refused_extern.o", "nothing defines"},
		{"refused_hook.o", "section edge/requests: function misspelt is in no hook; hooks are edge/request, edge/response"},
		{"refused_bigendian.o", "big-endian"},
		{"refused_stripped.o", "stripped"},
		{"maps_nobtf.o", "BTF"},
	} {
		for _, file := range objects(t, c.file) {
			_, err := loadFile(t, file, Options{})
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.file+": ") {
				t.Errorf("%s: got %v, want an error with the file and %q", file, err, c.want)
			}
		}
	}
}

func TestObjectUnknownHelpers(t *testing.T) {
	none, _ := NewHelperTable()
	for _, c := range []struct{ file, want string }{
		{"strings.o", "there is no helper number 100"},
		{"named.o", "there is no helper called answer"},
	} {
		for _, file := range objects(t, c.file) {
			_, err := loadFile(t, file, Options{Helpers: none})
			var refused *LoadError
			if !errors.As(err, &refused) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: got %v, want %q", file, err, c.want)
				continue
			}
			if refused.Place.Section != "edge/request" || refused.Place.Source == "" || refused.Place.Line == 0 {
				t.Errorf("%s: the place is %+v", file, refused.Place)
			}
		}
	}
}
