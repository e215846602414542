package app

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/project/projecttest"
)

// unbuilt are pages that answers name and that this program does not have yet.
var unbuilt = []string{"/-/commit/", "/-/tree/", "/-/blob/", "/-/compare/", "/-/merge_requests", "/-/tags/", "/-/settings/"}

// addresses are the texts of an answer that are addresses of this instance, by the member that holds them.
func addresses(value any, member string, found map[string]string) {
	switch v := value.(type) {
	case map[string]any:
		for name, inner := range v {
			addresses(inner, name, found)
		}
	case []any:
		for _, inner := range v {
			addresses(inner, member, found)
		}
	case string:
		if strings.HasPrefix(v, "https://forge.example/") {
			found[v] = member
		}
	}
}

func TestEveryAddressInAnAnswerLeadsSomewhere(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	b, owner := d.signedIn(t, access.Owner, d.open)
	d.configure(t, d.open, "main", "A title", stages)
	pl := d.pipeline(t, owner, d.open, "main")
	job := d.job(t, d.open, owner, "success", "a line\n")
	secret := d.token(t, owner, access.ScopeAPI)
	get := func(path string) (int, []byte) {
		w := d.do("GET", path, nil, func(r *http.Request) { r.Header.Set("PRIVATE-TOKEN", secret) })
		return w.Code, w.Body.Bytes()
	}
	p := fmt.Sprintf("/projects/%d", d.open.ID)
	found := map[string]string{}
	for _, path := range []string{
		"/user", "/users", fmt.Sprintf("/users/%d", owner.ID), "/projects", p, p + "/members", p + "/users", p + "/forks", p + "/repository/branches", p + "/repository/commits",
		p + "/pipelines", fmt.Sprintf("%s/pipelines/%d", p, pl.ID), p + "/jobs", fmt.Sprintf("%s/jobs/%d", p, job), "/groups", fmt.Sprintf("/groups/%d", d.house.ID),
		fmt.Sprintf("/groups/%d/projects", d.house.ID), "/namespaces", p + "/groups", p + "/repository/tags",
	} {
		code, body := get("/api/v4" + path)
		var answer any
		if err := json.Unmarshal(body, &answer); code != http.StatusOK || err != nil {
			t.Errorf("%s: %d %v", path, code, err)
			continue
		}
		addresses(answer, "", found)
	}
	if len(found) < 10 {
		t.Fatalf("only %d addresses: %v", len(found), found)
	}
	for address, member := range found {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(u.Path, ".git") || slices.ContainsFunc(unbuilt, func(part string) bool { return strings.Contains(u.Path, part) }) {
			continue
		}
		code := b.send("GET", u.RequestURI(), nil).Code
		if strings.HasPrefix(u.Path, "/api/") {
			code, _ = get(u.RequestURI())
		}
		if code != http.StatusOK {
			t.Errorf("%s %s: %d", member, address, code)
		}
	}
}

func TestPeopleAndGroupsHaveAPageWithTheProjectsThatAreSeen(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	b, u := d.signedIn(t, access.NoRole)
	grouptest.Personal(t, d.DB, u)
	member, _ := d.signedIn(t, access.Developer, d.hidden)
	d.exec(t, `update users set bio = 'Writes <b>Go</b>.' where id = $1`, u.ID)
	projecttest.New(t, d.DB, u.NamespaceID, projecttest.Named("shown"), projecttest.Visible(access.Public))
	projecttest.New(t, d.DB, u.NamespaceID, projecttest.Named("kept"))
	if s := b.get("/" + u.Username); s.Code != http.StatusOK || !strings.Contains(s.Body.String(), "Writes &lt;b&gt;Go") || !s.says(u.Username+"/shown") || !s.says(u.Username+"/kept") {
		t.Errorf("%d %s", s.Code, s.Body)
	}
	if s := member.get("/" + u.Username); !s.says(u.Username+"/shown") || s.says(u.Username+"/kept") {
		t.Errorf("others see %s", s.Body)
	}
	for who, c := range map[string]struct {
		b     *browser
		sees  string
		never string
	}{
		"a stranger": {d.browser(t), "house/open", "house/hidden"}, "an outsider": {b, "house/open", "house/hidden"}, "a member": {member, "house/hidden", "nothing of the kind"},
	} {
		if s := c.b.get("/groups/house"); s.Code != http.StatusOK || !s.says(c.sees) || s.says(c.never) {
			t.Errorf("%s: %d %s", who, s.Code, s.Body)
		}
	}
	if s := b.get("/house"); s.path != "/groups/house" {
		t.Errorf("the short address of a group leads to %s", s.path)
	}
	grouptest.New(t, d.DB, grouptest.Named("forge"), grouptest.Under(d.house), grouptest.Visible(access.Public))
	grouptest.New(t, d.DB, grouptest.Named("vault"), grouptest.Under(d.house), grouptest.Visible(access.Private))
	for who, reader := range map[string]*browser{"a stranger": d.browser(t), "an outsider": b} {
		if s := reader.get("/groups/house"); !s.says("house/forge") || s.says("house/vault") {
			t.Errorf("the groups that %s sees: %s", who, s.Body)
		}
		if s := reader.get("/house/forge"); s.path != "/groups/house/forge" {
			t.Errorf("%s at the short address of an inner group: %s", who, s.path)
		}
	}
	if w := b.send("GET", "/house/vault", nil); w.Code != http.StatusNotFound {
		t.Errorf("a group that is not seen: %d", w.Code)
	}
	d.exec(t, `update namespaces set visibility = 0 where full_path = 'elsewhere'`)
	for path, want := range map[string]int{
		"/groups/elsewhere": 404, "/groups/none": 404, "/nobody-here": 404, "/groups/" + u.Username: 404, fmt.Sprintf("/groups/%d", d.house.ID): 404, "/admin": 404,
	} {
		if w := b.send("GET", path, nil); w.Code != want {
			t.Errorf("%s: %d, want %d", path, w.Code, want)
		}
		if w := d.browser(t).send("GET", path, nil); w.Code != http.StatusSeeOther {
			t.Errorf("a stranger at %s: %d", path, w.Code)
		}
	}
	for n := range ownersPage + 1 {
		projecttest.New(t, d.DB, u.NamespaceID, projecttest.Named(fmt.Sprintf("many%d", n)), projecttest.Visible(access.Public))
	}
	if s := b.get("/" + u.Username); !s.says("page=2") || !b.get("/"+u.Username+"?page=2").says("Newer") {
		t.Errorf("%s", s.Body)
	}
}

const ownersPage = 20
