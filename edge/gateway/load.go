package gateway

import (
	"fmt"
	"os"
	"time"

	"edge/certstore"
	"edge/ech"
	"edge/edge/site"
	"edge/tlsstack"
)

// load makes a generation of what there is on disk now. previous is the one in
// service, nil at the start: certificates whose files are half-written are taken
// over from it. With keepSite its site is served on.
func (s *server) load(previous *generation, keepSite bool) (*generation, error) {
	certs, err := s.loadCertificates(previous)
	if err != nil {
		return nil, err
	}
	keys, err := s.loadKeys(previous)
	if err != nil {
		return nil, err
	}
	number := int64(1)
	var open *openSite
	if previous != nil {
		number, open = previous.number+1, previous.shared
	}
	if !keepSite {
		if open, err = s.openSite(); err != nil {
			return nil, err
		}
	}
	g := &generation{number: number, certs: certs, relays: s.relayTargets(keys), tls: s.tlsConfig(certs, keys)}
	g.serve(open)
	g.take() // for whoever asked
	return g, nil
}

// loadKeys reads the ECH keys; nil without a directory. At the start bad files
// are named and the others serve; later the keys in service are worth more.
func (s *server) loadKeys(previous *generation) (*ech.Set, error) {
	if s.cfg.ECHDir == "" {
		return nil, nil
	}
	set, err := ech.LoadDir(os.DirFS(s.cfg.ECHDir))
	if err != nil && (set == nil || previous != nil) {
		return nil, fmt.Errorf("--ech %s: %w", s.cfg.ECHDir, err)
	}
	if err != nil {
		s.log.Printf("--ech %s: %v", s.cfg.ECHDir, err)
	}
	if len(set.Keys()) == 0 {
		return nil, fmt.Errorf("--ech %s holds no usable ECH key: make one with `edge keys gen-ech`", s.cfg.ECHDir)
	}
	return set, nil
}

// openSite opens the tar file or the directory; nil without one.
func (s *server) openSite() (*openSite, error) {
	path := s.cfg.Site
	if path == "" {
		return nil, nil
	}
	signature := siteSignature(path)
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("site %w: give a tar file made by `edge pack`, or a directory", err)
	}
	opts := site.Options{CacheBytes: s.cfg.Limits.CacheBytes}
	if opts.CacheBytes == 0 {
		opts.CacheBytes = -1
	}
	opts.Skipped = func(name, why string) { s.log.Printf("site %s: %q is not served: %s", path, name, why) }
	open := site.Open
	if info.IsDir() {
		open = site.OpenDir
	}
	opened, err := open(path, opts)
	if err != nil {
		return nil, err
	}
	return &openSite{Site: opened, changed: signature}, nil
}

// loadCertificates reads the certificate directory.
func (s *server) loadCertificates(previous *generation) (*certificates, error) {
	if s.cfg.CertDir == "" {
		return &certificates{}, nil
	}
	var before *certificates
	var snapshot *certstore.Snapshot
	if previous != nil {
		before = previous.certs
		snapshot = before.snapshot
	}
	snap, report, err := certstore.Load(s.cfg.CertDir, snapshot, time.Now())
	if err != nil {
		return nil, err
	}
	s.logCertificates(report)
	if snap.Len() == 0 {
		return nil, fmt.Errorf("%s holds no usable certificate with its key: put PEM files there, or try --dev", s.cfg.CertDir)
	}
	return newCertificates(snap, before)
}

// logCertificates tells what is new about the certificates.
func (s *server) logCertificates(r *certstore.Report) {
	for _, p := range r.Fresh {
		s.log.Printf("certificates: %s", p)
	}
	for _, list := range []struct {
		what  string
		files []string
	}{{"renewed", r.Renewed}, {"removed", r.Removed}, {"kept from before", r.Kept}} {
		for _, f := range list.files {
			s.log.Printf("certificates: %s: %s", f, list.what)
		}
	}
}

// tlsConfig is the TLS side of a generation.
func (s *server) tlsConfig(certs *certificates, keys *ech.Set) *tlsstack.Config {
	return &tlsstack.Config{
		Certificates:  certs,
		ECH:           keys,
		Tickets:       s.tickets,
		NextProtos:    []string{"http/1.1"},
		StrictSNI:     s.cfg.StrictSNI,
		HelloBytesMax: s.cfg.Limits.HelloBytes,
	}
}
