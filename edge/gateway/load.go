package gateway

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"edge/certstore"
	"edge/ech"
	"edge/edge/config"
	"edge/edge/site"
	"edge/tlsstack"
)

// parts says which parts of a generation are to be loaded; the others are taken
// over from the one before.
type parts uint8

const (
	partSite parts = 1 << iota // and all programs, for some are the site's
	partCertificates
	partKeys
	partClients
	partTickets // stand beside the generation, and are loaded with it
	partsAll    = partSite | partCertificates | partKeys | partClients | partTickets
)

// load makes a generation of what there is on disk now. previous is the one in
// service, nil at the start; then all parts are loaded.
func (s *server) load(previous *generation, what parts) (*generation, error) {
	certs := &certificates{}
	if previous != nil {
		certs = previous.certs
	}
	var err error
	if what&partCertificates != 0 {
		if certs, err = s.loadCertificates(certs); err != nil {
			return nil, err
		}
	}
	return s.loadWith(certs, previous, what)
}

// loadWith is load with certificates that are loaded already.
func (s *server) loadWith(certs *certificates, previous *generation, what parts) (*generation, error) {
	number := int64(1)
	var open *openSite
	var programs *programs
	var keys *ech.Set
	var siteChanged, keysChanged, clientsChanged string
	var clients tlsstack.ClientVerifier
	var err error
	if previous != nil {
		number, open, programs = previous.number+1, previous.shared, previous.programs
		keys, keysChanged = previous.tls.ECH, previous.keysChanged
		clients, clientsChanged = previous.tls.ClientVerifier, previous.clientsChanged
		siteChanged = previous.siteChanged
	}
	if what&partClients != 0 {
		clientsChanged = signatureOf(s.cfg.ClientCA)
		if clients, err = s.loadClientCAs(); err != nil {
			return nil, err
		}
	}
	if what&partKeys != 0 {
		keysChanged = signatureOf(s.cfg.ECHDir)
		if keys, err = s.loadKeys(previous); err != nil {
			return nil, err
		}
	}
	if what&partSite != 0 {
		if s.cfg.ReloadOnChange { // it looks at every file
			siteChanged = signatureOf(s.siteFiles()...)
		}
		if open, err = s.openSite(); err != nil {
			return nil, err
		}
		if programs, err = s.loadPrograms(open); err != nil {
			open.close()
			return nil, err
		}
	}
	g := &generation{
		number: number, certs: certs,
		siteChanged: siteChanged, keysChanged: keysChanged, clientsChanged: clientsChanged,
		relays: s.relayTargets(keys), tls: s.tlsConfig(certs, keys, clients),
	}
	s.splitInto(g)
	g.relays.await()
	g.origins.await()
	g.serve(open)
	g.run(programs)
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
	if set == nil && errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("--ech %s: no such directory: make it and a key with `edge keys gen-ech --dir %s`", s.cfg.ECHDir, s.cfg.ECHDir)
	}
	if err != nil && (set == nil || previous != nil) {
		return nil, fmt.Errorf("--ech %s: %s", s.cfg.ECHDir, strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	if err != nil {
		for file := range strings.SplitSeq(err.Error(), "\n") {
			s.log.Printf("--ech %s: %s", s.cfg.ECHDir, file)
		}
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
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("site %w: give a tar file made by `edge pack`, or a directory", err)
	}
	skipped := 0
	opts := site.Options{
		CacheBytes:   s.cfg.Limits.CacheBytes,
		HTMLFallback: s.cfg.HTMLFallback,
		Skipped: func(name, why string) {
			if skipped++; skipped <= skippedToldMax {
				s.log.Printf("site %s: %s is not served: %s", path, printable([]byte(name)), why)
			}
		},
	}
	if opts.CacheBytes == 0 {
		opts.CacheBytes = -1
	}
	open := site.Open
	if info.IsDir() {
		open = site.OpenDir
	}
	opened, err := open(path, opts)
	if err != nil {
		return nil, err
	}
	if more := skipped - skippedToldMax; more > 0 {
		s.log.Printf("site %s: %d more entries are not served", path, more)
	}
	made := &openSite{Site: opened}
	if err := made.failures.load(opened); err != nil {
		s.log.Printf("%v; our own page stands in", err)
	}
	return made, nil
}

// skippedToldMax is how many entries that are not served are told one by one.
const skippedToldMax = 20

// loadCertificates reads the certificate directory. Those whose files are
// half-written are taken over from before.
func (s *server) loadCertificates(before *certificates) (*certificates, error) {
	if s.cfg.CertDir == "" {
		return &certificates{}, nil
	}
	snap, report, err := certstore.Load(s.cfg.CertDir, before.snapshot, time.Now())
	if err != nil {
		return nil, err
	}
	s.logCertificates(report)
	return s.useCertificates(snap, before)
}

// useCertificates makes of a snapshot what handshakes need.
func (s *server) useCertificates(snap *certstore.Snapshot, before *certificates) (*certificates, error) {
	if snap.Len() == 0 {
		return nil, fmt.Errorf("%s holds no usable certificate with its key: put PEM files there, or try --dev", s.cfg.CertDir)
	}
	certs, refused := newCertificates(snap, before)
	for _, err := range refused {
		s.log.Printf("certificates: %v", err)
	}
	if len(certs.Default()) == 0 {
		return nil, fmt.Errorf("%s holds no certificate that can be used", s.cfg.CertDir)
	}
	return certs, nil
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

// loadClientCAs reads the authorities of client certificates; nil without any.
func (s *server) loadClientCAs() (tlsstack.ClientVerifier, error) {
	if s.cfg.ClientAuth == config.ClientAuthNone {
		return nil, nil
	}
	file, err := os.ReadFile(s.cfg.ClientCA)
	if err != nil {
		return nil, fmt.Errorf("--client-ca: %w", err)
	}
	cas, err := tlsstack.NewClientCAs(file)
	if err != nil {
		return nil, fmt.Errorf("--client-ca %s: %w", s.cfg.ClientCA, err)
	}
	return cas, nil
}

// clientAuth is --client-auth in the words of the TLS machine.
var clientAuth = map[string]tlsstack.ClientAuth{
	config.ClientAuthNone:    tlsstack.ClientAuthNone,
	config.ClientAuthRequest: tlsstack.ClientAuthRequest,
	config.ClientAuthRequire: tlsstack.ClientAuthRequire,
}

// tlsConfig is the TLS side of a generation. clients is nil without client
// certificates.
func (s *server) tlsConfig(certs *certificates, keys *ech.Set, clients tlsstack.ClientVerifier) *tlsstack.Config {
	return &tlsstack.Config{
		Certificates:   certs,
		ECH:            keys,
		Tickets:        s.tickets,
		ClientAuth:     clientAuth[s.cfg.ClientAuth],
		ClientVerifier: clients,
		Compressors:    tlsstack.Compressors,
		KeyLog:         s.keyLog.writer(),

		TicketLifetime: ticketLifetime,
		NextProtos:     []string{"http/1.1", protoOld},
		StrictSNI:      s.cfg.StrictSNI,
		HelloBytesMax:  s.cfg.Limits.HelloBytes,
	}
}

// protoOld is what clients offer that speak no later version; curl --http1.0 is one.
const protoOld = "http/1.0"
