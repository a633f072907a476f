// Extended header records (pax), as far as an index needs them.

package site

import (
	"bytes"
	"errors"
	"strings"
)

// digestComment marks the comment record that carries the SHA-256 of an entry's
// content, in hexadecimal. A comment, because every reader of pax archives must
// pass over comments, and most of them complain about records of other names.
const digestComment = "edge-sha256:"

var (
	errPaxRecord = errors.New("a pax record is malformed")
	errPaxGlobal = errors.New("a global pax header sets a name or a size")
)

// paxRecords is what the extended headers before an entry say of it. The slices
// are copies.
type paxRecords struct {
	path, linkpath    []byte // empty: not given
	size, mtime       int64
	hasSize, hasMtime bool
	sparse            bool
	digest            []byte // hexadecimal, as it stands
}

// parse adds the records in data: each is "LENGTH KEY=VALUE\n", where LENGTH is
// decimal and counts the whole record.
func (p *paxRecords) parse(data []byte) error {
	for len(data) > 0 {
		key, value, rest, err := cutPaxRecord(data)
		if err != nil {
			return err
		}
		if err := p.set(string(key), value); err != nil {
			return err
		}
		data = rest
	}
	return nil
}

func cutPaxRecord(data []byte) (key, value, rest []byte, err error) {
	space := bytes.IndexByte(data, ' ')
	if space < 0 {
		return nil, nil, nil, errPaxRecord
	}
	n, ok := decimal(data[:space])
	if !ok || n <= int64(space)+1 || n > int64(len(data)) {
		return nil, nil, nil, errPaxRecord
	}
	record := data[space+1 : n]
	body, ended := bytes.CutSuffix(record, []byte("\n"))
	key, value, cut := bytes.Cut(body, []byte("="))
	if !ended || !cut || len(key) == 0 {
		return nil, nil, nil, errPaxRecord
	}
	return key, value, data[n:], nil
}

// set takes one record. An empty value takes an earlier one back.
func (p *paxRecords) set(key string, value []byte) error {
	switch key {
	case "path":
		p.path = bytes.Clone(value)
	case "linkpath":
		p.linkpath = bytes.Clone(value)
	case "size":
		p.size, p.hasSize = decimal(value)
		if !p.hasSize && len(value) > 0 {
			return errPaxRecord
		}
	case "mtime":
		p.mtime, p.hasMtime = seconds(value)
		if !p.hasMtime && len(value) > 0 {
			return errPaxRecord
		}
	case "comment":
		if digest, ok := bytes.CutPrefix(value, []byte(digestComment)); ok {
			p.digest = bytes.Clone(digest)
		}
	default:
		if strings.HasPrefix(key, "GNU.sparse.") {
			p.sparse = true
		}
	}
	return nil
}

// checkGlobal refuses what makes no sense for all entries at once, and what
// would have two readers find different entries.
func (p *paxRecords) checkGlobal() error {
	if len(p.path) > 0 || len(p.linkpath) > 0 || p.hasSize || p.sparse || p.digest != nil {
		return errPaxGlobal
	}
	return nil
}

// decimal reads a number that is not negative and fits.
func decimal(b []byte) (int64, bool) {
	if len(b) == 0 || len(b) > 18 {
		return 0, false
	}
	var n int64
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, true
}

// seconds reads a pax time, "-12.5", rounded down to whole seconds.
func seconds(b []byte) (int64, bool) {
	digits, negative := bytes.CutPrefix(b, []byte("-"))
	whole, fraction, _ := bytes.Cut(digits, []byte("."))
	n, ok := decimal(whole)
	if !ok || len(bytes.Trim(fraction, "0123456789")) != 0 {
		return 0, false
	}
	if negative {
		n = -n
		if len(bytes.Trim(fraction, "0")) != 0 {
			n--
		}
	}
	return n, true
}
