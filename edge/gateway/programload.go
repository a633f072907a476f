package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"edge/bpfvm"
	"edge/edge/sdk"
	"edge/edge/service"
	"edge/edge/site"
)

// ProgramFile is a program as it is found: an ELF object, or C to be compiled if
// the name ends in .c.
type ProgramFile struct {
	Name    string // how errors and the log call it, and shared maps are known by
	Content []byte
	Dir     string // where C looks for what it includes with quotes; may be empty
}

const (
	// programFilesMax is how many files of programs there may be: each is a
	// mapping for each worker, and time for each request.
	programFilesMax = 64
	// programBytesMax is the largest file that is read. The loader's own limit is
	// less or the same, and says what it is for.
	programBytesMax = 8<<20 + 1

	// siteScripts is where a site has its programs.
	siteScripts = "/.edge/scripts/"
)

// LoadProgram verifies and compiles one file as serve does. maps may be nil; warn
// hears what the compiler warns of, nil if nobody wants to.
func LoadProgram(ctx context.Context, f ProgramFile, maps *bpfvm.MapStore, warn func(string)) (*bpfvm.Object, error) {
	content := f.Content
	if strings.HasSuffix(f.Name, ".c") {
		var err error
		if content, err = sdk.Compile(ctx, f.Name, f.Content, f.Dir, warn); err != nil {
			return nil, err
		}
	}
	o, err := bpfvm.Load(f.Name, content, bpfvm.Options{
		Helpers:  helperTable,
		Sections: hookSections[hookHello:],
		InputMax: contextBytes,
		Maps:     maps,
	})
	if err != nil {
		return nil, named(f.Name, err)
	}
	return o, nil
}

// named makes sure that err begins with the file's name, once.
func named(name string, err error) error {
	if strings.HasPrefix(err.Error(), name) {
		return err
	}
	return fmt.Errorf("%s: %w", name, err)
}

// loadPrograms finds and loads all programs: those that are built in, --script,
// --script-dir, the site's. nil if there are none. One that is bad refuses all.
func (s *server) loadPrograms(of *openSite) (*programs, error) {
	files, err := s.findPrograms(of)
	if err != nil || len(files) == 0 {
		return nil, err
	}
	if len(files) > programFilesMax {
		return nil, fmt.Errorf("%d files of programs, at most %d are run", len(files), programFilesMax)
	}
	defer service.HoldReaping()() // the compiler is a child
	var objects []*bpfvm.Object
	var names []string
	for _, f := range files {
		o, err := LoadProgram(context.Background(), f, &s.maps, func(line string) { s.log.Printf("%s", line) })
		if err != nil {
			for _, o := range objects {
				o.Close()
			}
			return nil, err
		}
		if engine, why := o.Engine(); engine != bpfvm.Native && why != nil {
			s.log.Printf("%s is interpreted, which is slower: %v", f.Name, why)
		}
		objects, names = append(objects, o), append(names, f.Name)
	}
	return newPrograms(objects, names, s.cfg.Workers)
}

func (s *server) findPrograms(of *openSite) ([]ProgramFile, error) {
	files := slices.Clone(s.builtIn)
	for _, name := range s.cfg.Scripts {
		f, err := readProgram(name)
		if err != nil {
			return nil, fmt.Errorf("--script %w", err)
		}
		files = append(files, f)
	}
	more, err := readProgramDir(s.cfg.ScriptDir)
	if err != nil {
		return nil, fmt.Errorf("--script-dir %w", err)
	}
	files = append(files, more...)
	if of == nil {
		return files, nil
	}
	more, err = sitePrograms(of.Site)
	return append(files, more...), err
}

// readProgram reads a file of the command line.
func readProgram(name string) (ProgramFile, error) {
	if !isProgram(name) {
		return ProgramFile{}, fmt.Errorf("%s: give an object (.o) or C (.c)", name)
	}
	file, err := os.Open(name)
	if err != nil {
		return ProgramFile{}, errors.New(strings.TrimPrefix(err.Error(), "open "))
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, programBytesMax))
	if err != nil {
		return ProgramFile{}, fmt.Errorf("%s: %w", name, err)
	}
	return ProgramFile{Name: name, Content: content, Dir: filepath.Dir(name)}, nil
}

// readProgramDir reads the programs of a directory, by name; none if dir is empty.
func readProgramDir(dir string) ([]ProgramFile, error) {
	if dir == "" {
		return nil, nil
	}
	found, err := os.ReadDir(dir)
	if err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "open "))
	}
	var names []string
	for _, e := range found {
		if !e.IsDir() && isProgram(e.Name()) {
			names = append(names, e.Name())
		}
	}
	if err := onceEach(names); err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	var files []ProgramFile
	for _, name := range names {
		f, err := readProgram(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}

// sitePrograms reads the programs of a site, by name. A directory that is served
// as it is may hold them as C; `edge pack` has compiled them.
func sitePrograms(of *site.Site) ([]ProgramFile, error) {
	var names []string
	for _, name := range of.List(siteScripts) {
		if isProgram(name) && path.Dir(name)+"/" == siteScripts {
			names = append(names, name)
		}
	}
	if err := onceEach(names); err != nil {
		return nil, fmt.Errorf("site %s: %w", of.Name(), err)
	}
	var files []ProgramFile
	for _, name := range names {
		content, err := of.ReadFile(name, programBytesMax)
		if err != nil {
			return nil, err
		}
		files = append(files, ProgramFile{
			Name: of.Name() + name, Content: content,
			Dir: filepath.Join(of.Name(), siteScripts),
		})
	}
	return files, nil
}

func isProgram(name string) bool {
	return strings.HasSuffix(name, ".o") || strings.HasSuffix(name, ".c")
}

// onceEach refuses a program that is there as C and as an object: it would run
// twice. names are sorted, so the two stand side by side.
func onceEach(names []string) error {
	for i := 1; i < len(names); i++ {
		if names[i][:len(names[i])-2] == names[i-1][:len(names[i-1])-2] {
			return fmt.Errorf("%s and %s are one program: remove one of them", names[i-1], path.Base(names[i]))
		}
	}
	return nil
}
