package tidy

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// tlsSections are the sections of RFC 9846 below which there are others, and how
// many. Its section 4 is numbered otherwise than that of RFC 8446, which it
// replaces, and from memory one writes the old numbers.
var tlsSections = map[string]int{
	"1": 4, "2": 3, "3": 8, "4": 7, "4.2": 4, "4.3": 11, "4.3.8": 2, "4.3.11": 3, "4.4": 2, "4.5": 3, "4.5.1": 3, "4.7": 3,
	"5": 5, "6": 2, "7": 5, "7.4": 2, "8": 3, "9": 3, "B": 4, "B.3": 5, "C": 5, "E": 5, "F": 10,
}

var tlsSection = regexp.MustCompile(`RFC 9846, ((?:[0-9]+|[A-F])(?:\.[0-9]+)*)`)

// Every section of RFC 9846 that is named exists.
func TestSectionsOfTLS(t *testing.T) {
	seen := 0
	for _, name := range files(t, ".go", ".md") {
		for _, m := range tlsSection.FindAllStringSubmatch(read(t, name), -1) {
			seen++
			if !tlsSectionExists(m[1]) {
				t.Errorf("%s: RFC 9846 has no section %s", name, m[1])
			}
		}
	}
	if seen < 100 {
		t.Fatalf("found only %d sections", seen)
	}
}

// tlsSectionExists walks down to a section.
func tlsSectionExists(section string) bool {
	parts := strings.Split(section, ".")
	if top, err := strconv.Atoi(parts[0]); err == nil && (top < 1 || top > 12) {
		return false
	}
	for i := 1; i < len(parts); i++ {
		n, err := strconv.Atoi(parts[i])
		if err != nil || n < 1 || n > tlsSections[strings.Join(parts[:i], ".")] {
			return false
		}
	}
	return true
}
