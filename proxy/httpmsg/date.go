package httpmsg

import "time"

// DateLayout is the preferred form of an HTTP date (IMF-fixdate: RFC 9110,
// 5.6.7), for a time in UTC.
const DateLayout = "Mon, 02 Jan 2006 15:04:05 GMT"

// Date formats the time of Date fields, once a second. The zero value is ready.
// It belongs to one worker.
type Date struct {
	second int64
	text   [len(DateLayout)]byte
}

// At is the HTTP date of t. It is valid until the next call.
func (d *Date) At(t time.Time) []byte {
	if s := t.Unix(); s != d.second || d.text[0] == 0 {
		d.second = s
		t.UTC().AppendFormat(d.text[:0], DateLayout)
	}
	return d.text[:]
}
