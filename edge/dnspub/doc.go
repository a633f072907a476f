// Package dnspub makes the DNS records that publish ECH configurations, puts them
// into a zone and looks them up: HTTPS records (RFC 9460) with the ech parameter
// (RFC 9848), written by dynamic update (RFC 2136) under a transaction signature
// (RFC 8945).
//
//	Owner, Service, ECHConfigList ── NewRecord ── zone file, JSON, nsupdate script
//	                                    │
//	Server.Publish ── what is there ── merge ── update, if it is still there ── look again
//	Server.Lookup  ── aliases followed ── what a client would get
//
// A record that is there keeps every parameter that is not asked to change, and
// an update is refused by the server when someone else changed the record in
// between: then it is read and merged again.
//
// The package knows nothing of keys: lists are bytes to it. A TSIG secret is
// read from a file and shown nowhere.
package dnspub
