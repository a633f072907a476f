package http1

import (
	"bufio"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// vector is one block of a file in testvectors/http1; its README gives the form.
type vector struct {
	name, in, rest, method string
	want                   string // the first word: a status, ok or more
	reason                 string // words of the error
	pairs                  map[string]string
}

// readVectors reads a file of testvectors/http1.
func readVectors(t testing.TB, file string) (all []vector) {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "..", "testvectors", "http1", file))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for scan := bufio.NewScanner(f); scan.Scan(); {
		line := scan.Text()
		if line == "" || line[0] == '#' {
			continue
		}
		key, value, ok := strings.Cut(line, ": ")
		if key == "case" {
			all = append(all, vector{name: value, method: "GET"})
		}
		if !ok || len(all) == 0 {
			t.Fatalf("%s: malformed line %q", file, line)
		}
		all[len(all)-1].set(t, key, value)
	}
	return all
}

func (v *vector) set(t testing.TB, key, value string) {
	switch key {
	case "case":
	case "in":
		v.in += unquote(t, value)
	case "rest":
		v.rest += unquote(t, value)
	case "method":
		v.method = unquote(t, value)
	case "want":
		v.want, v.reason, _ = strings.Cut(value, " ")
		if v.want == "ok" {
			v.pairs = pairs(t, v.reason)
		}
	default:
		t.Fatalf("case %q: unknown key %q", v.name, key)
	}
}

func unquote(t testing.TB, s string) string {
	u, err := strconv.Unquote(s)
	if err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	return u
}

// pairs reads "a=b c="d e""; a value is quoted if it holds a blank.
func pairs(t testing.TB, s string) map[string]string {
	m := map[string]string{}
	for s != "" {
		name, rest, ok := strings.Cut(s, "=")
		if !ok {
			t.Fatalf("no = in %q", s)
		}
		value, err := strconv.QuotedPrefix(rest)
		if err == nil {
			rest = rest[len(value):]
			value = unquote(t, value)
		} else {
			value, rest, _ = strings.Cut(rest, " ")
		}
		m[name] = value
		s = strings.TrimPrefix(rest, " ")
	}
	return m
}

// check compares an outcome with the vector. got holds the facts of a message
// that was parsed whole, consuming n bytes.
func (v *vector) check(t *testing.T, n int, got map[string]string, err error) {
	t.Helper()
	switch v.want {
	case "more":
		if n != 0 || err != nil {
			t.Errorf("n = %d, error %v, want more to be asked for", n, err)
		}
	case "ok":
		if n != len(v.in) || err != nil {
			t.Fatalf("n = %d, error %v, want %d", n, err, len(v.in))
		}
		for name, want := range v.pairs {
			if value, ok := got[name]; !ok || value != want {
				t.Errorf("%s is %q, want %q", name, value, want)
			}
		}
	default:
		if err == nil || strconv.Itoa(status(err)) != v.want || !strings.Contains(err.Error(), v.reason) {
			t.Errorf("error %v (%d), want %s %s", err, status(err), v.want, v.reason)
		}
	}
}
