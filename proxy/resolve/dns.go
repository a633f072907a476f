package resolve

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/miekg/dns"
)

// hostsTTL is how long an answer from the hosts file is used: the file is read
// again then.
const hostsTTL = 10 * time.Second

// System looks names up as the machine does: in the hosts file, then at the name
// servers of resolv.conf. The paths are those of the two files.
func System(hosts, resolvConf string) LookUp {
	return func(ctx context.Context, name string) ([]netip.Addr, time.Duration, error) {
		if addrs := fromHosts(hosts, strings.TrimSuffix(name, ".")); len(addrs) > 0 {
			return addrs, hostsTTL, nil
		}
		conf, err := dns.ClientConfigFromFile(resolvConf)
		if err != nil {
			return nil, 0, err
		}
		return fromServers(ctx, conf, name)
	}
}

// fromHosts finds the addresses of name in a hosts file (hosts(5)).
func fromHosts(path, name string) (addrs []netip.Addr) {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line, _, _ := strings.Cut(lines.Text(), "#")
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		a, err := netip.ParseAddr(fields[0])
		if err != nil {
			continue
		}
		for _, n := range fields[1:] {
			if strings.EqualFold(strings.TrimSuffix(n, "."), name) {
				addrs = append(addrs, a)
				break
			}
		}
	}
	return addrs
}

// fromServers asks for the names that name may be short for, by the search list and
// ndots of resolv.conf, until one has an address. One that ends with a dot is not
// short for any other.
func fromServers(ctx context.Context, conf *dns.ClientConfig, name string) (addrs []netip.Addr, ttl time.Duration, err error) {
	err = ErrNotFound
	for _, full := range conf.NameList(name) {
		found, life, e := askBoth(ctx, conf, full)
		switch {
		case e == nil && len(found) > 0:
			return found, life, nil
		case ctx.Err() != nil:
			return nil, 0, ctx.Err()
		case e != nil && err == ErrNotFound:
			err = e // of the first that may well exist
		}
	}
	return nil, 0, err
}

// askBoth asks for A and AAAA of a whole name. IPv4 addresses stand first: a machine
// without IPv6 is still more common than one without IPv4.
func askBoth(ctx context.Context, conf *dns.ClientConfig, name string) ([]netip.Addr, time.Duration, error) {
	var addrs []netip.Addr
	var errs []error
	ttl := ttlMost
	for _, kind := range []uint16{dns.TypeA, dns.TypeAAAA} {
		found, life, err := ask(ctx, conf, name, kind)
		if err != nil {
			if err != ErrNotFound {
				errs = append(errs, err)
			}
			continue
		}
		if len(found) > 0 {
			ttl = min(ttl, life)
		}
		addrs = append(addrs, found...)
	}
	if len(addrs) > 0 {
		return addrs, ttl, nil
	}
	return nil, 0, errors.Join(errs...)
}

// ask tries the name servers in turn, each as often as resolv.conf says.
func ask(ctx context.Context, conf *dns.ClientConfig, name string, kind uint16) ([]netip.Addr, time.Duration, error) {
	q := new(dns.Msg)
	q.SetQuestion(dns.Fqdn(name), kind)
	q.SetEdns0(1232, false)
	last := fmt.Errorf("resolv.conf names no server")
	for range max(conf.Attempts, 1) {
		for _, server := range conf.Servers {
			reply, err := exchange(ctx, conf, q, net.JoinHostPort(server, conf.Port))
			switch {
			case err != nil:
				last = err
			case reply.Rcode == dns.RcodeNameError:
				return nil, 0, ErrNotFound
			case reply.Rcode != dns.RcodeSuccess:
				last = fmt.Errorf("%s answers %s", server, dns.RcodeToString[reply.Rcode])
			default:
				addrs, ttl := addresses(reply)
				return addrs, ttl, nil
			}
			if ctx.Err() != nil {
				return nil, 0, ctx.Err()
			}
		}
	}
	return nil, 0, last
}

// exchange asks over UDP, and over TCP when the answer was cut.
func exchange(ctx context.Context, conf *dns.ClientConfig, q *dns.Msg, server string) (*dns.Msg, error) {
	c := &dns.Client{Timeout: time.Duration(max(conf.Timeout, 1)) * time.Second}
	reply, _, err := c.ExchangeContext(ctx, q, server)
	if err == nil && reply.Truncated {
		c.Net = "tcp"
		reply, _, err = c.ExchangeContext(ctx, q, server)
	}
	return reply, err
}

// addresses reads the answer section; the time to live is the least on the way,
// aliases included.
func addresses(reply *dns.Msg) (addrs []netip.Addr, ttl time.Duration) {
	ttl = ttlMost
	for _, rr := range reply.Answer {
		ttl = min(ttl, time.Duration(rr.Header().Ttl)*time.Second)
		var ip net.IP
		switch rr := rr.(type) {
		case *dns.A:
			ip = rr.A
		case *dns.AAAA:
			ip = rr.AAAA
		}
		if a, ok := netip.AddrFromSlice(ip); ok {
			addrs = append(addrs, a.Unmap())
		}
	}
	return addrs, ttl
}
