package record

// SealInPlace protects the n bytes of content at rec[HeaderLen:] and writes the
// header in front. rec has room for n+Overhead bytes; the record is returned and
// aliases rec.
//
//	before  | 5 free | n bytes | 1 + 16 free      |
//	after   | header | encrypted content and type | tag |
//
// n is at most PlaintextMax. The caller watches Sequence: it changes keys long
// before the limit of the AEAD.
func (d *Direction) SealInPlace(rec []byte, t ContentType, n int) []byte {
	if n > PlaintextMax {
		panic("BUG: sealing more than one record can hold")
	}
	size := n + 1 + TagLen
	rec = rec[:HeaderLen+size]
	rec[0], rec[1], rec[2], rec[3], rec[4] = byte(ApplicationData), 3, 3, byte(size>>8), byte(size)
	rec[HeaderLen+n] = byte(t)
	d.aead.Seal(rec[HeaderLen:HeaderLen], d.next(), rec[HeaderLen:HeaderLen+n+1], rec[:HeaderLen])
	d.seq++
	return rec
}

// SealAppend appends one protected record with content to dst. content is at
// most PlaintextMax bytes and may not overlap the free part of dst.
func (d *Direction) SealAppend(dst []byte, t ContentType, content []byte) []byte {
	start := len(dst)
	dst = append(dst, make([]byte, HeaderLen)...)
	dst = append(dst, content...)
	dst = append(dst, make([]byte, 1+TagLen)...)
	d.SealInPlace(dst[start:], t, len(content))
	return dst
}
