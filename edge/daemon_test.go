package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// daemon is a running `edge serve` as a service manager runs it: its output goes
// to files, which its successors go on writing.
type daemon struct {
	*instance
	outFile, errFile string
	exited           chan struct{} // closed at the end of the first process
	pid              int           // of the process that serves
	pids             []int         // of all that did
}

// daemonOptions say how to start one. Without --cert-dir among the arguments the
// development certificate is used (--dev is added), without --listen any free port, and two
// workers without --workers.
type daemonOptions struct {
	args   []string
	env    []string
	files  []*os.File // 3 and on
	shell  string     // what a shell does before it becomes the program
	user   *syscall.Credential
	binary string // "": the one that runs
	lines  int    // listening lines to wait for; 0: one for each address in args
}

func startDaemon(t *testing.T, o daemonOptions) *daemon {
	t.Helper()
	d := launchDaemon(t, o)
	d.awaitReady(o.lines)
	return d
}

// launchDaemon does not wait until it serves.
func launchDaemon(t *testing.T, o daemonOptions) *daemon {
	t.Helper()
	dir := t.TempDir()
	d := &daemon{instance: &instance{t: t}, outFile: dir + "/out", errFile: dir + "/err", exited: make(chan struct{})}
	args := slices.Concat([]string{"serve"}, unhurried, o.args)
	given := strings.Join(args, " ")
	if !strings.Contains(given, "--workers") {
		args = append(args, "--workers", "2")
	}
	if !strings.Contains(given, "--listen") {
		args = append(args, "--listen", "127.0.0.1:0")
	}
	if !strings.Contains(given, "--cert-dir") && !strings.Contains(given, "--dev") {
		args = append(args, "--dev", "--state-dir", dir+"/state")
		d.caFile = filepath.Join(dir, "state", "dev", "authority", "ca.pem")
	}
	d.cmd = command(context.Background(), args...)
	if o.binary != "" {
		d.cmd.Path, d.cmd.Args[0] = o.binary, o.binary
	}
	if o.shell != "" {
		sh := exec.Command("/bin/sh", append([]string{"-c", o.shell + "\nexec \"$0\" \"$@\"", d.cmd.Path}, args...)...)
		sh.Env = d.cmd.Env
		d.cmd = sh
	}
	d.cmd.Env = append(d.cmd.Env, o.env...)
	d.cmd.ExtraFiles = o.files
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: o.user}
	out, errs := createFile(t, d.outFile), createFile(t, d.errFile)
	defer out.Close()
	defer errs.Close()
	d.cmd.Stdout, d.cmd.Stderr = out, errs
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	d.pid = d.cmd.Process.Pid
	d.pids = []int{d.pid}
	go func() {
		d.cmd.Wait()
		close(d.exited)
	}()
	t.Cleanup(d.kill)
	return d
}

func createFile(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// kill ends all processes, and shows what they said if the test failed.
func (d *daemon) kill() {
	d.successors()
	for _, pid := range d.pids {
		syscall.Kill(pid, syscall.SIGKILL)
	}
	<-d.exited
	if d.t.Failed() {
		d.t.Logf("stderr:\n%s", d.errors())
	}
}

func (d *daemon) errors() string {
	b, _ := os.ReadFile(d.errFile)
	return string(b)
}

var listeningLine = regexp.MustCompile(`(?m)^listening (\S+)\n`)

// awaitReady waits for the lines that say what is served, and takes the addresses
// from them.
func (d *daemon) awaitReady(lines int) {
	d.t.Helper()
	if lines == 0 {
		lines = max(1, wanted(d.cmd.Args))
	}
	var found [][]string
	d.await("listening", func() bool {
		select {
		case <-d.exited:
			if strings.Contains(d.errors(), "io_uring") {
				d.t.Skipf("no io_uring here: %s", d.errors())
			}
			d.t.Fatalf("edge ended: status %d; stderr:\n%s", d.cmd.ProcessState.ExitCode(), d.errors())
		default:
		}
		b, _ := os.ReadFile(d.outFile)
		found = listeningLine.FindAllStringSubmatch(string(b), -1)
		return len(found) >= lines
	})
	for _, m := range found {
		switch u, err := url.Parse(m[1]); {
		case err != nil || u.Host == "unix:": // a unix socket
		case u.Scheme == "https":
			d.tls = u.Host
		default:
			d.plain = u.Host
		}
	}
	if d.caFile != "" {
		d.trust(readFile(d.t, d.caFile))
	}
}

func (d *daemon) trust(pem []byte) {
	d.t.Helper()
	d.roots = x509.NewCertPool()
	if !d.roots.AppendCertsFromPEM(pem) {
		d.t.Fatal("no certificate to trust")
	}
}

// await waits until what has happened.
func (d *daemon) await(name string, what func() bool) {
	d.t.Helper()
	for end := time.Now().Add(patience); !what(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			d.t.Fatalf("%s: not within %v", name, patience)
		}
	}
}

// awaitLog waits until standard error says text for the nth time.
func (d *daemon) awaitLog(text string, n int) {
	d.t.Helper()
	d.await(fmt.Sprintf("%q in the log, %d times", text, n), func() bool { return strings.Count(d.errors(), text) >= n })
}

func (d *daemon) signal(s syscall.Signal) {
	d.t.Helper()
	if err := syscall.Kill(d.pid, s); err != nil {
		d.t.Fatal(err)
	}
}

var serves = regexp.MustCompile(`upgrade: process (\d+) serves`)

// successors notes all processes that took over so far; the last one serves.
func (d *daemon) successors() int {
	found := serves.FindAllStringSubmatch(d.errors(), -1)
	for _, m := range found[min(len(found), len(d.pids)-1):] {
		if pid, err := strconv.Atoi(m[1]); err == nil {
			d.pids = append(d.pids, pid)
			d.pid = pid
		}
	}
	return len(found)
}

// upgrade has a successor take over.
func (d *daemon) upgrade() {
	d.t.Helper()
	n := d.successors()
	d.signal(syscall.SIGUSR2)
	d.await("upgrade", func() bool { return d.successors() > n })
}

// awaitExit waits for the end of the first process and returns its status.
func (d *daemon) awaitExit() int {
	d.t.Helper()
	select {
	case <-d.exited:
	case <-time.After(patience):
		d.t.Fatalf("the process did not end within %v", patience)
	}
	if s, ok := d.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && s.Signaled() {
		return 128 + int(s.Signal())
	}
	return d.cmd.ProcessState.ExitCode()
}

// version asks for /version on a new plain connection.
func (d *daemon) version() string {
	d.t.Helper()
	version, err := d.tryVersion()
	if err != nil {
		d.t.Fatal(err)
	}
	return version
}

// tryVersion is version where a failure is no surprise.
func (d *daemon) tryVersion() (string, error) {
	c, err := d.dialPlain()
	if err != nil {
		return "", err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(patience))
	_, body, err := get(c, "/version")
	return strings.TrimSpace(body), err
}

// steady is a client that uses its connection for as long as it is told to.
type steady struct {
	dial func() (net.Conn, error)
	conn net.Conn
	r    *bufio.Reader
	last time.Time     // when the connection was made, or had its last answer
	idle time.Duration // from then to the last request
}

// once makes one request. Whatever goes wrong is an error: nothing is tried
// again.
func (s *steady) once(path string) (body string, err error) {
	if s.conn == nil {
		s.idle = 0
		if s.conn, err = s.dial(); err != nil {
			return "", err
		}
		s.r, s.last = bufio.NewReader(s.conn), time.Now()
	}
	s.conn.SetDeadline(time.Now().Add(patience))
	_, err = fmt.Fprintf(s.conn, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path)
	s.idle = time.Since(s.last)
	if err != nil {
		return "", err
	}
	resp, err := http.ReadResponse(s.r, nil)
	if err != nil {
		return "", err
	}
	b, err := io.ReadAll(resp.Body)
	s.last = time.Now()
	if err == nil && resp.StatusCode != 200 {
		err = fmt.Errorf("status %d", resp.StatusCode)
	}
	if resp.Close {
		s.close()
	}
	return string(b), err
}

func (s *steady) close() {
	if s.conn != nil {
		s.conn.Close()
		s.conn = nil
	}
}

// dialTLS makes connections that resume sessions of one cache.
func (d *daemon) dialTLS(cache tls.ClientSessionCache) func() (net.Conn, error) {
	conf := d.config()
	conf.ClientSessionCache = cache
	dialer := &tls.Dialer{NetDialer: &net.Dialer{Timeout: patience}, Config: conf}
	return func() (net.Conn, error) { return dialer.Dial("tcp", d.tls) }
}

func (d *daemon) dialPlain() (net.Conn, error) { return net.DialTimeout("tcp", d.plain, patience) }

// versions is a site in a tar whose version is in it.
type versions struct {
	t    *testing.T
	path string // of the archive
	big  []byte // what /big.bin holds, of the version last released
}

func newVersions(t *testing.T) *versions {
	v := &versions{t: t, path: filepath.Join(t.TempDir(), "site.tar")}
	v.release("0")
	return v
}

// pack makes an archive of a version.
func (v *versions) pack(version string) (archive string) {
	v.t.Helper()
	dir := v.t.TempDir()
	v.big = []byte(strings.Repeat(version+" ", 8<<20/(len(version)+1)))
	writeFile(v.t, filepath.Join(dir, "version"), []byte(version+"\n"))
	writeFile(v.t, filepath.Join(dir, "big.bin"), v.big)
	archive = filepath.Join(v.t.TempDir(), "packed.tar")
	if status, _, errs := outcome(v.t, "pack", dir, "-o", archive); status != 0 {
		v.t.Fatal(errs)
	}
	return archive
}

// release puts a version in the archive's place, as it should be done.
func (v *versions) release(version string) {
	v.t.Helper()
	rename(v.t, v.pack(version), v.path)
}

// rename moves a file, to another file system too.
func rename(t *testing.T, from, to string) {
	t.Helper()
	writeFile(t, to+".next", readFile(t, from))
	if err := os.Rename(to+".next", to); err != nil {
		t.Fatal(err)
	}
}
