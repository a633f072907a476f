// Failures to order, and whether the books are in order.

package sim

import (
	"errors"
	"fmt"

	"edge/edge/reactor"
)

// FailAccept has the next accept fail, once for each error.
func (s *Reactor) FailAccept(errs ...error) { s.failAccept = append(s.failAccept, errs...) }

// FailConnect has the next Connect fail at once, once for each error.
func (s *Reactor) FailConnect(errs ...error) { s.failConnect = append(s.failConnect, errs...) }

// Check returns what is wrong with the books: sockets other than listeners that
// are open or wait to be closed, receive buffers kept, Buffers not put back.
func (s *Reactor) Check() error {
	var errs []error
	for i := 0; i < s.slots.Top(); i++ {
		sl := s.slots.At(i)
		if sl.State == reactor.SlotFree || sl.Op.listener != nil {
			continue
		}
		errs = append(errs, fmt.Errorf("socket %#x: state %d, want %v, sending %v, reading %v",
			sl.Sock, sl.State, sl.Op.want, sl.Op.sending, sl.Op.reading))
	}
	for id, kept := range s.recvKept {
		if kept {
			errs = append(errs, fmt.Errorf("receive buffer %d is kept", id))
		}
	}
	if n := s.pool.Used(); n != 0 {
		errs = append(errs, fmt.Errorf("%d bytes of Buffers were not put back", n))
	}
	return errors.Join(errs...)
}

// WantClean settles and fails the test if Check finds anything.
func (s *Reactor) WantClean() {
	s.t.Helper()
	s.Idle()
	if err := s.Check(); err != nil {
		s.t.Fatalf("sim: not clean:\n%v", err)
	}
}
