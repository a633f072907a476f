// Package capture finds the ClientHellos in a packet capture, pcap or pcapng: it
// reads packets, puts the first bytes of each TCP direction together in order, and
// takes the TLS records apart as far as the hello.
//
//	pcap.go      files to packets        packet.go   a packet to a TCP segment
//	stream.go    segments to bytes       hello.go    bytes to a hello
//
// Everything in a capture is foreign: each table, buffer and length has a maximum,
// and what is malformed is passed over packet by packet. It reads no QUIC, and
// puts no IP fragments together.
package capture
