package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPrefixes: a prefix keeps a flag to the first or to the later connections.
func TestPrefixes(t *testing.T) {
	initial, resumed, err := parseFlags(strings.Fields(
		"-port 1234 -shim-id 77 -server -on-initial-select-alpn foo -on-resume-select-alpn bar -on-resume-no-ticket -curves 29 -curves 23"))
	if err != nil {
		t.Fatal(err)
	}
	if *initial.selectALPN != "foo" || *resumed.selectALPN != "bar" || initial.noTicket || !resumed.noTicket {
		t.Errorf("initial %+v, resumed %+v", initial, resumed)
	}
	if initial.port != 1234 || resumed.port != 1234 || initial.shimID != 77 || len(resumed.curves) != 2 {
		t.Errorf("initial %+v, resumed %+v", initial, resumed)
	}
}

// TestCredentialPositions: flags belong to the credential begun last, the default
// one comes last.
func TestCredentialPositions(t *testing.T) {
	o, _, err := parseFlags(strings.Fields(
		"-server -cert-file default -new-x509-credential -cert-file first -signing-prefs 1027 -new-x509-credential -cert-file second -must-match-issuer"))
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, c := range o.credentials {
		files = append(files, c.certFile)
	}
	if got := strings.Join(files, " "); got != "first second default" {
		t.Errorf("credentials are %s", got)
	}
	if len(o.credentials[0].signingPrefs) != 1 || !o.credentials[1].matchIssuer || o.credentials[2].matchIssuer {
		t.Errorf("%+v", o.credentials)
	}
}

// TestDeclined: what is not understood is said before anything is dialled.
func TestDeclined(t *testing.T) {
	for _, line := range []string{
		"",
		"-server -no-such-flag",
		"-server -port",
		"-server -port x",
		"-server -max-version 771",
		"-server -min-version 773",
		"-server -ocsp-response !",
		"-server -use-client-ca-list zz",
		"-server -expect-early-data-reason accept",
		"-server -on-resume-enable-early-data",
	} {
		if _, _, err := parseFlags(strings.Fields(line)); err == nil {
			t.Errorf("%q is taken", line)
		}
	}
}

// readRunnerConfig reads what the runner is told about this shim.
func readRunnerConfig(t *testing.T) (config struct {
	AllCurves     []int
	DisabledTests map[string]string
	ErrorMap      map[string][]string
}) {
	t.Helper()
	file, err := os.ReadFile("runner.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(file, &config); err != nil {
		t.Fatal(err)
	}
	return config
}

// TestRunnerConfig: every declined test has a reason.
func TestRunnerConfig(t *testing.T) {
	config := readRunnerConfig(t)
	if len(config.AllCurves) == 0 || len(config.DisabledTests) == 0 {
		t.Error("groups or tests are missing")
	}
	for name, reason := range config.DisabledTests {
		if len(reason) < 10 {
			t.Errorf("%s is declined because %q", name, reason)
		}
	}
}

// TestErrorMap: every error the runner may wait for is one that the server makes,
// with its alert: a text that was changed has to be changed here, too.
func TestErrorMap(t *testing.T) {
	config := readRunnerConfig(t)
	texts := serverTexts(t)
	for name, errors := range config.ErrorMap {
		if len(errors) == 0 {
			t.Errorf("%s is mapped to nothing", name)
		}
		for _, text := range errors {
			words := text[strings.LastIndex(text, ": ")+1:]
			if !strings.Contains(texts, strings.TrimSpace(words)) {
				t.Errorf("%s: nothing says %q", name, words)
			}
		}
	}
}

// serverTexts is the source of the packages whose errors reach the runner.
func serverTexts(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, folder := range []string{"tlsstack", "tlsstack/wire", "tlsstack/keys", "ech"} {
		names, err := filepath.Glob(filepath.Join("..", "..", folder, "*.go"))
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %d files, %v", folder, len(names), err)
		}
		for _, name := range names {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			all.Write(b)
		}
	}
	return all.String()
}
