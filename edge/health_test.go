package main

import (
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// moody is an application that is well or not; either way it answers requests.
type moody struct {
	ill atomic.Bool
	*httptest.Server
}

func newMoody(t *testing.T) *moody {
	m := &moody{}
	m.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/healthz") && (m.ill.Load() || r.Host != "health.example") {
			w.WriteHeader(http.StatusInternalServerError)
		}
		io.WriteString(w, "hello")
	}))
	t.Cleanup(func() { m.Server.Close() })
	return m
}

// TestHealthChecks: over every kind of socket, an application that says it is not
// well gets no request until it says otherwise.
func TestHealthChecks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	plain, unix, secure := newMoody(t), newMoody(t), newMoody(t)
	plain.Start()
	l, err := net.Listen("unix", fmt.Sprintf("@edge-test-%d", os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	unix.Listener.Close()
	unix.Listener = l
	unix.Start()
	secure.StartTLS()
	ca := filepath.Join(dir, "ca.pem")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})
	if err := os.WriteFile(ca, block, 0o644); err != nil {
		t.Fatal(err)
	}
	in := serveDev(t, "--http", "127.0.0.1:0", "--proxy-ca", ca,
		"--proxy", "/plain="+plain.URL, "--proxy", "/unix=unix:"+l.Addr().String(), "--proxy", "/secure="+secure.URL+"#server-name=example.com",
		"--proxy-health", "/healthz", "--proxy-health-host", "health.example", "--proxy-health-interval", "100ms",
		"--proxy-health-timeout", "10s", "--proxy-health-fall", "1", "--proxy-health-rise", "1")
	for path, app := range map[string]*moody{"/plain": plain, "/unix": unix, "/secure": secure} {
		in.awaitStatus(path, 200)
		app.ill.Store(true)
		in.awaitStatus(path, 503)
		app.ill.Store(false)
		in.awaitStatus(path, 200)
	}
	for _, what := range []string{" is down: GET /healthz: status 500\n", " is up: GET /healthz is answered again\n"} {
		if n := strings.Count(in.stderr.String(), what); n != 3 {
			t.Errorf("the log says %d times %q:\n%s", n, what, in.stderr.String())
		}
	}
}

// awaitStatus asks until the answer has a status.
func (in *instance) awaitStatus(path string, want int) {
	in.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		resp, err := http.Get("http://" + in.plain + path)
		if err != nil {
			in.t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode == want {
			return
		}
		if time.Now().After(end) {
			in.t.Fatalf("%s: status %d for %v, want %d; stderr:\n%s", path, resp.StatusCode, patience, want, in.stderr.String())
		}
	}
}
