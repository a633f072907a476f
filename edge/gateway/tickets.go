package gateway

import (
	"fmt"
	"os"
	"time"

	"edge/edge/service"
	"edge/tlsstack"
)

// ticketLifetime is how long a session may be resumed. Keys of our own are
// replaced at half of it, so that none is gone before its tickets are.
const ticketLifetime = 24 * time.Hour

// openTickets has the keys of session tickets: of --ticket-keys, of the
// predecessor, or new ones.
func (s *server) openTickets(getenv func(string) string) error {
	state, err := service.State(getenv) // read in any case: its descriptor is closed
	if err != nil {
		return fmt.Errorf("taking over from the predecessor: %w", err)
	}
	if s.cfg.TicketKeys != "" {
		if state, err = s.readTicketKeys(); err != nil {
			return err
		}
	}
	if len(state) > 0 {
		s.tickets, err = tlsstack.ParseTicketKeys(state)
	} else {
		s.tickets, err = tlsstack.NewTicketKeys(s.rand)
	}
	return err
}

// readTicketKeys reads and checks the file of --ticket-keys; nil without one.
func (s *server) readTicketKeys() ([]byte, error) {
	if s.cfg.TicketKeys == "" {
		return nil, nil
	}
	signature := signatureOf(s.cfg.TicketKeys)
	info, err := os.Stat(s.cfg.TicketKeys)
	if err != nil {
		return nil, fmt.Errorf("--ticket-keys: %w", err)
	}
	if info.Mode().Perm()&0o007 != 0 {
		s.log.Printf("--ticket-keys %s: mode %04o lets every user read past traffic: chmod 600, and make new keys", s.cfg.TicketKeys, info.Mode().Perm())
	}
	file, err := os.ReadFile(s.cfg.TicketKeys)
	if err != nil {
		return nil, fmt.Errorf("--ticket-keys: %w", err)
	}
	if _, err := tlsstack.ParseTicketKeys(file); err != nil {
		return nil, fmt.Errorf("--ticket-keys %s: %w", s.cfg.TicketKeys, err)
	}
	s.ticketsChanged = signature
	return file, nil
}

// takeTicketKeys has all workers use what readTicketKeys returned.
func (s *server) takeTicketKeys(file []byte) {
	if file == nil {
		return
	}
	if err := s.tickets.Load(file); err != nil {
		panic("BUG: ticket keys that were read once cannot be read again: " + err.Error())
	}
}

// rotateTickets replaces keys of our own. Those of a file are their owner's.
func (s *server) rotateTickets() {
	if s.cfg.TicketKeys != "" {
		return
	}
	if err := s.tickets.Rotate(s.rand); err != nil {
		s.log.Printf("%v: the old ticket key stays in use", err)
	}
}

// ticketState is what a successor gets: keys of our own, so that tickets resume
// there. It reads the file itself.
func (s *server) ticketState() []byte {
	if s.cfg.TicketKeys != "" {
		return nil
	}
	return s.tickets.Format()
}
