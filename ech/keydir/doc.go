// Package keydir keeps a directory of ECH key files: it makes keys, lists them
// and replaces them in time. The format of a file, and how a server reads the
// directory, are package ech's.
//
// All state is in the files, so that a directory may be shared by any kind of
// file synchronization and rotated on any of its copies:
//
//	made         ECH-Not-Before: T     decrypts at once, is given out from T on
//	             ↓  another key of its kind is given out
//	decrypt-only ECH-Remove-After: T   decrypts what is still in caches
//	             ↓  T is past
//	removed
//
// Keys are of one kind when public name and KEM are the same; each kind has its
// own successor.
//
// A directory is written under a lock, one file at a time: whole under another
// name, on disk, then renamed. New keys come first and removals last, so that
// whenever a run ends early nothing that clients may use is missing, and the next
// run goes on where it ended. No file is overwritten by a key that is not its
// own.
//
// The package owns no clock and no randomness, and does not speak DNS. What it
// reports never holds a private key.
package keydir
