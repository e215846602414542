package app

import (
	"context"
	"crypto/tls"
	"net/http"
	"strings"

	"github.com/jackc/pgx/v5"

	"stithy/internal/platform/acme"
	"stithy/internal/platform/lifecycle"
)

// ownName is the name that the forge has a certificate for.
func (a *App) ownName() string { return strings.ToLower(a.Config.ExternalURL.Hostname()) }

// wantCertificate has the forge's own certificate ordered and renewed.
func (a *App) wantCertificate(ctx context.Context) error {
	return a.DB.InTx(ctx, func(tx pgx.Tx) error { return a.Certificates.Want(ctx, tx, a.ownName()) })
}

// tlsConfig has handshakes answered with the certificate of the forge. Who names no host is taken to mean it.
func (a *App) tlsConfig() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{acme.Protocol},
		GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			if hello.ServerName == "" {
				return a.Certificates.Certificate(hello.Context(), a.ownName())
			}
			return a.Certificates.Serve(hello.Context(), hello)
		},
	}
}

// maxRedirected is the longest address that is sent back.
const maxRedirected = 8 << 10

// redirect is what is at port 80: answers for certificate authorities, and the way to TLS for people. Whoever sends something is
// refused: it may hold a secret that was just sent in the clear, and should not be by the next program.
func (a *App) redirect() http.Handler {
	base := a.Config.ExternalURL.Scheme + "://" + a.Config.ExternalURL.Host
	return a.Certificates.Answering(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		address := base + r.URL.RequestURI()
		switch {
		case len(address) > maxRedirected:
			http.Error(w, "Request-URI Too Large", http.StatusRequestURITooLong)
		case r.Method != http.MethodGet && r.Method != http.MethodHead || !strings.HasPrefix(r.URL.Path, "/"):
			http.Error(w, "Use "+base+": nothing is taken without encryption.", http.StatusForbidden)
		default:
			w.Header().Set("Location", address)
			w.WriteHeader(http.StatusMovedPermanently)
		}
	}))
}

// secured is the web server with what it needs to speak TLS itself. The certificate is asked for when the world can see whose it is.
func (a *App) secured(server lifecycle.Component) []lifecycle.Component {
	parts := []lifecycle.Component{server}
	if a.Config.TLS.RedirectListen != "" {
		parts = append(parts, lifecycle.HTTP("redirect", a.Config.TLS.RedirectListen, a.redirect(), a.Log, a.httpOptions()).Component())
	}
	return append(parts, lifecycle.Component{Name: "certificate", Start: a.wantCertificate})
}
