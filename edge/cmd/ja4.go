package cmd

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"edge/edge/capture"
	"edge/ja4"
)

func newJA4(env Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "ja4 FILE | HEX | -",
		Short: "Fingerprint TLS clients",
		Long: `ja4 prints the JA4 of each ClientHello in FILE, a packet capture (pcap or pcapng),
in its four forms: sorted and hashed (ja4), sorted in full (ja4_r), as sent and
hashed (ja4_o), as sent in full (ja4_ro). HEX is one hello, as a message or in its
TLS records; so may be the content of FILE. - is standard input.

With ECH it is the outer hello that a capture shows. QUIC is not read.`,
		Example: `  edge ja4 capture.pcapng
  tcpdump -w - port 443 | edge ja4 -
  edge ja4 listen 127.0.0.1:8444`,
		Args: oneArgument("FILE, HEX or -"),
		RunE: func(_ *cobra.Command, args []string) error {
			return printJA4(env, args[0])
		},
	}
	c.AddCommand(newJA4Listen(env))
	return c
}

// helloTextMax is the most hexadecimal text of a hello.
const helloTextMax = 1 << 20

func printJA4(env Env, what string) error {
	in := env.In
	if what != "-" {
		f, err := os.Open(what)
		if err != nil {
			if msg := helloFromHex([]byte(what)); msg != nil {
				return writeJA4(env.Out, msg)
			}
			return fmt.Errorf("%w, and it is no ClientHello in hexadecimal either", plain(err))
		}
		defer f.Close()
		in = f
	}
	r := bufio.NewReader(in)
	if start, _ := r.Peek(4); capture.IsCapture(start) {
		return captureJA4(env.Out, what, r)
	}
	text, err := io.ReadAll(io.LimitReader(r, helloTextMax))
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	msg := helloFromHex(text)
	if msg == nil {
		return fmt.Errorf("%s: neither a packet capture nor a ClientHello in hexadecimal", what)
	}
	return writeJA4(env.Out, msg)
}

// captureJA4 prints the hellos of a capture, each under its connection.
func captureJA4(out io.Writer, name string, r io.Reader) error {
	found := 0
	var failed error
	err := capture.Read(r, func(h capture.Hello) {
		if failed != nil {
			return
		}
		found++
		if _, failed = fmt.Fprintf(out, "%s > %s\n", h.From, h.To); failed == nil {
			failed = writeJA4(out, h.Message)
		}
	})
	switch {
	case failed != nil:
		return failed
	case err != nil:
		return fmt.Errorf("%s: %w", name, err)
	case found == 0:
		return fmt.Errorf("%s: no ClientHello over TCP in it", name)
	}
	return nil
}

// helloFromHex reads a hello in hexadecimal, with any blanks between; nil if it
// is none.
func helloFromHex(text []byte) []byte {
	b, err := hex.DecodeString(string(bytes.Join(bytes.Fields(text), nil)))
	if err != nil || len(b) == 0 {
		return nil
	}
	if b[0] == 1 {
		return b
	}
	return capture.HelloOf(b)
}

// writeJA4 prints the four forms.
func writeJA4(out io.Writer, msg []byte) error {
	var h ja4.Hello
	if err := h.Read(msg); err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "ja4: "))
	}
	b := fmt.Appendf(nil, "ja4     %s\nja4_r   ", h.JA4(ja4.TCP))
	b = h.AppendJA4R(b, ja4.TCP)
	b = fmt.Appendf(b, "\nja4_o   %s\nja4_ro  ", h.JA4O(ja4.TCP))
	b = append(h.AppendJA4RO(b, ja4.TCP), '\n')
	_, err := out.Write(b)
	return err
}
