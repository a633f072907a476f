package keydir

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"edge/ech"
)

// Entry is a key of the directory, or a file that cannot be used.
type Entry struct {
	File     string
	Key      *ech.Key // nil when the file cannot be used
	Problems []string // what is wrong or about to be, each with what to do
}

// Listing is what a directory holds.
type Listing struct {
	Set     *ech.Set
	Entries []Entry // keys in the order of the set, then files that cannot be used
	Bad     int     // files that cannot be used: a server that runs would not reload
}

// List reads a directory. Files that cannot be used are entries, not errors.
func List(dir string, now time.Time) (*Listing, error) {
	set, files, bad, err := load(dir)
	if err != nil {
		return nil, err
	}
	l := &Listing{Set: set, Bad: len(bad)}
	modes := make(map[string]fs.FileMode)
	for _, f := range files {
		info, err := os.Stat(filepath.Join(dir, f.name))
		if err != nil {
			return nil, err
		}
		modes[f.name] = info.Mode()
	}
	for i, k := range set.Keys() {
		problems := modeProblems(modes[k.File])
		problems = append(problems, timeProblems(k, now)...)
		problems = append(problems, twinProblems(set.Keys(), i)...)
		l.Entries = append(l.Entries, Entry{k.File, k, problems})
	}
	for _, f := range bad {
		l.Entries = append(l.Entries, Entry{File: f.File, Problems: []string{f.Reason.Error()}})
	}
	return l, nil
}

func modeProblems(mode fs.FileMode) []string {
	if mode.Perm()&0o007 == 0 {
		return nil
	}
	return []string{fmt.Sprintf("mode %04o lets every user at the key: chmod 600, and rotate", mode.Perm())}
}

func timeProblems(k *ech.Key, now time.Time) []string {
	switch {
	case k.Role == ech.Current && !k.RemoveAfter.IsZero() && k.RemoveAfter.Before(now):
		return []string{"current although its time to be removed is past: rotate"}
	case k.Role == ech.DecryptOnly && k.RemoveAfter.IsZero():
		return []string{"decrypt-only without an end: rotate gives it one"}
	case k.Role == ech.DecryptOnly && k.RemoveAfter.Before(now):
		return []string{"no longer needed: rotate removes it"}
	}
	return nil
}

// twinProblems compares a key with those before it.
func twinProblems(keys []*ech.Key, i int) []string {
	var problems []string
	for _, other := range keys[:i] {
		switch {
		case bytes.Equal(other.Config.Raw, keys[i].Config.Raw):
			problems = append(problems, "the same key as in "+other.File)
		case other.Config.ID == keys[i].Config.ID:
			problems = append(problems, fmt.Sprintf("the same config_id as %s: each hello for it is tried with both", other.File))
		}
	}
	return problems
}

// GivenOut returns the keys whose configs servers give out at a time, in order:
// what is to be published. It names the keys of what ech.Set.RetryConfigs
// returns.
func GivenOut(set *ech.Set, now time.Time) []*ech.Key {
	configs, err := ech.ParseConfigList(set.RetryConfigs(now))
	if err != nil {
		return nil // no current key
	}
	var keys []*ech.Key
	for i := range configs {
		at := slices.IndexFunc(set.Keys(), func(k *ech.Key) bool { return bytes.Equal(k.Config.Raw, configs[i].Raw) })
		keys = append(keys, set.Keys()[at])
	}
	return keys
}
