package certstore

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/pem"
	"strings"
	"testing"
	"unicode/utf16"
)

// block64 is a PEM block with any content.
func block64(label, content string) string {
	return "-----BEGIN " + label + "-----\n" + base64.StdEncoding.EncodeToString([]byte(content)) + "\n-----END " + label + "-----\n"
}

func TestReadBlocks(t *testing.T) {
	a, b := block64("CERTIFICATE", "first"), block64("PRIVATE KEY", "second")
	tests := []struct {
		why, data, want, fault string
	}{
		{"empty", "", "", ""},
		{"text", "just text\n-- no block --\n", "", ""},
		{"one", a, "CERTIFICATE first", ""},
		{"two", a + b, "CERTIFICATE first, PRIVATE KEY second", ""},
		{"text around", "subject: x\n" + a + "\n\nissuer\n" + b + "end", "CERTIFICATE first, PRIVATE KEY second", ""},
		{"CRLF", strings.ReplaceAll(a+b, "\n", "\r\n"), "CERTIFICATE first, PRIVATE KEY second", ""},
		{"no last line end", strings.TrimSpace(a + b), "CERTIFICATE first, PRIVATE KEY second", ""},
		{"byte order mark", "\xef\xbb\xbf" + a, "CERTIFICATE first", ""},
		{"byte order mark in the middle", a + "\xef\xbb\xbf" + b, "CERTIFICATE first, PRIVATE KEY second", ""},
		{"blanks after lines", strings.ReplaceAll(a, "\n", " \t\n"), "CERTIFICATE first", ""},
		{"headers", "-----BEGIN X-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES\n\nAAAA\n-----END X-----\n", "X! \x00\x00\x00", ""},
		{"empty block", "-----BEGIN X-----\n-----END X-----\n", "X ", ""},

		{"UTF-16", utf16Text(a), "", "UTF-16"},
		{"no whole END", a[:len(a)-5], "", "cut short: the END line 3"},
		{"no END at all", a[:40], "", "cut short: the CERTIFICATE of line 1"},
		{"second cut short", a + b[:40], "CERTIFICATE first", "cut short: the PRIVATE KEY of line 4"},
		{"BEGIN in the place of END", a[:40] + "\n" + a, "", "cut short: the CERTIFICATE of line 1"},
		{"END without BEGIN", strings.Join(strings.SplitAfter(a, "\n")[1:], ""), "", "line 2: an END line without its BEGIN"},
		{"END of another", strings.Replace(a, "END CERTIFICATE", "END X", 1), "", "line 3: END X ends a BEGIN CERTIFICATE"},
		{"not base64", strings.Replace(a, "Zmly", "Zm!y", 1), "", "line 1: CERTIFICATE that is not base64"},
		{"run together", strings.TrimSpace(a) + b, "", "line 3: two PEM blocks on one line"},
		{"BEGIN without dashes", strings.Replace(a, "CERTIFICATE-----", "CERTIFICATE", 1), "", "line 1: a BEGIN line"},
		{"too many", strings.Repeat("-----BEGIN X-----\n-----END X-----\n", blocksMax+1), strings.Repeat("X , ", blocksMax-1) + "X ", "more than 1024"},
	}
	for _, test := range tests {
		blocks, bad := readBlocks([]byte(test.data))
		var got []string
		for _, b := range blocks {
			label := b.label
			if b.encrypted {
				label += "!"
			}
			got = append(got, label+" "+string(b.der))
		}
		if have := strings.Join(got, ", "); have != test.want {
			t.Errorf("%s: blocks %q, want %q", test.why, have, test.want)
		}
		if what := faultText(bad); test.fault == "" && what != "" || !strings.Contains(what, test.fault) {
			t.Errorf("%s: fault %q, want %q", test.why, what, test.fault)
		}
	}
}

// faultText returns what a fault says, empty for none.
func faultText(f *fault) string {
	if f == nil {
		return ""
	}
	return f.what
}

// utf16Text is what Windows' editors make of a text as "Unicode".
func utf16Text(s string) string {
	out := []byte{0xff, 0xfe}
	for _, u := range utf16.Encode([]rune(s)) {
		out = binary.LittleEndian.AppendUint16(out, u)
	}
	return string(out)
}

func TestBlockLines(t *testing.T) {
	data := "text\n\n" + block64("A", "a") + "text\n" + block64("B", "b")
	blocks, bad := readBlocks([]byte(data))
	if bad != nil || len(blocks) != 2 || blocks[0].line != 3 || blocks[1].line != 7 {
		t.Errorf("blocks %v, fault %v; want lines 3 and 7", blocks, bad)
	}
}

// TestCutShortIsAlwaysSeen cuts a file at each byte: what is left is a fault,
// or all blocks that can be in it.
func TestCutShortIsAlwaysSeen(t *testing.T) {
	a, b := block64("CERTIFICATE", "first"), block64("PRIVATE KEY", "second")
	data := a + b
	for cut := range len(data) {
		blocks, bad := readBlocks([]byte(data[:cut]))
		whole := 0
		if cut >= len(a)-1 {
			whole = 1
		}
		if cut >= len(data)-1 {
			whole = 2
		}
		if len(blocks) != whole {
			t.Errorf("cut at %d: %d blocks, want %d", cut, len(blocks), whole)
		}
		begun := cut > len("-----BEGIN ") && whole == 0 || cut > len(a)+len("-----BEGIN ") && whole == 1
		if begun && bad == nil {
			t.Errorf("cut at %d: no fault in %q", cut, data[:cut])
		}
	}
}

// FuzzReadBlocks holds the cutting of PEM against the standard decoder: where
// this sees no fault, both see the same blocks.
func FuzzReadBlocks(f *testing.F) {
	a, b := block64("CERTIFICATE", "first"), block64("PRIVATE KEY", "second")
	for _, seed := range []string{"", a, a + b, "text\n" + a + "text\r\n" + b, "\xef\xbb\xbf" + a, strings.TrimSpace(a) + b,
		strings.ReplaceAll(a, "\n", "\r\n"), "-----BEGIN X-----\nProc-Type: 4,ENCRYPTED\n\nAAAA\n-----END X-----\n", a[:30], utf16Text(a), "\n-----END -----BEGIN X-----\n-----END X-----"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		before := bytes.Clone(data)
		blocks, bad := readBlocks(data)
		if !bytes.Equal(data, before) {
			t.Fatal("input changed")
		}
		if len(blocks) > blocksMax {
			t.Fatalf("%d blocks", len(blocks))
		}
		if bad != nil {
			if bad.what == "" || bad.fix == "" {
				t.Fatalf("fault without words: %+v", bad)
			}
			return
		}
		if bytes.Contains(data, utf8Mark) {
			return // which the standard decoder does not know
		}
		rest := data
		for _, b := range blocks {
			var want *pem.Block
			if want, rest = pem.Decode(rest); want == nil || want.Type != b.label || !bytes.Equal(want.Bytes, b.der) {
				t.Fatalf("block %q of %x, want %+v", b.label, b.der, want)
			}
		}
		if want, _ := pem.Decode(rest); want != nil {
			t.Fatalf("block %q is not seen", want.Type)
		}
	})
}

// FuzzParse feeds whole files: whatever they hold, the answer is content or a
// fault of one line.
func FuzzParse(f *testing.F) {
	c := server(f, nil, "a.example")
	f.Add("a.pem", []byte(chainPEM(c)+c.keyPEM()))
	f.Add("a.key", []byte(c.keyPEM()))
	f.Add("a.der", c.x.Raw)
	f.Add("a.ocsp", []byte{0x30, 0x03, 0x0a, 0x01, 0x00})
	f.Add("README", []byte("text"))
	f.Add("a.pem", []byte(block64("RSA PRIVATE KEY", "x")+block64("ENCRYPTED PRIVATE KEY", "y")+block64("EC PARAMETERS", "z")))
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		r := newReader()
		got := r.parse(name, data)
		if got == nil {
			return
		}
		if got.fault != nil && (got.fault.what == "" || strings.ContainsAny((Problem{What: got.fault.what, Fix: got.fault.fix}).String(), "\r\n")) {
			t.Fatalf("fault %+v", got.fault)
		}
		for _, c := range got.certs {
			for _, name := range c.names {
				host := strings.TrimPrefix(name, "*.")
				if normal, err := AppendName(nil, []byte(host)); err != nil || string(normal) != host {
					t.Fatalf("name %q: %q, %v", name, normal, err)
				}
			}
		}
	})
}
