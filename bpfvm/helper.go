package bpfvm

// helper.go: the functions that a program may call, by number as libbpf does it
// (static long (*f)(…) = (void *)7) or by name (extern … __ksym).

import "fmt"

// HelperFunc performs a helper for a task: arguments by Task.Arg, guest memory by
// Task.Readable and Task.Writable. If done is true, result becomes r0 and the
// program goes on at once. If not, Run returns Helper, and the program goes on
// when somebody has called Task.Return and Run.
type HelperFunc func(t *Task) (result uint64, done bool)

// HelperSpec describes one helper.
type HelperSpec struct {
	Number int32  // what a call instruction holds
	Name   string // what an undefined symbol is called
	// Func performs it. If nil, every call makes Run return Helper.
	Func HelperFunc
}

// HelperTable is an immutable set of helpers.
type HelperTable struct {
	byNumber map[int32]*HelperSpec
	byName   map[string]*HelperSpec
}

// NewHelperTable makes a table. Numbers and names must be unique, names given.
func NewHelperTable(specs ...HelperSpec) (*HelperTable, error) {
	t := &HelperTable{map[int32]*HelperSpec{}, map[string]*HelperSpec{}}
	for _, s := range specs {
		if s.Name == "" {
			return nil, fmt.Errorf("bpfvm: helper %d has no name", s.Number)
		}
		if other := t.byNumber[s.Number]; other != nil {
			return nil, fmt.Errorf("bpfvm: helpers %s and %s are both number %d", other.Name, s.Name, s.Number)
		}
		if t.byName[s.Name] != nil {
			return nil, fmt.Errorf("bpfvm: two helpers are called %s", s.Name)
		}
		t.byNumber[s.Number] = &s
		t.byName[s.Name] = &s
	}
	return t, nil
}

func (t *HelperTable) number(n int32) *HelperSpec {
	if t == nil {
		return nil
	}
	return t.byNumber[n]
}

func (t *HelperTable) name(n string) *HelperSpec {
	if t == nil {
		return nil
	}
	return t.byName[n]
}
