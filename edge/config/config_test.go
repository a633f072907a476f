package config

import (
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
)

// parse is what serve does with its arguments.
func parse(args ...string) (*Config, error) {
	c := New()
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	fs.SetOutput(discard{})
	for _, g := range c.Flags() {
		fs.AddFlagSet(g.Flags)
	}
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	return c, c.Check()
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

func TestDefaultsAreLegal(t *testing.T) {
	c, err := parse("--dev")
	if err != nil {
		t.Fatal(err)
	}
	if c.Workers < 1 {
		t.Errorf("Workers = %d by default", c.Workers)
	}
	if want := []Address{tcp("0.0.0.0:8443")}; !reflect.DeepEqual(c.Listen, want) || c.ListenGiven {
		t.Errorf("Listen = %v, want %v", c.Listen, want)
	}
	if c.Limits.HelloBytes != 65536 || c.Timeouts.Idle != 75*time.Second {
		t.Errorf("limits %+v timeouts %+v: the tables do not reach the structs", c.Limits, c.Timeouts)
	}
}

func tcp(s string) Address { return Address{TCP: netip.MustParseAddrPort(s)} }

func TestEveryLimitIsAFlag(t *testing.T) {
	count := reflect.TypeOf(Limits{}).NumField()
	if len(limitRows) != count {
		t.Errorf("%d limits have a row, the struct has %d fields", len(limitRows), count)
	}
	if n := reflect.TypeOf(Timeouts{}).NumField(); len(timeoutRows) != n {
		t.Errorf("%d timeouts have a row, the struct has %d fields", len(timeoutRows), n)
	}
	places := map[any]string{}
	var l Limits
	for _, r := range limitRows {
		if first, taken := places[r.at(&l)]; taken {
			t.Errorf("--%s and --%s set the same field", first, r.flag)
		}
		places[r.at(&l)] = r.flag
		if r.standard < r.least || r.standard > r.most {
			t.Errorf("--%s: default %d is outside %d..%d", r.flag, r.standard, r.least, r.most)
		}
	}
}

func TestFlagsReachTheConfig(t *testing.T) {
	c, err := parse("--cert-dir", "/c", "--listen", ":443", "--listen=[::1]:8443", "--listen", "unix:/run/a b.sock",
		"--http", "localhost:80", "--http", "unix:@edge", "--unix-mode", "0600", "--html-fallback", "--ticket-keys", "/t",
		"--http-redirect", "--strict-sni", "--workers", "3", "--max-head-bytes", "16K", "--max-fields=50",
		"--buffer-bytes", "1GiB", "--idle-timeout", "90s", "--request-timeout", "0s", "--state-dir", "/s", "--access-log", "-", "--error-log", "/e",
		"--relay", "Public.Example.=[2001:db8::1]:443", "--ech", "/k", "--relay-public",
		"--origin", "hidden.example=origin:4443", "--ech-backend", "192.0.2.1,2001:db8::/64", "--origin-svcb", "1h", "--log-inner-name=false",
		"--proxy", "/api=http://a", "--proxy-health", "/api=/ok", "--proxy-health-interval", "1m", "--proxy-health-timeout", "1s",
		"--proxy-max-fails", "0", "--proxy-fail-timeout", "10s", "--proxy-health-fall", "1", "--proxy-health-rise", "9", "--proxy-health-status", "204", "--proxy-health-host", "h",
		"--client-auth", "require", "--client-ca", "/a.pem", "--key-log", "/k.log")
	if err != nil {
		t.Fatal(err)
	}
	want := New()
	want.CertDir, want.StateDir, want.Workers = "/c", "/s", 3
	want.Listen = []Address{tcp("[::]:443"), tcp("[::1]:8443"), {Unix: "/run/a b.sock"}}
	want.ListenGiven = true
	want.HTTP = []Address{tcp("127.0.0.1:80"), {Unix: "@edge"}}
	want.UnixMode, want.HTMLFallback, want.TicketKeys = 0o600, true, "/t"
	want.HTTPRedirect, want.StrictSNI = true, true
	want.AccessLog, want.ErrorLog = "-", "/e"
	want.Proxy, want.ProxyHealth, want.ProxyHealthHost = []string{"/api=http://a"}, []string{"/api=/ok"}, "h"
	want.ProxyMaxFails, want.ProxyFailTimeout = 0, 10*time.Second
	want.ProxyHealthInterval, want.ProxyHealthTimeout = time.Minute, time.Second
	want.ProxyHealthFall, want.ProxyHealthRise, want.ProxyHealthStatus = 1, 9, StatusRange{204, 204}
	want.ECHDir, want.RelayPublic = "/k", true
	want.ClientAuth, want.ClientCA, want.KeyLog = ClientAuthRequire, "/a.pem", "/k.log"
	want.Origins = []Relay{{"hidden.example", HostPort{"origin", 4443}}}
	want.ECHBackend, want.OriginSVCB, want.LogInnerName = []string{"192.0.2.1", "2001:db8::/64"}, time.Hour, false
	want.Relays = []Relay{{"public.example", HostPort{"2001:db8::1", 443}}}
	want.Limits.HeadBytes, want.Limits.Fields, want.Limits.BufferBytes = 16<<10, 50, 1<<30
	want.Timeouts.Idle = 90 * time.Second
	if !reflect.DeepEqual(c, want) {
		t.Errorf("got  %+v\nwant %+v", c, want)
	}
}

func TestRefusals(t *testing.T) {
	for _, tc := range []struct{ args, want string }{
		{"", "no certificates: give --cert-dir DIR with PEM files, or --dev for a development certificate"},
		{"--dev --cert-dir /c", "--dev and --cert-dir exclude each other"},
		{"--dev --workers 0", "--workers 0: give a number from 1 to 1024"},
		{"--dev --workers 9999", "--workers 9999: give a number from 1 to 1024"},
		{"--dev --workers many", `invalid argument "many" for "--workers" flag: give a whole number`},
		{"--dev --gather-time 11ms", "--gather-time 11ms: give a time up to 10ms"},
		{"--dev --gather-time -1ms", `invalid argument "-1ms" for "--gather-time" flag: give a time with its unit`},
		{"--dev --proxy-via a/b", `--proxy-via "a/b": give a name`},
		{"--dev --listen 8443", "give HOST:PORT, such as 0.0.0.0:8443"},
		{"--dev --listen :https", `port "https": give a number from 0 to 65535`},
		{"--dev --listen :65536", `port "65536": give a number`},
		{"--dev --listen example.com:443", `host "example.com": give an IP address`},
		{"--dev --listen [127.0.0.1]:443", `host "[127.0.0.1]"`},
		{"--dev --listen [::1:443", `host "[::1"`},
		{"--dev --listen unix:", "give unix:PATH, such as unix:/run/edge.sock"},
		{"--dev --listen unix:@", "give unix:PATH"},
		{"--dev --listen unix:/" + strings.Repeat("a", 107), "a path of 108 bytes: a unix socket's has at most 107"},
		{"--dev --listen unix:/a --http unix:/a", "--http unix:/a: already taken by --listen"},
		{"--dev --unix-mode 668", "give permissions in octal, such as 660"},
		{"--dev --unix-mode 1777", "give permissions in octal"},
		{"--dev --ticket-keys=", "give a path"},
		{"--dev --client-auth require", "--client-auth require needs the authorities"},
		{"--dev --client-auth request", "--client-auth request needs the authorities"},
		{"--dev --client-ca /c", "--client-ca is of no use while clients are not asked"},
		{"--dev --client-auth maybe", `--client-auth "maybe": give none, request or require`},
		{"--dev --key-log=", "give a path"},
		{"--dev --min-rate 2m", "--min-rate 2m: give a value from 0 to 1m"},
		{"--dev --listen :1 --listen :1", "--listen [::]:1: already taken by --listen"},
		{"--dev --listen :1 --http :1", "--http [::]:1: already taken by --listen"},
		{"--dev --http-redirect", "--http-redirect needs a plain address"},
		{"--dev --max-head-bytes 1k", "--max-request-line-bytes 8k does not fit into --max-head-bytes 1k"},
		{"--dev --max-head-bytes 1", "--max-head-bytes 1: give a value from 512 to 64k"},
		{"--dev --max-head-bytes 10x", "give a size such as 65536, 64k or 32m"},
		{"--dev --max-head-bytes -1", "give a size"},
		{"--dev --buffer-bytes 99999999999g", "give a size"},
		{"--dev --max-fields 1e3", "give a whole number"},
		{"--dev --max-fields 5000", "--max-fields 5000: give a value from 8 to 1024"},
		{"--dev --idle-timeout 30", "give a time with its unit, such as 500ms, 30s or 5m"},
		{"--dev --idle-timeout 0s", "--idle-timeout 0s: give a time from 1ms to 168h0m0s"},
		{"--dev --idle-timeout -3s", "give a time with its unit"},
		{"--dev --idle-timeout 9999h", "--idle-timeout 9999h0m0s: give a time"},
		{"--cert-dir=", "give a path"},
		{"--dev --access-log=", "give a path"},
		{"--dev --reload-on-change", "--reload-on-change has nothing to watch"},
		{"--dev --relay-public", "add --ech DIR"},
		{"--dev --origin a=b:1", "add --ech DIR"},
		{"--dev --origin-svcb 1h", "add --ech DIR"},
		{"--dev --ech /k --origin a=b:1 --origin a=c:2", "a is relayed to b:1 already"},
		{"--ech /k --origin a=b:1", "no certificates"},
		{"--dev --relay example.com", "give NAME=HOST:PORT"},
		{"--dev --relay =a:1", "give NAME=HOST:PORT"},
		{"--dev --relay a=b", `"b": give HOST:PORT`},
		{"--dev --relay a=b:0", `"b:0": give HOST:PORT`},
		{"--dev --relay A=b:1 --relay a.=c:2", "a is relayed to b:1 already"},
		{"--dev --proxy-health /x", "--proxy-health asks the applications of --proxy: there are none"},
		{"--dev --proxy-max-fails -1", "--proxy-max-fails -1: give a number from 0 to 100"},
		{"--dev --proxy-fail-timeout 0s", "--proxy-fail-timeout 0s: give a time from 10ms to 1h"},
		{"--dev --proxy-health-interval 1ms", "--proxy-health-interval 1ms: give a time from 100ms to 1h"},
		{"--dev --proxy-health-timeout 0s", "--proxy-health-timeout 0s: give a time from 1ms"},
		{"--dev --proxy-health-fall 0", "--proxy-health-fall 0: give a number from 1 to 100"},
		{"--dev --proxy-health-rise 101", "--proxy-health-rise 101: give a number from 1 to 100"},
		{"--dev --proxy-health-status 100", "give a status or a range of them, such as 200 or 200-399"},
		{"--dev --proxy-health-status 300-200", "give a status or a range"},
		{"--dev --proxy-health-status 200-x", "give a status or a range"},
		{"--dev --proxy-max-connections 3 --workers 4", "--proxy-max-connections 3: each of 4 workers needs one"},
		{"--dev --proxy-balance hash:", `--proxy-balance "hash:": give round-robin`},
		{"--dev --proxy-balance fair", `--proxy-balance "fair": give round-robin`},
		{"--dev --colour red", "unknown flag: --colour"},
	} {
		_, err := parse(strings.Fields(tc.args)...)
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%q: error %v, want %q", tc.args, err, tc.want)
		} else if strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: error of more than one line: %q", tc.args, err)
		}
	}
}

func TestPortZeroMayRepeat(t *testing.T) {
	if _, err := parse("--dev", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0"); err != nil {
		t.Error(err)
	}
}

func TestSizeSpellings(t *testing.T) {
	for s, want := range map[string]int64{
		"0": 0, "1": 1, "64k": 65536, "64K": 65536, "64kb": 65536, "64KiB": 65536, "32m": 32 << 20, "1G": 1 << 30, "7b": 7,
	} {
		if n, err := parseSize(s); err != nil || n != want {
			t.Errorf("parseSize(%q) = %d, %v; want %d", s, n, err, want)
		}
	}
	for _, n := range []int64{0, 1, 1023, 1024, 1536, 65536, 3 << 20, 5 << 30} {
		if back, err := parseSize(formatSize(n)); err != nil || back != n {
			t.Errorf("parseSize(formatSize(%d)) = %d, %v", n, back, err)
		}
	}
}

func TestTimeSpellings(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", time.Second: "1s", 75 * time.Second: "1m15s", time.Minute: "1m", time.Hour: "1h", 90 * time.Minute: "1h30m",
	} {
		if got := (*timeValue)(&d).String(); got != want {
			t.Errorf("%d ns is written %q, want %q", d, got, want)
		}
	}
}
