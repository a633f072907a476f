package proxy

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// Target is one upstream, as a user names it:
//
//	http://HOST[:PORT][/BASE]
//	https://HOST[:PORT][/BASE]
//	unix:/PATH/OF/SOCKET[:/BASE]     a leading @ in place of / is the abstract namespace
//
// each with options behind it, after a # and with commas between them:
//
//	weight=N              it gets N times the share of one without
//	proxy-protocol=v1|v2  connections begin with a PROXY header that names the client
//	server-name=NAME      https: asked for and verified in place of HOST
//	insecure              https: any certificate will do
type Target struct {
	TLS    bool   // https
	Host   string // name or address, without brackets; empty for unix sockets
	Port   uint16
	Unix   string // path of a unix socket, or @ and an abstract name
	Base   string // goes before the path of requests: no slash at its end, may be empty
	Weight int    // 1 to WeightMax

	ProxyProtocol int    // version of the PROXY header; 0: none is sent
	ServerName    string // see VerifyName; empty: Host
	Insecure      bool   // the certificate is not verified
}

const (
	// WeightMax is the greatest weight of a target.
	WeightMax = 1000

	unixBytesMax = 107 // sockaddr_un.sun_path with its NUL (unix(7))
)

// Errors of ParseTarget, wrapped with what was given.
var (
	ErrTargetScheme = errors.New("want http://, https:// or unix:")
	ErrTargetHost   = errors.New("no valid host")
	ErrTargetPort   = errors.New("no valid port")
	ErrTargetBase   = errors.New("base path with a query, a fragment, dot segments or bytes that must be escaped")
	ErrTargetUser   = errors.New("user names are not sent to upstreams")
	ErrTargetUnix   = errors.New("path of the socket is empty, not absolute or longer than 107 bytes")
	ErrRoutePath    = errors.New("path of a route must begin with / and be as it is looked for: decoded, without a query, //, . or ..")
)

// ParseTarget reads one target.
func ParseTarget(s string) (Target, error) {
	t, err := parseTarget(s)
	if err == nil && !t.TLS && (t.ServerName != "" || t.Insecure) {
		err = ErrTargetPlain
	}
	if err != nil {
		return Target{}, fmt.Errorf("upstream %q: %w", s, err)
	}
	return t, nil
}

func parseTarget(s string) (t Target, err error) {
	s, options, has := strings.Cut(s, "#")
	t.Weight = 1
	if has {
		if err := t.parseOptions(options); err != nil {
			return t, err
		}
	}
	if rest, ok := strings.CutPrefix(s, "unix:"); ok {
		return t, t.parseUnix(rest)
	}
	scheme, _, _ := strings.Cut(s, "://")
	if !strings.EqualFold(scheme, "http") && !strings.EqualFold(scheme, "https") {
		return t, ErrTargetScheme
	}
	u, err := url.Parse(s)
	var fault *url.Error // which names s again
	switch {
	case errors.As(err, &fault):
		return t, fault.Err
	case err != nil:
		return t, err
	case u.Opaque != "":
		return t, ErrTargetScheme
	case u.User != nil:
		return t, ErrTargetUser
	case u.RawQuery != "" || u.ForceQuery:
		return t, ErrTargetBase
	}
	t.TLS = u.Scheme == "https"
	if err := t.parseHost(u); err != nil {
		return t, err
	}
	return t, t.setBase(u.EscapedPath())
}

// parseHost takes host and port out of u.
func (t *Target) parseHost(u *url.URL) error {
	t.Host = strings.ToLower(u.Hostname())
	if !isHost(t.Host) {
		return ErrTargetHost
	}
	t.Port = t.defaultPort()
	if _, port, ok := cutPort(u.Host); ok {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return ErrTargetPort
		}
		t.Port = uint16(n)
	}
	return nil
}

// cutPort parts host and port at the colon that is not within brackets.
func cutPort(s string) (host, port string, ok bool) {
	colon := strings.LastIndexByte(s, ':')
	if colon < 0 || strings.IndexByte(s[colon:], ']') >= 0 {
		return s, "", false
	}
	return s[:colon], s[colon+1:], true
}

// isHost says that s is an address, or a name of letters, digits, hyphens,
// underscores and dots as resolvers take it.
func isHost(s string) bool {
	if a, err := netip.ParseAddr(s); err == nil {
		return a.Zone() == ""
	}
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '.' && c != '_' {
			return false
		}
	}
	return s != "" && len(s) <= 253 && s[0] != '.' && !strings.Contains(s, "..")
}

func (t *Target) defaultPort() uint16 {
	if t.TLS {
		return 443
	}
	return 80
}

// parseUnix reads what follows "unix:".
func (t *Target) parseUnix(s string) error {
	path, base, _ := strings.Cut(s, ":")
	if rest, ok := strings.CutPrefix(path, "///"); ok { // unix:///run/app.sock
		path = "/" + rest
	}
	if len(path) < 2 || len(path) > unixBytesMax || path[0] != '/' && path[0] != '@' || strings.IndexByte(path, 0) >= 0 {
		return ErrTargetUnix
	}
	t.Unix = path
	return t.setBase(base)
}

// setBase checks a base path, and cuts the slash off its end.
func (t *Target) setBase(base string) error {
	if base != "" && base[0] != '/' {
		return ErrTargetBase
	}
	for i := range len(base) {
		if c := base[i]; c <= ' ' || c >= 0x7f || c == '?' || c == '#' {
			return ErrTargetBase
		}
	}
	plain, err := url.PathUnescape(base)
	if err != nil || hasDots(plain) {
		return ErrTargetBase
	}
	t.Base = strings.TrimRight(base, "/")
	return nil
}

// hasDots says that path has a segment "." or "..".
func hasDots(path string) bool {
	for segment := range strings.SplitSeq(path, "/") {
		if segment == "." || segment == ".." {
			return true
		}
	}
	return false
}

// Authority is host[:port] as it is written in Host, "localhost" for a unix
// socket.
func (t *Target) Authority() string {
	if t.Unix != "" {
		return "localhost"
	}
	host := t.Host
	if strings.IndexByte(host, ':') >= 0 {
		host = "[" + host + "]"
	}
	if t.Port == t.defaultPort() {
		return host
	}
	return host + ":" + strconv.Itoa(int(t.Port))
}

// String is the target as ParseTarget reads it, for logs.
func (t *Target) String() string { return t.appendOptions(t.url(), true) }

// url is the target without its options.
func (t *Target) url() string {
	switch {
	case t.Unix != "" && t.Base != "":
		return "unix:" + t.Unix + ":" + t.Base
	case t.Unix != "":
		return "unix:" + t.Unix
	case t.TLS:
		return "https://" + t.Authority() + t.Base
	}
	return "http://" + t.Authority() + t.Base
}
