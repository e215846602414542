package dispatch

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/group/grouptest"
	"stithy/internal/platform/clock"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/postgres/postgrestest"
	"stithy/internal/project/projecttest"
)

func put(t testing.TB, q *pendingJobs, jobID, projectID int64, protected bool, tags ...string) {
	t.Helper()
	if err := q.db.InTx(t.Context(), func(tx pgx.Tx) error { return q.enqueue(t.Context(), tx, jobID, projectID, tags, protected) }); err != nil {
		t.Fatal(err)
	}
}

// next takes the next job and notes that it runs, 0 if there is none.
func next(t testing.TB, q *pendingJobs, s RunnerMatch) (id int64) {
	t.Helper()
	if s.Tags == nil {
		s.Tags = []string{}
	}
	if err := q.db.InTx(t.Context(), func(tx pgx.Tx) error {
		got, queue, found, err := q.take(t.Context(), tx, &s, nil)
		if err != nil || !found {
			return err
		}
		id = got.JobID
		_, err = tx.Exec(t.Context(), `insert into job_runs (job_id, project_id, runner_id, on_instance, digest, started_at, contacted_at, deadline)
values ($1, $2, 1, $3, decode(lpad(to_hex($1::bigint), 64, '0'), 'hex'), now(), now(), now())`, id, queue.ProjectID, s.fair())
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return id
}

func takesAll(t *testing.T, q *pendingJobs, s RunnerMatch, want ...int64) {
	t.Helper()
	got := []int64{}
	for {
		id := next(t, q, s)
		if id == 0 {
			break
		}
		got = append(got, id)
	}
	if !slices.Equal(got, append([]int64{}, want...)) {
		t.Errorf("%+v took %v, want %v", s, got, want)
	}
}

func newPendingJobs(t testing.TB) *pendingJobs {
	t.Helper()
	return &pendingJobs{db: postgrestest.New(t), clock: clock.System()}
}

func TestRunnersOfTheInstanceServeTheProjectFirstThatTheyServeLeast(t *testing.T) {
	t.Parallel()
	q := newPendingJobs(t)
	home := grouptest.New(t, q.db)
	a, b := projecttest.New(t, q.db, home.ID), projecttest.New(t, q.db, home.ID)
	for id := range int64(4) {
		put(t, q, id+1, a.ID, false)
	}
	put(t, q, 5, b.ID, false)
	put(t, q, 6, b.ID, false)
	takesAll(t, q, RunnerMatch{Scopes: OfInstance(), Untagged: true}, 1, 5, 2, 6, 3, 4)
}

func TestRunnersOfGroupsAndProjectsServeTheOldestJobFirst(t *testing.T) {
	t.Parallel()
	q := newPendingJobs(t)
	top := grouptest.New(t, q.db)
	sub := grouptest.New(t, q.db, grouptest.Under(top))
	a, b := projecttest.New(t, q.db, sub.ID), projecttest.New(t, q.db, top.ID)
	for i, p := range []int64{a.ID, a.ID, b.ID, a.ID, b.ID} {
		put(t, q, int64(i+1), p, false)
	}
	if got := next(t, q, RunnerMatch{Scopes: OfProjects([]int64{b.ID}), Untagged: true}); got != 3 {
		t.Errorf("the runner of one project got %d", got)
	}
	if got := next(t, q, RunnerMatch{Scopes: OfGroup(sub.ID), Untagged: true}); got != 1 {
		t.Errorf("the runner of the subgroup got %d", got)
	}
	takesAll(t, q, RunnerMatch{Scopes: OfGroup(top.ID), Untagged: true}, 2, 4, 5)
}

func TestWhatARunnerMayTake(t *testing.T) {
	t.Parallel()
	q := newPendingJobs(t)
	home, elsewhere := grouptest.New(t, q.db), grouptest.New(t, q.db)
	p := projecttest.New(t, q.db, home.ID)
	alone := projecttest.New(t, q.db, home.ID, projecttest.With("settings", `{"shared_runners_enabled":false,"group_runners_enabled":false}`))
	fill := func() {
		put(t, q, 1, p.ID, false)
		put(t, q, 2, p.ID, true)
		put(t, q, 3, p.ID, false, "linux")
		put(t, q, 4, p.ID, true, "linux", "gpu")
		put(t, q, 5, alone.ID, true)
	}
	for _, tt := range []struct {
		fact  string
		match RunnerMatch
		want  []int64
	}{
		{"untagged jobs alone", RunnerMatch{Scopes: OfInstance(), Untagged: true}, []int64{1, 2}},
		{"only with all tags", RunnerMatch{Scopes: OfInstance(), Tags: []string{"linux"}}, []int64{3}},
		{"more tags than asked for", RunnerMatch{Scopes: OfGroup(home.ID), Tags: []string{"a", "gpu", "linux"}, Untagged: true}, []int64{1, 2, 3, 4}},
		{"protected refs alone", RunnerMatch{Scopes: OfGroup(home.ID), Tags: []string{"gpu", "linux"}, Untagged: true, Protected: true}, []int64{2, 4}},
		{"another group", RunnerMatch{Scopes: OfGroup(elsewhere.ID), Tags: []string{"gpu", "linux"}, Untagged: true}, nil},
		{"no project", RunnerMatch{Scopes: []int64{}, Untagged: true}, nil},
		{"assigned", RunnerMatch{Scopes: OfProjects([]int64{alone.ID}), Untagged: true}, []int64{5}},
	} {
		fill()
		var want []int64
		for _, l := range queuesOf(t, q) {
			if tt.match.takes(&l) {
				want = append(want, l.ID)
			}
		}
		tt.match.Tags = append([]string{}, tt.match.Tags...)
		rows, err := postgres.All[ranked](t.Context(), q.db, sqlRank, tt.match.Scopes, tt.match.Tags, tt.match.Protected, tt.match.Untagged, tt.match.fair())
		if err != nil {
			t.Fatal(err)
		}
		var got []int64
		for _, r := range rows {
			got = append(got, r.ID)
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: the statement says %v, the rule %v", tt.fact, got, want)
		}
		takesAll(t, q, tt.match, tt.want...)
		if _, err := q.db.Exec(t.Context(), `delete from job_queue; delete from job_runs`); err != nil {
			t.Fatal(err)
		}
	}
}

func queuesOf(t testing.TB, q *pendingJobs) []Queue {
	t.Helper()
	queues, err := postgres.All[Queue](t.Context(), q.db, sqlWaiting)
	if err != nil {
		t.Fatal(err)
	}
	return queues
}

func TestAJobThatAClaimHoldsIsNotWaitedForWhenItIsTakenOut(t *testing.T) {
	t.Parallel()
	q := newPendingJobs(t)
	p := projecttest.New(t, q.db, grouptest.New(t, q.db).ID)
	put(t, q, 1, p.ID, false)
	s := RunnerMatch{Scopes: OfInstance(), Tags: []string{}, Untagged: true}
	err := q.db.InTx(t.Context(), func(tx pgx.Tx) error {
		if _, _, found, err := q.take(t.Context(), tx, &s, nil); err != nil || !found {
			return fmt.Errorf("claiming: %v %w", found, err)
		}
		taken := make(chan error)
		go func() {
			taken <- q.db.InTx(t.Context(), func(other pgx.Tx) error { return q.dequeue(t.Context(), other, 1) })
		}()
		return <-taken
	})
	if err != nil {
		t.Fatal(err)
	}
	put(t, q, 2, p.ID, false)
	if err := q.db.InTx(t.Context(), func(tx pgx.Tx) error { return q.dequeue(t.Context(), tx, 2) }); err != nil {
		t.Fatal(err)
	}
	takesAll(t, q, s)
}

// TestEveryJobIsClaimedExactlyOnce lets many runners of all kinds claim at once
// while connections are cut under them, before and after their commits.
func TestEveryJobIsClaimedExactlyOnce(t *testing.T) {
	t.Parallel()
	const runners, projects, jobs = 50, 8, 1000
	url := postgrestest.URL(t)
	db, err := postgres.Open(t.Context(), url, 10)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	q := &pendingJobs{db: db, clock: clock.System()}
	home := grouptest.New(t, db)
	var places []int64
	for range projects {
		places = append(places, projecttest.New(t, db, home.ID).ID)
	}
	tags := []string{"a", "b", "c"}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	if _, err := db.Exec(ctx, `create table claims (job_id bigint primary key, runner int not null)`); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() { // the jobs come while the runners ask
		random := rand.New(rand.NewPCG(1, 2))
		for id := range int64(jobs) {
			some := slices.DeleteFunc(slices.Clone(tags), func(string) bool { return random.IntN(2) == 0 })
			for {
				err := db.InTx(ctx, func(tx pgx.Tx) error {
					return q.enqueue(ctx, tx, id, places[random.IntN(projects)], some, random.IntN(2) == 0)
				})
				if err == nil || ctx.Err() != nil {
					break
				}
			}
		}
	})
	done := make(chan struct{})
	wg.Go(func() { // and somebody pulls the plug of a connection now and then
		ticker := time.NewTicker(150 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ctx.Done():
				return
			case <-ticker.C:
				_, _ = db.Exec(ctx, `select pg_terminate_backend(pid) from pg_stat_activity
where datname = current_database() and pid <> pg_backend_pid() order by random() limit 1`)
			}
		}
	})
	var hands sync.WaitGroup
	for n := range runners {
		hands.Go(func() {
			random := rand.New(rand.NewPCG(uint64(n), 3))
			s := RunnerMatch{Scopes: [][]int64{OfInstance(), OfGroup(home.ID), OfProjects(places)}[n%3], Tags: tags, Untagged: true, Protected: n%5 == 4}
			for ctx.Err() == nil {
				err := db.InTx(ctx, func(tx pgx.Tx) error {
					got, _, found, err := q.take(ctx, tx, &s, nil)
					if err != nil || !found {
						return err
					}
					if random.IntN(10) == 0 {
						return errors.New("undo the claim")
					}
					_, err = tx.Exec(ctx, `insert into claims (job_id, runner) values ($1, $2)`, got.JobID, n)
					return err
				})
				if pg, bad := err.(interface{ SQLState() string }); bad && pg.SQLState() == "23505" {
					t.Error("claimed twice:", err)
					return
				}
				if all, err := postgres.Value[int64](ctx, db, `select count(*) from claims`); err == nil && all == jobs {
					return
				}
			}
		})
	}
	hands.Wait()
	close(done)
	wg.Wait()
	claimed, err := postgres.Value[int64](t.Context(), db, `select count(*) from claims`)
	left, err2 := postgres.Value[int64](t.Context(), db, `select count(*) from job_queue`)
	if err != nil || err2 != nil || claimed != jobs || left != 0 {
		t.Fatalf("claimed %d of %d, %d left (%v, %v)", claimed, jobs, left, err, err2)
	}
}
