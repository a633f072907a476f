package gateway

import (
	"fmt"
	"sync"

	"edge/proxy/httpmsg"
)

// errorPages holds the small pages of our own answers, by status, made once.
var errorPages sync.Map

// errorPage makes resp a small answer of our own.
func errorPage(resp *httpmsg.Response, status int) {
	resp.Reset(status)
	page, ok := errorPages.Load(status)
	if !ok {
		page, _ = errorPages.LoadOrStore(status, newErrorPage(status))
	}
	body := page.([]byte)
	resp.Header.Append(contentType, textHTML)
	resp.Bytes = body
	resp.ContentLength = int64(len(body))
}

func newErrorPage(status int) []byte {
	title := fmt.Sprintf("%d %s", status, httpmsg.StatusText(status))
	return fmt.Appendf(nil, "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>%s</title><h1>%s</h1></html>\n", title, title)
}

var (
	contentType = []byte("Content-Type")
	textHTML    = []byte("text/html; charset=utf-8")
)
