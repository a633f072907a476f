package main

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// options is what the flags say about one connection.
type options struct {
	port        int
	shimID      uint64
	ipv6        bool
	server      bool
	resumeCount int
	async       bool

	credentials []credentialOptions // the last one is the default
	noTicket    bool
	curves      []uint16
	selectALPN  *string
	declineALPN bool
	rejectALPN  bool
	failCert    bool
	failEarly   bool
	keyUpdate   bool
	maxFragment int
	readSize    int

	requireClient bool
	verifyPeer    bool
	verifyFail    bool
	customVerify  bool
	verifyPrefs   []uint16
	clientCAs     [][]byte
	compressAll   bool
	compressOne   int

	echConfigs [][]byte
	echKeys    [][]byte
	echRetry   []bool

	shutsDown        bool
	checkCloseNotify bool
	writesFirst      bool

	expect expectations
}

// expectations is what must hold when the handshake is done.
type expectations struct {
	sessionMiss     bool
	serverName      *string
	advertisedALPN  *string
	curve           int
	retry           bool
	peerVerifyPrefs []uint16
	credential      *int
	cipherAES       int
	verifyResult    bool
	peerScheme      int
	peerCertFile    string
	echAccept       bool
}

// credentialOptions are the flags that belong to one credential.
type credentialOptions struct {
	certFile, keyFile string
	signingPrefs      []uint16
	staple, scts      []byte
	matchIssuer       bool
}

// parser walks over the arguments. For each it fills one or both option sets.
type parser struct {
	args []string
	err  error
}

// next returns the value of the flag at hand.
func (p *parser) next(flag string) string {
	if len(p.args) == 0 {
		p.fail(flag, "has no value")
		return ""
	}
	v := p.args[0]
	p.args = p.args[1:]
	return v
}

func (p *parser) fail(flag, what string) {
	if p.err == nil {
		p.err = fmt.Errorf("flag %s %s", flag, what)
	}
}

func (p *parser) number(flag string) int {
	n, err := strconv.Atoi(p.next(flag))
	if err != nil {
		p.fail(flag, "is not a number")
	}
	return n
}

func (p *parser) base64(flag string) []byte {
	b, err := base64.StdEncoding.DecodeString(p.next(flag))
	if err != nil {
		p.fail(flag, "is not base64")
	}
	return b
}

// names reads a comma list of hex DER names; <EMPTY> and <NULL> are none.
func (p *parser) names(flag string) [][]byte {
	v := p.next(flag)
	if v == "<EMPTY>" || v == "<NULL>" {
		return nil
	}
	var out [][]byte
	for _, s := range strings.Split(v, ",") {
		b, err := hex.DecodeString(s)
		if err != nil {
			p.fail(flag, "is not hex")
		}
		out = append(out, b)
	}
	return out
}

// parseFlags returns the options of the first and of the later connections.
// Flags that begin with -on-initial- or -on-resume- count for one of them alone.
func parseFlags(args []string) (initial, resumed *options, err error) {
	fresh := func() *options {
		return &options{credentials: make([]credentialOptions, 1), readSize: 512, compressOne: -1}
	}
	initial, resumed = fresh(), fresh()
	p := &parser{args: args}
	for len(p.args) > 0 && p.err == nil {
		flag := p.args[0]
		p.args = p.args[1:]
		name := strings.TrimPrefix(flag, "-")
		if rest, ok := strings.CutPrefix(name, "on-initial-"); ok {
			p.apply(initial, rest)
		} else if rest, ok := strings.CutPrefix(name, "on-resume-"); ok {
			p.apply(resumed, rest)
		} else {
			mark := p.args
			p.apply(initial, name)
			p.args = mark
			p.apply(resumed, name)
		}
	}
	if p.err == nil && !initial.server {
		p.err = fmt.Errorf("only the server is implemented")
	}
	return initial, resumed, p.err
}

// apply applies one flag to one set of options.
func (p *parser) apply(o *options, name string) {
	if set, ok := booleans[name]; ok {
		set(o)
		return
	}
	if set, ok := values[name]; ok {
		set(p, o, name)
		return
	}
	p.fail(name, "is not implemented")
}

// credential returns the credential that flags belong to at this point: the
// newest, or the default as long as none was begun.
func (o *options) credential() *credentialOptions {
	if n := len(o.credentials); n > 1 {
		return &o.credentials[n-2]
	}
	return &o.credentials[0]
}

// newCredential begins a credential in front of the default one.
func (o *options) newCredential() {
	n := len(o.credentials) - 1
	o.credentials = append(o.credentials[:n], credentialOptions{}, o.credentials[n])
}
