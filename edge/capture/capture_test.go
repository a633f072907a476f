package capture

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"slices"
	"testing"
)

// messages are hellos of real clients.
func messages(t testing.TB) [][]byte {
	t.Helper()
	b, err := os.ReadFile("../../testvectors/ja4/pcap_tcp.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []struct {
		Hello string `json:"client_hello_hex"`
	}
	if err := json.Unmarshal(b, &vectors); err != nil {
		t.Fatal(err)
	}
	var out [][]byte
	for _, v := range vectors {
		msg, err := hex.DecodeString(v.Hello)
		if err != nil || len(msg) == 0 {
			t.Fatalf("vector %q: %v", v.Hello, err)
		}
		out = append(out, msg)
	}
	if len(out) < 10 {
		t.Fatalf("only %d vectors", len(out))
	}
	return out
}

// records puts a message into TLS records of at most n bytes.
func records(msg []byte, n int) []byte {
	var out []byte
	for piece := range slices.Chunk(msg, n) {
		out = append(out, recordHandshake, 3, 1, byte(len(piece)>>8), byte(len(piece)))
		out = append(out, piece...)
	}
	return out
}

// maker writes packets of one kind.
type maker struct {
	link  uint32
	frame func(ip []byte) []byte
	six   bool
}

func ether(kind uint16, tags ...uint16) func([]byte) []byte {
	return func(ip []byte) []byte {
		b := make([]byte, 12)
		for _, tag := range tags {
			b = binary.BigEndian.AppendUint16(b, tag)
			b = append(b, 0, 7)
		}
		return append(binary.BigEndian.AppendUint16(b, kind), ip...)
	}
}

func behind(n int, start ...byte) func([]byte) []byte {
	return func(ip []byte) []byte { return append(append(start, make([]byte, n-len(start))...), ip...) }
}

var makers = map[string]maker{
	"ethernet, IPv4":      {linkEthernet, ether(etherIPv4), false},
	"ethernet, IPv6":      {linkEthernet, ether(etherIPv6), true},
	"two VLAN tags":       {linkEthernet, ether(etherIPv4, etherQinQ, etherVLAN), false},
	"raw":                 {linkRaw, behind(0), false},
	"raw, IPv6":           {linkIPv6, behind(0), true},
	"loopback":            {linkNull, behind(4, 2), false},
	"cooked":              {linkSLL, func(ip []byte) []byte { return append(append(make([]byte, 14), 8, 0), ip...) }, false},
	"cooked, version two": {linkSLL2, behind(20, 0x86, 0xdd), true},
}

// packet makes a frame with a TCP segment from the client with a port.
func (m maker) packet(port uint16, seq uint32, syn bool, data []byte) []byte {
	tcp := binary.BigEndian.AppendUint16(nil, port)
	tcp = binary.BigEndian.AppendUint16(tcp, 443)
	tcp = binary.BigEndian.AppendUint32(tcp, seq)
	tcp = append(tcp, 0, 0, 0, 0, 6<<4, 0x10, 0, 0, 0, 0, 0, 0, 1, 1, 1, 0)
	if syn {
		tcp[13] = 2
	}
	tcp = append(tcp, data...)
	var ip []byte
	if m.six {
		ip = append(ip, 0x60, 0, 0, 0)
		ip = binary.BigEndian.AppendUint16(ip, uint16(8+len(tcp)))
		ip = append(ip, 60, 64) // destination options stand before TCP
		ip = append(ip, netip.MustParseAddr("2001:db8::1").AsSlice()...)
		ip = append(ip, netip.MustParseAddr("2001:db8::2").AsSlice()...)
		ip = append(ip, protocolTCP, 0, 1, 4, 0, 0, 0, 0)
	} else {
		ip = append(ip, 0x45, 0)
		ip = binary.BigEndian.AppendUint16(ip, uint16(20+len(tcp)))
		ip = append(ip, 0, 0, 0x40, 0, 64, protocolTCP, 0, 0, 192, 0, 2, 1, 198, 51, 100, 1)
	}
	return m.frame(append(ip, tcp...))
}

// pcap makes a file of packets.
func pcap(order binary.ByteOrder, magic uint32, link uint32, frames ...[]byte) []byte {
	b := make([]byte, 24)
	order.PutUint32(b, magic)
	order.PutUint32(b[20:], link)
	for _, f := range frames {
		head := make([]byte, 16)
		order.PutUint32(head[8:], uint32(len(f)))
		order.PutUint32(head[12:], uint32(len(f)))
		b = append(append(b, head...), f...)
	}
	return b
}

// block makes a block of a pcapng.
func block(order binary.ByteOrder, kind uint32, body []byte) []byte {
	body = append(slices.Clone(body), make([]byte, -len(body)&3)...)
	b := make([]byte, 8)
	order.PutUint32(b, kind)
	order.PutUint32(b[4:], uint32(len(body)+12))
	b = append(b, body...)
	return append(b, b[4:8]...)
}

func pcapng(order binary.ByteOrder, link uint32, frames ...[]byte) []byte {
	section := make([]byte, 16)
	order.PutUint32(section, magicOrder)
	iface := make([]byte, 8)
	order.PutUint16(iface, uint16(link))
	b := append(block(order, magicPcapNG, section), block(order, 5, []byte("statistics"))...)
	b = append(b, block(order, blockInterface, iface)...)
	for i, f := range frames {
		switch i % 3 {
		case 0, 1:
			kind := []uint32{blockEnhanced, blockPacket}[i%3]
			head := make([]byte, 20)
			order.PutUint32(head[12:], uint32(len(f)))
			b = append(b, block(order, kind, append(head, f...))...)
		default:
			head := make([]byte, 4)
			order.PutUint32(head, uint32(len(f)))
			b = append(b, block(order, blockSimple, append(head, f...))...)
		}
	}
	return b
}

func hellosOf(t testing.TB, file []byte) []Hello {
	t.Helper()
	var all []Hello
	if err := Read(bytes.NewReader(file), func(h Hello) { all = append(all, h) }); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestFormats(t *testing.T) {
	msg := messages(t)[0]
	data := records(msg, 1000)
	for name, m := range makers {
		frames := [][]byte{m.packet(1000, 76, true, nil), m.packet(1000, 77, false, data[:100]), m.packet(1000, 177, false, data[100:])}
		for format, file := range map[string][]byte{
			"pcap":            pcap(binary.LittleEndian, magicMicro, m.link, frames...),
			"pcap, big, nano": pcap(binary.BigEndian, magicNano, m.link, frames...),
			"pcapng":          pcapng(binary.LittleEndian, m.link, frames...),
			"pcapng, big":     pcapng(binary.BigEndian, m.link, frames...),
			"two sections":    append(pcapng(binary.BigEndian, m.link), pcapng(binary.LittleEndian, m.link, frames...)...),
		} {
			all := hellosOf(t, file)
			if len(all) != 1 || !bytes.Equal(all[0].Message, msg) {
				t.Fatalf("%s, %s: %d hellos", name, format, len(all))
			}
			if all[0].From.Port() != 1000 || all[0].To.Port() != 443 || all[0].From.Addr().Is6() != m.six {
				t.Errorf("%s, %s: from %v to %v", name, format, all[0].From, all[0].To)
			}
			for cut := 0; cut < len(file); cut += 1 + cut/100 {
				if err := Read(bytes.NewReader(file[:cut]), func(Hello) {}); err != nil && cut >= 4 {
					t.Fatalf("%s, %s: cut after %d bytes: %v", name, format, cut, err)
				}
			}
		}
	}
}

// However the bytes are cut, repeated and reordered, the same hellos come out.
func TestReassembly(t *testing.T) {
	m := makers["ethernet, IPv4"]
	all := messages(t)
	for seed := range uint64(50) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		var frames [][]byte
		for i, msg := range all {
			data := append(records(msg, 1+rnd.IntN(1500)), "what follows"...)
			isn := rnd.Uint32()
			own := [][]byte{m.packet(uint16(i+1), isn, true, nil)}
			var later [][]byte
			for at := 0; at < len(data); {
				n := min(1+rnd.IntN(700), len(data)-at)
				from := max(0, at-rnd.IntN(50)) // overlapping what was sent
				later = append(later, m.packet(uint16(i+1), isn+1+uint32(from), false, data[from:at+n]))
				if rnd.IntN(4) == 0 {
					later = append(later, later[len(later)-1])
				}
				at += n
			}
			if rnd.IntN(2) == 0 && len(later) < aheadMax {
				rnd.Shuffle(len(later), func(a, b int) { later[a], later[b] = later[b], later[a] })
			}
			frames = append(frames, append(own, later...)...)
		}
		found := map[uint16][]byte{}
		for _, h := range hellosOf(t, pcap(binary.LittleEndian, magicMicro, m.link, frames...)) {
			if found[h.From.Port()] != nil {
				t.Fatalf("seed %d: port %d twice", seed, h.From.Port())
			}
			found[h.From.Port()] = h.Message
		}
		for i, msg := range all {
			if !bytes.Equal(found[uint16(i+1)], msg) {
				t.Errorf("seed %d: hello %d is not found as it is", seed, i)
			}
		}
	}
}

// A port is used again; a capture begins in the middle; what is no TLS is passed
// over.
func TestStreams(t *testing.T) {
	m := makers["raw"]
	all := messages(t)
	a, b := records(all[0], 4000), records(all[1], 4000)
	for name, tc := range map[string]struct {
		frames [][]byte
		want   [][]byte
	}{
		"port used again": {[][]byte{m.packet(1, 9, true, nil), m.packet(1, 10, false, a), m.packet(1, 99, true, nil), m.packet(1, 100, false, b)}, [][]byte{all[0], all[1]}},
		"SYN repeated":    {[][]byte{m.packet(1, 9, true, nil), m.packet(1, 9, true, nil), m.packet(1, 10, false, a)}, [][]byte{all[0]}},
		"without its SYN": {[][]byte{m.packet(1, 10, false, a)}, [][]byte{all[0]}},
		"data in the SYN": {[][]byte{m.packet(1, 9, true, a)}, [][]byte{all[0]}},
		"wraps around":    {[][]byte{m.packet(1, 0xfffffff0, true, nil), m.packet(1, 0xfffffff1, false, a[:100]), m.packet(1, 100-15, false, a[100:])}, [][]byte{all[0]}},
		"HTTP":            {[][]byte{m.packet(1, 9, true, nil), m.packet(1, 10, false, []byte("GET / HTTP/1.1\r\n\r\n")), m.packet(1, 28, false, a)}, nil},
		"server hello":    {[][]byte{m.packet(1, 10, false, records([]byte{2, 0, 0, 1, 0}, 100))}, nil},
		"too long":        {[][]byte{m.packet(1, 10, false, records([]byte{1, 2, 0, 0, 0}, 100))}, nil},
		"never whole":     {[][]byte{m.packet(1, 10, false, a[:len(a)-1])}, nil},
		"empty records":   {[][]byte{m.packet(1, 10, false, append([]byte{22, 3, 1, 0, 0}, a...))}, nil},
	} {
		var got [][]byte
		for _, h := range hellosOf(t, pcap(binary.LittleEndian, magicMicro, linkRaw, tc.frames...)) {
			got = append(got, h.Message)
		}
		if !slices.EqualFunc(got, tc.want, bytes.Equal) {
			t.Errorf("%s: %d hellos, want %d", name, len(got), len(tc.want))
		}
	}
}

// Vectors of one message in many records.
func TestFragmentedRecords(t *testing.T) {
	b, err := os.ReadFile("../../testvectors/ja4/fragmented_records.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []struct {
		Name    string `json:"name"`
		Records string `json:"records_hex"`
	}
	if err := json.Unmarshal(b, &vectors); err != nil || len(vectors) == 0 {
		t.Fatalf("%d vectors, %v", len(vectors), err)
	}
	for _, v := range vectors {
		data, err := hex.DecodeString(v.Records)
		if err != nil {
			t.Fatal(err)
		}
		if msg := HelloOf(data); len(msg) == 0 {
			t.Errorf("%s: no hello", v.Name)
		}
		for cut := range data {
			if msg, want := helloIn(data[:cut]); msg == nil && want <= cut && want != 0 {
				t.Fatalf("%s: after %d bytes it wants %d", v.Name, cut, want)
			}
		}
	}
}

// More connections than there is room for: the newest are followed.
func TestManyStreams(t *testing.T) {
	r := &reader{streams: map[streamKey]*stream{}}
	found := 0
	r.yield = func(Hello) { found++ }
	data := records(messages(t)[0], 4000)
	to := netip.MustParseAddrPort("198.51.100.1:443")
	for i := range 3 * streamsMax {
		from := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), 1)
		r.take(segment{from: from, to: to, seq: 1, syn: true, data: data[:50]})
		if i%2 == 0 || i >= 2*streamsMax+streamsMax/2 {
			r.take(segment{from: from, to: to, seq: 51, data: data[50:]})
		}
	}
	if found != streamsMax/4*7 || len(r.streams) > streamsMax {
		t.Errorf("%d hellos, %d streams", found, len(r.streams))
	}
	for key, st := range r.streams {
		r.forget(key, st)
	}
	if r.kept != 0 {
		t.Errorf("%d bytes are still counted", r.kept)
	}
}

func TestRefusals(t *testing.T) {
	big := pcap(binary.LittleEndian, magicMicro, linkRaw, nil)
	binary.LittleEndian.PutUint32(big[24+8:], packetBytesMax+1)
	long := block(binary.LittleEndian, magicPcapNG, binary.LittleEndian.AppendUint32(nil, magicOrder))
	binary.LittleEndian.PutUint32(long[4:], blockBytesMax+4)
	order := block(binary.LittleEndian, magicPcapNG, make([]byte, 16))
	for name, file := range map[string][]byte{"empty": nil, "text": []byte("hello, world"), "large packet": big, "large block": long, "no byte order": order} {
		if err := Read(bytes.NewReader(file), func(Hello) {}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if IsCapture([]byte{1, 2}) || IsCapture([]byte("1603")) || !IsCapture(big) || !IsCapture(long) {
		t.Error("IsCapture is wrong")
	}
}

func FuzzRead(f *testing.F) {
	msg := messages(f)[0]
	for _, m := range makers {
		frames := [][]byte{m.packet(1, 9, true, nil), m.packet(1, 10, false, records(msg, 100))}
		f.Add(pcap(binary.LittleEndian, magicMicro, m.link, frames...))
		f.Add(pcapng(binary.BigEndian, m.link, frames...))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		Read(bytes.NewReader(file), func(h Hello) {
			if len(h.Message) < messageHead || len(h.Message) > helloBytesMax || h.Message[0] != typeClientHello {
				t.Fatal(fmt.Sprintf("no hello: %.20x", h.Message))
			}
		})
	})
}
