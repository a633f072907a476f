package traffic

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// Options say what is asked of the proxy.
type Options struct {
	TLS   string         // HOST:PORT of the proxy; empty for plain HTTP alone
	Plain string         // and of its plain HTTP; empty for TLS alone
	Roots *x509.CertPool // that its certificate for localhost comes from

	Seed     uint64        // what is drawn from
	Requests int           // in all
	Clients  int           // at the same time
	Restarts time.Duration // between two restarts of an address of the application; 0 for none

	FaultsMax int // it ends with that many; 0 for never

	Progress func(done int64) // called every ten seconds; may be nil
}

// run is one run of mixed requests.
type run struct {
	app  *App
	o    Options
	conf *tls.Config
	done atomic.Int64
}

func newRun(app *App, o Options) *run {
	return &run{app: app, o: o, conf: &tls.Config{
		RootCAs: o.Roots, ServerName: "localhost", MinVersion: tls.VersionTLS13,
		ClientSessionCache: tls.NewLRUClientSessionCache(0),
	}}
}

func (r *run) newClient(i int) *client {
	return &client{
		run:  r,
		rnd:  rand.New(rand.NewPCG(r.o.Seed, uint64(i))),
		next: Token(spread(r.o.Seed)<<48 | uint64(i)<<32),
	}
}

// Run has clients ask for what the seed says, and judges what they get. It ends
// early with ctx.
func Run(ctx context.Context, app *App, o Options) (Report, error) {
	if o.TLS == "" && o.Plain == "" || o.Clients < 1 {
		return Report{}, errors.New("traffic: there is nothing to do")
	}
	r := newRun(app, o)
	app.judge.begin()
	start := time.Now()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var beside sync.WaitGroup
	restarts := 0
	beside.Go(func() { restarts = r.restarts(ctx) })
	if o.Progress != nil {
		beside.Go(func() { every(ctx, 10*time.Second, func() { o.Progress(r.done.Load()) }) })
	}
	var clients sync.WaitGroup
	for i := range o.Clients {
		share := o.Requests / o.Clients
		if i < o.Requests%o.Clients {
			share++
		}
		clients.Go(func() { r.client(ctx, i, share) })
	}
	clients.Wait()
	cancel()
	beside.Wait()
	report := app.judge.report()
	report.Restarts, report.Took = restarts, time.Since(start)
	return report, nil
}

// client is the life of one client.
func (r *run) client(ctx context.Context, i, share int) {
	c := r.newClient(i)
	for share > 0 && ctx.Err() == nil && !r.app.judge.hopeless(r.o.FaultsMax) {
		n := c.step(share)
		share -= n
		r.done.Add(int64(n))
		if c.chance(1) {
			c.hangUp()
		}
	}
	c.hangUp()
}

// hopeless says that there are so many faults that more would say no more.
func (j *judge) hopeless(most int) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return most > 0 && j.wrong >= most
}

// restarts starts the application anew, one address after the other, every second
// time in good order. As in a careful deployment, none is stopped before the other
// was seen to answer.
func (r *run) restarts(ctx context.Context) (n int) {
	if r.o.Restarts == 0 {
		return 0
	}
	tick := time.NewTicker(r.o.Restarts)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return n
		case <-tick.C:
		}
		if other := r.app.targets[(n+1)%2]; !other.answers.Load().Load() {
			continue
		}
		if err := r.app.targets[n%2].restart(n/2%2 == 0); err != nil {
			r.app.judge.fault("application", 0, err)
			return n
		}
		n++
	}
}
