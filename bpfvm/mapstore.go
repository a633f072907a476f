package bpfvm

// mapstore.go: shared maps across objects and reloads. A map is known by its name
// and the object that declares it, or by its name alone if it is pinned
// (LIBBPF_PIN_BY_NAME). While any object holds it, another load of the same name
// and shape gets the same map, contents kept; with a new shape it gets a new one,
// and those who hold the old keep it.

import (
	"fmt"
	"sync"

	"golang.org/x/sys/unix"
)

// MapStore hands out shared maps. The zero value is ready.
type MapStore struct {
	mu   sync.Mutex
	maps map[mapKey]*storedMap
}

type mapKey struct {
	object string // empty for pinned maps
	spec   MapSpec
}

type storedMap struct {
	Map
	users int
}

// sharedMemory is memory that several arenas map: a sealed memfd.
type sharedMemory struct {
	fd   int
	size int
}

func newSharedMemory(name string, size int) (_ *sharedMemory, view []byte, err error) {
	size = (size + pageBytes - 1) &^ (pageBytes - 1)
	fd, err := unix.MemfdCreate("bpf:"+name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, nil, fmt.Errorf("map %s: memfd: %w", name, err)
	}
	defer func() {
		if err != nil {
			unix.Close(fd)
		}
	}()
	if err = unix.Ftruncate(fd, int64(size)); err != nil {
		return nil, nil, fmt.Errorf("map %s: %d bytes: %w", name, size, err)
	}
	// The size must never shrink: an access to a page past the end would be a
	// fault.
	if _, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL); err != nil {
		return nil, nil, fmt.Errorf("map %s: seal: %w", name, err)
	}
	view, err = unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, nil, fmt.Errorf("map %s: %w", name, err)
	}
	return &sharedMemory{fd, size}, view, nil
}

// mapInto places the memory over part of an arena.
func (s *sharedMemory) mapInto(a *arena, off uint32) error {
	addr := &a.mem[off]
	_, err := mapFixed(addr, s.size, s.fd)
	return err
}

func (s *MapStore) acquire(object string, spec MapSpec, pinned bool) (*storedMap, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if pinned {
		object = ""
	}
	key := mapKey{object, spec}
	if m := s.maps[key]; m != nil {
		m.users++
		return m, nil
	}
	memory, view, err := newSharedMemory(spec.Name, int(spec.valuesBytes()))
	if err != nil {
		return nil, err
	}
	m := &storedMap{users: 1, Map: Map{spec: spec, shared: memory, values: view, index: newTable(spec)}}
	if s.maps == nil {
		s.maps = map[mapKey]*storedMap{}
	}
	s.maps[key] = m
	return m, nil
}

func (s *MapStore) release(m *storedMap) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m.users--; m.users > 0 {
		return
	}
	for key, have := range s.maps {
		if have == m {
			delete(s.maps, key)
		}
	}
	unix.Munmap(m.values)
	unix.Close(m.shared.fd)
}
