package config

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// Address is where to listen: a TCP address, or the path of a unix socket, where
// a leading @ is the abstract namespace. Exactly one of the two is set.
type Address struct {
	TCP  netip.AddrPort
	Unix string
}

// String is the address as it is given.
func (a Address) String() string {
	if a.Unix != "" {
		return unixPrefix + a.Unix
	}
	return a.TCP.String()
}

const unixPrefix = "unix:"

// unixPathBytesMax is what the kernel takes, its NUL left out (unix(7)).
const unixPathBytesMax = 107

// parseAddress reads HOST:PORT or unix:PATH. HOST is an IP address, localhost, or
// empty for every address of both families.
func parseAddress(s string) (Address, error) {
	if path, ok := strings.CutPrefix(s, unixPrefix); ok {
		return parseUnix(path)
	}
	at, err := parseTCP(s)
	return Address{TCP: at}, err
}

func parseUnix(path string) (Address, error) {
	switch {
	case path == "" || path == "@" || strings.ContainsRune(path, 0):
		return Address{}, errors.New("give unix:PATH, such as unix:/run/edge.sock")
	case len(path) > unixPathBytesMax:
		return Address{}, fmt.Errorf("a path of %d bytes: a unix socket's has at most %d", len(path), unixPathBytesMax)
	}
	return Address{Unix: path}, nil
}

func parseTCP(s string) (netip.AddrPort, error) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 {
		return netip.AddrPort{}, errors.New("give HOST:PORT, such as 0.0.0.0:8443 or [::1]:8443")
	}
	port, err := strconv.ParseUint(s[i+1:], 10, 16)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("port %q: give a number from 0 to 65535", s[i+1:])
	}
	host := s[:i]
	switch host {
	case "":
		host = "::"
	case "localhost":
		host = "127.0.0.1"
	}
	bare, bracketed := strings.CutPrefix(host, "[")
	bare, closed := strings.CutSuffix(bare, "]")
	addr, err := netip.ParseAddr(bare)
	if err != nil || bracketed != closed || bracketed && !addr.Is6() {
		return netip.AddrPort{}, fmt.Errorf("host %q: give an IP address, localhost, or nothing for all", host)
	}
	return netip.AddrPortFrom(addr, uint16(port)), nil
}

// addressesValue is a repeatable address: the first one given replaces the
// default, the others are added.
type addressesValue struct {
	to    *[]Address
	given *bool
}

func (v *addressesValue) String() string {
	if v.to == nil { // pflag asks a zero value for its default
		return ""
	}
	var out []string
	for _, a := range *v.to {
		out = append(out, a.String())
	}
	return strings.Join(out, ",")
}

func (v *addressesValue) Set(s string) error {
	a, err := parseAddress(s)
	if err != nil {
		return err
	}
	if !*v.given {
		*v.to, *v.given = nil, true
	}
	*v.to = append(*v.to, a)
	return nil
}

func (*addressesValue) Type() string { return "HOST:PORT" }
