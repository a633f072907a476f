package wire

import (
	"bytes"
	"slices"

	"golang.org/x/crypto/cryptobyte"
)

// Lists of a ClientHello whose entries vary in length. Each is the bytes of the
// list as received, already checked by the parser, and is walked with Next on a
// copy:
//
//	for list := hello.ALPN; ; {
//		name, ok := list.Next()
//		if !ok { break }
//		…
//	}

// ALPNList is the client's protocols in order of preference (RFC 7301, 3.1).
type ALPNList []byte

// Next takes the first name off the list.
func (l *ALPNList) Next() (name []byte, ok bool) {
	s := (*cryptobyte.String)(l)
	ok = s.ReadUint8LengthPrefixed((*cryptobyte.String)(&name))
	return name, ok
}

// Contains reports whether the client offers protocol.
func (l ALPNList) Contains(protocol string) bool {
	for {
		name, ok := l.Next()
		if !ok || string(name) == protocol {
			return ok
		}
	}
}

// NameList is a list of DER distinguished names (RFC 9846, 4.3.4).
type NameList []byte

// Next takes the first name off the list.
func (l *NameList) Next() (name []byte, ok bool) {
	s := (*cryptobyte.String)(l)
	ok = s.ReadUint16LengthPrefixed((*cryptobyte.String)(&name))
	return name, ok
}

// KeyShare is one KeyShareEntry (RFC 9846, 4.3.8).
type KeyShare struct {
	Group Group
	Data  []byte
}

// KeyShareList is the client's key shares in order of preference.
type KeyShareList []byte

// KeySharesMax is the largest number of key shares a ClientHello may have.
// Clients send one to three.
const KeySharesMax = 32

// Next takes the first share off the list.
func (l *KeyShareList) Next() (share KeyShare, ok bool) {
	s := (*cryptobyte.String)(l)
	ok = s.ReadUint16((*uint16)(&share.Group)) &&
		s.ReadUint16LengthPrefixed((*cryptobyte.String)(&share.Data))
	return share, ok
}

// Find returns the share for group g, nil when there is none.
func (l KeyShareList) Find(g Group) []byte {
	for {
		share, ok := l.Next()
		if !ok || share.Group == g {
			return share.Data
		}
	}
}

// PSK is one offered pre-shared key with its binder (RFC 9846, 4.3.11).
type PSK struct {
	Identity            []byte
	ObfuscatedTicketAge uint32 // milliseconds, modulo 2^32, plus ticket_age_add
	Binder              []byte // 1 to 255 bytes; compare its length with the hash's
}

// PSKList is the offered pre-shared keys. The parser made sure that there are
// as many binders as identities.
type PSKList struct {
	Count               int // 0 when the client offers none
	identities, binders cryptobyte.String
}

// Next takes the first key off the list.
func (l *PSKList) Next() (psk PSK, ok bool) {
	ok = l.identities.ReadUint16LengthPrefixed((*cryptobyte.String)(&psk.Identity)) &&
		l.identities.ReadUint32(&psk.ObfuscatedTicketAge) &&
		l.binders.ReadUint8LengthPrefixed((*cryptobyte.String)(&psk.Binder))
	return psk, ok
}

var (
	errKeyShare       = decodeError("key_share malformed (RFC 9846, 4.3.8)")
	errKeyShareTwice  = illegalParameter("key_share holds two shares for one group (RFC 9846, 4.3.8)")
	errKeyShareCount  = illegalParameter("more key shares than KeySharesMax")
	errPSK            = decodeError("pre_shared_key malformed (RFC 9846, 4.3.11)")
	errPSKBinderCount = illegalParameter("pre_shared_key has not one binder for each identity (RFC 9846, 4.3.11)")
	errPSKNotLast     = illegalParameter("pre_shared_key is not the last extension (RFC 9846, 4.3.11)")
)

// parseKeyShares checks the list. It may be empty: that asks for a
// HelloRetryRequest.
func (h *ClientHello) parseKeyShares(s cryptobyte.String) error {
	var list cryptobyte.String
	if !s.ReadUint16LengthPrefixed(&list) || !s.Empty() {
		return errKeyShare
	}
	h.KeyShares = KeyShareList(list)
	var seen [KeySharesMax]Group
	for n, rest := 0, h.KeyShares; len(rest) > 0; n++ {
		share, ok := rest.Next()
		switch {
		case !ok || len(share.Data) == 0:
			return errKeyShare
		case n == KeySharesMax:
			return errKeyShareCount
		case slices.Contains(seen[:n], share.Group):
			return errKeyShareTwice
		}
		seen[n] = share.Group
	}
	return nil
}

// parsePreSharedKey checks the lists of identities and binders. The binders are
// the end of the message, so that a transcript can stop before them.
//
// RFC 9846, 4.3.11: "The "pre_shared_key" extension MUST be the last extension
// in the ClientHello […] Servers MUST check that it is the last extension and
// otherwise fail the handshake with an "illegal_parameter" alert."
func (h *ClientHello) parsePreSharedKey(s cryptobyte.String, index int) error {
	if index != len(h.Extensions)-1 {
		return errPSKNotLast
	}
	list := &h.PSK
	if !s.ReadUint16LengthPrefixed(&list.identities) {
		return errPSK
	}
	h.BindersOffset = len(h.Raw) - len(s)
	if !s.ReadUint16LengthPrefixed(&list.binders) || !s.Empty() {
		return errPSK
	}
	binders, err := countPSKs(list.identities, list.binders)
	if err != nil {
		return err
	}
	list.Count = binders
	return nil
}

// countPSKs walks both lists to their ends and compares their lengths.
func countPSKs(identities, binders cryptobyte.String) (int, error) {
	var identityCount, binderCount int
	for ; !identities.Empty(); identityCount++ {
		var id cryptobyte.String
		if !identities.ReadUint16LengthPrefixed(&id) || id.Empty() || !identities.Skip(4) {
			return 0, errPSK
		}
	}
	for ; !binders.Empty(); binderCount++ {
		var binder cryptobyte.String
		if !binders.ReadUint8LengthPrefixed(&binder) || binder.Empty() {
			return 0, errPSK
		}
	}
	switch {
	case identityCount == 0 || binderCount == 0:
		return 0, errPSK
	case identityCount != binderCount:
		return 0, errPSKBinderCount
	}
	return identityCount, nil
}

// OffersPSKMode reports whether psk_key_exchange_modes holds mode.
func (h *ClientHello) OffersPSKMode(mode uint8) bool {
	return bytes.IndexByte(h.PSKModes, mode) >= 0
}
