// app is the application that tools/browser/proxy.sh has a browser use through
// edge: a page, and what its script talks to.
//
//	app SOCKET
//
// serves at a unix socket, where a leading @ is the abstract namespace.
package main

import (
	"bufio"
	"crypto/sha256"
	_ "embed"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"edge/tools/soak/websocket"
)

// page talks to the application: see its script.
//
//go:embed page.html
var page []byte

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: app SOCKET")
		os.Exit(2)
	}
	l, err := net.Listen("unix", os.Args[1])
	if err == nil {
		s := &http.Server{Handler: newApp(), ReadHeaderTimeout: 10 * time.Second}
		err = s.Serve(l)
	}
	fmt.Fprintln(os.Stderr, "app:", err)
	os.Exit(1)
}

// app is what one load of the page uses.
type app struct {
	heard  chan struct{} // the page got the last event
	over   chan struct{} // closed once the page is done
	finish sync.Once
}

func newApp() http.Handler {
	a := &app{heard: make(chan struct{}, 1), over: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Write(page)
	})
	mux.HandleFunc("POST /sum", sum)
	mux.HandleFunc("GET /events", a.events)
	mux.HandleFunc("POST /heard", func(http.ResponseWriter, *http.Request) { a.heard <- struct{}{} })
	mux.HandleFunc("GET /echo", echo)
	mux.HandleFunc("POST /over", func(http.ResponseWriter, *http.Request) { a.finish.Do(func() { close(a.over) }) })
	mux.HandleFunc("GET /hold", a.hold)
	return mux
}

// sum tells a body's length and hash.
func sum(w http.ResponseWriter, r *http.Request) {
	h := sha256.New()
	n, err := io.Copy(h, r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	fmt.Fprintf(w, "%d %x", n, h.Sum(nil))
}

// events sends each event only after the page said that it has the one before.
func (a *app) events(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	for i := 0; ; i++ {
		fmt.Fprintf(w, "data: %d\n\n", i)
		w.(http.Flusher).Flush()
		select {
		case <-a.heard:
		case <-r.Context().Done():
			return
		}
	}
}

// echo is a WebSocket that gives back what it gets.
func echo(w http.ResponseWriter, r *http.Request) {
	key := r.Header.Get("Sec-WebSocket-Key")
	if key == "" {
		w.WriteHeader(http.StatusUpgradeRequired)
		return
	}
	conn, rw, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: %s\r\n\r\n", websocket.AcceptKey(key))
	_ = websocket.Echo(bufio.NewReader(rw), conn) // the page sees it if it fails
}

// hold answers once the page is done. The page has it as an image, so that the
// browser does not take the page for loaded before.
func (a *app) hold(w http.ResponseWriter, r *http.Request) {
	select {
	case <-a.over:
		io.WriteString(w, "over")
	case <-r.Context().Done():
	}
}
