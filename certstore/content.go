package certstore

// This file turns files into what they hold: certificates, keys, an OCSP
// response, or a reason why not. A file that did not change is not read again.

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// fileRecord is one path of the tree and what was read from it.
type fileRecord struct {
	found
	content *content
}

// isUnread says whether the file could not be read.
func (r *fileRecord) isUnread() bool { return r.content != nil && r.content.unread }

// content is what one file holds. It is immutable, and shared by the snapshots
// between which the file did not change. A file without anything of ours has
// none (nil).
type content struct {
	certs  []*certificate
	keys   []*privateKey
	staple []byte // of a NAME.ocsp
	fault  *fault
	unread bool // could not be read, which may pass without a change to the file
}

// certEndings are the endings under which a file without PEM is a mistake and not
// merely somebody else's file.
var certEndings = []string{".pem", ".crt", ".cer", ".cert", ".key", ".chain", ".fullchain", ".der", ".p12", ".pfx"}

// isCertName says whether a file is named as if it held a certificate or key.
func isCertName(path string) bool {
	ending := strings.ToLower(filepath.Ext(path))
	for _, e := range certEndings {
		if e == ending {
			return true
		}
	}
	return false
}

// reader reads the files of one load. Its interned certificates are those after
// the first in a file: the few intermediates that many chains have in common.
type reader struct {
	mu       sync.Mutex
	interned map[[sha256.Size]byte]*certificate
}

// newReader returns the reader of one load.
func newReader() *reader {
	return &reader{interned: make(map[[sha256.Size]byte]*certificate)}
}

// readAll returns a record for each path found, taking over those of the previous
// load, sorted by path like found, whose state is the same.
func (r *reader) readAll(paths []found, previous []fileRecord) []fileRecord {
	records := make([]fileRecord, len(paths))
	var unread []int
	at := 0
	for i, f := range paths {
		records[i].found = f
		for at < len(previous) && previous[at].path < f.path {
			at++
		}
		if at < len(previous) && previous[at].found == f && !previous[at].isUnread() {
			records[i].content = previous[at].content
		} else if f.kind == foundFile {
			unread = append(unread, i)
		}
	}
	inParallel(len(unread), func(i int) {
		records[unread[i]].content = r.readFile(records[unread[i]].found)
	})
	return records
}

// buffers holds what files are read into.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// readFile reads and parses one file.
func (r *reader) readFile(f found) *content {
	if f.state.bytes > fileBytesMax {
		if !isCertName(f.path) {
			return nil
		}
		return &content{fault: &fault{"larger than 1 MiB", "keep other files elsewhere"}}
	}
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	var err error
	if *buf, err = read(f.path, f.state.bytes, *buf); err != nil {
		return &content{fault: readFault(f, err), unread: true}
	}
	return r.parse(f.path, *buf)
}

// readFault says why a file cannot be read.
func readFault(f found, err error) *fault {
	if errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) {
		return &fault{
			fmt.Sprintf("cannot be read by user %d (it belongs to user %d, mode %04o)", unix.Geteuid(), f.state.owner, f.state.mode&0o7777),
			"give that user or its group the right to read it",
		}
	}
	return &fault{fmt.Sprintf("cannot be read (%v)", err), "see to the disk or the mount"}
}

// parse returns what a file's data holds, nil if it is none of our business.
func (r *reader) parse(path string, data []byte) *content {
	if strings.HasSuffix(path, stapleEnding) {
		return &content{staple: bytes.Clone(data)}
	}
	blocks, bad := readBlocks(data)
	if len(blocks) == 0 && bad == nil {
		if bad = notPEM(path, data); bad == nil {
			return nil
		}
	}
	c := &content{fault: bad}
	for _, b := range blocks {
		if b.label == "ECHCONFIG" {
			return nil // RFC 9934: its key is not one that signs
		}
	}
	for _, b := range blocks {
		r.take(c, b)
	}
	if len(c.certs)+len(c.keys) == 0 && c.fault == nil {
		return nil
	}
	return c
}

// take adds one block to what a file holds. The first fault is the one told.
func (r *reader) take(c *content, b block) {
	var bad *fault
	switch {
	case isKeyLabel(b.label):
		var k *privateKey
		if k, bad = readKey(b); bad == nil {
			c.keys = append(c.keys, k)
		}
	case b.label == "CERTIFICATE" || b.label == "X509 CERTIFICATE":
		var x *certificate
		if x, bad = r.certificate(b.der, len(c.certs) > 0); bad == nil {
			c.certs = append(c.certs, x)
		}
	case b.label == "TRUSTED CERTIFICATE":
		bad = &fault{"an OpenSSL TRUSTED CERTIFICATE", "convert it: openssl x509 -in FILE -out NEWFILE"}
	case b.label == "PKCS7" || b.label == "CMS":
		bad = &fault{"a PKCS#7 file", "convert it: openssl pkcs7 -print_certs -in FILE -out NEWFILE"}
	}
	if bad != nil && c.fault == nil {
		c.fault = &fault{fmt.Sprintf("line %d: %s", b.line, bad.what), bad.fix}
	}
}

// certificate reads a certificate; one that may be shared is read once.
func (r *reader) certificate(der []byte, shared bool) (*certificate, *fault) {
	if !shared {
		return readCertificate(der)
	}
	sum := sha256.Sum256(der)
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.interned[sum]; c != nil {
		return c, nil
	}
	c, bad := readCertificate(der)
	if bad == nil {
		r.interned[sum] = c
	}
	return c, bad
}

// notPEM says what is wrong with a file without a PEM block; nil if it is merely
// not ours.
func notPEM(path string, data []byte) *fault {
	switch {
	case isDER(data):
		return derFault(path, data)
	case !isCertName(path):
		return nil
	case len(data) == 0:
		return &fault{"empty file", "is it still being written? Otherwise copy it again"}
	}
	return &fault{"no PEM block in it", "it should have a line -----BEGIN CERTIFICATE----- or -----BEGIN PRIVATE KEY-----"}
}

// isDER says whether data begins like a DER SEQUENCE that is the whole of it.
func isDER(data []byte) bool {
	if len(data) < 4 || data[0] != 0x30 {
		return false
	}
	switch data[1] {
	case 0x81:
		return len(data) == 3+int(data[2])
	case 0x82:
		return len(data) == 4+int(data[2])<<8+int(data[3])
	}
	return data[1] < 0x80 && len(data) == 2+int(data[1])
}

// derFault says which kind of DER file it is; nil if it is none of ours.
func derFault(path string, data []byte) *fault {
	if _, bad := readCertificate(data); bad == nil {
		return &fault{"a certificate in DER, not PEM", "convert it: openssl x509 -inform der -in FILE -out NEWFILE"}
	}
	for _, label := range []string{"PRIVATE KEY", "EC PRIVATE KEY", "RSA PRIVATE KEY"} {
		if _, bad := parseKey(label, data); bad == nil {
			return &fault{"a private key in DER, not PEM", "convert it: openssl pkey -inform der -in FILE -out NEWFILE"}
		}
	}
	switch strings.ToLower(filepath.Ext(path)) {
	case ".p12", ".pfx":
		return &fault{"a PKCS#12 file", "convert it: openssl pkcs12 -in FILE -out NEWFILE -noenc"}
	}
	if isCertName(path) {
		return &fault{"binary, and neither a certificate nor a key in DER", "copy it again, as PEM"}
	}
	return nil
}
