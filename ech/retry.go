package ech

import (
	"bytes"
	"slices"
	"time"
)

// The retry lists of a set are made when the set is: one for every time at which
// another key comes into effect.

func (s *Set) buildRetryLists() error {
	var times []time.Time
	for _, k := range s.keys {
		if k.Role == Current {
			times = append(times, k.NotBefore)
		}
	}
	slices.SortFunc(times, time.Time.Compare)
	times = slices.CompactFunc(times, time.Time.Equal)
	for _, from := range times {
		list, err := AppendConfigList(nil, s.inEffect(from)...)
		if err != nil {
			return errRetryLong
		}
		s.retry = append(s.retry, retryList{from, list})
	}
	return nil
}

// inEffect returns the configs of the current keys whose time has come, one that
// is in two files once.
func (s *Set) inEffect(now time.Time) [][]byte {
	var configs [][]byte
	for _, k := range s.keys {
		if k.Role != Current || k.NotBefore.After(now) {
			continue
		}
		same := func(c []byte) bool { return bytes.Equal(c, k.Config.Raw) }
		if !slices.ContainsFunc(configs, same) {
			configs = append(configs, k.Config.Raw)
		}
	}
	return configs
}
