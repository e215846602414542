// Package apidocs shows the API to people: one page for each noun, made from
// the registry of endpoints, and the OpenAPI document beside them. It knows no
// endpoint by name and calls none. Its pages need no script.
package apidocs

import (
	"io/fs"
	"net/http"
	"strings"
	"sync"

	"stithy/internal/kit/httpapi"
	"stithy/internal/platform/httpfile"
	"stithy/web/assets"
)

// root is where the pages are; links between them are relative, so that a
// proxy may put another path in front.
const root = "/-/api"

// Handler serves the pages. They are made when the first of them is asked for,
// and panic on endpoints that cannot be described.
func Handler(endpoints []httpapi.Endpoint, info httpapi.Info) http.Handler {
	site := sync.OnceValue(func() map[string]httpfile.File { return build(endpoints, info) })
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			h.Set("Allow", "GET, HEAD")
			http.Error(w, "Method not allowed", http.StatusMethodNotAllowed)
			return
		}
		if r.URL.Path == root+"/" {
			h.Set("Location", "../api")
			w.WriteHeader(http.StatusPermanentRedirect)
			return
		}
		f, found := site()[r.URL.Path]
		if !found {
			http.Error(w, "Not found. The description of the API is at "+root+".", http.StatusNotFound)
			return
		}
		f.ServeHTTP(w, r)
	})
}

// build makes every file of the site, by path.
func build(endpoints []httpapi.Endpoint, info httpapi.Info) map[string]httpfile.File {
	document, err := httpapi.OpenAPI(info, endpoints)
	if err != nil {
		panic("apidocs: " + err.Error())
	}
	site := map[string]httpfile.File{root + "/openapi.yaml": httpfile.New("application/yaml; charset=utf-8", document)}
	var sheets []string
	for _, name := range []string{"pico.css", "apidocs.css"} {
		content, err := fs.ReadFile(assets.Files, name)
		if err != nil {
			panic("apidocs: " + err.Error())
		}
		f := httpfile.New("text/css; charset=utf-8", content).Forever()
		sheet := "assets/" + strings.TrimSuffix(name, ".css") + "." + f.Hash() + ".css"
		site[root+"/"+sheet] = f
		sheets = append(sheets, sheet)
	}
	nouns := nounsOf(endpoints, info)
	site[root] = render(page{Title: info.Title, Server: info.ServerURL, Sheets: sheets, Nouns: nouns, Base: "api/"})
	for i := range nouns {
		noun := &nouns[i]
		site[root+"/"+noun.Name] = render(page{Title: info.Title, Server: info.ServerURL, Sheets: sheets, Nouns: nouns, Noun: noun})
	}
	return site
}
