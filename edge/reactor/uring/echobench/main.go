// Command echobench measures what a reactor costs: it answers every request
// that ends in an empty line with a fixed response of 174 bytes of content,
// without TLS or parsing, and on SIGINT says how much CPU it spent on each.
//
//	taskset -c 0 echobench -listen 127.0.0.1:9000 &
//	taskset -c 1 wrk -c 100 -t 1 -d 10 http://127.0.0.1:9000/
package main

import (
	"bytes"
	"flag"
	"fmt"
	"log"
	"net/netip"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"edge/edge/reactor"
	"edge/edge/reactor/epoll"
	"edge/edge/reactor/uring"
)

var response = []byte("HTTP/1.1 200 OK\r\nServer: echobench\r\nContent-Type: text/html\r\nContent-Length: 174\r\n" +
	"Last-Modified: Mon, 30 Nov 2026 14:46:42 GMT\r\nETag: \"0123456789abcdef\"\r\n\r\n" +
	string(bytes.Repeat([]byte("x"), 174)))

var headEnd = []byte("\r\n\r\n")

// conn is one connection: what was answered but not yet sent.
type conn struct {
	out     []byte
	owed    int
	sending bool
	ended   bool
	queued  bool
}

type server struct {
	r     reactor.Reactor
	conns []conn
	ready []reactor.Sock
	total int64
	turns int64
	size  int
}

func (s *server) Accepted(_, k reactor.Sock, _ netip.AddrPort) {
	s.conns[k.Index()] = conn{}
	s.r.Receive(k)
	s.r.SetDeadline(k, s.r.Now().Add(60*time.Second))
}
func (s *server) AcceptFailed(_ reactor.Sock, err error) { log.Print(err) }
func (s *server) Connected(reactor.Sock, error)          {}
func (s *server) FileRead(reactor.Sock, int, error)      {}
func (s *server) Expired(k reactor.Sock)                 { s.r.Close(k) }
func (s *server) Fired(uint64)                           {}
func (s *server) Closed(reactor.Sock)                    {}

func (s *server) Received(k reactor.Sock, b []byte, _ reactor.BufID) bool {
	n := bytes.Count(b, headEnd)
	s.conns[k.Index()].owed += n
	s.total += int64(n)
	s.touch(k)
	return false
}

func (s *server) ReceiveEnded(k reactor.Sock, _ error) {
	s.conns[k.Index()].ended = true
	s.touch(k)
}

func (s *server) Sent(k reactor.Sock, _ error) {
	c := &s.conns[k.Index()]
	s.r.Buffers().Put(c.out)
	c.out, c.sending = nil, false
	s.touch(k)
}

func (s *server) touch(k reactor.Sock) {
	if c := &s.conns[k.Index()]; !c.queued {
		c.queued = true
		s.ready = append(s.ready, k)
	}
}

func (s *server) TurnEnd() {
	s.turns++
	for _, k := range s.ready {
		s.flush(k)
	}
	s.ready = s.ready[:0]
}

func (s *server) flush(k reactor.Sock) {
	c := &s.conns[k.Index()]
	c.queued = false
	switch {
	case c.sending:
	case c.owed > 0:
		b := s.r.Buffers().Get(s.size)
		for c.owed > 0 && len(b)+len(response) <= cap(b) {
			b = append(b, response...)
			c.owed--
		}
		if s.size > 4096 {
			b = b[:s.size]
		}
		c.out, c.sending = b, true
		s.r.Send(k, b)
		s.r.SetDeadline(k, s.r.Now().Add(60*time.Second))
	case c.ended:
		s.r.Close(k)
	}
}

func main() {
	listen := flag.String("listen", "127.0.0.1:9000", "address")
	procs := flag.Int("procs", 2, "GOMAXPROCS")
	kind := flag.String("reactor", "uring", "uring or epoll")
	size := flag.Int("send", 4096, "bytes of a send buffer")
	var o reactor.Options
	flag.IntVar(&o.Entries, "entries", 0, "submission queue")
	flag.IntVar(&o.RecvBytes, "recvbytes", 0, "receive buffer size")
	flag.IntVar(&o.RecvLent, "recvlent", 0, "receive buffers lent")
	flag.Parse()
	runtime.GOMAXPROCS(*procs)
	o.Log = func(line string) { log.Print(line) }
	r, err := open(*kind, o)
	if err != nil {
		log.Fatal(err)
	}
	fd, err := reactor.ListenTCP(*listen)
	if err != nil {
		log.Fatal(err)
	}
	l, err := r.Listen(fd)
	if err != nil {
		log.Fatal(err)
	}
	r.Receive(l)
	s := &server{r: r, conns: make([]conn, r.SocketsMax()), size: *size}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	go func() { <-stop; r.Post(r.Stop) }()
	if err := r.Run(s); err != nil {
		log.Fatal(err)
	}
	report(s)
}

func open(kind string, o reactor.Options) (reactor.Reactor, error) {
	if kind == "epoll" {
		return epoll.New(o)
	}
	return uring.New(o)
}

func report(s *server) {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	user := time.Duration(u.Utime.Nano())
	sys := time.Duration(u.Stime.Nano())
	fmt.Printf("requests %d  turns %d  user %.2f  system %.2f  cpu %.2f us/request  switches %d/%d\n", s.total, s.turns,
		us(user, s.total), us(sys, s.total), us(user+sys, s.total), u.Nvcsw, u.Nivcsw)
}

func us(d time.Duration, n int64) float64 {
	return float64(d.Nanoseconds()) / 1000 / float64(max(n, 1))
}
