package gateway

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"edge/certstore"
	"edge/edge/service"
)

// control does what signals ask for, and reloads when files change, until ctx
// ends. All generations after the first are made by it.
func (s *server) control(ctx context.Context, o Options) {
	defer func() { s.tell(s.closeSockets(s.succeeded)) }()
	s.watchCertificates(ctx)
	watches := s.watches()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	rotate := time.NewTicker(ticketLifetime / 2)
	defer rotate.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-o.Reload:
			s.reopenLogs()
			s.hangup()
			for _, w := range watches {
				w.seen()
			}
		case <-o.Reopen:
			s.reopenLogs()
			s.logCounters()
		case <-o.Upgrade:
			s.upgrade(ctx)
		case <-s.certsChanged:
			s.adoptCertificates()
		case <-look.C:
			for _, w := range watches {
				if w.changed() {
					s.reload(w.what+" changed", w.part)
				}
			}
			s.watchECH()
		case <-rotate.C:
			s.rotateTickets()
		}
	}
}

// reload makes a new generation and puts it in service, or keeps the old one
// and says why.
func (s *server) reload(why string, what parts) error {
	var tickets []byte
	var next *generation
	var err error
	if what&partTickets != 0 {
		tickets, err = s.readTicketKeys()
	}
	if err == nil {
		next, err = s.load(s.current(), what)
	}
	if err = s.replace(why, next, err); err == nil {
		s.takeTicketKeys(tickets)
	}
	return err
}

// replace puts next in service, if err does not say why there is none.
func (s *server) replace(why string, next *generation, err error) error {
	if err != nil {
		s.reloadsFailed.Add(1)
		s.log.Printf("reload (%s) failed, generation %d stays in service: %v", why, s.current().number, err)
		return err
	}
	s.reloads.Add(1)
	if !sameKeys(s.current().tls.ECH, next.tls.ECH) {
		s.echWatch.keysChanged(time.Now(), s.echCounts())
	}
	s.swap(next)
	s.log.Printf("reload (%s): generation %d is in service", why, next.number)
	return nil
}

// swap puts next in service. Each worker's share is counted before it can be
// overtaken by another swap.
func (s *server) swap(next *generation) {
	old := s.gen.Swap(next)
	for _, w := range s.workers {
		next.take()
		w.r.Post(func() { w.adopt(next) })
	}
	old.drop()
}

// hangup loads everything anew, together or not at all.
func (s *server) hangup() {
	s.tell(s.notify.Reloading())
	err := s.reload("SIGHUP", partsAll)
	if err == nil {
		if s.certWatch != nil {
			s.certWatch.Replace(s.current().certs.snapshot)
		}
		s.tell(s.notify.Status(fmt.Sprintf("serving generation %d", s.current().number)))
	} else {
		s.tell(s.notify.Status("the last reload failed: " + err.Error()))
	}
	s.tell(s.notify.Ready())
}

// tell logs that the service manager could not be told.
func (s *server) tell(err error) {
	if err != nil {
		s.log.Printf("%v", err)
	}
}

// watchCertificates has changes of the certificate directory, and times at which
// a certificate begins or ends, come to control.
func (s *server) watchCertificates(ctx context.Context) {
	in := s.current().certs.snapshot
	if in == nil {
		return
	}
	s.certWatch = certstore.NewWatcher(in, func(now *certstore.Snapshot, r *certstore.Report) {
		s.logCertificates(r)
		s.certsSeen.Store(now)
		select {
		case s.certsChanged <- struct{}{}:
		default: // control has not looked yet
		}
	})
	go s.certWatch.Run(ctx)
}

// adoptCertificates puts the certificates that the watcher has seen in service,
// or those there are now, if they were made of other ones than are in service.
func (s *server) adoptCertificates() {
	const why = "certificates changed"
	old := s.current()
	seen := s.certsSeen.Load()
	switch {
	case seen == old.certs.snapshot:
		return // only problems were new
	case !seen.Follows(old.certs.snapshot):
		if s.reload(why, partCertificates) == nil {
			s.certWatch.Replace(s.current().certs.snapshot)
		}
		return
	}
	certs, err := s.useCertificates(seen, old.certs)
	var next *generation
	if err == nil {
		next, err = s.loadWith(certs, old, partCertificates)
	}
	s.replace(why, next, err)
}

// reopenLogs goes on in new files where the old ones were moved away.
func (s *server) reopenLogs() {
	s.logs.reopen()
	s.log.reopen()
}

// upgrade starts the binary that is at our path now, hands it the listening
// sockets, and drains once it serves.
func (s *server) upgrade(ctx context.Context) {
	if os.Getpid() == 1 {
		s.log.Printf("upgrade: as process 1 edge cannot leave to a successor: start a new container instead")
		return
	}
	path, err := ownPath()
	if err != nil {
		s.log.Printf("upgrade: %v", err)
		return
	}
	next := service.Successor{Path: path, Args: os.Args[1:], Environ: os.Environ(), Sockets: s.sockets, State: s.ticketState()}
	pid, err := next.Start(ctx)
	if err != nil {
		s.log.Printf("%v; this process goes on", err)
		return
	}
	s.log.Printf("upgrade: process %d serves, this one drains", pid)
	s.tell(s.notify.Succeeded(pid))
	s.succeeded = true
	s.leave()
}

// ownPath is where the binary is that an upgrade starts: where the command line
// finds it, for a link there may lead to a newer one now.
func ownPath() (string, error) {
	if path, err := exec.LookPath(os.Args[0]); err == nil {
		return filepath.Abs(path)
	}
	return os.Executable()
}

// watchdog tells the service manager that every worker still turns, as often as
// it wants to hear it.
func (s *server) watchdog(ctx context.Context) {
	every := s.notify.Watchdog() / 2
	if every == 0 {
		return
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			turned := make(chan struct{}, len(s.workers))
			for _, w := range s.workers {
				w.r.Post(func() { turned <- struct{}{} })
			}
			for range s.workers {
				<-turned
			}
			s.tell(s.notify.Alive())
		}
	}
}
