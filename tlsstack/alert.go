package tlsstack

import (
	"errors"
	"strings"

	"edge/tlsstack/record"
	"edge/tlsstack/wire"
)

// Origin says whose doing an error is.
type Origin uint8

// The three origins.
const (
	Refused  Origin = iota // the peer broke a rule and got our alert
	Peer                   // the peer sent us a fatal alert
	Internal               // our own failure: a signer, a random source
)

// Reason is why a connection failed. Each has one alert and the section that
// asks for it; see reasons.
type Reason uint8

// The reasons. ReasonMessage covers what the codec refuses: the error's text and
// alert are then the codec's.
const (
	ReasonMessage Reason = iota
	ReasonPeerAlert
	ReasonInternal
	ReasonRefused
	ReasonRecordType
	ReasonNotTLS
	ReasonPlainHTTP
	ReasonRecordOverflow
	ReasonBadMAC
	ReasonPaddingOnly
	ReasonReadKeySpent
	ReasonMessageTooBig
	ReasonUnexpectedMessage
	ReasonUnexpectedRecord
	ReasonInterleaved
	ReasonExcessHandshakeData
	ReasonEmptyFragment
	ReasonTooManyEmptyRecords
	ReasonChangeCipherSpec
	ReasonTooManyChangeCipherSpecs
	ReasonAlertMalformed
	ReasonTooManyWarnings
	ReasonEarlyDataTooLong
	ReasonKeyUpdateFlood
	ReasonProtocolVersion
	ReasonNoCommonSuite
	ReasonNoCommonGroup
	ReasonNoCertificate
	ReasonNoScheme
	ReasonUnrecognizedName
	ReasonNoALPN
	ReasonRetryShare
	ReasonRetryChanged
	ReasonRetryPSK
	ReasonBinder
	ReasonFinished
	ReasonClientCertMissing
	ReasonClientCertMalformed
	ReasonClientCertUnsupported
	ReasonClientCertKeyLong
	ReasonClientCertUsage
	ReasonClientCertWeak
	ReasonClientCertExpired
	ReasonClientCertUnknownCA
	ReasonClientCertRefused
	ReasonClientScheme
	ReasonClientSignature
	ReasonTruncated
	reasonCount
)

// reasons is the total mapping from reason to alert, section and words.
var reasons = [reasonCount]struct {
	alert   wire.Alert
	section string
	text    string
}{
	ReasonMessage:                  {wire.AlertDecodeError, "RFC 9846, 4", "malformed handshake message"},
	ReasonPeerAlert:                {wire.AlertCloseNotify, "RFC 9846, 6.2", "the client sent a fatal alert"},
	ReasonInternal:                 {wire.AlertInternalError, "RFC 9846, 6.2", "internal failure"},
	ReasonRefused:                  {wire.AlertAccessDenied, "RFC 9846, 6.2", "refused after the ClientHello"},
	ReasonRecordType:               {wire.AlertUnexpectedMessage, "RFC 9846, 5", "record of an unknown type"},
	ReasonNotTLS:                   {wire.AlertProtocolVersion, "RFC 9846, 5.1", "not a TLS record"},
	ReasonPlainHTTP:                {wire.AlertUnexpectedMessage, "RFC 9846, 5", "plain HTTP where TLS is spoken"},
	ReasonRecordOverflow:           {wire.AlertRecordOverflow, "RFC 9846, 5.1", "record longer than the protocol allows"},
	ReasonBadMAC:                   {wire.AlertBadRecordMAC, "RFC 9846, 5.2", "record does not authenticate"},
	ReasonPaddingOnly:              {wire.AlertUnexpectedMessage, "RFC 9846, 5.4", "protected record holds padding alone"},
	ReasonReadKeySpent:             {wire.AlertUnexpectedMessage, "RFC 9846, 5.5", "too many records under one key"},
	ReasonMessageTooBig:            {wire.AlertDecodeError, "RFC 9846, 4", "handshake message longer than the limit"},
	ReasonUnexpectedMessage:        {wire.AlertUnexpectedMessage, "RFC 9846, 4", "handshake message does not fit the state"},
	ReasonUnexpectedRecord:         {wire.AlertUnexpectedMessage, "RFC 9846, 5", "record does not fit the state"},
	ReasonInterleaved:              {wire.AlertUnexpectedMessage, "RFC 9846, 5.1", "another record inside a handshake message"},
	ReasonExcessHandshakeData:      {wire.AlertUnexpectedMessage, "RFC 9846, 5.1", "handshake bytes across a key change"},
	ReasonEmptyFragment:            {wire.AlertUnexpectedMessage, "RFC 9846, 5.1", "empty handshake or alert fragment"},
	ReasonTooManyEmptyRecords:      {wire.AlertUnexpectedMessage, "RFC 9846, 5.1", "too many empty records"},
	ReasonChangeCipherSpec:         {wire.AlertUnexpectedMessage, "RFC 9846, 5", "change_cipher_spec malformed or out of place"},
	ReasonTooManyChangeCipherSpecs: {wire.AlertUnexpectedMessage, "RFC 9846, 5", "too many change_cipher_spec records"},
	ReasonAlertMalformed:           {wire.AlertDecodeError, "RFC 9846, 6", "alert is not two bytes"},
	ReasonTooManyWarnings:          {wire.AlertUnexpectedMessage, "RFC 9846, 6.1", "too many warning alerts"},
	ReasonEarlyDataTooLong:         {wire.AlertUnexpectedMessage, "RFC 9846, 4.3.10", "more early data than is skipped"},
	ReasonKeyUpdateFlood:           {wire.AlertUnexpectedMessage, "RFC 9846, 4.7.3", "too many KeyUpdates without application data"},
	ReasonProtocolVersion:          {wire.AlertProtocolVersion, "RFC 9846, 4.3.1", "client does not offer TLS 1.3"},
	ReasonNoCommonSuite:            {wire.AlertHandshakeFailure, "RFC 9846, 4.2.1", "no common cipher suite"},
	ReasonNoCommonGroup:            {wire.AlertHandshakeFailure, "RFC 9846, 4.2.1", "no common group"},
	ReasonNoCertificate:            {wire.AlertInternalError, "RFC 9846, 4.5.1.2", "no certificate to present"},
	ReasonNoScheme:                 {wire.AlertHandshakeFailure, "RFC 9846, 4.5.1.2", "no certificate the client can verify"},
	ReasonUnrecognizedName:         {wire.AlertUnrecognizedName, "RFC 6066, 3", "no certificate for this server name"},
	ReasonNoALPN:                   {wire.AlertNoApplicationProtocol, "RFC 7301, 3.2", "no common application protocol"},
	ReasonRetryShare:               {wire.AlertIllegalParameter, "RFC 9846, 4.2.4", "second ClientHello without the share asked for"},
	ReasonRetryChanged:             {wire.AlertIllegalParameter, "RFC 9846, 4.2.2", "second ClientHello differs where it may not"},
	ReasonRetryPSK:                 {wire.AlertMissingExtension, "RFC 9846, 4.2.2", "second ClientHello without the session of the first"},
	ReasonBinder:                   {wire.AlertDecryptError, "RFC 9846, 4.3.11.2", "PSK binder does not verify"},
	ReasonFinished:                 {wire.AlertDecryptError, "RFC 9846, 4.5.3", "Finished does not verify"},
	ReasonClientCertMissing:        {wire.AlertCertificateRequired, "RFC 9846, 4.5.1.3", "client sent no certificate"},
	ReasonClientCertMalformed:      {wire.AlertDecodeError, "RFC 9846, 4.5.1.3", "client certificate cannot be parsed"},
	ReasonClientCertUnsupported:    {wire.AlertUnsupportedCertificate, "RFC 9846, 4.5.1.3", "client certificate of an unsupported kind"},
	ReasonClientCertKeyLong:        {wire.AlertUnsupportedCertificate, "RFC 9846, 4.5.1.3", "RSA key of more than 8192 bits in the client's certificates"},
	ReasonClientCertUsage:          {wire.AlertUnsupportedCertificate, "RFC 9846, 4.5.1.2", "client certificate is not for signing"},
	ReasonClientCertWeak:           {wire.AlertBadCertificate, "RFC 9846, 4.5.1.3", "client certificate signed with MD5 or SHA-1"},
	ReasonClientCertExpired:        {wire.AlertCertificateExpired, "RFC 9846, 4.5.1.3", "client certificate expired or not yet valid"},
	ReasonClientCertUnknownCA:      {wire.AlertUnknownCA, "RFC 9846, 4.5.1.3", "client certificate from an unknown authority"},
	ReasonClientCertRefused:        {wire.AlertCertificateUnknown, "RFC 9846, 4.5.1.3", "client certificate refused"},
	ReasonClientScheme:             {wire.AlertIllegalParameter, "RFC 9846, 4.5.2", "client signed with a scheme that was not offered"},
	ReasonClientSignature:          {wire.AlertDecryptError, "RFC 9846, 4.5.2", "client signature does not verify"},
	ReasonTruncated:                {wire.AlertCloseNotify, "RFC 9846, 6.1", "connection ended without close_notify"},
}

// Error is why a connection failed, with all that a log line needs.
type Error struct {
	Origin  Origin
	Alert   wire.Alert // sent to the peer; for Peer the one received
	Reason  Reason
	Section string // of the RFC that governs it
	Text    string // the reason in words
	Cause   error  // what lies below, may be nil
}

// Error returns one line: whose doing, alert, reason, section, cause.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("tls: ")
	if e.Origin == Peer {
		b.WriteString("peer alert ")
	}
	b.WriteString(e.Alert.String())
	b.WriteString(": ")
	b.WriteString(e.Text)
	if e.Section != "" {
		b.WriteString(" (" + e.Section + ")")
	}
	if e.Cause != nil {
		b.WriteString(": " + e.Cause.Error())
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// refuse makes the error of a reason.
func refuse(r Reason) *Error {
	t := &reasons[r]
	return &Error{Alert: t.alert, Reason: r, Section: t.section, Text: t.text}
}

// refuseCause is refuse with what lies below.
func refuseCause(r Reason, cause error) *Error {
	e := refuse(r)
	e.Cause = cause
	return e
}

// internal wraps a failure of our own.
func internal(cause error) *Error {
	e := refuseCause(ReasonInternal, cause)
	e.Origin = Internal
	return e
}

// refuseMessage turns an error of the codec, or of a package below that uses the
// codec's errors, into ours; anything else is internal.
func refuseMessage(err error) *Error {
	var w *wire.Error
	if !errors.As(err, &w) {
		return internal(err)
	}
	e := refuse(ReasonMessage)
	e.Alert, e.Text, e.Section = w.Alert, w.Reason, ""
	if i := strings.LastIndex(w.Reason, " ("); i > 0 && strings.HasSuffix(w.Reason, ")") {
		e.Text, e.Section = w.Reason[:i], w.Reason[i+2:len(w.Reason)-1]
	}
	return e
}

// failureReason is the total mapping from record failures.
var failureReason = [...]Reason{
	record.UnknownType:   ReasonRecordType,
	record.NotTLS:        ReasonNotTLS,
	record.Overflow:      ReasonRecordOverflow,
	record.BadMAC:        ReasonBadMAC,
	record.NoContentType: ReasonPaddingOnly,
	record.SequenceSpent: ReasonReadKeySpent,
	record.MessageTooBig: ReasonMessageTooBig,
}

// refuseRecord turns an error of the record layer into ours.
func refuseRecord(err error) *Error {
	if f, ok := err.(record.Failure); ok {
		return refuse(failureReason[f])
	}
	return internal(err)
}

// Alert levels (RFC 9846, 6). The level of a received alert is ignored.
const (
	alertLevelWarning = 1
	alertLevelFatal   = 2
)

// warningsMax bounds user_canceled alerts on one connection.
const warningsMax = 4

// alertRecord takes the content of an alert record; closed says that it was
// close_notify.
func (c *Conn) alertRecord(content []byte) (closed bool, e *Error) {
	if len(content) == 0 {
		return false, refuse(ReasonEmptyFragment)
	}
	// RFC 9846, 5.1: "a record with an Alert type MUST contain exactly one
	// message", whole.
	if len(content) != 2 {
		return false, refuse(ReasonAlertMalformed)
	}
	switch alert := wire.Alert(content[1]); alert {
	case wire.AlertCloseNotify:
		return true, nil
	case wire.AlertUserCanceled:
		// A warning that a close_notify follows (RFC 9846, 6.1).
		c.warnings++
		if c.warnings > warningsMax {
			return false, refuse(ReasonTooManyWarnings)
		}
		return false, nil
	default:
		e := refuse(ReasonPeerAlert)
		e.Origin, e.Alert = Peer, alert
		return false, e
	}
}

// appendAlert appends an alert record under the current write key.
func (c *Conn) appendAlert(dst []byte, level byte, alert wire.Alert) []byte {
	content := [2]byte{level, byte(alert)}
	if c.out.Protected() {
		return c.out.SealAppend(dst, record.Alert, content[:])
	}
	return record.AppendPlaintext(dst, record.Alert, content[:], record.PlaintextMax)
}
