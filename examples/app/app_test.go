package main

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func do(t *testing.T, h http.Handler, method, path, body string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("X-Forwarded-For", "192.0.2.1")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestNotes(t *testing.T) {
	h := newApp(func() time.Time { return time.Unix(1, 0) })
	if w := do(t, h, "GET", "/api/notes", ""); w.Code != 200 || w.Body.String() != "[]\n" {
		t.Errorf("at first: %d %s", w.Code, w.Body)
	}
	for body, want := range map[string]int{"": 400, " \n": 400, strings.Repeat("a", noteBytesMax+1): 413, "one": 201} {
		if w := do(t, h, "POST", "/api/notes", body); w.Code != want {
			t.Errorf("%.10q: %d, want %d", body, w.Code, want)
		}
	}
	for range notesMax {
		do(t, h, "POST", "/api/notes", "another")
	}
	var got []note
	w := do(t, h, "GET", "/api/notes", "")
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || len(got) != notesMax || got[0].Text != "another" || got[0].From != "192.0.2.1" {
		t.Errorf("%v, %d notes: %.200s", err, len(got), w.Body)
	}
}

func TestSeen(t *testing.T) {
	h := newApp(time.Now)
	if w := do(t, h, "GET", "/api/", ""); w.Code != 200 || !strings.Contains(w.Body.String(), `"X-Forwarded-For": "192.0.2.1"`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := do(t, h, "GET", "/api/nothing", ""); w.Code != 404 {
		t.Error(w.Code)
	}
}

func TestEvents(t *testing.T) {
	s := httptest.NewServer(newApp(time.Now))
	defer s.Close()
	resp, err := http.Get(s.URL + "/api/events")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewReader(resp.Body)
	if line, err := lines.ReadString('\n'); err != nil || !strings.HasPrefix(line, ":") {
		t.Fatalf("%q, %v", line, err)
	}
	// It may listen only now: notes are made until one is heard.
	heard := make(chan string, 1)
	go func() {
		for {
			line, err := lines.ReadString('\n')
			if err != nil || strings.HasPrefix(line, "data: ") {
				heard <- line
				return
			}
		}
	}()
	for end := time.Now().Add(20 * time.Second); ; {
		r, err := http.Post(s.URL+"/api/notes", "text/plain", strings.NewReader("news"))
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, r.Body)
		r.Body.Close()
		select {
		case line := <-heard:
			if !strings.Contains(line, `"text":"news"`) {
				t.Errorf("%q", line)
			}
			return
		case <-time.After(10 * time.Millisecond):
		}
		if time.Now().After(end) {
			t.Fatal("nothing was heard")
		}
	}
}
