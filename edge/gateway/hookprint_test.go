package gateway

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"slices"
	"testing"

	"edge/ech"
	"edge/edge/reactor/sim"
	"edge/tlsstack"
)

// echVector is a hello that is accepted.
type echVector struct {
	Name   string `json:"name"`
	Outer  string `json:"client_hello_hex"`
	Expect struct {
		Inner string `json:"inner_client_hello_hex"`
	} `json:"expect"`
	Keys []struct {
		Config  string `json:"config_hex"`
		Private string `json:"private_key_hex"`
	} `json:"server_keys"`
}

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Outer and inner fingerprints, with lists that differ, are never mixed up (field case J05).
func TestPrintsOfBothHellos(t *testing.T) {
	file, err := os.ReadFile("../../testvectors/ech/server_accept.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []echVector
	if err := json.Unmarshal(file, &vectors); err != nil {
		t.Fatal(err)
	}
	differ := 0
	for _, v := range vectors {
		var keys []*ech.Key
		for _, k := range v.Keys {
			key, err := ech.NewKey(unhex(t, k.Config), unhex(t, k.Private))
			if err != nil {
				t.Fatalf("%s: %v", v.Name, err)
			}
			keys = append(keys, key)
		}
		set, err := ech.NewSet(keys)
		if err != nil {
			t.Fatalf("%s: %v", v.Name, err)
		}
		b := newBench(t, withScripts(t, benchOptions{sim: sim.Options{Calm: true}, server: func(s *server) {
			g := s.current()
			g.tls = &tlsstack.Config{Certificates: g.certs, ECH: set}
		}}, "facts.o"))
		l := b.sim.Listener("tls")
		if err := b.w.listen(l.FD, listener{tls: true}); err != nil {
			t.Fatal(err)
		}
		outer, inner := unhex(t, v.Outer), unhex(t, v.Expect.Inner)
		p := l.Dial()
		for piece := outer; len(piece) > 0; {
			n := min(len(piece), 1<<14)
			p.Write(append([]byte{22, 3, 1, byte(n >> 8), byte(n)}, piece[:n]...))
			piece = piece[n:]
		}
		var got prints
		for range 100 {
			b.sim.Step()
			if c := b.tlsConn(); c != nil && c.prints.known {
				got = c.prints
				break
			}
		}
		if !got.known || got.inner == nil {
			t.Fatalf("%s: prints %+v; log %s", v.Name, got, b.log)
		}
		if got.outer.String() != fingerprint(t, outer) || got.inner.String() != fingerprint(t, inner) {
			t.Errorf("%s: outer %s, inner %s", v.Name, got.outer, got.inner)
		}
		if !bytes.Contains(b.log.Bytes(), []byte("facts.o: "+got.outer.String())) {
			t.Errorf("%s: the program saw something else: %s", v.Name, b.log)
		}
		if got.outer != *got.inner {
			differ++
		}
		p.Reset()
		b.done()
	}
	if differ == 0 {
		t.Error("in no vector the two differ: nothing is shown")
	}
}

// A client that is asked to try again is known by its first hello (J05): a second one
// may differ in what JA4 sees, and costs nobody a fingerprint.
func TestPrintsOfARetriedHello(t *testing.T) {
	b := newTLSBench(t, benchOptions{sim: sim.Options{Calm: true}}, []string{"a.example"})
	b.runScripts("facts.o")
	first, second := retriedHello(25, 133, false), retriedHello(29, 32, true)
	if fingerprint(t, first) == fingerprint(t, second) {
		t.Fatal("the two hellos have the same fingerprint: nothing is shown")
	}
	p := b.secure.Dial()
	for i, msg := range [][]byte{first, second} {
		p.Write(append([]byte{22, 3, 1, byte(len(msg) >> 8), byte(len(msg))}, msg...))
		b.sim.Idle()
		c := b.tlsConn()
		if c == nil || c.prints.outer.String() != fingerprint(t, first) || c.prints.inner != nil {
			t.Fatalf("after hello %d: %+v; log %s", i+1, c, b.log)
		}
		if retried := c.tls.Info().Retried; !retried {
			t.Errorf("after hello %d: not asked to try again", i+1)
		}
		if answer := p.Read(); i == 1 && len(answer) < 300 {
			t.Errorf("the second hello is not answered with a flight but % x", answer)
		}
	}
	if n := bytes.Count(b.log.Bytes(), []byte("facts.o: "+fingerprint(t, first))); n != 1 || bytes.Count(b.log.Bytes(), []byte("facts.o: ")) != 1 {
		t.Errorf("the program of edge/hello ran otherwise than once, with the first: %s", b.log)
	}
	p.Reset()
	b.done()
}

// retriedHello is a ClientHello with a key share for one group, the other one of the
// two being offered as well. Padding may come with the second one (RFC 9846, 4.2.2).
func retriedHello(group byte, shareBytes int, padded bool) []byte {
	extension := func(typ byte, body ...byte) []byte {
		return append([]byte{0, typ, byte(len(body) >> 8), byte(len(body))}, body...)
	}
	share := append([]byte{0, group, byte(shareBytes >> 8), byte(shareBytes)}, bytes.Repeat([]byte{9}, shareBytes)...)
	block := slices.Concat(
		extension(43, 2, 3, 4),            // supported_versions
		extension(13, 0, 4, 4, 3, 8, 4),   // signature_algorithms
		extension(10, 0, 4, 0, 25, 0, 29), // supported_groups: P-521, which we have not, and X25519
		extension(51, append([]byte{byte(len(share) >> 8), byte(len(share))}, share...)...), // key_share
	)
	if padded {
		block = append(block, extension(21, 0, 0)...)
	}
	body := slices.Concat([]byte{3, 3}, bytes.Repeat([]byte{7}, 32), []byte{0, 0, 2, 0x13, 1, 1, 0, byte(len(block) >> 8), byte(len(block))}, block)
	return append([]byte{1, 0, byte(len(body) >> 8), byte(len(body))}, body...)
}

// tlsConn is the connection that there is, nil if there is none yet.
func (b *bench) tlsConn() *conn {
	for _, e := range b.w.ends {
		if c, ok := e.(*conn); ok {
			return c
		}
	}
	return nil
}
