package ech

import (
	"bytes"
	"fmt"
	"time"
)

// RetireKeyFile returns the text of a key file with its keys decrypt-only and to
// be removed after a time. Whatever else the file holds stays as it is, so that
// blocks and comments of other programs survive. Fails when data is not a key
// file, with an error that quotes nothing of it.
func RetireKeyFile(data []byte, removeAfter time.Time) ([]byte, error) {
	if _, err := ParseKeyFile(data); err != nil {
		return nil, err
	}
	text := fmt.Appendf(nil, "%s: %s\n", lineRole, DecryptOnly)
	text = appendTimeLine(text, lineRemoveAfter, removeAfter)
	inBlock := false
	for line := range bytes.Lines(data) {
		trimmed := bytes.TrimSpace(line)
		switch {
		case bytes.HasPrefix(trimmed, []byte("-----BEGIN ")):
			inBlock = true
		case bytes.HasPrefix(trimmed, []byte("-----END ")):
			inBlock = false
		case !inBlock && isRetireLine(trimmed):
			continue
		}
		text = append(text, line...)
	}
	if len(text) > KeyFileBytesMax {
		return nil, errFileLong
	}
	return text, nil
}

// isRetireLine reports whether a line outside the blocks is one that retiring
// writes anew.
func isRetireLine(line []byte) bool {
	name, _, _ := bytes.Cut(line, []byte(":"))
	return string(name) == lineRole || string(name) == lineRemoveAfter
}
