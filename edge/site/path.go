// Paths: what a request's path means, and what an archive's names become.

package site

import (
	"bytes"
	"errors"
)

// pathBytesMax bounds a name in the index; Linux's PATH_MAX.
const pathBytesMax = 4096

// ErrPath: a request path that is none: it does not begin with "/", holds a "%"
// without two hexadecimal digits after it, or a NUL. The answer is 400.
var ErrPath = errors.New("site: malformed path")

// CleanPath appends to dst the one meaning of the request path raw: decoded
// once, then freed of empty, "." and ".." segments (RFC 3986, 5.2.4). It begins
// with "/", and ends with "/" where raw names a directory. dst and raw must not
// overlap.
func CleanPath(dst, raw []byte) ([]byte, error) {
	if len(raw) == 0 || raw[0] != '/' {
		return dst, ErrPath
	}
	from := len(dst)
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		if c == '%' {
			if len(raw)-i < 3 || unhex[raw[i+1]] < 0 || unhex[raw[i+2]] < 0 {
				return dst[:from], ErrPath
			}
			c = byte(unhex[raw[i+1]])<<4 | byte(unhex[raw[i+2]])
			i += 2
		}
		if c == 0 {
			return dst[:from], ErrPath
		}
		dst = append(dst, c)
	}
	if dst[from] != '/' {
		panic("BUG: a path lost its first byte")
	}
	n := removeDots(dst[from:])
	return dst[:from+n], nil
}

// removeDots takes empty, "." and ".." segments out of p, in place, and gives
// the new length. p[:w] ends with "/" whenever a segment begins.
func removeDots(p []byte) int {
	w := 1
	for r := 1; r <= len(p); {
		end := len(p)
		if i := bytes.IndexByte(p[r:], '/'); i >= 0 {
			end = r + i
		}
		switch segment := p[r:end]; string(segment) {
		case "", ".":
		case "..":
			w = max(1, bytes.LastIndexByte(p[:w-1], '/')+1)
		default:
			w += copy(p[w:], segment)
			if end < len(p) {
				p[w] = '/'
				w++
			}
		}
		r = end + 1
	}
	return w
}

// isClean: CleanPath would give raw back, as far as one look can tell.
func isClean(raw []byte) bool {
	if len(raw) == 0 || raw[0] != '/' {
		return false
	}
	before := byte(0)
	for _, c := range raw {
		if c == '%' || c == 0 || before == '/' && (c == '/' || c == '.') {
			return false
		}
		before = c
	}
	return true
}

// appendEscaped appends path as it stands in a URI (RFC 3986, 3.3).
func appendEscaped(dst, path []byte) []byte {
	const digits = "0123456789ABCDEF"
	for _, c := range path {
		if pathByte(c) {
			dst = append(dst, c)
		} else {
			dst = append(dst, '%', digits[c>>4], digits[c&15])
		}
	}
	return dst
}

func pathByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' ||
		bytes.IndexByte([]byte("/-._~!$&'()*+,;=:@"), c) >= 0
}

// unhex is the value of a hexadecimal digit, -1 for every other byte.
var unhex = func() (t [256]int8) {
	for c := range t {
		switch {
		case '0' <= c && c <= '9':
			t[c] = int8(c - '0')
		case 'a' <= c && c <= 'f':
			t[c] = int8(c - 'a' + 10)
		case 'A' <= c && c <= 'F':
			t[c] = int8(c - 'A' + 10)
		default:
			t[c] = -1
		}
	}
	return t
}()

// archivePath appends the path that an archive's name stands for, or says why
// there is none.
func archivePath(dst, name []byte) (path []byte, why string) {
	switch {
	case len(name) == 0:
		return dst, "the name is empty"
	case name[0] == '/':
		return dst, "the name is absolute"
	case bytes.IndexByte(name, 0) >= 0:
		return dst, "there is a NUL in the name"
	}
	from := len(dst)
	for segment := range bytes.SplitSeq(name, []byte("/")) {
		switch string(segment) {
		case "", ".":
		case "..":
			return dst[:from], "there is a .. in the name"
		default:
			dst = append(append(dst, '/'), segment...)
		}
	}
	switch {
	case len(dst) == from || name[len(name)-1] == '/':
		return dst[:from], "the name is a directory's"
	case len(dst)-from > pathBytesMax:
		return dst[:from], "the name is longer than 4096 bytes"
	}
	return dst, ""
}

// isHidden: a segment of the path begins with "." (RFC 8615's .well-known at
// the root excepted).
func isHidden(path []byte) bool {
	path, _ = bytes.CutPrefix(path, []byte("/.well-known/"))
	return len(path) > 0 && path[0] == '.' || bytes.Contains(path, []byte("/."))
}
