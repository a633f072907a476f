// Package dev keeps a development certificate authority and a server certificate
// from it in a state directory, so that a site can be tried over TLS before there
// is a real certificate.
//
// The authority is bound by name constraints (RFC 5280, 4.2.1.10) to the names it
// was made for: whoever steals its key cannot use it against other sites. So it
// is made anew, and must be trusted anew, when a name is asked for that lies
// outside.
//
// Layout of the state directory:
//
//	authority/ca.pem, ca-key.pem    the authority, valid for ten years
//	leaf/dev.pem, dev-key.pem       the server's pair: a certificate directory
//	lock                            held while the above is looked at or made
package dev

import (
	"crypto/ecdsa"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"
)

// How long certificates last. Apple's systems refuse server certificates of more
// than 398 days also from authorities of one's own making.
const (
	authorityLife  = 10 * 365 * 24 * time.Hour
	authorityRenew = 90 * 24 * time.Hour // made anew when less is left
	leafLife       = 397 * 24 * time.Hour
	leafRenew      = 30 * 24 * time.Hour // made anew when less is left
	clockSkew      = time.Hour           // valid from so long before now
)

// Result is what Ensure found or made.
type Result struct {
	CertDir      string // a certificate directory with the server's pair alone
	CertFile     string // the server's certificate
	KeyFile      string // its key
	Authority    string // the authority's certificate, the one to trust
	Names        []string
	NotAfter     time.Time // of the server's certificate
	NewAuthority bool      // the authority was made by this call: trust it
}

// Ensure returns a server certificate for localhost, this machine's host name and
// the given names (host names, wildcards or IP addresses), made by the authority
// in dir. What is there already and still fits is used; the rest is made.
func Ensure(dir string, names []string) (*Result, error) {
	if host, err := os.Hostname(); err == nil && isHostName(strings.ToLower(host)) {
		names = append(slices.Clone(names), host)
	}
	return ensure(dir, names, time.Now())
}

// ensure is Ensure at a given time, without the machine's host name.
func ensure(dir string, names []string, now time.Time) (*Result, error) {
	subject, err := readSubject(names)
	if err != nil {
		return nil, err
	}
	for _, d := range []string{dir, filepath.Join(dir, "authority"), filepath.Join(dir, "leaf")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, fmt.Errorf("development certificates: %w: name another state directory", err)
		}
	}
	unlock, err := lock(filepath.Join(dir, "lock"))
	if err != nil {
		return nil, fmt.Errorf("development certificates: %w", err)
	}
	defer unlock()
	r := &Result{
		CertDir:   filepath.Join(dir, "leaf"),
		CertFile:  filepath.Join(dir, "leaf", "dev.pem"),
		KeyFile:   filepath.Join(dir, "leaf", "dev-key.pem"),
		Authority: filepath.Join(dir, "authority", "ca.pem"),
		Names:     subject.all(),
	}
	ca, err := r.authority(subject, now)
	if err != nil {
		return nil, fmt.Errorf("development authority: %w", err)
	}
	if err := r.leaf(ca, subject, now); err != nil {
		return nil, fmt.Errorf("development certificate: %w", err)
	}
	return r, nil
}

// subject is the names a certificate is for, each list sorted.
type subject struct {
	hosts     []string
	addresses []string
}

// readSubject sorts names into host names and addresses, adding the local ones.
func readSubject(names []string) (subject, error) {
	s := subject{hosts: []string{"localhost", "*.localhost"}, addresses: []string{"127.0.0.1", "::1"}}
	for _, name := range names {
		if a, err := netip.ParseAddr(name); err == nil {
			s.addresses = append(s.addresses, a.WithZone("").String())
			continue
		}
		host := strings.ToLower(strings.TrimSuffix(name, "."))
		if !isHostName(host) {
			return s, fmt.Errorf("development certificate: %q is neither a host name nor an IP address", name)
		}
		s.hosts = append(s.hosts, host)
	}
	for _, list := range []*[]string{&s.hosts, &s.addresses} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return s, nil
}

// isHostName says whether s is a host name or a wildcard, in A-labels.
func isHostName(s string) bool {
	s = strings.TrimPrefix(s, "*.")
	if s == "" || len(s) > 253 {
		return false
	}
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || len(label) > 63 || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return false
		}
	}
	return true
}

// all returns hosts and addresses in one list.
func (s subject) all() []string { return slices.Concat(s.hosts, s.addresses) }

// ips returns the addresses as a certificate wants them.
func (s subject) ips() []net.IP {
	ips := make([]net.IP, len(s.addresses))
	for i, a := range s.addresses {
		ips[i] = net.ParseIP(a)
	}
	return ips
}

// issuer is an authority ready to sign.
type issuer struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// authority loads the authority, or makes it if there is none, it nears its end,
// or a name lies outside its constraints.
func (r *Result) authority(s subject, now time.Time) (*issuer, error) {
	keyFile := filepath.Join(filepath.Dir(r.Authority), "ca-key.pem")
	cert, key, err := loadPair(r.Authority, keyFile)
	if err != nil && !errors.Is(err, errNoPair) {
		return nil, err
	}
	if err == nil && now.Before(cert.NotAfter.Add(-authorityRenew)) && permits(cert, s) {
		return &issuer{cert, key}, nil
	}
	r.NewAuthority = true
	der, key, err := makeAuthority(s, now)
	if err != nil {
		return nil, err
	}
	if err := savePair(r.Authority, keyFile, [][]byte{der}, key); err != nil {
		return nil, err
	}
	cert, err = x509.ParseCertificate(der)
	return &issuer{cert, key}, err
}

// leaf checks the server's certificate, and makes it if there is none or it does
// not fit any more.
func (r *Result) leaf(ca *issuer, s subject, now time.Time) error {
	cert, _, err := loadPair(r.CertFile, r.KeyFile)
	if err != nil && !errors.Is(err, errNoPair) {
		return err
	}
	if err == nil && now.Before(cert.NotAfter.Add(-leafRenew)) && fits(cert, ca, s) {
		r.NotAfter = cert.NotAfter
		return nil
	}
	der, key, err := makeLeaf(ca, s, now)
	if err != nil {
		return err
	}
	r.NotAfter = now.Add(leafLife - clockSkew).Truncate(time.Second)
	return savePair(r.CertFile, r.KeyFile, [][]byte{der, ca.cert.Raw}, key)
}

// fits says whether a server certificate is for these names and from ca.
func fits(cert *x509.Certificate, ca *issuer, s subject) bool {
	have := subject{hosts: slices.Sorted(slices.Values(cert.DNSNames))}
	for _, ip := range cert.IPAddresses {
		have.addresses = append(have.addresses, ip.String())
	}
	slices.Sort(have.addresses)
	return slices.Equal(have.hosts, s.hosts) && slices.Equal(have.addresses, s.addresses) &&
		cert.CheckSignatureFrom(ca.cert) == nil
}

// TrustHelp returns text for the operator: how to make clients trust the
// authority, as commands to copy.
func (r *Result) TrustHelp() string {
	return fmt.Sprintf(`To trust this development authority (it is bound to %s):
  curl                 curl --cacert %[2]s https://localhost:PORT/
  Chromium (Linux)     mkdir -p ~/.pki/nssdb && certutil -d sql:$HOME/.pki/nssdb -A -t C,, -n edge-dev -i %[2]s
  Firefox (Linux)      certutil -d sql:PROFILE_DIR -A -t C,, -n edge-dev -i %[2]s
  this whole machine   sudo cp %[2]s /usr/local/share/ca-certificates/edge-dev.crt && sudo update-ca-certificates
certutil is in Debian's libnss3-tools. To take the trust away again:
certutil -d sql:$HOME/.pki/nssdb -D -n edge-dev
`, strings.Join(r.Names, ", "), shellWord(r.Authority))
}

// shellWord returns a path as one word for a shell.
func shellWord(path string) string {
	if strings.ContainsFunc(path, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("/._-+", r)
	}) {
		return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	return path
}
