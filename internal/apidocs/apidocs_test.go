package apidocs_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"stithy/internal/apidocs"
	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi"
)

type thing struct {
	ID    int64 `json:"id"`
	Owner *struct {
		Name string `json:"name"`
	} `json:"owner"`
}

type listParams struct {
	httpapi.Paging
	Sort string `param:"sort" enum:"asc,desc" default:"desc" doc:"Direction"`
}

type createParams struct {
	Name      string        `param:"name" required:"true" doc:"Name of the <b>thing</b>"`
	Count     int           `param:"count" required:"true" doc:"How many"`
	Tags      []string      `param:"tags" required:"true" doc:"Tags"`
	Picture   *httpapi.File `param:"picture" required:"true" doc:"Picture"`
	Variables []struct {
		Key string `param:"key" required:"true" doc:"Key"`
	} `param:"variables" doc:"Variables"`
}

type ref struct {
	ID int64 `param:"thing_id" doc:"ID of the thing"`
}

func declare[P, R any](spec httpapi.Spec) httpapi.Endpoint {
	return httpapi.Do(spec, func(context.Context, httpapi.Call[httpapi.None, P]) (reply R, err error) { return reply, err })
}

func endpoints() []httpapi.Endpoint {
	return []httpapi.Endpoint{
		declare[ref, httpapi.NoContent](httpapi.Spec{Route: "DELETE /things/{thing_id}", Summary: "Delete a thing.", Needs: access.Administer, Limit: "things_delete"}),
		declare[listParams, httpapi.List[thing]](httpapi.Spec{Route: "GET /things", Summary: "List things.", Needs: access.Anyone, Note: "Deprecated: use <another>."}),
		declare[createParams, thing](httpapi.Spec{Route: "POST /things", Summary: "Create a thing.", Needs: access.SignIn, Status: http.StatusCreated}),
		declare[struct{}, thing](httpapi.Spec{Route: "GET /job_runs", Summary: "Show a <script>alert(1)</script>.", Needs: access.SignIn, AnyScope: true, JobToken: true}),
	}
}

var info = httpapi.Info{Title: "Test API", Version: "4", ServerURL: "https://forge.example/api/v4"}

func get(h http.Handler, path string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestAPageShowsAllThatIsDeclared(t *testing.T) {
	t.Parallel()
	page := get(apidocs.Handler(endpoints(), info), "/-/api/things")
	if page.Code != http.StatusOK || page.Header().Get("Content-Type") != "text/html; charset=utf-8" {
		t.Fatalf("got %d %s", page.Code, page.Header().Get("Content-Type"))
	}
	text := regexp.MustCompile(`<[^>]*>`).ReplaceAllString(page.Body.String(), "")
	for _, want := range []string{
		"GET /things", "List things.", "Deprecated: use &lt;another&gt;.", "Anyone public", "api or read_api",
		"One of asc, desc.", "desc by default.", "200 OK, a page of a list", "owner.name", "object or null",
		"POST /things", "Anyone signed in sign_in", "name required", "Name of the &lt;b&gt;thing&lt;/b&gt;", "variables[][key] required", "201 Created",
		"DELETE /things/{thing_id}", "Administrators administer", "Rate limitthings_delete", "204 No Content",
		"curl &#34;https://forge.example/api/v4/things&#34;",
		"curl --request DELETE \\\n  --header &#34;PRIVATE-TOKEN: $TOKEN&#34; \\\n  &#34;https://forge.example/api/v4/things/1&#34;",
		"--data-urlencode &#34;name=&lt;name&gt;&#34; \\\n  --data-urlencode &#34;count=1&#34; \\\n  --data-urlencode &#34;tags[]=&lt;tags&gt;&#34; \\\n  --form &#34;picture=@&lt;file&gt;&#34;",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, optional := range []string{"sort", "page"} {
		if strings.Contains(text, optional+" required") {
			t.Errorf("%s is said to be required", optional)
		}
	}
	order := []string{"getThings", "postThings", "deleteThingsByThingId"}
	for i := 1; i < len(order); i++ {
		if strings.Index(page.Body.String(), order[i-1]) > strings.Index(page.Body.String(), order[i]) {
			t.Errorf("%s stands after %s", order[i-1], order[i])
		}
	}
	other := get(apidocs.Handler(endpoints(), info), "/-/api/job_runs").Body.String()
	if !strings.Contains(other, "Job runs") || !strings.Contains(other, "<dd>any</dd>") || !strings.Contains(other, "will do") {
		t.Error("the page of job runs lacks its title, its scope or its job token")
	}
}

func TestWB01_WhatIsDeclaredIsTextAndNoMarkup(t *testing.T) {
	t.Parallel()
	h := apidocs.Handler(endpoints(), info)
	for _, path := range []string{"/-/api", "/-/api/things", "/-/api/job_runs"} {
		page := get(h, path).Body.String()
		for _, bad := range []string{"<script", "<b>thing", "<another>", " style=", " onclick="} {
			if strings.Contains(page, bad) {
				t.Errorf("%s holds %s", path, bad)
			}
		}
	}
}

var href = regexp.MustCompile(`href="([^"]*)"`)

func TestEveryLinkLeadsSomewhere(t *testing.T) {
	t.Parallel()
	h := apidocs.Handler(endpoints(), info)
	for _, path := range []string{"/-/api", "/-/api/things", "/-/api/job_runs"} {
		here, _ := url.Parse(path)
		for _, match := range href.FindAllStringSubmatch(get(h, path).Body.String(), -1) {
			link, err := here.Parse(match[1])
			if err != nil {
				t.Fatal(err)
			}
			target := get(h, link.Path)
			if target.Code != http.StatusOK {
				t.Errorf("%s: %s leads to %d", path, match[1], target.Code)
			}
			if link.Fragment != "" && !strings.Contains(target.Body.String(), `id="`+link.Fragment+`"`) {
				t.Errorf("%s: nothing in %s is called %s", path, link.Path, link.Fragment)
			}
		}
	}
}

func TestTheOpenAPIDocumentIsServed(t *testing.T) {
	t.Parallel()
	want, err := httpapi.OpenAPI(info, endpoints())
	if err != nil {
		t.Fatal(err)
	}
	w := get(apidocs.Handler(endpoints(), info), "/-/api/openapi.yaml")
	if !bytes.Equal(w.Body.Bytes(), want) || w.Header().Get("Content-Type") != "application/yaml; charset=utf-8" {
		t.Errorf("got %d bytes of %s, want %d", w.Body.Len(), w.Header().Get("Content-Type"), len(want))
	}
}

func TestWB03_EveryAnswerCarriesAStrictPolicy(t *testing.T) {
	t.Parallel()
	h := apidocs.Handler(endpoints(), info)
	for _, path := range []string{"/-/api", "/-/api/things", "/-/api/openapi.yaml", "/-/api/nothing", "/-/api/"} {
		for name, want := range map[string]string{
			"Content-Security-Policy":      "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
			"X-Content-Type-Options":       "nosniff",
			"X-Frame-Options":              "DENY",
			"Referrer-Policy":              "no-referrer",
			"Cross-Origin-Opener-Policy":   "same-origin",
			"Cross-Origin-Resource-Policy": "same-origin",
		} {
			if got := get(h, path).Header().Get(name); got != want {
				t.Errorf("%s: got %s %q", path, name, got)
			}
		}
	}
}

func TestPagesAreCheckedAgainAndStyleSheetsKept(t *testing.T) {
	t.Parallel()
	h := apidocs.Handler(endpoints(), info)
	page := get(h, "/-/api")
	if got := page.Header().Get("Cache-Control"); got != "no-cache" {
		t.Errorf("got %q for a page", got)
	}
	if again := get(h, "/-/api", "If-None-Match", page.Header().Get("Etag")); again.Code != http.StatusNotModified || again.Body.Len() > 0 {
		t.Errorf("got %d with %d bytes for an unchanged page", again.Code, again.Body.Len())
	}
	sheets := regexp.MustCompile(`href="api/(assets/[a-z]+\.[0-9a-f]{16}\.css)"`).FindAllStringSubmatch(page.Body.String(), -1)
	if len(sheets) != 2 {
		t.Fatalf("got style sheets %v", sheets)
	}
	for _, sheet := range sheets {
		w := get(h, "/-/api/"+sheet[1])
		if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "text/css; charset=utf-8" ||
			w.Header().Get("Cache-Control") != "public, max-age=31536000, immutable" {
			t.Errorf("%s: got %d %v", sheet[1], w.Code, w.Header())
		}
		if strings.Contains(w.Body.String(), "@import") {
			t.Errorf("%s loads more", sheet[1])
		}
	}
}

func TestAnswersAreCompressedForThoseWhoTakeIt(t *testing.T) {
	t.Parallel()
	h := apidocs.Handler(endpoints(), info)
	plain := get(h, "/-/api/things")
	for accepted, want := range map[string]string{
		"": "", "br": "", "gzip;q=0": "", "gzip; q=0.0": "", "gzip": "gzip", "br, gzip": "gzip", "gzip;q=0.5, *": "gzip", "deflate , gzip ; q=1": "gzip",
	} {
		w := get(h, "/-/api/things", "Accept-Encoding", accepted)
		if got := w.Header().Get("Content-Encoding"); got != want || w.Header().Get("Vary") != "Accept-Encoding" {
			t.Errorf("%q: got %q, Vary %q", accepted, got, w.Header().Get("Vary"))
		}
		if want == "" {
			continue
		}
		z, err := gzip.NewReader(w.Body)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(z); err != nil || !bytes.Equal(text, plain.Body.Bytes()) {
			t.Errorf("%q: the compressed page differs: %v", accepted, err)
		}
		if w.Header().Get("Etag") == plain.Header().Get("Etag") {
			t.Error("two encodings share a tag")
		}
	}
}

func TestOtherPathsAndMethodsAreRefused(t *testing.T) {
	t.Parallel()
	h := apidocs.Handler(endpoints(), info)
	for _, path := range []string{"/-/api/nothing", "/-/api/things/", "/-/api/assets/", "/-/api/assets/pico.css", "/-/api/../secret"} {
		if got := get(h, path).Code; got != http.StatusNotFound {
			t.Errorf("%s: got %d", path, got)
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/-/api", nil))
	if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "GET, HEAD" {
		t.Errorf("POST: got %d, Allow %q", w.Code, w.Header().Get("Allow"))
	}
	if w := get(h, "/-/api/"); w.Code != http.StatusPermanentRedirect || w.Header().Get("Location") != "../api" {
		t.Errorf("got %d to %q", w.Code, w.Header().Get("Location"))
	}
}

func TestTheFirstPageOfAWholeForgeIsLight(t *testing.T) {
	t.Parallel()
	var many []httpapi.Endpoint
	for i := range 700 {
		many = append(many, declare[createParams, thing](httpapi.Spec{
			Route:   fmt.Sprintf("POST /noun_%d/{id}/part_%x/{key}", i%40, i*7919),
			Summary: fmt.Sprintf("Do the thing number %d to a part of a noun.", i), Needs: access.SignIn,
		}))
	}
	h := apidocs.Handler(many, info)
	page := get(h, "/-/api")
	total := get(h, "/-/api", "Accept-Encoding", "gzip").Body.Len()
	for _, match := range regexp.MustCompile(`href="api/(assets/[^"]+)"`).FindAllStringSubmatch(page.Body.String(), -1) {
		total += get(h, "/-/api/"+match[1], "Accept-Encoding", "gzip").Body.Len()
	}
	if total > 60_000 {
		t.Errorf("the first page weighs %d bytes with its style sheets", total)
	}
}
