package main

import (
	"bytes"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// nginxConf serves dir/www at a unix socket and, over TLS, at an address. It takes
// uploads as files (ngx_http_dav_module).
const nginxConf = `
daemon off;
pid %[1]s/pid;
error_log stderr;
worker_processes 1;
%[3]s
events {}
http {
	access_log off;
	client_body_temp_path %[1]s/body;
	proxy_temp_path %[1]s/proxy;
	fastcgi_temp_path %[1]s/fastcgi;
	uwsgi_temp_path %[1]s/uwsgi;
	scgi_temp_path %[1]s/scgi;
	server {
		listen unix:%[1]s/sock;
		listen %[2]s ssl;
		server_name localhost;
		ssl_certificate %[1]s/cert.pem;
		ssl_certificate_key %[1]s/key.pem;
		root %[1]s/www;
		sendfile on;
		if_modified_since before;
		client_max_body_size 0;
		location /files/ { dav_methods PUT DELETE; create_full_put_path on; }
	}
}
`

// startNginx returns where nginx listens: its socket, and HOST:PORT of TLS.
func startNginx(t *testing.T, a *authority) (socket, secure string) {
	t.Helper()
	path, err := exec.LookPath("nginx")
	if err != nil {
		t.Skip("nginx is not installed")
	}
	dir, err := os.MkdirTemp("", "") // short: it is the address of a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Mkdir(dir+"/www", 0o755); err != nil {
		t.Fatal(err)
	}
	writeFile(t, dir+"/www/index.html", []byte(page))
	writeFile(t, dir+"/www/big.bin", bytes.Repeat([]byte("0123456789abcdef"), 512<<10))
	// An address that nobody else has: its port is free.
	host := fmt.Sprintf("127.%d.%d.1", 100+os.Getpid()>>8&0x7f, os.Getpid()&0xff)
	secure = host + ":18443"
	a.write(a.issue(func(c *x509.Certificate) {
		c.IPAddresses, c.ExtKeyUsage = []net.IP{net.ParseIP(host)}, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	}), dir+"/cert.pem", dir+"/key.pem")
	user := ""
	if os.Geteuid() == 0 {
		user = "user root;" // whose folder it is
	}
	writeFile(t, dir+"/nginx.conf", fmt.Appendf(nil, nginxConf, dir, secure, user))
	c := exec.CommandContext(t.Context(), path, "-p", dir, "-c", dir+"/nginx.conf", "-e", "stderr")
	var said lockedBuffer
	c.Stdout, c.Stderr, c.WaitDelay = &said, &said, time.Second
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) } // with its workers
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Wait() })
	socket = dir + "/sock"
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		if k, err := net.Dial("unix", socket); err == nil {
			k.Close()
			return socket, secure
		}
		if time.Now().After(end) {
			t.Fatalf("nginx is not ready:\n%s", said.String())
		}
	}
}

// nginx as the application: plain at a unix socket, and over TLS with its
// certificate verified.
func TestNginxApplication(t *testing.T) {
	t.Parallel()
	a := newAuthority(t, "nginx's")
	socket, secure := startNginx(t, a)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	writeFile(t, ca, a.pem)
	for name, url := range map[string]string{"unix": "unix:" + socket, "https": "https://" + secure} {
		t.Run(name, func(t *testing.T) {
			useNginx(t, serveDev(t, "--max-body-bytes", "64m", "--proxy", url, "--proxy-ca", ca))
		})
	}
}

func useNginx(t *testing.T, in *instance) {
	t.Helper()
	big := bytes.Repeat([]byte("0123456789abcdef"), 512<<10)
	file := filepath.Join(t.TempDir(), "file")
	writeFile(t, file, big)
	for _, c := range []struct {
		path string
		want string
		args []string
	}{
		{"/", page, nil},
		{"/", "HTTP/1.1 200", []string{"-I"}},
		{"/big.bin", fmt.Sprint("200 ", len(big)), []string{"-o", "/dev/null", "-w", "%{http_code} %{size_download}"}},
		{"/big.bin", "206 100", []string{"-r", "7000000-7000099", "-o", "/dev/null", "-w", "%{http_code} %{size_download}"}},
		{"/big.bin", "multipart/byteranges", []string{"-r", "0-9,100-109", "-o", "/dev/null", "-w", "%{content_type}"}},
		{"/big.bin", "304 0", []string{"-H", "If-Modified-Since: Fri, 01 Jan 2100 00:00:00 GMT", "-w", "%{http_code} %{size_download}"}},
		{"/files/a", "201", []string{"-T", file, "-o", "/dev/null", "-w", "%{http_code}"}},
		{"/files/a", fmt.Sprint("200 ", len(big)), []string{"-o", "/dev/null", "-w", "%{http_code} %{size_download}"}},
		{"/files/b", "201", []string{"-T", file, "-H", "Transfer-Encoding: chunked", "-o", "/dev/null", "-w", "%{http_code}"}},
		{"/files/b", fmt.Sprint("200 ", len(big)), []string{"-o", "/dev/null", "-w", "%{http_code} %{size_download}"}},
		{"/files/b", "204", []string{"-X", "DELETE", "-w", "%{http_code}"}},
		{"/files/b", "404", []string{"-o", "/dev/null", "-w", "%{http_code}"}},
		{"/files/a", "204", []string{"-X", "DELETE", "-w", "%{http_code}"}},
		{"/index.html", "405", []string{"-T", file, "-o", "/dev/null", "-w", "%{http_code}"}},
	} {
		out, err := in.curl(t, c.path, c.args...)
		if err != nil || !strings.Contains(out, c.want) {
			t.Errorf("curl %q %s: %.300q, %v; want %q", c.args, c.path, out, err, c.want)
		}
	}
}
