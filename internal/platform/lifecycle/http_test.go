package lifecycle_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"stithy/internal/platform/lifecycle"
)

// serve runs a server until stop is called or the test ends; ended delivers what Run said.
func serve(t *testing.T, handler http.Handler, options lifecycle.HTTPOptions) (addr string, stop func(), ended <-chan error) {
	t.Helper()
	server := lifecycle.HTTP("web", "127.0.0.1:0", handler, quiet(), options)
	ctx, cancel := context.WithCancel(t.Context())
	ready := make(chan struct{})
	result := make(chan error, 1)
	go func() {
		result <- lifecycle.Run(ctx, quiet(), 10*time.Second, server.Component(),
			lifecycle.Component{Name: "ready", Start: func(context.Context) error { close(ready); return nil }})
	}()
	t.Cleanup(cancel)
	select {
	case <-ready:
	case err := <-result:
		t.Fatal(err)
	}
	return server.Addr().String(), cancel, result
}

// client uses each connection once.
func client() *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}
}

func hello() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, "hello")
	})
}

func TestARequestInFlightFinishesWhileNewOnesAreRefused(t *testing.T) {
	t.Parallel()
	arrived, goOn := make(chan struct{}), make(chan struct{})
	addr, stop, ended := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(arrived)
		<-goOn
		_, _ = fmt.Fprint(w, "finished, ", r.Context().Err())
	}), lifecycle.HTTPOptions{})
	type answer struct {
		body []byte
		err  error
	}
	answered := make(chan answer, 1)
	go func() {
		response, err := client().Get("http://" + addr)
		if err != nil {
			answered <- answer{err: err}
			return
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		answered <- answer{body, err}
	}()
	<-arrived
	stop()
	// Until the listener is closed a connection is accepted, or reset if it was waiting to be.
	for deadline := time.Now().Add(10 * time.Second); ; {
		connection, err := net.Dial("tcp", addr)
		if errors.Is(err, syscall.ECONNREFUSED) {
			break
		}
		if err == nil {
			connection.Close()
		}
		if time.Now().After(deadline) {
			t.Fatal("a stopping server goes on accepting connections")
		}
	}
	select {
	case err := <-ended:
		t.Errorf("the server ended before the request did: %v", err)
	default:
	}
	close(goOn)
	if got := <-answered; got.err != nil || string(got.body) != "finished, <nil>" {
		t.Errorf("got %q, %v", got.body, got.err)
	}
	if err := <-ended; err != nil {
		t.Errorf("Run: %v", err)
	}
}

func TestARequestThatOutlastsTheGracePeriodIsCut(t *testing.T) {
	t.Parallel()
	arrived := make(chan struct{})
	server := lifecycle.HTTP("web", "127.0.0.1:0", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(arrived)
		<-r.Context().Done()
	}), quiet(), lifecycle.HTTPOptions{})
	ctx, cancel := context.WithCancel(t.Context())
	ask := lifecycle.Component{Name: "ask", Start: func(context.Context) error {
		connection, err := net.Dial("tcp", server.Addr().String())
		if err != nil {
			return err
		}
		t.Cleanup(func() { connection.Close() })
		_, err = io.WriteString(connection, "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
		<-arrived
		cancel()
		return err
	}}
	err := lifecycle.Run(ctx, quiet(), 50*time.Millisecond, server.Component(), ask)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "cut off") {
		t.Errorf("got %v", err)
	}
}

func TestAPortInUseIsReported(t *testing.T) {
	t.Parallel()
	addr, _, _ := serve(t, hello(), lifecycle.HTTPOptions{})
	second := lifecycle.HTTP("second", addr, hello(), quiet(), lifecycle.HTTPOptions{})
	err := lifecycle.Run(t.Context(), quiet(), time.Second, second.Component())
	if !errors.Is(err, syscall.EADDRINUSE) || !strings.HasPrefix(err.Error(), "starting second: ") {
		t.Errorf("got %v", err)
	}
}

func TestAnOverlongQueryReachesTheHandler(t *testing.T) {
	t.Parallel()
	addr, _, _ := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.URL.RawQuery) > 16<<10 {
			w.WriteHeader(http.StatusRequestURITooLong)
		}
	}), lifecycle.HTTPOptions{})
	for size, want := range map[int]int{1 << 10: http.StatusOK, 256 << 10: http.StatusRequestURITooLong, 512 << 10: http.StatusRequestHeaderFieldsTooLarge} {
		response, err := client().Get("http://" + addr + "/?q=" + strings.Repeat("a", size))
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != want {
			t.Errorf("a query of %d bytes gives %d, want %d", size, response.StatusCode, want)
		}
	}
}

func TestAHeaderThatNeverEndsIsCutOff(t *testing.T) {
	t.Parallel()
	addr, _, _ := serve(t, hello(), lifecycle.HTTPOptions{ReadHeaderTimeout: 50 * time.Millisecond})
	connection, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	if _, err := io.WriteString(connection, "GET / HTTP/1.1\r\nHost: h\r\nX-Slow: "); err != nil {
		t.Fatal(err)
	}
	if err := connection.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if answer, err := io.ReadAll(connection); err != nil || strings.Contains(string(answer), "hello") {
		t.Errorf("got %q, %v; want the end of the connection", answer, err)
	}
}

func TestDO08_SlowClientsDoNotBlockAGoodOne(t *testing.T) {
	t.Parallel()
	addr, _, _ := serve(t, hello(), lifecycle.HTTPOptions{})
	beginnings := []string{
		"", // says nothing
		"GET / HTTP/1.1\r\nHost: h\r\nX-Slow: ",
		"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\nx",
		"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nffff\r\nx",
	}
	for i := range 500 {
		connection, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer connection.Close()
		if _, err := io.WriteString(connection, beginnings[i%len(beginnings)]); err != nil {
			t.Fatal(err)
		}
	}
	good := client()
	good.Timeout = 5 * time.Second
	for range 50 {
		response, err := good.Get("http://" + addr)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil || string(body) != "hello" {
			t.Fatalf("got %q, %v", body, err)
		}
	}
}
