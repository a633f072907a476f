// Sending: whole, short, half-closed, cancelled.

package reactortest

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"edge/edge/reactor"
)

// tooMuch is more than the kernel takes for a peer that does not read.
func (b *bench) tooMuch(seed int) []byte {
	if b.f.Real() {
		return pattern(seed, 8<<20)
	}
	return pattern(seed, 256<<10)
}

// testSlowReader: a Send to a peer that does not read stays in flight, others go
// on, and it completes when the peer reads: short writes are continued.
func testSlowReader(t *testing.T, make Make) {
	b := start(t, make, reactor.Options{})
	s, p := b.connect()
	other, q := b.connect()
	p.Stall(true)
	want := b.tooMuch(6)
	b.send(s, want)
	b.send(other, []byte("swift"))
	u := &pump{p: q}
	b.until("the other connection", func() bool { u.turn(); return string(u.in) == "swift" })
	b.settle()
	if b.get(s).sent != 0 {
		t.Fatal("sent what nobody reads")
	}
	p.Stall(false)
	v := &pump{p: p}
	b.until("all bytes", func() bool { v.turn(); return len(v.in) >= len(want) && b.get(s).sent == 1 })
	if !bytes.Equal(v.in, want) || b.get(s).sendErr != nil {
		t.Fatalf("the peer got %s; %v", short(v.in), b.get(s).sendErr)
	}
	b.close(s)
	b.close(other)
}

// testSendVec: several buffers go out as one, empty ones among them, whoever owns
// their memory; the slice of them is free at once; short writes go on where they
// were, in whichever buffer that is.
func testSendVec(t *testing.T, make Make) {
	b := start(t, make, reactor.Options{})
	s, p := b.connect()
	p.Stall(true)
	var want []byte
	bufs := [][]byte{}
	for i := range reactor.SendBuffersMax {
		piece := pattern(i, len(b.tooMuch(0))/8)
		if i%5 == 0 {
			piece = nil
		}
		bufs = append(bufs, piece)
		want = append(want, piece...)
	}
	kept := slices.Clone(bufs)
	b.sendVec(s, bufs)
	clear(bufs)
	b.settle()
	if b.get(s).sent != 0 {
		t.Fatal("sent what nobody reads")
	}
	p.Stall(false)
	v := &pump{p: p}
	b.until("all bytes", func() bool { v.turn(); return len(v.in) >= len(want) && b.get(s).sent == 1 })
	runtime.KeepAlive(kept)
	if !bytes.Equal(v.in, want) || b.get(s).sendErr != nil {
		t.Fatalf("the peer got %s; %v", short(v.in), b.get(s).sendErr)
	}
	b.sendVec(s, [][]byte{nil, nil})
	b.until("nothing sent", func() bool { return b.get(s).sent == 2 })
	words := [][]byte{[]byte("one "), []byte("two")}
	b.sendVec(s, words)
	b.until("two words", func() bool { v.turn(); return len(v.in) == len(want)+len("one two") })
	runtime.KeepAlive(words)
	if got := v.in[len(want):]; string(got) != "one two" {
		t.Fatalf("the peer got %q", got)
	}
	b.close(s)
}

// testSendVecCut: a SendVec in flight is over when its socket is closed.
func testSendVecCut(t *testing.T, make Make) {
	b := start(t, make, reactor.Options{})
	s, p := b.connect()
	p.Stall(true)
	kept := [][]byte{pattern(1, 1000), b.tooMuch(2), pattern(3, 1000)}
	b.sendVec(s, kept)
	b.settle()
	b.close(s)
	runtime.KeepAlive(kept)
	if err := b.get(s).sendErr; err == nil {
		t.Error("the end of the Send was no failure")
	}
}

// testEmptySend: nothing to send is sent.
func testEmptySend(t *testing.T, make Make) {
	b := start(t, make, reactor.Options{})
	s, _ := b.connect()
	b.send(s, nil)
	b.until("sent", func() bool { return b.get(s).sent == 1 })
	if err := b.get(s).sendErr; err != nil {
		t.Fatal(err)
	}
	b.close(s)
}

// testTrySend: what it says it took goes out before what is sent after it, until
// the peer's room is used up, and the buffer stays ours.
func testTrySend(t *testing.T, make Make) {
	b := start(t, make, reactor.Options{})
	s, p := b.connect()
	p.Stall(true)
	want := b.tooMuch(11)
	rest := want
	mine := bytes.Repeat([]byte{0}, 32<<10)
	for {
		n := b.r.TrySend(s, mine[:copy(mine, rest)])
		for i := range mine {
			mine[i] = 0
		}
		if rest = rest[n:]; n == 0 {
			break
		}
	}
	if len(rest) == 0 || len(rest) == len(want) {
		t.Fatalf("%d of %d bytes were taken", len(want)-len(rest), len(want))
	}
	b.send(s, rest)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("TrySend with a Send in flight did not panic")
			}
		}()
		b.r.TrySend(s, rest)
	}()
	p.Stall(false)
	u := &pump{p: p}
	b.until("all bytes", func() bool { u.turn(); return len(u.in) >= len(want) })
	if !bytes.Equal(u.in, want) {
		t.Fatalf("the peer got %s", short(u.in))
	}
	p.Reset()
	b.until("failed send", func() bool {
		if k := b.get(s); !k.sending && k.sendErr == nil && b.r.TrySend(s, []byte("x")) == 0 {
			b.send(s, []byte("x"))
		}
		return b.get(s).sendErr != nil
	})
	b.close(s)
}

// testFlush: what was sent reaches the peer although no turn begins or ends.
func testFlush(t *testing.T, make Make) {
	b := start(t, make, reactor.Options{})
	if !b.f.Real() {
		t.Skip("the imagined kernel moves bytes when turns begin")
	}
	s, p := b.connect()
	b.send(s, []byte("swift"))
	b.r.Flush()
	u := &pump{p: p}
	for end := time.Now().Add(watchdog); string(u.in) != "swift"; u.turn() {
		if u.err != nil || time.Now().After(end) {
			t.Fatalf("the peer got %q, %v", u.in, u.err)
		}
	}
	b.until("sent", func() bool { return b.get(s).sent == 1 })
	b.close(s)
}

func testSecondSendPanics(t *testing.T, make Make) {
	b := start(t, make, reactor.Options{})
	s, p := b.connect()
	p.Stall(true)
	b.send(s, b.tooMuch(7))
	func() {
		defer func() {
			if recover() == nil {
				t.Error("a second Send in flight did not panic")
			}
		}()
		b.r.Send(s, []byte("x"))
	}()
	b.close(s)
}

// testHalfClosePeerFirst: after the peer's FIN we may still send.
func testHalfClosePeerFirst(t *testing.T, make Make) {
	b := start(t, make, reactor.Options{})
	s, p := b.connect()
	b.r.Receive(s)
	p.Write([]byte("question"))
	p.CloseWrite()
	b.until("FIN", func() bool { return b.get(s).ended })
	b.wantGot("question", s, []byte("question"))
	b.send(s, []byte("answer"))
	b.until("sent", func() bool { return b.get(s).sent == 1 })
	u := &pump{p: p}
	b.until("answer", func() bool { u.turn(); return string(u.in) == "answer" })
	if u.err != nil {
		t.Fatalf("the peer saw %v before Close", u.err)
	}
	b.close(s)
	b.until("our FIN", func() bool { u.turn(); return u.err == io.EOF })
}

// testHalfCloseWeFirst: after our FIN we may still receive.
func testHalfCloseWeFirst(t *testing.T, make Make) {
	b := start(t, make, reactor.Options{})
	s, p := b.connect()
	b.r.ShutdownWrite(s)
	u := &pump{p: p}
	b.until("our FIN", func() bool { u.turn(); return u.err == io.EOF })
	b.r.Receive(s)
	p.Write([]byte("still here"))
	p.CloseWrite()
	b.until("FIN", func() bool { return b.get(s).ended })
	b.wantGot("bytes after our FIN", s, []byte("still here"))
	b.close(s)
}

// testShutdownAfterSend: FIN waits for the Send in flight.
func testShutdownAfterSend(t *testing.T, make Make) {
	b := start(t, make, reactor.Options{})
	s, p := b.connect()
	p.Stall(true)
	want := b.tooMuch(8)
	b.send(s, want)
	b.r.ShutdownWrite(s)
	b.settle()
	p.Stall(false)
	u := &pump{p: p}
	b.until("FIN after all bytes", func() bool { u.turn(); return u.err != nil })
	if u.err != io.EOF || !bytes.Equal(u.in, want) {
		t.Fatalf("the peer got %s, then %v", short(u.in), u.err)
	}
	if k := b.get(s); k.sent != 1 || k.sendErr != nil {
		t.Fatalf("sent %d, %v", k.sent, k.sendErr)
	}
	b.close(s)
}

// testCloseWithSendInFlight: the Send is cancelled, and heard of before Closed.
func testCloseWithSendInFlight(t *testing.T, make Make) {
	b := start(t, make, reactor.Options{})
	s, p := b.connect()
	p.Stall(true)
	b.r.Receive(s)
	b.send(s, b.tooMuch(9))
	b.settle()
	b.close(s)
	if k := b.get(s); k.sent != 1 || !errors.Is(k.sendErr, syscall.ECANCELED) {
		t.Fatalf("sent %d times, %v, want once with ECANCELED", k.sent, k.sendErr)
	}
	u := &pump{p: p}
	p.Stall(false)
	b.until("the end", func() bool { u.turn(); return u.err != nil })
	if len(u.in) >= len(b.tooMuch(9)) || !bytes.Equal(u.in, b.tooMuch(9)[:len(u.in)]) {
		t.Fatalf("the peer got %s", short(u.in))
	}
}

// testAbort: the peer sees a reset, whatever was under way.
func testAbort(t *testing.T, make Make) {
	for name, busy := range map[string]bool{"idle": false, "receiving and sending": true} {
		b := start(t, make, reactor.Options{})
		s, p := b.connect()
		if busy {
			p.Stall(true)
			b.r.Receive(s)
			b.send(s, b.tooMuch(10))
			b.settle()
		}
		b.get(s).gaveUp = true
		b.r.Abort(s)
		b.until("closed", func() bool { return b.get(s).closed })
		p.Stall(false)
		u := &pump{p: p}
		b.until("reset", func() bool { u.turn(); return u.err != nil })
		if !errors.Is(u.err, syscall.ECONNRESET) {
			t.Errorf("%s: the peer saw %v, want a reset", name, u.err)
		}
	}
}
