package proxy

import (
	"net/netip"

	"edge/proxy/httpmsg"
)

// setForwarded adds the fields that tell the upstream who asked, for what and how.
func (f *Forwarder) setForwarded(req *httpmsg.Request, front *Front) {
	h := &req.Header
	var text [64]byte
	peer := appendAddr(text[:0], front.Peer)
	f.forwardedFor = appendList(f.forwardedFor, peer)
	h.AddBytes("X-Forwarded-For", f.forwardedFor)
	f.forwardedList = appendElement(f.forwardedList, front, peer, req.Authority)
	h.AddBytes("Forwarded", f.forwardedList)
	if !f.kept.proto {
		h.Add("X-Forwarded-Proto", scheme(front.TLS))
	}
	if !f.kept.host && len(req.Authority) > 0 {
		h.AddBytes("X-Forwarded-Host", req.Authority)
	}
	if front.Client.IsValid() { // it has no word for "unknown"
		client := peer
		if front.Client != front.Peer {
			client = appendAddr(text[:0], front.Client)
		}
		h.AddBytes("X-Real-IP", client)
	}
	if f.Via != "" {
		f.via = appendList(f.via, viaProtocol(req))
		f.via = append(append(f.via, ' '), f.Via...)
		h.AddBytes("Via", f.via)
	}
}

// viaProtocol is the version that the request came in (RFC 9110, 7.6.3).
func viaProtocol(req *httpmsg.Request) []byte {
	switch {
	case req.Major == 2:
		return via2
	case req.Minor == 0:
		return via10
	}
	return via11
}

var via10, via11, via2 = []byte("1.0"), []byte("1.1"), []byte("2.0")

func scheme(tls bool) string {
	if tls {
		return "https"
	}
	return "http"
}

// appendAddr appends an address; the peer of a unix socket is "unknown" (RFC
// 7239, 6.2).
func appendAddr(dst []byte, a netip.Addr) []byte {
	if !a.IsValid() {
		return append(dst, "unknown"...)
	}
	return a.Unmap().WithZone("").AppendTo(dst)
}

// appendElement appends our element to a Forwarded list (RFC 7239, 4); peer is what
// appendAddr made of the peer's address.
func appendElement(list []byte, front *Front, peer, authority []byte) []byte {
	if len(list) > 0 {
		list = append(list, ',', ' ')
	}
	list = append(list, "for="...)
	if front.Peer.Is6() && !front.Peer.Is4In6() {
		list = append(list, '"', '[')
		list = append(append(list, peer...), ']', '"')
	} else {
		list = append(list, peer...)
	}
	if len(authority) > 0 { // a checked authority has nothing to escape
		list = append(list, ";host=\""...)
		list = append(append(list, authority...), '"')
	}
	list = append(list, ";proto="...)
	return append(list, scheme(front.TLS)...)
}

// setFacts adds what else is known of the client.
func (f *Forwarder) setFacts(h *httpmsg.Header, front *Front) {
	for _, fact := range [...]struct {
		name  string
		value []byte
	}{
		{"X-JA4", front.JA4},
		{"X-JA4-Inner", front.JA4Inner},
		{"X-ECH", front.ECH},
		{"Client-Cert", front.ClientCert},
		{"X-Client-Cert-Subject", front.ClientSubject},
		{"X-Client-Cert-SHA256", front.ClientDigest},
	} {
		if len(fact.value) > 0 {
			h.AddBytes(fact.name, fact.value)
		}
	}
	if !f.kept.requestID && len(front.RequestID) > 0 {
		h.AddBytes("X-Request-ID", front.RequestID)
	}
}
