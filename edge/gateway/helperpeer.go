package gateway

import (
	"edge/bpfvm"
	"edge/ech"
)

// helpPeer: edge_peer(buffer, size).
func helpPeer(t *bpfvm.Task) (uint64, bool) {
	r := runOf(t)
	a := r.c.clientOf(r.x).Addr().Unmap()
	if !a.IsValid() {
		return 0, true
	}
	t.Charge(chargePeerText)
	var text [64]byte
	return give(t, a.WithZone("").AppendTo(text[:0]), 1)
}

// helpSNI: edge_tls_sni(buffer, size).
func helpSNI(t *bpfvm.Task) (uint64, bool) {
	c := runOf(t).c
	if !c.on.tls {
		return 0, true
	}
	return give(t, c.tls.Info().ServerName, 1)
}

// helpOuterSNI: edge_tls_outer_sni(buffer, size).
func helpOuterSNI(t *bpfvm.Task) (uint64, bool) {
	c := runOf(t).c
	if !c.on.tls {
		return 0, true
	}
	info := c.tls.Info()
	if info.ECH == ech.Accepted {
		return give(t, info.PublicName, 1)
	}
	return give(t, info.ServerName, 1)
}

// helpALPN: edge_tls_alpn(buffer, size).
func helpALPN(t *bpfvm.Task) (uint64, bool) {
	c := runOf(t).c
	if !c.on.tls {
		return 0, true
	}
	return give(t, c.tls.Info().ALPN, 1)
}

// helpJA4: edge_tls_ja4(buffer, size).
func helpJA4(t *bpfvm.Task) (uint64, bool) {
	p := &runOf(t).c.prints
	if !p.known {
		return fails(errNoEntry)
	}
	return give(t, p.outer[:], 1)
}

// helpJA4Inner: edge_tls_ja4_inner(buffer, size).
func helpJA4Inner(t *bpfvm.Task) (uint64, bool) {
	p := &runOf(t).c.prints
	if p.inner == nil {
		return fails(errNoEntry)
	}
	return give(t, p.inner[:], 1)
}
