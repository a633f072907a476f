// The tar header block: its fields and its two ways to write a number.

package site

import (
	"bytes"
	"errors"
	"math"
)

const blockBytes = 512

// Types of entries (ustar, GNU, pax).
const (
	typeFile      = '0'
	typeFileOld   = 0 // v7
	typeLink      = '1'
	typeSymlink   = '2'
	typeCharDev   = '3'
	typeBlockDev  = '4'
	typeDirectory = '5'
	typeFIFO      = '6'
	typeContig    = '7'
	typePax       = 'x'
	typePaxGlobal = 'g'
	typeGNUName   = 'L'
	typeGNULink   = 'K'
	typeGNUSparse = 'S'
	typeGNUVolume = 'M'
)

var (
	errNumber   = errors.New("a number field holds no number")
	errChecksum = errors.New("header checksum is wrong")
)

// block is one header as it lies in the file.
type block []byte

func (b block) name() []byte     { return untilNUL(b[0:100]) }
func (b block) size() []byte     { return b[124:136] }
func (b block) mtime() []byte    { return b[136:148] }
func (b block) checksum() []byte { return b[148:156] }
func (b block) kind() byte       { return b[156] }
func (b block) linkname() []byte { return untilNUL(b[157:257]) }

// prefix is what ustar puts in front of the name; GNU and v7 have other things
// in its place.
func (b block) prefix() []byte {
	if string(b[257:265]) != "ustar\x0000" {
		return nil
	}
	if string(b[508:512]) == "tar\x00" { // star
		return untilNUL(b[345:476])
	}
	return untilNUL(b[345:500])
}

// sparseContinues: a block with more of the map of a GNU sparse file follows.
// The flag of those blocks stands elsewhere.
func (b block) sparseContinues() bool    { return b[482] != 0 }
func (b block) sparseMapContinues() bool { return b[504] != 0 }

func (b block) zero() bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

// verify compares the checksum: the sum of all bytes, those of the checksum
// itself taken as spaces. Old writers summed signed bytes.
func (b block) verify() error {
	want, err := number(b.checksum())
	if err != nil {
		return errChecksum
	}
	if want != b.sum() && want != b.signedSum() {
		return errChecksum
	}
	return nil
}

func (b block) sum() int64 {
	var n int64
	for _, c := range b {
		n += int64(c)
	}
	for _, c := range b.checksum() {
		n += ' ' - int64(c)
	}
	return n
}

func (b block) signedSum() int64 {
	var n int64
	for _, c := range b {
		n += int64(int8(c))
	}
	for _, c := range b.checksum() {
		n += ' ' - int64(int8(c))
	}
	return n
}

// number reads a numeric field: octal digits, with spaces and NULs around them
// or not, or base-256 (big-endian, two's complement) when the first bit is set.
func number(field []byte) (int64, error) {
	if len(field) > 0 && field[0]&0x80 != 0 {
		return base256(field)
	}
	return octal(field)
}

func octal(field []byte) (int64, error) {
	blank := func(c byte) bool { return c == ' ' || c == 0 }
	for len(field) > 0 && blank(field[0]) {
		field = field[1:]
	}
	for len(field) > 0 && blank(field[len(field)-1]) {
		field = field[:len(field)-1]
	}
	var n int64 // stays 0 for an empty field, which is how v7 leaves what it does not use
	for _, c := range field {
		if c < '0' || c > '7' || n > math.MaxInt64>>3 {
			return 0, errNumber
		}
		n = n<<3 | int64(c-'0')
	}
	return n, nil
}

func base256(field []byte) (int64, error) {
	n := int64(field[0] & 0x3f)
	if field[0]&0x40 != 0 { // negative
		n -= 0x40
	}
	for _, c := range field[1:] {
		if n > math.MaxInt64>>8 || n < math.MinInt64>>8 {
			return 0, errNumber
		}
		n = n<<8 | int64(c)
	}
	return n, nil
}

func untilNUL(b []byte) []byte {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		return b[:i]
	}
	return b
}
