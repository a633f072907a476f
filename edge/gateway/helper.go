package gateway

import (
	"encoding/binary"
	"math/rand/v2"
	"strconv"
	"unicode/utf8"

	"edge/bpfvm"
)

// Helpers are what programs call, by the numbers of edge.h. A test holds names and
// numbers there and here together.
//
//	helper.go          the table; log, time, random
//	helpervalues.go    the key-value map
//	helperpeer.go      the connection and TLS
//	helperhello.go     the ClientHello and verdicts
//	helperclient.go    the client's certificate
//	helperrequest.go   the request
//	helperproxy.go     its body, and applications
//	helperanswer.go    the answer
//
// Each runs on the worker's thread between two instructions of the program. None
// allocates but those that log.

// programHelpers is the table that objects are linked with.
var programHelpers = append(bpfvm.MapHelpers(),
	bpfvm.HelperSpec{Number: 1000, Name: "edge_log", Func: helpLog},
	bpfvm.HelperSpec{Number: 1001, Name: "edge_time", Func: helpTime},
	bpfvm.HelperSpec{Number: 1002, Name: "edge_random", Func: helpRandom},
	bpfvm.HelperSpec{Number: 1010, Name: "edge_kv_get", Func: helpValueGet},
	bpfvm.HelperSpec{Number: 1011, Name: "edge_kv_set", Func: helpValueSet},
	bpfvm.HelperSpec{Number: 1012, Name: "edge_kv_delete", Func: helpValueDelete},

	bpfvm.HelperSpec{Number: 1100, Name: "edge_peer", Func: helpPeer},
	bpfvm.HelperSpec{Number: 1110, Name: "edge_tls_sni", Func: helpSNI},
	bpfvm.HelperSpec{Number: 1111, Name: "edge_tls_outer_sni", Func: helpOuterSNI},
	bpfvm.HelperSpec{Number: 1112, Name: "edge_tls_alpn", Func: helpALPN},
	bpfvm.HelperSpec{Number: 1113, Name: "edge_tls_ja4", Func: helpJA4},
	bpfvm.HelperSpec{Number: 1114, Name: "edge_tls_ja4_inner", Func: helpJA4Inner},

	bpfvm.HelperSpec{Number: 1120, Name: "edge_client_subject", Func: helpClientSubject},
	bpfvm.HelperSpec{Number: 1121, Name: "edge_client_issuer", Func: helpClientIssuer},
	bpfvm.HelperSpec{Number: 1122, Name: "edge_client_sha256", Func: helpClientDigest},
	bpfvm.HelperSpec{Number: 1123, Name: "edge_client_name", Func: helpClientName},

	bpfvm.HelperSpec{Number: 1200, Name: "edge_hello_alpn", Func: helpHelloALPN},
	bpfvm.HelperSpec{Number: 1210, Name: "edge_hello_relay", Func: helpHelloRelay},
	bpfvm.HelperSpec{Number: 1211, Name: "edge_hello_refuse", Func: helpHelloRefuse},
	bpfvm.HelperSpec{Number: 1212, Name: "edge_hello_drop", Func: helpHelloDrop},
	bpfvm.HelperSpec{Number: 1213, Name: "edge_hello_ban", Func: helpHelloBan},

	bpfvm.HelperSpec{Number: 1300, Name: "edge_request_method", Func: helpMethod},
	bpfvm.HelperSpec{Number: 1301, Name: "edge_request_target", Func: helpTarget},
	bpfvm.HelperSpec{Number: 1302, Name: "edge_request_path", Func: helpPath},
	bpfvm.HelperSpec{Number: 1303, Name: "edge_request_query", Func: helpQuery},
	bpfvm.HelperSpec{Number: 1304, Name: "edge_request_host", Func: helpHost},
	bpfvm.HelperSpec{Number: 1305, Name: "edge_request_header", Func: helpRequestHeader},
	bpfvm.HelperSpec{Number: 1310, Name: "edge_request_body_wait", Func: helpBodyWait},
	bpfvm.HelperSpec{Number: 1311, Name: "edge_request_body", Func: helpBody},

	bpfvm.HelperSpec{Number: 1400, Name: "edge_respond", Func: helpRespond},
	bpfvm.HelperSpec{Number: 1401, Name: "edge_proxy", Func: helpProxy},
	bpfvm.HelperSpec{Number: 1410, Name: "edge_header_set", Func: helpHeaderSet},
	bpfvm.HelperSpec{Number: 1411, Name: "edge_header_add", Func: helpHeaderAdd},
	bpfvm.HelperSpec{Number: 1412, Name: "edge_header_delete", Func: helpHeaderDelete},
	bpfvm.HelperSpec{Number: 1413, Name: "edge_header_get", Func: helpHeaderGet},
	bpfvm.HelperSpec{Number: 1414, Name: "edge_status_set", Func: helpStatusSet},
)

var helperTable = mustTable(programHelpers)

func mustTable(specs []bpfvm.HelperSpec) *bpfvm.HelperTable {
	t, err := bpfvm.NewHelperTable(specs...)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return t
}

// Errors as programs see them: the negative numbers of edge.h.
const (
	errPermission  = -1
	errNoEntry     = -2
	errTooBig      = -7
	errInvalid     = -22
	errNoSpace     = -28
	charge16Bytes  = 16 // bytes that cost a program one instruction
	chargePeerText = 100
	chargeLog      = 3000 // a line takes a microsecond
)

// fails makes an error a helper's result.
func fails(e int64) (uint64, bool) { return uint64(e), true }

func runOf(t *bpfvm.Task) *programRun { return t.User.(*programRun) }

// argument returns the bytes that arguments n and n+1, pointer and length, name.
// False: the program has failed.
func argument(t *bpfvm.Task, n int) ([]byte, bool) {
	length := t.Arg(n + 1)
	if length == 0 {
		return nil, true
	}
	if length <= guestBytesMax {
		if b, ok := t.Readable(t.Arg(n), int(length)); ok {
			t.Charge(len(b) / charge16Bytes)
			return b, true
		}
	}
	t.Fail(badPointer(n, "readable"))
	return nil, false
}

// guestBytesMax is above any program's memory, and keeps a length from becoming
// a negative int.
const guestBytesMax = 1 << 31

func badPointer(n int, what string) string {
	return "argument " + strconv.Itoa(n) + " is no pointer to as many " + what + " bytes as argument " + strconv.Itoa(n+1) + " says"
}

// give writes as much of v as fits into the buffer that arguments n and n+1 name,
// and returns its whole length.
func give[T ~string | ~[]byte](t *bpfvm.Task, v T, n int) (uint64, bool) {
	k := len(v)
	if size := t.Arg(n + 1); size < uint64(k) {
		k = int(size)
	}
	if k > 0 {
		dst, ok := t.Writable(t.Arg(n), k)
		if !ok {
			t.Fail(badPointer(n, "writable"))
			return 0, true
		}
		copy(dst, v)
		t.Charge(k / charge16Bytes)
	}
	return uint64(len(v)), true
}

// scriptLogMax is the longest line of edge_log, scriptLogPerSecond how many each
// file may write.
const (
	scriptLogMax       = 512
	scriptLogPerSecond = 100
)

// helpLog: edge_log(text, length).
func helpLog(t *bpfvm.Task) (uint64, bool) {
	text, ok := argument(t, 1)
	if !ok {
		return 0, true
	}
	t.Charge(chargeLog)
	r := runOf(t)
	file := r.chain[r.at].file
	r.c.w.server.log.limitedTo(scriptLogPerSecond, file, "%s: %s", file, escaped(text[:min(len(text), scriptLogMax)]))
	return 0, true
}

// escaped makes a program's text fit for a line: what is no printable UTF-8 is
// escaped, the rest stays as it is.
func escaped(b []byte) string {
	var out []byte
	for len(b) > 0 {
		r, size := utf8.DecodeRune(b)
		if r == utf8.RuneError && size == 1 || !strconv.IsPrint(r) {
			out = append(out, '\\', 'x', "0123456789abcdef"[b[0]>>4], "0123456789abcdef"[b[0]&15])
			b = b[1:]
			continue
		}
		out = append(out, b[:size]...)
		b = b[size:]
	}
	return string(out)
}

// helpTime: edge_time().
func helpTime(t *bpfvm.Task) (uint64, bool) { return uint64(runOf(t).c.w.r.Wall().UnixNano()), true }

// helpRandom: edge_random().
func helpRandom(t *bpfvm.Task) (uint64, bool) { return runOf(t).c.w.randomBits(), true }

// randomBits returns 64 bits of a generator that was seeded once: the kernel is
// not asked for each.
func (w *worker) randomBits() uint64 {
	if w.bits == nil {
		var seed [32]byte
		for i := 0; i < len(seed); i += 8 {
			binary.LittleEndian.PutUint64(seed[i:], w.seedBits())
		}
		w.bits = rand.NewChaCha8(seed)
	}
	return w.bits.Uint64()
}

func (w *worker) seedBits() uint64 {
	var b [8]byte
	w.server.rand.Read(b[:]) // fails only where nothing else works either
	return binary.LittleEndian.Uint64(b[:])
}
