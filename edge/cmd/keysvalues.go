package cmd

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"edge/ech"
)

// Spellings of flags that the keys commands share.

// ttlDefault is the time to live of records. A short one makes a forced change of
// keys hurt for a short time, and costs clients a question each visit.
const ttlDefault = 5 * time.Minute

// dnsTimeoutDefault is for one attempt; resolvers give up after as long.
const dnsTimeoutDefault = 5 * time.Second

// span is a time as flags spell it: 90s, 5m, 48h, 30d, 1d12h.
type span time.Duration

const day = 24 * time.Hour

func (v *span) String() string {
	d := time.Duration(*v)
	if d == 0 {
		return "0"
	}
	if d%day == 0 {
		return strconv.Itoa(int(d/day)) + "d"
	}
	s := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if t, ok := strings.CutSuffix(s, zero); ok {
			s = t + zero[:1]
		}
	}
	return s
}

// spanMax keeps sums of a few spans far from the end of time.Duration.
const spanMax = 36500 * day

func (v *span) Set(s string) error {
	d, err := parseSpan(s)
	if err != nil || d < 0 || d > spanMax {
		return errors.New("give a time with its unit, such as 90s, 5m, 48h or 30d")
	}
	*v = span(d)
	return nil
}

func parseSpan(s string) (time.Duration, error) {
	days, rest, withDays := strings.Cut(s, "d")
	if !withDays {
		return time.ParseDuration(s)
	}
	n, err := strconv.ParseUint(days, 10, 16)
	if err != nil || rest == "" {
		return time.Duration(n) * day, err
	}
	d, err := time.ParseDuration(rest)
	if d < 0 {
		return d, err
	}
	return time.Duration(n)*day + d, err
}

func (*span) Type() string { return "TIME" }

// timeoutFlag gives c the flag for how long an answer may take.
func timeoutFlag(c *cobra.Command, timeout *span) {
	*timeout = span(dnsTimeoutDefault)
	c.Flags().Var(timeout, "timeout", "longest wait for an answer, at each attempt")
}

// kemValue is a KEM by name.
type kemValue uint16

func (v *kemValue) String() string {
	if uint16(*v) == ech.KEMP256 {
		return "p256"
	}
	return "x25519"
}

func (v *kemValue) Set(s string) error {
	switch strings.ToLower(s) {
	case "x25519":
		*v = kemValue(ech.KEMX25519)
	case "p256", "p-256":
		*v = kemValue(ech.KEMP256)
	default:
		return errors.New("give x25519 or p256")
	}
	return nil
}

func (*kemValue) Type() string { return "KEM" }

// numberValue is a whole number within bounds.
type numberValue[N uint8 | uint16] struct {
	to       *N
	min, max N
}

func (v *numberValue[N]) String() string {
	if v.to == nil { // pflag asks a zero value for its default
		return ""
	}
	return strconv.FormatUint(uint64(*v.to), 10)
}

func (v *numberValue[N]) Set(s string) error {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil || n < uint64(v.min) || n > uint64(v.max) {
		return fmt.Errorf("give a number from %d to %d", v.min, v.max)
	}
	*v.to = N(n)
	return nil
}

func (*numberValue[N]) Type() string { return "N" }
