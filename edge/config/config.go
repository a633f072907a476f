// Package config turns the flags of `edge serve` into one checked, immutable
// value. It opens nothing and listens on nothing: what it refuses, it refuses
// by looking at the values alone.
//
// config.go is the value and its checks, flags.go the flags, limits.go every
// maximum with its reason, address.go and values.go the spellings.
package config

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Config is what the operator decided. It is made by New and Flags, checked
// once by Check, and never changed after that: workers share it by pointer.
type Config struct {
	Site string // tar file or directory to serve; empty: the page that says what to do

	Listen       []Address   // TLS; an unspecified IPv6 address takes IPv4 too
	ListenGiven  bool        // Listen is not the default
	HTTP         []Address   // plain HTTP; usually none
	HTTPRedirect bool        // HTTP answers with a redirect to https and nothing else
	UnixMode     fs.FileMode // of the socket files among them

	HTMLFallback bool // /a is answered with /a.html where there is no /a

	CertDir   string // PEM pairs; empty only with Dev
	StrictSNI bool   // a name without a certificate is refused, not given the default one
	Dev       bool   // a development authority and certificate in StateDir
	StateDir  string // what edge itself makes and keeps

	ClientAuth string // whether clients are asked for a certificate: ClientAuthNone …
	ClientCA   string // PEM authorities that certificates of clients are verified against
	KeyLog     string // file that gets the secrets of all connections; empty: nobody does

	TicketKeys string // file of the keys that seal session tickets; empty: our own, rotated

	ECHDir             string  // ECH key files; empty: no ECH
	Relays             []Relay // where connections for names without a certificate go
	RelayPublic        bool    // the public names of our ECH keys are relayed to themselves at 443
	RelayProxyProtocol bool    // relay targets and origins are told the client's address (PROXY protocol v2)
	Origins            []Relay // hidden origins that opened hellos for their names go to

	ECHBackend   []string      // addresses of the client-facing servers that we are the origin of
	OriginSVCB   time.Duration // how often ECH keys are renewed, for /.well-known/origin-svcb; 0: it is not served
	LogInnerName bool          // the access log shows the names in hellos that were opened

	Proxy         []string // [PATH=]URL: what is below PATH is answered by an application
	Trust         []string // peers whose word on the client's address is taken
	ProxyProtocol bool     // connections from them begin with a PROXY header
	Balance       string   // how requests are spread over several URLs of one path
	ProxyCA       string   // PEM authorities that https applications are verified against; empty: the machine's
	ProxyCert     string   // PEM certificate and key that applications are shown; empty: none
	RewriteHost   bool     // applications see their own name in Host, not the client's
	ProxyVia      string   // our name in Via; empty: applications get no Via of ours

	Compress         []string // content codings that answers are compressed with, the best first; none: they are not
	CompressTypes    []string // media types of such answers
	CompressMinBytes int64    // what is known to be shorter goes as it is

	ProxyMaxFails    int           // requests in a row that fail before an application is left alone; 0: it never is
	ProxyFailTimeout time.Duration // for how long at first

	ProxyHealth         []string      // [PATH=]URLPATH: what applications are asked for, to see whether they are well
	ProxyHealthInterval time.Duration // from one such request to the next
	ProxyHealthTimeout  time.Duration // for each to be answered
	ProxyHealthFall     int           // that many failures in a row find an application down
	ProxyHealthRise     int           // that many answers in a row find it up again
	ProxyHealthStatus   StatusRange   // of such an answer
	ProxyHealthHost     string        // in Host of the request; empty: the application's own name

	Scripts   []string // programs: objects or C, in this order
	ScriptDir string   // more programs, by name; empty: none

	Reactor string // what waits for sockets: auto, io_uring or epoll

	Workers int // reactors, each on its own thread

	GatherTime time.Duration // the most that a worker's turns lie apart under load; 0: each packet wakes it

	ReloadOnChange bool   // reload when files change, not only at SIGHUP
	AccessLog      string // file, "-" for standard output, "off"
	ErrorLog       string // file; empty: standard error

	Limits   Limits
	Timeouts Timeouts
}

// StatusRange is the statuses from Least to Most.
type StatusRange struct{ Least, Most int }

// Relay says where connections go that are for Name and not for us.
type Relay struct {
	Name   string // as clients send it in SNI, in lower case
	Target HostPort
}

// HostPort is a host name or IP address, and a port.
type HostPort struct {
	Host string
	Port uint16
}

func (h HostPort) String() string { return net.JoinHostPort(h.Host, strconv.Itoa(int(h.Port))) }

// The ways to spread requests: in turn, to the target with the fewest under way,
// or always the same target for a client's address, or for the value of the field
// whose name follows BalanceHashField.
const (
	BalanceRoundRobin = "round-robin"
	BalanceLeast      = "least-connections"
	BalanceHash       = "hash"
	BalanceHashField  = "hash:"
)

// The ways to wait for sockets: io_uring or, where it is refused, epoll; the one
// and nothing else; the other.
const (
	ReactorAuto  = "auto"
	ReactorUring = "io_uring"
	ReactorEpoll = "epoll"
)

// The ways to ask clients for a certificate: not at all, so that one without goes
// on, or so that it does not. A certificate that is shown is verified either way.
const (
	ClientAuthNone    = "none"
	ClientAuthRequest = "request"
	ClientAuthRequire = "require"
)

// New returns the defaults.
func New() *Config {
	return &Config{
		Listen:   []Address{{TCP: netip.MustParseAddrPort("0.0.0.0:8443")}},
		UnixMode: 0o660,
		StateDir: ".state",
		Workers:  runtime.GOMAXPROCS(0),

		Reactor:    ReactorAuto,
		GatherTime: time.Millisecond,
		ClientAuth: ClientAuthNone,

		Balance: BalanceRoundRobin,

		CompressTypes:    slices.Clone(compressTypes),
		CompressMinBytes: compressMinBytes,

		ProxyMaxFails:    3,
		ProxyFailTimeout: time.Second,

		ProxyHealthInterval: 5 * time.Second,
		ProxyHealthTimeout:  3 * time.Second,
		ProxyHealthFall:     3,
		ProxyHealthRise:     2,
		ProxyHealthStatus:   StatusRange{200, 399},

		AccessLog: "off",

		LogInnerName: true,

		Limits:   defaultLimits(),
		Timeouts: defaultTimeouts(),
	}
}

// DevDir is the folder of the development authority and its certificate.
func (c *Config) DevDir() string { return filepath.Join(c.StateDir, "dev") }

// workersMax is far above any machine; it catches a slip of the finger before a
// thousand rings are made.
const workersMax = 1024

// gatherTimeMax is where clients would notice, and more would save nothing.
const gatherTimeMax = 10 * time.Millisecond

// Check reports the first thing that cannot work, in one line that says what to
// do about it.
func (c *Config) Check() error {
	if err := c.checkCertificates(); err != nil {
		return err
	}
	switch c.Reactor {
	case ReactorAuto, ReactorUring, ReactorEpoll:
	default:
		return fmt.Errorf("--reactor %q: give %s, %s or %s", c.Reactor, ReactorAuto, ReactorUring, ReactorEpoll)
	}
	if err := c.checkClientAuth(); err != nil {
		return err
	}
	if c.ProxyProtocol && len(c.Trust) == 0 {
		return errors.New("--proxy-protocol takes PROXY headers from trusted peers alone: add --trust with their addresses")
	}
	switch field, ok := strings.CutPrefix(c.Balance, BalanceHashField); {
	case ok && field != "":
	case c.Balance == BalanceRoundRobin, c.Balance == BalanceLeast, c.Balance == BalanceHash:
	default:
		return fmt.Errorf("--proxy-balance %q: give %s, %s, %s or %sFIELD", c.Balance, BalanceRoundRobin, BalanceLeast, BalanceHash, BalanceHashField)
	}
	if i := strings.IndexFunc(c.ProxyVia, notOfName); i >= 0 {
		return fmt.Errorf("--proxy-via %q: give a name of letters, digits and - . _ alone", c.ProxyVia)
	}
	if err := c.checkCompress(); err != nil {
		return err
	}
	if err := c.checkHealth(); err != nil {
		return err
	}
	if c.Workers < 1 || c.Workers > workersMax {
		return fmt.Errorf("--workers %d: give a number from 1 to %d", c.Workers, workersMax)
	}
	if c.GatherTime > gatherTimeMax {
		return fmt.Errorf("--gather-time %s: give a time up to %s", c.GatherTime, gatherTimeMax)
	}
	if n := c.Limits.ProxyConnections; n > 0 && n < c.Workers {
		return fmt.Errorf("--proxy-max-connections %d: each of %d workers needs one: raise it, or give fewer --workers", n, c.Workers)
	}
	if len(c.Listen) == 0 {
		return errors.New("--listen is empty: give an address such as 0.0.0.0:8443")
	}
	if c.HTTPRedirect && len(c.HTTP) == 0 {
		return errors.New("--http-redirect needs a plain address to redirect from: add --http 0.0.0.0:8080")
	}
	if c.ReloadOnChange && c.Site+c.ScriptDir+c.ClientCA+c.TicketKeys == "" && len(c.Scripts) == 0 {
		return errors.New("--reload-on-change has nothing to watch: give a tar file or a directory")
	}
	if c.AccessLog == "" {
		return errors.New("--access-log is empty: give a file, - for standard output, or off")
	}
	if err := c.checkAddresses(); err != nil {
		return err
	}
	if err := c.Limits.check(); err != nil {
		return err
	}
	return c.Timeouts.check()
}

// notOfName says that a name in Via cannot have r: a token may have more (RFC 9110,
// 7.6.3), which nobody needs.
func notOfName(r rune) bool {
	return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '-' && r != '.' && r != '_'
}

func (c *Config) checkCertificates() error {
	switch {
	case c.RelayPublic && c.ECHDir == "":
		return errors.New("--relay-public relays the public names of our ECH keys: add --ech DIR")
	case len(c.Origins) > 0 && c.ECHDir == "":
		return errors.New("--origin is for names in hellos that our ECH keys open: add --ech DIR")
	case c.OriginSVCB > 0 && c.ECHDir == "":
		return errors.New("--origin-svcb publishes our ECH keys: add --ech DIR")
	case c.CertDir == "" && !c.Dev && (len(c.Relays) > 0 || c.RelayPublic) && c.Site == "":
		return nil // a relay alone needs none
	case c.CertDir == "" && !c.Dev:
		return errors.New("no certificates: give --cert-dir DIR with PEM files, or --dev for a development certificate")
	case c.CertDir != "" && c.Dev:
		return errors.New("--dev and --cert-dir exclude each other: leave one out")
	case c.Dev && c.StateDir == "":
		return errors.New("--state-dir is empty: --dev keeps its authority there")
	}
	return nil
}

func (c *Config) checkClientAuth() error {
	switch c.ClientAuth {
	case ClientAuthNone:
		if c.ClientCA != "" {
			return errors.New("--client-ca is of no use while clients are not asked for a certificate: add --client-auth request or require")
		}
	case ClientAuthRequest, ClientAuthRequire:
		if c.ClientCA == "" {
			return fmt.Errorf("--client-auth %s needs the authorities that clients have their certificates from: add --client-ca FILE", c.ClientAuth)
		}
	default:
		return fmt.Errorf("--client-auth %q: give %s, %s or %s", c.ClientAuth, ClientAuthNone, ClientAuthRequest, ClientAuthRequire)
	}
	return nil
}

// checkHealth checks the flags of the applications' health.
func (c *Config) checkHealth() error {
	if len(c.ProxyHealth) > 0 && len(c.Proxy) == 0 {
		return errors.New("--proxy-health asks the applications of --proxy: there are none")
	}
	for _, r := range []struct {
		flag        string
		d           time.Duration
		least, most time.Duration
	}{
		{"--proxy-fail-timeout", c.ProxyFailTimeout, 10 * time.Millisecond, time.Hour},
		{"--proxy-health-interval", c.ProxyHealthInterval, 100 * time.Millisecond, time.Hour},
		{"--proxy-health-timeout", c.ProxyHealthTimeout, time.Millisecond, time.Hour},
	} {
		if r.d < r.least || r.d > r.most {
			return fmt.Errorf("%s %s: give a time from %s to %s", r.flag, r.d, r.least, r.most)
		}
	}
	if n := c.ProxyMaxFails; n < 0 || n > healthRowMax {
		return fmt.Errorf("--proxy-max-fails %d: give a number from 0 to %d", n, healthRowMax)
	}
	if n := c.ProxyHealthFall; n < 1 || n > healthRowMax {
		return fmt.Errorf("--proxy-health-fall %d: give a number from 1 to %d", n, healthRowMax)
	}
	if n := c.ProxyHealthRise; n < 1 || n > healthRowMax {
		return fmt.Errorf("--proxy-health-rise %d: give a number from 1 to %d", n, healthRowMax)
	}
	return nil
}

// healthRowMax is beyond what anybody waits for.
const healthRowMax = 100

// checkAddresses refuses an address that is given twice. Port 0 asks the kernel
// for a free port, and may be asked for again.
func (c *Config) checkAddresses() error {
	seen := map[Address]string{}
	for _, set := range []struct {
		flag  string
		addrs []Address
	}{{"--listen", c.Listen}, {"--http", c.HTTP}} {
		for _, a := range set.addrs {
			if first, ok := seen[a]; ok && (a.Unix != "" || a.TCP.Port() != 0) {
				return fmt.Errorf("%s %s: already taken by %s: give each address once", set.flag, a, first)
			}
			seen[a] = set.flag
		}
	}
	return nil
}
