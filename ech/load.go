package ech

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
)

// Reading a directory of key files into a set.

// Names of files that are read. Others, and those that begin with a dot, are
// not looked at: editors, config management and Kubernetes leave such behind.
const (
	suffixPEM         = ".pem"
	suffixECH         = ".ech"
	suffixDecryptOnly = ".decrypt-only.pem"
)

// FileError is a key file that cannot be used.
type FileError struct {
	File   string // name in the directory
	Reason error  // quotes nothing of the file
}

// Error returns the file's name and the reason.
func (e *FileError) Error() string { return fmt.Sprintf("ECH key file %s: %v", e.File, e.Reason) }

// Unwrap returns the reason.
func (e *FileError) Unwrap() error { return e.Reason }

// LoadDir reads the key files of a directory, as os.DirFS gives it. Keys whose
// NotBefore is later are preferred, then those whose file name sorts first. The
// set holds every key of the files that are good; the error joins a *FileError
// for each that is not. A caller that starts may take the set and log the error;
// one that reloads keeps what it has. The set is nil when the directory cannot
// be read.
func LoadDir(dir fs.FS) (*Set, error) {
	entries, err := fs.ReadDir(dir, ".")
	if err != nil {
		return nil, fmt.Errorf("ECH key directory: %w", err)
	}
	var keys []*Key
	var bad []error
	for _, entry := range entries {
		name := entry.Name()
		if !isKeyFileName(name) {
			continue
		}
		fromFile, err := loadFile(dir, name)
		if err != nil {
			bad = append(bad, &FileError{name, err})
			continue
		}
		keys = append(keys, fromFile...)
	}
	slices.SortStableFunc(keys, func(a, b *Key) int { return b.NotBefore.Compare(a.NotBefore) })
	set, err := NewSet(keys)
	if err != nil {
		return nil, fmt.Errorf("ECH key directory: %w", err)
	}
	return set, errors.Join(bad...)
}

func isKeyFileName(name string) bool {
	return !strings.HasPrefix(name, ".") &&
		(strings.HasSuffix(name, suffixPEM) || strings.HasSuffix(name, suffixECH))
}

var errNotRegular = errors.New("not a regular file")

// loadFile reads one key file.
func loadFile(dir fs.FS, name string) ([]*Key, error) {
	info, err := fs.Stat(dir, name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errNotRegular // opening a pipe would wait
	}
	file, err := dir.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, KeyFileBytesMax+1))
	if err != nil {
		return nil, err
	}
	keys, err := ParseKeyFile(data)
	if err != nil {
		return nil, err
	}
	for _, k := range keys {
		k.File = name
		if strings.HasSuffix(name, suffixDecryptOnly) {
			k.Role = DecryptOnly
		}
	}
	return keys, nil
}
