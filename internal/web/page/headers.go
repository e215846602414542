package page

import (
	"io/fs"
	"net/http"
	"strings"

	"stithy/internal/platform/httpfile"
	"stithy/web/assets"
)

// policy is what a page allows beyond what all pages do. The zero policy runs no script and sends forms to this
// instance only.
type policy struct {
	formTo string // one more origin that a form, or the redirect after it, may lead to
	script bool   // scripts of this instance run
	file   bool   // it is what somebody gave us, and nothing in it acts
}

// FormsLeadTo lets a form of the page, or the redirect after it, lead to one more origin.
func (x *Request) FormsLeadTo(origin string) { x.policy.formTo = origin }

// Headers sets what every answer carries, and that nobody keeps it.
func (x *Request) Headers() {
	x.policy.write(x.W.Header(), x.Secure)
	x.W.Header().Set("Cache-Control", "no-store")
}

// FileHeaders sets what answers that may be kept carry.
func (k *Kit) FileHeaders(h http.Header) { policy{}.write(h, k.Secure) }

func (p policy) write(h http.Header, secure bool) {
	csp := "default-src 'none'; style-src 'self'; img-src 'self' data:; base-uri 'none'; frame-ancestors 'none'; form-action 'self'"
	if p.formTo != "" {
		csp += " " + p.formTo
	}
	if p.script {
		csp += "; script-src 'self'; connect-src 'self'"
	}
	if p.file {
		csp += "; sandbox"
	}
	h.Set("Content-Security-Policy", csp)
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	// With no-referrer, browsers would hide the origin of our own forms, too.
	h.Set("Referrer-Policy", "same-origin")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=()")
	if secure {
		h.Set("Strict-Transport-Security", "max-age=31536000")
	}
}

// Script is a script of ours that a page may run.
type Script string

// The scripts.
const (
	SecurityKeyScript Script = "security_key" // talks to security keys
	LiveScript        Script = "live"         // keeps a part of the page fresh
	LogScript         Script = "job_log"      // follows a log
	BoardScript       Script = "board"        // moves cards
)

// assetFiles are style sheets and scripts; each name holds the hash of its content, so that browsers ask for it once.
type assetFiles struct {
	files   map[string]http.Handler
	sheet   string
	scripts map[Script]string
}

func newAssets() assetFiles {
	all := assetFiles{files: map[string]http.Handler{}, scripts: map[Script]string{}}
	hashed := func(name, kind, media string) string {
		file := httpfile.New(media, asset(name+"."+kind)).Forever()
		path := "/assets/" + strings.Join([]string{name, file.Hash(), kind}, ".")
		all.files[path] = file
		return path
	}
	all.files["/favicon.ico"] = httpfile.New("image/png", asset("favicon.png"))
	all.files["/robots.txt"] = httpfile.New("text/plain; charset=utf-8", asset("robots.txt"))
	all.sheet = hashed("stithy", "css", "text/css; charset=utf-8")
	for _, s := range []Script{SecurityKeyScript, LiveScript, LogScript, BoardScript} {
		all.scripts[s] = hashed(string(s), "js", "text/javascript; charset=utf-8")
	}
	return all
}

func asset(name string) []byte {
	content, err := fs.ReadFile(assets.Files, name)
	if err != nil {
		panic("web: " + err.Error())
	}
	return content
}
