package main

import (
	"bytes"
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/miekg/dns"
)

// ask sends a question in one of the two forms of RFC 8484.
func ask(t *testing.T, s server, method, name string, rrtype uint16) *dns.Msg {
	t.Helper()
	packed, err := new(dns.Msg).SetQuestion(name, rrtype).Pack()
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodGet, path+"?dns="+base64.RawURLEncoding.EncodeToString(packed), nil)
	if method == http.MethodPost {
		r = httptest.NewRequest(method, path, bytes.NewReader(packed))
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	body, err := io.ReadAll(w.Body)
	if err != nil || w.Code != http.StatusOK || w.Header().Get("Content-Type") != mediaType {
		t.Fatalf("%s %s: %d %s %v", method, name, w.Code, body, err)
	}
	m := new(dns.Msg)
	if err := m.Unpack(body); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestAnswers(t *testing.T) {
	zone := filepath.Join(t.TempDir(), "zone")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(zone, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("a.test. 60 IN A 127.0.0.1\n_8443._https.a.test. 60 IN HTTPS 1 a.test. alpn=\"h2\" ech=\"AAA=\"\n")
	s := server{zone}
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		if m := ask(t, s, method, "A.test.", dns.TypeA); m.Rcode != 0 || len(m.Answer) != 1 {
			t.Errorf("%s A: %v", method, m)
		}
		if m := ask(t, s, method, "_8443._https.a.test.", dns.TypeHTTPS); m.Rcode != 0 || len(m.Answer) != 1 {
			t.Errorf("%s HTTPS: %v", method, m)
		}
	}
	if m := ask(t, s, http.MethodGet, "a.test.", dns.TypeAAAA); m.Rcode != 0 || len(m.Answer) != 0 {
		t.Errorf("AAAA: %v", m)
	}
	if m := ask(t, s, http.MethodGet, "b.test.", dns.TypeA); m.Rcode != dns.RcodeNameError {
		t.Errorf("another name: %v", m)
	}
	write("b.test. 60 IN A 127.0.0.1\n")
	if m := ask(t, s, http.MethodGet, "b.test.", dns.TypeA); len(m.Answer) != 1 {
		t.Errorf("after a change: %v", m)
	}
}

func TestBadQueries(t *testing.T) {
	for _, query := range []string{"", "dns=%", "dns=AAAA", "dns=" + base64.RawURLEncoding.EncodeToString(make([]byte, 12))} {
		w := httptest.NewRecorder()
		server{}.ServeHTTP(w, &http.Request{Method: http.MethodGet, URL: httptest.NewRequest(http.MethodGet, path+"?"+query, nil).URL})
		if w.Code != http.StatusBadRequest {
			t.Errorf("%q: %d", query, w.Code)
		}
	}
}
