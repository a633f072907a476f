package bpfvm

// maps.go: bpf maps. The values stand in guest memory, so that a program works on
// them by pointer; keys and the index are Go's, out of its reach.
//
// Maps of the plain types are shared by all workers: their values are one piece of
// shared memory, mapped into every instance's arena at the same offset. Maps of
// the per-CPU types belong to an instance each, in libbpf's words with a worker
// for a processor.
//
// As in the kernel, a pointer to a value stays good after the entry is deleted or
// pushed out, but may come to point to another entry's value.

import (
	"errors"
	"fmt"
	"sync"

	"edge/bpfvm/elf"
)

// MapSpec declares a map.
type MapSpec struct {
	Name       string
	Type       elf.MapType
	KeyBytes   uint32
	ValueBytes uint32
	EntriesMax uint32
}

const (
	// mapsMax is the number of maps in an object.
	mapsMax = 64
	// mapKeyBytesMax, mapEntriesMax and mapKeysBytesMax (all keys together) bound
	// the index of one map, mapValuesBytesMax its values.
	mapKeyBytesMax    = 512
	mapEntriesMax     = 1 << 22
	mapKeysBytesMax   = 64 << 20
	mapValuesBytesMax = 256 << 20
)

// Errors of map operations. Programs see them as the negative numbers that the
// kernel uses.
var (
	ErrMapFull     = errors.New("bpfvm: map is full")
	ErrKeyExists   = errors.New("bpfvm: key exists")
	ErrKeyNotFound = errors.New("bpfvm: key not found")
	ErrMapArgument = errors.New("bpfvm: key or value of the wrong size, index out of range, or unknown flag")
)

// UpdateFlag says what Update may do.
type UpdateFlag uint64

// Flags of Update, numbered as in the kernel.
const (
	UpdateAny     UpdateFlag = 0
	UpdateNoExist UpdateFlag = 1 // create only
	UpdateExist   UpdateFlag = 2 // replace only
)

func (s MapSpec) perWorker() bool {
	return s.Type == elf.MapPerCPUArr || s.Type == elf.MapPerCPUHash || s.Type == elf.MapLRUPerCPU
}

func (s MapSpec) isArray() bool { return s.Type == elf.MapArray || s.Type == elf.MapPerCPUArr }

func (s MapSpec) isLRU() bool { return s.Type == elf.MapLRUHash || s.Type == elf.MapLRUPerCPU }

// stride keeps values on 8-byte bounds, for atomics.
func (s MapSpec) stride() uint64 { return (uint64(s.ValueBytes) + 7) &^ 7 }

func (s MapSpec) valuesBytes() uint64 { return s.stride() * uint64(s.EntriesMax) }

// check refuses what this machine has not, by name.
func (s MapSpec) check() error {
	switch s.Type {
	case elf.MapHash, elf.MapArray, elf.MapPerCPUHash, elf.MapPerCPUArr, elf.MapLRUHash, elf.MapLRUPerCPU:
	default:
		return fmt.Errorf("map %s: type %d is neither array, hash nor LRU hash", s.Name, s.Type)
	}
	switch {
	case s.isArray() && s.KeyBytes != 4:
		return fmt.Errorf("map %s: an array's key has 4 bytes, not %d", s.Name, s.KeyBytes)
	case s.KeyBytes == 0 || s.KeyBytes > mapKeyBytesMax:
		return fmt.Errorf("map %s: key of %d bytes is not 1 to mapKeyBytesMax %d", s.Name, s.KeyBytes, mapKeyBytesMax)
	case s.EntriesMax == 0 || s.EntriesMax > mapEntriesMax:
		return fmt.Errorf("map %s: %d entries are not 1 to mapEntriesMax %d", s.Name, s.EntriesMax, mapEntriesMax)
	case uint64(s.KeyBytes)*uint64(s.EntriesMax) > mapKeysBytesMax:
		return fmt.Errorf("map %s: %d keys of %d bytes are more than mapKeysBytesMax %d", s.Name, s.EntriesMax, s.KeyBytes, mapKeysBytesMax)
	case s.ValueBytes == 0 || s.valuesBytes() > mapValuesBytesMax:
		return fmt.Errorf("map %s: %d values of %d bytes are not 1 to mapValuesBytesMax %d bytes", s.Name, s.EntriesMax, s.ValueBytes, mapValuesBytesMax)
	}
	return nil
}

// Map is a map with its values. Shared maps may be used from any goroutine, those
// of a worker by its own.
type Map struct {
	spec   MapSpec
	mu     sync.Mutex // taken for shared maps only
	shared *sharedMemory
	values []byte // EntriesMax times stride
	index  table
}

// Spec returns what was declared.
func (m *Map) Spec() MapSpec { return m.spec }

// Lookup copies the value of key into value and says whether there is one.
func (m *Map) Lookup(key, value []byte) bool {
	m.lock()
	defer m.unlock()
	slot, ok := m.find(key)
	if ok {
		copy(value, m.value(slot))
	}
	return ok
}

// Update sets the value of key.
func (m *Map) Update(key, value []byte, flag UpdateFlag) error {
	m.lock()
	defer m.unlock()
	return m.update(key, value, flag)
}

// Delete removes key. Entries of an array cannot be removed.
func (m *Map) Delete(key []byte) error {
	m.lock()
	defer m.unlock()
	return m.delete(key)
}

// Each calls yield with every key and value until it returns false. Both are good
// during the call only, and yield must not use the map.
func (m *Map) Each(yield func(key, value []byte) bool) {
	m.lock()
	defer m.unlock()
	m.index.each(m.spec, func(key []byte, slot uint32) bool { return yield(key, m.value(slot)) })
}

// Len returns the number of entries.
func (m *Map) Len() int {
	m.lock()
	defer m.unlock()
	return m.index.len(m.spec)
}

// lock guards a shared map; a worker's own needs none.
func (m *Map) lock() {
	if m.shared != nil {
		m.mu.Lock()
	}
}

func (m *Map) unlock() {
	if m.shared != nil {
		m.mu.Unlock()
	}
}

// value returns the bytes at a slot.
func (m *Map) value(slot uint32) []byte {
	at := uint64(slot) * m.spec.stride()
	return m.values[at : at+uint64(m.spec.ValueBytes)]
}

// find returns the slot of key. An LRU map notes the use.
func (m *Map) find(key []byte) (slot uint32, ok bool) {
	if len(key) != int(m.spec.KeyBytes) {
		return 0, false
	}
	if m.spec.isArray() {
		return arraySlot(key, m.spec.EntriesMax)
	}
	return m.index.find(key, m.spec.isLRU())
}

func (m *Map) update(key, value []byte, flag UpdateFlag) error {
	if len(key) != int(m.spec.KeyBytes) || len(value) != int(m.spec.ValueBytes) || flag > UpdateExist {
		return ErrMapArgument
	}
	slot, found := m.find(key)
	switch {
	case !found && m.spec.isArray():
		return ErrMapFull
	case found && flag == UpdateNoExist:
		return ErrKeyExists
	case !found && flag == UpdateExist:
		return ErrKeyNotFound
	case !found:
		var ok bool
		if slot, ok = m.index.insert(key, m.spec.isLRU()); !ok {
			return ErrMapFull
		}
	}
	copy(m.value(slot), value)
	return nil
}

func (m *Map) delete(key []byte) error {
	if m.spec.isArray() || len(key) != int(m.spec.KeyBytes) {
		return ErrMapArgument
	}
	if !m.index.remove(key) {
		return ErrKeyNotFound
	}
	return nil
}

func arraySlot(key []byte, entries uint32) (uint32, bool) {
	i := uint32(key[0]) | uint32(key[1])<<8 | uint32(key[2])<<16 | uint32(key[3])<<24
	return i, i < entries
}
