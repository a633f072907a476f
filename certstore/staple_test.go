package certstore

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ocsp"
)

// response makes an OCSP response for c, good and current unless change says
// otherwise, signed by responder for issuer.
func response(t *testing.T, c, issuer, responder *signed, change func(*ocsp.Response)) string {
	t.Helper()
	r := ocsp.Response{Status: ocsp.Good, SerialNumber: c.x.SerialNumber, ThisUpdate: now.Add(-time.Hour), NextUpdate: now.Add(days)}
	if responder != issuer {
		r.Certificate = responder.x
	}
	if change != nil {
		change(&r)
	}
	der, err := ocsp.CreateResponse(issuer.x, responder.x, r, responder.key)
	if err != nil {
		t.Fatal(err)
	}
	return string(der)
}

func TestStaple(t *testing.T) {
	root := authority(t, "root", nil)
	namesake := authority(t, "root", nil)
	c, other := server(t, root, "a.example"), server(t, root, "a.example")
	delegate := issue(t, &x509.Certificate{Subject: pkix.Name{CommonName: "ocsp"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageOCSPSigning}}, p256(t), root)
	usurper := server(t, root, "ocsp.example")

	good := response(t, c, root, root, nil)
	tests := []struct{ why, data, problem string }{
		{"good", good, ""},
		{"by a delegate", response(t, c, root, delegate, nil), ""},
		{"by any certificate of the issuer", response(t, c, root, usurper, nil), "may not sign OCSP responses"},
		{"by the issuer's namesake", response(t, c, namesake, namesake, nil), "no usable OCSP response"},
		{"of another certificate", response(t, other, root, root, nil), "no usable OCSP response"},
		{"revoked", response(t, c, root, root, func(r *ocsp.Response) { r.Status, r.RevokedAt = ocsp.Revoked, now.Add(-days) }), "revoked on 2026-05-31"},
		{"unknown", response(t, c, root, root, func(r *ocsp.Response) { r.Status = ocsp.Unknown }), "does not know"},
		{"ended", response(t, c, root, root, func(r *ocsp.Response) { r.NextUpdate = now.Add(-time.Minute) }), "ended on 2026-06-01"},
		{"of the future", response(t, c, root, root, func(r *ocsp.Response) { r.ThisUpdate = now.Add(time.Hour) }), "from the future"},
		{"without an end", response(t, c, root, root, func(r *ocsp.Response) { r.NextUpdate = time.Time{} }), ""},
		{"empty", "", "has 1 to"},
		{"huge", strings.Repeat("x", stapleBytesMax+1), "has 1 to"},
		{"cut short", good[:len(good)/2], "no usable OCSP response"},
		{"an error response", string(ocsp.TryLaterErrorResponse), "no usable OCSP response"},
		{"PEM", pemText("OCSP RESPONSE", []byte(good)), "no usable OCSP response in DER"},
	}
	for _, test := range tests {
		var problems []string
		if test.problem != "" {
			problems = []string{test.problem}
		}
		s := newTree(t).pair("a", c, root).write("a.ocsp", test.data).problems(problems...)
		p := s.Pairs()[0]
		if stapled := string(p.Staple) == test.data && p.StapleFile != ""; stapled != (test.problem == "") {
			t.Errorf("%s: stapled is %v", test.why, stapled)
		}
		for _, p := range s.Problems() {
			if !strings.HasSuffix(p.File, "a.ocsp") || !p.Warning {
				t.Errorf("%s: problem %v", test.why, p)
			}
		}
	}
}

func TestStapleFiles(t *testing.T) {
	root := authority(t, "root", nil)
	c := server(t, root, "a.example")
	good := response(t, c, root, root, nil)
	for cert, staple := range map[string]string{"cert.pem": "cert.ocsp", "tls.crt": "tls.crt.ocsp", "a.example": "a.example.ocsp", "x/cert.pem": "x/cert.ocsp"} {
		tr := newTree(t).write(cert, chainPEM(c, root)).write("key", c.keyPEM()).write(staple, good)
		if p := tr.clean().Pairs()[0]; string(p.Staple) != good || p.StapleFile != tr.path(staple) {
			t.Errorf("%s beside %s: stapled from %q", staple, cert, p.StapleFile)
		}
	}
	// Beside another file with the same certificate.
	tr := newTree(t).write("cert.pem", chainPEM(c)).write("fullchain.pem", chainPEM(c, root)).write("privkey.pem", c.keyPEM()).write("cert.ocsp", good)
	if p := tr.clean().Pairs()[0]; string(p.Staple) != good {
		t.Error("not stapled from beside cert.pem")
	}
	newTree(t).pair("a", c, root).write("b.ocsp", good).problems("b.ocsp: an OCSP response without its certificate")
	newTree(t).pair("a", c).write("a.ocsp", good).problems("a.ocsp: the response cannot be checked without the issuer's certificate")
}

func TestStapleOverTime(t *testing.T) {
	root := authority(t, "root", nil)
	c := server(t, root, "a.example")
	tr := newTree(t).pair("a", c, root).write("a.ocsp", response(t, c, root, root, nil))
	first := tr.clean()
	if got, want := first.NextChange(), now.Add(days); !got.Equal(want) {
		t.Errorf("next change %v, want the staple's end %v", got, want)
	}
	second, _ := tr.load(first)
	if second.Pairs()[0].PreviousIndex != 0 || second.pairs[0].staple != first.pairs[0].staple {
		t.Error("the unchanged staple was checked again")
	}
	late, r, err := Load(tr.dir, second, now.Add(2*days))
	if err != nil {
		t.Fatal(err)
	}
	if p := late.Pairs()[0]; p.Staple != nil || p.PreviousIndex != -1 || len(r.Fresh) != 1 {
		t.Errorf("after its end: staple of %d bytes, previous index %d, fresh %v", len(p.Staple), p.PreviousIndex, r.Fresh)
	}
	tr.write("a.ocsp", response(t, c, root, root, func(r *ocsp.Response) { r.NextUpdate = now.Add(5 * days) }))
	renewed, _, err := Load(tr.dir, late, now.Add(2*days))
	if err != nil || renewed.Pairs()[0].Staple == nil || len(renewed.Problems()) != 0 {
		t.Errorf("a new response is not stapled: %v, %v", renewed.Problems(), err)
	}
	gone, _ := tr.remove("a.ocsp").load(renewed)
	if p := gone.Pairs()[0]; p.Staple != nil || p.StapleFile != "" {
		t.Error("stapled from a file that is gone")
	}
}

func TestMustStaple(t *testing.T) {
	root := authority(t, "root", nil)
	value, err := asn1.Marshal([]int{5}) // status_request
	if err != nil {
		t.Fatal(err)
	}
	c := issue(t, &x509.Certificate{DNSNames: []string{"a.example"}, ExtraExtensions: []pkix.Extension{{Id: oidTLSFeature, Value: value}}}, p256(t), root)
	tr := newTree(t).pair("a", c, root)
	tr.problems("a.pem: it demands an OCSP staple")
	tr.write("a.ocsp", response(t, c, root, root, nil)).clean()
}
