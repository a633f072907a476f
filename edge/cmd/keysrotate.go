package cmd

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"edge/ech/keydir"
	"edge/edge/dnspub"
	"edge/edge/echcheck"
)

// overlapDefault is far above any sensible TTL, for caches that keep records
// longer than they should.
const overlapDefault = 2 * day

// lockTimeout bounds the wait for another run on the same directory.
const lockTimeout = time.Minute

func newKeysRotate(env Env) *cobra.Command {
	r := rotateFlags{overlap: span(overlapDefault), ttl: span(ttlDefault)}
	c := &cobra.Command{
		Use:   "rotate",
		Short: "Replace current keys, retire and remove old ones",
		Long: `rotate makes a successor of each current key, of the same kind (public name and
KEM), once the key is older than --every. Keys that have a successor which
is given out become decrypt-only for the time of --overlap, then they are removed.

It may be run as often as you like, from cron for example: when nothing is due
it does nothing, and without --every a second run within a TTL makes no second
key. Two runs at once wait for each other; runs on copies of the directory on
several machines may make two successors, of which the next run keeps the later.

Where a directory is copied between machines, give --not-before more time than
that takes: a new key is then on all of them before one gives it out.

Nothing is done that breaks clients whose records are from a cache: the overlap
must be at least the TTL of the published records (--ttl), and no key is removed
within a TTL of its retirement. With --for, no key is removed that DNS still
publishes for that name, as long as publishing may have failed. --force drops all
of that.

edge serve takes new keys up by itself; then run edge keys publish. A key can be
retired by hand as well: rename its file to end in .decrypt-only.pem.`,
		Example: `  edge keys rotate --dir /etc/edge/ech --every 30d --overlap 2d
  edge keys rotate --dir /etc/edge/ech --every 1d --not-before 1h --for www.example.com
  edge keys rotate --dir /etc/edge/ech --dry-run`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return r.run(c, env) },
	}
	fs := c.Flags()
	dirFlag(c, &r.dir)
	fs.Var(&r.overlap, "overlap", "how long a retired key goes on decrypting")
	fs.Var(&r.ttl, "ttl", "time to live of the records that publish the keys")
	fs.Var(&r.every, "every", "age from which a key is replaced (default: any, but not twice within a TTL)")
	fs.Var(&r.notBefore, "not-before", "give a new key out only after so long: until then it decrypts")
	fs.StringVar(&r.publicName, "public-name", "", "only keys for this `NAME`")
	fs.StringArrayVar(&r.names, "for", nil, "remove no key that DNS publishes for `NAME[:PORT]`; may be repeated")
	fs.StringArrayVar(&r.servers, "server", nil, "DNS server to ask for that, `HOST[:PORT]` (default: the resolvers of this machine)")
	timeoutFlag(c, &r.timeout)
	fs.BoolVar(&r.force, "force", false, "replace and remove keys although caches may hold them")
	fs.BoolVar(&r.dryRun, "dry-run", false, "print what would be done, and do nothing")
	fs.SortFlags = false
	return c
}

// rotateFlags are the flags of rotate.
type rotateFlags struct {
	dir                            string
	overlap, ttl, every, notBefore span
	publicName                     string
	names, servers                 []string
	timeout                        span
	force, dryRun                  bool
}

func (r *rotateFlags) run(c *cobra.Command, env Env) error {
	p := keydir.Policy{
		Overlap: time.Duration(r.overlap), TTL: time.Duration(r.ttl), Every: time.Duration(r.every), Lead: time.Duration(r.notBefore),
		PublicName: r.publicName, Force: r.force,
	}
	if err := p.Check(); err != nil {
		return usagef("%w: lengthen it, or give --force", err)
	}
	var err error
	if p.Published, err = r.published(c.Context()); err != nil {
		return err
	}
	if r.dryRun {
		changes, err := keydir.Plan(r.dir, p, time.Now())
		if err != nil {
			return err
		}
		return writeChanges(env.Out, "would be ", changes)
	}
	ctx, cancel := context.WithTimeoutCause(c.Context(), lockTimeout, errors.New("waited too long"))
	defer cancel()
	changes, err := keydir.Rotate(ctx, r.dir, p, time.Now(), rand.Reader)
	if werr := writeChanges(env.Out, "", changes); werr != nil {
		return werr
	}
	return err
}

// published returns the configs that DNS gives out for the names of --for. What it
// cannot see it takes for a reason to stop: then nothing is removed by mistake.
func (r *rotateFlags) published(ctx context.Context) ([][]byte, error) {
	if len(r.names) == 0 {
		return nil, nil
	}
	servers, err := dnsServers(r.servers, time.Duration(r.timeout))
	if err != nil {
		return nil, err
	}
	var configs [][]byte
	for _, name := range r.names {
		owner, err := dnspub.ParseOwner(name)
		if err != nil {
			return nil, usagef("--for: %w", err)
		}
		for _, s := range servers {
			found, err := echcheck.Published(ctx, s, owner)
			if err != nil {
				return nil, fmt.Errorf("looking which keys are published for %s: %w: nothing is rotated", owner, err)
			}
			configs = append(configs, found...)
		}
	}
	return configs, nil
}

// writeChanges prints a line for each change, which begins with what was done.
func writeChanges(w io.Writer, would string, changes []keydir.Change) error {
	for _, c := range changes {
		if _, err := fmt.Fprintln(w, changeLine(would, c)); err != nil {
			return err
		}
	}
	return nil
}

func changeLine(would string, c keydir.Change) string {
	switch c.Action {
	case keydir.Make:
		if would != "" {
			return fmt.Sprintf("would be made: a successor of %s, given out from %s", describe(c.Key), stamp(c.When))
		}
		return fmt.Sprintf("made %s: %s, given out from %s", c.File, describe(c.Key), stamp(c.When))
	case keydir.Retire:
		return fmt.Sprintf("%sretired %s: %s, to be removed after %s", would, c.File, describe(c.Key), stamp(c.When))
	case keydir.Remove:
		return fmt.Sprintf("%sremoved %s: %s", would, c.File, describe(c.Key))
	}
	line := fmt.Sprintf("stays %s: %s %s", c.File, describe(c.Key), c.Why)
	if !c.When.IsZero() {
		line += " " + stamp(c.When)
	}
	return line
}
