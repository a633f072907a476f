package gateway

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"edge/edge/reactor/sim"
	"edge/tlsstack"
)

// Hellos of real clients.

// clientHellos are the first flights of real clients; see testvectors/clients.
func clientHellos(t *testing.T) (names []string, streams [][]byte) {
	t.Helper()
	file, err := os.ReadFile(filepath.Join("..", "..", "testvectors", "clients", "captures.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all []struct {
		Client, Version, Label string
		Records                []string
	}
	if err := json.Unmarshal(file, &all); err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		b, err := hex.DecodeString(c.Records[0])
		if err != nil {
			t.Fatal(err)
		}
		names, streams = append(names, c.Client+" "+c.Version+" "+c.Label), append(streams, b)
	}
	return names, streams
}

// answerKind is what came back for a hello: the type of the first message, or the
// alert. Anything else is none of our answers.
func answerKind(got []byte) string {
	switch {
	case len(got) > 5 && got[0] == 22 && got[5] == 2:
		return "ServerHello"
	case len(got) == 7 && got[0] == 21 && got[5] == 2:
		return fmt.Sprintf("alert %d", got[6])
	}
	return fmt.Sprintf("%.16x", got)
}

// A thousand hellos of real clients, cut anywhere, get the answer that they get in
// one piece, and leave nothing behind.
func TestClientHellosCutAtRandom(t *testing.T) {
	names, streams := clientHellos(t)
	b := newTLSBench(t, benchOptions{sim: sim.Options{SocketsMax: 64}}, []string{"default.example"})
	rnd := rand.New(rand.NewPCG(b.sim.Seed(), 1))
	whole := make([]string, len(streams))
	for i := range 1000 {
		k := i % len(streams)
		var cuts []int
		if i >= len(streams) {
			for range 1 + rnd.IntN(5) {
				cuts = append(cuts, rnd.IntN(len(streams[k])))
			}
			slices.Sort(cuts)
		}
		p, from := b.secure.Dial(), 0
		for _, to := range append(cuts, len(streams[k])) {
			p.Write(streams[k][from:to])
			from = to
			b.sim.Idle()
		}
		kind := answerKind(p.Read())
		switch {
		case i < len(streams):
			if whole[k] = kind; kind != "ServerHello" && !strings.HasPrefix(kind, "alert ") {
				t.Errorf("%s: answered with %s", names[k], kind)
			}
		case kind != whole[k]:
			t.Errorf("%s cut at %v: %s, whole: %s", names[k], cuts, kind, whole[k])
		}
		p.Close()
		b.sim.Idle()
	}
	b.done()
}

// Certificates go out compressed to real clients that offer it.
func TestCertificateCompression(t *testing.T) {
	names, streams := clientHellos(t)
	var many []string
	for i := range 40 {
		many = append(many, strings.Repeat("a", 20+i)+".example")
	}
	b := newTLSBench(t, benchOptions{sim: sim.Options{Calm: true}}, many)
	flight := func(stream []byte) int {
		p := b.secure.Dial()
		p.Write(stream)
		b.sim.Idle()
		n := len(p.Read())
		p.Close()
		b.sim.Idle()
		return n
	}
	var sizes [2][]int
	for i, z := range [][]tlsstack.Compressor{b.s.current().tls.Compressors, nil} {
		b.s.current().tls.Compressors = z
		for _, stream := range streams {
			sizes[i] = append(sizes[i], flight(stream))
		}
	}
	smaller := map[string]bool{}
	for i, name := range names {
		client, _, _ := strings.Cut(name, " ")
		smaller[client] = smaller[client] || sizes[0][i]+500 < sizes[1][i]
	}
	for client, want := range map[string]bool{"chromium": true, "firefox": true, "go": false, "curl": false} {
		if smaller[client] != want {
			t.Errorf("%s is sent a compressed certificate: %v", client, !want)
		}
	}
	b.done()
}
