package gateway

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"edge/bpfvm"
)

// hook is a place where programs run.
type hook uint8

// The hooks, numbered as in edge.h.
const (
	hookHello hook = 1 + iota
	hookRequest
	hookResponse
	hooksEnd
)

// hookSections are the sections that programs of each hook stand in.
var hookSections = [hooksEnd]string{hookHello: "edge/hello", hookRequest: "edge/request", hookResponse: "edge/response"}

// programs are the objects of a generation: verified, compiled, with an instance
// of each for each worker. A generation that differs in something else alone has
// those of the one before.
type programs struct {
	objects   []*bpfvm.Object
	instances [][]*bpfvm.Instance // by worker, then by object
	chains    [hooksEnd][]chained // in the order in which they run
	wantsJA4  bool                // some program asks for fingerprints, or an application that is told them

	generations atomic.Int64
}

// chained is one program in its place in a chain.
type chained struct {
	program *bpfvm.Program
	object  int
	slice   int64 // budget of one turn
	file    string
}

// newPrograms makes of loaded objects, in the order in which they run, what
// workers need. The objects are its own from here on.
func newPrograms(objects []*bpfvm.Object, files []string, workers int) (_ *programs, err error) {
	p := &programs{objects: objects}
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	for i, o := range objects {
		for _, program := range o.Programs() {
			h := hookOf(program.Section())
			p.chains[h] = append(p.chains[h], chained{program, i, o.Slice(), files[i]})
			p.wantsJA4 = p.wantsJA4 || slices.ContainsFunc(program.Helpers(), needsJA4)
		}
	}
	p.instances = make([][]*bpfvm.Instance, workers)
	for w := range p.instances {
		for i, o := range objects {
			inst, err := o.NewInstance()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", files[i], err)
			}
			p.instances[w] = append(p.instances[w], inst)
		}
	}
	return p, nil
}

func hookOf(section string) hook {
	h := slices.Index(hookSections[:], section)
	if h < int(hookHello) {
		panic("BUG: a program was loaded in section " + section)
	}
	return hook(h)
}

func needsJA4(helper string) bool {
	return strings.HasPrefix(helper, "edge_tls_ja4") || helper == "edge_proxy"
}

// close gives memory and shared maps back. No task may be in the middle.
func (p *programs) close() {
	for _, of := range p.instances {
		for _, inst := range of {
			inst.Close() // nothing is to be done about memory that cannot be unmapped
		}
	}
	for _, o := range p.objects {
		o.Close()
	}
}

// has says whether there is anything to run. The nil programs have nothing.
func (p *programs) has(h hook) bool { return p != nil && len(p.chains[h]) > 0 }

// run has g run the programs p; nil for none.
func (g *generation) run(p *programs) {
	if p != nil {
		p.generations.Add(1)
		g.programs = p
	}
}

// dropPrograms ends a generation's use of its programs; the last one closes them.
func (g *generation) dropPrograms() {
	if p := g.programs; p != nil && p.generations.Add(-1) == 0 {
		p.close()
	}
}
