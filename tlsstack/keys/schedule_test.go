package keys

import (
	"bytes"
	"testing"

	"edge/tlsstack/wire"
)

// TestStagesConsume: a stage that was gone down from holds no secret.
func TestStagesConsume(t *testing.T) {
	suite := SuiteByID(wire.SuiteAES256GCMSHA384)
	var early Early
	var handshake Handshake
	var master Master
	early.Start(suite, bytes.Repeat([]byte{1}, suite.HashLen))
	early.Handshake(&handshake, bytes.Repeat([]byte{2}, 32))
	handshake.Master(&master)
	if early.l.secret != [HashBytesMax]byte{} || early.l.mac != nil {
		t.Error("the early secret is still there")
	}
	if handshake.l.secret != [HashBytesMax]byte{} || handshake.l.mac != nil {
		t.Error("the handshake secret is still there")
	}
	master.Wipe()
	if master.l.secret != [HashBytesMax]byte{} {
		t.Error("the master secret is still there")
	}
}

// TestWithoutPSK: the constant a suite starts from is the ladder's.
func TestWithoutPSK(t *testing.T) {
	for _, id := range []wire.CipherSuite{wire.SuiteAES128GCMSHA256, wire.SuiteAES256GCMSHA384, wire.SuiteChaCha20Poly1305SHA256} {
		suite := SuiteByID(id)
		shared := bytes.Repeat([]byte{3}, 32)
		var early Early
		var a, b Handshake
		early.Start(suite, nil)
		early.Handshake(&a, shared)
		b.StartWithoutPSK(suite, shared)
		if a.l.secret != b.l.secret {
			t.Errorf("%s: the secrets differ", suite.Name)
		}
	}
	if SuiteByID(0x1304) != nil {
		t.Error("a suite that is not served")
	}
}

// TestTranscriptForks: SumWith adds nothing, Start reuses the hash.
func TestTranscriptForks(t *testing.T) {
	var tr Transcript
	tr.Start(SuiteByID(wire.SuiteAES128GCMSHA256))
	tr.Add([]byte("a"))
	with := bytes.Clone(tr.SumWith([]byte("b")))
	before := bytes.Clone(tr.Sum())
	tr.Add([]byte("b"))
	if !bytes.Equal(with, tr.Sum()) || bytes.Equal(with, before) {
		t.Error("the fork is not what the transcript becomes")
	}
	tr.Start(SuiteByID(wire.SuiteChaCha20Poly1305SHA256))
	if !bytes.Equal(tr.Sum(), SuiteByID(wire.SuiteAES128GCMSHA256).emptyHash()) {
		t.Error("a transcript that was started again is not empty")
	}
	tr.Start(SuiteByID(wire.SuiteAES256GCMSHA384))
	if len(tr.Sum()) != 48 {
		t.Error("the hash did not change with the suite")
	}
}

// TestSecretSet: a ticket's PSK is kept if any hash could have made it.
func TestSecretSet(t *testing.T) {
	var s Secret
	if !s.Set(make([]byte, HashBytesMax)) || s.Set(make([]byte, HashBytesMax+1)) {
		t.Error("the longest secret is not the longest hash")
	}
	if s.Set([]byte{1, 2}); !bytes.Equal(s.Bytes(), []byte{1, 2}) {
		t.Errorf("secret is %x", s.Bytes())
	}
}
