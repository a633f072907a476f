package proxy

import (
	"errors"
	"strings"
	"testing"
)

func TestParseTarget(t *testing.T) {
	for in, want := range map[string]Target{
		"http://a.example":                {Host: "a.example", Port: 80, Weight: 1},
		"http://A.Example/":               {Host: "a.example", Port: 80, Weight: 1},
		"https://a.example":               {TLS: true, Host: "a.example", Port: 443, Weight: 1},
		"http://a.example:8080/base/":     {Host: "a.example", Port: 8080, Base: "/base", Weight: 1},
		"http://a.example/b%20c/d":        {Host: "a.example", Port: 80, Base: "/b%20c/d", Weight: 1},
		"http://192.0.2.1:1":              {Host: "192.0.2.1", Port: 1, Weight: 1},
		"https://[2001:db8::1]:8443":      {TLS: true, Host: "2001:db8::1", Port: 8443, Weight: 1},
		"http://[2001:db8::1]":            {Host: "2001:db8::1", Port: 80, Weight: 1},
		"http://my_app:65535#weight=1000": {Host: "my_app", Port: 65535, Weight: 1000},
		"unix:/run/app.sock":              {Unix: "/run/app.sock", Weight: 1},
		"unix:///run/app.sock":            {Unix: "/run/app.sock", Weight: 1},
		"unix:/run/app.sock:/base/":       {Unix: "/run/app.sock", Base: "/base", Weight: 1},
		"unix:@abstract#weight=3":         {Unix: "@abstract", Weight: 3},

		"http://a.example#proxy-protocol=v1":          {Host: "a.example", Port: 80, Weight: 1, ProxyProtocol: 1},
		"unix:/a#proxy-protocol=v2,weight=2":          {Unix: "/a", Weight: 2, ProxyProtocol: 2},
		"https://192.0.2.1#insecure":                  {TLS: true, Host: "192.0.2.1", Port: 443, Weight: 1, Insecure: true},
		"https://192.0.2.1/b#server-name=App.Example": {TLS: true, Host: "192.0.2.1", Port: 443, Base: "/b", Weight: 1, ServerName: "app.example"},
	} {
		got, err := ParseTarget(in)
		if got != want || err != nil {
			t.Errorf("%s: %+v, %v, want %+v", in, got, err, want)
			continue
		}
		if again, err := ParseTarget(got.String()); again != got || err != nil {
			t.Errorf("%s: written as %s, read as %+v, %v", in, got.String(), again, err)
		}
	}
}

func TestParseTargetRefuses(t *testing.T) {
	for in, want := range map[string]error{
		"":                                   ErrTargetScheme,
		"a.example":                          ErrTargetScheme,
		"ftp://a.example":                    ErrTargetScheme,
		"http:a.example":                     ErrTargetScheme,
		"http://":                            ErrTargetHost,
		"http:///x":                          ErrTargetHost,
		"http://:80":                         ErrTargetHost,
		"http://a..example":                  ErrTargetHost,
		"http://.example":                    ErrTargetHost,
		"http://ä.example":                   ErrTargetHost,
		"http://" + strings.Repeat("a", 254): ErrTargetHost,
		"http://[fe80::1%25eth0]":            ErrTargetHost,
		"http://a.example:0":                 ErrTargetPort,
		"http://a.example:":                  ErrTargetPort,
		"http://a.example:65536":             ErrTargetPort,
		"http://u:p@a.example":               ErrTargetUser,
		"http://a.example?x":                 ErrTargetBase,
		"http://a.example/?":                 ErrTargetBase,
		"http://a.example#x":                 ErrTargetOption,
		"http://a.example#":                  ErrTargetOption,
		"http://a.example#weight=1,":         ErrTargetOption,
		"https://a.example#insecure=no":      ErrTargetOption,
		"http://a.example#weight":            ErrTargetOption,
		"http://a.example#proxy-protocol=v3": ErrTargetVersion,
		"https://a.example#server-name=":     ErrTargetName,
		"https://a.example#server-name=a b":  ErrTargetName,
		"http://a.example#server-name=b":     ErrTargetPlain,
		"unix:/a#insecure":                   ErrTargetPlain,
		"http://a.example#weight=0":          ErrTargetWeight,
		"http://a.example#weight=1001":       ErrTargetWeight,
		"http://a.example#weight=":           ErrTargetWeight,
		"unix:":                              ErrTargetUnix,
		"unix:/":                             ErrTargetUnix,
		"unix:run/app.sock":                  ErrTargetUnix,
		"unix:/a\x00b":                       ErrTargetUnix,
		"unix:/" + strings.Repeat("a", 107):  ErrTargetUnix,
		"127.0.0.1:9000":                     ErrTargetScheme,
		"localhost:9000":                     ErrTargetScheme,
		"api=http://a.example":               ErrTargetScheme,
		"http://a.example/b/../c":            ErrTargetBase,
		"http://a.example/%2e%2E":            ErrTargetBase,
		"unix:/a:/./b":                       ErrTargetBase,
		"unix:/run/app.sock:base":            ErrTargetBase,
		"unix:/run/app.sock:/a b":            ErrTargetBase,
		"unix:/run/app.sock:/base?q":         ErrTargetBase,
	} {
		if got, err := ParseTarget(in); !errors.Is(err, want) || !strings.Contains(err.Error(), "upstream") {
			t.Errorf("%q: %+v, %v, want %v", in, got, err, want)
		}
	}
	for _, in := range []string{"http://a b", "http://a.example:port", "http://[::1", "http://a\nb"} {
		if got, err := ParseTarget(in); err == nil {
			t.Errorf("%q: %+v", in, got)
		}
	}
}

func TestAuthority(t *testing.T) {
	for in, want := range map[string]string{
		"http://a.example": "a.example", "http://a.example:443": "a.example:443", "https://a.example:443": "a.example",
		"http://[2001:db8::1]": "[2001:db8::1]", "https://[2001:db8::1]:80": "[2001:db8::1]:80", "unix:/run/a": "localhost",
	} {
		target, err := ParseTarget(in)
		if got := target.Authority(); got != want || err != nil {
			t.Errorf("%s: %s, %v, want %s", in, got, err, want)
		}
	}
}

// FuzzParseTarget: what is accepted can be written and read again, and its base
// can stand in a request line.
func FuzzParseTarget(f *testing.F) {
	for _, s := range []string{"http://a.example:80/b?c#weight=2", "https://[::1]:1/%20/", "unix:/run/a:/b", "unix:@x#weight=9", "https://a#insecure,server-name=b,proxy-protocol=v1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		target, err := ParseTarget(in)
		if err != nil {
			return
		}
		if again, err := ParseTarget(target.String()); again != target || err != nil {
			t.Fatalf("%q: %+v, written as %q, read as %+v, %v", in, target, target.String(), again, err)
		}
		if strings.ContainsAny(target.Base, " \r\n?#\x00") || target.Base != "" && target.Base[0] != '/' {
			t.Fatalf("%q: base %q", in, target.Base)
		}
	})
}

func TestRoutes(t *testing.T) {
	routes, err := ParseRoutes([]string{
		"http://rest", "/api=http://a", "/api/=http://b#weight=2", "/api/v2/x=http://c", "/=unix:/run/d", "/static/=http://e/a=b"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range routes {
		for _, target := range r.Targets {
			got = append(got, r.Path+" "+target.String())
		}
	}
	want := "/api/v2/x http://c,/static http://e/a=b,/api http://a,/api http://b#weight=2,/ http://rest,/ unix:/run/d"
	if s := strings.Join(got, ","); s != want {
		t.Errorf("got %s\nwant %s", s, want)
	}
	for path, want := range map[string]string{
		"/": "/", "/x": "/", "*": "", "": "", "/api": "/api", "/api/": "/api", "/api/v2": "/api", "/apiary": "/",
		"/api/v2/x": "/api/v2/x", "/api/v2/x/y": "/api/v2/x", "/api/v2/xy": "/api", "/static": "/static", "/API": "/",
	} {
		found := ""
		if i := routes.Match([]byte(path)); i >= 0 {
			found = routes[i].Path
		}
		if found != want {
			t.Errorf("%q goes to %q, want %q", path, found, want)
		}
	}
	if i := (Routes{{Path: "/api"}}).Match([]byte("/")); i != -1 {
		t.Errorf("no route gives %d", i)
	}
}

func TestRoutesRefuse(t *testing.T) {
	for _, value := range []string{"/api", "/api?x=http://a", "/api#=http://a", "/api=a", "api=http://a", "",
		"/a%20b=http://a", "/a//b=http://a", "/a/../b=http://a", "/a/.=http://a", "/./=http://a", "//x=http://a"} {
		if routes, err := ParseRoutes([]string{value}); err == nil {
			t.Errorf("%q: %+v", value, routes)
		}
	}
	many := make([]string, TargetsMax+1)
	for i := range many {
		many[i] = "http://a"
	}
	if _, err := ParseRoutes(many[1:]); err != nil {
		t.Error(err)
	}
	if _, err := ParseRoutes(many); err == nil {
		t.Errorf("%d targets in a route", len(many))
	}
}
