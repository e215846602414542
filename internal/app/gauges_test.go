package app

import (
	"strings"
	"testing"
)

func TestAScrapeShowsWhatTheNodeStandsOn(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	i.disks.look()
	if _, err := i.DB.Exec(t.Context(), `insert into river_job (state, args, kind, max_attempts, finalized_at, queue)
		values ('discarded', '{}', 'x', 1, now(), 'default'), ('available', '{}', 'x', 1, null, 'default'), ('available', '{}', 'x', 1, null, 'default')`); err != nil {
		t.Fatal(err)
	}
	scrape := func() string { return i.do("GET", "/-/metrics", nil, nil).Body.String() }
	text := scrape()
	for _, want := range []string{
		`stithy_database_connections{state="max"} 4`, `stithy_database_connections{state="in_use"} `, "\nstithy_database_waits ", "\nstithy_database_wait_seconds ",
		`stithy_disk_free_bytes{disk="data"} `, `stithy_disk_size_bytes{disk="storage default"} `, `stithy_disk_free_bytes{disk="cache"} `,
		`stithy_git_processes{class="moving"} 0`, `stithy_git_processes{class="pooled"} `,
		`stithy_jobs{state="available"} 2`, `stithy_jobs{state="discarded"} 1`, `stithy_jobs{state="retryable"} 0`,
		"\nstithy_ci_jobs_pending 0", "\nstithy_runners_online 0",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the scrape lacks %s", want)
		}
	}
	// The database is not asked at every scrape.
	if _, err := i.DB.Exec(t.Context(), "delete from river_job"); err != nil {
		t.Fatal(err)
	}
	if text := scrape(); !strings.Contains(text, `stithy_jobs{state="available"} 2`) {
		t.Error("a second scrape counted again")
	}
}

func TestAFullDiskShowsInReadinessAndLeavesTheNodeInService(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	i.disks.least = 1 << 62
	i.disks.look()
	w := i.do("GET", "/-/readiness?all=1", nil, nil)
	if got := w.Body.String(); w.Code != 200 || !strings.Contains(got, `"disk_check":[{"status":"failed","message":"`) || !strings.Contains(got, " left") {
		t.Errorf("%d %s", w.Code, got)
	}
}
