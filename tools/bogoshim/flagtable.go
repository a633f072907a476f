package main

// The flags of the runner that are understood. A flag without an effect here is
// one about something that this server does in any case, or never.

func none(*options) {}

// booleans are the flags without a value.
var booleans = map[string]func(*options){
	"server":              func(o *options) { o.server = true },
	"ipv6":                func(o *options) { o.ipv6 = true },
	"async":               func(o *options) { o.async = true },
	"no-ticket":           func(o *options) { o.noTicket = true },
	"decline-alpn":        func(o *options) { o.declineALPN = true },
	"reject-alpn":         func(o *options) { o.rejectALPN = true },
	"fail-cert-callback":  func(o *options) { o.failCert = true },
	"fail-early-callback": func(o *options) { o.failEarly = true },
	"key-update":          func(o *options) { o.keyUpdate = true },
	"new-x509-credential": func(o *options) { o.newCredential() },
	"must-match-issuer":   func(o *options) { o.credential().matchIssuer = true },

	"require-any-client-certificate": func(o *options) { o.requireClient = true },
	"verify-peer":                    func(o *options) { o.verifyPeer = true },
	"verify-fail":                    func(o *options) { o.verifyFail = true },
	"use-custom-verify-callback":     func(o *options) { o.customVerify = true },
	"install-cert-compression-algs":  func(o *options) { o.compressAll = true },
	"shim-shuts-down":                func(o *options) { o.shutsDown = true },
	"check-close-notify":             func(o *options) { o.checkCloseNotify = true },
	"shim-writes-first":              func(o *options) { o.writesFirst = true },

	"expect-session-miss":  func(o *options) { o.expect.sessionMiss = true },
	"expect-hrr":           func(o *options) { o.expect.retry = true },
	"expect-verify-result": func(o *options) { o.expect.verifyResult = true },
	"expect-ech-accept":    func(o *options) { o.expect.echAccept = true },

	"no-tls1":              none, // older versions are never spoken
	"no-tls11":             none,
	"no-tls12":             none,
	"implicit-handshake":   none, // there is no other way here
	"use-early-callback":   none,
	"expect-no-session-id": none, // there is no cache of session ids
	"enable-ocsp-stapling": none, // an option of clients
	"server-preference":    none, // the only way groups are chosen
}

// values are the flags with a value.
var values = map[string]func(p *parser, o *options, flag string){
	"port":         func(p *parser, o *options, f string) { o.port = p.number(f) },
	"shim-id":      func(p *parser, o *options, f string) { o.shimID = uint64(p.number(f)) },
	"resume-count": func(p *parser, o *options, f string) { o.resumeCount = p.number(f) },
	"trust-cert":   func(p *parser, o *options, f string) { p.next(f) }, // the test says itself what a chain is worth

	"cert-file":     func(p *parser, o *options, f string) { o.credential().certFile = p.next(f) },
	"key-file":      func(p *parser, o *options, f string) { o.credential().keyFile = p.next(f) },
	"ocsp-response": func(p *parser, o *options, f string) { o.credential().staple = p.base64(f) },
	"signed-cert-timestamps": func(p *parser, o *options, f string) {
		o.credential().scts = p.base64(f)
	},
	"signing-prefs": func(p *parser, o *options, f string) {
		c := o.credential()
		c.signingPrefs = append(c.signingPrefs, uint16(p.number(f)))
	},

	"min-version": func(p *parser, o *options, f string) { p.version(f, func(v int) bool { return v <= tls13 }) },
	"max-version": func(p *parser, o *options, f string) { p.version(f, func(v int) bool { return v >= tls13 }) },
	"curves":      func(p *parser, o *options, f string) { o.curves = append(o.curves, uint16(p.number(f))) },
	"select-alpn": func(p *parser, o *options, f string) { v := p.next(f); o.selectALPN = &v },
	"verify-prefs": func(p *parser, o *options, f string) {
		o.verifyPrefs = append(o.verifyPrefs, uint16(p.number(f)))
	},
	"use-client-ca-list": func(p *parser, o *options, f string) { o.clientCAs = p.names(f) },
	"install-one-cert-compression-alg": func(p *parser, o *options, f string) {
		o.compressOne = p.number(f)
	},
	"max-send-fragment": func(p *parser, o *options, f string) { o.maxFragment = p.number(f) },
	"read-size":         func(p *parser, o *options, f string) { o.readSize = p.number(f) },

	"ech-server-config": func(p *parser, o *options, f string) { o.echConfigs = append(o.echConfigs, p.base64(f)) },
	"ech-server-key":    func(p *parser, o *options, f string) { o.echKeys = append(o.echKeys, p.base64(f)) },
	"ech-is-retry-config": func(p *parser, o *options, f string) {
		o.echRetry = append(o.echRetry, p.number(f) != 0)
	},

	"expect-server-name":     func(p *parser, o *options, f string) { v := p.next(f); o.expect.serverName = &v },
	"expect-advertised-alpn": func(p *parser, o *options, f string) { v := p.next(f); o.expect.advertisedALPN = &v },
	"expect-curve-id":        func(p *parser, o *options, f string) { o.expect.curve = p.number(f) },
	"expect-peer-verify-pref": func(p *parser, o *options, f string) {
		o.expect.peerVerifyPrefs = append(o.expect.peerVerifyPrefs, uint16(p.number(f)))
	},
	"expect-selected-credential":      func(p *parser, o *options, f string) { v := p.number(f); o.expect.credential = &v },
	"expect-cipher-aes":               func(p *parser, o *options, f string) { o.expect.cipherAES = p.number(f) },
	"expect-cipher-no-aes":            func(p *parser, o *options, f string) { p.number(f) }, // this machine has AES
	"expect-peer-signature-algorithm": func(p *parser, o *options, f string) { o.expect.peerScheme = p.number(f) },
	"expect-peer-cert-file":           func(p *parser, o *options, f string) { o.expect.peerCertFile = p.next(f) },
	"expect-early-data-reason": func(p *parser, o *options, f string) {
		if p.next(f) != "disabled" {
			p.fail(f, "wants early data, which is not implemented")
		}
	},
}

// tls13 is the one version spoken.
const tls13 = 0x0304

// version refuses a range that excludes TLS 1.3.
func (p *parser) version(flag string, fits func(int) bool) {
	if v := p.number(flag); !fits(v) {
		p.fail(flag, "excludes TLS 1.3")
	}
}
