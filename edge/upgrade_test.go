package main

import (
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// ticketKey is a line of a ticket key file.
func ticketKey(t *testing.T) []byte {
	t.Helper()
	b := make([]byte, 48)
	rand.Read(b)
	return []byte(hex.EncodeToString(b) + "\n")
}

// load is clients that ask all the time and count what fails.
type load struct {
	stop    chan struct{}
	wg      sync.WaitGroup
	asked   atomic.Int64
	mu      sync.Mutex
	failure error // the first
}

// idleGrace is how long a drain leaves idle connections to a client that was not
// told of it: the shorter of the two.
const idleGrace = time.Second

// run starts a client; with each request on a connection of its own if fresh.
func (l *load) run(dial func() (net.Conn, error), path string, fresh bool) {
	l.wg.Go(func() {
		s := &steady{dial: dial}
		defer s.close()
		for {
			select {
			case <-l.stop:
				return
			default:
			}
			_, err := s.once(path)
			if err != nil && s.idle < idleGrace/2 { // else the machine left us without the processor
				l.mu.Lock()
				if l.failure == nil {
					l.failure = fmt.Errorf("request %d, fresh %v: %w", l.asked.Load(), fresh, err)
				}
				l.mu.Unlock()
			}
			l.asked.Add(1)
			time.Sleep(time.Millisecond) // the server needs a processor too
			if fresh || err != nil {
				s.close()
			}
		}
	})
}

// Requests go on through reloads and upgrades: none is refused, none is lost, on
// connections that stay and on new ones, over TCP and a unix socket.
func TestUpgradeUnderLoad(t *testing.T) {
	t.Parallel()
	v := newVersions(t)
	socket := filepath.Join(t.TempDir(), "edge.sock")
	d := startDaemon(t, daemonOptions{args: []string{"--http", "127.0.0.1:0", "--http", "unix:" + socket, v.path}})
	cache := tls.NewLRUClientSessionCache(4)
	l := &load{stop: make(chan struct{})}
	unixSocket := func() (net.Conn, error) { return net.Dial("unix", socket) }
	for _, fresh := range []bool{false, true} {
		l.run(d.dialTLS(cache), "/version", fresh)
		l.run(d.dialPlain, "/version", fresh)
		l.run(unixSocket, "/version", fresh)
	}
	l.run(d.dialPlain, "/big.bin", false)
	for i := range 3 {
		v.release(fmt.Sprint(i + 1))
		d.signal(syscall.SIGHUP)
		d.awaitLog("reload (SIGHUP): generation 2 is in service", i+1)
		before := l.asked.Load()
		d.upgrade()
		d.await("more requests", func() bool { return l.asked.Load() > before+20 })
	}
	close(l.stop)
	l.wg.Wait()
	if l.failure != nil {
		t.Errorf("of %d requests: %v", l.asked.Load(), l.failure)
	}
	if status := d.awaitExit(); status != 0 {
		t.Errorf("the first process left with status %d", status)
	}
	if got := d.version(); got != "3" {
		t.Errorf("version %q", got)
	}
	d.signal(syscall.SIGTERM)
	d.await("the end of the socket's file", func() bool { _, err := os.Lstat(socket); return os.IsNotExist(err) })
}

// A download in progress is finished by the process that began it.
func TestDownloadOutlivesAnUpgrade(t *testing.T) {
	t.Parallel()
	v := newVersions(t)
	d := startDaemon(t, daemonOptions{args: []string{"--http", "127.0.0.1:0", v.path}})
	want := v.big
	c := d.slowDownload()
	v.release("1")
	d.upgrade()
	d.await("the new version", func() bool { return d.version() == "1" })
	if got, err := bodyOf(c); err != nil || string(got) != string(want) {
		t.Errorf("%d bytes of %d, %v", len(got), len(want), err)
	}
	if status := d.awaitExit(); status != 0 {
		t.Errorf("status %d", status)
	}
}

// A successor that cannot serve changes nothing.
func TestFailedUpgrade(t *testing.T) {
	t.Parallel()
	v := newVersions(t)
	d := startDaemon(t, daemonOptions{args: []string{"--http", "127.0.0.1:0", v.path}})
	rename(t, "/dev/null", v.path)
	d.signal(syscall.SIGUSR2)
	d.awaitLog("does not serve: it ended; its last words are in the error log; this process goes on", 1)
	v.release("1")
	d.signal(syscall.SIGHUP)
	d.await("version 1", func() bool { return d.version() == "1" })
	d.upgrade() // and the next one is as good as any
	d.await("the successor's answer", func() bool { return d.version() == "1" })
}

// Tickets of one process are good with its successors.
func TestTicketsOutliveAnUpgrade(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, daemonOptions{args: []string{site(t)}})
	dial := d.dialTLS(tls.NewLRUClientSessionCache(4))
	for i := range 4 {
		c, err := dial()
		if err != nil {
			t.Fatal(err)
		}
		expectPage(t, c) // and receive a ticket
		if resumed := c.(*tls.Conn).ConnectionState().DidResume; resumed != (i > 0) {
			t.Errorf("connection %d: resumed %v", i, resumed)
		}
		c.Close()
		d.upgrade()
		if i == 0 {
			d.awaitExit() // so that it is not the one that answers
		}
	}
}

// Tickets are good after a restart if the keys are in a file, and with any server
// that has the same file; SIGHUP takes new ones.
func TestTicketKeysFromAFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "tickets")
	writeFile(t, file, ticketKey(t))
	state := t.TempDir()
	start := func(args ...string) *daemon {
		d := startDaemon(t, daemonOptions{args: append([]string{"--state-dir", state, "--dev", site(t)}, args...)})
		d.caFile = filepath.Join(state, "dev", "authority", "ca.pem")
		d.trust(readFile(t, d.caFile))
		return d
	}
	cache := tls.NewLRUClientSessionCache(4)
	resumes := func(d *daemon) bool {
		t.Helper()
		c, err := d.dialTLS(cache)()
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		expectPage(t, c)
		return c.(*tls.Conn).ConnectionState().DidResume
	}
	first := start("--ticket-keys", file)
	resumes(first)
	if !resumes(first) {
		t.Fatal("no resumption at all")
	}
	first.signal(syscall.SIGTERM)
	first.awaitExit()
	second := start("--ticket-keys", file)
	if !resumes(second) {
		t.Error("no resumption after a restart with the same keys")
	}
	if resumes(start()) {
		t.Error("resumption by a server with other keys")
	}
	resumes(second)
	writeFile(t, file, append(ticketKey(t), readFile(t, file)...)) // a new key on top
	second.signal(syscall.SIGHUP)
	second.awaitLog("reload (SIGHUP): generation 2 is in service", 1)
	if !resumes(second) {
		t.Error("no resumption with a key that is second in the file")
	}
	writeFile(t, file, ticketKey(t))
	second.signal(syscall.SIGHUP)
	second.awaitLog("reload (SIGHUP): generation 3 is in service", 1)
	if resumes(second) {
		t.Error("resumption with a key that is gone")
	}
	if !resumes(second) {
		t.Error("no resumption with the new key")
	}
}

// SIGTERM lets downloads end, within --drain.
func TestTerminateFinishesDownloads(t *testing.T) {
	t.Parallel()
	v := newVersions(t)
	d := startDaemon(t, daemonOptions{args: []string{"--http", "127.0.0.1:0", v.path}})
	c := d.slowDownload()
	d.signal(syscall.SIGTERM)
	d.await("no listener", func() bool {
		c, err := net.Dial("tcp", d.plain)
		if err == nil {
			c.Close()
		}
		return err != nil
	})
	if got, err := bodyOf(c); err != nil || string(got) != string(v.big) {
		t.Errorf("%d bytes of %d, %v", len(got), len(v.big), err)
	}
	if status := d.awaitExit(); status != 0 {
		t.Errorf("status %d", status)
	}
}

func TestDrainCutsWhatTakesTooLong(t *testing.T) {
	t.Parallel()
	v := newVersions(t)
	d := startDaemon(t, daemonOptions{args: []string{"--http", "127.0.0.1:0", "--drain", "300ms", v.path}})
	c := d.slowDownload()
	d.signal(syscall.SIGTERM)
	if status := d.awaitExit(); status != 0 {
		t.Errorf("status %d", status)
	}
	if got, err := bodyOf(c); err == nil && len(got) == len(v.big) {
		t.Error("a download that nobody read was finished")
	}
	if !strings.Contains(d.errors(), "raise --drain if they should") {
		t.Errorf("log:\n%s", d.errors())
	}
}

// A second signal does not wait.
func TestSecondSignal(t *testing.T) {
	t.Parallel()
	v := newVersions(t)
	d := startDaemon(t, daemonOptions{args: []string{"--http", "127.0.0.1:0", "--drain", "1h", v.path}})
	d.slowDownload()
	d.signal(syscall.SIGTERM)
	d.await("no listener", func() bool {
		c, err := net.Dial("tcp", d.plain)
		if err == nil {
			c.Close()
		}
		return err != nil
	})
	select {
	case <-d.exited:
		t.Fatal("it left before its download was over")
	default:
	}
	start := time.Now()
	d.signal(syscall.SIGTERM)
	if status := d.awaitExit(); status != 128+int(syscall.SIGTERM) {
		t.Errorf("status %d", status)
	}
	if took := time.Since(start); took > patience/2 {
		t.Errorf("the second signal took %v", took)
	}
}

// A request that comes on an idle connection just when the drain begins is
// answered, and told that it is the last.
func TestRequestDuringTheDrain(t *testing.T) {
	t.Parallel()
	for end := time.Now().Add(patience); ; {
		took, err := requestDuringDrain(t)
		if err == nil {
			return
		}
		if took < idleGrace/2 || time.Now().After(end) {
			t.Fatalf("%v, %v after the signal", err, took)
		}
		// The machine left us without the processor for so long that the end was right.
	}
}

// requestDuringDrain is one try. took is how long after the signal its request was
// sent, at the most.
func requestDuringDrain(t *testing.T) (took time.Duration, err error) {
	d := startDaemon(t, daemonOptions{args: []string{"--http", "127.0.0.1:0", site(t)}})
	c := d.dialTo(d.plain)
	expectPage(t, c)
	start := time.Now()
	d.signal(syscall.SIGTERM)
	d.await("no listener", func() bool {
		c, err := net.Dial("tcp", d.plain)
		if err == nil {
			c.Close()
		}
		return err != nil
	})
	resp, body, err := get(c, "/")
	took = time.Since(start)
	if err != nil || body != page || !resp.Close {
		return took, fmt.Errorf("%v, %q, %v; want the page and the end", resp, body, err)
	}
	if n, err := io.Copy(io.Discard, c); n != 0 || err != nil {
		return took, fmt.Errorf("%d bytes and %v behind the last answer", n, err)
	}
	return took, nil
}
