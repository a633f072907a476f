package tlsstack

import (
	"time"

	"edge/tlsstack/keys"
	"edge/tlsstack/wire"
)

// parameters is what was negotiated.
type parameters struct {
	suite      *keys.Suite
	candidates []*Credential // for the name, best first
	group      wire.Group
	alpn       string
	credential *Credential
	scheme     wire.SignatureScheme
	nameUsed   bool // server_name decided the certificate
	retryGroup bool // the client has no share for group
}

// answerHello negotiates and answers the ClientHello, the first or the second.
func (c *Conn) answerHello(now time.Time) *Error {
	hs := c.hs
	if hs.helloErr != nil {
		return refuseMessage(hs.helloErr)
	}
	if !hs.hello.OffersTLS13() {
		return refuse(ReasonProtocolVersion)
	}
	if err := hs.hello.CheckTLS13(); err != nil {
		return refuseMessage(err)
	}
	if e := c.findCandidates(); e != nil {
		return e
	}
	if e := c.negotiateSuite(); e != nil {
		return e
	}
	if e := c.negotiateGroup(); e != nil {
		return e
	}
	if e := c.negotiateALPN(); e != nil {
		return e
	}
	if hs.params.retryGroup {
		return c.sendRetry(now)
	}
	return c.answerWithFlight(now)
}

// answerWithFlight goes on once the group has a share.
func (c *Conn) answerWithFlight(now time.Time) *Error {
	c.startTranscript()
	if e := c.resume(now); e != nil {
		return e
	}
	if !c.info.Resumed {
		if e := c.chooseCredential(); e != nil {
			return e
		}
	}
	return c.sendFlight(now)
}

// negotiateSuite prefers AES-128, the cheapest where AES has instructions,
// unless the client puts ChaCha20 first: clients without such instructions do.
func (c *Conn) negotiateSuite() *Error {
	offered := c.hs.hello.CipherSuites
	for i := range offered.Len() {
		first := wire.CipherSuite(offered.At(i))
		if s := keys.SuiteByID(first); s != nil {
			if first == wire.SuiteChaCha20Poly1305SHA256 {
				c.setSuite(s)
				return nil
			}
			break
		}
	}
	for _, id := range [...]wire.CipherSuite{
		wire.SuiteAES128GCMSHA256, wire.SuiteAES256GCMSHA384, wire.SuiteChaCha20Poly1305SHA256,
	} {
		if offered.Contains(uint16(id)) {
			c.setSuite(keys.SuiteByID(id))
			return nil
		}
	}
	return refuse(ReasonNoCommonSuite)
}

func (c *Conn) setSuite(s *keys.Suite) {
	c.suite, c.hs.params.suite, c.info.Suite = s, s, s.ID
}

// groupRank sorts groups by what is worth a round trip: the ones that resist
// quantum computers first; then X25519 and P-256, which are equals; then the
// ones that cost several times as much to compute.
func groupRank(g wire.Group) int {
	switch g {
	case wire.GroupX25519MLKEM768:
		return 0
	case wire.GroupX25519, wire.GroupP256:
		return 1
	}
	return 2
}

// negotiateGroup takes our first group that the client supports, or the first it
// has sent a share for, if that one is of no worse rank: a HelloRetryRequest
// costs the client a round trip.
func (c *Conn) negotiateGroup() *Error {
	hello, p := &c.hs.hello, &c.hs.params
	var best, shared wire.Group
	for _, g := range c.cfg.groups() {
		if !keys.Supported(g) || !hello.SupportedGroups.Contains(uint16(g)) {
			continue
		}
		if best == 0 {
			best = g
		}
		if hello.KeyShares.Find(g) != nil {
			shared = g
			break
		}
	}
	switch {
	case best == 0:
		return refuse(ReasonNoCommonGroup)
	case shared != 0 && groupRank(shared) <= groupRank(best):
		p.group = shared
	default:
		p.group, p.retryGroup = best, true
	}
	c.info.Group = p.group
	return nil
}

// negotiateALPN takes our first protocol that the client offers. RFC 7301, 3.2:
// without one in common "the server SHALL respond with a fatal
// "no_application_protocol" alert".
func (c *Conn) negotiateALPN() *Error {
	hello := &c.hs.hello
	if hello.ALPN == nil || len(c.cfg.NextProtos) == 0 {
		return nil
	}
	for _, proto := range c.cfg.NextProtos {
		if hello.ALPN.Contains(proto) {
			c.hs.params.alpn, c.info.ALPN = proto, proto
			return nil
		}
	}
	return refuse(ReasonNoALPN)
}

// chooseCredential takes the first candidate for the name that the client can
// verify a signature of.
func (c *Conn) chooseCredential() *Error {
	hs := c.hs
	if len(hs.params.candidates) == 0 {
		return refuse(ReasonNoCertificate)
	}
	for _, cred := range hs.params.candidates {
		if scheme, ok := cred.choose(&hs.hello); ok {
			hs.params.credential, hs.params.scheme = cred, scheme
			c.info.Credential, c.info.Scheme = cred, scheme
			return nil
		}
	}
	return refuse(ReasonNoScheme)
}

// findCandidates asks the source for the name's credentials. It comes before
// anything is computed, and before a session is resumed: a name that is served no
// more is not served to those who have a ticket either.
func (c *Conn) findCandidates() *Error {
	hs, source := c.hs, c.cfg.Certificates
	if len(hs.name) > 0 {
		if found := source.Credentials(hs.name); len(found) > 0 {
			hs.params.candidates, hs.params.nameUsed = found, true
			return nil
		}
	}
	if c.cfg.StrictSNI && len(hs.hello.ServerName) > 0 {
		return refuse(ReasonUnrecognizedName)
	}
	hs.params.candidates, c.info.DefaultCert = source.Default(), true
	return nil
}

// startTranscript hashes the ClientHello up to the binders; with no PSK there is
// nothing behind them.
func (c *Conn) startTranscript() {
	hs := c.hs
	if !c.info.Retried {
		hs.transcript.Start(hs.params.suite)
	}
	hs.transcript.Add(hs.hello.Raw[:hs.bindersAt()])
}

// bindersAt is where the PSK binders start in the ClientHello, its length when
// it has none.
func (hs *handshake) bindersAt() int {
	if hs.hello.PSK.Count > 0 {
		return hs.hello.BindersOffset
	}
	return len(hs.hello.Raw)
}
