package wire_test

import (
	"bytes"
	"errors"
	"testing"

	"edge/tlsstack/wire"
)

// TestParseRealHellos parses every valid hello and checks that what was found
// is where it says it is.
func TestParseRealHellos(t *testing.T) {
	var h wire.ClientHello
	for _, v := range validHellos(t) {
		if err := wire.ParseClientHello(v.msg, &h); err != nil {
			t.Errorf("%s: %v", v.name, err)
			continue
		}
		end := h.ExtensionsOffset + 2
		for _, e := range h.Extensions {
			if e.Offset != end+4 || !bytes.Equal(h.Raw[e.Offset:e.Offset+len(e.Body)], e.Body) {
				t.Fatalf("%s: extension %d not at offset %d", v.name, e.Type, e.Offset)
			}
			end = e.Offset + len(e.Body)
		}
		if end != len(h.Raw) {
			t.Errorf("%s: extensions end at %d of %d", v.name, end, len(h.Raw))
		}
	}
}

// TestParseCutHello cuts every valid hello at every byte: always decode_error,
// never a panic.
func TestParseCutHello(t *testing.T) {
	var h wire.ClientHello
	for _, v := range validHellos(t) {
		for n := range v.msg {
			err := wire.ParseClientHello(v.msg[:n], &h)
			if want := (*wire.Error)(nil); !errors.As(err, &want) || want.Alert != wire.AlertDecodeError {
				t.Fatalf("%s cut at %d: %v", v.name, n, err)
			}
		}
	}
}

// TestParseAllocatesNothing parses into a struct that was used before.
func TestParseAllocatesNothing(t *testing.T) {
	var h wire.ClientHello
	hellos := capturedHellos(t)
	parse := func() {
		for _, v := range hellos {
			if wire.ParseClientHello(v.msg, &h) != nil || h.CheckTLS13() != nil {
				t.Fatal(v.name)
			}
		}
	}
	parse()
	if n := testing.AllocsPerRun(10, parse); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkParseClientHello(b *testing.B) {
	var h wire.ClientHello
	hellos := capturedHellos(b)
	for i := 0; b.Loop(); i++ {
		if wire.ParseClientHello(hellos[i%len(hellos)].msg, &h) != nil || h.CheckTLS13() != nil {
			b.Fatal("parse")
		}
	}
}
