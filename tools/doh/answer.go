package main

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/miekg/dns"
)

const (
	path      = "/dns-query"
	mediaType = "application/dns-message"
)

// server answers from a zone file.
type server struct{ zone string }

// ServeHTTP implements http.Handler (RFC 8484, 4.1).
func (s server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query, err := readQuery(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	records, err := readZone(s.zone)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	packed, err := answer(query, records).Pack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", mediaType)
	w.Write(packed) // nobody is left to tell of an error
}

// readQuery takes the question out of a request.
func readQuery(r *http.Request) (*dns.Msg, error) {
	var packed []byte
	var err error
	if r.Method == http.MethodPost {
		packed, err = io.ReadAll(io.LimitReader(r.Body, dns.MaxMsgSize))
	} else {
		packed, err = base64.RawURLEncoding.DecodeString(r.URL.Query().Get("dns"))
	}
	if err != nil {
		return nil, err
	}
	query := new(dns.Msg)
	if err := query.Unpack(packed); err != nil {
		return nil, err
	}
	if len(query.Question) != 1 {
		return nil, fmt.Errorf("%d questions", len(query.Question))
	}
	return query, nil
}

// answer is what the records say: those asked for, none of that type, or no such
// name. Aliases are not followed.
func answer(query *dns.Msg, records []dns.RR) *dns.Msg {
	m := new(dns.Msg).SetReply(query)
	m.Authoritative, m.RecursionAvailable = true, true
	m.Rcode = dns.RcodeNameError
	q := query.Question[0]
	for _, rr := range records {
		if dns.CanonicalName(rr.Header().Name) != dns.CanonicalName(q.Name) {
			continue
		}
		m.Rcode = dns.RcodeSuccess
		if rr.Header().Rrtype == q.Qtype {
			m.Answer = append(m.Answer, rr)
		}
	}
	return m
}

// readZone reads the records of a zone file.
func readZone(name string) ([]dns.RR, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var records []dns.RR
	p := dns.NewZoneParser(f, ".", name)
	for rr, ok := p.Next(); ok; rr, ok = p.Next() {
		records = append(records, rr)
	}
	return records, p.Err()
}
