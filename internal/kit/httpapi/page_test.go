package httpapi

import (
	"context"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stithy/internal/kit/access"
	"stithy/internal/kit/paging"
)

// numbers lists 1 to total by offset.
func numbers(total int) Endpoint {
	type params struct{ Paging }
	return Do(Spec{Route: "GET /numbers", Needs: access.Anyone}, func(_ context.Context, call Call[None, params]) (List[int], error) {
		req, err := call.Params.Request()
		if err != nil {
			return List[int]{}, err
		}
		res := paging.Result[int]{Total: min(total, paging.MaxTotal+1)}
		for n := req.Offset(); n < total && len(res.Items) < req.PerPage; n++ {
			res.Items = append(res.Items, n+1)
		}
		res.More = req.Offset()+len(res.Items) < total && len(res.Items) > 0
		return ListOf(req, res, func(n int) int { return n }), nil
	})
}

func pageHeaders(h http.Header) map[string]string {
	got := map[string]string{}
	for _, name := range []string{"Link", "X-Total", "X-Total-Pages", "X-Page", "X-Per-Page", "X-Next-Page", "X-Prev-Page"} {
		if values, given := h[name]; given {
			got[name] = strings.Join(values, "|")
		}
	}
	return got
}

func TestAPageSaysWhereTheOthersAre(t *testing.T) {
	t.Parallel()
	const base = "<https://forge.example:8443/api/v4/numbers?"
	link := func(query, rel string) string { return base + query + `>; rel="` + rel + `"` }
	for _, c := range []struct {
		name, query string
		total       int
		body        string
		want        map[string]string
	}{
		{"in the middle", "per_page=2&page=2&order_by=id", 5, "[3,4]", map[string]string{
			"Link": link("order_by=id&page=1&per_page=2", "prev") + ", " + link("order_by=id&page=3&per_page=2", "next") + ", " +
				link("order_by=id&page=1&per_page=2", "first") + ", " + link("order_by=id&page=3&per_page=2", "last"),
			"X-Total": "5", "X-Total-Pages": "3", "X-Page": "2", "X-Per-Page": "2", "X-Next-Page": "3", "X-Prev-Page": "1"}},
		{"by default", "", 3, "[1,2,3]", map[string]string{
			"Link":    link("page=1&per_page=20", "first") + ", " + link("page=1&per_page=20", "last"),
			"X-Total": "3", "X-Total-Pages": "1", "X-Page": "1", "X-Per-Page": "20", "X-Next-Page": "", "X-Prev-Page": ""}},
		{"nothing to show", "", 0, "[]", map[string]string{
			"Link":    link("page=1&per_page=20", "first") + ", " + link("page=1&per_page=20", "last"),
			"X-Total": "0", "X-Total-Pages": "1", "X-Page": "1", "X-Per-Page": "20", "X-Next-Page": "", "X-Prev-Page": ""}},
		{"past the end", "page=9&per_page=2", 3, "[]", map[string]string{
			"Link":    link("page=1&per_page=2", "first") + ", " + link("page=2&per_page=2", "last"),
			"X-Total": "3", "X-Total-Pages": "2", "X-Page": "9", "X-Per-Page": "2", "X-Next-Page": "", "X-Prev-Page": ""}},
		{"ten thousand are counted", "per_page=1&page=2", 10_000, "[2]", map[string]string{
			"Link": link("page=1&per_page=1", "prev") + ", " + link("page=3&per_page=1", "next") + ", " +
				link("page=1&per_page=1", "first") + ", " + link("page=10000&per_page=1", "last"),
			"X-Total": "10000", "X-Total-Pages": "10000", "X-Page": "2", "X-Per-Page": "1", "X-Next-Page": "3", "X-Prev-Page": "1"}},
		{"more are not", "per_page=1&page=2", 10_001, "[2]", map[string]string{
			"Link":   link("page=1&per_page=1", "prev") + ", " + link("page=3&per_page=1", "next") + ", " + link("page=1&per_page=1", "first"),
			"X-Page": "2", "X-Per-Page": "1", "X-Next-Page": "3", "X-Prev-Page": "1"}},
		{"parameters are kept", "scope[]=a&scope[]=b&search=x%20%26%22%3E&sudo=mia", 1, "[1]", map[string]string{
			"Link": link("page=1&per_page=20&scope%5B%5D=a&scope%5B%5D=b&search=x+%26%22%3E&sudo=mia", "first") + ", " +
				link("page=1&per_page=20&scope%5B%5D=a&scope%5B%5D=b&search=x+%26%22%3E&sudo=mia", "last"),
			"X-Total": "1", "X-Total-Pages": "1", "X-Page": "1", "X-Per-Page": "20", "X-Next-Page": "", "X-Prev-Page": ""}},
	} {
		d := open(t, numbers(c.total))
		options := []option{}
		if strings.Contains(c.query, "sudo") {
			options = append(options, token("admin"))
		}
		w := d.do("GET", "/numbers?"+c.query, options...)
		wantJSON(t, w, http.StatusOK, c.body)
		if diff := cmp.Diff(c.want, pageHeaders(w.Header())); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestLinksStandOnTheExternalURL(t *testing.T) {
	t.Parallel()
	type params struct {
		ID string `param:"id" doc:"ID"`
		Paging
	}
	d := open(t, Do(Spec{Route: "GET /projects/{id}/things", Needs: access.Anyone}, func(_ context.Context, call Call[None, params]) (List[int], error) {
		req, err := call.Params.Request()
		return List[int]{Request: req}, err
	}))
	d.ExternalURL = &url.URL{Scheme: "https", Host: "example.com", Path: "/forge/"}
	got := d.do("GET", "/projects/a%2Fb%252F/things", header("Host", "evil.example"), header("X-Forwarded-Host", "evil.example")).Header().Get("Link")
	if want := `<https://example.com/forge/api/v4/projects/a%2Fb%252F/things?page=1&per_page=20>; rel="first"`; !strings.HasPrefix(got, want) {
		t.Errorf("got %s", got)
	}
}

func TestTK09_LinksCarryNoToken(t *testing.T) {
	t.Parallel()
	d := open(t, numbers(50), keysetNumbers(Offer{Model: "Number", OrderBy: []string{"id"}}))
	const canary = "canary-5d2e"
	d.people.add(canary, &access.Person{ID: 2}, access.PersonalToken, access.ScopeAPI)
	for _, name := range []string{"private_token", "access_token", "bearer_token", "job_token", "token", "%70rivate_token", "private%5Ftoken"} {
		for _, path := range []string{"/numbers?", "/keyset?pagination=keyset&order_by=id&"} {
			w := d.do("GET", path+name+"="+canary)
			wantStatus(t, w, http.StatusOK)
			if link := w.Header().Get("Link"); link == "" || strings.Contains(link, canary) || strings.Contains(link, "token") {
				t.Errorf("%s: got %q", name, link)
			}
		}
	}
}

func TestThePageSizeHasRules(t *testing.T) {
	t.Parallel()
	d := open(t, numbers(500))
	for query, perPage := range map[string]string{
		"per_page=1": "1", "per_page=100": "100", "per_page=101": "100", "per_page=9223372036854775807": "100", "per_page=": "20", "": "20",
	} {
		if got := d.do("GET", "/numbers?"+query).Header().Get("X-Per-Page"); got != perPage {
			t.Errorf("%s: got %q, want %s", query, got, perPage)
		}
	}
	for query, page := range map[string]string{"page=0": "1", "page=-5": "1", "page=": "1", "page=2": "2", "page=-9223372036854775808": "1"} {
		if got := d.do("GET", "/numbers?"+query).Header().Get("X-Page"); got != page {
			t.Errorf("%s: got %q, want %s", query, got, page)
		}
	}
	for query, text := range map[string]string{
		"per_page=0": "per_page has a value not allowed", "per_page=-1": "per_page does not have a valid value",
		"per_page=x": "per_page is invalid", "page=x": "page is invalid", "page=1.5": "page is invalid",
		"page=1&page=2": "page is invalid", "page=x&per_page=y": "page is invalid, per_page is invalid",
	} {
		wantRefusal(t, d.do("GET", "/numbers?"+query), text)
	}
}

func TestTheDeepestPageDoesNotOverflow(t *testing.T) {
	t.Parallel()
	d := open(t, numbers(1))
	const refused = `{"error":"Offset pagination has a maximum allowed offset of 50000 for this type of request."}`
	wantStatus(t, d.do("GET", "/numbers?page=500&per_page=100"), http.StatusOK)
	for _, page := range []string{"501", "1099511627776", "9223372036854775807"} {
		wantJSON(t, d.do("GET", "/numbers?per_page=100&page="+page), http.StatusMethodNotAllowed, refused)
	}
}

// keysetNumbers lists numbers both ways.
func keysetNumbers(offer Offer) Endpoint {
	type params struct {
		KeysetPaging
		OrderBy string `param:"order_by" default:"id" doc:"Order"`
		Sort    string `param:"sort" default:"desc" enum:"asc,desc" doc:"Direction"`
	}
	return Do(Spec{Route: "GET /keyset", Needs: access.Anyone}, func(_ context.Context, call Call[None, params]) (List[string], error) {
		p := call.Params
		req, err := p.Request(p.OrderBy, p.Sort, offer)
		if err != nil {
			return List[string]{}, err
		}
		res := paging.Result[string]{Items: []string{"first"}, Total: 2, More: true, Next: &paging.Cursor{OrderBy: p.OrderBy, Desc: req.Desc, After: []string{"a/b &c", "1"}}}
		if req.Cursor != nil {
			res = paging.Result[string]{Items: req.Cursor.After, Total: 2}
		}
		return List[string]{Result: res, Request: req}, nil
	})
}

var nextLink = regexp.MustCompile(`^<https://forge\.example:8443/api/v4([^>]+)>; rel="next"$`)

func TestAKeysetPageOnlyLinksToTheNext(t *testing.T) {
	t.Parallel()
	d := open(t, keysetNumbers(Offer{Model: "Number", OrderBy: []string{"id", "name"}}))
	w := d.do("GET", "/keyset?pagination=keyset&order_by=name&sort=asc&per_page=1")
	wantJSON(t, w, http.StatusOK, `["first"]`)
	if got := pageHeaders(w.Header()); len(got) != 1 {
		t.Errorf("got headers %v", got)
	}
	next := nextLink.FindStringSubmatch(w.Header().Get("Link"))
	if next == nil {
		t.Fatalf("got Link %q", w.Header().Get("Link"))
	}
	// The cursor brings the values back as they were, and the last page has no link.
	last := d.do("GET", next[1])
	wantJSON(t, last, http.StatusOK, `["a/b \u0026c","1"]`)
	if got := pageHeaders(last.Header()); len(got) != 0 {
		t.Errorf("got headers %v", got)
	}
	for _, kept := range []string{"order_by=name", "sort=asc", "per_page=1", "pagination=keyset"} {
		if !strings.Contains(next[1], kept) {
			t.Errorf("the link %s lacks %s", next[1], kept)
		}
	}
}

func TestKeysetPagingIsRefusedWhereItIsNotOffered(t *testing.T) {
	t.Parallel()
	both := open(t, keysetNumbers(Offer{Model: "User", OrderBy: []string{"id", "name"}}))
	desc := open(t, keysetNumbers(Offer{Model: "AuditEvent", OrderBy: []string{"id"}, Sort: "desc"}))
	const notOffered = `{"error":"Keyset pagination is not yet available for this type of request"}`
	wantJSON(t, both.do("GET", "/keyset?pagination=keyset&order_by=created_at"), http.StatusMethodNotAllowed, notOffered)
	wantJSON(t, desc.do("GET", "/keyset?pagination=keyset&order_by=id&sort=asc"), http.StatusMethodNotAllowed, notOffered)
	wantStatus(t, desc.do("GET", "/keyset?pagination=keyset&order_by=id&sort=desc"), http.StatusOK)
	wantStatus(t, both.do("GET", "/keyset?pagination=keyset&order_by=id&sort=asc"), http.StatusOK)
	wantStatus(t, both.do("GET", "/keyset?order_by=created_at"), http.StatusOK)

	good := paging.Cursor{OrderBy: "id", Desc: true, After: []string{"5"}}
	wantStatus(t, both.do("GET", "/keyset?pagination=keyset&cursor="+good.String()), http.StatusOK)
	for _, cursor := range []string{
		"x", "%25", "e30", strings.Repeat("a", 5000),
		paging.Cursor{OrderBy: "name", Desc: true, After: []string{"5"}}.String(),
		paging.Cursor{OrderBy: "id", After: []string{"5"}}.String(),
	} {
		wantRefusal(t, both.do("GET", "/keyset?pagination=keyset&cursor="+cursor), "cursor is invalid")
	}
	wantRefusal(t, both.do("GET", "/keyset?pagination=keyset&per_page=0"), "per_page has a value not allowed")
}

func TestAnAdministratorDecidesHowDeepOffsetsGo(t *testing.T) {
	t.Parallel()
	d := open(t, numbers(500), keysetNumbers(Offer{Model: "Number", OrderBy: []string{"id"}}))
	d.limits.maxOffset = 100
	for _, path := range []string{"/numbers", "/keyset"} {
		wantStatus(t, d.do("GET", path+"?page=5"), http.StatusOK)
		w := d.do("GET", path+"?page=6")
		wantStatus(t, w, http.StatusMethodNotAllowed)
		if !strings.Contains(w.Body.String(), "maximum allowed offset of 100 for") {
			t.Errorf("got %s", w.Body)
		}
	}
	d.limits.maxOffset = 0 // no end
	wantStatus(t, d.do("GET", "/numbers?page=9223372036854775807&per_page=100"), http.StatusOK)
}

func TestDO05_OffsetsEndAtTheCap(t *testing.T) {
	t.Parallel()
	d := open(t, keysetNumbers(Offer{Model: "Group", OrderBy: []string{"id"}}))
	const refused = `{"error":"Offset pagination has a maximum allowed offset of 50000 for requests that return objects of type Group. Remaining records can be retrieved using keyset pagination."}`
	wantStatus(t, d.do("GET", "/keyset?page=500&per_page=100"), http.StatusOK)
	wantStatus(t, d.do("GET", "/keyset?page=50000&per_page=1"), http.StatusOK)
	for _, query := range []string{"page=501&per_page=100", "page=2501", "page=50001&per_page=1", "page=9223372036854775807"} {
		wantJSON(t, d.do("GET", "/keyset?"+query), http.StatusMethodNotAllowed, refused)
	}
	wantStatus(t, d.do("GET", "/keyset?pagination=keyset&page=9999999"), http.StatusOK)
}
