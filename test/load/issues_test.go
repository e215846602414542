package load

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"stithy/internal/kit/paging"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/postgres/postgrestest"
	"stithy/test/load/crowd"
)

// aList is what a page of issues may take.
const aList = 50 * time.Millisecond

type issueForge struct {
	*forge
	crowd.Planned
}

// TestListsOfManyIssues has STITHY_LOAD_ISSUES issues, half of them in one project, and five notes for each. A database that
// STITHY_LOAD_DATABASE names, migrated with the folder STITHY_LOAD_DATA, is filled once and kept.
func TestListsOfManyIssues(t *testing.T) {
	issues := size(t, "STITHY_LOAD_ISSUES", "20000")
	const projects = 1000
	address, kept := os.Getenv("STITHY_LOAD_DATABASE"), true
	if address == "" {
		address, kept = postgrestest.URL(t), false
	}
	planned, err := crowd.FindPlanned(t.Context(), address)
	if !kept || err != nil {
		began := time.Now()
		if _, err := crowd.Settle(t.Context(), address, projects); err != nil {
			t.Fatal(err)
		}
		if planned, err = crowd.Plan(t.Context(), address, issues, 5*issues, projects); err != nil {
			t.Fatal(err)
		}
		t.Logf("%d issues and %d notes in %v", issues, 5*issues, time.Since(began).Round(time.Second))
	}
	f := &issueForge{forge: newForge(t, address, issues, "issues", "issue_labels", "issue_assignees", "notes"), Planned: planned}
	t.Run("keyset pages cost the same wherever they are", f.pagesAreFlat)
	t.Run("every list with one filter is answered soon", f.listsAreQuick)
	t.Run("an issue that many talk about opens soon", f.longTalksOpen)
}

// quick measures a page, and holds it to its limits.
func (f *issueForge) quick(t *testing.T, path string) cost {
	t.Helper()
	for range 6 { // the plan of a prepared statement settles after some uses
		if !f.answers(t, path) {
			return cost{}
		}
	}
	a, c := f.measure(t, path, f.admin)
	if len(a.ids) == 0 {
		t.Errorf("%s is empty", path)
	}
	if f.rows < large {
		return c
	}
	p50, _ := f.medians(t, path, path, f.admin)
	t.Logf("%-75s: %6d blocks, p50 %v", path, c.Buffers, p50.Round(10*time.Microsecond))
	if p50 > aList {
		t.Errorf("%s takes %v", path, p50)
	}
	return c
}

// answers asks for a page, and reports whether it is worth to measure it.
func (f *issueForge) answers(t *testing.T, path string) bool {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, f.server.URL+"/api/v4"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Private-Token", f.admin)
	began := time.Now()
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if _, err = io.Copy(io.Discard, res.Body); err != nil {
		t.Fatal(err)
	}
	took := time.Since(began)
	if res.StatusCode != http.StatusOK || took > 3*time.Second {
		t.Errorf("%s: %s after %v", path, res.Status, took.Round(time.Millisecond))
		return false
	}
	return true
}

func (f *issueForge) pagesAreFlat(t *testing.T) {
	for _, order := range []string{"created_at", "updated_at"} {
		path := fmt.Sprintf("/projects/%d/issues?pagination=keyset&order_by=%s", f.Project, order)
		first := f.quick(t, path)
		for _, part := range []float64{0.5, 0.01} {
			type row struct {
				At time.Time
				ID int64
			}
			at, err := postgres.One[row](t.Context(), f.app.DB,
				`select created_at as at, id from issues where project_id = $1 and id >= (select $2::float8 * max(id) from issues) order by id limit 1`, f.Project, part)
			if err != nil {
				t.Fatal(err)
			}
			cursor := paging.Cursor{OrderBy: order, Desc: true, After: []string{at.At.Format(time.RFC3339Nano), strconv.FormatInt(at.ID, 10)}}
			deep := f.quick(t, path+"&cursor="+cursor.String())
			if float64(deep.Buffers) > 1.15*float64(first.Buffers)+50 {
				t.Errorf("%s: %d blocks for the first page, %d after %v of it", path, first.Buffers, deep.Buffers, part)
			}
		}
	}
}

func (f *issueForge) listsAreQuick(t *testing.T) {
	person := strconv.FormatInt(f.Author, 10)
	for _, in := range []string{fmt.Sprintf("/projects/%d/issues", f.Project), fmt.Sprintf("/groups/%d/issues", f.Group), "/issues?scope=all"} {
		for _, filter := range []string{
			"", "state=opened", "labels=" + url.QueryEscape(f.Label), "labels=" + f.Rare, "milestone=" + url.QueryEscape(f.Milestone), "author_id=" + person, "assignee_id=" + person,
			"search=number+4", "search=door", "search=abcd", "search=" + url.QueryEscape(needle(f.rows)), "confidential=true", "issue_type=issue", "created_before=2020-01-01T01:00:00Z", "updated_after=2020-01-01T01:00:00Z",
			"order_by=updated_at", "not[labels]=" + url.QueryEscape(f.Label),
		} {
			query := "?"
			if in == "/issues?scope=all" {
				query = "&"
			}
			f.quick(t, in+query+filter)
		}
	}
}

// needle is a text that one issue of the first project has.
func needle(rows int) string { return fmt.Sprintf("number %d", rows/2|1) }

// longTalksOpen reads the issue that has crowd.LongTalk comments, by the API and as a page.
func (f *issueForge) longTalksOpen(t *testing.T) {
	at := fmt.Sprintf("/api/v4/projects/%d/issues/1", f.Project)
	for _, path := range []string{"/notes", "/notes?sort=asc", "/notes?page=100", "/discussions", "/discussions?page=25", "/resource_label_events"} {
		f.quickest(t, aTalk, func() { f.read(t, at+path, "Private-Token", f.admin) }, path)
	}
	path, err := postgres.Value[string](t.Context(), f.app.DB, `select n.full_path || '/' || p.path from projects p join namespaces n on n.id = p.namespace_id where p.id = $1`, f.Project)
	if err != nil {
		t.Fatal(err)
	}
	cookie := f.session(t, "admin")
	for _, page := range []string{"/" + path + "/-/issues/1", "/" + path + "/-/issues/1?page=20", "/" + path + "/-/issues"} {
		f.quickest(t, aTalk, func() { f.read(t, page, "Cookie", cookie) }, page)
	}
}

// aTalk is what the first page of an issue may take.
const aTalk = 100 * time.Millisecond

// quickest holds the median of what is asked for to a limit.
func (f *issueForge) quickest(t *testing.T, limit time.Duration, ask func(), what string) {
	t.Helper()
	const times = 21
	took := make([]time.Duration, times)
	for range 6 { // the plan of a prepared statement settles after some uses
		ask()
	}
	for n := range took {
		began := time.Now()
		ask()
		took[n] = time.Since(began)
	}
	slices.Sort(took)
	t.Logf("%-75s: p50 %v", what, took[times/2].Round(10*time.Microsecond))
	if f.rows >= large && took[times/2] > limit {
		t.Errorf("%s takes %v", what, took[times/2])
	}
}
