package wire

// Rules of a TLS 1.3 ClientHello that concern several of its parts.

var (
	errCompressionMethods = illegalParameter("legacy_compression_methods is not the null method alone (RFC 9846, 4.2.2)")
	errNoGroups           = &Error{AlertMissingExtension, "key_share without supported_groups (RFC 9846, 9.2)"}
	errNoKeyShare         = &Error{AlertMissingExtension, "supported_groups without key_share (RFC 9846, 9.2)"}
	errNoSchemes          = &Error{AlertMissingExtension, "neither signature_algorithms nor pre_shared_key (RFC 9846, 9.2)"}
	errNoExchange         = &Error{AlertMissingExtension, "neither supported_groups nor pre_shared_key (RFC 9846, 9.2)"}
	errNoPSKModes         = &Error{AlertMissingExtension, "pre_shared_key without psk_key_exchange_modes (RFC 9846, 4.3.9)"}
	errKeyShareForeign    = illegalParameter("key_share for a group that supported_groups lacks (RFC 9846, 4.3.8)")
)

// CheckTLS13 applies to a parsed ClientHello the rules that hold once TLS 1.3
// is what is spoken. Call it after the version is chosen. Fails with *Error.
func (h *ClientHello) CheckTLS13() error {
	// RFC 9846, 4.2.2: "this list MUST contain exactly one byte, set to zero […] If
	// a TLS 1.3 ClientHello is received with any other value in this field, the
	// server MUST abort the handshake with an "illegal_parameter" alert."
	if len(h.CompressionMethods) != 1 || h.CompressionMethods[0] != 0 {
		return errCompressionMethods
	}
	psk := h.Has(ExtPreSharedKey)
	switch {
	case h.SupportedGroups == nil && h.Has(ExtKeyShare):
		return errNoGroups
	case h.SupportedGroups != nil && !h.Has(ExtKeyShare):
		return errNoKeyShare
	case h.SignatureAlgorithms == nil && !psk:
		return errNoSchemes
	case h.SupportedGroups == nil && !psk:
		return errNoExchange
	case psk && h.PSKModes == nil:
		return errNoPSKModes
	}
	return h.checkKeyShareGroups()
}

// checkKeyShareGroups refuses shares for groups that were not offered. Their
// order, which a server may check too, is left alone.
func (h *ClientHello) checkKeyShareGroups() error {
	for list := h.KeyShares; ; {
		share, ok := list.Next()
		if !ok {
			return nil
		}
		if !h.SupportedGroups.Contains(uint16(share.Group)) {
			return errKeyShareForeign
		}
	}
}
