package httpapi

import (
	"net/http"
	"strings"

	"stithy/internal/kit/access"
)

// secretParams carry credentials in a query. They are accepted, and cut from
// everything that is written down or handed on.
var secretParams = []string{"private_token", "access_token", "bearer_token", "job_token", "token"}

// maxSecret is longer than any token that was ever issued.
const maxSecret = 512

// presented finds the credential of a request. The first that is present
// decides; an unknown one never falls through to the next.
func (x *Request) presented() (p access.Presented, found bool) {
	p = access.Presented{
		Address: x.about.Address,
		Reading: x.R.Method == http.MethodGet || x.R.Method == http.MethodHead,
		Rotates: strings.HasSuffix(x.R.URL.Path, "/rotate"),
		Account: x.Endpoint != nil && x.Endpoint.Account,
	}
	job := x.Endpoint != nil && x.Endpoint.JobToken
	take := func(secret string, given bool, kinds ...access.Kind) bool {
		if given && !found {
			found, p.Secret, p.Kinds = true, secret, kinds
		}
		return found
	}
	header := func(name string) (string, bool) {
		value := x.R.Header.Get(name)
		return value, value != ""
	}
	param := func(name string) (string, bool) {
		node, given := x.Values[name]
		value, isText := node.(string)
		if given && !isText { // repeated or nested: present, and matches nothing
			return "", true
		}
		return value, value != ""
	}
	scheme, bearer, _ := strings.Cut(x.R.Header.Get("Authorization"), " ")
	isBearer := strings.EqualFold(scheme, "Bearer") && bearer != ""

	token, ok := param("access_token")
	if take(token, ok, access.OAuthToken) {
		return bounded(p), true
	}
	if isBearer {
		kinds := []access.Kind{access.OAuthToken}
		if len(bearer) >= 20 && len(bearer) <= 40 {
			kinds = []access.Kind{access.PersonalToken}
		}
		if job {
			kinds = append([]access.Kind{access.JobToken}, kinds...)
		}
		take(bearer, true, kinds...)
		return bounded(p), true
	}
	if token, ok = param("bearer_token"); take(token, ok, access.OAuthToken) {
		return bounded(p), true
	}
	if token, ok = param("private_token"); take(token, ok, access.PersonalToken) {
		return bounded(p), true
	}
	if token, ok = header("Private-Token"); take(token, ok, access.PersonalToken) {
		return bounded(p), true
	}
	if job {
		for _, name := range []string{"job_token", "token"} {
			if token, ok = param(name); take(token, ok, access.JobToken) {
				return bounded(p), true
			}
		}
		if token, ok = header("Job-Token"); take(token, ok, access.JobToken) {
			return bounded(p), true
		}
	}
	if cookie, err := x.R.Cookie(x.s.SessionCookie); err == nil && cookie.Value != "" {
		take(cookie.Value, true, access.Session)
		p.CSRF = x.R.Header.Get("X-Csrf-Token")
		return bounded(p), true
	}
	return p, false
}

// cookieBytes is the size of all cookies, whose parsing is dear when they are many.
func cookieBytes(r *http.Request) (n int) {
	for _, line := range r.Header["Cookie"] {
		n += len(line)
	}
	return n
}

// bounded drops what is too long to be a secret before it is hashed.
func bounded(p access.Presented) access.Presented {
	if len(p.Secret) > maxSecret || !cleanText(p.Secret) {
		p.Secret = ""
	}
	return p
}
