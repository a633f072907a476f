// Packing a directory into an archive that Open reads.

package site

import (
	"archive/tar"
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// PackOptions of Pack. The zero value will do.
type PackOptions struct {
	// ModTimeMax, unless zero: later times of modification become this one. A
	// tree that was just checked out packs to the same bytes everywhere with the
	// time of its commit here.
	ModTimeMax time.Time
	// Convert, if not nil, is shown every file under .edge and gives the name and
	// the content to pack in its place; an empty name leaves it out.
	Convert func(name string, content []byte) (asName string, as []byte, err error)
	// Skipped hears of each file that is left out, and why. nil: nobody wants to
	// know.
	Skipped func(name, why string)
}

const (
	convertBytesMax = 16 << 20 // of a file under .edge, which Convert gets whole
	copyBytes       = 64 << 10
)

// Pack writes the files under dir to w as a tar. The bytes depend on nothing but
// the names, the contents and the times of modification (whole seconds) of the
// files: they stand in the order of their names, directory by directory; mode is
// 0644, the owner 0; directories have no entries. Each file has its SHA-256 in a
// pax comment, from which the entity tag is made.
//
// Symbolic links become the file they lead to, which must be inside dir. A link
// that leads outside, to a directory or nowhere, a device, a FIFO and a socket
// are errors: nothing could be served under their name. Names that begin with
// "." are left out, but for .edge and .well-known at the top.
func Pack(w io.Writer, dir string, opts PackOptions) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("pack %s: %w", dir, bare(err))
	}
	defer root.Close()
	buffered := bufio.NewWriterSize(w, copyBytes)
	p := &packer{root: root, at: root, atName: ".", out: tar.NewWriter(buffered), opts: &opts, buf: make([]byte, copyBytes)}
	defer p.leave()
	if err := fs.WalkDir(root.FS(), ".", p.visit); err != nil {
		return fmt.Errorf("pack %s: %w", dir, err)
	}
	if err := p.out.Close(); err != nil {
		return fmt.Errorf("pack %s: %w", dir, err)
	}
	if err := buffered.Flush(); err != nil {
		return fmt.Errorf("pack %s: %w", dir, err)
	}
	return nil
}

type packer struct {
	root   *os.Root
	at     *os.Root // the directory that was packed from last, below root
	atName string
	out    *tar.Writer
	opts   *PackOptions
	buf    []byte
}

// enter opens the directory name, unless it is open.
func (p *packer) enter(name string) error {
	if name == p.atName {
		return nil
	}
	at, err := p.root.OpenRoot(name)
	if err != nil {
		return bare(err)
	}
	p.leave()
	p.at, p.atName = at, name
	return nil
}

// leave closes what enter opened.
func (p *packer) leave() {
	if p.at != p.root {
		p.at.Close()
	}
}

// visit is called for everything under the directory, in order.
func (p *packer) visit(name string, d fs.DirEntry, err error) error {
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", name, bare(err))
	case leftOut(name):
		p.skip(name, "its name begins with a dot")
		if d.IsDir() {
			return fs.SkipDir
		}
		return nil
	case d.IsDir():
		return nil
	}
	if err := p.add(name, d.Type()); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// leftOut: nothing under this name could be served, nor is it meant for us.
func leftOut(name string) bool {
	if name == "." || name == ".edge" || name == ".well-known" {
		return false
	}
	return strings.HasPrefix(path.Base(name), ".")
}

func (p *packer) skip(name, why string) {
	if p.opts.Skipped != nil {
		p.opts.Skipped(name, why)
	}
}

func (p *packer) add(name string, kind fs.FileMode) error {
	if len(name) >= pathBytesMax {
		return fmt.Errorf("the name is longer than %d bytes", pathBytesMax-1)
	}
	f, info, err := p.open(name, kind)
	if err != nil {
		return err
	}
	defer f.Close()
	switch {
	case p.opts.Convert != nil && strings.HasPrefix(name, ".edge/"):
		return p.convert(name, f, info)
	case info.Size() <= int64(len(p.buf)):
		return p.copySmall(name, f, info)
	}
	return p.copy(name, f, info)
}

// open opens a file. One that is no link is opened from its own directory: from the
// top, each directory on the way is opened as well.
func (p *packer) open(name string, kind fs.FileMode) (*os.File, fs.FileInfo, error) {
	from, base := p.root, name
	switch kind {
	case fs.ModeSymlink:
		if err := p.checkLink(name); err != nil {
			return nil, nil, err
		}
	case 0:
		if err := p.enter(path.Dir(name)); err != nil {
			return nil, nil, err
		}
		from, base = p.at, path.Base(name)
	default:
		return nil, nil, errNotFile
	}
	f, err := from.OpenFile(base, os.O_RDONLY|unix.O_NONBLOCK, 0) // a FIFO that took its place would wait
	if err != nil {
		return nil, nil, bare(err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errNotFile
	}
	if err != nil {
		f.Close()
		return nil, nil, bare(err)
	}
	return f, info, nil
}

var errNotFile = errors.New("not a file, and nothing else can be served")

// checkLink says what is wrong with a symbolic link, before it is followed.
func (p *packer) checkLink(name string) error {
	info, err := p.root.Stat(name)
	switch {
	case err != nil:
		return fmt.Errorf("a symbolic link that leads outside or nowhere: %w", bare(err))
	case info.IsDir():
		return errors.New("a symbolic link to a directory: copy the directory")
	case !info.Mode().IsRegular():
		return errNotFile
	}
	return nil
}

// convert packs what Convert makes of a file.
func (p *packer) convert(name string, f *os.File, info fs.FileInfo) error {
	b, err := io.ReadAll(io.LimitReader(f, convertBytesMax+1))
	switch {
	case err != nil:
		return bare(err)
	case len(b) > convertBytesMax:
		return fmt.Errorf("more than %d bytes", convertBytesMax)
	}
	name, b, err = p.opts.Convert(name, b)
	if err != nil || name == "" {
		return err
	}
	if err := p.header(name, int64(len(b)), info.ModTime(), sha256.Sum256(b)); err != nil {
		return err
	}
	_, err = p.out.Write(b)
	return err
}

// copySmall packs a file that fits into the buffer.
func (p *packer) copySmall(name string, f *os.File, info fs.FileInfo) error {
	b := p.buf[:info.Size()]
	if _, err := io.ReadFull(f, b); err != nil {
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			return errPackedChanged
		}
		return bare(err)
	}
	if err := p.header(name, info.Size(), info.ModTime(), sha256.Sum256(b)); err != nil {
		return err
	}
	_, err := p.out.Write(b)
	return err
}

var errPackedChanged = errors.New("it changed while it was being packed")

// copy packs a file as it is. It is read twice, for the digest stands before the
// content; a file that is not the same twice is an error.
func (p *packer) copy(name string, f *os.File, info fs.FileInfo) error {
	digest, size, err := p.digest(f)
	if err != nil {
		return err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return bare(err)
	}
	if err := p.header(name, size, info.ModTime(), digest); err != nil {
		return err
	}
	sum := sha256.New()
	_, err = io.CopyBuffer(io.MultiWriter(p.out, sum), onlyReader{f}, p.buf)
	if errors.Is(err, tar.ErrWriteTooLong) || err == nil && [sha256.Size]byte(sum.Sum(nil)) != digest {
		return errPackedChanged
	}
	return err
}

// onlyReader hides every other method of a file, so that CopyBuffer uses its
// buffer.
type onlyReader struct{ io.Reader }

func (p *packer) digest(f *os.File) (digest [sha256.Size]byte, size int64, err error) {
	sum := sha256.New()
	if size, err = io.CopyBuffer(sum, onlyReader{f}, p.buf); err != nil {
		return digest, 0, bare(err)
	}
	return [sha256.Size]byte(sum.Sum(nil)), size, nil
}

func (p *packer) header(name string, size int64, mod time.Time, digest [sha256.Size]byte) error {
	if limit := p.opts.ModTimeMax; !limit.IsZero() && mod.After(limit) {
		mod = limit
	}
	return p.out.WriteHeader(&tar.Header{
		Typeflag:   tar.TypeReg,
		Name:       name,
		Size:       size,
		Mode:       0o644,
		ModTime:    mod.Truncate(time.Second),
		Format:     tar.FormatPAX,
		PAXRecords: map[string]string{"comment": digestComment + hex.EncodeToString(digest[:])},
	})
}
