package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"edge/edge/site"
)

func newPack(env Env) *cobra.Command {
	var output string
	c := &cobra.Command{
		Use:   "pack DIR",
		Short: "Pack a directory into one tar file to serve",
		Long: `pack writes the files of DIR as a tar: always the same bytes for the same names,
contents and times of modification, whatever the order, owners and modes on
disk. Times later than SOURCE_DATE_EPOCH, if that is set, become it. Without -o
the tar goes to standard output.

What cannot be served is left out and named: files that begin with a dot. Programs
in .edge/scripts are packed as objects: C is compiled with clang, and verified as
serve does, like objects that are there already.`,
		Example: `  edge pack ./public -o site.tar
  edge pack ./public | ssh web 'cat > /srv/site.tar'`,
		Args: oneArgument("DIR"),
		RunE: func(c *cobra.Command, args []string) error {
			p, err := newPacking(c.Context(), env, args[0])
			if err != nil {
				return err
			}
			if output == "" {
				return p.toStdout()
			}
			return p.toFile(output)
		},
	}
	c.Flags().StringVarP(&output, "output", "o", "", "write `FILE`, whole or not at all")
	return c
}

// packing is one run of the command.
type packing struct {
	ctx  context.Context
	env  Env
	dir  string
	opts site.PackOptions

	scripts map[string]bool // packed already, by name
}

func newPacking(ctx context.Context, env Env, dir string) (*packing, error) {
	p := &packing{ctx: ctx, env: env, dir: dir}
	p.opts.Skipped = func(name, why string) {
		fmt.Fprintf(env.Err, "edge: %s is left out: %s\n", name, why)
	}
	p.opts.Convert = p.convert
	epoch := env.Getenv("SOURCE_DATE_EPOCH")
	if epoch == "" {
		return p, nil
	}
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil || seconds < 0 {
		return nil, usagef("SOURCE_DATE_EPOCH is %q: give seconds since 1970, or unset it", epoch)
	}
	p.opts.ModTimeMax = time.Unix(seconds, 0)
	return p, nil
}

func (p *packing) toStdout() error {
	if f, ok := p.env.Out.(*os.File); ok {
		if isTerminal(f) {
			return usagef("a tar is not for the terminal: give -o FILE, or redirect the output")
		}
		if err := notWithin(p.dir, f); err != nil {
			return err
		}
	}
	return p.to(p.env.Out)
}

// toFile leaves either the whole archive at output or what was there: it writes
// a temporary neighbour and renames it.
func (p *packing) toFile(output string) (err error) {
	if err := outside(p.dir, output); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(output), "."+filepath.Base(output)+".*")
	if err != nil {
		return fmt.Errorf("writing %s: %w", output, plain(err))
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	if err := p.to(f); err != nil {
		return err
	}
	// CreateTemp makes it private; a site is for a server of another user.
	if err := errors.Join(f.Chmod(0o644), f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("writing %s: %w", output, plain(err))
	}
	if err := os.Rename(f.Name(), output); err != nil {
		return fmt.Errorf("writing %s: %w", output, plain(err))
	}
	return nil
}

func (p *packing) to(w io.Writer) error {
	err := site.Pack(stoppable{p.ctx, w}, p.dir, p.opts)
	if err != nil && p.ctx.Err() != nil {
		return errors.New("stopped before the archive was whole")
	}
	return err
}

// stoppable is a writer that fails once its context has ended.
type stoppable struct {
	ctx context.Context
	io.Writer
}

func (w stoppable) Write(p []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	return w.Writer.Write(p)
}

// outside refuses an output inside the directory that is packed: the next
// archive would hold this one.
func outside(dir, output string) error {
	root, err := realPath(dir)
	if err != nil {
		return fmt.Errorf("pack %s: %w", dir, plain(err))
	}
	parent, err := realPath(filepath.Dir(output))
	if err != nil {
		return fmt.Errorf("writing %s: %w", output, plain(err))
	}
	if parent == root || strings.HasPrefix(parent, strings.TrimSuffix(root, "/")+"/") {
		return fmt.Errorf("%s lies inside %s, which is being packed: choose a place outside", output, dir)
	}
	return nil
}

func realPath(name string) (string, error) {
	abs, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}

// notWithin is outside for an output that is already open (a shell's
// redirection): no file below dir may be the same.
func notWithin(dir string, f *os.File) error {
	out, err := f.Stat()
	if err != nil || !out.Mode().IsRegular() {
		return nil // a pipe or a device is no file of dir
	}
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil // Pack reports what cannot be read
		}
		if info, err := d.Info(); err == nil && os.SameFile(info, out) {
			return fmt.Errorf("the output is %s, inside what is being packed: choose a place outside", path)
		}
		return nil
	})
}

func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

// plain drops the name of the system call from a file error and keeps path and
// reason: "open x: no such file or directory" reads "x: no such file or
// directory".
func plain(err error) error {
	switch err := err.(type) {
	case *fs.PathError:
		return fmt.Errorf("%s: %w", err.Path, err.Err)
	case *os.LinkError:
		return err.Err
	}
	return err
}
