package config

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net"
	"strconv"
	"strings"
	"time"
)

// Size suffixes, powers of two, smallest last so that formatSize takes the
// largest that divides.
var sizeUnits = []struct {
	suffix string
	bytes  int64
}{{"g", gb}, {"m", mb}, {"k", kb}}

// parseSize reads 65536, 64k, 64K, 64KB or 64KiB; all units are powers of two.
func parseSize(s string) (int64, error) {
	bad := errors.New("give a size such as 65536, 64k or 32m")
	t := strings.TrimSuffix(strings.TrimSuffix(strings.ToLower(s), "b"), "i")
	unit := int64(1)
	for _, u := range sizeUnits {
		if head, ok := strings.CutSuffix(t, u.suffix); ok {
			t, unit = head, u.bytes
			break
		}
	}
	n, err := strconv.ParseInt(t, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64/unit {
		return 0, bad
	}
	return n * unit, nil
}

func formatSize(n int64) string {
	for _, u := range sizeUnits {
		if n != 0 && n%u.bytes == 0 {
			return strconv.FormatInt(n/u.bytes, 10) + u.suffix
		}
	}
	return strconv.FormatInt(n, 10)
}

// The types below are pflag.Value: a spelling, and an error that shows a right
// one.

type limitValue struct {
	row *limitRow
	of  *Limits
}

func (v limitValue) String() string {
	if v.row == nil { // pflag asks a zero value for its default
		return ""
	}
	return v.row.text(v.row.get(v.of))
}

func (v limitValue) Set(s string) error {
	if v.row.size {
		n, err := parseSize(s)
		if err != nil {
			return err
		}
		v.row.set(v.of, n)
		return nil
	}
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil {
		return errors.New("give a whole number")
	}
	v.row.set(v.of, n)
	return nil
}

func (v limitValue) Type() string {
	if v.row != nil && v.row.size {
		return "SIZE"
	}
	return "N"
}

type timeValue time.Duration

func (v *timeValue) String() string {
	if *v == 0 {
		return "0s"
	}
	s := time.Duration(*v).String()
	// 1m0s and 1h0m0s say no more than 1m and 1h.
	if t, ok := strings.CutSuffix(s, "m0s"); ok {
		s = t + "m"
	}
	if t, ok := strings.CutSuffix(s, "h0m"); ok {
		s = t + "h"
	}
	return s
}

func (v *timeValue) Set(s string) error {
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return errors.New("give a time with its unit, such as 500ms, 30s or 5m")
	}
	*v = timeValue(d)
	return nil
}

func (*timeValue) Type() string { return "TIME" }

type countValue int

func (v *countValue) String() string { return strconv.Itoa(int(*v)) }

func (v *countValue) Set(s string) error {
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil {
		return errors.New("give a whole number")
	}
	*v = countValue(n)
	return nil
}

func (*countValue) Type() string { return "N" }

type pathValue string

func (v *pathValue) String() string { return string(*v) }

func (v *pathValue) Set(s string) error {
	if s == "" {
		return errors.New("give a path")
	}
	*v = pathValue(s)
	return nil
}

func (*pathValue) Type() string { return "DIR" }

type fileValue string

func (v *fileValue) String() string { return string(*v) }

func (v *fileValue) Set(s string) error { return (*pathValue)(v).Set(s) }

func (*fileValue) Type() string { return "FILE" }

// wordValue is one word of several; kind says which. What is none of them is told
// when the whole command line is checked.
type wordValue struct {
	to   *string
	kind string
}

func (v *wordValue) String() string {
	if v.to == nil { // pflag asks a zero value for its default
		return ""
	}
	return *v.to
}

func (v *wordValue) Set(s string) error {
	*v.to = s
	return nil
}

func (v *wordValue) Type() string { return v.kind }

// filesValue collects files, in the order given.
type filesValue []string

func (v *filesValue) String() string { return strings.Join(*v, ",") }

func (v *filesValue) Set(s string) error {
	if s == "" {
		return errors.New("give a path")
	}
	*v = append(*v, s)
	return nil
}

func (*filesValue) Type() string { return "FILE" }

// relaysValue reads NAME=HOST:PORT, once for each name.
type relaysValue struct{ to *[]Relay }

func (v *relaysValue) Type() string { return "NAME=HOST:PORT" }

func (v *relaysValue) String() string {
	if v.to == nil {
		return ""
	}
	var all []string
	for _, r := range *v.to {
		all = append(all, r.Name+"="+r.Target.String())
	}
	return strings.Join(all, ",")
}

func (v *relaysValue) Set(s string) error {
	name, target, ok := strings.Cut(s, "=")
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	if !ok || name == "" {
		return errors.New("give NAME=HOST:PORT, such as public.example=192.0.2.1:443")
	}
	for _, r := range *v.to {
		if r.Name == name {
			return fmt.Errorf("%s is relayed to %s already", name, r.Target)
		}
	}
	to, err := parseHostPort(target)
	if err != nil {
		return err
	}
	*v.to = append(*v.to, Relay{name, to})
	return nil
}

// parseHostPort reads HOST:PORT with HOST a name or an IP address.
func parseHostPort(s string) (HostPort, error) {
	host, text, err := net.SplitHostPort(s)
	port, perr := strconv.ParseUint(text, 10, 16)
	if err != nil || perr != nil || host == "" || port == 0 {
		return HostPort{}, fmt.Errorf("%q: give HOST:PORT, such as origin.example:443 or [2001:db8::1]:443", s)
	}
	return HostPort{host, uint16(port)}, nil
}

// modeValue is a file mode in octal.
type modeValue fs.FileMode

func (v *modeValue) String() string { return strconv.FormatUint(uint64(*v), 8) }

func (v *modeValue) Set(s string) error {
	n, err := strconv.ParseUint(s, 8, 32)
	if err != nil || n > 0o777 {
		return errors.New("give permissions in octal, such as 660")
	}
	*v = modeValue(n)
	return nil
}

func (*modeValue) Type() string { return "MODE" }

// sizeValue is a number of bytes.
type sizeValue int64

func (v *sizeValue) String() string { return formatSize(int64(*v)) }

func (v *sizeValue) Set(s string) (err error) {
	n, err := parseSize(s)
	if err == nil {
		*v = sizeValue(n)
	}
	return err
}

func (*sizeValue) Type() string { return "SIZE" }

// listValue is a list with commas: the first one given replaces the default, the
// others are added.
type listValue struct {
	to    *[]string
	kind  string
	given bool
}

func (v *listValue) String() string {
	if v.to == nil { // pflag asks a zero value for its default
		return ""
	}
	return strings.Join(*v.to, ",")
}

func (v *listValue) Set(s string) error {
	if !v.given {
		*v.to, v.given = nil, true
	}
	for item := range strings.SplitSeq(s, ",") {
		if item = strings.TrimSpace(item); item != "" {
			*v.to = append(*v.to, item)
		}
	}
	return nil
}

func (v *listValue) Type() string { return v.kind }

// statusesValue is a status, or two with a hyphen between them.
type statusesValue StatusRange

func (v *statusesValue) String() string {
	if v.Least == v.Most {
		return strconv.Itoa(v.Least)
	}
	return fmt.Sprintf("%d-%d", v.Least, v.Most)
}

func (v *statusesValue) Set(s string) error {
	first, last, both := strings.Cut(s, "-")
	if !both {
		last = first
	}
	least, err := strconv.Atoi(first)
	most, err2 := strconv.Atoi(last)
	if err != nil || err2 != nil || least < 200 || most > 599 || least > most {
		return errors.New("give a status or a range of them, such as 200 or 200-399")
	}
	v.Least, v.Most = least, most
	return nil
}

func (*statusesValue) Type() string { return "STATUS" }
