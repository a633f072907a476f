package main

import (
	"encoding/json"
	"os"
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

// TestRunnerConfig: every declined test has a reason.
func TestRunnerConfig(t *testing.T) {
	file, err := os.ReadFile("runner.json")
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		AllCurves     []int
		DisabledTests map[string]string
	}
	if err := json.Unmarshal(file, &config); err != nil {
		t.Fatal(err)
	}
	if len(config.AllCurves) == 0 || len(config.DisabledTests) == 0 {
		t.Error("groups or tests are missing")
	}
	for name, reason := range config.DisabledTests {
		if len(reason) < 10 {
			t.Errorf("%s is declined because %q", name, reason)
		}
	}
}
