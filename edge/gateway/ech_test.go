package gateway

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"testing"

	"edge/ech"
)

// Encrypted ClientHello through the gateway.

// echKeys is a directory of ECH keys with one key in it.
type echKeys struct {
	dir  string
	key  *ech.Key
	list []byte // ECHConfigList
}

func newECHKeys(t *testing.T, publicName string) *echKeys {
	t.Helper()
	k := &echKeys{dir: t.TempDir()}
	k.key = newECHKey(t, publicName)
	k.write(t, "1.pem", k.key)
	var err error
	if k.list, err = ech.AppendConfigList(nil, k.key.Config.Raw); err != nil {
		t.Fatal(err)
	}
	return k
}

func newECHKey(t *testing.T, publicName string) *ech.Key {
	t.Helper()
	key, err := ech.GenerateKey(ech.KeyParameters{PublicName: publicName, KEM: ech.KEMX25519, Suites: ech.Suites}, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// write puts a key into the directory.
func (k *echKeys) write(t *testing.T, file string, key *ech.Key) {
	t.Helper()
	text, err := key.MarshalKeyFile()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(k.dir, file), text, 0o600); err != nil {
		t.Fatal(err)
	}
}
