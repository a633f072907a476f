// Package site serves a web site straight out of one tar file. The archive is
// walked once, header by header, into an index from path to byte range; the
// content stays in the file and is read in place, by offset, by whoever sends
// the response. Serve turns one request into the description of one response.
//
// The package does no network work, compresses nothing, follows no symbolic
// link and lists no directory. It starts no goroutine.
//
// # What is read of the archive
//
// A tar file is a row of 512-byte blocks: a header, then the content padded to
// a whole block, and so on; two zero blocks end it.
//
//	  0         100  108  116  124   136   148  156 157        257 263 265         345       500
//	  ┌──────────┬────┬────┬────┬─────┬─────┬────┬─┬──────────┬───┬──┬───────────┬─────────┬──┐
//	  │ name     │mode│uid │gid │size │mtime│sum │t│ linkname │mag│ve│ owners... │ prefix  │  │
//	  └──────────┴────┴────┴────┴─────┴─────┴────┴─┴──────────┴───┴──┴───────────┴─────────┴──┘
//
//	magic, version    format             what differs
//	anything else     v7                 no prefix
//	"ustar\0" "00"    ustar, pax         prefix + "/" + name
//	  ... "tar\0" at 508   star          the prefix is 131 bytes
//	"ustar " " \0"    GNU                no prefix; base-256 numbers
//
//	type        meaning                            what becomes of it
//	0 NUL 7     file                               indexed
//	1           hard link                          indexed: the range of the file it names
//	2           symbolic link                      never served, and hides an earlier entry of its name
//	3 4 6       devices, FIFO                      likewise
//	5           directory                          nothing to serve
//	x           pax records for the next entry     path, size, mtime, linkpath, comment, GNU.sparse.*
//	g           pax records for all that follow    mtime; path, linkpath and size are refused
//	L K         GNU long name, long link name      read
//	S, GNU.sparse.*   sparse file                  never served: the stored bytes are not the content
//	M           rest of another volume             the archive is refused
//	others      unknown                            never served, content skipped
//
// Numbers are octal, or base-256 when the first bit is set. The pax size counts
// where there is one: a reader that goes by the other finds entries inside the
// content. Damage of any kind (a wrong checksum, a number that is none, a bad
// pax record, an entry that goes past the end, a missing end marker) refuses
// the whole archive: half an archive is what a copy in progress looks like.
//
// # Names
//
// A name in the archive becomes a path: "." and empty segments go, one "/" is
// put in front. Names that are absolute or hold ".." are left out. Of two
// entries with one name the later counts, as it does when a tar is unpacked. A
// path with a segment that begins with "." is indexed, but served to nobody,
// unless that segment is .well-known at the root.
//
// The path of a request has one meaning: every %XX is decoded, once; what comes
// out is taken apart at "/", "." and empty segments go, ".." takes the segment
// before it along (and stays at the root); the result is looked up as bytes. So
// %2F separates like "/", a backslash is an ordinary byte, and bytes that are
// not UTF-8 name only what has the very same bytes. A % without two hexadecimal
// digits, and a NUL, are answered 400. CleanPath is that rule, for everyone
// else who judges paths.
package site
