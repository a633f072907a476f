package proxy

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Errors of the options behind a target.
var (
	ErrTargetOption  = errors.New("want #weight=N, proxy-protocol=v1 or v2, server-name=NAME or insecure, with commas between them")
	ErrTargetWeight  = errors.New("want weight=N, N from 1 to 1000")
	ErrTargetVersion = errors.New("want proxy-protocol=v1 or proxy-protocol=v2")
	ErrTargetName    = errors.New("want server-name=NAME, a host name or an address")
	ErrTargetPlain   = errors.New("server-name and insecure are for https:// alone")
)

// parseOptions reads what follows the # of a target.
func (t *Target) parseOptions(s string) error {
	for option := range strings.SplitSeq(s, ",") {
		name, value, has := strings.Cut(option, "=")
		var err error
		switch {
		case name == "weight" && has:
			t.Weight, err = parseWeight(value)
		case name == "proxy-protocol" && has:
			err = t.parseProxyProtocol(value)
		case name == "server-name" && has:
			if t.ServerName = strings.ToLower(value); !isHost(t.ServerName) {
				err = ErrTargetName
			}
		case name == "insecure" && !has:
			t.Insecure = true
		default:
			err = fmt.Errorf("%q: %w", option, ErrTargetOption)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func parseWeight(digits string) (int, error) {
	n, err := strconv.Atoi(digits)
	if err != nil || n < 1 || n > WeightMax {
		return 0, ErrTargetWeight
	}
	return n, nil
}

func (t *Target) parseProxyProtocol(version string) error {
	switch version {
	case "v1":
		t.ProxyProtocol = 1
	case "v2":
		t.ProxyProtocol = 2
	default:
		return ErrTargetVersion
	}
	return nil
}

// appendOptions appends the options as parseOptions reads them, # included; the
// weight only if it is asked for.
func (t *Target) appendOptions(s string, weight bool) string {
	mark := "#"
	add := func(option string) {
		s, mark = s+mark+option, ","
	}
	if weight && t.Weight > 1 {
		add("weight=" + strconv.Itoa(t.Weight))
	}
	if t.ProxyProtocol != 0 {
		add("proxy-protocol=v" + strconv.Itoa(t.ProxyProtocol))
	}
	if t.ServerName != "" {
		add("server-name=" + t.ServerName)
	}
	if t.Insecure {
		add("insecure")
	}
	return s
}

// VerifyName is the name that an https target is asked for, and that its
// certificate must be for.
func (t *Target) VerifyName() string {
	if t.ServerName != "" {
		return t.ServerName
	}
	return t.Host
}
