package lifecycle_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"stithy/internal/platform/lifecycle"
)

// authority is a certificate for 127.0.0.1, and who trusts it.
func authority(t *testing.T) (server, client *tls.Config) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	form := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, form, form, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	trusted := x509.NewCertPool()
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	trusted.AddCert(leaf)
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}, &tls.Config{RootCAs: trusted, ServerName: "127.0.0.1"}
}

// speaker is a client of one version of HTTP.
func speaker(t *testing.T, trust *tls.Config, version2 bool) *http.Client {
	t.Helper()
	protocols := new(http.Protocols)
	protocols.SetHTTP1(!version2)
	protocols.SetHTTP2(version2)
	transport := &http.Transport{TLSClientConfig: trust.Clone(), Protocols: protocols}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: time.Minute}
}

func TestHTTP2AndHTTP1AreSpokenOverTLS(t *testing.T) {
	t.Parallel()
	own, trust := authority(t)
	large := strings.Repeat("0123456789abcdef", 64<<10)
	addr, stop, ended := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || string(body) != large {
			http.Error(w, fmt.Sprint(len(body), err), http.StatusBadRequest)
			return
		}
		lifecycle.Hurry(r, 1<<20)
		_, _ = io.WriteString(w, r.Proto+" "+large)
	}), lifecycle.HTTPOptions{TLS: own})
	for _, version2 := range []bool{false, true} {
		c := speaker(t, trust, version2)
		for range 3 {
			res, err := c.Post("https://"+addr, "text/plain", strings.NewReader(large))
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(res.Body)
			_ = res.Body.Close()
			want := "HTTP/1.1 " + large
			if version2 {
				want = "HTTP/2.0 " + large
			}
			if err != nil || string(body) != want {
				t.Errorf("HTTP/2 %t: %v, %d bytes, %.60s", version2, err, len(body), body)
			}
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := net.DialTimeout("tcp", addr, time.Second); err == nil {
		t.Error("the port is open after the end")
	}
}

// Whoever waits over TLS costs little as well, and comes in again over the same connection.
func TestARequestIsParkedOverTLS(t *testing.T) {
	t.Parallel()
	own, trust := authority(t)
	h := newWaiting(time.Hour)
	addr, _, _ := serve(t, h, lifecycle.HTTPOptions{TLS: own})
	c, err := tls.Dial("tcp", addr, trust)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	answers := bufio.NewReader(c)
	for n := range 3 {
		_, _ = fmt.Fprintf(c, "POST /%d HTTP/1.1\r\nHost: h\r\nX-Own: yes\r\nContent-Length: 4\r\n\r\nnote", n)
		h.parked(t)()
		res, err := http.ReadResponse(answers, nil)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		if want := fmt.Sprintf(`POST /%d h yes, left note, body ""`, n); err != nil || string(body) != want {
			t.Errorf("%v %q, not %q", err, body, want)
		}
	}
	_, _ = fmt.Fprint(c, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nnote")
	h.parked(t)
	_ = c.Close()
	select {
	case <-h.gone:
	case <-time.After(time.Minute):
		t.Error("nobody noticed that the client went")
	}
}

// A handler waits itself for what cannot be parked: HTTP/2 has no connection for each request.
func TestARequestOfHTTP2IsNotParked(t *testing.T) {
	t.Parallel()
	own, trust := authority(t)
	addr, _, _ := serve(t, newWaiting(time.Hour), lifecycle.HTTPOptions{TLS: own})
	res, err := speaker(t, trust, true).Post("https://"+addr, "text/plain", strings.NewReader("note"))
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(res.Body)
	_ = res.Body.Close()
	if !strings.Contains(string(body), errors.ErrUnsupported.Error()) {
		t.Errorf("%d %q", res.StatusCode, body)
	}
}

func TestWhoStallsOverTLSIsCut(t *testing.T) {
	t.Parallel()
	own, trust := authority(t)
	ended := make(chan error, 1)
	options := lifecycle.HTTPOptions{TLS: own, Stall: time.Second}
	addr, _, _ := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/body" {
			_, err := io.Copy(io.Discard, r.Body)
			ended <- err
			return
		}
		for {
			if _, err := w.Write(make([]byte, 64<<10)); err != nil {
				ended <- err
				return
			}
		}
	}), options)
	wait := func(t *testing.T) error {
		t.Helper()
		select {
		case err := <-ended:
			return err
		case <-time.After(time.Minute):
			t.Fatal("it is not cut")
		}
		return nil
	}
	for _, version2 := range []bool{false, true} {
		c := speaker(t, trust, version2)
		name := fmt.Sprintf("HTTP/2 %t", version2)
		t.Run("the body, "+name, func(t *testing.T) { //nolint:paralleltest // they share what the handler says
			pr, pw := io.Pipe()
			t.Cleanup(func() { _ = pw.Close() })
			go func() { _, _ = pw.Write([]byte("some")) }()
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+addr+"/body", pr)
			if err != nil {
				t.Fatal(err)
			}
			go func() {
				if res, err := c.Do(r); err == nil {
					_ = res.Body.Close()
				}
			}()
			if err := wait(t); !errors.Is(err, lifecycle.ErrSlow) {
				t.Error(err)
			}
		})
		t.Run("the answer, "+name, func(t *testing.T) { //nolint:paralleltest // they share what the handler says
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+addr+"/answer", nil)
			if err != nil {
				t.Fatal(err)
			}
			res, err := c.Do(r) // whose body nobody reads
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = res.Body.Close() }()
			if wait(t) == nil {
				t.Error("all of it was sent")
			}
		})
	}
}

func TestAHandshakeThatStallsOrIsNoneIsCut(t *testing.T) {
	t.Parallel()
	own, _ := authority(t)
	addr, _, _ := serve(t, hello(), lifecycle.HTTPOptions{TLS: own, ReadHeaderTimeout: 200 * time.Millisecond})
	for name, text := range map[string]string{"nothing": "", "plain HTTP": "GET / HTTP/1.1\r\nHost: h\r\n\r\n", "half a hello": "\x16\x03\x01\x02\x00\x01"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = c.Close() }()
			_, _ = c.Write([]byte(text))
			_ = c.SetReadDeadline(time.Now().Add(time.Minute))
			answer, err := io.ReadAll(c)
			if err != nil && !strings.Contains(err.Error(), "reset") {
				t.Error(err)
			}
			if bytes.Contains(answer, []byte("200 OK")) {
				t.Errorf("%q", answer)
			}
		})
	}
}

// A header of very many lines takes many times its length in memory, in whichever way it comes.
func TestAHeaderOfManyLinesIsRefusedOverTLS(t *testing.T) {
	t.Parallel()
	own, trust := authority(t)
	addr, _, _ := serve(t, hello(), lifecycle.HTTPOptions{TLS: own})
	for _, version2 := range []bool{false, true} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+addr, nil)
		if err != nil {
			t.Fatal(err)
		}
		for n := range 300 {
			r.Header.Add("X-Line", fmt.Sprint(n))
		}
		res, err := speaker(t, trust, version2).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("HTTP/2 %t: %d", version2, res.StatusCode)
		}
	}
}
