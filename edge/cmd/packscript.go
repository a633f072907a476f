package cmd

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"edge/edge/gateway"
	"edge/edge/sdk"
)

// scriptFolder is where a site has its programs.
const scriptFolder = ".edge/scripts"

// convert packs programs as verified objects, and leaves out what they are made
// of. Other files under .edge stay as they are.
func (p *packing) convert(name string, content []byte) (asName string, as []byte, err error) {
	if path.Dir(name) != scriptFolder {
		return name, content, nil
	}
	shown := filepath.Join(p.dir, filepath.FromSlash(name))
	asName = name
	switch path.Ext(name) {
	case ".h":
		return "", nil, nil
	case ".c":
		warn := func(line string) { fmt.Fprintf(p.env.Err, "edge: %s\n", line) }
		if content, err = sdk.Compile(p.ctx, name, content, filepath.Dir(shown), warn); err != nil {
			return "", nil, err
		}
		asName = strings.TrimSuffix(name, ".c") + ".o"
	case ".o":
	default:
		return name, content, nil
	}
	if p.scripts[asName] {
		return "", nil, errors.New("it is there as C and as an object: remove one of them")
	}
	if p.scripts == nil {
		p.scripts = map[string]bool{}
	}
	p.scripts[asName] = true
	o, err := gateway.LoadProgram(p.ctx, gateway.ProgramFile{Name: asName, Content: content}, nil, nil)
	if err != nil {
		return "", nil, err
	}
	o.Close()
	return asName, content, nil
}
