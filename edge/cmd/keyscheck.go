package cmd

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"edge/ech/keydir"
	"edge/edge/dnspub"
	"edge/edge/echcheck"
)

func newKeysCheck(env Env) *cobra.Command {
	var k checkFlags
	c := &cobra.Command{
		Use:   "check NAME[:PORT]",
		Short: "Compare DNS, the keys and what a client makes of both",
		Long: `check asks DNS for the HTTPS record of a name and follows it as a client does:
which config would it choose, do we hold the key, and does a hello that is
encrypted to it open? It warns when the TTL of the record does not go with the
age of the keys or the time of their removal, and when several servers disagree.

With --connect it also makes two handshakes with a server: one as DNS says, and
one with a key of nobody, or with the retry_configs that the server gave, to see
whether clients with a list from before find back.

Without --server the resolvers of this machine are asked. Ask the zone's primary
server too: resolvers show what is left of the TTL.

Exit status:
  0  clients get ECH; there may be warnings
  1  they do not, or soon will not, or it could not be found out
  2  the command line was wrong`,
		Example: `  edge keys check www.example.com --dir /etc/edge/ech
  edge keys check www.example.com --server ns1.example.com --server 192.0.2.53 --dir /etc/edge/ech
  edge keys check www.example.com:8443 --dir /etc/edge/ech --connect 127.0.0.1:8443 --json`,
		Args: oneArgument("NAME"),
		RunE: func(c *cobra.Command, args []string) error { return k.run(c, env, args[0]) },
	}
	fs := c.Flags()
	fs.StringVar(&k.dir, "dir", dirDefault, "`DIR` of the key files; none is needed for a look at DNS alone")
	fs.StringArrayVar(&k.servers, "server", nil, "DNS server to ask, `HOST[:PORT]`; may be repeated")
	fs.StringVar(&k.connect, "connect", "", "make handshakes with the server at `HOST:PORT`")
	fs.StringVar(&k.ca, "ca", "", "`FILE` with the authorities of its certificates (default: those of this machine)")
	fs.BoolVar(&k.asJSON, "json", false, "print JSON")
	timeoutFlag(c, &k.timeout)
	fs.SortFlags = false
	return c
}

// checkFlags are the flags of check.
type checkFlags struct {
	dir         string
	servers     []string
	connect, ca string
	asJSON      bool
	timeout     span
}

func (k *checkFlags) run(c *cobra.Command, env Env, name string) error {
	o, err := k.options(name, c.Flags().Changed("dir"))
	if err != nil {
		return err
	}
	r := echcheck.Run(c.Context(), o)
	if k.asJSON {
		err = writeJSON(env.Out, r)
	} else {
		err = writeReport(env.Out, r, o.Dir)
	}
	if err != nil {
		return err
	}
	if r.Failed() {
		return fmt.Errorf("%s: clients get no ECH, or soon will not: see above", r.Name)
	}
	return nil
}

// options checks the flags and reads what they name.
func (k *checkFlags) options(name string, dirGiven bool) (o echcheck.Options, err error) {
	o = echcheck.Options{Dir: k.dir, Now: time.Now(), Connect: k.connect, Timeout: time.Duration(k.timeout)}
	if o.Owner, err = dnspub.ParseOwner(name); err != nil {
		return o, usageError{err}
	}
	if k.connect != "" {
		if err := checkHostPort(k.connect); err != nil {
			return o, err
		}
	}
	if k.ca != "" {
		if o.Roots, err = readRoots(k.ca); err != nil {
			return o, err
		}
	}
	if o.Servers, err = dnsServers(k.servers, o.Timeout); err != nil {
		return o, err
	}
	o.Keys, err = keydir.List(k.dir, o.Now)
	if errors.Is(err, fs.ErrNotExist) && !dirGiven {
		o.Keys, err = nil, nil
	}
	return o, err
}

// dnsServers makes servers of the values of --server, or of this machine's
// resolvers when there are none.
func dnsServers(given []string, timeout time.Duration) ([]*dnspub.Server, error) {
	addresses := make([]string, 0, len(given))
	for _, s := range given {
		address, err := dnspub.ParseServer(s)
		if err != nil {
			return nil, usagef("--server: %w", err)
		}
		addresses = append(addresses, address)
	}
	if len(addresses) == 0 {
		var err error
		if addresses, err = dnspub.SystemResolvers(); err != nil {
			return nil, fmt.Errorf("%w: give --server HOST", plain(err))
		}
	}
	var servers []*dnspub.Server
	for _, a := range addresses {
		servers = append(servers, &dnspub.Server{Address: a, Timeout: timeout})
	}
	return servers, nil
}

func checkHostPort(s string) error {
	host, port, err := net.SplitHostPort(s)
	if n, perr := strconv.ParseUint(port, 10, 16); err != nil || perr != nil || host == "" || n == 0 {
		return usagef("--connect %q: give HOST:PORT, such as 127.0.0.1:8443", s)
	}
	return nil
}

func readRoots(file string) (*x509.CertPool, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("--ca: %w", plain(err))
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(data) {
		return nil, fmt.Errorf("--ca: %s holds no certificate in PEM", file)
	}
	return pool, nil
}
