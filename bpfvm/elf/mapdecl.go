package elf

// mapdecl.go: maps declared in .maps, which takes type information to read.

import (
	"fmt"
	"maps"
	"slices"

	"github.com/cilium/ebpf"
)

// flagNoPrealloc asks the kernel to take memory as entries come. All memory is
// taken in advance here, which a program cannot tell.
const flagNoPrealloc = 1

func (r *reader) readMaps(spec *ebpf.CollectionSpec) error {
	for _, name := range slices.Sorted(maps.Keys(spec.Maps)) {
		m := spec.Maps[name]
		if isData(name) {
			continue
		}
		if err := checkMap(m); err != nil {
			return fmt.Errorf("map %s: %w", name, err)
		}
		r.mapIndex[name] = len(r.out.Maps)
		r.out.Maps = append(r.out.Maps, Map{
			Name: name, Type: MapType(m.Type), KeyBytes: m.KeySize, ValueBytes: m.ValueSize,
			EntriesMax: m.MaxEntries, Pinned: m.Pinning == ebpf.PinByName,
		})
	}
	return nil
}

func checkMap(m *ebpf.MapSpec) error {
	switch {
	case m.InnerMap != nil:
		return fmt.Errorf("maps of maps are not supported")
	case len(m.Contents) != 0:
		return fmt.Errorf("initial contents are not supported")
	case m.Flags&^flagNoPrealloc != 0:
		return fmt.Errorf("flags %#x are not supported", m.Flags)
	case m.MapExtra != 0:
		return fmt.Errorf("map_extra is not supported")
	case m.Pinning != ebpf.PinNone && m.Pinning != ebpf.PinByName:
		return fmt.Errorf("pinning %d is not supported", m.Pinning)
	}
	return nil
}
