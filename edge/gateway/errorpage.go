package gateway

import "edge/proxy/httpmsg"

// errorPage makes resp a small answer of our own.
func errorPage(resp *httpmsg.Response, status int) { page(resp, status, httpmsg.ErrorPage(status)) }

// errorPageFor is errorPage with a reason in words.
func errorPageFor(resp *httpmsg.Response, status int, reason string) {
	page(resp, status, httpmsg.AppendErrorPage(nil, status, reason))
}

// page makes resp an answer of one HTML page.
func page(resp *httpmsg.Response, status int, html []byte) {
	resp.Reset(status)
	resp.Header.Append(contentType, textHTML)
	resp.Bytes = html
	resp.ContentLength = int64(len(html))
}

var (
	contentType = []byte("Content-Type")
	textHTML    = []byte(httpmsg.ErrorPageType)
)
