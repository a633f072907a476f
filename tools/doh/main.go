// Command doh is a name server that speaks DNS over HTTPS (RFC 8484) on loopback,
// for tests with browsers: they ask for HTTPS records, and so find ECH keys, over
// DNS over HTTPS alone.
//
//	doh --cert FILE --zone FILE
//
// FILE of --cert is PEM, a certificate for 127.0.0.1 with its key; the zone is in
// zone-file form and read again for every question, so that a test changes what DNS
// says by writing it. Names that are not there do not exist. The first line on
// standard output is the URL to ask.
package main

import (
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
)

func main() {
	if err := command(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "doh:", err)
		os.Exit(1)
	}
}

func command(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("doh", flag.ContinueOnError)
	cert := flags.String("cert", "", "PEM file with the server's certificate and key")
	zone := flags.String("zone", "", "zone file")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if _, err := readZone(*zone); err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "https://%s%s\n", l.Addr(), path)
	return (&http.Server{Handler: server{*zone}}).ServeTLS(l, *cert, *cert)
}
