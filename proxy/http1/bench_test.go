package http1

import (
	"testing"

	"edge/proxy/httpmsg"
)

// typicalRequest is what a load generator sends.
const typicalRequest = "GET /small.html HTTP/1.1\r\nHost: www.example.com\r\nUser-Agent: wrk/4.2.0\r\nAccept: */*\r\nAccept-Encoding: gzip, br\r\n\r\n"

// browserRequest is what a browser sends.
const browserRequest = "GET /articles/2024/a-longer-path/index.html?from=start&page=2 HTTP/1.1\r\n" +
	"Host: www.example.com\r\nConnection: keep-alive\r\nUpgrade-Insecure-Requests: 1\r\n" +
	"User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36\r\n" +
	"Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8\r\n" +
	"Sec-Fetch-Site: none\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-User: ?1\r\nSec-Fetch-Dest: document\r\n" +
	"Accept-Encoding: gzip, deflate, br, zstd\r\nAccept-Language: en-GB,en;q=0.9,de;q=0.8\r\n" +
	"Cookie: session=0123456789abcdef0123456789abcdef; theme=dark; consent=yes\r\n\r\n"

func benchmarkRequest(b *testing.B, text string) {
	in := []byte(text)
	var p Parser
	var req httpmsg.Request
	b.ReportAllocs()
	b.SetBytes(int64(len(in)))
	for b.Loop() {
		if n, err := p.ParseRequest(in, &req); n != len(in) || err != nil {
			b.Fatal(n, err)
		}
	}
}

func BenchmarkParseRequestTypical(b *testing.B) { benchmarkRequest(b, typicalRequest) }
func BenchmarkParseRequestBrowser(b *testing.B) { benchmarkRequest(b, browserRequest) }

func BenchmarkParseResponse(b *testing.B) {
	in := []byte("HTTP/1.1 200 OK\r\nServer: nginx/1.26.0\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Type: text/html\r\n" +
		"Content-Length: 174\r\nLast-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\nConnection: keep-alive\r\nETag: \"5f3-ae\"\r\n\r\n")
	method := []byte("GET")
	var p Parser
	var resp ResponseHead
	b.ReportAllocs()
	b.SetBytes(int64(len(in)))
	for b.Loop() {
		if n, err := p.ParseResponse(in, &resp, method); n != len(in) || err != nil {
			b.Fatal(n, err)
		}
	}
}

func BenchmarkAppendResponseHead(b *testing.B) {
	resp := typicalResponse()
	date := []byte(httpmsg.DateLayout)
	dst := make([]byte, 0, 1024)
	b.ReportAllocs()
	for b.Loop() {
		dst, _ = AppendResponseHead(dst[:0], resp, date, 1, true)
	}
	b.SetBytes(int64(len(dst)))
}

func typicalResponse() *httpmsg.Response {
	var resp httpmsg.Response
	resp.Reset(200)
	resp.ContentLength = 174
	resp.Header.Add("Content-Type", "text/html; charset=utf-8")
	resp.Header.Add("ETag", `"65f3a2c1-ae"`)
	resp.Header.Add("Last-Modified", "Sun, 06 Nov 1994 08:49:37 GMT")
	resp.Header.Add("Accept-Ranges", "bytes")
	return &resp
}

func BenchmarkBodyChunked(b *testing.B) {
	in := append([]byte("4000\r\n"), make([]byte, 0x4000)...)
	in = append(in, "\r\n0\r\n\r\n"...)
	var d Body
	b.ReportAllocs()
	for b.Loop() {
		d.Start(httpmsg.BodyChunked, 0, nil)
		for rest := in; !d.Done(); {
			_, n, _, err := d.Next(rest)
			if err != nil {
				b.Fatal(err)
			}
			rest = rest[n:]
		}
	}
}
