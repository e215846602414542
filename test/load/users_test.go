package load

import (
	"net/url"
	"slices"
	"strconv"
	"testing"
	"time"

	"stithy/internal/kit/paging"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/postgres/postgrestest"
	"stithy/test/load/crowd"
)

// maxUnordered is how many rows a request may read without an index. A word
// that many match is best looked for where the table begins, until there are as
// many as are counted: twice, for the count and the page.
const maxUnordered = 15 * maxCounted

type userForge struct {
	*forge
	plain string // a token
}

// All facts share one crowd: filling it takes the most of their time.
func TestListsOfManyUsers(t *testing.T) {
	users := size(t, "STITHY_LOAD_USERS", "20000")
	address := postgrestest.URL(t)
	began := time.Now()
	if err := crowd.Fill(t.Context(), address, users); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d users in %v", users, time.Since(began).Round(time.Second))
	f := &userForge{forge: newForge(t, address, users, "users")}
	f.plain = f.token(t, "not admin")
	t.Run("keyset pages cost the same wherever they are", f.pagesAreFlat)
	t.Run("username and search use an index", f.lookupsUseAnIndex)
	t.Run("every filter reads a bounded part", f.filtersAreBounded)
	t.Run("no list counts more than it tells", f.totalsAreBounded)
}

func (f *userForge) pagesAreFlat(t *testing.T) {
	for who, token := range f.people() {
		for _, order := range []string{"id", "name", "username"} {
			for _, sort := range []string{"asc", "desc"} {
				first := "/users?pagination=keyset&order_by=" + order + "&sort=" + sort
				middle := first + "&cursor=" + f.middle(t, order, sort)
				f.get(t, first, token)
				f.get(t, middle, token)
				_, one := f.measure(t, first, token)
				_, other := f.measure(t, middle, token)
				// A few blocks more are the depth of an index, not the length of the table.
				if float64(other.Buffers) > 1.5*float64(one.Buffers)+16 {
					t.Errorf("%s by %s %s: %d blocks for the first page, %d in the middle", who, order, sort, one.Buffers, other.Buffers)
				}
				a, b := f.medians(t, first, middle, token)
				t.Logf("%-6s %-8s %-4s: %3d and %3d blocks, p50 %v and %v, ratio %.2f", who, order, sort, one.Buffers, other.Buffers,
					a.Round(time.Microsecond), b.Round(time.Microsecond), float64(b)/float64(a))
				if f.rows >= large && float64(b) > 1.5*float64(a) {
					t.Errorf("%s by %s %s: p50 %v for the first page, %v in the middle", who, order, sort, a, b)
				}
			}
		}
	}
}

// middle is the cursor after the row in the middle of the table.
func (f *userForge) middle(t *testing.T, order, sort string) string {
	t.Helper()
	type place struct{ Key, ID string }
	p, err := postgres.One[place](t.Context(), f.app.DB,
		`select `+order+`::text as key, id::text from users order by `+order+`, id offset $1 limit 1`, f.rows/2)
	if err != nil {
		t.Fatal(err)
	}
	c := paging.Cursor{OrderBy: order, Desc: sort == "desc", After: []string{p.Key, p.ID}}
	if order == "id" {
		c.After = c.After[1:]
	}
	return c.String()
}

func (f *userForge) people() map[string]string {
	return map[string]string{"admin": f.admin, "plain": f.plain}
}

func (f *userForge) lookupsUseAnIndex(t *testing.T) {
	for who, token := range f.people() {
		for _, term := range []string{
			"user", "lovelace", "zzzz", "ma", "a", "%", "_", "user_", "100%", "%%%", "maria garcia", "Maria", "@paul.liu20",
			"paul.liu20@example.org", "er0", "...", `\`, "日本語", "us%er", "Wei", "Mar",
		} {
			for _, with := range []string{"", "&order_by=name&sort=asc", "&pagination=keyset", "&page=3", "&active=true"} {
				f.bounded(t, who, "/users?search="+url.QueryEscape(term)+with, token)
			}
		}
		for _, name := range []string{"USER00048271", "nobody"} {
			if _, c := f.measure(t, "/users?username="+name, token); c.SeqScans > 0 {
				t.Errorf("%s looks for the username %s without an index", who, name)
			}
		}
	}
}

func (f *userForge) filtersAreBounded(t *testing.T) {
	filters := []string{
		"active=true", "blocked=true", "external=true", "exclude_external=true", "exclude_internal=true", "without_project_bots=true",
		"created_after=2025-06-01", "created_before=2020-02-01", "created_after=2030-01-01",
	}
	admins := append(slices.Clone(filters), "admins=true", "auditors=true", "two_factor=enabled", "two_factor=disabled", "skip_ldap=true",
		"saml_provider_id=7", "saml_provider_id=8", "extern_uid=uid%3Dx&provider=ldapmain", "custom_attributes%5Bteam%5D=team-10")
	for _, with := range []string{"", "&pagination=keyset", "&order_by=name&sort=asc"} {
		for _, filter := range filters {
			f.bounded(t, "plain", "/users?"+filter+with, f.plain)
		}
		for _, filter := range admins {
			f.bounded(t, "admin", "/users?"+filter+with, f.admin)
		}
	}
}

// farAway are lists with more than 10,000 matches that no index serves in the
// order asked for: the way to them is long. docs/measurements.md has the
// figures.
var farAway = map[string]bool{
	"/users?created_before=2020-02-01&pagination=keyset": true,
	"/users?saml_provider_id=7":                          true,
	"/users?saml_provider_id=7&pagination=keyset":        true,
	"/users?saml_provider_id=7&order_by=name&sort=asc":   true,
}

// bounded checks that a request touches a bounded part of the table. The plan
// of a prepared statement settles after some uses, so it looks at several.
func (f *userForge) bounded(t *testing.T, who, path, token string) {
	t.Helper()
	worst := cost{}
	for range 3 {
		_, c := f.measure(t, path, token)
		if c.Buffers > worst.Buffers {
			worst = c
		}
		worst.SeqRows = max(worst.SeqRows, c.SeqRows)
	}
	if farAway[path] && f.rows >= large {
		t.Logf("%s %s touches %d blocks, and reads %d rows without an index", who, path, worst.Buffers, worst.SeqRows)
		return
	}
	if worst.Buffers > maxBuffers {
		t.Errorf("%s %s touches %d blocks", who, path, worst.Buffers)
	}
	if worst.SeqRows > maxUnordered {
		t.Errorf("%s %s reads %d rows without an index", who, path, worst.SeqRows)
	}
}

func (f *userForge) totalsAreBounded(t *testing.T) {
	for who, token := range f.people() {
		for _, path := range []string{"/users", "/users?active=true", "/users?search=user"} {
			a, c := f.measure(t, path, token)
			if a.header.Get("X-Total") != "" || a.header.Get("X-Total-Pages") != "" {
				t.Errorf("%s %s tells a total of %s", who, path, a.header.Get("X-Total"))
			}
			// What is read beside the count is the page, the token and, for a search, what is ranked.
			if read := c.Rows + c.SeqRows; path == "/users" && read > maxCounted+200 {
				t.Errorf("%s %s reads %d rows", who, path, read)
			}
		}
	}
	if a := f.get(t, "/users?username=USER00048271", f.admin); a.header.Get("X-Total") != strconv.Itoa(len(a.ids)) {
		t.Errorf("a short list has a total of %q", a.header.Get("X-Total"))
	}
	t.Logf("%d users, counted to %d", f.rows, maxCounted)
}
