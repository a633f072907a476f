package http1

import "edge/proxy/httpmsg"

// Chunk extensions (RFC 9112, 7.1.1). They mean nothing to us and are not passed
// on. But they are read, not passed over: where a quoted string ends decides
// where the line does, and what two parties may read in two ways is refused.

// Columns of extNext.
const (
	extOnToken = iota
	extOnBlank
	extOnEquals
	extOnSemicolon
	extOnQuote
	extOnCR
	extColumns
)

// extNext is the grammar outside quoted strings: the state behind a byte of the
// column's kind; 0 where that byte may not stand. Blanks are BWS: they must lead
// to "=", ";" or a value, never to the end of the line.
var extNext = [...][extColumns]bodyState{
	//                  token          blank            =              ;         "               CR
	chunkExt:          {chunkExtName, chunkExt, 0, 0, 0, 0},
	chunkExtName:      {chunkExtName, chunkExtNameEnd, chunkExtValue, chunkExt, 0, chunkLineEnd},
	chunkExtNameEnd:   {0, chunkExtNameEnd, chunkExtValue, chunkExt, 0, 0},
	chunkExtValue:     {chunkExtToken, chunkExtValue, 0, 0, chunkExtQuoted, 0},
	chunkExtToken:     {chunkExtToken, chunkExtEnd, 0, chunkExt, 0, chunkLineEnd},
	chunkExtQuotedEnd: {0, chunkExtEnd, 0, chunkExt, 0, chunkLineEnd},
	chunkExtEnd:       {0, chunkExtEnd, 0, chunkExt, 0, 0},
}

// extByte takes one byte of the extensions, or the CR that ends them.
func (d *Body) extByte(c byte) *Error {
	switch d.state {
	case chunkExtQuoted:
		return d.quotedByte(c)
	case chunkExtEscape: // quoted-pair: RFC 9110, 5.6.4
		if c < ' ' && c != '\t' || c == 0x7f {
			return errChunkExt
		}
		d.state = chunkExtQuoted
		return nil
	}
	column := extColumn(c)
	if column == extColumns {
		if c == '\n' {
			return errBareLF
		}
		return errChunkExt
	}
	next := extNext[d.state][column]
	if next == 0 {
		return errChunkExt
	}
	d.state = next
	return nil
}

// extColumn is the column of c, extColumns if c may stand nowhere.
func extColumn(c byte) int {
	switch c {
	case ' ', '\t':
		return extOnBlank
	case '=':
		return extOnEquals
	case ';':
		return extOnSemicolon
	case '"':
		return extOnQuote
	case '\r':
		return extOnCR
	}
	if httpmsg.Classes[c]&httpmsg.ClassToken != 0 {
		return extOnToken
	}
	return extColumns
}

// quotedByte takes one byte of a quoted string or its closing quote.
func (d *Body) quotedByte(c byte) *Error {
	switch {
	case c == '"':
		d.state = chunkExtQuotedEnd
	case c == '\\':
		d.state = chunkExtEscape
	case httpmsg.Classes[c]&httpmsg.ClassQuoted == 0:
		return errChunkExt
	}
	return nil
}
