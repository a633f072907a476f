package gateway

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestKeyLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(path, []byte("earlier\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	var said []string
	k, err := openKeyLog(path, func(format string, a ...any) { said = append(said, fmt.Sprintf(format, a...)) })
	if err != nil {
		t.Fatal(err)
	}
	write := k.writer()
	for i := range 3 {
		write("CLIENT_TRAFFIC_SECRET_0", []byte{1, 2}, []byte{0xfe, byte(i)})
	}
	k.close()
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := "earlier\nCLIENT_TRAFFIC_SECRET_0 0102 fe00\nCLIENT_TRAFFIC_SECRET_0 0102 fe01\nCLIENT_TRAFFIC_SECRET_0 0102 fe02\n"
	if string(got) != want {
		t.Errorf("the file holds %q, want %q", got, want)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != keyLogMode {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if len(said) != 1 || !strings.Contains(said[0], "WARNING") || !strings.Contains(said[0], path) {
		t.Errorf("it was said: %q", said)
	}
}

// Without the flag there is no key log, whatever the environment says.
func TestNoKeyLog(t *testing.T) {
	t.Setenv("SSLKEYLOGFILE", filepath.Join(t.TempDir(), "keys"))
	k, err := openKeyLog("", t.Logf)
	if err != nil || k != nil || k.writer() != nil {
		t.Errorf("%v, %v", k, err)
	}
	k.close()
	if _, err := openKeyLog(filepath.Join(t.TempDir(), "no", "keys"), t.Logf); err == nil {
		t.Error("a file that cannot be made was taken")
	}
}
