package ech

import (
	"errors"
	"strings"
)

// publicNameBytesMax is the longest DNS name in presentation form.
const publicNameBytesMax = 253

// labelBytesMax is the longest DNS label (RFC 9849, 6.1.7).
const labelBytesMax = 63

var (
	errNameLength  = errors.New("public name is empty or longer than a DNS name")
	errNameLabel   = errors.New("public name is not a sequence of LDH labels (RFC 9849, 6.1.7)")
	errNameAddress = errors.New("public name can be taken for an IPv4 address (RFC 9849, 6.1.7)")
)

// checkPublicName applies what RFC 9849, 6.1.7 lets clients ask of a public
// name: dot-separated LDH labels of at most 63 bytes, no dot at either end, and
// a final label that no URL parser reads as a number.
func checkPublicName(name string) error {
	if name == "" || len(name) > publicNameBytesMax {
		return errNameLength
	}
	labels := strings.Split(name, ".")
	for _, label := range labels {
		if !isLDH(label) {
			return errNameLabel
		}
	}
	if isNumber(labels[len(labels)-1]) {
		return errNameAddress
	}
	return nil
}

// isLDH reports whether label is letters, digits and hyphens, without a hyphen
// at either end (RFC 5890, 2.3.1).
func isLDH(label string) bool {
	if label == "" || len(label) > labelBytesMax || label[0] == '-' || label[len(label)-1] == '-' {
		return false
	}
	for i := range len(label) {
		c := label[i]
		if !isDigit(c) && c != '-' && (c|0x20 < 'a' || c|0x20 > 'z') {
			return false
		}
	}
	return true
}

// isNumber reports whether label is all digits, or 0x and hexadecimal digits,
// possibly none.
func isNumber(label string) bool {
	hex := len(label) >= 2 && label[0] == '0' && label[1]|0x20 == 'x'
	if hex {
		label = label[2:]
	}
	for i := range len(label) {
		c := label[i]
		if !isDigit(c) && !(hex && c|0x20 >= 'a' && c|0x20 <= 'f') {
			return false
		}
	}
	return true
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
