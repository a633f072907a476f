package main

import (
	"bufio"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"edge/tools/soak/traffic"
)

// server is the edge that is tested, and the application behind it.
type server struct {
	app     *traffic.App
	process traffic.Process
	tls     string
	plain   string
	roots   *x509.CertPool
	workers int
}

// soak starts the application and edge in front of it, has do test them, and
// ends them.
func soak(ctx context.Context, binary string, workers int, do func(context.Context, *server) error) error {
	dir, err := os.MkdirTemp("", "edge-soak-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	app, err := traffic.StartApp(dir)
	if err != nil {
		return err
	}
	defer app.Stop()
	s := &server{app: app, workers: workers}
	cmd := exec.Command(binary, append([]string{"serve", "--dev", "--state-dir", filepath.Join(dir, "state"),
		"--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--workers", strconv.Itoa(workers),
		"--max-body-bytes", "16m"}, app.Flags()...)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return err
	}
	defer log.Close()
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		return err
	}
	s.process = traffic.Process(cmd.Process.Pid)
	err = s.ready(out, dir)
	if err == nil {
		err = do(ctx, s)
	}
	cmd.Process.Signal(syscall.SIGTERM)
	if ended := cmd.Wait(); ended != nil {
		err = errors.Join(err, fmt.Errorf("edge: %w", ended))
	}
	if err != nil {
		log.Seek(0, io.SeekStart)
		io.Copy(os.Stderr, io.LimitReader(log, 64<<10))
	}
	return err
}

// ready waits for edge to say where it listens.
func (s *server) ready(out io.Reader, dir string) error {
	for lines := bufio.NewScanner(out); s.tls == "" || s.plain == ""; {
		if !lines.Scan() {
			return errors.New("edge ended before it was ready")
		}
		at, _ := strings.CutPrefix(lines.Text(), "listening ")
		if u, err := url.Parse(at); err == nil && u.Scheme == "https" {
			s.tls = u.Host
		} else if err == nil && u.Scheme == "http" {
			s.plain = u.Host
		}
	}
	go io.Copy(io.Discard, out)
	pem, err := os.ReadFile(filepath.Join(dir, "state", "dev", "authority", "ca.pem"))
	if err != nil {
		return err
	}
	s.roots = x509.NewCertPool()
	s.roots.AppendCertsFromPEM(pem)
	return nil
}

// mixed has clients make every kind of request.
func (s *server) mixed(ctx context.Context, o traffic.Options) error {
	o.TLS, o.Plain, o.Roots = s.tls, s.plain, s.roots
	o.FaultsMax = 1000 // more would say no more
	warm := o
	warm.Requests, warm.Restarts = min(o.Requests/20, 50000), 0
	warm.Seed++
	if _, err := traffic.Run(ctx, s.app, warm); err != nil {
		return err
	}
	before, err := s.quiet(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("warm: %v\n", before)
	start := time.Now()
	var most traffic.Usage
	o.Progress = func(done int64) {
		u, err := s.process.Usage()
		if err != nil {
			return // it ended: the clients will say so
		}
		most.Resident, most.Files = max(most.Resident, u.Resident), max(most.Files, u.Files)
		fmt.Printf("%6.0f s  %8d requests  %v\n", time.Since(start).Seconds(), done, u)
	}
	report, err := traffic.Run(ctx, s.app, o)
	if err != nil {
		return err
	}
	fmt.Print(report)
	after, err := s.quiet(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("after: %v; at the most %v\n", after, most)
	switch {
	case report.Wrong > 0:
		return fmt.Errorf("%d faults", report.Wrong)
	case after.Resident > before.Resident+heldMax:
		return fmt.Errorf("%d MB of memory more than before", (after.Resident-before.Resident)>>20)
	}
	return nil
}

// heldMax is how much a process may hold on to: what the collector of its language
// has not given back yet.
const heldMax = 32 << 20

// quiet waits until what the clients left behind is gone: idle connections to the
// application, buffers, and the memory of handshakes.
func (s *server) quiet(ctx context.Context) (u traffic.Usage, err error) {
	var was traffic.Usage
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end) && ctx.Err() == nil; time.Sleep(8 * time.Second) {
		if u, err = s.process.Usage(); err != nil {
			return u, err
		}
		if s.app.Active() == 0 && s.app.Open() == 0 && u == was {
			break
		}
		was = u
	}
	switch {
	case ctx.Err() != nil:
		return u, ctx.Err()
	case s.app.Active() > 0:
		return u, fmt.Errorf("%d requests hang at the application", s.app.Active())
	case s.app.Open() > 0:
		return u, fmt.Errorf("%d connections to the application stay open", s.app.Open())
	}
	return u, nil
}

// downloads has clients read large answers slowly, and holds edge to its budget.
func (s *server) downloads(ctx context.Context, slow traffic.Slow) error {
	start, most := time.Now(), int64(0)
	slow.Progress = func(got int64) {
		u, err := s.process.Usage()
		if err != nil {
			return // it ended: the clients will say so
		}
		most = max(most, u.Resident)
		fmt.Printf("%4.0f s  %6d MB read  %v\n", time.Since(start).Seconds(), got>>20, u)
	}
	budget := int64(s.workers)*bufferBytes + besideBuffers
	report, err := traffic.RunSlow(ctx, s.app, traffic.Options{TLS: s.tls, Plain: s.plain, Roots: s.roots}, slow)
	if err != nil {
		return err
	}
	fmt.Printf("%d downloads, %d MB read, at least %d KB by each; at the most %d MB resident, of a budget of %d\n",
		slow.Downloads, report.Got>>20, report.Least>>10, most>>20, budget>>20)
	for _, f := range report.Faults {
		fmt.Println(f)
	}
	after, err := s.quiet(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("after: %v\n", after)
	switch {
	case len(report.Faults) > 0:
		return errors.New("some downloads ended")
	case most > budget:
		return errors.New("the budget was not held")
	}
	return nil
}

const (
	// bufferBytes is the default of --buffer-bytes, for each worker.
	bufferBytes = 256 << 20
	// besideBuffers is for all there is beside them.
	besideBuffers = 64 << 20
)
