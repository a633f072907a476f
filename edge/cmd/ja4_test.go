package cmd

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

type ja4Vector struct {
	Hello string `json:"client_hello_hex"`
	JA4   string `json:"ja4"`
	JA4R  string `json:"ja4_r"`
	JA4O  string `json:"ja4_o"`
	JA4RO string `json:"ja4_ro"`
}

func ja4Vectors(t *testing.T) []ja4Vector {
	t.Helper()
	b, err := os.ReadFile("../../testvectors/ja4/pcap_tcp.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []ja4Vector
	if err := json.Unmarshal(b, &all); err != nil || len(all) == 0 {
		t.Fatalf("%d vectors, %v", len(all), err)
	}
	return all
}

func (v ja4Vector) text() string {
	return "ja4     " + v.JA4 + "\nja4_r   " + v.JA4R + "\nja4_o   " + v.JA4O + "\nja4_ro  " + v.JA4RO + "\n"
}

// capturePackets makes a pcap with a hello in each packet.
func capturePackets(t *testing.T, vectors []ja4Vector) []byte {
	t.Helper()
	file := make([]byte, 24)
	binary.LittleEndian.PutUint32(file, 0xa1b2c3d4)
	binary.LittleEndian.PutUint32(file[20:], 101)
	for i, v := range vectors {
		msg, err := hex.DecodeString(v.Hello)
		if err != nil {
			t.Fatal(err)
		}
		data := append([]byte{22, 3, 1, byte(len(msg) >> 8), byte(len(msg))}, msg...)
		packet := []byte{0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 6, 0, 0, 192, 0, 2, 1, 198, 51, 100, 1,
			byte(i >> 8), byte(i), 1, 187, 0, 0, 0, 1, 0, 0, 0, 0, 5 << 4, 0x18, 0, 0, 0, 0, 0, 0}
		packet = append(packet, data...)
		binary.BigEndian.PutUint16(packet[2:], uint16(len(packet)))
		head := make([]byte, 16)
		binary.LittleEndian.PutUint32(head[8:], uint32(len(packet)))
		file = append(append(file, head...), packet...)
	}
	return file
}

func TestJA4(t *testing.T) {
	all := ja4Vectors(t)
	v := all[0]
	msg, _ := hex.DecodeString(v.Hello)
	record := append([]byte{22, 3, 1, byte(len(msg) >> 8), byte(len(msg))}, msg...)
	spaced := filepath.Join(t.TempDir(), "hello.txt")
	if err := os.WriteFile(spaced, []byte(strings.ToUpper(v.Hello[:50])+"\n "+v.Hello[50:]+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, arg := range map[string]string{"message": v.Hello, "record": hex.EncodeToString(record), "file": spaced} {
		if status, out, errs := run(t, "ja4", arg); status != ExitOK || out != v.text() || errs != "" {
			t.Errorf("%s: status %d, stdout %q, stderr %q", name, status, out, errs)
		}
	}
}

func TestJA4OfACapture(t *testing.T) {
	all := ja4Vectors(t)
	file := filepath.Join(t.TempDir(), "all.pcap")
	if err := os.WriteFile(file, capturePackets(t, all), 0o644); err != nil {
		t.Fatal(err)
	}
	status, out, errs := run(t, "ja4", file)
	if status != ExitOK || errs != "" {
		t.Fatalf("status %d, stderr %q", status, errs)
	}
	for _, v := range all {
		if !strings.Contains(out, " > 198.51.100.1:443\n"+v.text()) {
			t.Errorf("%s is not printed as it is in the vector", v.JA4)
		}
	}
	if n := strings.Count(out, " > "); n != len(all) {
		t.Errorf("%d hellos, want %d", n, len(all))
	}
	var again, complaints bytes.Buffer
	env := Env{In: bytes.NewReader(capturePackets(t, all)), Out: &again, Err: &complaints, Getenv: os.Getenv}
	if status := Main(t.Context(), env, []string{"ja4", "-"}); status != ExitOK || again.String() != out {
		t.Errorf("from standard input: status %d, %q", status, complaints.String())
	}
}

func TestJA4Refusals(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, content []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, tc := range []struct{ arg, want string }{
		{"nothing", "nothing: no such file or directory, and it is no ClientHello in hexadecimal either"},
		{write("text", []byte("hello")), "neither a packet capture nor a ClientHello in hexadecimal"},
		{write("empty.pcap", capturePackets(t, nil)), "no ClientHello over TCP in it"},
		{"0100", "not a whole ClientHello"},
	} {
		if status, out, errs := run(t, "ja4", tc.arg); status != ExitFailure || out != "" || !strings.Contains(errs, tc.want) {
			t.Errorf("%s: status %d, stdout %q, stderr %q, want %q", tc.arg, status, out, errs, tc.want)
		}
	}
	for _, args := range [][]string{{"ja4"}, {"ja4", "a", "b"}, {"ja4", "listen"}, {"ja4", "listen", "nowhere"}} {
		if status, _, _ := run(t, args...); status != ExitUsage {
			t.Errorf("%q: status %d", args, status)
		}
	}
}
