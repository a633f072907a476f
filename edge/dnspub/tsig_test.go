package dnspub

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/miekg/dns"
)

const secret = "c2VjcmV0IG9mIHRoZSB0ZXN0cyAxMjM0NTY="

// secretFile writes a file and returns its path.
func secretFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tsig")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestReadTSIG(t *testing.T) {
	bare := secretFile(t, "  "+secret+"\n")
	statement := secretFile(t, "// made by tsig-keygen\nkey \"Key.Example\" {\n\talgorithm hmac-sha512;\n\tsecret \""+secret+"\";\n};\n")
	unquoted := secretFile(t, "# c\n/* c */ key key.example { secret "+secret+"; algorithm \"hmac-sha384\"; };")
	for _, c := range []struct{ spec, name, algorithm string }{
		{"Key.Example:" + bare, "key.example.", dns.HmacSHA256},
		{"key.example.:@" + bare, "key.example.", dns.HmacSHA256},
		{"hmac-sha512:key.example:" + bare, "key.example.", dns.HmacSHA512},
		{"HMAC-SHA1:key.example:" + bare, "key.example.", dns.HmacSHA1},
		{statement, "key.example.", dns.HmacSHA512},
		{"@" + statement, "key.example.", dns.HmacSHA512},
		{unquoted, "key.example.", dns.HmacSHA384},
	} {
		k, err := ReadTSIG(c.spec)
		if err != nil || k.Name != c.name || k.Algorithm != c.algorithm || k.secret != secret {
			t.Errorf("%s: %v, %v", strings.ReplaceAll(c.spec, bare, "FILE"), k, err)
			continue
		}
		if text := fmt.Sprintf("%v %+v %#v %s %q %v", k, k, k, k, k, struct{ K *TSIG }{k}); strings.Contains(text, secret) {
			t.Errorf("shows the secret: %s", text)
		}
	}
}

// A slash at the right place of a secret must not be taken for a comment.
func TestSecretWithSlashes(t *testing.T) {
	const slashes = "AA//AAAA/*AA#AA="
	k, err := parseKeyStatement([]byte(`key "k" { algorithm "hmac-sha256"; secret "` + strings.NewReplacer("*", "A", "#", "B").Replace(slashes) + `"; };`))
	if err != nil || k.secret != "AA//AAAA/AAABAA=" {
		t.Error(k, err)
	}
}

// Nothing that is given by mistake is shown: it may be the secret.
func TestReadTSIGRefusals(t *testing.T) {
	bare := secretFile(t, secret)
	for _, c := range []struct{ spec, want string }{
		{"", "give [ALGORITHM:]NAME:FILE"},
		{"key:", "give [ALGORITHM:]NAME:FILE"},
		{":" + bare, "give [ALGORITHM:]NAME:FILE"},
		{"hmac-sha256:key", "give [ALGORITHM:]NAME:FILE"},
		{"hmac-md5/x:key:" + bare, "give [ALGORITHM:]NAME:FILE"},
		{"key:" + secret, "reading the file with the secret: no such file"},
		{"hmac-sha256:key:" + secret, "reading the file with the secret: no such file"},
		{secret, "reading the file with the secret: no such file"},
		{"key:" + t.TempDir(), "is a directory"},
		{"key:" + secretFile(t, ""), "no secret in base64"},
		{"key:" + secretFile(t, secret+secret), "no secret in base64"},
		{"key:" + secretFile(t, strings.Repeat("A", secretFileBytesMax+4)), "larger than"},
		{bare, "no statement like key"},
		{secretFile(t, `key "k" { algorithm hmac-sha256; };`), "no statement like key"},
		{secretFile(t, `key "k" { secret "`+secret+`"; };`), "no statement like key"},
		{secretFile(t, `key "k" { algorithm hmac-md5; secret "`+secret+`"; };`), "none of hmac-sha1,"},
		{secretFile(t, `key "k" { algorithm hmac-sha256; secret "***"; };`), "no secret in base64"},
		{secretFile(t, `key "a/b" { algorithm hmac-sha256; secret "`+secret+`"; };`), "no statement like key"},
	} {
		k, err := ReadTSIG(c.spec)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, %v", c.want, k, err)
		}
		if err != nil && strings.Contains(err.Error(), secret[:16]) {
			t.Errorf("%q: the error shows the secret", c.want)
		}
	}
}

func FuzzKeyStatement(f *testing.F) {
	f.Add([]byte(`key "k" { algorithm hmac-sha256; secret "AAAA"; };`))
	f.Add([]byte("# x\nkey k{secret AA//;algorithm \"hmac-sha1\";};"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if k, err := parseKeyStatement(data); err == nil && (k.Name == "" || k.secret == "") {
			t.Fatalf("%q: %v", data, k)
		}
	})
}
