package wire

import "golang.org/x/crypto/cryptobyte"

// What the extensions of a ClientHello hold, and the rules that each can break
// alone (RFC 9846, 4.3). Trailing bytes, wrong lengths and empty lists are
// decode_error; values that contradict each other are illegal_parameter.

// ClientHelloExtensions is the decoded content of the known extensions. A field
// is zero when its extension is absent; lists that a client may not send empty
// are therefore nil exactly when absent.
type ClientHelloExtensions struct {
	ServerName              []byte // SNI host as sent; see AppendServerName
	ALPN                    ALPNList
	SupportedVersions       Uint16List
	SupportedGroups         Uint16List
	SignatureAlgorithms     Uint16List
	SignatureAlgorithmsCert Uint16List
	KeyShares               KeyShareList // may be empty though present: see Has
	PSKModes                []byte       // psk_key_exchange_modes, one byte each
	PSK                     PSKList
	BindersOffset           int    // in Raw, of the binder list's length: the transcript of the binders ends here (RFC 9846, 4.3.11.2)
	Cookie                  []byte // of the second ClientHello
	OCSPStapling            bool   // status_request of type ocsp
	CertificateCompression  Uint16List
	RecordSizeLimit         uint16 // bytes, 64 or more
	EarlyData               bool
	CertificateAuthorities  NameList // DER distinguished names
	ECH                     []byte   // body of encrypted_client_hello, not looked into
	ECHOffset               int      // of ECH in Raw
}

var (
	errServerName        = decodeError("server_name malformed (RFC 6066, 3)")
	errServerNameTwice   = illegalParameter("server_name holds two names of one type (RFC 6066, 3)")
	errStatusRequest     = decodeError("status_request malformed (RFC 6066, 8)")
	errVersions          = decodeError("supported_versions malformed (RFC 9846, 4.3.1)")
	errGroups            = decodeError("supported_groups malformed (RFC 9846, 4.3.7)")
	errSchemes           = decodeError("signature_algorithms malformed (RFC 9846, 4.3.3)")
	errSchemesCert       = decodeError("signature_algorithms_cert malformed (RFC 9846, 4.3.3)")
	errALPN              = decodeError("application_layer_protocol_negotiation malformed (RFC 7301, 3.1)")
	errNotEmpty          = decodeError("extension has a body where none may be (RFC 9846, 4.3)")
	errCompression       = decodeError("compress_certificate malformed (RFC 8879, 3)")
	errCompressionTwice  = illegalParameter("compress_certificate lists an algorithm twice (RFC 8879, 3)")
	errRecordSizeLimit   = decodeError("record_size_limit malformed (RFC 8449, 4)")
	errRecordSizeSmall   = illegalParameter("record_size_limit under 64 (RFC 8449, 4)")
	errCookie            = decodeError("cookie malformed (RFC 9846, 4.3.2)")
	errPSKModes          = decodeError("psk_key_exchange_modes malformed (RFC 9846, 4.3.9)")
	errAuthorities       = decodeError("certificate_authorities malformed (RFC 9846, 4.3.4)")
	errForeignExtension  = illegalParameter("extension not specified for ClientHello (RFC 9846, 4.3)")
	errOuterExtensionsCH = illegalParameter("ech_outer_extensions in a ClientHello (RFC 9849, 5.1)")
)

// ParseClientHello parses a ClientHello and all its known extensions. Unknown
// ones are listed and skipped. Rules of TLS 1.3 that span several extensions
// are left to CheckTLS13, since a client may turn out not to speak it. Fails
// with *Error.
func ParseClientHello(msg []byte, h *ClientHello) error {
	if err := ScanClientHello(msg, h); err != nil {
		return err
	}
	for i := range h.Extensions {
		if err := h.parseExtension(i); err != nil {
			return err
		}
	}
	return nil
}

// parseExtension hands one extension to its parser.
func (h *ClientHello) parseExtension(i int) error {
	e := &h.Extensions[i]
	s := cryptobyte.String(e.Body)
	switch e.Type {
	case ExtServerName:
		return h.parseServerName(s)
	case ExtStatusRequest:
		return h.parseStatusRequest(s)
	case ExtSupportedGroups:
		return parseList16(s, &h.SupportedGroups, errGroups)
	case ExtSignatureAlgorithms:
		return parseList16(s, &h.SignatureAlgorithms, errSchemes)
	case ExtSignatureAlgorithmsCert:
		return parseList16(s, &h.SignatureAlgorithmsCert, errSchemesCert)
	case ExtSupportedVersions:
		return parseList8(s, &h.SupportedVersions, errVersions)
	case ExtALPN:
		return h.parseALPN(s)
	case ExtCompressCertificate:
		return h.parseCompressCertificate(s)
	case ExtRecordSizeLimit:
		return h.parseRecordSizeLimit(s)
	case ExtEarlyData:
		h.EarlyData = true
		return requireEmpty(s)
	case ExtSCT, ExtPostHandshakeAuth:
		return requireEmpty(s)
	case ExtCookie:
		return h.parseCookie(s)
	case ExtPSKKeyExchangeModes:
		return h.parsePSKModes(s)
	case ExtCertificateAuthorities:
		return h.parseCertificateAuthorities(s)
	case ExtKeyShare:
		return h.parseKeyShares(s)
	case ExtPreSharedKey:
		return h.parsePreSharedKey(s, i)
	case ExtEncryptedClientHello:
		h.ECH, h.ECHOffset = e.Body, e.Offset
	case ExtOIDFilters:
		return errForeignExtension
	case ExtECHOuterExtensions:
		return errOuterExtensionsCH
	}
	return nil
}

// parseList16 reads a list of 16-bit values behind a 16-bit length.
func parseList16(s cryptobyte.String, out *Uint16List, malformed *Error) error {
	var list cryptobyte.String
	ok := s.ReadUint16LengthPrefixed(&list)
	return setUint16List(s, list, ok, out, malformed)
}

// parseList8 reads a list of 16-bit values behind an 8-bit length.
func parseList8(s cryptobyte.String, out *Uint16List, malformed *Error) error {
	var list cryptobyte.String
	ok := s.ReadUint8LengthPrefixed(&list)
	return setUint16List(s, list, ok, out, malformed)
}

// setUint16List takes over a list that must not be empty and must be all that
// the extension held.
func setUint16List(rest, list cryptobyte.String, ok bool, out *Uint16List, malformed *Error) error {
	if !ok || !rest.Empty() || len(list) == 0 || len(list)%2 != 0 {
		return malformed
	}
	*out = Uint16List(list)
	return nil
}

func requireEmpty(s cryptobyte.String) error {
	if !s.Empty() {
		return errNotEmpty
	}
	return nil
}

// parseServerName takes the host_name. Names of other types are skipped: each
// is taken to have the same 16-bit length in front, as all that were ever
// defined do (RFC 6066, 3: "The ServerNameList MUST NOT contain more than one
// name of the same name_type").
func (h *ClientHello) parseServerName(s cryptobyte.String) error {
	var list cryptobyte.String
	if !s.ReadUint16LengthPrefixed(&list) || !s.Empty() || list.Empty() {
		return errServerName
	}
	for !list.Empty() {
		var typ uint8
		var name cryptobyte.String
		if !list.ReadUint8(&typ) || !list.ReadUint16LengthPrefixed(&name) || name.Empty() {
			return errServerName
		}
		if typ != nameTypeHost {
			continue
		}
		if h.ServerName != nil {
			return errServerNameTwice
		}
		h.ServerName = name
	}
	return nil
}

// parseStatusRequest notes a request for an OCSP staple. Responder ids and
// request extensions only steer which response is wanted; there is one staple,
// so they are checked for form alone.
func (h *ClientHello) parseStatusRequest(s cryptobyte.String) error {
	var typ uint8
	if !s.ReadUint8(&typ) {
		return errStatusRequest
	}
	if typ != statusTypeOCSP {
		return nil
	}
	var responders, extensions cryptobyte.String
	if !s.ReadUint16LengthPrefixed(&responders) || !s.ReadUint16LengthPrefixed(&extensions) || !s.Empty() {
		return errStatusRequest
	}
	for !responders.Empty() {
		var id cryptobyte.String
		if !responders.ReadUint16LengthPrefixed(&id) || id.Empty() {
			return errStatusRequest
		}
	}
	h.OCSPStapling = true
	return nil
}

func (h *ClientHello) parseALPN(s cryptobyte.String) error {
	var list cryptobyte.String
	if !s.ReadUint16LengthPrefixed(&list) || !s.Empty() || list.Empty() {
		return errALPN
	}
	h.ALPN = ALPNList(list)
	for !list.Empty() {
		var name cryptobyte.String
		// RFC 7301, 3.1: "Empty strings MUST NOT be included"
		if !list.ReadUint8LengthPrefixed(&name) || name.Empty() {
			return errALPN
		}
	}
	return nil
}

func (h *ClientHello) parseCompressCertificate(s cryptobyte.String) error {
	if err := parseList8(s, &h.CertificateCompression, errCompression); err != nil {
		return err
	}
	if h.CertificateCompression.repeats() {
		return errCompressionTwice
	}
	return nil
}

func (h *ClientHello) parseRecordSizeLimit(s cryptobyte.String) error {
	if !s.ReadUint16(&h.RecordSizeLimit) || !s.Empty() {
		return errRecordSizeLimit
	}
	if h.RecordSizeLimit < 64 {
		return errRecordSizeSmall
	}
	return nil
}

func (h *ClientHello) parseCookie(s cryptobyte.String) error {
	var cookie cryptobyte.String
	if !s.ReadUint16LengthPrefixed(&cookie) || !s.Empty() || cookie.Empty() {
		return errCookie
	}
	h.Cookie = cookie
	return nil
}

func (h *ClientHello) parsePSKModes(s cryptobyte.String) error {
	var modes cryptobyte.String
	if !s.ReadUint8LengthPrefixed(&modes) || !s.Empty() || modes.Empty() {
		return errPSKModes
	}
	h.PSKModes = modes
	return nil
}

func (h *ClientHello) parseCertificateAuthorities(s cryptobyte.String) error {
	var list cryptobyte.String
	if !s.ReadUint16LengthPrefixed(&list) || !s.Empty() || list.Empty() {
		return errAuthorities
	}
	h.CertificateAuthorities = NameList(list)
	for !list.Empty() {
		var name cryptobyte.String
		if !list.ReadUint16LengthPrefixed(&name) || name.Empty() {
			return errAuthorities
		}
	}
	return nil
}
