package tlsstack

import (
	"bytes"
	"compress/zlib"
	"errors"
	"io"
	"sync/atomic"
	"testing"

	"edge/tlsstack/wire"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// decompress undoes each algorithm with a reader that is not ours.
func decompress(t *testing.T, m wire.CompressedCertificate) []byte {
	t.Helper()
	var r io.Reader
	var err error
	switch in := bytes.NewReader(m.Data); m.Algorithm {
	case wire.CompressZlib:
		r, err = zlib.NewReader(in)
	case wire.CompressBrotli:
		r = brotli.NewReader(in)
	case wire.CompressZstd:
		r, err = zstd.NewReader(in)
	default:
		t.Fatalf("algorithm %d", m.Algorithm)
	}
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(r)
	if err != nil || len(body) != m.UncompressedLength {
		t.Fatalf("%d bytes instead of %d, %v", len(body), m.UncompressedLength, err)
	}
	return body
}

// certificateBody returns the Certificate message's body of a handshake, and
// whether it was compressed.
func certificateBody(t *testing.T, c *rawClient) ([]byte, wire.CompressionAlgorithm) {
	t.Helper()
	m := c.flight[2]
	if wire.HandshakeType(m[0]) == wire.TypeCertificate {
		return m[wire.HeaderBytes:], 0
	}
	b := m[wire.HeaderBytes:] // algorithm 2, length 3, data 3+n
	z := wire.CompressedCertificate{
		Algorithm:          wire.CompressionAlgorithm(uint16(b[0])<<8 | uint16(b[1])),
		UncompressedLength: int(b[2])<<16 | int(b[3])<<8 | int(b[4]),
		Data:               b[8:],
	}
	return decompress(t, z), z.Algorithm
}

func TestCompressedCertificate(t *testing.T) {
	all := []wire.CompressionAlgorithm{wire.CompressZlib, wire.CompressZstd, wire.CompressBrotli}
	cases := []struct {
		offered []wire.CompressionAlgorithm
		want    wire.CompressionAlgorithm
	}{
		{nil, 0},
		{[]wire.CompressionAlgorithm{99}, 0},
		{all[:1], wire.CompressZlib},
		{all[:2], wire.CompressZstd},
		{all, wire.CompressBrotli},
	}
	cfg := testConfig(t)
	plain := newRawClient(t, cfg, mode{})
	plain.handshake()
	want, _ := certificateBody(t, plain)
	cfg.Compressors = Compressors
	for _, tc := range cases {
		inEveryMode(t, func(t *testing.T, m mode) {
			c := newRawClient(t, cfg, m)
			if tc.offered != nil {
				c.hello.set(wire.ExtCompressCertificate, vec8(list16(tc.offered...)))
			}
			c.leaf = plain.leaf // a compressed message is not looked into on the way
			c.handshake()
			got, algorithm := certificateBody(t, c)
			if algorithm != tc.want || !bytes.Equal(got, want) {
				t.Errorf("offered %v: algorithm %d, %d bytes", tc.offered, algorithm, len(got))
			}
		})
	}
}

// TestCompressedOnce: a credential is compressed once for each form, however many
// clients ask, and a compressor that fails is done without.
func TestCompressedOnce(t *testing.T) {
	var calls atomic.Int32
	cfg := testConfig(t)
	cred := cfg.Certificates.(*fixedSource).creds[0]
	cred.Staple = []byte("staple")
	cfg.Compressors = []Compressor{
		{0xff10, func([]byte) ([]byte, error) { calls.Add(1); return nil, errors.New("no") }},
		{0xff11, func(m []byte) ([]byte, error) { calls.Add(1); return m, nil }},
	}
	for range 3 {
		for _, algorithm := range []wire.CompressionAlgorithm{0xff10, 0xff11} {
			for _, staple := range []bool{false, true} {
				c := newRawClient(t, cfg, mode{})
				c.hello.set(wire.ExtCompressCertificate, vec8(list16(algorithm)))
				if staple {
					c.hello.set(wire.ExtStatusRequest, []byte{1, 0, 0, 0, 0})
				}
				c.must(c.sendHello())
			}
		}
	}
	if n := calls.Load(); n != 4 {
		t.Errorf("compressed %d times for 4 forms", n)
	}
}

// TestStapleAndSCT: sent to those who ask, and to nobody else.
func TestStapleAndSCT(t *testing.T) {
	scts := vec16(vec16([]byte("timestamp")))
	for _, ask := range []bool{false, true} {
		cfg := testConfig(t)
		cred := cfg.Certificates.(*fixedSource).creds[0]
		cred.Staple, cred.SCTList = []byte("an OCSP response"), scts
		c := newRawClient(t, cfg, mode{})
		if ask {
			c.hello.set(wire.ExtStatusRequest, []byte{1, 0, 0, 0, 0})
			c.hello.set(wire.ExtSCT, nil)
		}
		c.handshake()
		body, _ := certificateBody(t, c)
		if bytes.Contains(body, cred.Staple) != ask || bytes.Contains(body, scts) != ask {
			t.Errorf("asked %v: staple %v, SCTs %v", ask, bytes.Contains(body, cred.Staple), bytes.Contains(body, scts))
		}
	}
}
