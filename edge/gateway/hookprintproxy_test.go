package gateway

import (
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"edge/edge/config"
	"edge/edge/reactor/sim"
)

// Applications are told the fingerprints that the log and programs have, though there
// is no access log and no program; what a client sends under their names is not theirs.
func TestApplicationsAreToldFingerprints(t *testing.T) {
	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, name := range []string{"X-JA4", "X-JA4-Inner", "X-ECH"} {
			w.Write([]byte(name + "=" + strings.Join(r.Header.Values(name), ",") + "\n"))
		}
	}))
	defer app.Close()
	keys, list := withKeys(t)
	l := newLive(t, func(c *config.Config) {
		keys(c)
		c.AccessLog, c.Proxy = "off", []string{app.URL}
	})
	for name, list := range map[string][]byte{"localhost": nil, "secret.example": list} {
		c, sent, err := l.dial(name, &tls.Config{EncryptedClientHelloConfigList: list, NextProtos: []string{"http/1.1"}})
		if err != nil {
			t.Fatal(err)
		}
		got := l.ask(c, "GET / HTTP/1.1\r\nHost: "+name+"\r\nX-JA4: evil\r\nX-JA4-Inner: evil\r\nX-ECH: evil\r\nConnection: close\r\n\r\n")
		outer := fingerprint(t, sent)
		if !strings.Contains(got, "X-JA4="+outer+"\n") || strings.Contains(got, "evil") ||
			strings.Contains(got, "X-JA4-Inner=\n") != (list == nil) || strings.Contains(got, "X-ECH=none\n") != (list == nil) {
			t.Errorf("%s: the network saw %s; the application\n%s", name, outer, got)
		}
	}
}

// X-ECH is what the log says: GREASE is not a rejection.
func TestApplicationsAreToldOfECHAsTheLogIs(t *testing.T) {
	for kind := echNone; kind <= echBehind; kind++ {
		b := newTLSBench(t, proxyOptions(t, benchOptions{sim: sim.Options{Calm: true}}, false), []string{"a.example"})
		serving := b.sim.Serve(appOne)
		c := b.dial("a.example")
		b.tlsConn().ech = kind
		io.WriteString(c, get("/api"))
		app := serving.Accept("the request")
		if got, want := request(t, b.bench, app), "\r\nX-ECH: "+kind.String()+"\r\n"; !strings.Contains(got, want) {
			t.Errorf("want %q:\n%s", want, got)
		}
		app.Write(okAnswer)
		b.sim.Idle()
		c.Close()
		app.Close()
		b.done()
	}
}
