package certstore

// This file checks OCSP responses (RFC 6960): only one that says of this very
// certificate that it is good, signed for its issuer and still current, is
// stapled.

import (
	"crypto/x509"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/ocsp"
)

// stapleEnding is the ending of a file that holds an OCSP response in DER.
const stapleEnding = ".ocsp"

// stapleBytesMax bounds an OCSP response: it is sent in each full handshake.
const stapleBytesMax = 16 << 10

// stapleState is a response checked against one certificate and its issuer. It is
// shared by the snapshots between which none of the three changed.
type stapleState struct {
	file         string
	content      *content
	leaf, issuer *certificate
	fault        *fault
	begins       time.Time
	ends         time.Time // zero for a response without nextUpdate
}

// stapleFiles returns where the response for a certificate file may lie.
func stapleFiles(certFile string) [2]string {
	stem := certFile
	if dot := strings.LastIndexByte(certFile, '.'); dot > strings.LastIndexByte(certFile, '/') {
		stem = certFile[:dot]
	}
	return [2]string{certFile + stapleEnding, stem + stapleEnding}
}

// checkStaple checks a response for a certificate; issuer is nil when the chain
// has none.
func checkStaple(file string, c *content, leaf, issuer *certificate) *stapleState {
	s := &stapleState{file: file, content: c, leaf: leaf, issuer: issuer}
	switch {
	case c.fault != nil:
		s.fault = c.fault
	case issuer == nil:
		s.fault = &fault{"the response cannot be checked without the issuer's certificate", "put that behind the certificate in its file"}
	default:
		s.fault = s.check()
	}
	return s
}

// check fills in the validity and says what is wrong with the response.
func (s *stapleState) check() *fault {
	const renew = "fetch a new one"
	der := s.content.staple
	if len(der) == 0 || len(der) > stapleBytesMax {
		return &fault{fmt.Sprintf("an OCSP response has 1 to %d bytes, this has %d", stapleBytesMax, len(der)), renew}
	}
	issuer, err := x509.ParseCertificate(s.issuer.der)
	if err != nil {
		return &fault{fmt.Sprintf("unreadable issuer (%v)", err), renew}
	}
	subject, err := x509.ParseCertificate(s.leaf.der)
	if err != nil {
		return &fault{fmt.Sprintf("unreadable certificate (%v)", err), renew}
	}
	r, err := ocsp.ParseResponseForCert(der, subject, issuer)
	if err != nil {
		return &fault{fmt.Sprintf("no usable OCSP response in DER for this certificate (%v)", err), renew}
	}
	s.begins, s.ends = r.ThisUpdate, r.NextUpdate
	switch {
	case r.Certificate != nil && !r.Certificate.Equal(issuer) && !slices.Contains(r.Certificate.ExtKeyUsage, x509.ExtKeyUsageOCSPSigning):
		return &fault{"signed by a certificate that may not sign OCSP responses (RFC 6960, 4.2.2.2)", renew}
	case r.Status == ocsp.Revoked:
		return &fault{fmt.Sprintf("the certificate was revoked on %s", day(r.RevokedAt)), "replace the certificate"}
	case r.Status != ocsp.Good:
		return &fault{"the authority does not know the certificate", "replace the certificate"}
	}
	return nil
}

// isCurrent says whether a response without fault can be stapled now.
func (s *stapleState) isCurrent(now time.Time) bool {
	return s.fault == nil && !now.Before(s.begins) && (s.ends.IsZero() || now.Before(s.ends))
}

// faultAt returns what keeps the response from being stapled now, nil for
// nothing.
func (s *stapleState) faultAt(now time.Time) *fault {
	switch {
	case s.fault != nil || s.isCurrent(now):
		return s.fault
	case now.Before(s.begins):
		return &fault{"the OCSP response is from the future", "see whether this machine's clock is right"}
	}
	return &fault{fmt.Sprintf("the OCSP response ended on %s", day(s.ends)), "fetch a new one"}
}

// stapler finds the responses for the pairs of one load.
type stapler struct {
	a    *assembly
	left map[string]*content // response files that no certificate asked for yet
}

// newStapler gathers the response files of the tree.
func (a *assembly) newStapler() *stapler {
	st := &stapler{a: a, left: make(map[string]*content)}
	for i := range a.files {
		f := &a.files[i]
		if f.content != nil && strings.HasSuffix(f.path, stapleEnding) {
			st.left[f.path] = f.content
		}
	}
	return st
}

// staple gives a pair the response that lies beside one of its certificate's
// files. What was found out for the previous pair, which may be nil, is not found
// out again.
func (st *stapler) staple(p, was *Pair) {
	p.Staple, p.StapleFile, p.staple = nil, "", nil
	if len(st.left) == 0 {
		return
	}
	for _, certFile := range append([]string{p.CertFile}, st.a.aliases[p.leaf]...) {
		for _, file := range stapleFiles(certFile) {
			if c, is := st.left[file]; is {
				st.use(p, was, file, c)
			}
		}
	}
}

// use checks one response for a pair, and staples it unless there is one already.
func (st *stapler) use(p, was *Pair, file string, c *content) {
	delete(st.left, file)
	if p.StapleFile != "" {
		return
	}
	state := checkedBefore(was, file, c, p)
	if state == nil {
		state = checkStaple(file, c, p.leaf, p.issuer)
	}
	if bad := state.faultAt(st.a.now); bad != nil {
		st.a.warn(file, bad.what+" (it is not stapled)", bad.fix)
	} else {
		p.Staple, p.StapleFile = c.staple, file
	}
	p.staple = state
}

// checkedBefore returns the state of the previous pair's staple if nothing that
// went into it has changed.
func checkedBefore(was *Pair, file string, c *content, p *Pair) *stapleState {
	if was == nil || was.staple == nil {
		return nil
	}
	s := was.staple
	if s.file != file || s.content != c || s.leaf != p.leaf || s.issuer != p.issuer {
		return nil
	}
	return s
}

// leftOver reports the responses that belong to no certificate.
func (st *stapler) leftOver() {
	for file := range st.left {
		st.a.warn(file, "an OCSP response without its certificate", "name it after the certificate's file: cert.pem, cert.ocsp")
	}
}

// day returns a moment as it stands in problems.
func day(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }
