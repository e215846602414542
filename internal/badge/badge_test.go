package badge_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"stithy/internal/badge"
	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/project/projecttest"
	"stithy/internal/repository/repositorytest"
)

const (
	missing = `{"message":"404 Not found"}`
	forbids = `{"message":"403 Forbidden"}`
)

func TestABadgeIsCreatedShownChangedAndDeleted(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	by := w.As(t, w.owner)
	for kind, in := range map[string]string{"project": inProject(w.project), "group": inGroup(w.sub)} {
		w.events = nil
		r := by.Do(t, "POST", in, map[string]any{"link_url": "https://example.com/%{project_path}?t=%{project_title}&x=%{other}", "image_url": "http://example.com/%{project_id}/%{project_name}.svg"})
		got := httpapitest.JSON[made](t, r.WantStatus(t, 201))
		want := made{
			ID: got.ID, Kind: kind, LinkURL: "https://example.com/%{project_path}?t=%{project_title}&x=%{other}", ImageURL: "http://example.com/%{project_id}/%{project_name}.svg",
			RenderedLinkURL:  "https://example.com/top/sub/tool?t=A%20tool%20%26%20more&x=%{other}",
			RenderedImageURL: "http://example.com/" + id(w.project.ID) + "/tool.svg",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		at := in + "/" + id(got.ID)
		by.Do(t, "GET", at, nil).Want(t, 200, r.Body)
		changed := httpapitest.JSON[made](t, by.Do(t, "PUT", at, map[string]any{"name": "docs", "link_url": "https://docs.example"}).WantStatus(t, 200))
		if *changed.Name != "docs" || changed.RenderedLinkURL != "https://docs.example" || changed.ImageURL != want.ImageURL {
			t.Errorf("got %+v", changed)
		}
		if got := httpapitest.JSON[made](t, by.Do(t, "PUT", at, map[string]any{"name": nil})); got.Name != nil || got.LinkURL != "https://docs.example" {
			t.Errorf("got %+v", got)
		}
		by.Do(t, "DELETE", at, nil).Want(t, 204, "")
		for _, method := range []string{"GET", "PUT", "DELETE"} {
			by.Do(t, method, at, nil).Want(t, 404, missing)
		}
		var acts []badge.Action
		for _, e := range w.events {
			if acts = append(acts, e.Action); e.Badge.ID != got.ID || !e.By.Is(w.owner.ID) {
				t.Errorf("heard %+v", e)
			}
		}
		if !slices.Equal(acts, []badge.Action{badge.Created, badge.Updated, badge.Updated, badge.Deleted}) {
			t.Errorf("heard %v", acts)
		}
	}
}

func TestWhatABadgeMayBe(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	by := w.As(t, w.owner)
	const good = "https://example.com/x"
	blocked := `{"message":{"link_url":["is blocked: Only allowed schemes are http, https"]}}`
	invalid := `{"message":{"link_url":["is blocked: URI is invalid"]}}`
	for link, want := range map[string]string{
		"javascript:alert(1)": blocked, "ftp://example.com": blocked, "example.com": blocked, "//example.com": blocked, "%{project_name}://example.com": blocked,
		"http%{project_name}://example.com": blocked, "data:text/html,x": blocked,
		"https://": invalid, "http:///x": invalid, "https://exa mple.com": invalid, "https://example.com/a b": invalid, "https://example.com/\n": invalid, " https://example.com": invalid, "https://example.com/%zz": invalid,
		"": `{"message":{"link_url":["can't be blank"]}}`, "https://example.com/" + strings.Repeat("x", 2048): `{"message":{"link_url":["is too long (maximum is 2048 characters)"]}}`,
	} {
		by.Do(t, "POST", inProject(w.project), map[string]any{"link_url": link, "image_url": good}).Want(t, 400, want)
		by.Do(t, "GET", inProject(w.project)+"/render?image_url="+good+"&link_url="+url.QueryEscape(link), nil).Want(t, 400, want)
	}
	for _, link := range []string{"HTTPS://EXAMPLE.com", "https://example.com:8443/%{project_path}/-/x?y=%{commit_sha}#z", "http://[::1]/x", "https://%{project_name}.example.com/"} {
		by.Do(t, "POST", inProject(w.project), map[string]any{"link_url": link, "image_url": good}).WantStatus(t, 201)
	}
	by.Do(t, "POST", inProject(w.project), nil).Want(t, 400, `{"error":"link_url is missing, image_url is missing"}`)
	by.Do(t, "GET", inGroup(w.top)+"/render", nil).Want(t, 400, `{"error":"link_url is missing, image_url is missing"}`)
	by.Do(t, "POST", inProject(w.project), map[string]any{"link_url": good, "image_url": good, "name": strings.Repeat("x", 256)}).
		Want(t, 400, `{"message":{"name":["is too long (maximum is 255 characters)"]}}`)
	b := w.create(t, inProject(w.project), "x")
	by.Do(t, "PUT", inProject(w.project)+"/"+id(b.ID), map[string]any{"link_url": "mailto:x"}).Want(t, 400, blocked)
	by.Do(t, "PUT", inProject(w.project)+"/x", nil).Want(t, 400, `{"error":"badge_id is invalid"}`)
}

func TestTheAddressOfAPictureIsCheckedToo(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.As(t, w.owner).Do(t, "POST", inProject(w.project), map[string]any{"link_url": "https://example.com", "image_url": "javascript:alert(1)"}).
		Want(t, 400, `{"message":{"image_url":["is blocked: Only allowed schemes are http, https"]}}`)
}

func TestAProjectShowsTheBadgesOfGroupsAboveIt(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	other := projecttest.New(t, w.DB, w.top.ID)
	top, sub, own := w.create(t, inGroup(w.top), "top"), w.create(t, inGroup(w.sub), "sub"), w.create(t, inProject(w.project), "own")
	w.create(t, inProject(other), "other")
	w.create(t, inProject(w.project), "top")
	for path, want := range map[string][]string{
		inProject(w.project): {"top", "sub", "own", "top"}, inProject(w.project) + "?name=top": {"top", "top"}, inProject(w.project) + "?name=to": {},
		inProject(w.project) + "?per_page=2": {"top", "sub"}, inProject(w.project) + "?per_page=3&page=2": {"top"}, inProject(w.project) + "?page=9": {},
		inGroup(w.top): {"top"}, inGroup(w.sub): {"sub"}, inGroup(w.sub) + "?name=top": {},
	} {
		if got := names(t, w.Do(t, "GET", path, nil)); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
	r := w.Do(t, "GET", inProject(w.project)+"?per_page=1", nil)
	if b := httpapitest.JSON[[]made](t, r); b[0].Kind != "group" || b[0].RenderedLinkURL != "https://example.com/top/sub/tool" || r.Header.Get("X-Total") != "4" {
		t.Errorf("got %s of %s", r.Body, r.Header.Get("X-Total"))
	}
	owner := w.As(t, w.owner)
	for _, at := range []string{
		inProject(w.project) + "/" + id(top.ID), inProject(w.project) + "/" + id(sub.ID), inGroup(w.sub) + "/" + id(top.ID), inGroup(w.sub) + "/" + id(own.ID),
		inProject(other) + "/" + id(own.ID),
	} {
		owner.Do(t, "GET", at, nil).Want(t, 404, missing)
		owner.Do(t, "PUT", at, map[string]any{"name": "x"}).Want(t, 404, missing)
		owner.Do(t, "DELETE", at, nil).Want(t, 404, missing)
	}
}

func TestWhoReadsAndManagesBadges(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	secret := grouptest.New(t, w.DB)
	hidden := projecttest.New(t, w.DB, secret.ID)
	body := map[string]any{"link_url": "https://example.com", "image_url": "https://example.com"}
	for _, c := range []struct {
		fact           string
		by             *httpapitest.Client
		project, group int
	}{
		{"nobody", w.Client, 401, 401}, {"a stranger", w.As(t, w.stranger), 403, 403}, {"a developer", w.As(t, w.developer), 403, 403},
		{"a maintainer", w.As(t, w.maintainer), 201, 403}, {"an owner", w.As(t, w.owner), 201, 201},
	} {
		for in, want := range map[string]int{inProject(w.project): c.project, inGroup(w.top): c.group} {
			if r := c.by.Do(t, "POST", in, body); r.Status != want || (want == 403 && r.Body != forbids) {
				t.Errorf("%s creates at %s: %d %s", c.fact, in, r.Status, r.Body)
			}
			if r := c.by.Do(t, "GET", in, nil); r.Status != 200 {
				t.Errorf("%s reads %s: %d %s", c.fact, in, r.Status, r.Body)
			}
		}
		for in, want := range map[string]string{inProject(hidden): `{"message":"404 Project Not Found"}`, inGroup(secret): `{"message":"404 Group Not Found"}`} {
			c.by.Do(t, "GET", in, nil).Want(t, 404, want)
		}
	}
}

// A placeholder says nothing that the one who looks may not know.
func TestPlaceholdersStandForWhatTheViewerMayRead(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	render := func(by *httpapitest.Client, in string) string {
		t.Helper()
		r := by.Do(t, "GET", in+"/render?image_url=https://example.com&link_url="+url.QueryEscape("https://example.com/%{project_path}/%{default_branch}/%{commit_sha}"), nil)
		return strings.TrimPrefix(httpapitest.JSON[made](t, r.WantStatus(t, 200)).RenderedLinkURL, "https://example.com/")
	}
	if got := render(w.Client, inProject(w.project)); got != "top/sub/tool/main/%{commit_sha}" {
		t.Errorf("without a commit: %s", got)
	}
	full := projecttest.New(t, w.DB, w.sub.ID, projecttest.Named("full"), projecttest.Visible(access.Public), projecttest.With("default_branch", "main"))
	repo := repositorytest.New(t, w.DB, w.Store, full, repositorytest.Files{"a": "b"})
	tip, err := repo.Ref(t.Context(), "refs/heads/main")
	if err != nil {
		t.Fatal(err)
	}
	if got := render(w.Client, inProject(full)); got != "top/sub/full/main/"+string(tip.Target) {
		t.Errorf("with a commit: %s", got)
	}
	closed := projecttest.New(t, w.DB, w.sub.ID, projecttest.Named("closed"), projecttest.Visible(access.Public), projecttest.With("features", `{"repository": "private"}`))
	if got := render(w.Client, inProject(closed)); got != "top/sub/closed/%{default_branch}/%{commit_sha}" {
		t.Errorf("of a repository for members: %s", got)
	}
	// A group shows the first of its projects that the viewer sees, and placeholders where there is none.
	if got := render(w.Client, inGroup(w.top)); got != "%{project_path}/%{default_branch}/%{commit_sha}" {
		t.Errorf("of a group without projects: %s", got)
	}
	projecttest.New(t, w.DB, w.top.ID, projecttest.Named("secret"))
	projecttest.New(t, w.DB, w.top.ID, projecttest.Named("open"), projecttest.Visible(access.Public))
	for by, want := range map[*httpapitest.Client]string{w.Client: "top/open/main/%{commit_sha}", w.As(t, w.owner): "top/secret/main/%{commit_sha}"} {
		if got := render(by, inGroup(w.top)); got != want {
			t.Errorf("of a group: %s, want %s", got, want)
		}
	}
}

func TestAValueDoesNotLeaveItsPlaceInAnAddress(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		value := rapid.String().Draw(r, "value")
		u, err := url.Parse(badge.Render("https://example.com/a/%{project_title}?b=%{project_title}&c=d#e", map[string]string{"project_title": value}))
		if err != nil {
			r.Fatal(err)
		}
		if u.Host != "example.com" || u.Path != "/a/"+value || u.Query().Get("b") != value || u.Query().Get("c") != "d" || u.Fragment != "e" {
			r.Errorf("%q became %s", value, u)
		}
	})
}
