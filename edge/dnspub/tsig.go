package dnspub

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/miekg/dns"
)

// TSIG is a key that signs messages (RFC 8945). Formatted in any way it shows
// its name and algorithm, never the secret.
type TSIG struct {
	Name      string // with its final dot, lower case
	Algorithm string // with its final dot, as messages carry it

	secret string // base64
}

// secretFileBytesMax is far above any file with a secret.
const secretFileBytesMax = 64 << 10

// algorithmDefault is what a key without a named algorithm is for.
const algorithmDefault = dns.HmacSHA256

var algorithms = []string{dns.HmacSHA1, dns.HmacSHA224, dns.HmacSHA256, dns.HmacSHA384, dns.HmacSHA512}

var (
	errTSIGForm   = errors.New("give [ALGORITHM:]NAME:FILE, or the file that tsig-keygen writes")
	errSecret     = errors.New("the file holds no secret in base64")
	errSecretLong = fmt.Errorf("the file is larger than %d bytes", secretFileBytesMax)
	errKeyFile    = errors.New(`the file holds no statement like key "NAME" { algorithm …; secret "…"; };`)
)

// Format writes what String does, whatever the verb.
func (k *TSIG) Format(w fmt.State, _ rune) { io.WriteString(w, k.String()) }

// String returns name and algorithm.
func (k *TSIG) String() string {
	return strings.TrimSuffix(k.Name, ".") + " (" + strings.TrimSuffix(k.Algorithm, ".") + ")"
}

// ReadTSIG reads a key as spec says:
//
//	[ALGORITHM:]NAME:FILE   FILE holds the secret in base64 and nothing else
//	FILE                    FILE holds a key statement, as BIND and tsig-keygen write it
//
// FILE may begin with "@". The secret itself is not taken: command lines can be
// read by others. Errors quote neither the file nor, in case it is the secret
// after all, its name.
func ReadTSIG(spec string) (*TSIG, error) {
	k := &TSIG{Algorithm: algorithmDefault}
	first, rest, named := strings.Cut(spec, ":")
	if !named {
		data, err := readSecretFile(spec)
		if err != nil {
			return nil, err
		}
		return parseKeyStatement(data)
	}
	if a := dns.CanonicalName(first); slices.Contains(algorithms, a) {
		k.Algorithm = a
		if first, rest, named = strings.Cut(rest, ":"); !named {
			return nil, errTSIGForm
		}
	}
	if err := k.setName(first); err != nil {
		return nil, err
	}
	data, err := readSecretFile(rest)
	if err != nil {
		return nil, err
	}
	return k, k.setSecret(strings.TrimSpace(string(data)))
}

func (k *TSIG) setName(name string) error {
	if strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") != "" {
		return errTSIGForm
	}
	if _, ok := dns.IsDomainName(name); !ok || name == "" {
		return errTSIGForm
	}
	k.Name = dns.CanonicalName(name)
	return nil
}

func (k *TSIG) setSecret(secret string) error {
	raw, err := base64.StdEncoding.DecodeString(secret)
	if err != nil || len(raw) == 0 {
		return errSecret
	}
	k.secret = secret
	return nil
}

// readSecretFile reads a file that may begin with "@".
func readSecretFile(name string) ([]byte, error) {
	name = strings.TrimPrefix(name, "@")
	if name == "" {
		return nil, errTSIGForm
	}
	data, err := os.ReadFile(name)
	var path *fs.PathError
	switch {
	case errors.As(err, &path):
		return nil, fmt.Errorf("reading the file with the secret: %w", path.Err)
	case len(data) > secretFileBytesMax:
		return nil, errSecretLong
	}
	return data, err
}

var (
	keyComments  = regexp.MustCompile(`(?s)/\*.*?\*/|//[^\n]*|#[^\n]*`)
	keyStatement = regexp.MustCompile(`^\s*key\s+"?([^\s"{};]+)"?\s*\{([^{}]*)\}\s*;`)
	keyAlgorithm = regexp.MustCompile(`(?:^|;)\s*algorithm\s+"?([^\s"{};]+)"?\s*;`)
	keySecret    = regexp.MustCompile(`(?:^|;)\s*secret\s+"?([^\s"{};]+)"?\s*;`)
)

// parseKeyStatement reads a key statement of named.conf.
func parseKeyStatement(data []byte) (*TSIG, error) {
	// Comments within strings do not occur: neither names nor base64 hold # or //.
	// A secret may hold "//", so only what stands outside quotes is a comment.
	text := stripComments(string(data))
	statement := keyStatement.FindStringSubmatch(text)
	if statement == nil {
		return nil, errKeyFile
	}
	algorithm, secret := keyAlgorithm.FindStringSubmatch(statement[2]), keySecret.FindStringSubmatch(statement[2])
	if algorithm == nil || secret == nil {
		return nil, errKeyFile
	}
	k := &TSIG{Algorithm: dns.CanonicalName(algorithm[1])}
	if !slices.Contains(algorithms, k.Algorithm) {
		return nil, fmt.Errorf("the algorithm is none of %s", algorithmList())
	}
	if err := k.setName(statement[1]); err != nil {
		return nil, errKeyFile
	}
	return k, k.setSecret(secret[1])
}

// stripComments removes the comments of named.conf that lie outside quotes.
func stripComments(text string) string {
	parts := strings.Split(text, `"`)
	for i := 0; i < len(parts); i += 2 { // outside
		parts[i] = keyComments.ReplaceAllString(parts[i], " ")
	}
	return strings.Join(parts, `"`)
}

func algorithmList() string {
	var names []string
	for _, a := range algorithms {
		names = append(names, strings.TrimSuffix(a, "."))
	}
	return strings.Join(names, ", ")
}
