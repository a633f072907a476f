package ech_test

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"

	"edge/ech"
	"edge/tlsstack/wire"
)

// Each MUST of RFC 9849, sections 5 to 7, that concerns a server before its
// handshake: the sentence, and a hello that keeps or breaks it. Second hellos (7.1.1)
// are in second_test.go, the signals of section 7.2 in confirm_test.go, and whatever
// takes a handshake in package tlsstack, in a file of this name.

// openInner seals an encoded inner hello and opens it.
func openInner(t *testing.T, outer *hello, encoded []byte) (ech.Outcome, *wire.ClientHello, error) {
	t.Helper()
	key := generate(t, ech.KeyParameters{})
	return openMessage(t, newSet(t, key), newClient(t, &key.Config, ech.Suites[0]).seal(t, outer, encoded))
}

// openMessage opens a hello as it came from the network.
func openMessage(t *testing.T, set *ech.Set, msg []byte) (ech.Outcome, *wire.ClientHello, error) {
	t.Helper()
	var outer, inner wire.ClientHello
	if err := wire.ParseClientHello(msg, &outer); err != nil {
		return 0, nil, err
	}
	outcome, _, err := set.Open(&outer, &inner, new(ech.Buffers))
	return outcome, &inner, err
}

func wantAlert(t *testing.T, what string, err error, alert wire.Alert) {
	t.Helper()
	checkAlert(t, what, err, expectation{Alert: alert.String()})
}

// TestPadding: 5.1 "If any padding byte is non-zero, the server MUST abort the
// connection with an "illegal_parameter" alert."
func TestPadding(t *testing.T) {
	for _, n := range []int{0, 1, 31, 4000} {
		encoded := append(newInner(groups, keyShare, schemes).body(), make([]byte, n)...)
		if outcome, _, err := openInner(t, newOuter(), encoded); outcome != ech.Accepted || err != nil {
			t.Errorf("%d zeros: %v, %v", n, outcome, err)
		}
		if n > 0 {
			encoded[len(encoded)-n/2-1] = 1
			_, _, err := openInner(t, newOuter(), encoded)
			wantAlert(t, "padding", err, wire.AlertIllegalParameter)
		}
	}
}

// TestReferences: 5.1 "The server MUST abort the connection with an
// "illegal_parameter" alert if any of the following are true".
func TestReferences(t *testing.T) {
	for what, types := range map[string][]wire.ExtensionType{
		"Any referenced extension is missing in ClientHelloOuter": {wire.ExtSupportedGroups, wire.ExtALPN},
		"Any extension is referenced in OuterExtensions more than once": {wire.ExtSupportedGroups,
			wire.ExtSupportedGroups},
		"“encrypted_client_hello” is referenced in OuterExtensions": {wire.ExtEncryptedClientHello},
		"do not occur in the same order":                            {wire.ExtKeyShare, wire.ExtSupportedGroups},
	} {
		_, _, err := openInner(t, newOuter(), newInner(outerExtensions(types...)).body())
		wantAlert(t, what, err, wire.AlertIllegalParameter)
	}
}

// TestReferencesExpand: 5.1 "it replaces the extension with the corresponding
// sequence of extensions in the ClientHelloOuter", and the session id is the
// outer one's.
func TestReferencesExpand(t *testing.T) {
	outer := newOuter()
	encoded := newInner(outerExtensions(wire.ExtSupportedGroups, wire.ExtKeyShare), schemes).body()
	_, inner, err := openInner(t, outer, encoded)
	if err != nil {
		t.Fatal(err)
	}
	want := newInner(groups, keyShare, schemes)
	want.sessionID = outer.sessionID
	if !bytes.Equal(inner.Raw, want.message()) {
		t.Errorf("rebuilt %x\ninstead of %x", inner.Raw, want.message())
	}
}

// TestOuterExtensionsPlace: 5.1 "The "ech_outer_extensions" extension can only be
// included in EncodedClientHelloInner, and MUST NOT appear in either
// ClientHelloOuter or ClientHelloInner."
func TestOuterExtensionsPlace(t *testing.T) {
	outer := newOuter()
	outer.extensions = append(outer.extensions, outerExtensions(wire.ExtSupportedGroups))
	_, _, err := openInner(t, outer, newInner(groups, keyShare, schemes).body())
	wantAlert(t, "outer", err, wire.AlertIllegalParameter)

	twice := newInner(outerExtensions(wire.ExtSupportedGroups), outerExtensions(wire.ExtKeyShare))
	_, _, err = openInner(t, newOuter(), twice.body())
	wantAlert(t, "twice", err, wire.AlertIllegalParameter)
}

// TestExpansionIsBounded: 5.1 "These requirements prevent an attacker from
// performing a packet amplification attack". The largest hello there can be, all
// of it referred to.
func TestExpansionIsBounded(t *testing.T) {
	outer := newOuter()
	var types []wire.ExtensionType
	for i := range wire.ExtensionType(127) {
		types = append(types, 0x6000+i)
		outer.extensions = append(outer.extensions, extension{0x6000 + i, make([]byte, 500)})
	}
	key := generate(t, ech.KeyParameters{})
	msg := newClient(t, &key.Config, ech.Suites[0]).seal(t, outer, newInner(outerExtensions(types...)).body())
	outcome, inner, err := openMessage(t, newSet(t, key), msg)
	if outcome != ech.Accepted || err != nil || len(inner.Raw) >= len(msg) || len(inner.Raw) < 127*500 {
		t.Errorf("%v, %v: %d bytes from %d", outcome, err, len(inner.Raw), len(msg))
	}
}

// TestReceivedBytesAreAuthenticated: field case E07. 5.2, the additional data "matches the
// ClientHelloOuter except that the payload field […] is replaced with a byte
// string of the same length but whose contents are zeros". Outer hellos with all
// that a parser could be tempted to write in another way, in shuffled order.
func TestReceivedBytesAreAuthenticated(t *testing.T) {
	key := generate(t, ech.KeyParameters{})
	set := newSet(t, key)
	encoded := newInner(groups, keyShare, schemes).body()
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 0))
		outer := newOuter()
		outer.sessionID = outer.sessionID[:32*r.IntN(2)]
		outer.suites = bytes.Repeat([]byte{0x13, 0x01, 0xc0, 0x2b}, 1+r.IntN(150))
		outer.extensions[0] = extension{wire.ExtServerName, append([]byte{0, 22, 9, 0, 2, 'x', 'y'},
			serverName("public.example").body[2:]...)} // an unknown name type in front
		outer.extensions = append(outer.extensions, extension{0x7777, []byte{1, 2}}, extension{0x2a2a, []byte{0}},
			extension{wire.ExtPadding, make([]byte, r.IntN(300))})
		r.Shuffle(len(outer.extensions), func(i, j int) {
			outer.extensions[i], outer.extensions[j] = outer.extensions[j], outer.extensions[i]
		})
		msg := newClient(t, &key.Config, ech.Suites[r.IntN(3)]).seal(t, outer, encoded)
		outcome, inner, err := openMessage(t, set, msg)
		if outcome != ech.Accepted || err != nil || !bytes.Equal(inner.SessionID, outer.sessionID) {
			t.Fatalf("seed %d: %v, %v", seed, outcome, err)
		}
		for range 20 { // one bit changed anywhere: not for us any more, or not a hello
			changed := bytes.Clone(msg)
			at := 4 + r.IntN(len(msg)-4)
			changed[at] ^= 1 << r.IntN(8)
			if outcome, _, err := openMessage(t, set, changed); outcome == ech.Accepted && err == nil {
				t.Fatalf("seed %d: accepted with byte %d changed", seed, at)
			}
		}
	}
}

// TestGREASE: field case E08. 6.2 and 7.1 "if all candidate ECHConfig values fail to decrypt the
// extension, the client-facing server MUST ignore the extension and proceed with
// the connection using ClientHelloOuter"; "If the server is configured with any
// ECHConfigs, it MUST include the "encrypted_client_hello" extension in its
// EncryptedExtensions".
func TestGREASE(t *testing.T) {
	key := generate(t, ech.KeyParameters{})
	set := newSet(t, key)
	for id := range 256 {
		for _, enc := range [][]byte{bytes.Repeat([]byte{5}, 32), make([]byte, 32), {}, {1}} {
			c := client{id: uint8(id), suite: ech.Suites[id%3], enc: enc, sealer: noise{}}
			outcome, _, err := openMessage(t, set, c.seal(t, newOuter(), make([]byte, 200)))
			if outcome != ech.Rejected || err != nil {
				t.Fatalf("config_id %d: %v, %v", id, outcome, err)
			}
		}
	}
	if set.RetryConfigs(time.Time{}) == nil {
		t.Error("no retry_configs")
	}
	var none *ech.Set
	c := client{sealer: noise{}}
	if outcome, _, err := openMessage(t, none, c.seal(t, newOuter(), []byte{1})); outcome != ech.Rejected || err != nil {
		t.Errorf("without keys: %v, %v", outcome, err)
	}
	if none.RetryConfigs(time.Now()) != nil {
		t.Error("retry_configs without keys")
	}
}

// noise seals nothing.
type noise struct{}

func (noise) Seal(pt, _ []byte) ([]byte, error) {
	return bytes.Repeat([]byte{0xa5}, len(pt)+16), nil
}

// TestType: 7 "a client-facing server which receives a ClientHello with
// ECHClientHello.type of inner MUST abort with an "illegal_parameter" alert"; "a
// backend server which receives a ClientHello with ECHClientHello.type of outer
// MUST abort with an "illegal_parameter" alert"; "If ECHClientHello.type is not a
// valid ECHClientHelloType, then the server MUST abort with an
// "illegal_parameter" alert"; "If the "encrypted_client_hello" is not present,
// then the server completes the handshake normally".
func TestType(t *testing.T) {
	facing := func(body []byte) error {
		outer := newOuter()
		outer.extensions[5].body = body
		_, _, err := openMessage(t, nil, outer.message())
		return err
	}
	backend := func(body []byte) (bool, error) {
		outer := newOuter()
		outer.extensions[5].body = body
		var h wire.ClientHello
		if err := wire.ParseClientHello(outer.message(), &h); err != nil {
			t.Fatal(err)
		}
		return ech.IsInner(&h)
	}
	wantAlert(t, "inner to a client-facing server", facing([]byte{1}), wire.AlertIllegalParameter)
	wantAlert(t, "type 2", facing([]byte{2}), wire.AlertIllegalParameter)
	wantAlert(t, "empty", facing(nil), wire.AlertDecodeError)
	if inner, err := backend([]byte{1}); !inner || err != nil {
		t.Error("inner to a backend server:", inner, err)
	}
	_, err := backend([]byte{0, 0, 1, 0, 1, 9, 0, 0, 0, 1, 0})
	wantAlert(t, "outer to a backend server", err, wire.AlertIllegalParameter)
	_, err = backend([]byte{2})
	wantAlert(t, "type 2 to a backend server", err, wire.AlertIllegalParameter)
	_, err = backend([]byte{1, 0})
	wantAlert(t, "inner with a body", err, wire.AlertDecodeError)
	_, err = backend(nil)
	wantAlert(t, "empty to a backend server", err, wire.AlertDecodeError)

	plain := newOuter()
	plain.extensions = plain.extensions[:5]
	var h wire.ClientHello
	if err := wire.ParseClientHello(plain.message(), &h); err != nil {
		t.Fatal(err)
	}
	if inner, err := ech.IsInner(&h); inner || err != nil {
		t.Error("no extension to a backend server:", inner, err)
	}
	if outcome, _, err := openMessage(t, nil, plain.message()); outcome != ech.None || err != nil {
		t.Error("no extension:", outcome, err)
	}
}

// TestExtensionForm: field case E04. 5, the structure of ECHClientHello. What does not fit is
// malformed, and not merely undecryptable.
func TestExtensionForm(t *testing.T) {
	good := []byte{0, 0, 1, 0, 1, 9, 0, 2, 1, 2, 0, 1, 0}
	check := func(what string, body []byte) {
		t.Helper()
		outer := newOuter()
		outer.extensions[5].body = body
		_, _, err := openMessage(t, nil, outer.message())
		wantAlert(t, what, err, wire.AlertDecodeError)
	}
	for n := range good {
		check("cut", good[:n])
	}
	check("trailing byte", append(bytes.Clone(good), 0))
	check("empty payload", []byte{0, 0, 1, 0, 1, 9, 0, 0, 0, 0})
}

// TestConfigIDSelects: 7.1 "implementations MUST use the first method", which
// compares config_id, and tries all configs that have the one given.
func TestConfigIDSelects(t *testing.T) {
	key := generate(t, ech.KeyParameters{})
	encoded := newInner(groups, keyShare, schemes).body()
	c := newClient(t, &key.Config, ech.Suites[0])
	c.id++
	if outcome, _, err := openMessage(t, newSet(t, key), c.seal(t, newOuter(), encoded)); outcome != ech.Rejected || err != nil {
		t.Errorf("another config_id: %v, %v", outcome, err)
	}

	var same []*ech.Key
	var taken []uint8
	for id := range 256 {
		if uint8(id) != key.Config.ID {
			taken = append(taken, uint8(id))
		}
	}
	for range 3 {
		same = append(same, generate(t, ech.KeyParameters{Taken: taken}))
	}
	same = append(same, key)
	for i, k := range same {
		msg := newClient(t, &k.Config, ech.Suites[0]).seal(t, newOuter(), encoded)
		if outcome, _, err := openMessage(t, newSet(t, same...), msg); outcome != ech.Accepted || err != nil {
			t.Errorf("key %d of four with one config_id: %v, %v", i, outcome, err)
		}
	}
}

// TestSuiteMustBeOffered: 7.1 "The server verifies that the ECHConfig supports the
// cipher suite indicated by the ECHClientHello.cipher_suite […] If not, the
// server continues to the next candidate ECHConfig."
func TestSuiteMustBeOffered(t *testing.T) {
	for _, kem := range []uint16{ech.KEMX25519, ech.KEMP256} {
		for i, have := range ech.Suites {
			key := generate(t, ech.KeyParameters{KEM: kem, Suites: []ech.Suite{have}})
			for j, used := range ech.Suites {
				msg := newClient(t, &key.Config, used).seal(t, newOuter(), newInner(groups, keyShare, schemes).body())
				outcome, _, err := openMessage(t, newSet(t, key), msg)
				if (outcome == ech.Accepted) != (i == j) || err != nil {
					t.Errorf("KEM %#x, config with %v, client with %v: %v, %v", kem, have, used, outcome, err)
				}
			}
		}
	}
}

// TestOneKeyTwoNames: 7.1 "The server MUST be careful not to unnecessarily reject
// connections if the same ECHConfig id or keypair is used in multiple ECHConfigs
// with distinct public names." The outer name is not compared at all.
func TestOneKeyTwoNames(t *testing.T) {
	key := generate(t, ech.KeyParameters{})
	for _, name := range []string{"other.example", "public.example"} {
		outer := newOuter()
		outer.extensions[0] = serverName(name)
		msg := newClient(t, &key.Config, ech.Suites[0]).seal(t, outer, newInner(groups, keyShare, schemes).body())
		if outcome, _, err := openMessage(t, newSet(t, key), msg); outcome != ech.Accepted || err != nil {
			t.Errorf("%s: %v, %v", name, outcome, err)
		}
	}
}

// TestInnerChecks: 7.1 "the client-facing server checks that the message includes
// a well-formed "encrypted_client_hello" extension of type inner and that it does
// not offer TLS 1.2 or below. If either of these checks fails, the client-facing
// server MUST abort with an "illegal_parameter" alert."
func TestInnerChecks(t *testing.T) {
	for what, change := range map[string]func(*hello){
		"no encrypted_client_hello": func(h *hello) { h.extensions = append(h.extensions[:2], h.extensions[3:]...) },
		"type outer":                func(h *hello) { h.extensions[2].body = []byte{0} },
		"type 2":                    func(h *hello) { h.extensions[2].body = []byte{2} },
		"trailing byte":             func(h *hello) { h.extensions[2].body = []byte{1, 0} },
		"TLS 1.2 too":               func(h *hello) { h.extensions[1].body = []byte{4, 3, 4, 3, 3} },
		"TLS 1.2 alone":             func(h *hello) { h.extensions[1].body = []byte{2, 3, 3} },
		"GREASE, 1.3, 1.2":          func(h *hello) { h.extensions[1].body = []byte{6, 0x1a, 0x1a, 3, 4, 3, 3} },
		"no supported_versions":     func(h *hello) { h.extensions = append(h.extensions[:1], h.extensions[2:]...) },
		"a session id":              func(h *hello) { h.sessionID = []byte{1} },
	} {
		inner := newInner(groups, keyShare, schemes)
		change(inner)
		_, _, err := openInner(t, newOuter(), inner.body())
		wantAlert(t, what, err, wire.AlertIllegalParameter)
	}
	for what, versions := range map[string][]byte{
		"GREASE first": {4, 0x1a, 0x1a, 3, 4},
		"GREASE alone": {4, 0x1a, 0x1a, 0x2a, 0x2a}, // protocol_version is the handshake's to send
	} {
		inner := newInner(groups, keyShare, schemes)
		inner.extensions[1].body = versions
		if outcome, _, err := openInner(t, newOuter(), inner.body()); outcome != ech.Accepted || err != nil {
			t.Errorf("%s: %v, %v", what, outcome, err)
		}
	}
}

// TestInnerCut: an EncodedClientHelloInner cut at every byte is refused.
func TestInnerCut(t *testing.T) {
	key := generate(t, ech.KeyParameters{})
	set := newSet(t, key)
	encoded := newInner(outerExtensions(wire.ExtSupportedGroups, wire.ExtKeyShare), schemes).body()
	for n := 1; n < len(encoded); n++ {
		msg := newClient(t, &key.Config, ech.Suites[0]).seal(t, newOuter(), encoded[:n])
		_, _, err := openMessage(t, set, msg)
		wantAlert(t, "cut", err, wire.AlertDecodeError)
	}
}
