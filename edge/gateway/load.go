package gateway

import (
	"fmt"
	"os"
	"time"

	"edge/certstore"
	"edge/edge/site"
	"edge/tlsstack"
)

// load makes a generation of what there is on disk now.
func (s *server) load() (*generation, error) {
	certs, err := s.loadCertificates()
	if err != nil {
		return nil, err
	}
	g := &generation{number: 1, certs: certs, tls: s.tlsConfig(certs)}
	if g.site, err = s.openSite(); err != nil {
		return nil, err
	}
	return g, nil
}

// openSite opens the tar file or the directory; nil without one.
func (s *server) openSite() (*site.Site, error) {
	path := s.cfg.Site
	if path == "" {
		return nil, nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("site %w: give a tar file made by `edge pack`, or a directory", err)
	}
	opts := site.Options{CacheBytes: s.cfg.Limits.CacheBytes}
	if opts.CacheBytes == 0 {
		opts.CacheBytes = -1
	}
	opts.Skipped = func(name, why string) { s.log.Printf("site %s: %q is not served: %s", path, name, why) }
	if info.IsDir() {
		return site.OpenDir(path, opts)
	}
	return site.Open(path, opts)
}

// loadCertificates reads the certificate directory.
func (s *server) loadCertificates() (*certificates, error) {
	snap, report, err := certstore.Load(s.cfg.CertDir, nil, time.Now())
	if err != nil {
		return nil, err
	}
	for _, p := range report.Fresh {
		s.log.Printf("certificates: %s", p)
	}
	if snap.Len() == 0 {
		return nil, fmt.Errorf("%s holds no usable certificate with its key: put PEM files there, or try --dev", s.cfg.CertDir)
	}
	return newCertificates(snap)
}

// tlsConfig is the TLS side of a generation.
func (s *server) tlsConfig(certs *certificates) *tlsstack.Config {
	return &tlsstack.Config{
		Certificates:  certs,
		Tickets:       s.tickets,
		NextProtos:    []string{"http/1.1"},
		StrictSNI:     s.cfg.StrictSNI,
		HelloBytesMax: s.cfg.Limits.HelloBytes,
	}
}
