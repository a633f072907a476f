package gateway

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
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

// Outer and inner fingerprints, with lists that differ, are never mixed up (J05).
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

// tlsConn is the connection that there is, nil if there is none yet.
func (b *bench) tlsConn() *conn {
	for _, e := range b.w.ends {
		if c, ok := e.(*conn); ok {
			return c
		}
	}
	return nil
}
