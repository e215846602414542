package httpapi

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// routes with neighbours that a careless router confuses.
func routes() []Endpoint {
	var all []Endpoint
	for _, route := range []string{
		"GET /version",
		"GET /users",
		"POST /users",
		"GET /users/{id:digits}",
		"DELETE /users/{id:digits}",
		"GET /users/{id}/keys",
		"GET /users/{id}/keys/{key_id:digits}",
		"POST /users/{id:digits}/block",
		"GET /users/status/{name}",
		"GET /runners/all",
		"GET /runners/{id}",
		"GET /projects/{id}",
		"PUT /projects/{id}",
		"GET /projects/{id}/repository/files/{file_path}/raw",
		"GET /projects/{id}/repository/branches/{branch}",
	} {
		all = append(all, answer(route, route))
	}
	return all
}

func TestAPathFindsItsEndpointAndIsUnescapedOnce(t *testing.T) {
	t.Parallel()
	rt := newRouter(routes())
	type params = map[string]string
	for path, want := range map[string]struct {
		route  string
		params params
	}{
		"/version":                   {"/version", nil},
		"/users/42":                  {"/users/{id}", params{"id": "42"}},
		"/users/mia/keys":            {"/users/{id}/keys", params{"id": "mia"}},
		"/users/mia/keys/7":          {"/users/{id}/keys/{key_id}", params{"id": "mia", "key_id": "7"}},
		"/users/status/keys":         {"/users/status/{name}", params{"name": "keys"}},
		"/users/status9/keys":        {"/users/{id}/keys", params{"id": "status9"}},
		"/runners/all":               {"/runners/all", nil},
		"/runners/all9":              {"/runners/{id}", params{"id": "all9"}},
		"/projects/a%2Fb":            {"/projects/{id}", params{"id": "a/b"}},
		"/projects/a%2fb%2Fc":        {"/projects/{id}", params{"id": "a/b/c"}},
		"/projects/a%252Fb":          {"/projects/{id}", params{"id": "a%2Fb"}},
		"/projects/%25252F":          {"/projects/{id}", params{"id": "%252F"}},
		"/projects/a+b%20c":          {"/projects/{id}", params{"id": "a+b c"}},
		"/projects/..":               {"/projects/{id}", params{"id": ".."}},
		"/projects/%2e%2E":           {"/projects/{id}", params{"id": ".."}},
		"/projects/a%3Fb%23c%5Bd%5D": {"/projects/{id}", params{"id": "a?b#c[d]"}},
		"/projects/%E2%82%AC":        {"/projects/{id}", params{"id": "€"}},
		"/projects/1/repository/files/lib%2Fx%2Erb/raw":   {"/projects/{id}/repository/files/{file_path}/raw", params{"id": "1", "file_path": "lib/x.rb"}},
		"/projects/1/repository/branches/feature%2Fa%2Fb": {"/projects/{id}/repository/branches/{branch}", params{"id": "1", "branch": "feature/a/b"}},
		"/projects/a%2Fb/repository/files/%252e%252e/raw": {"/projects/{id}/repository/files/{file_path}/raw", params{"id": "a/b", "file_path": "%2e%2e"}},
	} {
		e, got := rt.match(http.MethodGet, tidy(path))
		if e == nil || e.Path != want.route {
			t.Errorf("%s: got %v, want %s", path, e, want.route)
			continue
		}
		if diff := cmp.Diff(want.params, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
}

func TestUnknownPathsAre404(t *testing.T) {
	t.Parallel()
	d := open(t, routes()...)
	for _, path := range []string{
		"", "/", "//", "/nowhere", "/users/abc", "/users/1a", "/users/-1", "/users/%31", "/users//keys", "/users/1/keys/x",
		"/projects", "/projects/", "/projects/a/b", "/projects/1/repository/files//raw",
		"/version%2F", "/%2Fversion", "/version/%2F", "/Version", "/version.json",
	} {
		wantJSON(t, d.do("GET", path), http.StatusNotFound, `{"error":"404 Not Found"}`)
	}
	wantJSON(t, d.send(httptest.NewRequest("GET", "/api/v4users", nil)), http.StatusNotFound, `{"error":"404 Not Found"}`)
}

func TestRepeatedAndTrailingSlashesCountAsOne(t *testing.T) {
	t.Parallel()
	d := open(t, routes()...)
	for path, route := range map[string]string{
		"/users/": "GET /users", "//users": "GET /users", "///users///": "GET /users", "/users//1": "GET /users/{id:digits}",
		"/users/1/keys//7/": "GET /users/{id}/keys/{key_id:digits}", "/projects//%2F/": "GET /projects/{id}", "/version/": "GET /version",
	} {
		wantJSON(t, d.do("GET", path), http.StatusOK, `"`+route+`"`)
	}
	wantStatus(t, d.do("PATCH", "/users//"), http.StatusMethodNotAllowed)
}

func TestAKnownPathWithAnotherMethodIs405(t *testing.T) {
	t.Parallel()
	d := open(t, routes()...)
	for _, c := range [][3]string{
		{"PUT", "/users", "GET, HEAD, POST, OPTIONS"},
		{"PATCH", "/version", "GET, HEAD, OPTIONS"},
		{"POST", "/users/1", "DELETE, GET, HEAD, OPTIONS"},
		{"GET", "/users/1/block", "POST, OPTIONS"},
		{"HEAD", "/users/1/block", "POST, OPTIONS"},
		{"PROPFIND", "/version", "GET, HEAD, OPTIONS"},
		{"DELETE", "/projects/a%2Fb", "GET, HEAD, PUT, OPTIONS"},
	} {
		w := d.do(c[0], c[1])
		wantJSON(t, w, http.StatusMethodNotAllowed, `{"error":"405 Not Allowed"}`)
		if got := w.Header().Get("Allow"); got != c[2] {
			t.Errorf("%s %s: got Allow %q, want %q", c[0], c[1], got, c[2])
		}
	}
	wantJSON(t, d.do("PUT", "/nowhere"), http.StatusNotFound, `{"error":"404 Not Found"}`)
}

func TestPathsSurviveTheRoundTripThroughTheServer(t *testing.T) {
	t.Parallel()
	type params struct {
		ID string `param:"id" doc:"ID"`
	}
	endpoint, got := capture[params]("GET /projects/{id}")
	d := open(t, endpoint)
	server := httptest.NewServer(d.handler)
	defer server.Close()
	for _, id := range []string{"a/b", "a%2Fb", "%", "a b+c", "€", "..", ".", "a?b=c", "a#b", `a\b`, "a;b", "a:b"} {
		r, err := http.Get(server.URL + "/api/v4/projects/" + url.PathEscape(id))
		if err != nil {
			t.Fatal(err)
		}
		_ = r.Body.Close()
		if r.StatusCode != http.StatusNoContent || got.ID != id {
			t.Errorf("%q: got %d %q", id, r.StatusCode, got.ID)
		}
	}
}

func FuzzRouter(f *testing.F) {
	for _, path := range []string{
		"/version", "/users/42", "/users/mia/keys/7", "/projects/a%2Fb", "/projects/a%252Fb", "/projects/%", "/projects/%zz", "/projects/%00",
		"/projects/1/repository/files/lib%2Fx%2Erb/raw", "/users//keys", "//", "", "users", "/users/%73tatus/keys", "/runners/%61ll", "/{id}", "/users/{id}/keys", "/*",
	} {
		f.Add("GET", path)
		f.Add("DELETE", path)
	}
	endpoints := routes()
	rt := newRouter(endpoints)
	f.Fuzz(func(t *testing.T, method, path string) {
		e, params := rt.match(method, tidy(path))
		if e == nil {
			if params != nil {
				t.Errorf("%q: parameters without an endpoint", path)
			}
			return
		}
		shown, given := strings.Split(e.Path, "/"), strings.Split(tidy(path), "/")
		if len(shown) != len(given) {
			t.Fatalf("%q has %d segments, and matched %s", path, len(given), e.Path)
		}
		again := ""
		for i := range shown {
			if i > 0 {
				again += "/"
			}
			name, isParam := strings.CutPrefix(shown[i], "{")
			if !isParam {
				if given[i] != shown[i] {
					t.Errorf("%q matched %s", path, e.Path)
				}
				again += shown[i]
				continue
			}
			name = strings.TrimSuffix(name, "}")
			once, err := url.PathUnescape(given[i])
			if err != nil || params[name] != once || once == "" {
				t.Errorf("%q: %s is %q, want %q (%v)", path, name, params[name], once, err)
			}
			again += url.PathEscape(params[name])
		}
		same, sameParams := rt.match(method, tidy(again))
		if same == nil {
			t.Fatalf("%q matched, its canonical form %q does not", path, again)
		}
		// Only a needlessly escaped literal may find another route, that of the literal.
		if same != e && !hasLiteral(same.Path, given) {
			t.Errorf("%q matched %s, its canonical form %q matched %s", path, e.Path, again, same.Path)
		}
		if same == e {
			if diff := cmp.Diff(params, sameParams); diff != "" {
				t.Errorf("%q and %q (-first +second):\n%s", path, again, diff)
			}
		}
	})
}

// hasLiteral reports whether the route spells out a segment that was escaped.
func hasLiteral(route string, given []string) bool {
	for i, segment := range strings.Split(route, "/") {
		once, _ := url.PathUnescape(given[i])
		if segment == once && segment != given[i] {
			return true
		}
	}
	return false
}
