package record

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"encoding/json"
	"hash"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/chacha20poly1305"
)

// Records of the published traces and of recorded handshakes: each opens to what
// it should, and sealing that again gives the same bytes. Keys are derived with
// crypto/hkdf here, since this package knows no key schedule.

func readVectors(t testing.TB, into any, path ...string) {
	t.Helper()
	file, err := os.ReadFile(filepath.Join(append([]string{"..", "..", "testvectors"}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(file, into); err != nil {
		t.Fatal(err)
	}
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatalf("not hex: %q", s)
	}
	return b
}

// suite is what derives a direction in these tests.
type suite struct {
	hash   func() hash.Hash
	keyLen int
	aead   func([]byte) (cipher.AEAD, error)
}

func gcm(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

var suites = map[string]suite{
	"1301": {sha256.New, 16, gcm},
	"1302": {sha512.New384, 32, gcm},
	"1303": {sha256.New, 32, chacha20poly1305.New},
}

// expand is HKDF-Expand-Label without context.
func (s suite) expand(t testing.TB, secret []byte, label string, n int) []byte {
	t.Helper()
	info := string([]byte{byte(n >> 8), byte(n), byte(6 + len(label))}) + "tls13 " + label + "\x00"
	out, err := hkdf.Expand(s.hash, secret, info, n)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// direction makes the keys of a traffic secret.
func (s suite) direction(t testing.TB, secret []byte) *Direction {
	t.Helper()
	aead, err := s.aead(s.expand(t, secret, "key", s.keyLen))
	if err != nil {
		t.Fatal(err)
	}
	d := new(Direction)
	d.SetKey(aead, [NonceLen]byte(s.expand(t, secret, "iv", NonceLen)))
	return d
}

func TestRecordsRFC8448(t *testing.T) {
	var file struct {
		Traces []struct {
			Name    string
			Suite   string `json:"cipher_suite"`
			Secrets map[string]string
			Records []struct {
				Protection string
				Record     string
				InnerType  uint8 `json:"inner_type"`
				Plaintext  string
			}
		}
	}
	readVectors(t, &file, "rfc8448", "rfc8448.json")
	checked := 0
	for _, tr := range file.Traces {
		open, seal := map[string]*Direction{}, map[string]*Direction{}
		for i, r := range tr.Records {
			if r.Protection == "none" {
				continue
			}
			if open[r.Protection] == nil {
				secret := unhex(t, tr.Secrets[r.Protection])
				open[r.Protection] = suites[tr.Suite].direction(t, secret)
				seal[r.Protection] = suites[tr.Suite].direction(t, secret)
			}
			checked++
			want := unhex(t, r.Record)
			typ, content, err := open[r.Protection].Open(bytes.Clone(want))
			if err != nil || typ != ContentType(r.InnerType) || hex.EncodeToString(content) != r.Plaintext {
				t.Errorf("%s, record %d: type %d, %x, %v", tr.Name, i, typ, content, err)
				continue
			}
			if got := seal[r.Protection].SealAppend(nil, typ, content); !bytes.Equal(got, want) {
				t.Errorf("%s, record %d: sealed again it is %x, want %x", tr.Name, i, got, want)
			}
		}
	}
	if checked != 27 {
		t.Errorf("%d records were checked", checked)
	}
}

// opensslHandshake is one recorded connection.
type opensslHandshake struct {
	Name   string
	KeyLog string `json:"key_log"`
	Client string `json:"client_stream_hex"`
	Server string `json:"server_stream_hex"`
	Suite  string `json:"cipher_suite"`
}

func readHandshakes(t testing.TB) []opensslHandshake {
	var all []opensslHandshake
	readVectors(t, &all, "tls13", "openssl_handshakes.json")
	return all
}

// secret finds a secret in the key log.
func (h *opensslHandshake) secret(t testing.TB, label string) []byte {
	t.Helper()
	for _, line := range strings.Split(h.KeyLog, "\n") {
		if f := strings.Fields(line); len(f) == 3 && f[0] == label {
			return unhex(t, f[2])
		}
	}
	t.Fatalf("%s: no %s in the key log", h.Name, label)
	return nil
}

// TestRecordsOpenSSL opens every record of both streams: handshake keys until a
// Finished was seen, application keys from then on.
func TestRecordsOpenSSL(t *testing.T) {
	for _, h := range readHandshakes(t) {
		t.Run(h.Name, func(t *testing.T) {
			openStream(t, &h, "CLIENT", unhex(t, h.Client))
			openStream(t, &h, "SERVER", unhex(t, h.Server))
		})
	}
}

func openStream(t *testing.T, h *opensslHandshake, side string, stream []byte) {
	s := suites[h.Suite]
	d := s.direction(t, h.secret(t, side+"_HANDSHAKE_TRAFFIC_SECRET"))
	again := s.direction(t, h.secret(t, side+"_HANDSHAKE_TRAFFIC_SECRET"))
	var messages Reassembler
	finished := false
	for len(stream) > 0 {
		header, err := ParseHeader(stream, true)
		if err != nil {
			t.Fatal(err)
		}
		rec := stream[:HeaderLen+header.Len]
		stream = stream[len(rec):]
		if header.Type != ApplicationData {
			continue
		}
		typ, content, err := d.Open(bytes.Clone(rec))
		if err != nil {
			t.Fatalf("%s record does not open: %v", side, err)
		}
		if got := again.SealAppend(nil, typ, content); !bytes.Equal(got, rec) {
			t.Fatalf("%s record sealed again differs", side)
		}
		if finished || typ != Handshake {
			continue
		}
		messages.Add(content)
		for m := next(t, &messages); m != nil; m = next(t, &messages) {
			if finished = m[0] == 20; finished {
				d = s.direction(t, h.secret(t, side+"_TRAFFIC_SECRET_0"))
				again = s.direction(t, h.secret(t, side+"_TRAFFIC_SECRET_0"))
			}
		}
	}
	if !finished {
		t.Errorf("%s sent no Finished", side)
	}
}

func next(t *testing.T, r *Reassembler) []byte {
	t.Helper()
	m, err := r.Next(1 << 16)
	if err != nil {
		t.Fatal(err)
	}
	return m
}
