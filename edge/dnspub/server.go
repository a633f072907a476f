package dnspub

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/miekg/dns"
)

// udpBytesMax is the largest answer that is asked for over UDP: what passes
// without fragments (RFC 9715).
const udpBytesMax = 1232

// fudgeSeconds is how far clocks may be apart under TSIG.
const fudgeSeconds = 300

// Server is a DNS server that is asked or updated.
type Server struct {
	Address string        // HOST:PORT
	TSIG    *TSIG         // signs all messages; nil for none
	Timeout time.Duration // of one attempt to get an answer
}

// ParseServer reads HOST or HOST:PORT, with port 53 by default. HOST is a name
// or an address; one of IPv6 with a port stands in brackets.
func ParseServer(s string) (address string, err error) {
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		host, port = strings.TrimSuffix(strings.TrimPrefix(s, "["), "]"), "53"
		if strings.Contains(host, ":") && net.ParseIP(host) == nil {
			return "", fmt.Errorf("%q: give HOST or HOST:PORT, such as ns1.example or [2001:db8::1]:53", s)
		}
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if host == "" || err != nil || n == 0 || strings.ContainsAny(host, " /@") {
		return "", fmt.Errorf("%q: give HOST or HOST:PORT, such as ns1.example or [2001:db8::1]:53", s)
	}
	return net.JoinHostPort(host, port), nil
}

var (
	errUnsigned  = errors.New("the answer is not signed, although the question was (RFC 8945, 5.4)")
	errTruncated = errors.New("the answer is cut short, and TCP does not give the rest")
)

// exchange sends a message and returns the answer, whatever its code. What does
// not fit into UDP, or gets no answer over it, goes over TCP. Updates go over
// TCP first; should one be carried out twice, its prerequisites fail the second
// time.
func (s *Server) exchange(ctx context.Context, m *dns.Msg) (*dns.Msg, error) {
	order := []string{"udp", "tcp", "udp"}
	if m.Opcode == dns.OpcodeUpdate {
		order = []string{"tcp", "udp"}
	}
	var failed error
	for _, network := range order {
		r, err := s.over(ctx, network, m)
		var bad *signatureError
		switch {
		case err == nil && !r.Truncated:
			return r, nil
		case ctx.Err() != nil:
			return nil, s.failed(context.Cause(ctx))
		case errors.As(err, &bad):
			return nil, s.failed(err)
		case failed != nil: // the first failure says more
		case err == nil:
			failed = errTruncated
		default:
			failed = s.plain(err)
		}
	}
	return nil, s.failed(failed)
}

func (s *Server) failed(err error) error { return fmt.Errorf("%s: %w", s.Address, err) }

// plain says what went wrong without the addresses of our end.
func (s *Server) plain(err error) error {
	var netErr net.Error
	if errors.As(err, &netErr) && netErr.Timeout() {
		return fmt.Errorf("no answer within %v", s.Timeout)
	}
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Err
	}
	return err
}

// over sends a message over one network.
func (s *Server) over(ctx context.Context, network string, m *dns.Msg) (*dns.Msg, error) {
	c := dns.Client{Net: network, Timeout: s.Timeout, UDPSize: udpBytesMax}
	m = m.Copy() // signing changes it
	m.Id = dns.Id()
	if m.Opcode == dns.OpcodeQuery {
		m.SetEdns0(udpBytesMax, false)
	}
	if s.TSIG != nil {
		c.TsigSecret = map[string]string{s.TSIG.Name: s.TSIG.secret}
		m.SetTsig(s.TSIG.Name, s.TSIG.Algorithm, fudgeSeconds, time.Now().Unix())
	}
	r, _, err := c.ExchangeContext(ctx, m, s.Address)
	switch {
	case errors.Is(err, dns.ErrAuth) && tsigCode(r) == dns.RcodeSuccess:
		return r, nil // NOTAUTH about the zone, not the key: a refusal need not be proven
	case err != nil && isSignature(err):
		return nil, &signatureError{r, s.TSIG}
	case err != nil:
		return nil, err
	case s.TSIG != nil && r.IsTsig() == nil && codeAdvice[r.Rcode] == "":
		return nil, errUnsigned // a refusal may be unsigned, an answer not
	}
	return r, nil
}

func isSignature(err error) bool {
	for _, e := range []error{dns.ErrAuth, dns.ErrSig, dns.ErrTime, dns.ErrKey, dns.ErrKeyAlg, dns.ErrNoSig, dns.ErrSecret} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// signatureError is an answer that says, or shows, that the two ends do not
// agree about a key.
type signatureError struct {
	answer *dns.Msg
	key    *TSIG
}

// Error says what to look at.
func (e *signatureError) Error() string {
	switch tsigCode(e.answer) {
	case dns.RcodeBadKey:
		return fmt.Sprintf("the server does not know the key %v (BADKEY)", e.key)
	case dns.RcodeBadSig:
		return fmt.Sprintf("the server has another secret for the key %v (BADSIG)", e.key)
	case dns.RcodeBadTime:
		return fmt.Sprintf("the server's clock and ours are more than %d seconds apart (BADTIME)", fudgeSeconds)
	}
	return fmt.Sprintf("the answer's signature by the key %v is wrong", e.key)
}

// tsigCode returns the error in the answer's TSIG record, -1 when it has none.
func tsigCode(r *dns.Msg) int {
	if r == nil || r.IsTsig() == nil {
		return -1
	}
	return int(r.IsTsig().Error)
}

// codeError is an answer with a code that is not success.
type codeError int

// codeAdvice is what to do about the codes that updates meet.
var codeAdvice = map[int]string{
	dns.RcodeRefused:        "the server refuses: allow it for this key or address (allow-update, update-policy, acl)",
	dns.RcodeNotAuth:        "the server is not authoritative for the zone, or not for this key: ask the primary",
	dns.RcodeNotZone:        "the name is not in the zone",
	dns.RcodeNotImplemented: "the server knows no updates",
	dns.RcodeServerFailure:  "the server failed: see its log",
	dns.RcodeFormatError:    "the server does not understand the message",
}

// Error returns the code's name and what to do.
func (e codeError) Error() string {
	name := dns.RcodeToString[int(e)]
	if advice := codeAdvice[int(e)]; advice != "" {
		return advice + " (" + name + ")"
	}
	return "the server answers " + name
}

// query asks for one type of record at a name. NXDOMAIN is an answer like any
// other: nothing is there.
func (s *Server) query(ctx context.Context, name string, qtype uint16, recursive bool) (*dns.Msg, error) {
	m := new(dns.Msg).SetQuestion(name, qtype)
	m.RecursionDesired = recursive
	r, err := s.exchange(ctx, m)
	if err != nil {
		return nil, err
	}
	if r.Rcode != dns.RcodeSuccess && r.Rcode != dns.RcodeNameError {
		return nil, s.failed(codeError(r.Rcode))
	}
	return r, nil
}

// resolverFile lists the machine's resolvers.
const resolverFile = "/etc/resolv.conf"

// SystemResolvers returns the addresses of the machine's resolvers.
func SystemResolvers() ([]string, error) { return resolversOf(resolverFile) }

func resolversOf(file string) ([]string, error) {
	conf, err := dns.ClientConfigFromFile(file)
	if err != nil {
		return nil, err
	}
	if len(conf.Servers) == 0 {
		return nil, fmt.Errorf("%s names no resolver", file)
	}
	var addresses []string
	for _, host := range conf.Servers {
		addresses = append(addresses, net.JoinHostPort(host, conf.Port))
	}
	return addresses, nil
}
