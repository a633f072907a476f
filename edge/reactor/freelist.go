// Numbers of things not in use, and which of them have not been needed.

package reactor

import "slices"

// FreeList is numbers of things not in use, the last put back taken first: what
// is used is warm, and what is not needed sinks to the bottom and stays there.
// Trim finds it.
type FreeList struct {
	ids  []int32
	idle int // the first so many were not taken since the last Trim
	cold int // and so many of these were discarded
}

// Len is how many there are.
func (f *FreeList) Len() int { return len(f.ids) }

// Put adds a number.
func (f *FreeList) Put(id int32) { f.ids = append(f.ids, id) }

// Take takes the number put last; ok is false if there is none.
func (f *FreeList) Take() (id int32, ok bool) {
	n := len(f.ids) - 1
	if n < 0 {
		return 0, false
	}
	id = f.ids[n]
	f.ids = f.ids[:n]
	f.idle, f.cold = min(f.idle, n), min(f.cold, n)
	return id, true
}

// trimMost bounds what one Trim discards: giving a page back is slow, and the
// worker has better things to do.
const trimMost = 512

// Trim calls discard for what was not taken since the last Trim, once: for count
// numbers from first on at a time. more says that another Trim may find something.
func (f *FreeList) Trim(discard func(first, count int)) (more bool) {
	idle := f.ids[f.cold:min(max(f.idle, f.cold), f.cold+trimMost)]
	slices.Sort(idle)
	for len(idle) > 0 {
		n := 1
		for n < len(idle) && idle[n] == idle[0]+int32(n) {
			n++
		}
		discard(int(idle[0]), n)
		idle = idle[n:]
		f.cold += n
	}
	f.idle = len(f.ids)
	return f.idle > f.cold
}
