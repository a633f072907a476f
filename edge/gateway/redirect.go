package gateway

import (
	"strconv"

	"edge/edge/site"
	"edge/proxy/httpmsg"
)

// redirect answers plain HTTP with the same address on https, for hosts we hold
// a certificate for: anything else would send a client where a stranger's Host
// field says.
func (c *conn) redirect(x *exchange) {
	name, ok := hostName(c.w.scratch[:0], x.req.Authority)
	c.w.scratch = name[:0]
	if !ok || !x.gen.holds(name) {
		errorPage(&x.resp, 421)
		return
	}
	location := append(make([]byte, 0, 64+len(x.req.Target)), "https://"...)
	location = append(location, name...)
	if c.on.securePort != 443 {
		location = strconv.AppendUint(append(location, ':'), uint64(c.on.securePort), 10)
	}
	if x.req.Path[0] == '/' { // and not the server as a whole, "*"
		location = append(location, x.req.Path...)
	}
	if x.req.Query != nil {
		location = append(append(location, '?'), x.req.Query...)
	}
	// 308 keeps the method and the body (RFC 9110, 15.4.9).
	page(&x.resp, 308, redirectPage)
	x.resp.Header.Append(locationName, location)
}

var redirectPage = httpmsg.AppendErrorPage(nil, 308, "")

var locationName = []byte("Location")

// serveNothing answers when there is no site. Beside applications nothing is missing:
// what is for none of them is not found, or malformed.
func (w *worker) serveNothing(req *httpmsg.Request, resp *httpmsg.Response) {
	switch {
	case len(w.routes) == 0:
		welcome(resp)
	case string(req.Path) == "*": // OPTIONS, about the server as a whole
		resp.Reset(204)
		resp.NoBody = true
	case w.malformed(req.Path):
		errorPage(resp, 400)
	default:
		errorPage(resp, 404)
	}
}

// malformed says that path is none that CleanPath takes.
func (w *worker) malformed(path []byte) bool {
	clean, err := site.CleanPath(w.scratch[:0], path)
	w.scratch = clean[:0]
	return err != nil
}

// welcome says what to do next.
func welcome(resp *httpmsg.Response) {
	page(resp, 200, welcomePage)
}

var welcomePage = []byte(`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>edge is running</title>
<style>
body { font: 1.1rem/1.6 system-ui, sans-serif; max-width: 38rem; margin: 4rem auto; padding: 0 1rem; }
code, pre { background: #8882; border-radius: .3rem; padding: .1rem .3rem; }
pre { padding: .8rem 1rem; overflow-x: auto; }
</style>
<h1>edge is running</h1>
<p>It has no site to serve yet. Give it a directory:</p>
<pre>edge serve --dev ./public</pre>
<p>or make the directory one file, and serve that:</p>
<pre>edge pack ./public -o site.tar
edge serve --cert-dir /etc/edge/certs site.tar</pre>
<p><code>edge serve --help</code> lists every flag.</p>
</html>
`)
