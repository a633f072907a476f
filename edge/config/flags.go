package config

import "github.com/spf13/pflag"

// Group is some flags under one heading, as help and README show them.
type Group struct {
	Title string
	Flags *pflag.FlagSet
}

// Flags returns flags that write to c, grouped. The values c holds are the
// defaults.
func (c *Config) Flags() []Group {
	return []Group{
		{"Listening", c.listenFlags()},
		{"Site", c.siteFlags()},
		{"Certificates", c.certificateFlags()},
		{"Encrypted ClientHello and relay", c.echFlags()},
		{"Applications", c.proxyFlags()},
		{"Compression", c.compressFlags()},
		{"Programs", c.scriptFlags()},
		{"Process", c.processFlags()},
		{"Logs", c.logFlags()},
		{"Limits", c.limitFlags()},
		{"Timeouts", c.timeoutFlags()},
	}
}

func newSet(title string) *pflag.FlagSet {
	fs := pflag.NewFlagSet(title, pflag.ContinueOnError)
	fs.SortFlags = false // the order they are written in is the order they make sense in
	return fs
}

func (c *Config) listenFlags() *pflag.FlagSet {
	fs := newSet("listen")
	fs.Var(&addressesValue{&c.Listen, &c.ListenGiven}, "listen", "serve TLS here, or at unix:PATH; may be repeated")
	fs.Var(&addressesValue{&c.HTTP, new(bool)}, "http", "serve plain HTTP here, or at unix:PATH; may be repeated")
	fs.BoolVar(&c.HTTPRedirect, "http-redirect", c.HTTPRedirect, "answer plain HTTP with a redirect to https alone")
	fs.Var((*modeValue)(&c.UnixMode), "unix-mode", "permissions of the socket files of unix:PATH")
	return fs
}

func (c *Config) siteFlags() *pflag.FlagSet {
	fs := newSet("site")
	fs.BoolVar(&c.HTMLFallback, "html-fallback", c.HTMLFallback, "answer /a with /a.html where there is no /a")
	fs.BoolVar(&c.ReloadOnChange, "reload-on-change", c.ReloadOnChange, "reload by itself when the files of site, programs, client authorities or ticket keys change")
	return fs
}

func (c *Config) certificateFlags() *pflag.FlagSet {
	fs := newSet("certificates")
	fs.Var((*pathValue)(&c.CertDir), "cert-dir", "directory of PEM certificates and keys, paired by public key")
	fs.BoolVar(&c.StrictSNI, "strict-sni", c.StrictSNI, "refuse a name without a certificate (unrecognized_name)")
	fs.BoolVar(&c.Dev, "dev", c.Dev, "make and use a development authority and certificate")
	fs.Var((*pathValue)(&c.StateDir), "state-dir", "where edge keeps what it makes itself")
	fs.Var((*fileValue)(&c.TicketKeys), "ticket-keys", "keys of session tickets, to share or to keep (default: made anew, rotated)")
	fs.Var(&wordValue{&c.ClientAuth, "none|request|require"}, "client-auth", "ask clients for a certificate, or insist on one")
	fs.Var((*fileValue)(&c.ClientCA), "client-ca", "authorities, in PEM, that certificates of clients are verified against")
	fs.Var((*fileValue)(&c.KeyLog), "key-log", "append the secrets of all connections, for debugging: whoever has them reads all traffic")
	return fs
}

func (c *Config) echFlags() *pflag.FlagSet {
	fs := newSet("ech")
	fs.Var((*pathValue)(&c.ECHDir), "ech", "directory of ECH keys: PEM files (RFC 9934)")
	fs.Var(&relaysValue{&c.Relays}, "relay", "pass on what is for NAME, without a certificate here, byte for byte; may be repeated")
	fs.BoolVar(&c.RelayPublic, "relay-public", c.RelayPublic, "pass on what is for a public name of our ECH keys, to that name at port 443")
	fs.BoolVar(&c.RelayProxyProtocol, "relay-proxy-protocol", c.RelayProxyProtocol, "tell where it is passed on to the client's address (PROXY protocol v2)")
	fs.Var(&relaysValue{&c.Origins}, "origin", "pass on hellos opened with our ECH keys that are for NAME, whose TLS ends there; may be repeated")
	fs.StringSliceVar(&c.ECHBackend, "ech-backend", c.ECHBackend, "be such an origin: take inner hellos from `FRONT[,FRONT]`, addresses or prefixes")
	fs.Var((*timeValue)(&c.OriginSVCB), "origin-svcb", "serve /.well-known/origin-svcb from the ECH keys, which are renewed this often; 0 not to")
	return fs
}

func (c *Config) proxyFlags() *pflag.FlagSet {
	fs := newSet("proxy")
	fs.StringArrayVar(&c.Proxy, "proxy", c.Proxy, "have an application answer: `[PATH=]URL`[#OPTION,…], with http://, https:// or unix:; may be repeated")
	fs.Var(&wordValue{&c.Balance, "POLICY"}, "proxy-balance", "among the URLs of one path: round-robin, least-connections, hash (of the client's address) or hash:FIELD")
	fs.Var((*countValue)(&c.ProxyMaxFails), "proxy-max-fails", "requests in a row that fail before an application is left alone for a while; 0 for never")
	fs.Var((*timeValue)(&c.ProxyFailTimeout), "proxy-fail-timeout", "how long that is; twice as long each time it fails again, up to 30s")
	fs.StringArrayVar(&c.ProxyHealth, "proxy-health", c.ProxyHealth, "ask applications for `[PATH=]URLPATH` now and then, and leave those alone that do not answer well; may be repeated")
	fs.Var((*timeValue)(&c.ProxyHealthInterval), "proxy-health-interval", "how often, give or take a tenth")
	fs.Var((*timeValue)(&c.ProxyHealthTimeout), "proxy-health-timeout", "longest an answer to that may take, connecting included")
	fs.Var((*countValue)(&c.ProxyHealthFall), "proxy-health-fall", "failures in a row that find an application down; the very first one does alone")
	fs.Var((*countValue)(&c.ProxyHealthRise), "proxy-health-rise", "good answers in a row that find it up again")
	fs.Var((*statusesValue)(&c.ProxyHealthStatus), "proxy-health-status", "what a good answer is, a status or a range")
	fs.StringVar(&c.ProxyHealthHost, "proxy-health-host", c.ProxyHealthHost, "`HOST` of the request (default: the host of the URL)")
	fs.Var((*fileValue)(&c.ProxyCA), "proxy-ca", "authorities that https applications are verified against (default: the machine's)")
	fs.Var((*fileValue)(&c.ProxyCert), "proxy-client-cert", "certificate and key, in one PEM file, that https applications are shown")
	fs.BoolVar(&c.RewriteHost, "proxy-rewrite-host", c.RewriteHost, "send applications the host of their URL in place of the client's")
	fs.StringVar(&c.ProxyVia, "proxy-via", c.ProxyVia, "send applications Via with this `NAME`; some compress nothing then (default: none)")
	fs.BoolVar(&c.ProxyProtocol, "proxy-protocol", c.ProxyProtocol, "connections from --trust begin with a PROXY header, v1 or v2, that names the client (to applications: #proxy-protocol=v2)")
	fs.StringArrayVar(&c.Trust, "trust", c.Trust, "believe X-Forwarded-* from this `ADDRESS`, prefix or unix; may be repeated")
	return fs
}

func (c *Config) compressFlags() *pflag.FlagSet {
	fs := newSet("compression")
	fs.Var(&listValue{to: &c.Compress, kind: "CODING[,CODING]"}, "compress", "compress answers that are not: zstd,br,gzip or some of them, the best first (default: none)")
	fs.Var(&listValue{to: &c.CompressTypes, kind: "TYPE[,TYPE]"}, "compress-types", "of these types, in place of the usual ones: text/html, text/*, +json, separated by commas")
	fs.Var((*sizeValue)(&c.CompressMinBytes), "compress-min-bytes", "unless they are known to be shorter")
	fs.Lookup("compress-types").DefValue = "" // too long to print: README has it
	return fs
}

func (c *Config) scriptFlags() *pflag.FlagSet {
	fs := newSet("scripts")
	fs.Var((*filesValue)(&c.Scripts), "script", "run the program FILE, an eBPF object (.o) or C (.c), before those of the site; may be repeated")
	fs.Var((*pathValue)(&c.ScriptDir), "script-dir", "run the programs in DIR, by name, before those of the site")
	return fs
}

func (c *Config) processFlags() *pflag.FlagSet {
	fs := newSet("process")
	fs.Var((*countValue)(&c.Workers), "workers", "reactors, one thread each (default: one for each CPU)")
	fs.Var(&wordValue{&c.Reactor, "auto|io_uring|epoll"}, "reactor", "what waits for sockets; auto is epoll where io_uring is refused")
	fs.Var((*timeValue)(&c.GatherTime), "gather-time", "under load, wake so seldom at the most, for all that came meanwhile; 0: for each packet")
	fs.Lookup("workers").DefValue = "0" // the machine's number is no default to print
	return fs
}

func (c *Config) logFlags() *pflag.FlagSet {
	fs := newSet("logs")
	fs.Var((*fileValue)(&c.AccessLog), "access-log", "a JSON line for each request; - for standard output, off for none")
	fs.BoolVar(&c.LogInnerName, "log-inner-name", c.LogInnerName, "show there the names that clients sent encrypted")
	fs.Var((*fileValue)(&c.ErrorLog), "error-log", "everything else there is to say (default: standard error)")
	return fs
}

func (c *Config) limitFlags() *pflag.FlagSet {
	fs := newSet("limits")
	for i := range limitRows {
		r := &limitRows[i]
		fs.Var(limitValue{r, &c.Limits}, r.flag, r.usage)
	}
	return fs
}

func (c *Config) timeoutFlags() *pflag.FlagSet {
	fs := newSet("timeouts")
	for _, r := range timeoutRows {
		fs.Var((*timeValue)(r.at(&c.Timeouts)), r.flag, r.usage)
	}
	return fs
}
