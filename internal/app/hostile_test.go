package app

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi"
	"stithy/internal/project/projecttest"
	"stithy/internal/repository/repositorytest"
	"stithy/internal/user/usertest"
)

// hostile are values that a parameter of this kind was not made for, or only just.
func hostile(p httpapi.Param) []any {
	kind := p.Type
	if kind.Kind() == reflect.Struct && strings.HasPrefix(kind.Name(), "Opt[") {
		field, _ := kind.FieldByName("Value")
		kind = field.Type
	}
	values := []any{[]any{"a", "b"}, map[string]any{"a": map[string]any{"b": 1}}, nil}
	switch {
	case kind == reflect.TypeFor[time.Time]():
		return append(values, "0001-01-01", "9999-12-31T23:59:59Z", "10000-01-01", "0000-00-00", strings.Repeat("9", 100))
	case kind.Kind() == reflect.Int || kind.Kind() == reflect.Int64:
		return append(values, -1, 0, 1<<31, int64(1<<63-1), int64(-1<<63), "99999999999999999999", "1e99", strings.Repeat("9", 5000))
	case kind.Kind() == reflect.Bool:
		return append(values, 2, strings.Repeat("true", 1000))
	}
	return append(values, strings.Repeat("é", 5000), "a\x00b", "\xff\xfe", "\u202e\u200b", "-1", " ", "'; drop table users; --", `{"a":`, "../..", "\r\nX: y")
}

// plain is a value that the parameter was made for, another one each time.
func plain(p httpapi.Param, n int) any {
	switch {
	case len(p.Enum) > 0:
		return p.Enum[0]
	case p.Name == "email":
		return fmt.Sprintf("plain%d@example.com", n)
	}
	return fmt.Sprintf("plain%d", n)
}

// DO-09: every parameter of every endpoint is given values of every kind, by an administrator, whom nothing stops on the
// way to the database.
func TestDO09_NoValueOfAnyParameterIsAnError500(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	victim := usertest.New(t, i.DB, usertest.Named("victim"))
	g := grouptest.New(t, i.DB)
	p := projecttest.New(t, i.DB, g.ID)
	// What the rest of a path names is there as often as not: a member, a branch and a file have the number of the victim.
	grouptest.Join(t, i.DB, g, victim, access.Developer)
	name := strconv.FormatInt(victim.ID, 10)
	repo := repositorytest.New(t, i.DB, i.Store, p, repositorytest.Files{name: "hello\n"})
	repositorytest.Commit(t, repo, name, "A branch", repositorytest.Files{name: "hello again\n"})
	secret, n := i.token(t, i.root, access.ScopeAPI), 0
	reached, missed := 0, 0 // of what is about the group or the project
	call := func(e httpapi.Endpoint, path string, values map[string]any) {
		var body any = values
		if e.Method == http.MethodGet {
			query := url.Values{}
			for name, value := range values {
				switch value.(type) {
				case []any:
					query[name+"[]"] = []string{"a", "b"}
				case map[string]any:
					query.Set(name+"[a][b]", "1")
				default:
					query.Set(name, fmt.Sprint(value))
				}
			}
			body, path = nil, path+"?"+query.Encode()
		}
		send := func() *httptest.ResponseRecorder {
			n++
			return i.do(e.Method, path, body, by(e, secret))
		}
		w := send()
		if w.Code == http.StatusUnauthorized && e.Needs != access.BySecret { // the call before revoked its own token
			secret = i.token(t, i.root, access.ScopeAPI)
			w = send()
		}
		if e.InOwner() && w.Code == http.StatusNotFound {
			missed++
		} else if e.InOwner() {
			reached++
		}
		if w.Code >= 500 || (w.Code == http.StatusUnauthorized && e.Needs != access.BySecret) {
			t.Errorf("%s with %.200v: %d %s", e.Route, values, w.Code, w.Body)
		}
	}
	walk := func(e httpapi.Endpoint) {
		for _, param := range e.Params {
			if param.InPath {
				for _, text := range []string{"0", "-1", "9223372036854775807", "9223372036854775808", "%00", "%FF", "%2e%2e%2f", strings.Repeat("9", 300), strings.Repeat("%C3%A9", 300)} {
					odd := e
					odd.Path = strings.Replace(odd.Path, "{"+param.Name+"}", text, 1)
					call(e, about(odd, g, p, victim.ID), map[string]any{})
				}
				continue
			}
			for _, value := range hostile(param) {
				values := map[string]any{}
				for _, other := range e.Params {
					if other.Required && !other.InPath {
						values[other.Name] = plain(other, n)
					}
				}
				if e.Route == "POST /users" {
					values["force_random_password"] = true
				}
				values[param.Name] = value
				call(e, about(e, g, p, victim.ID), values)
			}
		}
	}
	// What removes the victim comes last, and then what may change the rules for everyone.
	var last, settings []httpapi.Endpoint
	for _, e := range i.Endpoints() {
		switch {
		case e.Route == "PUT /application/settings":
			settings = append(settings, e)
		case e.Method == http.MethodDelete || strings.HasSuffix(e.Path, "/reject") || strings.HasSuffix(e.Path, "/archive"):
			last = append(last, e)
		default:
			walk(e)
		}
	}
	for _, e := range append(last, settings...) {
		walk(e)
	}
	for line := range strings.Lines(i.log.text()) {
		if strings.Contains(line, `"level":"ERROR"`) {
			t.Errorf("%.500s", line)
		}
	}
	if n < 3000 || reached < missed {
		t.Errorf("%d requests are not all; %d reached the group or the project, %d did not", n, reached, missed)
	}
}
