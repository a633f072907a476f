package wire_test

import (
	"bytes"
	"errors"
	"testing"

	"edge/tlsstack/wire"
)

// checkError allows no error but an *Error with a reason.
func checkError(t *testing.T, err error) {
	t.Helper()
	var e *wire.Error
	if err != nil && (!errors.As(err, &e) || e.Alert == wire.AlertCloseNotify || e.Reason == "") {
		t.Errorf("%#v", err)
	}
}

func FuzzParseClientHello(f *testing.F) {
	for _, v := range validHellos(f) {
		f.Add(v.msg)
	}
	for _, v := range listedHellos(f, "ech/server_alert.json") {
		f.Add(v.msg)
	}
	for _, v := range listedHellos(f, "ja4/synthetic.json") {
		f.Add(v.msg)
	}
	f.Fuzz(func(t *testing.T, msg []byte) {
		var h wire.ClientHello
		if err := wire.ParseClientHello(msg, &h); err != nil {
			checkError(t, err)
			return
		}
		checkError(t, h.CheckTLS13())
		for _, e := range h.Extensions {
			if !bytes.Equal(h.Raw[e.Offset:e.Offset+len(e.Body)], e.Body) || h.Find(e.Type) == nil {
				t.Errorf("extension %d", e.Type)
			}
		}
		walkLists(t, &h)
	})
}

// walkLists walks what the parser let pass to its end.
func walkLists(t *testing.T, h *wire.ClientHello) {
	t.Helper()
	for list := h.ALPN; len(list) > 0; {
		if name, ok := list.Next(); !ok || len(name) == 0 {
			t.Fatal("ALPN")
		}
	}
	for list := h.KeyShares; len(list) > 0; {
		if share, ok := list.Next(); !ok || len(h.KeyShares.Find(share.Group)) == 0 {
			t.Fatal("key_share")
		}
	}
	for list := h.CertificateAuthorities; len(list) > 0; {
		if name, ok := list.Next(); !ok || len(name) == 0 {
			t.Fatal("certificate_authorities")
		}
	}
	list := h.PSK
	for range h.PSK.Count {
		if psk, ok := list.Next(); !ok || len(psk.Identity) == 0 || len(psk.Binder) == 0 {
			t.Fatal("pre_shared_key")
		}
	}
	if _, more := list.Next(); more {
		t.Fatal("more keys than counted")
	}
}

func FuzzParseCertificate(f *testing.F) {
	m := wire.Certificate{Chain: [][]byte{{1, 2, 3}, {4}}}
	f.Add(m.Append(nil))
	m.Staple, m.SCTList = []byte{5}, []byte{6}
	f.Add(m.Append(nil))
	f.Fuzz(func(t *testing.T, msg []byte) {
		var m wire.Certificate
		if err := wire.ParseCertificate(msg, &m); err != nil {
			checkError(t, err)
		} else if again := m.Append(nil); !bytes.Equal(again, msg) {
			t.Errorf("%x became %x", msg, again)
		}
	})
}

func FuzzParseCertificateVerify(f *testing.F) {
	f.Add(wire.AppendCertificateVerify(nil, wire.SchemeRSAPSSSHA256, []byte{1, 2, 3}))
	f.Fuzz(func(t *testing.T, msg []byte) {
		scheme, signature, err := wire.ParseCertificateVerify(msg)
		if err != nil {
			checkError(t, err)
		} else if again := wire.AppendCertificateVerify(nil, scheme, signature); !bytes.Equal(again, msg) {
			t.Errorf("%x became %x", msg, again)
		}
	})
}

func FuzzParseKeyUpdate(f *testing.F) {
	f.Add(wire.AppendKeyUpdate(nil, true))
	f.Fuzz(func(t *testing.T, msg []byte) {
		requested, err := wire.ParseKeyUpdate(msg)
		if err != nil {
			checkError(t, err)
		} else if again := wire.AppendKeyUpdate(nil, requested); !bytes.Equal(again, msg) {
			t.Errorf("%x became %x", msg, again)
		}
	})
}

func FuzzParseFinished(f *testing.F) {
	f.Add(wire.AppendFinished(nil, make([]byte, 32)))
	f.Fuzz(func(t *testing.T, msg []byte) {
		verify, err := wire.ParseFinished(msg)
		if err != nil {
			checkError(t, err)
		} else if again := wire.AppendFinished(nil, verify); !bytes.Equal(again, msg) {
			t.Errorf("%x became %x", msg, again)
		}
	})
}
