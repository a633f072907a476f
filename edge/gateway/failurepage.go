package gateway

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"time"

	"edge/edge/site"
)

// failurePages are the site's own pages for what an application failed to answer:
// 502.html, 503.html and 504.html at its top, in this order. They are read when the
// site is loaded: a page for trouble must be at hand in trouble.
type failurePages [3][]byte

const (
	failureFirst = 502

	// failurePageMax is the longest such page that is kept.
	failurePageMax = 64 << 10
)

// load reads the pages of s. For one that cannot be used, which is the error, ours
// stands in.
func (p *failurePages) load(s *site.Site) error {
	var errs []error
	for i := range p {
		b, err := s.ReadFile(fmt.Sprintf("/%d.html", failureFirst+i), failurePageMax)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
		p[i] = b
	}
	return errors.Join(errs...)
}

// of is the page for a status, nil if there is none.
func (p *failurePages) of(status int) []byte {
	if i := status - failureFirst; i >= 0 && i < len(p) {
		return p[i]
	}
	return nil
}

// failurePage makes x's answer the page for a failed application, the site's own
// if it has one. Where it is known when a target is tried again, the client is
// told (RFC 9110, 10.2.3).
func (c *conn) failurePage(x *exchange, status int) {
	errorPage(&x.resp, status)
	if s := x.gen.shared; s != nil && s.failures.of(status) != nil {
		page(&x.resp, status, s.failures.of(status))
	}
	if status == 503 && x.retryAfter > 0 {
		seconds := (x.retryAfter + time.Second - 1) / time.Second
		x.resp.Header.AddBytes("Retry-After", strconv.AppendInt(c.w.scratch[:0], int64(seconds), 10))
	}
}
