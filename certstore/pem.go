package certstore

// This file cuts a file into PEM blocks (RFC 7468) and says what is wrong with
// it in words: the standard decoder passes over what it cannot read, which here
// would be a certificate that silently is not served.

import (
	"bytes"
	"encoding/base64"
	"encoding/pem"
	"fmt"
)

// blocksMax bounds the PEM blocks of one file.
const blocksMax = 1024

var (
	beginMark = []byte("-----BEGIN ")
	endMark   = []byte("-----END ")
	dashes    = []byte("-----")
	utf8Mark  = []byte("\xef\xbb\xbf")
)

// block is one PEM block.
type block struct {
	label     string
	der       []byte
	encrypted bool // by the headers of RFC 1421
	line      int  // of the BEGIN, from 1
}

// fault is what is wrong with a file and what to do about it.
type fault struct{ what, fix string }

// readBlocks returns the PEM blocks of a file, and the first fault that ended the
// reading. Text between blocks, CRLF line ends, a byte order mark and explanatory
// text before a block are passed over.
func readBlocks(data []byte) ([]block, *fault) {
	if bytes.HasPrefix(data, []byte{0xff, 0xfe}) || bytes.HasPrefix(data, []byte{0xfe, 0xff}) {
		return nil, &fault{"UTF-16 text", "save it as plain ASCII or UTF-8"}
	}
	var blocks []block
	line := 0
	for len(data) > 0 {
		first, rest := cutLine(data)
		line++
		first = bytes.TrimPrefix(first, utf8Mark)
		if bytes.HasPrefix(first, endMark) {
			return blocks, &fault{fmt.Sprintf("line %d: an END line without its BEGIN", line), "copy the file again, from its first line"}
		}
		if !bytes.HasPrefix(first, beginMark) {
			data = rest
			continue
		}
		if len(blocks) == blocksMax {
			return blocks, &fault{fmt.Sprintf("more than %d PEM blocks", blocksMax), "give a server its own certificate and chain only"}
		}
		b, lines, after, bad := readBlock(bytes.TrimPrefix(data, utf8Mark), line)
		if bad != nil {
			return blocks, bad
		}
		blocks = append(blocks, b)
		data, line = after, line+lines-1
	}
	return blocks, nil
}

// cutLine returns the first line of data, without its end, and the rest.
func cutLine(data []byte) (line, rest []byte) {
	line, rest, _ = bytes.Cut(data, []byte{'\n'})
	return bytes.TrimRight(line, " \t\r"), rest
}

// readBlock reads the block that data begins with, at a line of the file; it
// returns how many lines it has and what follows it.
func readBlock(data []byte, at int) (b block, lines int, rest []byte, bad *fault) {
	first, rest := cutLine(data)
	label, closed := bytes.CutSuffix(first[len(beginMark):], dashes)
	if !closed {
		return b, 0, nil, &fault{fmt.Sprintf("line %d: a BEGIN line without its five dashes", at), "copy the file again"}
	}
	for lines = 2; len(rest) > 0; lines++ {
		var line []byte
		line, rest = cutLine(rest)
		if !bytes.HasPrefix(line, endMark) {
			if bytes.HasPrefix(line, beginMark) {
				break
			}
			continue
		}
		if bad := checkEnd(line, label, at+lines-1); bad != nil {
			return b, 0, nil, bad
		}
		text := data[:len(data)-len(rest)]
		b = block{label: string(label), line: at, der: decodePlain(text, len(first))}
		if b.der != nil {
			return b, lines, rest, nil
		}
		decoded, _ := pem.Decode(text)
		if decoded == nil {
			return b, 0, nil, &fault{fmt.Sprintf("line %d: %s that is not base64", at, label), "copy the file again"}
		}
		b.der, b.encrypted = decoded.Bytes, decoded.Headers["Proc-Type"] == "4,ENCRYPTED"
		return b, lines, rest, nil
	}
	return b, 0, nil, &fault{fmt.Sprintf("cut short: the %s of line %d has no end", label, at), "is it still being written? Otherwise copy it again"}
}

// decodePlain decodes a block of nothing but base64 between its first line and the
// END line, as nearly all are; nil for any other, which is left to the standard
// decoder: that takes six times as long.
func decodePlain(text []byte, first int) []byte {
	body := text[first:bytes.LastIndex(text, endMark)]
	der := make([]byte, base64.StdEncoding.DecodedLen(len(body)))
	n, err := base64.StdEncoding.Decode(der, body)
	if err != nil || n == 0 {
		return nil
	}
	if cap(der)-n > 64 {
		return bytes.Clone(der[:n])
	}
	return der[:n:n]
}

// checkEnd checks the END line of a block.
func checkEnd(line, label []byte, at int) *fault {
	if bytes.Contains(line, beginMark) {
		return &fault{fmt.Sprintf("line %d: two PEM blocks on one line", at), "put a line break after the END line"}
	}
	end, closed := bytes.CutSuffix(line[len(endMark):], dashes)
	if !closed {
		return &fault{fmt.Sprintf("cut short: the END line %d is not whole", at), "is it still being written? Otherwise copy it again"}
	}
	if !bytes.Equal(end, label) {
		return &fault{fmt.Sprintf("line %d: END %s ends a BEGIN %s", at, end, label), "copy the file again"}
	}
	return nil
}
