package proxy

import "testing"

// Field case H11: a path that leads above its root would lead out of the base path
// that is put before it.
func TestClimbs(t *testing.T) {
	for path, want := range map[string]bool{
		"/": false, "/a/b": false, "/.": false, "/a/..": false, "/a/../b": false, "/a/b/../../c": false, "/...": false,
		"/a..b/..c/d..": false, "/%2e/a": false, "/a/%2E%2e/b": false, "/%252e%252e/a": false, "/%": false, "/%2": false,
		"/.;/a": false, "/a;..": false, `/a\b/../c`: false, "/\xff": false, "/a/..;x=1/b": false,

		"/..": true, "/../a": true, "/./../a": true, "/a/../../b": true, "/a//../../b": true, "/%2e%2e/a": true, "/.%2E": true,
		"/%2e./a": true, "/a%2f..%2f../b": true, "/..%2fa": true, "/..;/a": true, "/..;x=1/a": true, "/a/..%3b/..;/b": true,
		`/..\a`: true, "/..%5ca": true, `/a\..\..\b`: true, `/a\b/../../c`: true, `/\..\a`: true, "//../a": true, "/;/../a": true,
	} {
		if got := Climbs([]byte(path)); got != want {
			t.Errorf("%q: %v, want %v", path, got, want)
		}
	}
	path := []byte("/a/%2e%2e/b/../c%20d")
	if n := testing.AllocsPerRun(100, func() { Climbs(path) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
