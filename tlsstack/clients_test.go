package tlsstack

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"edge/tlsstack/wire"
)

// Hellos of real clients, as they came over the wire.

// capture is one recorded first flight.
type capture struct {
	Client, Version, Label string
	Records                []string
	KeyPEM                 string `json:"ech_key_pem"`
}

// readCaptures returns the bytes up to the server's first answer of each capture.
func readCaptures(t testing.TB) (all []capture, streams [][]byte) {
	t.Helper()
	file, err := os.ReadFile(filepath.Join("..", "testvectors", "clients", "captures.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(file, &all); err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		b, err := hex.DecodeString(c.Records[0])
		if err != nil {
			t.Fatal(err)
		}
		streams = append(streams, b)
	}
	return all, streams
}

// feedCut hands a stream over in the given pieces and continues at the decision.
func feedCut(conn *Conn, stream []byte, cuts ...int) error {
	var pending []byte
	from := 0
	for _, to := range append(cuts, len(stream)) {
		pending = append(pending, stream[from:to]...)
		from = to
		for {
			n, _, err := conn.Receive(testTime, pending)
			pending = pending[n:]
			if err != nil {
				return err
			}
			if conn.Wait() == WaitDecision {
				return conn.Continue(testTime)
			}
			if n == 0 {
				break
			}
		}
	}
	return nil
}

// TestRealClients: each of them gets a flight or a retry.
func TestRealClients(t *testing.T) {
	cfg := testConfig(t, keyP256, keyRSA)
	cfg.NextProtos = []string{"h2", "http/1.1", "bar"}
	all, streams := readCaptures(t)
	for i, stream := range streams {
		var conn Conn
		conn.Init(cfg, endlessRandom{})
		if err := feedCut(&conn, stream); err != nil || !conn.HasOutput() {
			t.Errorf("%s %s (%s): %v, output %v", all[i].Client, all[i].Version, all[i].Label, err, conn.HasOutput())
		}
		conn.Release()
	}
}

// endlessRandom is a source of bytes that are always the same.
type endlessRandom struct{}

func (endlessRandom) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = byte(3 * i)
	}
	return len(b), nil
}

// TestRealClientsCut cuts a thousand of them at random: in segments, which changes
// nothing; off, which is waited for and then is a truncation; and with bytes
// changed, which ends in an alert or in a flight. The seed is fixed.
func TestRealClientsCut(t *testing.T) {
	cfg := testConfig(t, keyEd25519)
	_, streams := readCaptures(t)
	rnd := rand.New(rand.NewPCG(1, 2))
	for i := range 1000 {
		stream := bytes.Clone(streams[i%len(streams)])
		var conn Conn
		conn.Init(cfg, endlessRandom{})
		switch i % 3 {
		case 0:
			a := rnd.IntN(len(stream))
			b := a + rnd.IntN(len(stream)-a)
			var want Conn
			want.Init(cfg, endlessRandom{})
			wantErr := feedCut(&want, bytes.Clone(stream))
			err := feedCut(&conn, stream, a, b)
			if (err == nil) != (wantErr == nil) || !bytes.Equal(conn.AppendOutput(nil), want.AppendOutput(nil)) {
				t.Fatalf("hello %d cut at %d and %d: %v, whole %v", i, a, b, err, wantErr)
			}
		case 1:
			n := rnd.IntN(len(stream))
			if err := feedCut(&conn, stream[:n]); err != nil || conn.HasOutput() {
				t.Fatalf("hello %d, %d bytes of it: %v", i, n, err)
			}
			if err := conn.ReceiveEOF(); err == nil {
				t.Fatalf("hello %d, %d bytes of it: an orderly end", i, n)
			}
		case 2:
			for range 1 + rnd.IntN(4) {
				stream[rnd.IntN(len(stream))] ^= byte(1 << rnd.IntN(8))
			}
			mustBeClean(t, &conn, feedCut(&conn, stream))
		}
		conn.Release()
	}
}

// mustBeClean checks what holds after any input: an error of ours has an alert
// that is in the output; otherwise the connection goes on.
func mustBeClean(t *testing.T, conn *Conn, err error) {
	t.Helper()
	if err == nil {
		return
	}
	var e *Error
	switch {
	case !errors.As(err, &e):
		t.Fatalf("error is %v", err)
	case e.Origin == Internal:
		t.Fatalf("a client made an internal error: %v", e)
	case e.Text == "" || e.Section == "" || e.Alert == wire.AlertCloseNotify:
		t.Fatalf("error says too little: %v", e)
	case e.Origin == Refused && !conn.HasOutput():
		t.Fatalf("no alert for %v", e)
	}
}
