package load

import (
	"fmt"
	"net/url"
	"testing"
	"time"

	"stithy/internal/platform/postgres/postgrestest"
	"stithy/internal/token/tokentest"
	"stithy/test/load/crowd"
)

// soon is what a search and a look at who may do what may take.
const soon = 5 * time.Millisecond

type projectForge struct {
	*forge
	crowd.Estate
	typical, busy, deep string // tokens
}

// All facts share one estate: filling it takes the most of their time.
func TestListsOfManyProjects(t *testing.T) {
	projects := size(t, "STITHY_LOAD_PROJECTS", "10000")
	address := postgrestest.URL(t)
	began := time.Now()
	estate, err := crowd.Settle(t.Context(), address, projects)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d projects in %v", projects, time.Since(began).Round(time.Second))
	f := &projectForge{forge: newForge(t, address, projects, "projects", "namespaces", "members", "shares", "routes"), Estate: estate}
	f.typical = tokentest.New(t, f.app.DB, f.app.Box, estate.Typical)
	f.busy = tokentest.New(t, f.app.DB, f.app.Box, estate.Busy)
	f.deep = tokentest.New(t, f.app.DB, f.app.Box, estate.Deep)
	t.Run("keyset pages cost the same wherever they are", f.pagesAreFlat)
	t.Run("a search is answered soon", f.searchesAreQuick)
	t.Run("a role 20 levels up is found soon", f.rolesAreQuick)
	t.Run("every order and filter reads a bounded part", f.listsAreBounded)
}

func (f *projectForge) people() map[string]string {
	return map[string]string{"admin": f.admin, "typical": f.typical, "busy": f.busy, "deep": f.deep}
}

// quick checks that requests for a path are answered soon, and by indexes.
func (f *projectForge) quick(t *testing.T, who, path, token string) {
	t.Helper()
	for range 6 { // the plan of a prepared statement settles after some uses
		f.get(t, path, token)
	}
	_, c := f.measure(t, path, token)
	if f.rows < large {
		return
	}
	p50, _ := f.medians(t, path, path, token)
	t.Logf("%-7s %-50s: %5d blocks, p50 %v", who, path, c.Buffers, p50.Round(time.Microsecond))
	if c.SeqScans > 0 {
		t.Errorf("%s %s reads a table whole", who, path)
	}
	if p50 > soon {
		t.Errorf("%s %s takes %v", who, path, p50)
	}
}

func (f *projectForge) pagesAreFlat(t *testing.T) {
	for who, token := range f.people() {
		for sort, beyond := range map[string]string{"asc": "&id_after=", "desc": "&id_before="} {
			first := "/projects?pagination=keyset&order_by=id&sort=" + sort
			middle := fmt.Sprint(first, beyond, f.Middle)
			for range 6 {
				f.get(t, first, token)
				f.get(t, middle, token)
			}
			_, one := f.measure(t, first, token)
			_, other := f.measure(t, middle, token)
			if f.rows < large {
				continue
			}
			a, b := f.medians(t, first, middle, token)
			t.Logf("%-7s %-4s: %3d and %3d blocks, p50 %v and %v, ratio %.2f", who, sort, one.Buffers, other.Buffers,
				a.Round(time.Microsecond), b.Round(time.Microsecond), float64(b)/float64(a))
			if one.SeqScans+other.SeqScans > 0 {
				t.Errorf("%s by id %s reads a table whole", who, sort)
			}
			if float64(b) > 1.5*float64(a) {
				t.Errorf("%s by id %s: p50 %v for the first page, %v in the middle", who, sort, a, b)
			}
		}
	}
}

func (f *projectForge) searchesAreQuick(t *testing.T) {
	for who, token := range f.people() {
		for _, search := range []string{f.Name, f.Word, "zzzz"} {
			for _, with := range []string{"", "&order_by=name&sort=asc", "&membership=true"} {
				f.quick(t, who, "/projects?search="+url.QueryEscape(search)+with, token)
			}
		}
	}
}

func (f *projectForge) rolesAreQuick(t *testing.T) {
	f.quick(t, "deep", fmt.Sprint("/projects/", f.DeepProject), f.deep)
	f.quick(t, "deep", "/projects/"+url.PathEscape(f.DeepPath), f.deep)
	f.quick(t, "busy", fmt.Sprint("/projects/", f.BusyProject), f.busy)
}

func (f *projectForge) listsAreBounded(t *testing.T) {
	for who, token := range f.people() {
		for _, path := range []string{
			"", "membership=true", "owned=true", "min_access_level=30", "starred=true", "visibility=private", "archived=true", "topic=api",
			"order_by=name&sort=asc", "order_by=path", "order_by=updated_at", "order_by=last_activity_at", "search=service",
			"search=service&order_by=name&sort=asc", "search=service&order_by=last_activity_at", "search=er", "page=50",
			"search=" + f.Word + "&search_namespaces=true", "membership=true&order_by=last_activity_at", "last_activity_after=2025-06-01T00:00:00Z",
		} {
			path = "/projects?" + path
			for range 6 {
				f.get(t, path, token)
			}
			a, c := f.measure(t, path, token)
			t.Logf("%-7s %-50s: %5d blocks, %5d rows, %d of them unordered, %v", who, path, c.Buffers, c.Rows, c.SeqRows, a.took.Round(time.Microsecond))
			if c.Buffers > maxBuffers || c.SeqRows > maxUnordered {
				t.Errorf("%s %s touches %d blocks, and reads %d rows without an index", who, path, c.Buffers, c.SeqRows)
			}
		}
	}
}
