package pages

import (
	"net/http"
	"net/url"
	"strings"
)

// applicationPages are those of OAuth applications: two that were registered, one of which acts for ada.
func (f *forge) applicationPages() []page {
	f.t.Helper()
	const own, callback = "/-/user_settings/applications", "https://app.example/callback"
	made := f.api("POST", "/applications", map[string]any{"name": "Time sheets", "redirect_uri": callback, "scopes": "read_user api openid"}, "")
	uid, _ := made["application_id"].(string)
	secret, _ := made["secret"].(string)
	b := f.browser().signIn("ada")
	b.read(b.PostForm(f.url+"/oauth/token", url.Values{
		"grant_type": {"password"}, "username": {"ada"}, "password": {password}, "client_id": {uid}, "client_secret": {secret}, "scope": {"read_user"},
	}))
	b.post(own+"/new", own, url.Values{
		"name": {"A program with a rather long name"}, "redirect_uri": {callback + "\n" + callback + "/" + strings.Repeat("long/", 30)}, "confidential": {"1"}, "scopes": {"api", "openid"},
	})
	ask := url.Values{"client_id": {uid}, "redirect_uri": {callback}, "response_type": {"code"}, "scope": {"read_user api openid"}, "state": {"s"}}
	consent := "/oauth/authorize?" + ask.Encode()
	ask.Set("redirect_uri", "https://evil.example/")
	return []page{
		{Name: "consent", Path: consent, As: "ada", Small: true},
		{Name: "consent-administrator", Path: consent, As: "root"},
		{Name: "consent-refused", Path: "/oauth/authorize?" + ask.Encode(), As: "ada"},
		{Name: "applications", Path: own, As: "ada", Small: true},
		{Name: "applications-empty", Path: own, As: "person"},
		{Name: "application-new", Path: own + "/new", As: "ada"},
		{Name: "application", Path: own + "/2", As: "ada"},
		{Name: "application-edit", Path: own + "/2/edit", As: "ada"},
		{Name: "applications-instance", Path: "/admin/applications", As: "root"},
		{Name: "application-hidden", Path: own + "/2", As: "person", Status: http.StatusNotFound},
	}
}
