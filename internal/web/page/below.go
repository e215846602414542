package page

import (
	"net/http"
	"net/url"
	"strings"
)

// Below is a request as the routes of pages about one thing know it: the path of the thing, which stands before "/-/", travels as a path value of
// that name, and the path begins behind it. It is nil when the rest cannot be read. deep says that there is a rest.
func Below(r *http.Request, name, thing, rest string, deep bool) *http.Request {
	u := *r.URL
	if u.RawPath = "/"; deep {
		u.RawPath = "/-/" + rest
	}
	var err error
	if u.Path, err = url.PathUnescape(u.RawPath); err != nil {
		return nil
	}
	short := r.WithContext(r.Context())
	short.URL = &u
	short.SetPathValue(name, thing)
	return short
}

// Whole takes back what Below cut off.
func Whole(r *http.Request, thing string) *http.Request {
	u := *r.URL
	u.Path, u.RawPath = strings.TrimSuffix(thing+u.Path, "/"), strings.TrimSuffix(thing+u.RawPath, "/")
	r.URL = &u
	return r
}
