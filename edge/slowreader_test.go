package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"
)

// readSlowly takes size bytes at a time, with pauses between, until the end.
// longest is the longest time between two reads, which a machine that is busy
// makes longer than the pause.
func readSlowly(c net.Conn, size int, pause, most time.Duration) (n int, longest time.Duration, err error) {
	b := make([]byte, size)
	last := time.Now()
	for end := last.Add(most); last.Before(end); time.Sleep(pause) {
		k, err := c.Read(b)
		now := time.Now()
		n, longest, last = n+k, max(longest, now.Sub(last)), now
		if err != nil {
			return n, longest, err
		}
	}
	return n, longest, nil
}

// A reader below --min-rate is cut off at the next --write-timeout; a slow one
// above it is served, for many times that long.
func TestLeastRateOfReaders(t *testing.T) {
	t.Parallel()
	v := newVersions(t)
	const timeout, pause = time.Second, 150 * time.Millisecond
	const most = 4 * timeout
	for _, c := range []struct {
		rate string
		size int // read after each pause: all there is, or next to nothing
		most time.Duration
		cut  bool
	}{{"1m", 4 << 10, patience, true}, {"1k", 512 << 10, most, false}, {"0", 512 << 10, most, false}} {
		t.Run(c.rate, func(t *testing.T) {
			d := startDaemon(t, daemonOptions{args: []string{"--http", "127.0.0.1:0", "--write-timeout", timeout.String(), "--min-rate", c.rate, v.path}})
			for end := time.Now().Add(patience); ; {
				n, longest, err := readSlowly(d.slowDownload(), c.size, pause, c.most)
				cut := err != nil && err != io.EOF
				if cut == c.cut {
					return
				}
				if c.cut || longest < timeout/2 || time.Now().After(end) {
					t.Fatalf("after %d bytes, %v without one at the most: %v; want it cut off: %v", n, longest, err, c.cut)
				}
				// The machine left us without the processor for so long that the cut was right.
			}
		})
	}
}

// Little memory for data in flight makes answers wait, and loses none.
func TestLittleMemory(t *testing.T) {
	t.Parallel()
	v := newVersions(t)
	d := startDaemon(t, daemonOptions{args: []string{"--http", "127.0.0.1:0", "--workers", "1", "--buffer-bytes", "1m", "--cache-bytes", "0", v.path}})
	var wg sync.WaitGroup
	for range 30 {
		c := d.slowDownload()
		wg.Go(func() {
			if got, err := bodyOf(c); err != nil || !bytes.Equal(got, v.big) {
				t.Errorf("%d bytes of %d, %v", len(got), len(v.big), err)
			}
		})
	}
	wg.Wait()
}

// --html-fallback serves /a from /a.html, and only with the flag.
func TestHTMLFallback(t *testing.T) {
	t.Parallel()
	dir := site(t)
	writeFile(t, dir+"/about.html", []byte("about\n"))
	for _, with := range []bool{false, true} {
		args := []string{"--http", "127.0.0.1:0", dir}
		want := 404
		if with {
			args, want = append(args, "--html-fallback"), 200
		}
		d := startDaemon(t, daemonOptions{args: args})
		resp, body, err := get(d.dialTo(d.plain), "/about")
		if err != nil || resp.StatusCode != want || (body == "about\n") != with {
			t.Errorf("with the flag %v: %v, %q, %v", with, resp, body, err)
		}
		d.signal(syscall.SIGKILL)
	}
}

// An upload that is not wanted ends with an answer that its client sees.
func TestUnwantedUploads(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, daemonOptions{args: []string{"--http", "127.0.0.1:0", "--max-body-bytes", "1g", site(t)}})
	for _, size := range []int{1 << 10, 1 << 20, 64 << 20} {
		for _, expect := range []string{"", "Expect: 100-continue\r\n"} {
			c := d.dialTo(d.plain)
			fmt.Fprintf(c, "PUT / HTTP/1.1\r\nHost: localhost\r\n%sContent-Length: %d\r\n\r\n", expect, size)
			sent := make(chan struct{})
			go func() {
				defer close(sent)
				if expect == "" {
					io.CopyN(c, zeros{}, int64(size)) // fails when it is cut off
				}
			}()
			line := make([]byte, len("HTTP/1.1 405 "))
			if _, err := io.ReadFull(c, line); err != nil || string(line) != "HTTP/1.1 405 " {
				t.Errorf("%d bytes, %q: %q, %v", size, expect, line, err)
			}
			c.Close()
			<-sent
		}
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}
