package web

import (
	"net/url"
	"strings"
)

// localPath reads a path that came with a request and to which a browser is
// about to be sent. It takes an absolute path of this instance and nothing that
// a browser might read as another site; anything else is the home page.
func localPath(text string) string {
	const home = "/"
	if len(text) > maxQuery || !strings.HasPrefix(text, "/") || strings.HasPrefix(text, "//") {
		return home
	}
	for _, c := range text {
		if c <= ' ' || c == '\\' || c > '~' {
			return home
		}
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || u.Opaque != "" || u.Fragment != "" ||
		strings.HasPrefix(u.Path, "//") || strings.ContainsAny(u.Path, "\\\r\n\t") {
		return home
	}
	if strings.HasPrefix(u.Path, "/users/sign_") {
		return home // it would lead in a circle
	}
	return u.RequestURI()
}
