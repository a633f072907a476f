package proxy

import "bytes"

// Climbs says that the request path raw, decoded once, leads above "/" at some
// point: behind a base path it would lead out of that (RFC 3986, 5.2.4). It reads
// raw as the most generous of applications do: "//" is "/", "\" is "/" as well,
// and what follows ";" in a segment is a parameter.
//
// Both readings of "\" must stay below "/". So what is between two "/" counts as
// one step down, whatever "\" are in it, and every ".." as one up.
func Climbs(raw []byte) bool {
	if bytes.IndexByte(raw, '%') < 0 && !bytes.Contains(raw, dotDot) {
		return false
	}
	depth, named := 0, false
	for len(raw) > 0 {
		var s step
		s, raw = nextStep(raw)
		switch {
		case s.dots == 2 && !s.other:
			if depth--; depth < 0 {
				return true
			}
		case s.other || s.dots > 2:
			named = true
		}
		if named && s.slash {
			depth, named = depth+1, false
		}
	}
	return false
}

var dotDot = []byte("..")

// step is what stands before one "/" or "\" of a path.
type step struct {
	dots  int  // how many it has
	other bool // and other bytes besides, or among them
	slash bool // it ends in "/"
}

// nextStep takes the first step off raw.
func nextStep(raw []byte) (s step, rest []byte) {
	parameter := false
	for len(raw) > 0 {
		c := raw[0]
		raw = raw[1:]
		if c == '%' && len(raw) >= 2 {
			if high, low := hexDigit(raw[0]), hexDigit(raw[1]); high >= 0 && low >= 0 {
				c, raw = byte(high<<4|low), raw[2:]
			}
		}
		switch {
		case c == '/' || c == '\\':
			s.slash = c == '/'
			return s, raw
		case parameter:
		case c == ';':
			parameter = true
		case c == '.':
			s.dots++
		default:
			s.other = true
		}
	}
	return s, nil
}

// hexDigit is the value of a hexadecimal digit, -1 for any other byte.
func hexDigit(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}
