package keydir

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"edge/ech"
)

// fileNameBytesMax leaves room for what file systems and synchronizers add to
// a name; most end at 255.
const fileNameBytesMax = 200

// namesTried bounds the search for a name that is free. Two keys of one second
// and one config_id are already rare.
const namesTried = 16

// Generate makes a key that is given out from notBefore on and writes it to a
// new file of the directory, which is made if it is missing. p.Taken is filled
// in. The key's File is set.
func Generate(ctx context.Context, dir string, p ech.KeyParameters, notBefore time.Time, rand io.Reader) (*ech.Key, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, about(dir, err)
	}
	unlock, err := lock(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer unlock()
	set, _, bad, err := load(dir)
	if err != nil {
		return nil, err
	}
	if len(bad) > 0 {
		return nil, unusable(dir, bad)
	}
	owner, err := asDirectory(dir)
	if err != nil {
		return nil, err
	}
	return (&writer{dir: dir}).make(set.Keys(), p, notBefore, owner, rand)
}

// unusable refuses to touch a directory with bad files: servers that run do not
// load it, so that a new key would reach nobody.
func unusable(dir string, bad []*ech.FileError) error {
	return fmt.Errorf("%s: %w: servers do not load a directory with such a file: mend it or take it away",
		filepath.Join(dir, bad[0].File), bad[0].Reason)
}

// make makes a key beside others and writes it.
func (w *writer) make(others []*ech.Key, p ech.KeyParameters, notBefore time.Time, o ownership, rand io.Reader) (*ech.Key, error) {
	if len(others) >= ech.KeysMax {
		return nil, fmt.Errorf("%s holds %d keys, the most that are loaded: remove some", w.dir, len(others))
	}
	for _, k := range others {
		p.Taken = append(p.Taken, k.Config.ID)
	}
	k, err := ech.GenerateKey(p, rand)
	if err != nil {
		return nil, err
	}
	k.NotBefore = notBefore.UTC().Truncate(time.Second) // as files hold it
	text, err := k.MarshalKeyFile()
	if err != nil {
		return nil, err
	}
	k.File, err = w.createFree(fileName(k), text, o)
	return k, err
}

// fileName names a key's file: public-name-20261231T235959Z-17.pem.
func fileName(k *ech.Key) string {
	name := strings.ToLower(k.Config.PublicName)
	name = name[:min(len(name), fileNameBytesMax)]
	return fmt.Sprintf("%s-%s-%d", name, k.NotBefore.UTC().Format("20060102T150405Z"), k.Config.ID)
}

// createFree creates base.pem, or base-2.pem and so on where that is taken, and
// returns the name.
func (w *writer) createFree(base string, data []byte, o ownership) (string, error) {
	name := base + ".pem"
	for n := 2; ; n++ {
		err := w.create(name, data, o)
		if !errors.Is(err, fs.ErrExist) || n > namesTried {
			return name, err
		}
		name = fmt.Sprintf("%s-%d.pem", base, n)
	}
}
