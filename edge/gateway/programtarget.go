package gateway

import (
	"context"
	"errors"
	"sync"

	"edge/proxy"
)

// programTargets are the targets that programs have named in edge_proxy, of all
// workers. They stay for as long as the process runs: programs name the same few
// again and again.
type programTargets struct {
	mu     sync.Mutex
	routes map[string]*proxy.Route // by the URL as it was given
}

// programTargetsMax bounds them: each is a name to be kept looked up, or a socket
// and a goroutine for https, and a pool on each worker.
const programTargetsMax = 256

var errTargetsMany = errors.New("programs have named too many targets")

// programTarget gives the worker's upstreams for a URL. It waits for nothing.
func (w *worker) programTarget(url []byte) (*upstreams, error) {
	if to := w.named[string(url)]; to != nil {
		return to, nil
	}
	r, err := w.server.programRoute(string(url))
	if err != nil {
		return nil, err
	}
	to := newUpstream(w, r)
	if w.named == nil {
		w.named = map[string]*upstreams{}
	}
	w.named[string(url)] = to
	return to, nil
}

// programRoute is the route for a URL, with all that workers share of its target.
func (s *server) programRoute(url string) (*proxy.Route, error) {
	t := &s.targets
	t.mu.Lock()
	defer t.mu.Unlock()
	if r := t.routes[url]; r != nil {
		return r, nil
	}
	if len(t.routes) >= programTargetsMax {
		s.log.limited("targets", "programs have named %d applications in edge_proxy; no more are taken", programTargetsMax)
		return nil, errTargetsMany
	}
	target, err := proxy.ParseTarget(url)
	if err != nil {
		s.log.limited("targets", "edge_proxy: %v", err)
		return nil, err
	}
	if err := s.startBridge("edge_proxy", &target); err != nil {
		s.log.limited("targets", "edge_proxy: %v", err)
		return nil, err
	}
	if t.routes == nil {
		t.routes = map[string]*proxy.Route{}
	}
	r := &proxy.Route{Path: "edge_proxy", Targets: []proxy.Target{target}}
	t.routes[url] = r
	return r, nil
}

// proxyFromProgram has the application that x's programs named answer. If its name
// has never been looked up, that is waited for.
func (c *conn) proxyFromProgram(x *exchange, head []byte) {
	to := x.run.verdict.upstreams
	if name := to.pools[0].name; name != nil && !name.Known() {
		c.awaitName(x, func(ctx context.Context) { name.Wait(ctx) })
		return
	}
	x.run.verdict = verdict{}
	c.startProxy(x, to, head)
}

// awaitName has x stand still while wait, on a goroutine of its own, waits for a name
// to be looked up.
func (c *conn) awaitName(x *exchange, wait func(context.Context)) {
	r, w := x.run, c.w
	x.deciding = true
	c.clearTimer()
	r.listed = true // it is not used for another request meanwhile
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), w.server.cfg.Timeouts.Connect)
		defer cancel()
		wait(ctx)
		w.r.Post(func() { w.nameKnown(r) })
	}()
}

// nameKnown goes on with a request that waited for a name; one that is not known by
// now is answered as one that cannot be.
func (w *worker) nameKnown(r *programRun) {
	r.listed = false
	if r.c == nil {
		w.keepRun(r)
		return
	}
	c, x := r.c, r.x
	x.deciding = false
	to := r.verdict.upstreams
	r.verdict = verdict{}
	c.startProxy(x, to, x.head)
	c.resume()
}
