// Range requests (RFC 9110, 14).

package site

import (
	"bytes"
	"math"

	"edge/proxy/httpmsg"
)

// rangesMax bounds what Options.RangesMax may ask for: how many ranges of one
// request are read.
const rangesMax = 64

// span is the bytes [from, to) of a file.
type span struct{ from, to int64 }

func (s span) length() int64 { return s.to - s.from }

// rangesResult is what a Range field comes to.
type rangesResult uint8

const (
	rangesIgnored       rangesResult = iota // no such field counts: all of it, 200
	rangesSatisfied                         // spans has them: 206
	rangesUnsatisfiable                     // 416
)

// parseRanges reads a Range field's value against a file of the given size.
// Ranges that lie outside are left out; spans may be fewer than were asked for.
// More than limit ranges, or ranges that come to more than the file, are not
// worth the answer: they are ignored, as RFC 9110, 14.2 allows.
func parseRanges(value []byte, size int64, spans *[rangesMax]span, limit int) (n int, result rangesResult) {
	set, ok := cutUnit(value)
	if !ok {
		return 0, rangesIgnored
	}
	specs, total := 0, int64(0)
	for len(set) > 0 {
		var spec []byte
		spec, set = nextSpec(set)
		if len(spec) == 0 {
			continue // an empty list element (5.6.1.2)
		}
		s, ok := parseSpec(spec, size)
		if specs++; !ok || specs > limit {
			return 0, rangesIgnored
		}
		if s.length() <= 0 {
			continue
		}
		if total += s.length(); total > size {
			return 0, rangesIgnored
		}
		spans[n] = s
		n++
	}
	switch {
	case specs == 0:
		return 0, rangesIgnored
	case n == 0:
		return 0, rangesUnsatisfiable
	}
	return n, rangesSatisfied
}

// cutUnit takes "bytes=" off; the name of the unit has no case (14.1).
func cutUnit(value []byte) (set []byte, ok bool) {
	unit, set, ok := bytes.Cut(value, []byte("="))
	return set, ok && httpmsg.EqualFold(unit, "bytes")
}

// nextSpec takes the next list element off, which may be empty. White space may
// stand around the commas only.
func nextSpec(set []byte) (spec, rest []byte) {
	spec, rest, more := bytes.Cut(set, []byte(","))
	if !more {
		return spec, nil
	}
	return bytes.TrimRight(spec, " \t"), bytes.TrimLeft(rest, " \t")
}

// parseSpec reads FROM-TO, FROM- or -LENGTH. ok is false for a syntax error; a
// range outside the file has no length.
func parseSpec(spec []byte, size int64) (s span, ok bool) {
	first, last, cut := bytes.Cut(spec, []byte("-"))
	if !cut {
		return s, false
	}
	from, okFrom := position(first)
	to, okTo := position(last)
	switch {
	case len(first) == 0: // the last so many bytes
		return span{size - min(to, size), size}, okTo
	case len(last) == 0:
		return span{min(from, size), size}, okFrom
	case !okFrom || !okTo || to < from:
		return s, false
	}
	return span{min(from, size), min(to, size-1) + 1}, true
}

// position reads digits; what does not fit counts as the largest that does.
func position(b []byte) (int64, bool) {
	var n int64
	for _, c := range b {
		switch {
		case c < '0' || c > '9':
			return 0, false
		case n > (math.MaxInt64-9)/10:
			n = math.MaxInt64
		default:
			n = n*10 + int64(c-'0')
		}
	}
	return n, len(b) > 0
}
