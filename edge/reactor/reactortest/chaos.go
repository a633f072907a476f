// Everything at once, drawn from a seed.

package reactortest

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"

	"edge/edge/reactor"
)

// chaosBytes is what each connection carries in each direction at most.
const chaosBytes = 200000

// chaotic is a connection that random things are done to.
type chaotic struct {
	s      reactor.Sock
	u      *pump
	in     []byte // what the peer sends, and how much of it was received
	got    int
	out    []byte // what we send, and how much of it was given to Send
	given  int
	kept   []reactor.BufID
	halved bool // ShutdownWrite was called
}

// chaos is a bench with many of them.
type chaos struct {
	*bench
	rng  *rand.Rand
	all  []*chaotic
	live map[reactor.Sock]*chaotic
	file int
}

// testChaos does random things to many connections: every byte that arrives is
// the right one, nothing is heard that must not be (the bench sees to that), and
// in the end every socket is closed and every buffer is back.
func testChaos(t *testing.T, make Make) {
	for seed := range uint64(3) {
		c := &chaos{
			bench: start(t, make, reactor.Options{RecvBytes: 1024, RecvBuffers: 32, RecvLent: 16}),
			rng:   rand.New(rand.NewPCG(seed, 42)),
			live:  map[reactor.Sock]*chaotic{},
		}
		c.file = c.f.File(pattern(9, 50000))
		c.onReceived = c.received
		turns := 0
		c.until("a few hundred turns", func() bool {
			c.step()
			turns++
			return turns > 400
		})
		c.end()
	}
}

// step does a few random things between two turns.
func (c *chaos) step() {
	if len(c.all) < 300 && c.rng.IntN(3) == 0 {
		c.all = append(c.all, &chaotic{
			u:  &pump{p: c.dial(), out: pattern(len(c.all), c.rng.IntN(chaosBytes))},
			in: pattern(len(c.all), chaosBytes), out: pattern(1000+len(c.all), chaosBytes),
		})
	}
	c.meet()
	for range 10 {
		if len(c.order) > 0 {
			c.disturb(c.all[c.rng.IntN(len(c.order))])
		}
	}
}

// meet joins connections that were accepted with their peers: both are in the
// order of dialling.
func (c *chaos) meet() {
	for i, s := range c.order {
		if x := c.all[i]; x.s == 0 {
			x.s = s
			c.live[s] = x
			c.r.Receive(s)
		}
	}
}

func (c *chaos) disturb(x *chaotic) {
	k := c.get(x.s)
	if k.gaveUp {
		return
	}
	switch c.rng.IntN(14) {
	case 0, 1, 2, 3:
		x.u.turn()
		c.check(x)
	case 4:
		c.r.PauseReceive(x.s)
	case 5, 6:
		c.r.Receive(x.s)
	case 7, 8, 9:
		if !k.sending && !x.halved && x.given < len(x.out) {
			n := 1 + c.rng.IntN(min(40000, len(x.out)-x.given))
			c.send(x.s, x.out[x.given:x.given+n])
			x.given += n
		}
	case 10:
		c.r.SetDeadline(x.s, c.r.Now().Add(time.Duration(c.rng.IntN(10))*time.Millisecond))
	case 11:
		for _, id := range x.kept {
			c.r.Recycle(id)
		}
		x.kept = nil
	case 12:
		c.readSome(x.s)
	case 13:
		c.wind(x)
	}
}

// wind brings a connection nearer to its end, one way or another.
func (c *chaos) wind(x *chaotic) {
	switch c.rng.IntN(8) {
	case 0:
		c.giveUp(x.s)
	case 1:
		c.get(x.s).gaveUp = true
		c.r.Abort(x.s)
	case 2:
		x.halved = true
		c.r.ShutdownWrite(x.s)
	case 3:
		x.u.p.CloseWrite()
		x.u.out = nil
	case 4:
		x.u.p.Reset()
		x.u.out, x.u.err = nil, nil
	case 5:
		x.u.p.Stall(c.rng.IntN(2) == 0)
	}
}

// readSome reads a file on behalf of a socket; its buffer goes back at the end.
func (c *chaos) readSome(s reactor.Sock) {
	k := c.get(s)
	if k.fileReads != k.fileAsked {
		return
	}
	b := c.r.Buffers().Get(4096)
	if b == nil {
		return
	}
	k.fileAsked++
	k.fileBufs = append(k.fileBufs, b)
	c.r.ReadFile(s, c.file, [][]byte{b[:4096]}, int64(c.rng.IntN(60000)))
}

// received checks the bytes, and sometimes keeps a buffer for a while.
func (c *chaos) received(s reactor.Sock, data []byte, id reactor.BufID) bool {
	x := c.live[s]
	if x == nil {
		c.meet()
		x = c.live[s]
	}
	if x.got+len(data) > len(x.in) || !bytes.Equal(data, x.in[x.got:x.got+len(data)]) {
		c.t.Fatalf("%#x received %s at %d, which is not what was sent", s, short(data), x.got)
	}
	x.got += len(data)
	c.get(s).got = nil
	if len(x.kept) > 0 || c.rng.IntN(8) > 0 {
		return false
	}
	x.kept = append(x.kept, id)
	return true
}

// check sees that what the peer read is what was sent.
func (c *chaos) check(x *chaotic) {
	if !bytes.HasPrefix(x.out[:x.given], x.u.in) {
		c.t.Fatalf("%#x: the peer got %s", x.s, short(x.u.in))
	}
}

// end closes everything and wants everything back.
func (c *chaos) end() {
	c.until("all accepted", func() bool { return len(c.order) == len(c.all) })
	c.meet()
	for _, x := range c.all {
		for _, id := range x.kept {
			c.r.Recycle(id)
		}
		x.kept = nil
		if !c.get(x.s).gaveUp {
			c.giveUp(x.s)
		}
	}
	c.until("all closed", c.allClosed)
	for _, x := range c.all {
		k := c.get(x.s)
		if k.fileReads != k.fileAsked {
			c.t.Errorf("%#x: %d files asked for, %d read", x.s, k.fileAsked, k.fileReads)
		}
		for _, b := range k.fileBufs {
			c.r.Buffers().Put(b[:0])
		}
	}
	if n := c.r.Buffers().Used(); n != 0 {
		c.t.Errorf("%d bytes of Buffers are not back", n)
	}
}
