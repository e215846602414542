package e2e

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	bigendian "encoding/binary"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"stithy/internal/platform/postgres"
)

// securedName is the name of the forge that speaks TLS. It stands in no DNS but that of the test.
const securedName = "forge.example.test"

// authority is a certificate authority that speaks ACME.
type authority struct {
	t          *testing.T
	directory  string
	management string
	caFile     string // that its own address is trusted by
	client     *http.Client
}

// newAuthority starts Pebble, which looks for proofs of any name at two ports of this machine.
func newAuthority(t *testing.T, plain, secure string) *authority {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(root, "bin", "tools", "pebble"))
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		t.Fatalf("no pebble: run make tools: %v", err)
	}
	dir := t.TempDir()
	a := &authority{t: t, directory: freeAddress(t), management: freeAddress(t), caFile: filepath.Join(dir, "own.pem")}
	own, key := selfSigned(t)
	write := func(name string, text []byte) string {
		at := filepath.Join(dir, name)
		if err := os.WriteFile(at, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return at
	}
	write("own.pem", own)
	port := func(address string) int {
		at, err := netip.ParseAddrPort(address)
		if err != nil {
			t.Fatal(err)
		}
		return int(at.Port())
	}
	config, err := json.Marshal(map[string]any{"pebble": map[string]any{
		"listenAddress": a.directory, "managementListenAddress": a.management, "certificate": a.caFile, "privateKey": write("own.key", key),
		"httpPort": port(plain), "tlsPort": port(secure), "retryAfter": map[string]int{"authz": 1, "order": 1},
		"profiles": map[string]any{"default": map[string]any{"description": "for tests", "validityPeriod": 7776000}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	log := &capture{}
	run := exec.Command(path, "-config", write("pebble.json", config), "-dnsserver", nameServer(t))
	run.Env = append(os.Environ(), "PEBBLE_VA_NOSLEEP=1", "PEBBLE_AUTHZREUSE=0")
	run.Stdout, run.Stderr = log, log
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = run.Process.Kill()
		_ = run.Wait()
		if t.Failed() {
			t.Logf("log of the authority:\n%s", log)
		}
	})
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(own)
	a.client = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted}}}
	eventually(t, patience, "the authority answers", func() bool {
		resp, err := a.client.Get("https://" + a.directory + "/dir")
		if err == nil {
			_ = resp.Body.Close()
		}
		return err == nil
	})
	return a
}

// root is the certificate that those which it issues are trusted by.
func (a *authority) root() []byte {
	a.t.Helper()
	resp, err := a.client.Get("https://" + a.management + "/roots/0")
	if err != nil {
		a.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		a.t.Fatal(err)
	}
	return text
}

func selfSigned(t *testing.T) (certificate, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	form := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(24 * time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, form, form, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	text, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: text})
}

// nameServer is a DNS server where every name leads to this machine. It is asked over TCP.
func nameServer(t *testing.T) string {
	t.Helper()
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	go func() {
		for {
			c, err := server.Accept()
			if err != nil {
				return
			}
			go answerNames(c)
		}
	}()
	return server.Addr().String()
}

func answerNames(c net.Conn) {
	defer func() { _ = c.Close() }()
	for {
		var size [2]byte
		if _, err := io.ReadFull(c, size[:]); err != nil {
			return
		}
		question := make([]byte, bigendian.BigEndian.Uint16(size[:]))
		var m dnsmessage.Message
		if _, err := io.ReadFull(c, question); err != nil || m.Unpack(question) != nil || len(m.Questions) != 1 {
			return
		}
		m.Response, m.Additionals = true, nil
		if q := m.Questions[0]; q.Type == dnsmessage.TypeA {
			m.Answers = []dnsmessage.Resource{{
				Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class, TTL: 1},
				Body:   &dnsmessage.AResource{A: [4]byte{127, 0, 0, 1}},
			}}
		}
		answer, err := m.AppendPack([]byte{0, 0})
		if err != nil {
			return
		}
		bigendian.BigEndian.PutUint16(answer, uint16(len(answer)-2))
		if _, err := c.Write(answer); err != nil {
			return
		}
	}
}

// tunnel is a proxy through which programs that know no DNS of the test reach the forge by its name.
func tunnel(t *testing.T, to string) string {
	t.Helper()
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect {
			(&httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(&url.URL{Scheme: "http", Host: to}) }}).ServeHTTP(w, r)
			return
		}
		there, err := net.Dial("tcp", to)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		here, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			_ = there.Close()
			return
		}
		_, _ = io.WriteString(here, "HTTP/1.1 200 OK\r\n\r\n")
		go func() { _, _ = io.Copy(there, here); _ = there.Close() }()
		_, _ = io.Copy(here, there)
		_ = here.Close()
	}))
	t.Cleanup(proxy.Close)
	return proxy.URL
}

// A forge that is told to speak TLS gets its certificate from an authority, renews it, and needs no proxy: browsers, git and runners
// that wait for jobs reach it.
func TestAForgeGetsItsCertificateAndRenewsIt(t *testing.T) {
	t.Parallel()
	secure, plain := freeAddress(t), freeAddress(t)
	a := newAuthority(t, plain, secure)
	_, port, err := net.SplitHostPort(secure)
	if err != nil {
		t.Fatal(err)
	}
	address := "https://" + net.JoinHostPort(securedName, port)
	f := install(t, "STITHY_LISTEN="+secure, "STITHY_REDIRECT_LISTEN="+plain, "STITHY_EXTERNAL_URL="+address, "STITHY_TLS=auto",
		"STITHY_ACME_DIRECTORY=https://"+a.directory+"/dir", "STITHY_ACME_CA_FILE="+a.caFile, "STITHY_ACME_CONTACT=ops@example.com", "STITHY_JOB_REQUEST_HOLD=10s")
	f.url = address
	roots := a.root()
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(roots)
	protocols := new(http.Protocols)
	protocols.SetHTTP2(true)
	f.http = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: trusted}, Protocols: protocols,
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, secure)
		},
	}}
	node := f.serve()

	handshake := func(config *tls.Config) (*x509.Certificate, string, error) {
		config.RootCAs = trusted
		c, err := tls.Dial("tcp", secure, config)
		if err != nil {
			return nil, "", err
		}
		defer func() { _ = c.Close() }()
		return c.ConnectionState().PeerCertificates[0], c.ConnectionState().NegotiatedProtocol, nil
	}
	var first *x509.Certificate
	eventually(t, 2*patience, "the forge has a certificate", func() bool {
		got, spoken, err := handshake(&tls.Config{ServerName: securedName, NextProtos: []string{"h2"}})
		first = got
		return err == nil && spoken == "h2"
	})
	if _, _, err := handshake(&tls.Config{ServerName: "other.example.test"}); err == nil {
		t.Error("there is a certificate for a name that is not ours")
	}
	if _, _, err := handshake(&tls.Config{ServerName: securedName, NextProtos: []string{"acme-tls/1"}}); err == nil {
		t.Error("a name is proved that nobody asked to prove")
	}

	resp, err := f.http.Get(address + "/-/readiness")
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK || resp.ProtoMajor != 2 {
		t.Errorf("%s %s", resp.Proto, resp.Status)
	}
	for _, c := range []struct {
		method, path string
		status       int
		location     string
	}{
		{"GET", "/explore?page=2", http.StatusMovedPermanently, address + "/explore?page=2"},
		{"GET", "//other.example/x", http.StatusMovedPermanently, address + "//other.example/x"},
		{"POST", "/api/v4/projects", http.StatusForbidden, ""},
		{"GET", "/.well-known/acme-challenge/none", http.StatusNotFound, ""},
		{"GET", "/.well-known/acme-challenge/../../etc/passwd", http.StatusNotFound, ""},
	} {
		req, err := http.NewRequestWithContext(t.Context(), c.method, "http://"+plain+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := (&http.Client{CheckRedirect: f.http.CheckRedirect}).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != c.status || resp.Header.Get("Location") != c.location {
			t.Errorf("%s %s: %s, to %q", c.method, c.path, resp.Status, resp.Header.Get("Location"))
		}
	}

	rootFile := f.file("roots.pem", string(roots))
	f.clients = []string{"https_proxy=" + tunnel(t, secure), "HTTPS_PROXY=" + tunnel(t, secure), "SSL_CERT_FILE=" + rootFile, "GIT_SSL_CAINFO=" + rootFile}
	project := f.project("tool")
	f.runner()
	dir := f.tree()
	f.commit(dir, ciFile, "hello:\n  script: ['echo over TLS']\n")
	f.mustGit(dir, nil, "push", f.remote("tool"), "HEAD:refs/heads/main")
	f.awaitPipeline(project, strings.TrimSpace(f.mustGit(dir, nil, "rev-parse", "HEAD")), "success")

	// The time for renewal comes, over the other kind of proof.
	db, err := postgres.Open(t.Context(), strings.TrimPrefix(f.env[1], "STITHY_DATABASE_URL="), 2)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(t.Context(), `update acme_certificates set due_at = now(), failures = 1`); err != nil {
		t.Fatal(err)
	}
	node.stop()
	f.serve()
	eventually(t, 2*patience, "the certificate is renewed", func() bool {
		got, _, err := handshake(&tls.Config{ServerName: securedName})
		return err == nil && got.SerialNumber.Cmp(first.SerialNumber) != 0
	})
	used, err := postgres.Values[string](t.Context(), db, `select kind from acme_challenges order by kind`)
	if err != nil || fmt.Sprint(used) != "[http-01 tls-alpn-01]" {
		t.Errorf("%v: the name was proved by %v", err, used)
	}
}
