package certstore

// This file finds the candidates for a name: on the way of every handshake, hence
// without a lock and without an allocation.

import "bytes"

// Match returns the candidates for a name in the normal form AppendName gives:
// those with exactly that name, else those with a wildcard in place of its first
// label, else nil. It neither locks nor allocates.
func (s *Snapshot) Match(name []byte) *Entry {
	if e := s.exact[string(name)]; e != nil {
		return e
	}
	if dot := bytes.IndexByte(name, '.'); dot > 0 {
		return s.wildcard[string(name[dot+1:])]
	}
	return nil
}

// Default returns the candidates for a client that sent no name or one that is
// not held; nil when there is no pair at all. They are the pairs whose certificate
// file, or a directory it is in below the root, has a name that begins with
// "default". Without such a one they are the candidates for a name of the first
// pair, in the order of file names, that is valid: for its last name in the order
// of the alphabet, which is a wildcard only if it has no other.
func (s *Snapshot) Default() *Entry { return s.fallback }
