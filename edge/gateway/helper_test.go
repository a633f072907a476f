package gateway

import (
	"bytes"
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"testing"
	"unicode/utf8"

	"edge/edge/sdk"
)

// edge.h and the table of helpers have the same names and numbers.
func TestHeaderDeclaresTheHelpers(t *testing.T) {
	declared := map[string]int32{}
	for _, m := range regexp.MustCompile(`(?m)^static [^=]*\(\*(\w+)\)\([^=]*\) = \(void \*\)(\d+);$`).FindAllStringSubmatch(sdk.Header, -1) {
		n, err := strconv.ParseInt(m[2], 10, 32)
		if err != nil {
			t.Fatal(err)
		}
		declared[m[1]] = int32(n)
	}
	have := map[string]int32{}
	for _, h := range programHelpers {
		have[h.Name] = h.Number
	}
	if !maps.Equal(declared, have) {
		t.Errorf("edge.h declares %v\nthe table has %v", declared, have)
	}
}

// What edge.h says of sizes and values is what the gateway does.
func TestHeaderStatesTheLimits(t *testing.T) {
	for _, want := range []string{
		fmt.Sprintf("have 1 to %d\n * bytes; there are %d of them at most, 4,096 bytes in all", valueKeyMax, valuesMax),
		fmt.Sprintf("%d changes and 16,384 bytes for a request", changesMax),
		fmt.Sprintf("%d bytes at most, control bytes", scriptLogMax),
		fmt.Sprintf("for each file %d lines a second", scriptLogPerSecond),
		fmt.Sprintf("#define EDGE_HOOK_RESPONSE %d\n", hookResponse),
		fmt.Sprintf("#define EDGE_NEXT %d ", resultNext),
		fmt.Sprintf("#define EDGE_LAST %d ", resultLast),
		fmt.Sprintf("#define EDGE_EPERM %d ", -errPermission),
		fmt.Sprintf("#define EDGE_ENOENT %d ", -errNoEntry),
		fmt.Sprintf("#define EDGE_E2BIG %d ", -errTooBig),
		fmt.Sprintf("#define EDGE_EINVAL %d ", -errInvalid),
		fmt.Sprintf("#define EDGE_ENOSPC %d ", -errNoSpace),
	} {
		if !bytes.Contains([]byte(sdk.Header), []byte(want)) {
			t.Errorf("edge.h does not say %q", want)
		}
	}
	if valuesBytesMax != 4096 || changesBytesMax != 16384 || respondBytesMax != 262144 || bansMax != 65536 ||
		bodyHeldMax != 65536 || programTargetsMax != 256 || subjectBytesMax != 1024 {
		t.Error("a limit differs from edge.h")
	}
}

// The map of a request keeps what was set, within its size, and uses the space of
// what was replaced again.
func TestKeyValues(t *testing.T) {
	var m keyValues
	value := func(n int) []byte { return bytes.Repeat([]byte{byte('a' + n%26)}, 50) }
	for round := range 200 {
		key := []byte{byte('A' + round%5)}
		if !m.set(key, value(round)) {
			t.Fatalf("round %d: no room, with %d bytes in use", round, 5*51)
		}
		if i := m.find(key); i < 0 || !bytes.Equal(m.entries[i].value, value(round)) {
			t.Fatalf("round %d: the value is not what was set", round)
		}
	}
	for i, e := range m.entries {
		if want := value(195 + i); !bytes.Equal(e.value, want) {
			t.Errorf("key %s: %s, want %s", e.key, e.value, want)
		}
	}
	if len(m.entries) != 5 || cap(m.arena) > valuesBytesMax {
		t.Errorf("%d entries, %d bytes", len(m.entries), cap(m.arena))
	}
	m.reset()
	for i := range valuesMax {
		if !m.set(fmt.Append(nil, i), nil) {
			t.Fatalf("no room for key %d", i)
		}
	}
	if m.set([]byte("one more"), nil) || !m.set([]byte("7"), []byte("x")) {
		t.Error("valuesMax is not held, or stands in the way of a key that is there")
	}
	m.reset()
	if m.set([]byte("k"), make([]byte, valuesBytesMax)) || !m.set([]byte("k"), make([]byte, valuesBytesMax-1)) {
		t.Error("valuesBytesMax is not held to the byte")
	}
	if !m.set([]byte("k"), make([]byte, valuesBytesMax-1)) {
		t.Error("a value cannot be replaced by one as large")
	}
}

func TestEscaped(t *testing.T) {
	for in, want := range map[string]string{
		"plain text, ü and 語": "plain text, ü and 語", "a\nb\x00\x1b[31m": `a\x0ab\x00\x1b[31m`, "\xff\xc3": `\xff\xc3`, "\u202e": `\xe2\x80\xae`, "": "",
	} {
		got := escaped([]byte(in))
		if got != want || !utf8.ValidString(got) {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestEqualFold(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want bool
	}{
		{"", "", true}, {"Host", "hOST", true}, {"Host", "Hos", false}, {"a-b", "A-B", true}, {"a-b", "a\rb", false},
		{"[", "{", false}, {"@", "`", false}, {"x1", "X1", true}, {"x1", "X\x11", false}, {"zZ", "Zz", true},
	} {
		if got := equalFold([]byte(tc.a), []byte(tc.b)); got != tc.want {
			t.Errorf("%q, %q: %v", tc.a, tc.b, got)
		}
	}
}
