package site

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

// tenFiles is a site of /0 … /9, 100 bytes each.
func tenFiles(t *testing.T, opts Options) *Site {
	files := map[string]string{}
	for i := range 10 {
		files[itoa(i)] = strings.Repeat(itoa(i), 100)
	}
	return newSite(t, opts, files)
}

// load asks for file i and does what a sender does: hand in what was read.
func load(t testing.TB, s *Site, i int) (fromMemory bool) {
	resp := ask(s, "GET /"+itoa(i))
	body := bodyOf(t, s, resp)
	if body != strings.Repeat(itoa(i), 100) {
		t.Errorf("file %d is %q", i, body)
	}
	if resp.Entry >= 0 {
		s.Keep(resp.Entry, []byte(body))
	}
	return resp.File < 0
}

func TestCacheBudget(t *testing.T) {
	s := tenFiles(t, Options{CacheBytes: 350})
	for i := range 20 {
		load(t, s, i/2)
		if s.cache.used.Load() > 350 || int(s.cache.used.Load()) != 100*len(s.cache.ring) {
			t.Fatalf("%d bytes in %d files", s.cache.used.Load(), len(s.cache.ring))
		}
	}
	if len(s.cache.ring) != 3 {
		t.Errorf("%d files are kept, there is room for 3", len(s.cache.ring))
	}
}

// What is sent again stays, what was sent once goes.
func TestCacheKeepsTheHot(t *testing.T) {
	s := tenFiles(t, Options{CacheBytes: 300})
	for i := range 3 {
		load(t, s, i)
	}
	for i := 3; i < 10; i++ {
		for range 2 {
			if !load(t, s, 0) {
				t.Errorf("round %d: the hot file is gone", i)
			}
			load(t, s, i)
		}
		if e, _ := s.index.findFile([]byte("/" + itoa(i))); s.cache.kept[e].Load() == nil {
			t.Errorf("round %d: what was asked for twice is not kept", i)
		}
	}
}

// A walk over all files, each asked for once, changes nothing once the budget is
// spent.
func TestCacheOutlastsAWalk(t *testing.T) {
	s := tenFiles(t, Options{CacheBytes: 300})
	for i := range 10 {
		load(t, s, i)
	}
	for i := range 3 {
		if !load(t, s, i) {
			t.Errorf("file %d is gone", i)
		}
	}
}

// Being asked for twice counts within a round only.
func TestCacheRounds(t *testing.T) {
	files := map[string]string{}
	for i := range 3 * roundMin {
		files[itoa(i)] = "x"
	}
	s := newSite(t, Options{CacheBytes: 1}, files)
	if resp := ask(s, "GET /0"); resp.Entry < 0 {
		t.Fatal("there is room, and the content is not asked for")
	} else {
		s.Keep(resp.Entry, []byte("x"))
	}
	ask(s, "GET /1")
	for i := range 2 * roundMin {
		ask(s, "GET /"+itoa(2+i))
	}
	if resp := ask(s, "GET /1"); resp.Entry >= 0 {
		t.Error("what was asked for long ago counts")
	}
	if resp := ask(s, "GET /1"); resp.Entry < 0 {
		t.Error("what was asked for just now does not count")
	}
}

func TestCacheLimits(t *testing.T) {
	for why, opts := range map[string]Options{
		"nothing is kept": {CacheBytes: -1},
		"too small a sum": {CacheBytes: 99},
		"too large files": {CacheFileBytesMax: 99},
	} {
		s := tenFiles(t, opts)
		if resp := ask(s, "GET /1"); resp.Entry != -1 {
			t.Errorf("%s: the content is asked for", why)
		}
		i, _ := s.index.findFile([]byte("/1"))
		if s.Keep(i, []byte(strings.Repeat("1", 100))); load(t, s, 1) {
			t.Errorf("%s: the content is kept", why)
		}
	}
}

func TestKeepTwice(t *testing.T) {
	s := tenFiles(t, Options{})
	resp := ask(s, "GET /1")
	for range 2 {
		s.Keep(resp.Entry, []byte(strings.Repeat("1", 100)))
	}
	if s.cache.used.Load() != 100 || len(s.cache.ring) != 1 {
		t.Errorf("%d bytes, %d files", s.cache.used.Load(), len(s.cache.ring))
	}
}

func TestKeepChecksLength(t *testing.T) {
	s := tenFiles(t, Options{})
	defer func() {
		if text := fmt.Sprint(recover()); !strings.Contains(text, "BUG") {
			t.Errorf("recovered %q", text)
		}
	}()
	s.Keep(ask(s, "GET /1").Entry, []byte("short"))
}

// Workers share a site: for the race detector.
func TestCacheShared(t *testing.T) {
	s := tenFiles(t, Options{CacheBytes: 350})
	var workers sync.WaitGroup
	for w := range 4 {
		workers.Go(func() {
			for i := range 200 {
				load(t, s, (i*7+w)%10)
				s.Stale()
			}
		})
	}
	workers.Wait()
	if s.cache.used.Load() > 350 {
		t.Errorf("%d bytes are kept", s.cache.used.Load())
	}
}
