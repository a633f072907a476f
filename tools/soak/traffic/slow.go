package traffic

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Slow are downloads that are read slowly: none is finished, all must go on.
type Slow struct {
	Downloads int
	Bytes     int64         // of each
	Lasting   time.Duration // then their clients go away

	Progress func(got int64) // called every five seconds; may be nil
}

const (
	slowPieceBytes = 16 << 10               // what a slow reader takes at a time
	slowPause      = 250 * time.Millisecond // before each
	slowBuffer     = 64 << 10               // of its socket
	slowBegin      = 16                     // so many connect at a time
)

// SlowReport is what came of slow downloads.
type SlowReport struct {
	Got    int64 // bytes, by all of them
	Least  int64 // by the one that got least
	Faults []string
}

// RunSlow reads all downloads at the same time.
func RunSlow(ctx context.Context, app *App, o Options, s Slow) (SlowReport, error) {
	if s.Downloads < 1 {
		return SlowReport{}, errors.New("traffic: there is nothing to do")
	}
	r := newRun(app, o)
	ctx, cancel := context.WithTimeout(ctx, s.Lasting)
	defer cancel()
	var got atomic.Int64
	var all, beside sync.WaitGroup
	if s.Progress != nil {
		beside.Go(func() { every(ctx, 5*time.Second, func() { s.Progress(got.Load()) }) })
	}
	each := make([]int64, s.Downloads)
	begin := make(chan struct{}, slowBegin)
	for i := range s.Downloads {
		all.Go(func() {
			c := r.newClient(i)
			err := c.download(ctx, begin, s.Bytes, func(n int64) { each[i] += n; got.Add(n) })
			if err != nil {
				app.judge.fault("download", c.next, err)
			}
			c.drop()
		})
	}
	all.Wait()
	beside.Wait()
	report := SlowReport{Got: got.Load(), Least: each[0], Faults: app.judge.report().Faults}
	for _, n := range each {
		report.Least = min(report.Least, n)
	}
	return report, nil
}

// download reads one answer slowly until ctx ends. begin lets a few connect at a
// time, for a handshake has a deadline that a crowd would miss.
func (c *client) download(ctx context.Context, begin chan struct{}, size int64, took func(int64)) error {
	a := asked{kind: kindHuge, token: c.token(), answer: size}
	begin <- struct{}{}
	resp, err := c.startDownload(a)
	<-begin
	if err != nil {
		return err
	}
	check := newChecker(a.token, answerBytes)
	for ctx.Err() == nil {
		c.conn.SetDeadline(time.Now().Add(patience))
		n, err := io.CopyN(check, resp.Body, slowPieceBytes)
		if took(n); err != nil {
			return fmt.Errorf("after %d bytes: %w", check.got, err)
		}
		time.Sleep(slowPause)
	}
	return nil
}

func (c *client) startDownload(a asked) (*http.Response, error) {
	if err := c.connect(); err != nil {
		return nil, err
	}
	c.raw.SetReadBuffer(slowBuffer)
	if err := c.send(head(http.MethodGet, a)); err != nil {
		return nil, err
	}
	return c.response(http.MethodGet, a, 200)
}

// every calls f at intervals until ctx ends.
func every(ctx context.Context, d time.Duration, f func()) {
	tick := time.NewTicker(d)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			f()
		}
	}
}
