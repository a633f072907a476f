package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

const (
	noteBytesMax = 1 << 10
	notesMax     = 100 // older ones go
)

// app keeps notes, and tells everybody who listens of new ones.
type app struct {
	now   func() time.Time
	mu    sync.Mutex
	notes []note
	added chan struct{} // closed, and made anew, with each note
}

type note struct {
	At   time.Time `json:"at"`
	Text string    `json:"text"`
	From string    `json:"from"`
}

func newApp(now func() time.Time) http.Handler {
	a := &app{now: now, notes: []note{}, added: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/{$}", a.seen)
	mux.HandleFunc("GET /api/notes", a.list)
	mux.HandleFunc("POST /api/notes", a.add)
	mux.HandleFunc("GET /api/events", a.events)
	return mux
}

// told are the fields that edge adds to a request.
var told = []string{"X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Host", "Forwarded", "X-Request-Id", "X-Ja4", "X-Ech"}

// seen answers with what an application gets to see of a request.
func (a *app) seen(w http.ResponseWriter, r *http.Request) {
	fields := map[string]string{}
	for _, name := range told {
		if v := r.Header.Get(name); v != "" {
			fields[name] = v
		}
	}
	writeJSON(w, http.StatusOK, map[string]any{
		"hello": "from the application behind edge",
		"host":  r.Host,
		"told":  fields,
		"try":   []string{"/api/notes", "/api/events"},
	})
}

func (a *app) list(w http.ResponseWriter, _ *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	writeJSON(w, http.StatusOK, a.notes)
}

// add takes a note, which is the request's body.
func (a *app) add(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, noteBytesMax))
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &long):
		http.Error(w, fmt.Sprintf("a note has at most %d bytes", noteBytesMax), http.StatusRequestEntityTooLarge)
		return
	case err != nil:
		http.Error(w, "the note did not arrive whole", http.StatusBadRequest)
		return
	case strings.TrimSpace(string(text)) == "":
		http.Error(w, "an empty note", http.StatusBadRequest)
		return
	}
	n := note{At: a.now().UTC(), Text: string(text), From: r.Header.Get("X-Forwarded-For")}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.notes = append(a.notes[max(0, len(a.notes)-notesMax+1):], n)
	close(a.added)
	a.added = make(chan struct{})
	writeJSON(w, http.StatusCreated, n)
}

// events sends each new note as it comes, for as long as the client listens.
func (a *app) events(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	fmt.Fprint(w, ": notes, as they come\n\n")
	for {
		w.(http.Flusher).Flush()
		a.mu.Lock()
		added := a.added
		a.mu.Unlock()
		select {
		case <-r.Context().Done():
			return
		case <-added:
		}
		a.mu.Lock()
		b, _ := json.Marshal(a.notes[len(a.notes)-1]) // text and a time always have a form
		a.mu.Unlock()
		fmt.Fprintf(w, "data: %s\n\n", b)
	}
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	_ = e.Encode(v) // fails if the client is gone
}
