package certstore

// This file holds problems: one line each, with the file, what is wrong and what
// to do about it.

import (
	"strings"
	"unicode"
)

// Problem is one thing an operator should know about the certificate directory.
// Problems compare with ==, so that one that stays is told once.
type Problem struct {
	File string // the file or directory concerned
	What string // what is wrong
	Fix  string // what to do
	// Warning says that the certificate is served all the same; otherwise
	// something is not served, or not as its owner means it.
	Warning bool
}

// String returns the problem as one line: "FILE: what is wrong; what to do".
// Whatever is in file names and certificates, it holds no control character.
func (p Problem) String() string {
	line := p.File + ": " + p.What
	if p.Fix != "" {
		line += "; " + p.Fix
	}
	return strings.Map(printable, strings.ToValidUTF8(line, "?"))
}

// printable replaces what could break a line or steer a terminal.
func printable(r rune) rune {
	if unicode.IsPrint(r) {
		return r
	}
	return '?'
}

// Report says what a load found and what it changed against the previous
// snapshot.
type Report struct {
	// Problems is all that is wrong now, Fresh the part of it that the previous
	// snapshot did not have.
	Problems []Problem
	Fresh    []Problem
	// Solved counts the problems of the previous snapshot that are gone.
	Solved int
	// Added, Renewed, Removed and Kept name certificate files: new ones, those
	// whose certificate changed, those no longer served, and those whose files have
	// ceased to make a pair, so that the one of the previous snapshot stays.
	Added, Renewed, Removed, Kept []string
}

// Changed says whether the load changed anything worth telling.
func (r *Report) Changed() bool {
	return len(r.Fresh)+r.Solved+len(r.Added)+len(r.Renewed)+len(r.Removed)+len(r.Kept) > 0
}

// newReport compares a snapshot with the one before it, which may be nil.
func newReport(old, now *Snapshot) *Report {
	if old == nil {
		old = &Snapshot{}
	}
	r := &Report{Problems: now.problems}
	known := make(map[Problem]struct{}, len(old.problems))
	for _, p := range old.problems {
		known[p] = struct{}{}
	}
	for _, p := range now.problems {
		if _, is := known[p]; !is {
			r.Fresh = append(r.Fresh, p)
		}
		delete(known, p)
	}
	r.Solved = len(known)
	r.comparePairs(old.pairs, now.pairs)
	return r
}

// comparePairs sorts the certificate files of two snapshots into the report.
func (r *Report) comparePairs(old, now []Pair) {
	type was struct{ kept, seen bool }
	before := make(map[string]was, len(old))
	for i := range old {
		before[old[i].CertFile] = was{kept: old[i].Kept}
	}
	for i := range now {
		p := &now[i]
		b, is := before[p.CertFile]
		switch {
		case p.Kept:
			if !b.kept {
				r.Kept = append(r.Kept, p.CertFile)
			}
		case p.PreviousIndex >= 0:
		case is:
			r.Renewed = append(r.Renewed, p.CertFile)
		default:
			r.Added = append(r.Added, p.CertFile)
		}
		if is {
			before[p.CertFile] = was{b.kept, true}
		}
	}
	for i := range old {
		if file := old[i].CertFile; !before[file].seen {
			r.Removed = append(r.Removed, file)
			before[file] = was{seen: true} // a file may hold several pairs
		}
	}
}
