package gateway

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"edge/edge/config"
	"edge/edge/reactor/sim"
	"edge/tlsstack"
)

// Generations: what is replaced is let go by its last user, and not before.

// siteBench is a bench whose site is a directory that the test changes.
type siteBench struct {
	*bench
	dir string
}

func newSiteBench(t *testing.T, o benchOptions) *siteBench {
	dir := t.TempDir()
	configure := o.config
	o.noSite = true
	o.config = func(c *config.Config) {
		c.Site = filepath.Join(dir, "site")
		if configure != nil {
			configure(c)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "site"), 0o755); err != nil {
		t.Fatal(err)
	}
	b := &siteBench{newBench(t, o), filepath.Join(dir, "site")}
	b.s.workers = []*worker{b.w}
	b.s.current().tls = new(tlsstack.Config)
	b.write("version", "0")
	b.write("big.bin", strings.Repeat("0", 1<<20))
	b.reload()
	return b
}

func (b *siteBench) write(name, content string) {
	b.t.Helper()
	if err := os.WriteFile(filepath.Join(b.dir, name), []byte(content), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// reload is what SIGHUP does, without certificates.
func (b *siteBench) reload() {
	b.t.Helper()
	if err := b.s.reload("test", partsAll); err != nil {
		b.t.Fatal(err)
	}
	b.sim.Idle()
}

func (b *siteBench) version() string {
	b.t.Helper()
	return string(bodyOf(b.t, exchanged(b.t, b.ask(get("/version")), "GET")[0]))
}

// openSites is the number of files this process has open that were removed: the
// archives that sites made of directories live in. What earlier tests left to the
// collector is closed first.
func openSites(t *testing.T) int {
	t.Helper()
	runtime.GC()
	runtime.GC()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("no /proc here")
	}
	n := 0
	for _, e := range all {
		if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && strings.Contains(to, "(deleted)") {
			n++
		}
	}
	return n
}

func TestOldGenerationsAreLetGo(t *testing.T) {
	b := newSiteBench(t, benchOptions{})
	before := openSites(t)
	if before == 0 {
		t.Skip("an archive made of a directory is not seen here")
	}
	var old []*generation
	for i := range 50 {
		old = append(old, b.s.current())
		b.write("version", fmt.Sprint(i+1))
		b.reload()
		if got := b.version(); got != fmt.Sprint(i+1) {
			t.Fatalf("after reload %d: version %q", i+1, got)
		}
	}
	for _, g := range old {
		if n := g.users.Load(); n != 0 {
			t.Errorf("generation %d has %d users left", g.number, n)
		}
	}
	if now := openSites(t); now > before {
		t.Errorf("%d sites are open, there were %d before 50 reloads", now, before)
	}
	if n := b.s.current().users.Load(); n != 2 {
		t.Errorf("the current generation has %d users, want the server and the worker", n)
	}
	b.done()
}

// A download goes on with what it started with, and so long its generation stays.
func TestDownloadOutlivesItsGeneration(t *testing.T) {
	b := newSiteBench(t, benchOptions{sim: sim.Options{PipeBytes: 16 << 10}})
	files := openSites(t)
	first := b.s.current()
	p := b.plain.Dial()
	p.Stalled = true
	p.Write(get("/big.bin") + get("/version"))
	b.sim.Idle()
	for i := range 3 {
		b.write("version", fmt.Sprint(i+1))
		b.write("big.bin", strings.Repeat(fmt.Sprint(i+1), 1<<20))
		b.reload()
	}
	if first.users.Load() != 1 {
		t.Fatalf("the generation of a download in progress has %d users", first.users.Load())
	}
	if n := openSites(t); n > files+1 {
		t.Errorf("%d sites are open with a download of an old one, %d without", n, files)
	}
	p.Stalled = false
	b.sim.Idle()
	all := exchanged(t, p.Read(), "GET", "GET")
	if body := bodyOf(t, all[0]); !bytes.Equal(body, bytes.Repeat([]byte("0"), 1<<20)) {
		t.Errorf("the download ends with %.10q", body[max(0, len(body)-10):])
	}
	if got := string(bodyOf(t, all[1])); got != "3" {
		t.Errorf("the request behind it was answered with version %q", got)
	}
	if first.users.Load() != 0 || openSites(t) > files {
		t.Errorf("the old generation has %d users, %d sites are open", first.users.Load(), openSites(t))
	}
	p.Close()
	b.done()
}

// A connection that is cut in the middle of a download lets go as well.
func TestResetLetsGo(t *testing.T) {
	b := newSiteBench(t, benchOptions{sim: sim.Options{PipeBytes: 16 << 10}})
	first := b.s.current()
	p := b.plain.Dial()
	p.Stalled = true
	p.Write(get("/big.bin"))
	b.sim.Idle()
	b.reload()
	p.Reset()
	b.sim.Idle()
	if n := first.users.Load(); n != 0 {
		t.Errorf("%d users of a generation whose last download was reset", n)
	}
	b.done()
}

// A reload that fails changes nothing, and says so.
func TestFailedReload(t *testing.T) {
	b := newSiteBench(t, benchOptions{})
	current, users := b.s.current(), b.s.current().users.Load()
	if err := os.Rename(b.dir, b.dir+".away"); err != nil {
		t.Fatal(err)
	}
	if err := b.s.reload("test", partsAll); err == nil {
		t.Fatal("a site that is not there was loaded")
	}
	if b.s.current() != current || current.users.Load() != users || b.s.reloadsFailed.Load() != 1 {
		t.Error("a failed reload changed something, or was not counted")
	}
	if want := fmt.Sprintf("reload (test) failed, generation %d stays in service: site ", current.number); !strings.Contains(b.log.String(), want) {
		t.Errorf("log: %s\nwant %q", b.log, want)
	}
	if b.version() != "0" {
		t.Error("the site is gone")
	}
	b.done()
}

// Only what changed is loaded: certificates do not open the site again.
func TestSiteIsKeptAcrossOtherReloads(t *testing.T) {
	b := newSiteBench(t, benchOptions{})
	shared := b.s.current().shared
	for range 3 {
		if err := b.s.reload("test", partCertificates|partKeys); err != nil {
			t.Fatal(err)
		}
		b.sim.Idle()
	}
	if b.s.current().shared != shared || shared.generations.Load() != 1 {
		t.Errorf("the site is another one, or has %d generations", shared.generations.Load())
	}
	if b.version() != "0" {
		t.Error("the site is closed")
	}
	b.done()
}

func TestSkippedEntriesAreToldOfWithinBounds(t *testing.T) {
	b := newSiteBench(t, benchOptions{})
	for i := range skippedToldMax + 7 {
		b.write(fmt.Sprintf(".hidden%d\x1b", i), "")
	}
	b.reload()
	if n := strings.Count(b.log.String(), "is not served"); n != skippedToldMax {
		t.Errorf("%d entries were told of one by one, want %d", n, skippedToldMax)
	}
	if !strings.Contains(b.log.String(), "7 more entries are not served") || strings.Contains(b.log.String(), "\x1b") {
		t.Errorf("log: %q", b.log)
	}
	b.done()
}

// Requests that are on their way when the drain begins are answered, and told
// that the connection ends.
func TestDrainAnswersWhatIsOnItsWay(t *testing.T) {
	b := newBench(t, benchOptions{})
	idle, late, half := b.plain.Dial(), b.plain.Dial(), b.plain.Dial()
	half.Write(get("/")[:20])
	b.sim.Idle()
	queued := b.plain.Dial() // in the kernel's queue when accepting stops
	queued.Write(get("/"))
	for b.w.open < 4 {
		b.sim.Step()
	}
	b.w.drain(drainIdleTime)
	late.Write(get("/"))
	half.Write(get("/")[20:])
	b.sim.Idle()
	for name, p := range map[string]*sim.Peer{"idle": late, "within its head": half, "fresh": queued} {
		resp := exchanged(t, p.Read(), "GET")[0]
		if resp.StatusCode != 200 || !resp.Close {
			t.Errorf("%s: status %d, close %v", name, resp.StatusCode, resp.Close)
		}
		p.WantEOF(name)
		p.Close()
	}
	idle.WantIdle("for a moment")
	b.sim.Advance(drainIdleTime + 10*time.Millisecond)
	idle.WantEOF("nothing came")
	idle.Close()
	over := b.plain.Dial()
	over.WantReset("nobody listens any more")
	b.done()
}

// A client that was not told keeps its connection: its next request is answered.
func TestDrainDuringAnAnswer(t *testing.T) {
	b := newBench(t, benchOptions{})
	p := b.plain.Dial()
	p.Stalled = true
	p.Write(get("/f1048583.bin"))
	b.sim.Idle()
	b.w.drain(drainIdleTime)
	p.Stalled = false
	b.sim.Idle()
	if resp := exchanged(t, p.Read(), "GET")[0]; resp.Close {
		t.Fatal("the head said close before the drain began")
	}
	p.WantIdle("not told yet")
	p.Write(get("/"))
	b.sim.Idle()
	if resp := exchanged(t, p.Read(), "GET")[0]; !resp.Close {
		t.Error("the last answer does not say close")
	}
	p.WantEOF("told")
	p.Close()
	b.done()
}

func TestDrainCutsWhatDoesNotEnd(t *testing.T) {
	b := newBench(t, benchOptions{})
	p := b.plain.Dial()
	p.Stalled = true
	p.Write(get("/f3145729.bin"))
	b.sim.Idle()
	b.w.drain(drainIdleTime)
	b.sim.Advance(b.s.cfg.Timeouts.Drain - time.Second)
	if strings.Contains(b.log.String(), "cut") {
		t.Errorf("before its time: %s", b.log)
	}
	b.sim.Advance(2 * time.Second)
	if !strings.Contains(b.log.String(), "drain: 1 connections did not end in time and were cut") {
		t.Errorf("log: %s", b.log)
	}
}
