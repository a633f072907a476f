package bpfvm

// maphelper.go: maps of objects and instances, and the helpers that programs use
// them by, numbered and named as in the kernel.

import (
	"errors"
	"fmt"

	"edge/bpfvm/elf"
)

// objectMap is a map as an object declares it.
type objectMap struct {
	spec   MapSpec
	stored *storedMap // nil for maps of a worker
}

// mapView is a map as one instance sees it.
type mapView struct {
	*Map
	base uint64 // guest address of the values
}

// A program holds a map by a handle that is no address: far outside any arena.
const mapHandleBase = 0x6d61_7000_0000_0000

func mapHandle(index int) uint64 { return mapHandleBase + uint64(index) }

func (o *Object) openMaps(declared []elf.Map, store *MapStore) error {
	if len(declared) > mapsMax {
		return fmt.Errorf("%s: %d maps are more than mapsMax %d", o.name, len(declared), mapsMax)
	}
	o.store = store
	if store == nil {
		o.store = new(MapStore)
	}
	for _, d := range declared {
		spec := MapSpec{d.Name, d.Type, d.KeyBytes, d.ValueBytes, d.EntriesMax}
		if err := spec.check(); err != nil {
			return fmt.Errorf("%s: %w", o.name, err)
		}
		m := &objectMap{spec: spec}
		if !spec.perWorker() {
			var err error
			if m.stored, err = o.store.acquire(o.name, spec, d.Pinned); err != nil {
				return fmt.Errorf("%s: %w", o.name, err)
			}
		}
		o.maps = append(o.maps, m)
	}
	return nil
}

func (o *Object) closeMaps() {
	for _, m := range o.maps {
		if m.stored != nil {
			o.store.release(m.stored)
		}
	}
	o.maps = nil
}

// Map returns the shared map of that name, or nil.
func (o *Object) Map(name string) *Map {
	for _, m := range o.maps {
		if m.spec.Name == name && m.stored != nil {
			return &m.stored.Map
		}
	}
	return nil
}

// Map returns the map of that name as this instance sees it, or nil.
func (inst *Instance) Map(name string) *Map {
	for _, m := range inst.maps {
		if m.spec.Name == name {
			return m.Map
		}
	}
	return nil
}

func (inst *Instance) openMaps() error {
	for i, m := range inst.object.maps {
		off := inst.object.layout.maps[i]
		view := mapView{base: guestBase + uint64(off)}
		if m.stored != nil {
			if err := m.stored.shared.mapInto(inst.arena, off); err != nil {
				return fmt.Errorf("map %s: %w", m.spec.Name, err)
			}
			view.Map = &m.stored.Map
		} else {
			values := inst.arena.mem[off : uint64(off)+m.spec.valuesBytes()]
			view.Map = &Map{spec: m.spec, values: values, index: newTable(m.spec)}
		}
		inst.maps = append(inst.maps, view)
	}
	return nil
}

// MapHelpers returns the helpers 1 to 3, bpf_map_lookup_elem, …_update_elem and
// …_delete_elem, for a helper table.
func MapHelpers() []HelperSpec {
	return []HelperSpec{
		{1, "bpf_map_lookup_elem", mapLookup},
		{2, "bpf_map_update_elem", mapUpdate},
		{3, "bpf_map_delete_elem", mapDelete},
	}
}

// mapArgument resolves the handle in r1 and the key that r2 points to. A program
// that passes anything else has lost its way and is stopped.
func (t *Task) mapArgument() (m *mapView, key []byte, ok bool) {
	i := t.Arg(1) - mapHandleBase
	if i >= uint64(len(t.inst.maps)) {
		t.Fail("argument 1 is not a map")
		return nil, nil, false
	}
	m = &t.inst.maps[i]
	key, ok = t.Readable(t.Arg(2), int(m.spec.KeyBytes))
	if !ok {
		t.Fail("argument 2 does not point to a key")
	}
	return m, key, ok
}

// mapLookup returns the address of the value, or 0.
func mapLookup(t *Task) (uint64, bool) {
	m, key, ok := t.mapArgument()
	if !ok {
		return 0, true
	}
	if !m.spec.isArray() {
		m.lock()
		defer m.unlock()
	}
	slot, found := m.find(key)
	if !found {
		return 0, true
	}
	return m.base + uint64(slot)*m.spec.stride(), true
}

func mapUpdate(t *Task) (uint64, bool) {
	m, key, ok := t.mapArgument()
	if !ok {
		return 0, true
	}
	value, ok := t.Readable(t.Arg(3), int(m.spec.ValueBytes))
	if !ok {
		t.Fail("argument 3 does not point to a value")
		return 0, true
	}
	return errno(m.Update(key, value, UpdateFlag(t.Arg(4)))), true
}

func mapDelete(t *Task) (uint64, bool) {
	m, key, ok := t.mapArgument()
	if !ok {
		return 0, true
	}
	return errno(m.Delete(key)), true
}

// errno gives a map error as the kernel's negative number.
func errno(err error) uint64 {
	n := int64(0)
	switch {
	case errors.Is(err, ErrMapFull):
		n = -7 // E2BIG
	case errors.Is(err, ErrKeyExists):
		n = -17 // EEXIST
	case errors.Is(err, ErrKeyNotFound):
		n = -2 // ENOENT
	case err != nil:
		n = -22 // EINVAL
	}
	return uint64(n)
}
