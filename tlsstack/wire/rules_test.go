package wire_test

import (
	"bytes"
	"errors"
	"testing"

	"edge/tlsstack/wire"
)

// extension is one extension of a hello under construction.
type extension struct {
	typ  wire.ExtensionType
	body []byte
}

// hello is a ClientHello under construction.
type hello struct {
	sessionID, suites, compression []byte
	extensions                     []extension
}

// newHello returns what a TLS 1.3 client sends at least.
func newHello(more ...extension) *hello {
	return &hello{
		suites:      []byte{0x13, 1},
		compression: []byte{0},
		extensions: append([]extension{
			{wire.ExtSupportedVersions, []byte{2, 3, 4}},
			{wire.ExtSupportedGroups, []byte{0, 4, 0, 0x1d, 0, 0x17}},
			{wire.ExtSignatureAlgorithms, []byte{0, 2, 4, 3}},
			{wire.ExtKeyShare, []byte{0, 7, 0, 0x1d, 0, 3, 7, 8, 9}},
		}, more...),
	}
}

// without removes the extensions of a type.
func (h *hello) without(typ wire.ExtensionType) *hello {
	var kept []extension
	for _, e := range h.extensions {
		if e.typ != typ {
			kept = append(kept, e)
		}
	}
	h.extensions = kept
	return h
}

// with replaces the body of an extension, or adds one.
func (h *hello) with(typ wire.ExtensionType, body ...byte) *hello {
	for i := range h.extensions {
		if h.extensions[i].typ == typ {
			h.extensions[i].body = body
			return h
		}
	}
	h.extensions = append(h.extensions, extension{typ, body})
	return h
}

func (h *hello) message() []byte {
	b := append([]byte{3, 3}, make([]byte, 32)...)
	b = append(append(b, byte(len(h.sessionID))), h.sessionID...)
	b = append(append(b, byte(len(h.suites)>>8), byte(len(h.suites))), h.suites...)
	b = append(append(b, byte(len(h.compression))), h.compression...)
	var block []byte
	for _, e := range h.extensions {
		block = append(block, byte(e.typ>>8), byte(e.typ), byte(len(e.body)>>8), byte(len(e.body)))
		block = append(block, e.body...)
	}
	b = append(append(b, byte(len(block)>>8), byte(len(block))), block...)
	return append([]byte{1, byte(len(b) >> 16), byte(len(b) >> 8), byte(len(b))}, b...)
}

// parse parses as a TLS 1.3 server does.
func (h *hello) parse() (*wire.ClientHello, error) {
	var parsed wire.ClientHello
	if err := wire.ParseClientHello(h.message(), &parsed); err != nil {
		return nil, err
	}
	return &parsed, parsed.CheckTLS13()
}

func wantAlert(t *testing.T, what string, err error, alert wire.Alert) {
	t.Helper()
	var e *wire.Error
	if !errors.As(err, &e) || e.Alert != alert {
		t.Errorf("%s: %v instead of %v", what, err, alert)
	}
}

// psk is a pre_shared_key body: one identity "id", one binder.
func psk(binderBytes int) []byte {
	body := []byte{0, 8, 0, 2, 'i', 'd', 1, 2, 3, 4}
	return append(append(body, 0, byte(1+binderBytes), byte(binderBytes)), make([]byte, binderBytes)...)
}

// TestExtensionRules breaks one rule of one extension each.
func TestExtensionRules(t *testing.T) {
	const decode, illegal, missing = wire.AlertDecodeError, wire.AlertIllegalParameter, wire.AlertMissingExtension
	for _, c := range []struct {
		what  string
		hello *hello
		alert wire.Alert
	}{
		{"server_name: empty", newHello().with(wire.ExtServerName), decode},
		{"server_name: empty list", newHello().with(wire.ExtServerName, 0, 0), decode},
		{"server_name: empty name", newHello().with(wire.ExtServerName, 0, 3, 0, 0, 0), decode},
		{"server_name: trailing byte", newHello().with(wire.ExtServerName, 0, 4, 0, 0, 1, 'a', 0), decode},
		{"server_name: two names", newHello().with(wire.ExtServerName, 0, 8, 0, 0, 1, 'a', 0, 0, 1, 'b'), illegal},
		{"status_request: empty", newHello().with(wire.ExtStatusRequest), decode},
		{"status_request: trailing byte", newHello().with(wire.ExtStatusRequest, 1, 0, 0, 0, 0, 0), decode},
		{"status_request: empty responder", newHello().with(wire.ExtStatusRequest, 1, 0, 2, 0, 0, 0, 0), decode},
		{"supported_groups: empty list", newHello().with(wire.ExtSupportedGroups, 0, 0), decode},
		{"supported_groups: odd", newHello().with(wire.ExtSupportedGroups, 0, 3, 0, 0x1d, 0), decode},
		{"supported_groups: trailing byte", newHello().with(wire.ExtSupportedGroups, 0, 2, 0, 0x1d, 0), decode},
		{"signature_algorithms: empty list", newHello().with(wire.ExtSignatureAlgorithms, 0, 0), decode},
		{"signature_algorithms: trailing byte", newHello().with(wire.ExtSignatureAlgorithms, 0, 2, 4, 3, 0), decode},
		{"signature_algorithms_cert: empty list", newHello().with(wire.ExtSignatureAlgorithmsCert, 0, 0), decode},
		{"supported_versions: empty list", newHello().with(wire.ExtSupportedVersions, 0), decode},
		{"supported_versions: odd", newHello().with(wire.ExtSupportedVersions, 3, 3, 4, 3), decode},
		{"supported_versions: trailing byte", newHello().with(wire.ExtSupportedVersions, 2, 3, 4, 0), decode},
		{"ALPN: empty list", newHello().with(wire.ExtALPN, 0, 0), decode},
		{"ALPN: empty name", newHello().with(wire.ExtALPN, 0, 4, 2, 'h', '2', 0), decode},
		{"ALPN: trailing byte", newHello().with(wire.ExtALPN, 0, 3, 2, 'h', '2', 0), decode},
		{"compress_certificate: empty list", newHello().with(wire.ExtCompressCertificate, 0), decode},
		{"compress_certificate: odd", newHello().with(wire.ExtCompressCertificate, 1, 0), decode},
		{"compress_certificate: twice", newHello().with(wire.ExtCompressCertificate, 4, 0, 2, 0, 2), illegal},
		{"record_size_limit: one byte", newHello().with(wire.ExtRecordSizeLimit, 64), decode},
		{"record_size_limit: 63", newHello().with(wire.ExtRecordSizeLimit, 0, 63), illegal},
		{"early_data: body", newHello().with(wire.ExtEarlyData, 0), decode},
		{"signed_certificate_timestamp: body", newHello().with(wire.ExtSCT, 0), decode},
		{"post_handshake_auth: body", newHello().with(wire.ExtPostHandshakeAuth, 0), decode},
		{"cookie: empty", newHello().with(wire.ExtCookie, 0, 0), decode},
		{"cookie: trailing byte", newHello().with(wire.ExtCookie, 0, 1, 1, 1), decode},
		{"psk_key_exchange_modes: empty list", newHello().with(wire.ExtPSKKeyExchangeModes, 0), decode},
		{"psk_key_exchange_modes: trailing byte", newHello().with(wire.ExtPSKKeyExchangeModes, 1, 1, 1), decode},
		{"certificate_authorities: empty list", newHello().with(wire.ExtCertificateAuthorities, 0, 0), decode},
		{"certificate_authorities: empty name", newHello().with(wire.ExtCertificateAuthorities, 0, 2, 0, 0), decode},
		{"certificate_authorities: trailing", newHello().with(wire.ExtCertificateAuthorities, 0, 3, 0, 1, 'x', 0), decode},
		{"key_share: empty", newHello().with(wire.ExtKeyShare), decode},
		{"key_share: empty key", newHello().with(wire.ExtKeyShare, 0, 4, 0, 0x1d, 0, 0), decode},
		{"key_share: trailing byte", newHello().with(wire.ExtKeyShare, 0, 0, 0), decode},
		{"key_share: one group twice", newHello().with(wire.ExtKeyShare, 0, 10, 0, 0x1d, 0, 1, 1, 0, 0x1d, 0, 1, 1), illegal},
		{"key_share: group not offered", newHello().with(wire.ExtKeyShare, 0, 5, 0, 0x18, 0, 1, 1), illegal},
		{"oid_filters", newHello().with(wire.ExtOIDFilters, 0, 0), illegal},
		{"ech_outer_extensions", newHello().with(wire.ExtECHOuterExtensions, 2, 0, 10), illegal},
		{"pre_shared_key: without modes", newHello().with(wire.ExtPreSharedKey, psk(32)...), missing},
		{"supported_groups missing", newHello().without(wire.ExtSupportedGroups), missing},
		{"key_share missing", newHello().without(wire.ExtKeyShare), missing},
		{"both missing", newHello().without(wire.ExtKeyShare).without(wire.ExtSupportedGroups), missing},
		{"signature_algorithms missing", newHello().without(wire.ExtSignatureAlgorithms), missing},
	} {
		_, err := c.hello.parse()
		wantAlert(t, c.what, err, c.alert)
	}
}

// TestExtensionLimits meets the stated maxima.
func TestExtensionLimits(t *testing.T) {
	h := newHello()
	for n := wire.ExtensionType(0); len(h.extensions) < wire.ExtensionsMax; n++ {
		h = h.with(0x7000+n, 0)
	}
	if _, err := h.parse(); err != nil {
		t.Error(err)
	}
	_, err := h.with(0x6fff).parse()
	wantAlert(t, "extensions", err, wire.AlertDecodeError)

	var groups, shares []byte
	for n := range byte(wire.KeySharesMax + 1) {
		groups = append(groups, 1, n)
		shares = append(shares, 1, n, 0, 1, 9)
	}
	many := func(n int) *hello {
		return newHello().
			with(wire.ExtSupportedGroups, append([]byte{0, byte(len(groups))}, groups...)...).
			with(wire.ExtKeyShare, append([]byte{0, byte(5 * n)}, shares[:5*n]...)...)
	}
	if _, err := many(wire.KeySharesMax).parse(); err != nil {
		t.Error(err)
	}
	_, err = many(wire.KeySharesMax + 1).parse()
	wantAlert(t, "key shares", err, wire.AlertIllegalParameter)

	_, err = newHello().with(wire.ExtPadding, make([]byte, 65000)...).parse()
	if err != nil {
		t.Error(err)
	}
	long := newHello()
	long.suites = make([]byte, 65534)
	_, err = long.with(wire.ExtPadding, make([]byte, 100)...).parse()
	wantAlert(t, "message", err, wire.AlertDecodeError)
}

// TestFixedPart breaks the rules of what precedes the extensions (RFC 9846,
// 4.2.2), and of the extension block.
func TestFixedPart(t *testing.T) {
	change := func(f func(*hello)) *hello {
		h := newHello()
		f(h)
		return h
	}
	const decode, illegal = wire.AlertDecodeError, wire.AlertIllegalParameter
	for _, c := range []struct {
		what  string
		hello *hello
		alert wire.Alert
	}{
		{"session id of 33 bytes", change(func(h *hello) { h.sessionID = make([]byte, 33) }), decode},
		{"no suites", change(func(h *hello) { h.suites = nil }), decode},
		{"odd suites", change(func(h *hello) { h.suites = []byte{0x13, 1, 2} }), decode},
		{"no compression", change(func(h *hello) { h.compression = nil }), decode},
		{"compression not null", change(func(h *hello) { h.compression = []byte{1} }), illegal},
		{"two compressions", change(func(h *hello) { h.compression = []byte{0, 1} }), illegal},
		{"an extension twice", newHello(extension{0x7777, nil}, extension{0x7777, nil}), decode},
		{"GREASE twice", newHello(extension{0x1a1a, nil}, extension{0x2a2a, nil}, extension{0x1a1a, nil}), decode},
	} {
		_, err := c.hello.parse()
		wantAlert(t, c.what, err, c.alert)
	}

	var h wire.ClientHello
	msg := newHello().message()
	wantAlert(t, "byte after the message", wire.ParseClientHello(append(bytes.Clone(msg), 0), &h), decode)
	inside := append(bytes.Clone(msg), 0)
	inside[3]++
	wantAlert(t, "byte after the extensions", wire.ParseClientHello(inside, &h), decode)
	other := bytes.Clone(msg)
	other[0] = byte(wire.TypeFinished)
	wantAlert(t, "another message", wire.ParseClientHello(other, &h), wire.AlertUnexpectedMessage)
}

// TestOldHello: a hello of TLS 1.2 parses, so that it can be answered with
// protocol_version: with compression, without supported_versions, without any
// extension block.
func TestOldHello(t *testing.T) {
	h := newHello().without(wire.ExtSupportedVersions)
	h.compression = []byte{1, 0}
	msg := h.message()
	var parsed wire.ClientHello
	if err := wire.ParseClientHello(msg, &parsed); err != nil || parsed.OffersTLS13() {
		t.Error("TLS 1.2:", err)
	}
	h.extensions = nil
	msg = h.message()
	msg = msg[:len(msg)-2]
	msg[3] -= 2
	if err := wire.ParseClientHello(msg, &parsed); err != nil || parsed.OffersTLS13() || parsed.ExtensionsOffset != len(msg) {
		t.Error("no extensions:", err)
	}
}

// TestPreSharedKey covers the one extension whose place and end matter
// (RFC 9846, 4.3.11).
func TestPreSharedKey(t *testing.T) {
	modes := extension{wire.ExtPSKKeyExchangeModes, []byte{1, 1}}
	with := func(body []byte) *hello { return newHello(modes).with(wire.ExtPreSharedKey, body...) }
	const decode, illegal = wire.AlertDecodeError, wire.AlertIllegalParameter
	for _, c := range []struct {
		what  string
		body  []byte
		alert wire.Alert
	}{
		{"no identities", []byte{0, 0, 0, 2, 1, 0}, decode},
		{"empty identity", []byte{0, 6, 0, 0, 1, 2, 3, 4, 0, 2, 1, 0}, decode},
		{"age cut", []byte{0, 6, 0, 1, 'i', 1, 2, 3, 0, 2, 1, 0}, decode},
		{"no binders", []byte{0, 8, 0, 2, 'i', 'd', 1, 2, 3, 4, 0, 0}, decode},
		{"empty binder", []byte{0, 8, 0, 2, 'i', 'd', 1, 2, 3, 4, 0, 1, 0}, decode},
		{"two binders for one identity", []byte{0, 8, 0, 2, 'i', 'd', 1, 2, 3, 4, 0, 4, 1, 0, 1, 0}, illegal},
		{"trailing byte", append(psk(32), 0), decode},
	} {
		_, err := with(c.body).parse()
		wantAlert(t, c.what, err, c.alert)
	}
	_, err := with(psk(32)).with(0x7777).parse()
	wantAlert(t, "not last", err, illegal)

	h, err := with(psk(32)).parse()
	if err != nil {
		t.Fatal(err)
	}
	list := h.PSK
	key, ok := list.Next()
	if !ok || string(key.Identity) != "id" || key.ObfuscatedTicketAge != 0x01020304 || len(key.Binder) != 32 {
		t.Errorf("%+v", key)
	}
	if _, ok := list.Next(); ok || h.PSK.Count != 1 {
		t.Error("a second key")
	}
	// The binders are the last 2 + 1 + 32 bytes.
	if h.BindersOffset != len(h.Raw)-35 || !h.OffersPSKMode(wire.PSKModeDHEKE) || h.OffersPSKMode(wire.PSKModeKE) {
		t.Errorf("binders at %d of %d", h.BindersOffset, len(h.Raw))
	}
	// Resumption alone needs neither signature algorithms nor, with psk_ke, groups.
	only := newHello(modes).without(wire.ExtSignatureAlgorithms).with(wire.ExtPreSharedKey, psk(48)...)
	if _, err := only.parse(); err != nil {
		t.Error(err)
	}
}

// TestContents reads back what was put in.
func TestContents(t *testing.T) {
	h, err := newHello().
		with(wire.ExtServerName, 0, 15, 9, 0, 1, 'x', 0, 0, 8, 'A', '.', 'T', 'e', 's', 't', '_', '.').
		with(wire.ExtALPN, 0, 12, 2, 'h', '2', 8, 'h', 't', 't', 'p', '/', '1', '.', '1').
		with(wire.ExtStatusRequest, 1, 0, 0, 0, 0).
		with(wire.ExtCompressCertificate, 4, 0, 2, 0, 1).
		with(wire.ExtRecordSizeLimit, 0x40, 1).
		with(wire.ExtCookie, 0, 2, 5, 6).
		with(wire.ExtCertificateAuthorities, 0, 7, 0, 1, 'a', 0, 2, 'b', 'c').
		with(wire.ExtEarlyData).
		with(wire.ExtEncryptedClientHello, 1).parse()
	if err != nil {
		t.Fatal(err)
	}
	if got := string(h.AppendServerName(nil)); string(h.ServerName) != "A.Test_." || got != "a.test_" {
		t.Errorf("server name %q", got)
	}
	if !h.ALPN.Contains("h2") || !h.ALPN.Contains("http/1.1") || h.ALPN.Contains("http/1") || h.ALPN.Contains("") {
		t.Error("ALPN")
	}
	authorities := h.CertificateAuthorities
	a, _ := authorities.Next()
	bc, _ := authorities.Next()
	if _, more := authorities.Next(); string(a) != "a" || string(bc) != "bc" || more {
		t.Error("certificate_authorities")
	}
	if !h.OCSPStapling || !h.EarlyData || h.RecordSizeLimit != 0x4001 || !bytes.Equal(h.Cookie, []byte{5, 6}) ||
		!h.CertificateCompression.Contains(uint16(wire.CompressBrotli)) || h.CertificateCompression.Len() != 2 ||
		!bytes.Equal(h.ECH, []byte{1}) || !bytes.Equal(h.Raw[h.ECHOffset:][:1], h.ECH) {
		t.Errorf("%+v", h.ClientHelloExtensions)
	}
	if !bytes.Equal(h.KeyShares.Find(wire.GroupX25519), []byte{7, 8, 9}) || h.KeyShares.Find(wire.GroupP256) != nil {
		t.Error("key_share")
	}
	if !h.OffersTLS13() || h.Find(wire.ExtPadding) != nil || h.Find(wire.ExtCookie).Type != wire.ExtCookie {
		t.Error("versions or list")
	}
	plain, err := newHello().with(wire.ExtStatusRequest, 7, 1, 2, 3).parse()
	if err != nil || plain.OCSPStapling || plain.ServerName != nil {
		t.Error("a status_request of another type:", err)
	}
}

// TestGREASEValues accepts the sixteen and nothing else (RFC 8701, 2).
func TestGREASEValues(t *testing.T) {
	n := 0
	for v := range 1 << 16 {
		if wire.IsGREASE(uint16(v)) {
			if v != 0x0a0a+n*0x1010 {
				t.Errorf("%#x", v)
			}
			n++
		}
	}
	if n != 16 {
		t.Errorf("%d values", n)
	}
}
