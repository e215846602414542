package load

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"stithy/internal/kit/access"
	"stithy/internal/kit/paging"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/postgres/postgrestest"
	"stithy/internal/setting"
	"stithy/test/load/crowd"
)

const (
	// aPage is what a page of jobs or pipelines may take.
	aPage = 20 * time.Millisecond
	// pageBlocks is what it may touch, with people, runners, files and commits beside the jobs.
	pageBlocks = 1500
)

type jobForge struct {
	*forge
	crowd.Busy
}

// TestListsOfManyJobs has STITHY_LOAD_JOBS jobs in history, half of them of one
// project and half of them of one runner.
func TestListsOfManyJobs(t *testing.T) {
	jobs := size(t, "STITHY_LOAD_JOBS", "20000")
	const projects = 1000
	address := postgrestest.URL(t)
	began := time.Now()
	if _, err := crowd.Settle(t.Context(), address, projects); err != nil {
		t.Fatal(err)
	}
	busy, err := crowd.Toil(t.Context(), address, jobs, projects)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d jobs in %v", jobs, time.Since(began).Round(time.Second))
	f := &jobForge{forge: newForge(t, address, jobs, "jobs", "pipelines", "job_specs"), Busy: busy}
	if err := f.app.Settings.Update(t.Context(), access.Actor{}, func(s *setting.Settings) { s.ProjectJobsAPIRateLimit = 0 }); err != nil {
		t.Fatal(err)
	}
	t.Run("keyset pages cost the same wherever they are", f.pagesAreFlat)
	t.Run("every page is answered soon", f.pagesAreQuick)
}

// quick measures a page, and holds it to its limits.
func (f *jobForge) quick(t *testing.T, path string) cost {
	t.Helper()
	for range 6 { // the plan of a prepared statement settles after some uses
		f.get(t, path, f.admin)
	}
	a, c := f.measure(t, path, f.admin)
	if len(a.ids) == 0 {
		t.Errorf("%s is empty", path)
	}
	limit := int64(pageBlocks)
	if a.header.Get("X-Page") != "" {
		limit = maxBuffers // a total is counted as far as it is told
	}
	if c.Buffers > limit {
		t.Errorf("%s touches %d blocks", path, c.Buffers)
	}
	if f.rows < large {
		return c
	}
	p50, _ := f.medians(t, path, path, f.admin)
	t.Logf("%-75s: %5d blocks, p50 %v", path, c.Buffers, p50.Round(10*time.Microsecond))
	if c.SeqRows > maxUnordered { // counting as far as it is told is no reading of the whole
		t.Errorf("%s reads %d rows without an index", path, c.SeqRows)
	}
	if p50 > aPage {
		t.Errorf("%s takes %v", path, p50)
	}
	return c
}

func (f *jobForge) pagesAreFlat(t *testing.T) {
	for _, list := range []struct{ path, among string }{
		{fmt.Sprintf("/projects/%d/jobs?pagination=keyset&order_by=id&sort=desc", f.Project), "project_id = $1 and not bridge"},
		{fmt.Sprintf("/projects/%d/jobs?pagination=keyset&order_by=id&sort=desc&scope[]=failed", f.Project), "project_id = $1 and not bridge and status = 'failed'"},
		{fmt.Sprintf("/projects/%d/jobs?pagination=keyset&order_by=id&sort=desc&scope[]=canceled&scope[]=skipped", f.Project),
			"project_id = $1 and not bridge and status in ('canceled', 'skipped')"},
		{fmt.Sprintf("/runners/%d/jobs?pagination=keyset&order_by=id", f.Runner), "runner_id = $1"},
		{fmt.Sprintf("/runners/%d/jobs?pagination=keyset&order_by=id&status=canceled", f.Runner), "runner_id = $1 and status = 'canceled'"},
	} {
		of := f.Project
		if list.path[1] == 'r' {
			of = f.Runner
		}
		type ends struct{ Middle, Last int64 }
		at, err := postgres.One[ends](t.Context(), f.app.DB, `select percentile_disc(0.5) within group (order by id) as middle,
			percentile_disc(0.0005) within group (order by id) as last from jobs where `+list.among, of)
		if err != nil {
			t.Fatal(err)
		}
		first := f.quick(t, list.path)
		for _, after := range []int64{at.Middle, at.Last + 300} {
			cursor := paging.Cursor{OrderBy: "id", Desc: true, After: []string{strconv.FormatInt(after, 10)}}
			deep := f.quick(t, list.path+"&cursor="+cursor.String())
			if float64(deep.Buffers) > 1.5*float64(first.Buffers)+50 {
				t.Errorf("%s: %d blocks for the first page, %d after %d", list.path, first.Buffers, deep.Buffers, after)
			}
		}
	}
}

func (f *jobForge) pagesAreQuick(t *testing.T) {
	project := fmt.Sprintf("/projects/%d", f.Project)
	runner := fmt.Sprintf("/runners/%d/jobs", f.Runner)
	for _, path := range []string{
		project + "/jobs", project + "/jobs?page=10", project + "/jobs?scope[]=failed", project + "/jobs?scope[]=manual",
		project + "/jobs?scope[]=manual&scope[]=skipped&page=2&per_page=1", project + "/pipelines", project + "/pipelines?page=10",
		project + "/pipelines?scope=finished", project + "/pipelines?status=failed", project + "/pipelines?scope=tags", project + "/pipelines?ref=branch-2",
		project + "/pipelines/2", project + "/pipelines/2/jobs", runner, runner + "?status=failed", runner + "?page=10", runner + "?order_by=id&sort=asc",
	} {
		f.quick(t, path)
	}
}
