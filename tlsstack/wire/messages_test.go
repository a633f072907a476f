package wire_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"edge/tlsstack/wire"
)

// laid turns a message laid out by hand, hex with any white space, into bytes.
func laid(t *testing.T, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(text), ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestAppend compares every message that is sent with one laid out by hand from
// its structure in the RFC.
func TestAppend(t *testing.T) {
	var random [32]byte
	copy(random[:], bytes.Repeat([]byte{0xaa}, 32))
	const randomHex = "aaaaaaaaaaaaaaaa aaaaaaaaaaaaaaaa aaaaaaaaaaaaaaaa aaaaaaaaaaaaaaaa"
	const retryHex = "cf21ad74e59a6111be1d8c021e65b891 c2a211167abb8c5e079e09e2c8a8339c"
	hello := wire.ServerHello{Random: random, SessionID: []byte{1, 2}, CipherSuite: wire.SuiteAES128GCMSHA256,
		Group: wire.GroupX25519, KeyShare: []byte{9, 9, 9}}
	resumed := hello
	resumed.PSK, resumed.PSKIdentity = true, 1
	retry := wire.HelloRetryRequest{CipherSuite: wire.SuiteAES256GCMSHA384, Group: wire.GroupP256}
	retryECH := wire.HelloRetryRequest{CipherSuite: wire.SuiteAES256GCMSHA384, Cookie: []byte{7}, ECHConfirmation: true}
	encrypted := wire.EncryptedExtensions{ALPN: []byte("h2"), ServerNameUsed: true, RecordSizeLimit: 16385,
		RetryConfigs: []byte{0, 1, 5}}
	request := wire.CertificateRequest{SignatureAlgorithms: []wire.SignatureScheme{wire.SchemeEd25519},
		SignatureAlgorithmsCert: []wire.SignatureScheme{wire.SchemeECDSAP256SHA256, wire.SchemeRSAPSSSHA256},
		CertificateAuthorities:  [][]byte{{0x30, 0}, {0x31}}}
	certificate := wire.Certificate{Chain: [][]byte{{1, 1}, {2}}, Staple: []byte{3}, SCTList: []byte{0, 1, 4}}
	compressed := wire.CompressedCertificate{Algorithm: wire.CompressZstd, UncompressedLength: 0x010203, Data: []byte{8}}
	ticket := wire.NewSessionTicket{LifetimeSeconds: 0x01020304, AgeAdd: 0x05060708, Nonce: []byte{0}, Ticket: []byte{9, 9}}

	append1 := func(m interface{ Append([]byte) []byte }) []byte { return m.Append([]byte{0xff})[1:] }
	retried := func(m *wire.HelloRetryRequest, wantAt int) []byte {
		b, at := m.Append([]byte{0xff})
		if at != wantAt {
			t.Errorf("confirmation at %d", at)
		}
		return b[1:]
	}
	for _, c := range []struct {
		what string
		got  []byte
		want string
	}{
		{"ServerHello", append1(&hello), "02 00003b 0303" + randomHex + "02 0102 1301 00 0011" +
			"002b 0002 0304  0033 0007 001d 0003 090909"},
		{"ServerHello, resumed", append1(&resumed), "02 000041 0303" + randomHex + "02 0102 1301 00 0017" +
			"002b 0002 0304  0033 0007 001d 0003 090909  0029 0002 0001"},
		{"HelloRetryRequest", retried(&retry, 0), "02 000034 0303" + retryHex + "00 1302 00 000c" +
			"002b 0002 0304  0033 0002 0017"},
		{"HelloRetryRequest, cookie and ECH", retried(&retryECH, 4+2+32+1+2+1+2+6+7+4), "02 000041 0303" + retryHex +
			"00 1302 00 0019  002b 0002 0304  002c 0003 0001 07  fe0d 0008 0000000000000000"},
		{"EncryptedExtensions", append1(&encrypted), "08 00001c 001a  0000 0000  0010 0005 0003 02 6832" +
			"001c 0002 4001  fe0d 0003 000105"},
		{"EncryptedExtensions, empty", append1(new(wire.EncryptedExtensions)), "08 000002 0000"},
		{"CertificateRequest", append1(&request), "0d 000022 00 001f  000d 0004 0002 0807" +
			"0032 0006 0004 0403 0804  002f 0009 0007 0002 3000 0001 31"},
		{"Certificate", append1(&certificate), "0b 000021 00 00001d  000002 0101 0010  0005 0005 01 000001 03" +
			"0012 0003 000104  000001 02 0000"},
		{"Certificate, empty", append1(new(wire.Certificate)), "0b 000004 00 000000"},
		{"CompressedCertificate", append1(&compressed), "19 000009 0003 010203 000001 08"},
		{"CertificateVerify", wire.AppendCertificateVerify(nil, wire.SchemeEd25519, []byte{1, 2, 3}), "0f 000007 0807 0003 010203"},
		{"Finished", wire.AppendFinished(nil, []byte{1, 2}), "14 000002 0102"},
		{"NewSessionTicket", append1(&ticket), "04 000010 01020304 05060708 01 00 0002 0909 0000"},
		{"KeyUpdate", wire.AppendKeyUpdate(nil, false), "18 000001 00"},
		{"KeyUpdate, requested", wire.AppendKeyUpdate(nil, true), "18 000001 01"},
		{"message_hash", wire.AppendMessageHash(nil, []byte{1, 2}), "fe 000002 0102"},
	} {
		if want := laid(t, c.want); !bytes.Equal(c.got, want) {
			t.Errorf("%s:\n got %x\nwant %x", c.what, c.got, want)
		}
	}
	if at := wire.ServerHelloConfirmationOffset; !bytes.Equal(append1(&hello)[at:at+9], append(random[:8:8], 2)) {
		t.Errorf("confirmation at %d", at)
	}
}

// TestAppendAllocatesNothing appends a flight to memory that is there.
func TestAppendAllocatesNothing(t *testing.T) {
	buf := make([]byte, 0, 4096)
	hello := wire.ServerHello{SessionID: buf[:32], KeyShare: buf[:32]}
	retry := wire.HelloRetryRequest{ECHConfirmation: true}
	encrypted := wire.EncryptedExtensions{ALPN: []byte("h2")}
	certificate := wire.Certificate{Chain: [][]byte{buf[:500]}}
	if n := testing.AllocsPerRun(100, func() {
		b := hello.Append(buf)
		b, _ = retry.Append(b)
		b = encrypted.Append(b)
		b = certificate.Append(b)
		wire.AppendFinished(b, buf[:32])
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// parsers are the messages of a client other than ClientHello, each with one that
// is right.
var parsers = []struct {
	what  string
	right string
	parse func([]byte) error
}{
	{"Certificate", "0b 000012 00 00000e  000002 0101 0000  000002 0202 0000", func(msg []byte) error {
		return wire.ParseCertificate(msg, new(wire.Certificate))
	}},
	{"CertificateVerify", "0f 000007 0807 0003 010203", func(msg []byte) error {
		_, _, err := wire.ParseCertificateVerify(msg)
		return err
	}},
	{"Finished", "14 000002 0102", func(msg []byte) error {
		_, err := wire.ParseFinished(msg)
		return err
	}},
	{"KeyUpdate", "18 000001 00", func(msg []byte) error {
		_, err := wire.ParseKeyUpdate(msg)
		return err
	}},
}

// TestParseCut cuts every message at every byte, lengthens it, and mistakes its
// type. With the length in the header made to fit, all but Finished notice too.
func TestParseCut(t *testing.T) {
	for _, p := range parsers {
		right := laid(t, p.right)
		if err := p.parse(right); err != nil {
			t.Errorf("%s: %v", p.what, err)
		}
		for n := range right {
			wantAlert(t, p.what+" cut", p.parse(right[:n]), wire.AlertDecodeError)
			if n >= wire.HeaderBytes && p.what != "Finished" {
				short := bytes.Clone(right[:n])
				short[3] = byte(n - wire.HeaderBytes)
				wantAlert(t, p.what+" cut inside", p.parse(short), wire.AlertDecodeError)
			}
		}
		long := append(bytes.Clone(right), 0)
		wantAlert(t, p.what+" and a byte", p.parse(long), wire.AlertDecodeError)
		if long[3]++; p.what != "Finished" {
			wantAlert(t, p.what+" and a byte inside", p.parse(long), wire.AlertDecodeError)
		}
		other := bytes.Clone(right)
		other[0] = byte(wire.TypeEndOfEarlyData)
		wantAlert(t, p.what+" of another type", p.parse(other), wire.AlertUnexpectedMessage)
	}
}

// TestParseMessages reads the contents and breaks the rules that are not lengths.
func TestParseMessages(t *testing.T) {
	var m wire.Certificate
	parse := func(text string) error { return wire.ParseCertificate(laid(t, text), &m) }
	if err := parse(parsers[0].right); err != nil || len(m.Chain) != 2 || !bytes.Equal(m.Chain[1], []byte{2, 2}) {
		t.Errorf("%x, %v", m.Chain, err)
	}
	if err := parse("0b 000004 00 000000"); err != nil || len(m.Chain) != 0 {
		t.Errorf("no certificate: %x, %v", m.Chain, err)
	}
	wantAlert(t, "context", parse("0b 000005 01 55 000000"), wire.AlertIllegalParameter)
	wantAlert(t, "empty certificate", parse("0b 000009 00 000005 000000 0000"), wire.AlertDecodeError)
	wantAlert(t, "extension", parse("0b 00000e 00 00000a 000001 30 0004 0005 0000"), wire.AlertUnsupportedExtension)
	wantAlert(t, "extension cut", parse("0b 00000c 00 000008 000001 30 0002 0005"), wire.AlertDecodeError)
	chain := wire.Certificate{Chain: make([][]byte, wire.CertificateChainMax)}
	for i := range chain.Chain {
		chain.Chain[i] = []byte{0x30}
	}
	if err := wire.ParseCertificate(chain.Append(nil), &m); err != nil || len(m.Chain) != wire.CertificateChainMax {
		t.Error(err)
	}
	chain.Chain = append(chain.Chain, []byte{0x30})
	wantAlert(t, "chain", wire.ParseCertificate(chain.Append(nil), &m), wire.AlertBadCertificate)

	if requested, err := wire.ParseKeyUpdate([]byte{24, 0, 0, 1, 1}); !requested || err != nil {
		t.Error("KeyUpdate:", requested, err)
	}
	_, err := wire.ParseKeyUpdate([]byte{24, 0, 0, 1, 2})
	wantAlert(t, "KeyUpdate", err, wire.AlertIllegalParameter)
	if scheme, signature, err := wire.ParseCertificateVerify(laid(t, parsers[1].right)); err != nil ||
		scheme != wire.SchemeEd25519 || !bytes.Equal(signature, []byte{1, 2, 3}) {
		t.Error(scheme, signature, err)
	}
	if verify, err := wire.ParseFinished([]byte{20, 0, 0, 2, 1, 2}); err != nil || !bytes.Equal(verify, []byte{1, 2}) {
		t.Error(verify, err)
	}
}

// TestNames gives what has a name its name, and anything else a number.
func TestNames(t *testing.T) {
	for alert, want := range map[wire.Alert]string{
		wire.AlertDecodeError: "decode_error", wire.AlertECHRequired: "ech_required", 200: "alert 200"} {
		if got := alert.String(); got != want {
			t.Errorf("%d is %q", alert, got)
		}
	}
	for value, want := range map[fmt.Stringer]string{
		wire.SuiteAES128GCMSHA256: "TLS_AES_128_GCM_SHA256", wire.SuiteAES256GCMSHA384: "TLS_AES_256_GCM_SHA384",
		wire.SuiteChaCha20Poly1305SHA256: "TLS_CHACHA20_POLY1305_SHA256", wire.CipherSuite(0x1304): "0x1304",
		wire.GroupP256: "secp256r1", wire.GroupP384: "secp384r1", wire.GroupP521: "secp521r1",
		wire.GroupX25519: "x25519", wire.GroupX25519MLKEM768: "X25519MLKEM768", wire.Group(0x0a0a): "0x0a0a",
	} {
		if got := value.String(); got != want {
			t.Errorf("%s instead of %s", got, want)
		}
	}
	_, err := newHello().with(wire.ExtCookie).parse()
	if err.Error() != "decode_error: cookie malformed (RFC 9846, 4.3.2)" {
		t.Error(err)
	}
}
