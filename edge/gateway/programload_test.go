package gateway

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"edge/edge/config"
)

// put writes programs of scriptDir to a directory, under new names.
func put(t *testing.T, dir string, files map[string]string) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, from := range files {
		if err := os.WriteFile(filepath.Join(dir, name), scriptFile(t, from).Content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Built-in programs come first, then the command line's as they are given, a
// directory's by name, and the site's by name.
func TestOrderOfPrograms(t *testing.T) {
	single := put(t, t.TempDir(), map[string]string{"z.o": "header.o", "a.o": "header.o"})
	dir := put(t, t.TempDir(), map[string]string{"2.o": "order.o", "1.o": "header.o", "notes.txt": "header.c"})
	tree := t.TempDir()
	put(t, filepath.Join(tree, ".edge", "scripts"), map[string]string{"20.o": "header.o", "10.o": "header.o", "own.h": "header.c"})
	put(t, filepath.Join(tree, ".edge", "scripts", "deeper"), map[string]string{"30.o": "header.o"})
	conf := config.New()
	conf.Site, conf.Workers, conf.ScriptDir = tree, 3, dir
	conf.Scripts = []string{filepath.Join(single, "z.o"), filepath.Join(single, "a.o")}
	s := newServer(Options{Config: conf, Log: NewLog(os.Stderr), Getenv: func(string) string { return "" }, Programs: []ProgramFile{scriptFile(t, "json.o")}})
	open, err := s.openSite()
	if err != nil {
		t.Fatal(err)
	}
	defer open.close()
	p, err := s.loadPrograms(open)
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	var order []string
	for _, e := range p.chains[hookRequest] {
		order = append(order, filepath.Base(e.file)+" "+e.program.Name())
	}
	want := []string{"json.o json", "z.o header", "a.o header", "1.o header", "2.o a_first", "2.o b_second", "10.o header", "20.o header"}
	if !slices.Equal(order, want) {
		t.Errorf("order %q, want %q", order, want)
	}
	if len(p.instances) != 3 || len(p.instances[2]) != 7 {
		t.Errorf("%d workers have instances", len(p.instances))
	}
}

func TestProgramsThatCannotBeRead(t *testing.T) {
	both := put(t, t.TempDir(), map[string]string{"a.o": "header.o", "a.c": "header.c"})
	many := t.TempDir()
	for i := range programFilesMax + 1 {
		put(t, many, map[string]string{strings.Repeat("x", i+1) + ".o": "order.o"})
	}
	siteWith := func(files map[string]string) string {
		tree := t.TempDir()
		put(t, filepath.Join(tree, ".edge", "scripts"), files)
		return tree
	}
	for _, tc := range []struct {
		change func(*config.Config)
		want   string
	}{
		{func(c *config.Config) { c.Scripts = []string{"nowhere.o"} }, "--script nowhere.o: no such file"},
		{func(c *config.Config) { c.Scripts = []string{"header.py"} }, "--script header.py: give an object (.o) or C (.c)"},
		{func(c *config.Config) { c.ScriptDir = "/nowhere" }, "--script-dir /nowhere: no such file"},
		{func(c *config.Config) { c.ScriptDir = both }, "a.c and a.o are one program: remove one of them"},
		{func(c *config.Config) { c.ScriptDir = many }, "65 files of programs, at most 64 are run"},
		{func(c *config.Config) { c.Site = siteWith(map[string]string{"a.o": "header.o", "a.c": "header.c"}) }, "are one program"},
		{func(c *config.Config) { c.Site = siteWith(map[string]string{"bad.o": "header.c"}) }, "/.edge/scripts/bad.o: "},
	} {
		conf := config.New()
		tc.change(conf)
		s := newServer(Options{Config: conf, Log: NewLog(os.Stderr), Getenv: func(string) string { return "" }})
		open, err := s.openSite()
		if err != nil {
			t.Fatal(err)
		}
		if p, err := s.loadPrograms(open); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%v, %v; want %q", p, err, tc.want)
		}
		open.close()
	}
}

// A reload with a bad program is refused whole, and says why; the next one that is
// good goes through.
func TestReloadRefusesBadPrograms(t *testing.T) {
	dir := put(t, t.TempDir(), map[string]string{"a.o": "header.o", "b.o": "json.o"})
	conf := config.New()
	conf.ScriptDir = dir
	var said strings.Builder
	s := newServer(Options{Config: conf, Log: NewLog(&said), Getenv: func(string) string { return "" }})
	first, err := s.load(nil, partsAll)
	if err != nil {
		t.Fatal(err)
	}
	s.gen.Store(first)
	bad := filepath.Join(dir, "b.o")
	if err := os.WriteFile(bad, []byte("half a fi"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := s.reload("test", partsAll); err == nil || s.current() != first {
		t.Errorf("%v; generation %d is in service", err, s.current().number)
	}
	if want := "failed, generation 1 stays in service: " + bad + ": "; !strings.Contains(said.String(), want) {
		t.Errorf("the log says %q, want %q", said.String(), want)
	}
	if err := s.reload("test", partKeys); err != nil || s.current().programs != first.programs {
		t.Errorf("%v; programs were loaded anew for a reload of something else", err)
	}
	put(t, dir, map[string]string{"b.o": "order.o"})
	if err := s.reload("test", partsAll); err != nil || len(s.current().programs.chains[hookRequest]) != 3 {
		t.Errorf("%v; generation %d is in service", err, s.current().number)
	}
	if n := first.programs.generations.Load(); n != 0 {
		t.Errorf("the first programs have %d generations", n)
	}
	s.current().drop()
}
