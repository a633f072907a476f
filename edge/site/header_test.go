package site

import (
	"errors"
	"math"
	"testing"
)

func TestNumber(t *testing.T) {
	for field, want := range map[string]int64{
		"00000000017\x00":       15,
		"00000000017 ":          15,
		"      17 \x00":         15,
		"\x00\x0017":            15,
		"17":                    15,
		"777777777777":          1<<36 - 1,
		"":                      0,
		"\x00\x00":              0,
		"   ":                   0,
		"777777777777777777777": math.MaxInt64,
		"\x80\x00\x01\x00":      256,
		"\x80":                  0,
		"\xff\xff":              -1,
		"\xff\xfe":              -2,
		"\x80\x00\x00\x00\x7f\xff\xff\xff\xff\xff\xff\xff": math.MaxInt64,
		"\xff\xff\xff\xff\x80\x00\x00\x00\x00\x00\x00\x00": math.MinInt64,
	} {
		if got, err := number([]byte(field)); got != want || err != nil {
			t.Errorf("%q: %d, %v; want %d", field, got, err, want)
		}
	}
	for _, field := range []string{
		"8", "x", "-1", "1 7", "1\x007", "0x1", "+1",
		"7777777777777777777777",
		"\x80\x00\x00\x00\x80\x00\x00\x00\x00\x00\x00\x00",
		"\xff\xff\xff\xff\x7f\xff\xff\xff\xff\xff\xff\xff",
		"\xbf\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
	} {
		if got, err := number([]byte(field)); !errors.Is(err, errNumber) {
			t.Errorf("%q: %d, %v", field, got, err)
		}
	}
}

func TestChecksum(t *testing.T) {
	b := rawEntry('0', "caf\xe9.txt", "", "")
	if err := block(b).verify(); err != nil {
		t.Error(err)
	}
	if block(b).sum() == block(b).signedSum() {
		t.Fatal("both sums are the same, and only one is tested")
	}
	copy(b[148:], "        ")
	signed := block(b).signedSum()
	copy(b[148:], []byte{'0' + byte(signed>>12&7), '0' + byte(signed>>9&7), '0' + byte(signed>>6&7), '0' + byte(signed>>3&7), '0' + byte(signed&7), 0, ' ', ' '})
	if err := block(b).verify(); err != nil {
		t.Errorf("a signed sum: %v", err)
	}
	for at := range b {
		if 148 <= at && at < 156 {
			continue
		}
		b[at]++
		if err := block(b).verify(); err == nil {
			t.Fatalf("byte %d changed, and the checksum is right", at)
		}
		b[at]--
	}
	copy(b[148:], "none    ")
	if err := block(b).verify(); !errors.Is(err, errChecksum) {
		t.Error(err)
	}
}
