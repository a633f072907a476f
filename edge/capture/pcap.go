package capture

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// ErrFormat means that the input is neither pcap nor pcapng.
var ErrFormat = errors.New("neither pcap nor pcapng")

const (
	packetBytesMax = 256 << 10 // as much as any tool writes for a packet
	blockBytesMax  = 16 << 20  // of a pcapng block, of which packets are one kind
	interfacesMax  = 4096      // of a pcapng section
)

// Magic numbers, as the first four bytes stand in the file.
const (
	magicMicro  = 0xa1b2c3d4
	magicNano   = 0xa1b23c4d
	magicPcapNG = 0x0a0d0d0a
	magicOrder  = 0x1a2b3c4d // of a section, tells its byte order
)

// IsCapture says whether the first bytes of a file, four at least, are those of a
// capture.
func IsCapture(b []byte) bool {
	if len(b) < 4 {
		return false
	}
	_, classic := orderOf(b)
	return classic || binary.BigEndian.Uint32(b) == magicPcapNG
}

// orderOf tells the byte order of a pcap file by its magic number.
func orderOf(b []byte) (binary.ByteOrder, bool) {
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		if m := order.Uint32(b); m == magicMicro || m == magicNano {
			return order, true
		}
	}
	return nil, false
}

// packets calls yield with the link type and the bytes of each packet. A file that
// ends in the middle of one ends before it.
func packets(r io.Reader, yield func(link uint32, packet []byte)) error {
	in := bufio.NewReaderSize(r, 64<<10)
	start, err := in.Peek(4)
	if err != nil {
		return ErrFormat
	}
	if order, ok := orderOf(start); ok {
		err = readPcap(in, order, yield)
	} else if binary.BigEndian.Uint32(start) == magicPcapNG {
		err = readPcapNG(in, yield)
	} else {
		return ErrFormat
	}
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return nil
	}
	return err
}

// readPcap reads
//
//	magic 4  version 4  zone 4  accuracy 4  length limit 4  link type 4
//	( seconds 4  fraction 4  captured 4  original 4  bytes )*
func readPcap(in io.Reader, order binary.ByteOrder, yield func(uint32, []byte)) error {
	var head [24]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return err
	}
	link := order.Uint32(head[20:]) & 0xffff // the rest says how long a checksum is
	var buf []byte
	for {
		if _, err := io.ReadFull(in, head[:16]); err != nil {
			return err
		}
		n := order.Uint32(head[8:])
		if n > packetBytesMax {
			return fmt.Errorf("a packet of %d bytes, more than packetBytesMax %d", n, packetBytesMax)
		}
		var err error
		if buf, err = readInto(in, buf, int(n)); err != nil {
			return err
		}
		yield(link, buf)
	}
}

// readInto reads n bytes into buf, grown as need be.
func readInto(in io.Reader, buf []byte, n int) ([]byte, error) {
	if cap(buf) < n {
		buf = make([]byte, n)
	}
	buf = buf[:n]
	_, err := io.ReadFull(in, buf)
	return buf, err
}

// Block types of pcapng.
const (
	blockInterface = 1
	blockPacket    = 2 // obsolete
	blockSimple    = 3
	blockEnhanced  = 6
)

// readPcapNG reads blocks:
//
//	type 4  length 4  body  length 4
//
// A section block begins a section with a byte order of its own, and forgets the
// interfaces of the one before.
func readPcapNG(in io.Reader, yield func(uint32, []byte)) error {
	var order binary.ByteOrder = binary.LittleEndian
	var links []uint32
	var head [12]byte
	var buf []byte
	for {
		if _, err := io.ReadFull(in, head[:8]); err != nil {
			return err
		}
		kind, used := order.Uint32(head[:]), 8
		if binary.BigEndian.Uint32(head[:]) == magicPcapNG {
			if _, err := io.ReadFull(in, head[8:]); err != nil {
				return err
			}
			kind, used, links = magicPcapNG, 12, nil
			switch uint32(magicOrder) {
			case binary.LittleEndian.Uint32(head[8:]):
				order = binary.LittleEndian
			case binary.BigEndian.Uint32(head[8:]):
				order = binary.BigEndian
			default:
				return ErrFormat
			}
		}
		n := order.Uint32(head[4:])
		if n > blockBytesMax || n%4 != 0 || int(n) < used+4 {
			return fmt.Errorf("a block of %d bytes: malformed, or more than blockBytesMax %d", n, blockBytesMax)
		}
		var err error
		if buf, err = readInto(in, buf, int(n)-used); err != nil {
			return err
		}
		body := buf[:len(buf)-4]
		switch kind {
		case blockInterface:
			if len(body) >= 8 && len(links) < interfacesMax {
				links = append(links, uint32(order.Uint16(body)))
			}
		case blockEnhanced, blockPacket, blockSimple:
			if link, packet, ok := blockContent(kind, order, body, links); ok {
				yield(link, packet)
			}
		}
	}
}

// blockContent takes the packet out of a block.
//
//	enhanced   interface 4  time 8  captured 4  original 4  bytes
//	obsolete   interface 2  drops 2  time 8  captured 4  original 4  bytes
//	simple     original 4  bytes
func blockContent(kind uint32, order binary.ByteOrder, body []byte, links []uint32) (link uint32, packet []byte, ok bool) {
	if kind == blockSimple {
		if len(body) < 4 || len(links) == 0 {
			return 0, nil, false
		}
		n := min(uint64(order.Uint32(body)), uint64(len(body)-4))
		return links[0], body[4 : 4+n], true
	}
	if len(body) < 20 {
		return 0, nil, false
	}
	from := order.Uint32(body)
	if kind == blockPacket {
		from = uint32(order.Uint16(body))
	}
	n := order.Uint32(body[12:])
	if int64(from) >= int64(len(links)) || int64(n) > int64(len(body)-20) {
		return 0, nil, false
	}
	return links[from], body[20 : 20+n], true
}
