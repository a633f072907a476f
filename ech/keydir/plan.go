package keydir

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"edge/ech"
)

// What a rotation does, decided from the files and the time alone.
//
// Runs on several copies of a directory see each other's work late. They may
// make two successors at once: then both are current until the next run, which
// keeps the later one. Whatever the order, no key is retired before another of
// its kind is given out, and none is removed before it was retired for its
// overlap. The choice between keys of one second is by file name, so that all
// copies agree.

// Policy says how keys are replaced. All times are of at least a second.
type Policy struct {
	Overlap time.Duration // how long a retired key goes on decrypting
	TTL     time.Duration // of the DNS records that publish the keys

	// Every is the age from which a key is replaced. A younger one stays, so that
	// runs may be more frequent than new keys. Zero is any age, except that a key
	// which has itself replaced another stays for a TTL: a rotation that is run
	// twice is one.
	Every time.Duration

	// Lead is how long a new key only decrypts before it is given out: time for
	// all copies of the directory to have it.
	Lead time.Duration

	// PublicName restricts the run to keys for this name; empty for all.
	PublicName string

	// Published are ECHConfigs that DNS still gives out, as far as the caller has
	// looked: their keys are not removed.
	Published [][]byte

	// Force drops what caches ask for: an overlap of at least a TTL, no second
	// rotation within a TTL, and no removal of a key that is published or was
	// retired within a TTL.
	Force bool
}

// Check reports a policy under which clients would use keys that are gone.
func (p *Policy) Check() error {
	switch {
	case p.Overlap < 0 || p.TTL < 0 || p.Every < 0 || p.Lead < 0:
		return errors.New("a time is negative")
	case p.Force:
		return nil
	case p.Overlap < p.TTL:
		return fmt.Errorf("an overlap of %v is shorter than the TTL of %v: caches would give out keys that are gone", p.Overlap, p.TTL)
	}
	return nil
}

// Action is what a rotation does to a key.
type Action uint8

// Actions, in the order in which they are carried out.
const (
	Make   Action = iota // a successor
	Retire               // decrypt-only from now on, with a time to be removed
	Remove
	Stay // said only where a reader would expect another action
)

// String returns the action as the past of what was done.
func (a Action) String() string { return [...]string{"made", "retired", "removed", "stays"}[a] }

// Change is one thing that a rotation does or did.
type Change struct {
	Action Action
	File   string
	Key    *ech.Key  // for Make, the key to succeed until the new one is made
	When   time.Time // Make: given out from; Retire: to be removed after; Stay: until
	Why    string    // of Stay, to be read before When
}

// plan returns what is to be done, in the order of Actions.
func plan(files []*file, p Policy, now time.Time) []Change {
	var changes []Change
	for _, kind := range kinds(files, p.PublicName) {
		changes = append(changes, kind.succeed(p, due(files, kind[0], p), now)...)
	}
	for _, f := range files {
		for _, k := range f.keys {
			if k.Role == ech.DecryptOnly && isFor(k, p.PublicName) {
				changes = append(changes, expire(f, k, p, now)...)
			}
		}
	}
	slices.SortStableFunc(changes, func(a, b Change) int { return int(a.Action) - int(b.Action) })
	return changes
}

func isFor(k *ech.Key, publicName string) bool {
	return publicName == "" || strings.EqualFold(k.Config.PublicName, publicName)
}

// kind is the current keys with one public name and KEM, the latest first.
type kind []*ech.Key

// kinds sorts the current keys of the files into their kinds, in the order of
// the files.
func kinds(files []*file, publicName string) []kind {
	type sort struct {
		name string
		kem  uint16
	}
	at := make(map[sort]int)
	var all []kind
	for _, f := range files {
		for _, k := range f.keys {
			if k.Role != ech.Current || !isFor(k, publicName) {
				continue
			}
			s := sort{strings.ToLower(k.Config.PublicName), k.Config.KEM}
			if _, ok := at[s]; !ok {
				at[s] = len(all)
				all = append(all, nil)
			}
			all[at[s]] = append(all[at[s]], k)
		}
	}
	for _, k := range all {
		slices.SortStableFunc(k, func(a, b *ech.Key) int { return b.NotBefore.Compare(a.NotBefore) })
	}
	return all
}

func sameKind(a, b *ech.Key) bool {
	return a.Config.KEM == b.Config.KEM && strings.EqualFold(a.Config.PublicName, b.Config.PublicName)
}

// due is when a key is to be replaced.
func due(files []*file, k *ech.Key, p Policy) time.Time {
	if p.Every != 0 || p.Force {
		return k.NotBefore.Add(p.Every)
	}
	for _, f := range files {
		for _, o := range f.keys {
			if sameKind(o, k) && !o.NotBefore.After(k.NotBefore) && !bytes.Equal(o.Config.Raw, k.Config.Raw) {
				return k.NotBefore.Add(p.TTL)
			}
		}
	}
	return k.NotBefore
}

// succeed plans a successor when the latest key is due, and retires keys that
// have one which is given out.
func (kd kind) succeed(p Policy, due, now time.Time) []Change {
	latest := kd[0]
	from := now.Add(p.Lead)
	var changes []Change
	if now.Before(due) {
		changes = append(changes, Change{Stay, latest.File, latest, due, "is replaced after"})
	} else {
		changes = append(changes, Change{Action: Make, Key: latest, When: from})
	}
	succeeded := !now.Before(due) && !from.After(now) // by the new key, at once
	var successor *ech.Key
	for _, k := range kd {
		switch {
		case k.NotBefore.After(now):
			continue // given out later
		case !succeeded:
			succeeded, successor = true, k
		case successor == nil || !bytes.Equal(k.Config.Raw, successor.Config.Raw): // else a copy of it
			changes = append(changes, retire(k, p, now))
		}
	}
	return changes
}

// retire makes a key decrypt-only. It was given out until now, whenever its
// successor came.
func retire(k *ech.Key, p Policy, now time.Time) Change {
	until := now.Add(p.Overlap)
	if k.RemoveAfter.After(until) {
		until = k.RemoveAfter
	}
	return Change{Action: Retire, File: k.File, Key: k, When: until}
}

func (p *Policy) isPublished(k *ech.Key) bool {
	return slices.ContainsFunc(p.Published, func(c []byte) bool { return bytes.Equal(c, k.Config.Raw) })
}

// expire decides about a key that is decrypt-only.
func expire(f *file, k *ech.Key, p Policy, now time.Time) []Change {
	if k.RemoveAfter.IsZero() { // retired by a rename or by hand
		return []Change{retire(k, p, now)}
	}
	if now.Before(k.RemoveAfter) {
		return nil
	}
	if p.isPublished(k) && !p.Force {
		return []Change{{Action: Stay, File: f.name, Key: k, Why: "is past its time, but still published: publish the current keys"}}
	}
	// Its time may have been set under a shorter TTL. The file was written when the
	// key was retired; a copy's time may be later, which errs to the safe side.
	if held := f.written.Add(p.TTL); now.Before(held) && !p.Force {
		return []Change{{Stay, f.name, k, held, "was retired less than a TTL ago, may still be in caches until"}}
	}
	return []Change{{Action: Remove, File: f.name, Key: k}}
}
