package gateway

import (
	"bytes"

	"edge/bpfvm"
)

// keyValues is the map that the programs of one request share. It is small, so a
// list is the fastest to look through.
type keyValues struct {
	entries []keyValue
	arena   []byte // keys and values, those that were replaced too
}

// keyValue is one entry.
type keyValue struct{ key, value []byte }

// The limits that edge.h names.
const (
	valueKeyMax    = 64
	valuesMax      = 32
	valuesBytesMax = 4096
)

func (m *keyValues) reset() {
	clear(m.entries)
	m.entries, m.arena = m.entries[:0], m.arena[:0]
}

func (m *keyValues) find(key []byte) int {
	for i := range m.entries {
		if bytes.Equal(m.entries[i].key, key) {
			return i
		}
	}
	return -1
}

// set copies key and value; false: there is no room.
func (m *keyValues) set(key, value []byte) bool {
	i, need := m.find(key), len(value)
	if i < 0 {
		need += len(key)
		if len(m.entries) == valuesMax {
			return false
		}
	}
	if len(m.arena)+need > valuesBytesMax && !m.compact(i, need) {
		return false
	}
	if i < 0 {
		i = len(m.entries)
		m.entries = append(m.entries, keyValue{key: m.keep(key)})
	}
	m.entries[i].value = m.keep(value)
	return true
}

func (m *keyValues) keep(b []byte) []byte {
	if m.arena == nil {
		m.arena = make([]byte, 0, valuesBytesMax)
	}
	at := len(m.arena)
	m.arena = append(m.arena, b...)
	return m.arena[at:len(m.arena):len(m.arena)]
}

// compact makes room for n bytes by leaving out what was replaced, and the value
// of entry i, which is about to be; false: there is too much in use.
func (m *keyValues) compact(i, n int) bool {
	used := 0
	for j, e := range m.entries {
		used += len(e.key)
		if j != i {
			used += len(e.value)
		}
	}
	if used+n > valuesBytesMax {
		return false
	}
	old := m.entries
	m.arena = make([]byte, 0, valuesBytesMax)
	for j := range old {
		old[j].key = m.keep(old[j].key)
		if j != i {
			old[j].value = m.keep(old[j].value)
		}
	}
	return true
}

// keyArgument returns the key that arguments 1 and 2 name, nil if it is none.
func keyArgument(t *bpfvm.Task) (key []byte, ok bool) {
	key, ok = argument(t, 1)
	if len(key) > valueKeyMax {
		key = nil
	}
	return key, ok
}

// helpValueGet: edge_kv_get(key, key_length, buffer, size).
func helpValueGet(t *bpfvm.Task) (uint64, bool) {
	key, ok := keyArgument(t)
	if !ok {
		return 0, true
	}
	m := &runOf(t).values
	i := m.find(key)
	if i < 0 {
		return fails(errNoEntry)
	}
	return give(t, m.entries[i].value, 3)
}

// helpValueSet: edge_kv_set(key, key_length, value, length).
func helpValueSet(t *bpfvm.Task) (uint64, bool) {
	key, ok := keyArgument(t)
	if !ok {
		return 0, true
	}
	value, ok := argument(t, 3)
	switch {
	case !ok:
		return 0, true
	case len(key) == 0:
		return fails(errInvalid)
	case !runOf(t).values.set(key, value):
		return fails(errNoSpace)
	}
	return 0, true
}

// helpValueDelete: edge_kv_delete(key, key_length).
func helpValueDelete(t *bpfvm.Task) (uint64, bool) {
	key, ok := keyArgument(t)
	if !ok {
		return 0, true
	}
	m := &runOf(t).values
	i := m.find(key)
	if i < 0 {
		return fails(errNoEntry)
	}
	last := len(m.entries) - 1
	m.entries[i] = m.entries[last]
	m.entries = m.entries[:last]
	return 0, true
}
