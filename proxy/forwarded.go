package proxy

import "bytes"

// The Forwarded field (RFC 7239):
//
//	Forwarded: for=192.0.2.43;proto=https, for="[2001:db8::1]:4711";host=a.example
//
// Elements are parted by commas, pairs by semicolons, and a value is a token or a
// quoted string in which both may stand.

// forwarded walks one value of Forwarded from its right. A value with more
// elements than hopsMax, or one that is malformed, ends the search.
func (s *hops) forwarded(value []byte) {
	var nodes [hopsMax][]byte
	n := 0
	for rest := value; len(rest) > 0; n++ {
		var node []byte
		var ok bool
		if node, rest, ok = nextElement(rest); !ok || n == hopsMax {
			s.over = true
			return
		}
		nodes[n] = node
	}
	for n > 0 && !s.over {
		n--
		s.step(nodes[n])
	}
}

// nextElement takes the first element off b: its for value without quotes, nil if
// it has none.
func nextElement(b []byte) (node, rest []byte, ok bool) {
	for {
		var name, value []byte
		name, b, ok = untilEquals(b)
		if !ok {
			return nil, nil, false
		}
		value, b, ok = nextValue(b)
		if !ok {
			return nil, nil, false
		}
		if len(name) == 3 && bytes.EqualFold(name, []byte("for")) {
			node = value
		}
		b = bytes.TrimLeft(b, " \t")
		if len(b) == 0 {
			return node, nil, true
		}
		separator := b[0]
		b = b[1:]
		switch separator {
		case ',':
			return node, b, true
		case ';':
		default:
			return nil, nil, false
		}
	}
}

func untilEquals(b []byte) (name, rest []byte, ok bool) {
	b = bytes.TrimLeft(b, " \t")
	equals := bytes.IndexByte(b, '=')
	if equals < 1 || bytes.ContainsAny(b[:equals], "\",; \t") {
		return nil, nil, false
	}
	return b[:equals], b[equals+1:], true
}

// nextValue takes a token or a quoted string off b. No node name needs an escape:
// one with a backslash is malformed to us.
func nextValue(b []byte) (value, rest []byte, ok bool) {
	if len(b) > 0 && b[0] == '"' {
		end := bytes.IndexAny(b[1:], "\"\\")
		if end < 0 || b[1+end] == '\\' {
			return nil, nil, false
		}
		return b[1 : 1+end], b[1+end+1:], true
	}
	end := bytes.IndexAny(b, ",; \t\"")
	if end < 0 {
		end = len(b)
	}
	return b[:end], b[end:], end > 0
}

// quotesEnd says that every quoted string in value ends (RFC 9110, 5.6.4).
func quotesEnd(value []byte) bool {
	quoted := false
	for i := 0; i < len(value); i++ {
		switch {
		case value[i] == '"':
			quoted = !quoted
		case quoted && value[i] == '\\':
			i++
		}
	}
	return !quoted
}
