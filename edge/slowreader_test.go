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
func readSlowly(c net.Conn, size int, pause, most time.Duration) (n int, err error) {
	b := make([]byte, size)
	for end := time.Now().Add(most); time.Now().Before(end); time.Sleep(pause) {
		k, err := c.Read(b)
		n += k
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// A reader below --min-rate is cut off at the next --write-timeout; a slow one
// above it is served, for many times that long.
func TestLeastRateOfReaders(t *testing.T) {
	t.Parallel()
	v := newVersions(t)
	for _, c := range []struct {
		rate string
		size int // read 50 times a second, at the most
		most time.Duration
		cut  bool
	}{{"1m", 4 << 10, patience, true}, {"1k", 32 << 10, 3 * time.Second, false}, {"0", 32 << 10, 3 * time.Second, false}} {
		t.Run(c.rate, func(t *testing.T) {
			d := startDaemon(t, daemonOptions{args: []string{"--http", "127.0.0.1:0", "--write-timeout", "500ms", "--min-rate", c.rate, v.path}})
			conn := d.slowDownload()
			n, err := readSlowly(conn, c.size, 20*time.Millisecond, c.most)
			if cut := err != nil && err != io.EOF; cut != c.cut {
				t.Errorf("after %d bytes: %v; want it cut off: %v", n, err, c.cut)
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
