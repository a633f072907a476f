// Every archive of testvectors/tar against what it should become.

package site

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

const vectorDir = "../../testvectors/tar"

type vector struct {
	File    string
	SHA256  string
	Archive string
	Index   []struct {
		Path       string
		PathHex    string `json:"path_hex"`
		DataOffset int64  `json:"data_offset"`
		Size       int64
		SHA256     string `json:"content_sha256"`
	}
	NotIndexed []struct{ Name, Level string } `json:"not_indexed"`
}

func readVectors(t testing.TB) []vector {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(vectorDir, "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all struct{ Archives []vector }
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	if len(all.Archives) == 0 {
		t.Fatal("no vectors in expected.json")
	}
	return all.Archives
}

// refusedByChoice: archives that may be refused, and are.
var refusedByChoice = map[string]bool{"no-end-marker.tar": true}

func TestVectors(t *testing.T) {
	for _, v := range readVectors(t) {
		t.Run(v.File, func(t *testing.T) {
			path := filepath.Join(vectorDir, v.File)
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != v.SHA256 {
				t.Fatal("the archive is not the one expected.json speaks of")
			}
			skipped := map[string]string{}
			s, err := Open(path, Options{Skipped: func(name, why string) { skipped[name] = why }})
			if v.Archive == "error" || refusedByChoice[v.File] {
				if err == nil {
					t.Fatal("opened")
				}
				t.Log(err)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			checkVector(t, s, v, data, skipped)
		})
	}
}

// checkVector compares the index with v: no entry missing, none too many.
func checkVector(t *testing.T, s *Site, v vector, data []byte, skipped map[string]string) {
	if s.Files() != len(v.Index) {
		t.Errorf("%d files are served, want %d: %q", s.Files(), len(v.Index), s.List("/"))
	}
	for _, want := range v.Index {
		path := []byte(want.Path)
		if want.PathHex != "" {
			path, _ = hex.DecodeString(want.PathHex)
		}
		i, match, ok := s.index.find(path)
		if !ok || match != matchWhole {
			t.Errorf("%q is not indexed", path)
			continue
		}
		e := s.index.entries[i]
		if e.off != want.DataOffset || e.size != want.Size {
			t.Errorf("%q is at %d, %d bytes; want %d, %d", path, e.off, e.size, want.DataOffset, want.Size)
			continue
		}
		if sum := sha256.Sum256(data[e.off:][:e.size]); hex.EncodeToString(sum[:]) != want.SHA256 {
			t.Errorf("%q has other content", path)
		}
	}
	for _, not := range v.NotIndexed {
		if i, _, ok := s.index.find([]byte("/" + not.Name)); ok && s.index.served(i) {
			t.Errorf("%q is served", not.Name)
		}
		if skipped[not.Name] != "" {
			t.Logf("skipped %q: %s", not.Name, skipped[not.Name])
		}
	}
}
