package coding

import (
	"fmt"
	"strings"

	"edge/proxy/httpmsg"
)

// mediaTypes are the types whose answers are worth compressing.
type mediaTypes struct {
	exact    map[string]bool
	tops     []string // "text/"
	suffixes []string // "+json"
}

// typeBytesMax is the longest type that is looked for: what is longer is none of
// the registered ones (RFC 6838, 4.2).
const typeBytesMax = 127

// parseTypes reads patterns: text/css, text/* for all below text, +json for all
// that are JSON by their suffix (RFC 6839).
func parseTypes(patterns []string) (t mediaTypes, err error) {
	t.exact = make(map[string]bool)
	for _, p := range patterns {
		p = strings.ToLower(strings.TrimSpace(p))
		top, sub, slash := strings.Cut(p, "/")
		switch {
		case !slash && strings.HasPrefix(p, "+") && isToken(p[1:]):
			t.suffixes = append(t.suffixes, p)
		case slash && isToken(top) && sub == "*":
			t.tops = append(t.tops, top+"/")
		case slash && isToken(top) && isToken(sub):
			t.exact[p] = true
		default:
			return t, fmt.Errorf("%q is no media type: give such as text/html, text/* or +json", p)
		}
	}
	return t, nil
}

func isToken(s string) bool { return httpmsg.IsToken([]byte(s)) && !strings.Contains(s, "*") }

// has says whether the type of a Content-Type value is among them.
func (t *mediaTypes) has(value []byte) bool {
	var buf [typeBytesMax]byte
	name := buf[:0]
	for _, c := range value {
		if c == ';' {
			break
		}
		if len(name) == len(buf) {
			return false
		}
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		name = append(name, c)
	}
	name = httpmsg.TrimBlanks(name)
	if t.exact[string(name)] {
		return true
	}
	for _, top := range t.tops {
		if len(name) > len(top) && string(name[:len(top)]) == top {
			return true
		}
	}
	for _, suffix := range t.suffixes {
		if len(name) > len(suffix) && string(name[len(name)-len(suffix):]) == suffix {
			return true
		}
	}
	return false
}
