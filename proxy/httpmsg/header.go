package httpmsg

// Field is one header field. Name keeps the case it was received in.
type Field struct {
	Name, Value []byte
}

// Header is an ordered list of fields. The zero value is empty and ready.
type Header struct {
	Fields []Field
	arena  []byte // holds what Add copied
}

// Reset empties h and keeps its memory.
func (h *Header) Reset() {
	clear(h.Fields)
	h.Fields = h.Fields[:0]
	h.arena = h.arena[:0]
}

// Append adds a field that borrows its bytes.
func (h *Header) Append(name, value []byte) {
	h.Fields = append(h.Fields, Field{name, value})
}

// Add adds a field and copies its bytes into the header's own arena.
func (h *Header) Add(name, value string) {
	at := len(h.arena)
	h.arena = append(append(h.arena, name...), value...)
	b := h.arena[at:]
	h.Fields = append(h.Fields, Field{b[:len(name):len(name)], b[len(name):len(b):len(b)]})
}

// AddBytes is Add for a value that is at hand as bytes.
func (h *Header) AddBytes(name string, value []byte) {
	at := len(h.arena)
	h.arena = append(append(h.arena, name...), value...)
	b := h.arena[at:]
	h.Fields = append(h.Fields, Field{b[:len(name):len(name)], b[len(name):len(b):len(b)]})
}

// Get returns the value of the first field called name (any case), or nil.
func (h *Header) Get(name string) []byte {
	for i := range h.Fields {
		if EqualFold(h.Fields[i].Name, name) {
			return h.Fields[i].Value
		}
	}
	return nil
}

// Has says that there is a field called name (any case), maybe an empty one.
func (h *Header) Has(name string) bool {
	for i := range h.Fields {
		if EqualFold(h.Fields[i].Name, name) {
			return true
		}
	}
	return false
}

// Del removes the fields called name (any case) and keeps the order of the rest.
func (h *Header) Del(name string) {
	h.DelFunc(func(f *Field) bool { return EqualFold(f.Name, name) })
}

// DelFunc removes the fields that drop says yes to and keeps the order of the
// rest.
func (h *Header) DelFunc(drop func(*Field) bool) {
	kept := 0
	for i := range h.Fields {
		if drop(&h.Fields[i]) {
			continue
		}
		if kept != i {
			h.Fields[kept] = h.Fields[i]
		}
		kept++
	}
	clear(h.Fields[kept:])
	h.Fields = h.Fields[:kept]
}

// Set removes the fields called name (any case) and adds one in their place, at
// the end. Name and value are copied.
func (h *Header) Set(name, value string) {
	h.Del(name)
	h.Add(name, value)
}

// SetValue gives field i another value, which is copied.
func (h *Header) SetValue(i int, value []byte) {
	at := len(h.arena)
	h.arena = append(h.arena, value...)
	h.Fields[i].Value = h.arena[at:len(h.arena):len(h.arena)]
}

// EqualFold compares b and s without regard to ASCII case.
func EqualFold(b []byte, s string) bool {
	if len(b) != len(s) {
		return false
	}
	for i := range b {
		if lower(b[i]) != lower(s[i]) {
			return false
		}
	}
	return true
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}
