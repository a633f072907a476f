package certstore

// This file keeps pairs of the previous snapshot in service while their files are
// broken.

import (
	"slices"
	"strings"
)

// keptNote is what the problem of a kept pair's file says in addition.
const keptNote = " (the pair loaded before stays in service)"

// keep adds the previous pairs whose files are still there but no longer make a
// pair: half written, replaced one after the other, unreadable, a dangling link.
func (a *assembly) keep() {
	if len(a.previous.pairs) == 0 {
		return
	}
	certFiles := make(map[string]struct{}, len(a.pairs))
	keyFiles := make(map[string]struct{}, len(a.pairs))
	for i := range a.pairs {
		certFiles[a.pairs[i].CertFile] = struct{}{}
		keyFiles[a.pairs[i].KeyFile] = struct{}{}
		for _, other := range a.aliases[a.pairs[i].leaf] {
			certFiles[other] = struct{}{}
		}
	}
	for i := range a.previous.pairs {
		p := a.previous.pairs[i]
		if _, replaced := certFiles[p.CertFile]; replaced {
			continue
		}
		if _, elsewhere := keyFiles[p.KeyFile]; !a.isThere(p.CertFile) && (elsewhere || !a.isThere(p.KeyFile)) {
			continue
		}
		p.Kept = true
		a.keptFiles[p.CertFile], a.keptFiles[p.KeyFile] = p.CertFile, p.CertFile
		a.add(p)
	}
}

// isThere says whether a path is in the tree, in whatever state, or may be: behind
// a directory or link that cannot be followed.
func (a *assembly) isThere(path string) bool {
	for len(path) > len(a.dir) {
		if f := a.record(path); f != nil && f.kind != foundEmptyDir {
			return true
		}
		path = dirOf(path)
	}
	return false
}

// record returns the record of a path, nil if there is nothing.
func (a *assembly) record(path string) *fileRecord {
	i, is := slices.BinarySearchFunc(a.files, path, func(f fileRecord, path string) int {
		return strings.Compare(f.path, path)
	})
	if !is {
		return nil
	}
	return &a.files[i]
}
