package dnspub

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/miekg/dns"
)

// portDefault is the port of https, whose records lie at the host's own name.
const portDefault = 443

// Owner is what a record is for: a host, and the port in its URLs.
type Owner struct {
	Host string // lower case, without the final dot; may begin with "*."
	Port uint16
}

var errOwner = errors.New("give NAME or NAME:PORT, such as example.com or example.com:8443")

// ParseOwner reads NAME or NAME:PORT.
func ParseOwner(s string) (Owner, error) {
	o := Owner{Port: portDefault}
	host, port, withPort := strings.Cut(s, ":")
	if withPort {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return Owner{}, fmt.Errorf("%q: %w", s, errOwner)
		}
		o.Port = uint16(n)
	}
	host, err := ParseHost(host)
	if err != nil {
		return Owner{}, err
	}
	o.Host = host
	if strings.HasPrefix(host, "*.") && o.Port != portDefault {
		return Owner{}, fmt.Errorf("%q: a wildcard cannot have a port: only the first label of a name can be one (RFC 4592)", s)
	}
	if _, ok := dns.IsDomainName(o.Name()); !ok {
		return Owner{}, fmt.Errorf("%q is too long for a DNS name", s)
	}
	return o, nil
}

// ParseHost reads a host name or a wildcard, and returns it in lower case
// without the final dot.
func ParseHost(s string) (string, error) {
	host := strings.ToLower(strings.TrimSuffix(s, "."))
	if _, err := netip.ParseAddr(host); err == nil {
		return "", fmt.Errorf("%q is an address: records are for names", s)
	}
	for label := range strings.SplitSeq(strings.TrimPrefix(host, "*."), ".") {
		if label == "" || len(label) > 63 {
			return "", fmt.Errorf("%q is not a host name: %w", s, errOwner)
		}
		for _, r := range label {
			switch {
			case r > 0x7f:
				return "", fmt.Errorf("%q: give the ASCII form of the name (xn--…)", s)
			case !isHostRune(r):
				return "", fmt.Errorf("%q is not a host name: %w", s, errOwner)
			}
		}
	}
	return host, nil
}

func isHostRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '_'
}

// Name returns the name at which the record lies, with its final dot: the host
// itself, or _PORT._https under it for another port than 443 (RFC 9460, 9.1).
// It is "@", the origin of whatever zone file it is put in, for the zero Owner.
func (o Owner) Name() string {
	switch {
	case o.Host == "":
		return "@"
	case o.Port == portDefault:
		return o.Host + "."
	}
	return fmt.Sprintf("_%d._https.%s.", o.Port, o.Host)
}

// Self returns the target that stands for the host itself. For another port than
// 443 that is not ".": it would be the name at which the record lies, where no
// addresses are (RFC 9460, 2.5.2), and browsers pass such a record over.
func (o Owner) Self() string {
	if o.Host == "" || o.Port == portDefault {
		return "."
	}
	return o.Host + "."
}

// String returns the owner as ParseOwner reads it.
func (o Owner) String() string {
	if o.Port == portDefault {
		return o.Host
	}
	return fmt.Sprintf("%s:%d", o.Host, o.Port)
}
