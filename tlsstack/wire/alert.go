package wire

import "strconv"

// Alert is an alert description (RFC 9846, 6).
type Alert uint8

// Alert descriptions.
const (
	AlertCloseNotify                  Alert = 0
	AlertUnexpectedMessage            Alert = 10
	AlertBadRecordMAC                 Alert = 20
	AlertRecordOverflow               Alert = 22
	AlertHandshakeFailure             Alert = 40
	AlertBadCertificate               Alert = 42
	AlertUnsupportedCertificate       Alert = 43
	AlertCertificateRevoked           Alert = 44
	AlertCertificateExpired           Alert = 45
	AlertCertificateUnknown           Alert = 46
	AlertIllegalParameter             Alert = 47
	AlertUnknownCA                    Alert = 48
	AlertAccessDenied                 Alert = 49
	AlertDecodeError                  Alert = 50
	AlertDecryptError                 Alert = 51
	AlertProtocolVersion              Alert = 70
	AlertInsufficientSecurity         Alert = 71
	AlertInternalError                Alert = 80
	AlertInappropriateFallback        Alert = 86
	AlertUserCanceled                 Alert = 90
	AlertMissingExtension             Alert = 109
	AlertUnsupportedExtension         Alert = 110
	AlertUnrecognizedName             Alert = 112
	AlertBadCertificateStatusResponse Alert = 113
	AlertUnknownPSKIdentity           Alert = 115
	AlertCertificateRequired          Alert = 116
	AlertGeneralError                 Alert = 117
	AlertNoApplicationProtocol        Alert = 120
	AlertECHRequired                  Alert = 121 // RFC 9849, 11.2
)

// String returns the name the RFC gives the alert, or its number.
func (a Alert) String() string {
	if name := alertNames[a]; name != "" {
		return name
	}
	return "alert " + strconv.Itoa(int(a))
}

var alertNames = [256]string{
	AlertCloseNotify:                  "close_notify",
	AlertUnexpectedMessage:            "unexpected_message",
	AlertBadRecordMAC:                 "bad_record_mac",
	AlertRecordOverflow:               "record_overflow",
	AlertHandshakeFailure:             "handshake_failure",
	AlertBadCertificate:               "bad_certificate",
	AlertUnsupportedCertificate:       "unsupported_certificate",
	AlertCertificateRevoked:           "certificate_revoked",
	AlertCertificateExpired:           "certificate_expired",
	AlertCertificateUnknown:           "certificate_unknown",
	AlertIllegalParameter:             "illegal_parameter",
	AlertUnknownCA:                    "unknown_ca",
	AlertAccessDenied:                 "access_denied",
	AlertDecodeError:                  "decode_error",
	AlertDecryptError:                 "decrypt_error",
	AlertProtocolVersion:              "protocol_version",
	AlertInsufficientSecurity:         "insufficient_security",
	AlertInternalError:                "internal_error",
	AlertInappropriateFallback:        "inappropriate_fallback",
	AlertUserCanceled:                 "user_canceled",
	AlertMissingExtension:             "missing_extension",
	AlertUnsupportedExtension:         "unsupported_extension",
	AlertUnrecognizedName:             "unrecognized_name",
	AlertBadCertificateStatusResponse: "bad_certificate_status_response",
	AlertUnknownPSKIdentity:           "unknown_psk_identity",
	AlertCertificateRequired:          "certificate_required",
	AlertGeneralError:                 "general_error",
	AlertNoApplicationProtocol:        "no_application_protocol",
	AlertECHRequired:                  "ech_required",
}

// Error is a peer's mistake: the alert that answers it, and what was wrong, with
// the section that says so. The values are made once, as variables beside the
// parser that returns them, so that refusing a message allocates nothing.
// Every error that this package returns is an *Error.
type Error struct {
	Alert  Alert
	Reason string
}

// Error returns the alert's name and the reason.
func (e *Error) Error() string { return e.Alert.String() + ": " + e.Reason }

func decodeError(reason string) *Error      { return &Error{AlertDecodeError, reason} }
func illegalParameter(reason string) *Error { return &Error{AlertIllegalParameter, reason} }
