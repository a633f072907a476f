package traffic

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Prefix is the path below which the application answers.
const Prefix = "/app"

// App is the application behind the proxy, on two addresses that are started anew
// independently: one of TCP, one a unix socket.
type App struct {
	targets [2]*target
	judge   *judge
	active  atomic.Int64 // requests being answered
	open    atomic.Int64 // connections to it

	mu    sync.Mutex
	posts map[Token]bool // that were read to their end
}

// target is one address of the application.
type target struct {
	app     *App
	network string
	address string
	server  *http.Server
	served  chan struct{} // closed when server's Serve returned

	answers atomic.Pointer[atomic.Bool] // that there were any, since it was started

	mu    sync.Mutex
	taken map[net.Conn]bool // connections that switched protocols
	idle  map[net.Conn]bool
}

// StartApp starts the application; dir is for its unix socket.
func StartApp(dir string) (*App, error) {
	a := &App{judge: newJudge(), posts: map[Token]bool{}}
	// An address that no outgoing connection gets: its port is free whenever it is
	// started anew.
	a.targets[0] = &target{app: a, network: "tcp", address: "127.0.0.2:0"}
	a.targets[1] = &target{app: a, network: "unix", address: dir + "/app.sock"}
	for _, t := range a.targets {
		if err := t.start(); err != nil {
			a.Stop()
			return nil, err
		}
	}
	return a, nil
}

// Flags have edge proxy to the application.
func (a *App) Flags() []string {
	return []string{
		"--proxy", Prefix + "=http://" + a.targets[0].address,
		"--proxy", Prefix + "=unix:" + a.targets[1].address,
	}
}

// Stop ends the application and all its connections.
func (a *App) Stop() {
	for _, t := range a.targets {
		t.stop(false)
	}
}

// HangUp closes the connections that nobody uses now.
func (a *App) HangUp() {
	for _, t := range a.targets {
		t.hangUp()
	}
}

// Active is the number of requests that are being answered.
func (a *App) Active() int64 { return a.active.Load() }

// Open is the number of connections to it.
func (a *App) Open() int64 { return a.open.Load() }

func (t *target) start() error {
	var l net.Listener
	var err error
	for range 200 { // the address may be given back a moment late
		if l, err = net.Listen(t.network, t.address); err == nil {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	if err != nil {
		return err
	}
	t.address = l.Addr().String()
	t.taken, t.idle = map[net.Conn]bool{}, map[net.Conn]bool{}
	t.served = make(chan struct{})
	t.server = &http.Server{
		Handler:   t.handler(),
		ErrorLog:  log.New(io.Discard, "", 0),
		ConnState: t.connState,
	}
	go func(s *http.Server, served chan struct{}) {
		defer close(served)
		_ = s.Serve(l) // ends when it is closed
	}(t.server, t.served)
	return nil
}

func (t *target) connState(c net.Conn, s http.ConnState) {
	t.mu.Lock()
	delete(t.idle, c)
	if s == http.StateIdle {
		t.idle[c] = true
	}
	t.mu.Unlock()
	switch s {
	case http.StateNew:
		t.app.open.Add(1)
	case http.StateClosed, http.StateHijacked: // a hijacked one counts as a request
		t.app.open.Add(-1)
	}
}

// handler answers requests, and notes that it did.
func (t *target) handler() http.Handler {
	any := new(atomic.Bool) // of this start: requests of the last one may be slow to end
	t.answers.Store(any)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t.serve(w, r)
		any.Store(true)
	})
}

// stop ends the address: in good order, which lets requests finish for a moment,
// or at once.
func (t *target) stop(gently bool) {
	if t.server == nil {
		return
	}
	if gently {
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		_ = t.server.Shutdown(ctx) // what is left is closed below
		cancel()
	}
	_ = t.server.Close()
	<-t.served
	t.mu.Lock()
	defer t.mu.Unlock()
	for c := range t.taken {
		c.Close()
	}
}

// hangUp closes the connections between two requests.
func (t *target) hangUp() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for c := range t.idle {
		c.Close()
	}
}

// restart stops and starts the address. What fails meanwhile is excused.
func (t *target) restart(gently bool) error {
	t.app.judge.restarting.Store(true)
	t.stop(gently)
	err := t.start()
	t.app.judge.restarted.Store(time.Now().UnixNano())
	t.app.judge.restarting.Store(false)
	return err
}
