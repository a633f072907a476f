// Package certstore turns a directory of PEM files into an immutable snapshot
// of certificates with their keys, and finds the right one for a server name
// without a lock and without an allocation.
//
// # What a directory may look like
//
//   - Flat pairs, whatever the files are called: a certificate and its key find
//     each other by public key, in one file or in several, the same directory
//     first, the rest of the tree after it.
//   - certbot's live/ tree (or its parent: archive/ beside live/ is then left
//     alone), Caddy's, acme.sh's and lego's trees, four levels deep at most.
//   - Kubernetes mounts: names that begin with a dot (..data, ..2026_01_02) are
//     never entered; the links through them are followed.
//
// Files are read for what is in them, not for their names. Names matter in three
// places only: NAME.ocsp is an OCSP response for NAME.pem (or NAME, when that
// carries its extension), editors' and installers' leftovers (~, .bak, .old,
// .orig, .tmp, .swp and the like) are passed over, and a certificate file or a
// directory whose name begins with "default" holds the default certificate.
//
// # Which names a pair serves
//
// The dNSName entries of its subjectAltName, wildcards for exactly one label
// (RFC 9525, 6.3). A certificate without any subjectAltName serves its common
// name if that is a host name: clients will most likely refuse it, and it is
// reported, but it is still the certificate its owner meant for that name.
//
// # Which pair goes first
//
// For one name: what is valid now, before what is not yet valid, before what has
// expired; among equals exact names before wildcards, cheap signatures before
// dear ones (ECDSA P-256, Ed25519, ECDSA P-384, RSA), the later end first.
//
// # What stays when something breaks
//
// A pair of the previous snapshot stays in service for as long as its
// certificate or key file is still there but no longer makes a pair: half
// written, replaced one after the other, unreadable, a dangling link. It goes
// when both files are gone, or when its certificate file makes a new pair.
//
// The package reads files and nothing else: it never uses a name from the network
// as a path, knows no TLS, and starts no goroutine but those Watch documents.
package certstore
