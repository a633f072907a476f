package main

// client.go: the connections.

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"
)

// client is one kept connection.
type client struct {
	conn    *tls.Conn
	from    *bufio.Reader
	request []byte
}

func dial(address, path string) (*client, error) {
	// What is measured is time, not whom the certificate belongs to.
	conn, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13})
	if err != nil {
		return nil, err
	}
	return &client{conn, bufio.NewReader(conn), fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path)}, nil
}

// ask makes one request and gives the status of its answer.
func (c *client) ask() (status int, err error) {
	if _, err := c.conn.Write(c.request); err != nil {
		return 0, err
	}
	resp, err := http.ReadResponse(c.from, nil)
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	return resp.StatusCode, err
}

// measure has clients ask for a time, with so many loopers beside.
func measure(address string, o *options, loopers int, length time.Duration) (*result, error) {
	var (
		wait sync.WaitGroup
		mu   sync.Mutex
		r    result
		errs []error
	)
	begin := func(path string, work func(c *client) error) {
		wait.Go(func() {
			c, err := dial(address, path)
			if err == nil {
				err = work(c)
				c.conn.Close()
			}
			if err != nil {
				mu.Lock()
				errs = append(errs, err)
				mu.Unlock()
			}
		})
	}
	end := time.Now().Add(length)
	for range loopers {
		begin("/loop", func(c *client) error {
			n, err := loop(c, end)
			mu.Lock()
			defer mu.Unlock()
			r.loops += n
			return err
		})
	}
	for range o.clients {
		begin("/", func(c *client) error {
			times, err := askUntil(c, end, o.pause)
			mu.Lock()
			defer mu.Unlock()
			r.times = append(r.times, times...)
			return err
		})
	}
	wait.Wait()
	slices.Sort(r.times)
	return &r, errors.Join(errs...)
}

// askUntil asks and pauses in turn, and gives the time that each answer took.
func askUntil(c *client, end time.Time, pause time.Duration) (times []time.Duration, err error) {
	for {
		if pause > 0 {
			time.Sleep(time.Duration(rand.ExpFloat64() * float64(pause)))
		}
		start := time.Now()
		if start.After(end) {
			return times, nil
		}
		status, err := c.ask()
		if err != nil {
			return nil, err
		}
		if status != 200 {
			return nil, fmt.Errorf("status %d", status)
		}
		times = append(times, time.Since(start))
	}
}

// loop asks for the looping program again and again.
func loop(c *client, end time.Time) (n int, err error) {
	for time.Now().Before(end) {
		status, err := c.ask()
		if err != nil {
			return n, err
		}
		if status != 503 {
			return n, fmt.Errorf("the loop ended with status %d", status)
		}
		n++
	}
	return n, nil
}
