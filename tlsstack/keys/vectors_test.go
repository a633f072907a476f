package keys

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"edge/tlsstack/wire"
)

// readVectors decodes a file of testvectors.
func readVectors(t testing.TB, into any, path ...string) {
	t.Helper()
	file, err := os.ReadFile(filepath.Join(append([]string{"..", "..", "testvectors"}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(file, into); err != nil {
		t.Fatal(err)
	}
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatalf("not hex: %q", s)
	}
	return b
}

// rfcTrace is one trace of RFC 8448.
type rfcTrace struct {
	Name     string
	Messages []struct{ From, Type, Message string }
	Secrets  map[string]string

	ServerX25519 string `json:"server_x25519_private"`
	ServerP256   string `json:"server_p256_private"`
	ClientX25519 string `json:"client_x25519_public"`
	ClientP256   string `json:"client_p256_public"`
}

func readTraces(t testing.TB) []rfcTrace {
	var file struct{ Traces []rfcTrace }
	readVectors(t, &file, "rfc8448", "rfc8448.json")
	if len(file.Traces) != 5 {
		t.Fatalf("%d traces", len(file.Traces))
	}
	return file.Traces
}

// secret returns a value of the trace.
func (tr *rfcTrace) secret(t testing.TB, name string) []byte {
	t.Helper()
	s, ok := tr.Secrets[name]
	if !ok {
		t.Fatalf("trace has no %s", name)
	}
	return unhex(t, s)
}

// check compares a value with the trace's, if it has one of the name.
func (tr *rfcTrace) check(t *testing.T, name string, got []byte) {
	t.Helper()
	if want, ok := tr.Secrets[name]; ok && hex.EncodeToString(got) != want {
		t.Errorf("%s is %x, want %s", name, got, want)
	}
}

// TestLadderRFC8448 goes down the ladder with the inputs of each trace and
// compares every secret on the way.
func TestLadderRFC8448(t *testing.T) {
	for _, tr := range readTraces(t) {
		t.Run(tr.Name, func(t *testing.T) { walkTrace(t, &tr) })
	}
}

func walkTrace(t *testing.T, tr *rfcTrace) {
	suite := SuiteByID(wire.SuiteAES128GCMSHA256)
	n := suite.HashLen
	var transcript Transcript
	var traffic Traffic
	var early Early
	var handshake Handshake
	var master Master
	transcript.Start(suite)

	psk, resumed := tr.Secrets["psk"]
	if resumed {
		early.Start(suite, unhex(t, psk))
		tr.check(t, "early_secret", early.l.secret[:n])
		tr.check(t, "binder", early.Binder(&traffic, tr.secret(t, "binder_prefix_hash")))
	}
	rest := hashHellos(t, tr, &transcript)
	tr.check(t, "transcript_hash_ch_sh", transcript.Sum())

	shared := tr.secret(t, "ecdhe_shared_secret")
	if resumed {
		early.Handshake(&handshake, shared)
	} else {
		handshake.StartWithoutPSK(suite, shared)
	}
	tr.check(t, "handshake_secret", handshake.l.secret[:n])
	var client, server Secret
	handshake.Traffic(transcript.Sum(), &client, &server)
	tr.checkTraffic(t, &traffic, suite, "client_handshake", &client)
	tr.checkTraffic(t, &traffic, suite, "server_handshake", &server)

	rest = hashUntil(t, tr, &transcript, rest, "server", suite, &server)
	handshake.Master(&master)
	tr.check(t, "master_secret", master.l.secret[:n])
	var clientApp, serverApp, exporter, resumption Secret
	master.Traffic(transcript.Sum(), &clientApp, &serverApp)
	master.Exporter(transcript.Sum(), &exporter)
	tr.check(t, "transcript_hash_ch_sfin", transcript.Sum())
	tr.check(t, "exporter_master_secret", exporter.Bytes())
	tr.checkTraffic(t, &traffic, suite, "client_application", &clientApp)
	tr.checkTraffic(t, &traffic, suite, "server_application", &serverApp)

	hashUntil(t, tr, &transcript, rest, "client", suite, &client)
	master.Resumption(transcript.Sum(), &resumption)
	tr.check(t, "transcript_hash_ch_cfin", transcript.Sum())
	tr.check(t, "resumption_master_secret", resumption.Bytes())
	if nonce, ok := tr.Secrets["ticket_nonce"]; ok {
		var ticket Secret
		traffic.Load(suite, &resumption)
		traffic.TicketPSK(unhex(t, nonce), &ticket)
		tr.check(t, "resumption_psk", ticket.Bytes())
	}
}

// hashHellos adds the messages up to ServerHello and returns the index after it.
func hashHellos(t *testing.T, tr *rfcTrace, transcript *Transcript) int {
	for i, m := range tr.Messages {
		if m.Type == "HelloRetryRequest" {
			transcript.Retry()
		}
		transcript.Add(unhex(t, m.Message))
		if m.Type == "ServerHello" {
			return i + 1
		}
	}
	t.Fatal("trace has no ServerHello")
	return 0
}

// hashUntil adds the messages up to the Finished of a side, and verifies it.
func hashUntil(t *testing.T, tr *rfcTrace, transcript *Transcript, from int, side string, suite *Suite, secret *Secret) int {
	t.Helper()
	for i := from; i < len(tr.Messages); i++ {
		m := &tr.Messages[i]
		message := unhex(t, m.Message)
		if m.Type == "CertificateVerify" {
			tr.check(t, side+"_certificate_verify_transcript_hash", transcript.Sum())
		}
		if m.Type == "Finished" && m.From == side {
			var traffic Traffic
			traffic.Load(suite, secret)
			if got := traffic.Finished(transcript.Sum()); !Equal(got, message[wire.HeaderBytes:]) {
				t.Errorf("Finished of the %s is %x, want %x", side, got, message[wire.HeaderBytes:])
			}
			transcript.Add(message)
			return i + 1
		}
		transcript.Add(message)
	}
	t.Fatalf("trace has no Finished of the %s", side)
	return 0
}

// checkTraffic compares a traffic secret and what protects records with it. The
// AEAD hides its key, so that one is derived again.
func (tr *rfcTrace) checkTraffic(t *testing.T, traffic *Traffic, suite *Suite, prefix string, secret *Secret) {
	t.Helper()
	name := prefix + "_traffic_secret"
	if strings.HasSuffix(prefix, "application") {
		name += "_0"
	}
	tr.check(t, name, secret.Bytes())
	traffic.Load(suite, secret)
	_, iv := traffic.Key()
	tr.check(t, prefix+"_iv", iv[:])
	key := make([]byte, suite.KeyLen)
	traffic.label(key, "key", nil)
	tr.check(t, prefix+"_key", key)
}

// TestSteps recomputes every extraction, derivation and Finished of the draft's
// printed steps, and every HkdfLabel.
func TestSteps(t *testing.T) {
	var file struct {
		Traces []struct {
			Title string
			Steps []struct {
				Role, Step string
				Values     map[string]string
			}
		}
	}
	readVectors(t, &file, "rfc8448", "trace_steps.json")
	checked := 0
	for _, tr := range file.Traces {
		t.Run(tr.Title, func(t *testing.T) {
			for _, s := range tr.Steps {
				checked += checkStep(t, s.Step, s.Values)
			}
		})
	}
	if checked < 100 {
		t.Errorf("only %d values were checked", checked)
	}
}

// checkStep checks one step and returns how many values it compared.
func checkStep(t *testing.T, step string, v map[string]string) int {
	t.Helper()
	switch {
	case v["IKM"] != "":
		checkExtract(t, step, v)
		return 1
	case v["key info"] != "":
		checkExpand(t, step, v["PRK"], v["key info"], v["key expanded"])
		checkExpand(t, step, v["PRK"], v["iv info"], v["iv expanded"])
		return 2
	case v["info"] != "":
		checkExpand(t, step, v["PRK"], v["info"], v["expanded"])
		return 1
	}
	return 0
}

func checkExtract(t *testing.T, step string, v map[string]string) {
	t.Helper()
	var salt []byte
	if !strings.HasPrefix(v["salt"], "0 ") {
		salt = unhex(t, v["salt"])
	}
	var l ladder
	suite := SuiteByID(wire.SuiteAES128GCMSHA256)
	l.start(suite, salt, unhex(t, v["IKM"]))
	if got := hex.EncodeToString(l.secret[:suite.HashLen]); got != v["secret"] {
		t.Errorf("%s: secret is %s, want %s", step, got, v["secret"])
	}
}

// checkExpand takes label, context and length out of an HkdfLabel, so that both
// its encoding and the output are compared.
func checkExpand(t *testing.T, step, prk, info, want string) {
	t.Helper()
	raw := unhex(t, info)
	n := int(raw[2])
	label, context := string(raw[3:3+n]), raw[4+n:]
	var e expander
	e.rekey(SuiteByID(wire.SuiteAES128GCMSHA256), unhex(t, prk))
	out := make([]byte, int(raw[0])<<8|int(raw[1]))
	e.label(out, strings.TrimPrefix(label, labelPrefix), context)
	if got := hex.EncodeToString(out); got != want {
		t.Errorf("%s: %s is %s, want %s", step, label, got, want)
	}
	if got := hex.EncodeToString(e.info[:len(raw)]); got != info {
		t.Errorf("%s: info of %s is %s, want %s", step, label, got, info)
	}
}
