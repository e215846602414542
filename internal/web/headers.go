package web

import (
	"io/fs"
	"net/http"
	"strings"

	"stithy/internal/platform/httpfile"
	"stithy/web/assets"
)

// policy is what a page allows beyond what all pages do. The zero policy runs
// no script and sends forms to this instance only.
type policy struct {
	formTo string // one more origin that a form, or the redirect after it, may lead to
	script bool   // scripts of this instance run
}

// write sets the headers that every answer of this door carries.
func (p policy) write(h http.Header, secure bool) {
	csp := "default-src 'none'; style-src 'self'; img-src 'self' data:; base-uri 'none'; frame-ancestors 'none'; form-action 'self'"
	if p.formTo != "" {
		csp += " " + p.formTo
	}
	if p.script {
		csp += "; script-src 'self'; connect-src 'self'"
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

// assetFiles are style sheets and scripts by path; each name holds the hash of
// its content, so that browsers ask for it once.
func assetFiles() (files map[string]http.Handler, sheet, keyScript, liveScript, logScript string) {
	files = map[string]http.Handler{}
	add := func(name, kind, media string) string {
		content, err := fs.ReadFile(assets.Files, name+"."+kind)
		if err != nil {
			panic("web: " + err.Error())
		}
		file := httpfile.New(media, content).Forever()
		path := "/assets/" + strings.Join([]string{name, file.Hash(), kind}, ".")
		files[path] = file
		return path
	}
	for path, file := range map[string][2]string{"/favicon.ico": {"favicon.png", "image/png"}, "/robots.txt": {"robots.txt", "text/plain; charset=utf-8"}} {
		content, err := fs.ReadFile(assets.Files, file[0])
		if err != nil {
			panic("web: " + err.Error())
		}
		files[path] = httpfile.New(file[1], content)
	}
	const script = "text/javascript; charset=utf-8"
	return files, add("stithy", "css", "text/css; charset=utf-8"), add("security_key", "js", script), add("live", "js", script), add("job_log", "js", script)
}
