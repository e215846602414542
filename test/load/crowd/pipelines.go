package crowd

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5"

	"stithy/internal/platform/postgres"
)

// Queued is jobs that shall wait for a runner.
type Queued struct {
	ProjectID, UserID int64
	SHA               string
	Spec              []byte   // what is planned for each of them
	Jobs              int      // ten to a pipeline
	Tags              []string // one for each job in turn; an empty one is none
	Repository        string   // the folder of the project's repository
}

// Pend makes jobs that wait for a runner, as if their pipelines had just come so
// far, and tells the nodes.
func Pend(ctx context.Context, tx pgx.Tx, q Queued) error {
	first, err := postgres.Value[int64](ctx, tx, `select coalesce(max(id), 0) + 1 from pipelines`)
	if err != nil {
		return err
	}
	last := first + int64(q.Jobs-1)/10
	if err := q.keep(ctx, first, last); err != nil {
		return err
	}
	for _, step := range []struct {
		sql  string
		args []any
	}{
		{`insert into pipelines (id, project_id, iid, sha, before_sha, ref, tag, status, source, user_id, created_at, updated_at)
			select i, $3, i, $4, '', 'main', false, 'pending', 'push', $5, now(), now() from generate_series($1::bigint, $2::bigint) i`,
			[]any{first, last, q.ProjectID, q.SHA, q.UserID}},
		{`insert into job_specs (id, pipeline_id, document) values ($1, $1, $2)`, []any{first, q.Spec}},
		{`create temp table fresh (id bigint, pipeline_id bigint, tags text[]) on commit drop`, nil},
		{`insert into fresh select (select coalesce(max(id), 0) from jobs) + i + 1, $1::bigint + i / 10,
				array_remove(array[($3::text[])[i % cardinality($3::text[]) + 1]], '')
			from generate_series(0, $2::int - 1) i`, []any{first, q.Jobs, q.Tags}},
		{`insert into jobs (id, project_id, pipeline_id, spec_id, user_id, bridge, name, stage, stage_index, status, run_when, allow_failure, tags,
				interruptible, created_at, queued_at, updated_at)
			select f.id, $1, f.pipeline_id, $2, $3, false, 'job ' || f.id, 'test', 0, 'pending', 'on_success', false, f.tags, false, now(), now(), now()
			from fresh f`, []any{q.ProjectID, first, q.UserID}},
		{`insert into job_lanes (project_id, protected, tags, serves, created_at)
			select distinct p.id, false, f.tags, array[-p.id, 0] || n.lineage, now()
			from fresh f, projects p join namespaces n on n.id = p.namespace_id where p.id = $1
			on conflict (project_id, protected, tags) do nothing`, []any{q.ProjectID}},
		{`insert into job_queue (job_id, lane_id, queued_at)
			select f.id, l.id, now() from fresh f join job_lanes l on l.project_id = $1 and not l.protected and l.tags = f.tags`, []any{q.ProjectID}},
		{`select pg_notify('stithy_jobs', l.id::text) from job_lanes l where l.project_id = $1 and l.tags in (select tags from fresh)`, []any{q.ProjectID}},
		{`select setval(pg_get_serial_sequence('pipelines', 'id'), (select max(id) from pipelines)),
			setval(pg_get_serial_sequence('jobs', 'id'), (select max(id) from jobs)),
			setval(pg_get_serial_sequence('job_specs', 'id'), (select max(id) from job_specs))`, nil},
	} {
		if _, err := tx.Exec(ctx, step.sql, step.args...); err != nil {
			return fmt.Errorf("%.60s: %w", strings.TrimSpace(step.sql), err)
		}
	}
	return nil
}

// Busy is where to look in a database that Toil filled.
type Busy struct {
	Project int64 // one that half of all jobs are of
	Runner  int64 // one that half of all jobs were run by
}

// Toil adds pipelines that have ended, ten jobs to each, to the projects of an
// estate. Half of them are of one project; one job in a thousand was skipped, one
// in ten thousand waits for a person.
func Toil(ctx context.Context, url string, jobs int, projects int64) (Busy, error) {
	b := Busy{Project: projects / 2, Runner: 1}
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return b, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	fill := func() error {
		for _, step := range []struct {
			sql  string
			args []any
		}{
			{`insert into pipelines (id, project_id, iid, sha, before_sha, ref, tag, status, source, user_id, started_at, finished_at, created_at, updated_at)
				select i, case when i % 2 = 0 then $2 else 1 + i * 7919 % $3 end, i, lpad(to_hex(i), 40, '0'), '', 'branch-' || i % 100, i % 50 = 0,
					(array['success', 'success', 'success', 'success', 'success', 'success', 'success', 'failed', 'failed', 'canceled'])[i % 10 + 1],
					'push', 1 + i % 10, at, at + interval '5 minutes', at, at + interval '5 minutes'
				from generate_series(1::bigint, $1::bigint) i, lateral (select timestamptz '2023-01-01' + i * interval '1 minute' as at) t`,
				[]any{jobs / 10, b.Project, projects}},
			{`insert into job_specs (id, pipeline_id, document) select i, i, '{}' from generate_series(1, $1::bigint) i`, []any{jobs / 10}},
			{`insert into jobs (id, project_id, pipeline_id, spec_id, user_id, bridge, name, stage, stage_index, status, run_when, allow_failure, tags,
					interruptible, runner_id, created_at, queued_at, started_at, finished_at, updated_at)
				select i, case when p % 2 = 0 then $2 else 1 + p * 7919 % $3 end, p, p, 1 + p % 10, i % 500 = 7, 'job ' || i % 10, 'test', i % 3,
					case when i % 10000 = 15 then 'manual' when i % 1000 = 13 then 'skipped' when i % 37 = 11 then 'canceled' when i % 7 = 0 then 'failed'
						else 'success' end, 'on_success', i % 20 = 0, '{linux}', true, case when i % 2 = 0 then 1 else 2 + i % 49 end, at, at, at,
					at + interval '1 minute', at + interval '1 minute'
				from generate_series(1::bigint, $1::bigint) i, lateral (select (i + 9) / 10 as p, timestamptz '2023-01-01' + i * interval '6 seconds' as at) t`,
				[]any{jobs, b.Project, projects}},
		} {
			if _, err := conn.Exec(ctx, step.sql, step.args...); err != nil {
				return fmt.Errorf("%.60s: %w", strings.TrimSpace(step.sql), err)
			}
		}
		return nil
	}
	if err := bare(ctx, conn, []string{"pipelines", "jobs", "job_specs"}, fill); err != nil {
		return b, err
	}
	return b, run(ctx, conn,
		`insert into runners (id, runner_type, digest, tags, created_at, updated_at)
			select i, 'instance_type', decode(lpad(to_hex(i), 64, '0'), 'hex'), '{linux}', now(), now() from generate_series(1, 50) i`,
		`alter table jobs set (autovacuum_enabled = false)`, `alter table pipelines set (autovacuum_enabled = false)`,
		`vacuum (freeze, analyze) pipelines, jobs, job_specs, runners`)
}

// keep holds the commits of pipelines by refs, as a job of the server does. It locks what every writer locks, shared: a
// server that may lock it alone takes lock files of git for leftovers of a crash, and removes them.
func (q Queued) keep(ctx context.Context, first, last int64) error {
	var refs strings.Builder
	for id := first; id <= last; id++ {
		fmt.Fprintf(&refs, "create refs/pipelines/%d %s\n", id, q.SHA)
	}
	for _, args := range [][]string{{"update-ref", "--stdin"}, {"pack-refs", "--all"}} {
		cmd := exec.CommandContext(ctx, "flock", append([]string{"--shared", filepath.Join(q.Repository, "writers"), "git", "--git-dir", q.Repository}, args...)...)
		cmd.Stdin = strings.NewReader(refs.String())
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("git %s: %w: %.2000s", args[0], err, out)
		}
	}
	return nil
}
