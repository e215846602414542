package outbound

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"time"
)

// Proxy lets another program out through the guard: it listens on loopback,
// and only who was told its password gets through. Every connection is
// checked, whatever name the program asks for.
type Proxy struct {
	URL *url.URL // with the password

	server *http.Server
	end    context.CancelFunc
	open   sync.WaitGroup
}

// Proxy starts a proxy. The caller closes it.
func (g *Guard) Proxy(ctx context.Context) (*Proxy, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	secret := rand.Text()
	p := &Proxy{URL: &url.URL{Scheme: "http", User: url.UserPassword("stithy", secret), Host: listener.Addr().String()}}
	want := "Basic " + base64.StdEncoding.EncodeToString([]byte("stithy:"+secret))
	plain := &httputil.ReverseProxy{
		Transport: g.Transport(),
		Rewrite:   func(r *httputil.ProxyRequest) { r.Out.Header.Del("Proxy-Authorization") },
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, refusal(err), http.StatusBadGateway)
		},
	}
	// Server.Close knows nothing of tunnels; they end with this context.
	ctx, p.end = context.WithCancel(context.WithoutCancel(ctx))
	p.server = &http.Server{
		ReadHeaderTimeout: dialTimeout, BaseContext: func(net.Listener) context.Context { return ctx },
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case subtle.ConstantTimeCompare([]byte(r.Header.Get("Proxy-Authorization")), []byte(want)) == 0:
				w.Header().Set("Proxy-Authenticate", `Basic realm="outbound"`)
				http.Error(w, "who asks?", http.StatusProxyAuthRequired)
			case r.Method == http.MethodConnect:
				g.tunnel(w, r)
			case r.URL.Scheme == "http" && r.URL.Host != "":
				plain.ServeHTTP(w, r)
			default:
				http.Error(w, errScheme.Reason, http.StatusBadRequest)
			}
		}),
	}
	p.open.Go(func() { _ = p.server.Serve(listener) })
	return p, nil
}

// Close ends the proxy and every connection through it.
func (p *Proxy) Close() {
	p.end()
	_ = p.server.Close()
	p.open.Wait()
}

// tunnel joins the program to where it wants to go.
func (g *Guard) tunnel(w http.ResponseWriter, r *http.Request) {
	there, err := g.DialContext(r.Context(), "tcp", r.URL.Host)
	if err != nil {
		http.Error(w, refusal(err), http.StatusBadGateway)
		return
	}
	defer func() { _ = there.Close() }()
	here, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer func() { _ = here.Close() }()
	stop := context.AfterFunc(r.Context(), func() {
		_ = here.SetDeadline(time.Now())
		_ = there.SetDeadline(time.Now())
	})
	defer stop()
	if _, err := io.WriteString(here, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(there, buffered)
		if half, ok := there.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite()
		}
	}()
	_, _ = io.Copy(here, there)
	_ = here.Close()
	<-done
}

// refusal is what a program, and the person behind it, may know.
func refusal(err error) string {
	if blocked, ok := err.(*BlockedError); ok { //nolint:errorlint // ours, never wrapped
		return blocked.Reason
	}
	return "The address does not answer"
}
