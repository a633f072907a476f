package dnspub

import (
	"encoding/base64"
	"fmt"
	"io"
	"strings"

	"github.com/miekg/dns"
)

// Records as text.

// WriteZone writes records as lines of a zone file. One without an owner gets
// "@", the origin of the file it is put in.
func WriteZone(w io.Writer, records []*dns.HTTPS) error {
	for _, rr := range records {
		if _, err := fmt.Fprintln(w, zoneLine(rr)); err != nil {
			return err
		}
	}
	return nil
}

func zoneLine(rr *dns.HTTPS) string {
	line := rr.String()
	if rr.Hdr.Name == "." {
		line = "@" + strings.TrimPrefix(line, ".")
	}
	return line
}

// Rdata returns what a record says, in presentation form and without the owner.
func Rdata(rr *dns.HTTPS) string {
	return strings.TrimPrefix(rr.String(), rr.Hdr.String())
}

// WriteNSUpdate writes a script for nsupdate that replaces the HTTPS records of
// each owner. They need an owner.
func WriteNSUpdate(w io.Writer, records []*dns.HTTPS) error {
	for _, rr := range records {
		h := &rr.Hdr
		if _, err := fmt.Fprintf(w, "update delete %s HTTPS\nupdate add %s %d HTTPS %s\nsend\n",
			h.Name, h.Name, h.Ttl, Rdata(rr)); err != nil {
			return err
		}
	}
	return nil
}

// JSON is a record as JSON, for programs that speak to the interfaces of DNS
// providers.
type JSON struct {
	Name     string            `json:"name"` // with its final dot, or "@"
	Type     string            `json:"type"`
	TTL      uint32            `json:"ttl"` // seconds
	Priority uint16            `json:"priority"`
	Target   string            `json:"target"`
	Params   map[string]string `json:"params"` // values in presentation form
	Rdata    string            `json:"rdata"`  // priority, target and parameters in presentation form
}

// NewJSON returns the record as JSON shows it.
func NewJSON(rr *dns.HTTPS) JSON {
	j := JSON{
		Name: rr.Hdr.Name, Type: "HTTPS", TTL: rr.Hdr.Ttl,
		Priority: rr.Priority, Target: rr.Target, Params: make(map[string]string), Rdata: Rdata(rr),
	}
	if j.Name == "." {
		j.Name = "@"
	}
	for _, kv := range rr.Value {
		j.Params[kv.Key().String()] = kv.String()
	}
	return j
}

// WriteBase64 writes an ECHConfigList as the value of the ech parameter.
func WriteBase64(w io.Writer, list []byte) error {
	_, err := fmt.Fprintln(w, base64.StdEncoding.EncodeToString(list))
	return err
}
