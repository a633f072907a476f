package httpmsg

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"testing"
)

// TestClasses spells the classes out a second time.
func TestClasses(t *testing.T) {
	const alnum = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	for c := range 256 {
		in := func(set string) bool { return strings.IndexByte(set, byte(c)) >= 0 }
		visible := c > ' ' && c < 0x7f
		for _, k := range []struct {
			name  string
			class Class
			want  bool
		}{
			{"token", ClassToken, in(alnum + "!#$%&'*+-.^_`|~")},
			{"token by its delimiters", ClassToken, visible && !in(`"(),/:;<=>?@[\]{}`)},
			{"target", ClassTarget, visible && c != '#' || c >= 0x80},
			{"host", ClassHost, in(alnum + "-._~")},
			{"digit", ClassDigit, in("0123456789")},
			{"quoted", ClassQuoted, c == '\t' || c == ' ' || visible && c != '"' && c != '\\' || c >= 0x80},
		} {
			if got := Classes[c]&k.class != 0; got != k.want {
				t.Errorf("%s has %#02x: %v", k.name, c, got)
			}
		}
	}
}

// TestScans puts every byte at every place of strings of every length around the
// eight bytes that the scans take at once.
func TestScans(t *testing.T) {
	for length := 1; length <= 25; length++ {
		for at := range length {
			for c := range 256 {
				b := bytes.Repeat([]byte{'a'}, length)
				b[at] = byte(c)
				bad := c < ' ' && c != '\t' || c == 0x7f
				end := length
				if bad {
					end = at
				}
				if got := ValueEnd(b, 0); got != end {
					t.Fatalf("ValueEnd(%q) = %d, want %d", b, got, end)
				}
				if got := ValueEnd(b, at); got != end {
					t.Fatalf("ValueEnd(%q, %d) = %d, want %d", b, at, got, end)
				}
				if IsValue(b) == bad {
					t.Fatalf("IsValue(%q) = %v", b, !bad)
				}
				if want := Classes[c]&ClassToken != 0; IsToken(b) != want {
					t.Fatalf("IsToken(%q) = %v", b, !want)
				}
				if want := Classes[c]&ClassTarget != 0; IsTarget(b) != want {
					t.Fatalf("IsTarget(%q) = %v", b, !want)
				}
			}
		}
	}
	if IsToken(nil) || !IsValue(nil) || !IsTarget(nil) || ValueEnd(nil, 0) != 0 {
		t.Error("of nothing")
	}
}

// TestControlAfterControl: only the lowest mark of a word is sure.
func TestControlAfterControl(t *testing.T) {
	for _, c := range []struct {
		in   string
		want int
	}{
		{"\t\x7f234567", 1}, {"\t 234\n67", 5}, {"\x7f\x00234567", 0}, {"0123456\r", 7}, {"\t\t\t\t\t\t\t\t\t\x01", 9}, {"\xff\x80\x9f\xa0\x8a\x8d\x89 ", 8},
	} {
		if got := ValueEnd([]byte(c.in), 0); got != c.want {
			t.Errorf("%q: %d, want %d", c.in, got, c.want)
		}
	}
}

func TestTrimBlanks(t *testing.T) {
	for in, want := range map[string]string{"": "", " ": "", "\t a b \t": "a b", "a": "a", " a": "a", "a\t": "a", "\x0ba\xa0": "\x0ba\xa0"} {
		if got := TrimBlanks([]byte(in)); string(got) != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestParseLength(t *testing.T) {
	for _, n := range []int64{0, 1, 9, 10, 1 << 31, 1 << 32, math.MaxInt64} {
		if got, ok := ParseLength(strconv.AppendInt(nil, n, 10)); got != n || !ok {
			t.Errorf("%d: %d, %v", n, got, ok)
		}
	}
	for _, in := range []string{"", " 1", "1 ", "+1", "-1", "1.0", "0x1", "1,1", "1_0", "9223372036854775808", "9999999999999999999", "00000000000000000001"} {
		if got, ok := ParseLength([]byte(in)); ok {
			t.Errorf("%q: %d", in, got)
		}
	}
}

func TestCheckAuthority(t *testing.T) {
	for in, want := range map[string]*Error{
		"a": nil, "a.example:80": nil, "192.0.2.1": nil, "[::1]": nil, "[::1]:80": nil, "[::1]:": nil, "a_b~c": nil,
		"": errHostEmpty, ":80": errHostEmpty, "@": errHostUserinfo, "a@b": errHostUserinfo, "a:b@c": errHostUserinfo,
		"a b": errHostName, "a/": errHostName, "a?": errHostName, "a\\b": errHostName, "a%41": errHostName, "ä": errHostName, "a]": errHostName,
		"a:0": errHostPort, "a:65536": errHostPort, "a:x": errHostPort, "a:1:2": errHostPort, "a:000000000000000000000080": nil,
		strings.Repeat("a", 300): nil, strings.Repeat("a", 301): errHostLong, "a:" + strings.Repeat("0", 300) + "80": errHostLong,
		"[": errHostLiteral, "[]": errHostLiteral, "[::1": errHostLiteral, "[::1]x": errHostLiteral, "[1.2.3.4]": errHostLiteral,
		"[::1%a]": errHostLiteral, "[::1]:99999": errHostPort, "[" + strings.Repeat("0", 60) + "]": errHostLiteral,
	} {
		if got := CheckAuthority([]byte(in)); got != want {
			t.Errorf("%q: %v, want %v", in, got, want)
		}
	}
}

func TestErrorText(t *testing.T) {
	if got := errHostPort.Error(); got != "invalid port in host (RFC 9110, 7.2)" {
		t.Error(got)
	}
	if got := (&Error{Status: 400, Reason: "x"}).Error(); got != "x" {
		t.Error(got)
	}
}
