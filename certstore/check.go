package certstore

// This file says what is wrong: with files, with certificates and keys that found
// no partner, and with pairs that clients will not like.

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// fault adds a problem that keeps something from being served.
func (a *assembly) fault(file string, f *fault) {
	a.problems = append(a.problems, Problem{File: file, What: f.what, Fix: f.fix})
}

// warn adds a problem with something that is served all the same.
func (a *assembly) warn(file, what, fix string) {
	a.problems = append(a.problems, Problem{File: file, What: what, Fix: fix, Warning: true})
}

// fileProblems reports on a file by itself.
func (a *assembly) fileProblems(f *fileRecord) {
	switch f.kind {
	case foundBroken:
		a.fault(f.path, brokenFault(f.errno))
	case foundBadDir:
		a.fault(f.path, &fault{fmt.Sprintf("directory that cannot be read (%v)", f.errno), "give the server's user the right to read it"})
	case foundEmptyDir:
		a.warn(f.path, "empty directory", "put a certificate and its key into it, or remove it")
	}
	if f.content == nil {
		return
	}
	if f.content.fault != nil {
		a.fault(f.path, f.content.fault)
	}
	if len(f.content.keys) > 0 && f.state.mode&0o004 != 0 {
		a.warn(f.path, fmt.Sprintf("a private key that every user can read (mode %04o)", f.state.mode&0o7777), "chmod o-r it (Kubernetes: defaultMode 0400)")
	}
}

// brokenFault says why a path leads nowhere.
func brokenFault(errno unix.Errno) *fault {
	switch errno {
	case unix.ENOENT:
		return &fault{"a link to nothing", "remove it, or restore what it points to"}
	case unix.ELOOP:
		return &fault{"a link that leads back to itself", "remove it"}
	case unix.EACCES:
		return &fault{"cannot be looked at: a directory on the way is closed to this user", "give the server's user the right to enter it"}
	}
	return &fault{fmt.Sprintf("cannot be looked at (%v)", errno), "see to the disk or the mount"}
}

// orphanProblems reports certificates without keys and keys without certificates.
// A certificate and a key that lie in one directory and do not belong together
// are one problem, not two.
func (a *assembly) orphanProblems() {
	loose := a.looseKeys()
	told := make(map[string]struct{})
	for _, o := range a.orphans {
		_, is := told[string(o.leaf.der)]
		told[string(o.leaf.der)] = struct{}{}
		if is || a.hasFault(o.file) {
			continue
		}
		beside := loose[dirOf(o.file)]
		if len(beside) == 0 {
			a.fault(o.file, &fault{"no readable private key belongs to this certificate", "put its key beside it"})
			continue
		}
		beside[0].explained = true
		a.fault(o.file, &fault{fmt.Sprintf("the private key in %s belongs to another certificate", beside[0].file), "put the certificate's own key beside it"})
	}
	for _, dir := range slices.Sorted(maps.Keys(loose)) {
		for _, k := range loose[dir] {
			if !k.explained {
				a.warn(k.file, "a private key without its certificate", "put the certificate beside it, or remove the key")
			}
		}
	}
	a.keptProblems()
}

// hasFault says whether a file has a fault of its own, which explains what is
// missing in it.
func (a *assembly) hasFault(file string) bool {
	f := a.record(file)
	return f != nil && f.content != nil && f.content.fault != nil
}

// looseKey is a file with a private key for which no file has the certificate.
type looseKey struct {
	file      string
	explained bool // by a certificate beside it, or as a file of a kept pair
}

// looseKeys returns the loose keys by directory.
func (a *assembly) looseKeys() map[string][]*looseKey {
	loose := make(map[string][]*looseKey)
	for i := range a.files {
		f := &a.files[i]
		if f.content == nil {
			continue
		}
		for _, k := range f.content.keys {
			if !a.keys[k.id].isUsed {
				_, isKept := a.keptFiles[f.path]
				loose[dirOf(f.path)] = append(loose[dirOf(f.path)], &looseKey{f.path, isKept})
				break
			}
		}
	}
	return loose
}

// keptProblems says of each fault of a kept pair's file that the pair is kept, and
// reports kept pairs whose files have none.
func (a *assembly) keptProblems() {
	told := make(map[string]struct{})
	for i := range a.problems {
		p := &a.problems[i]
		if certFile, is := a.keptFiles[p.File]; is && !p.Warning {
			told[certFile] = struct{}{}
			p.What += keptNote
		}
	}
	for i := range a.pairs {
		p := &a.pairs[i]
		if _, is := told[p.CertFile]; p.Kept && !is {
			a.fault(p.CertFile, &fault{"makes no pair with " + p.KeyFile + " any more" + keptNote, "put both back, or remove both"})
		}
	}
}

// pairProblems reports on what a pair's certificate itself is like.
func (a *assembly) pairProblems(p *Pair) {
	c := p.leaf
	switch {
	case c.badName != "":
		a.warn(p.CertFile, fmt.Sprintf("%q among its names is no host name, or a wildcard that is not the whole first label", c.badName), "ask for a certificate with proper names")
	case c.fromCommon:
		a.warn(p.CertFile, fmt.Sprintf("no subjectAltName; it serves its common name %s, which clients ignore (RFC 9525)", c.names[0]), "ask for a certificate with a dNSName")
	case len(c.names) == 0:
		a.warn(p.CertFile, "no host name in it; it is used as the default at most", "ask for a certificate with a dNSName")
	}
	if c.hasParent && p.issuer == nil && !c.isSelfIssued() {
		a.warn(p.CertFile, "the certificate of its issuer is missing; some clients will not trust it", "use the full chain (certbot: fullchain.pem)")
	}
	if c.mustStaple && p.Staple == nil {
		a.warn(p.CertFile, "it demands an OCSP staple (RFC 7633) and has none; strict clients refuse it", "put the response beside it as "+stapleFiles(p.CertFile)[0])
	}
}

// dateProblems reports pairs outside their validity. An expired one for whose
// names there are others is old stock; else clients see it fail.
func (s *Snapshot) dateProblems(a *assembly) {
	for i := range s.pairs {
		p := &s.pairs[i]
		switch p.validity(a.now) {
		case expired:
			a.problems = append(a.problems, Problem{
				File: p.CertFile, What: "expired on " + day(p.NotAfter), Fix: "renew it, or remove it",
				Warning: s.isReplaced(p, a.now),
			})
		case notYetValid:
			a.problems = append(a.problems, Problem{
				File: p.CertFile, What: "not valid before " + day(p.NotBefore), Fix: "see whether this machine's clock is right",
				Warning: s.isReplaced(p, a.now),
			})
		}
	}
}

// isReplaced says whether each name of a pair has another pair that is valid.
func (s *Snapshot) isReplaced(p *Pair, now time.Time) bool {
	for _, name := range p.Names {
		if s.lookup(name).Pairs[0].validity(now) != valid {
			return false
		}
	}
	return len(p.Names) > 0
}
