module edge

go 1.26.0

require (
	github.com/andybalholm/brotli v1.3.0
	github.com/cilium/ebpf v0.22.0
	github.com/cloudflare/circl v1.6.5
	github.com/klauspost/compress v1.20.4
	github.com/miekg/dns v1.1.73
	github.com/pawelgaczynski/giouring v0.0.0-20230826085535-69588b89acb9
	github.com/spf13/cobra v1.10.2
	github.com/spf13/pflag v1.0.10
	golang.org/x/crypto v0.59.0
	golang.org/x/net v0.62.0
	golang.org/x/sys v0.50.0
)

require (
	github.com/inconshreveable/mousetrap v1.1.0 // indirect
	golang.org/x/text v0.44.0 // indirect
)
