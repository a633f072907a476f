package gateway

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"edge/edge/config"
)

func TestOriginSVCB(t *testing.T) {
	keys := newECHKeys(t, "public.example")
	b := newRelayBench(t, benchOptions{config: func(c *config.Config) {
		c.ECHDir, c.OriginSVCB = keys.dir, time.Hour
	}})
	c := b.dial(heldName)
	resp := b.askTLS(c, "GET /.well-known/origin-svcb HTTP/1.1\r\nHost: "+heldName+"\r\n\r\n", "GET")
	var got struct {
		Endpoints []struct {
			RegenInterval, Priority int
			Params                  struct {
				ALPN []string
				ECH  string
			}
		}
	}
	if err := json.Unmarshal(bodyOf(t, resp), &got); err != nil || resp.Header.Get("Content-Type") != "application/json" {
		t.Fatalf("%v, %v", err, resp.Header)
	}
	want := base64.StdEncoding.EncodeToString(keys.list)
	if e := got.Endpoints; len(e) != 1 || e[0].RegenInterval != 3600 || e[0].Priority != 1 || e[0].Params.ECH != want ||
		strings.Join(e[0].Params.ALPN, ",") != "http/1.1" {
		t.Errorf("%+v", got)
	}
	resp = b.askTLS(c, "POST /.well-known/origin-svcb HTTP/1.1\r\nHost: "+heldName+"\r\nContent-Length: 0\r\n\r\n", "POST")
	if resp.StatusCode != 405 || resp.Header.Get("Allow") != "GET, HEAD" {
		t.Errorf("POST: status %d, %v", resp.StatusCode, resp.Header)
	}
	c.Close()
	// It is for https alone: a plain answer vouches for nothing.
	if resp := exchanged(t, b.ask(get("/.well-known/origin-svcb")), "GET")[0]; resp.StatusCode != 404 {
		t.Errorf("plain: status %d", resp.StatusCode)
	}
	b.done()
}
