package pipeline_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/pipeline"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
)

// set is a number that a longer run than that of every day sets.
func set(t *testing.T, variable string, usual int) int {
	t.Helper()
	n, err := strconv.Atoi(cmp.Or(os.Getenv(variable), strconv.Itoa(usual)))
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return n
}

// TestStoredStatusesAreWhatTheJobsSay drives pipelines of random shapes from
// several sides at once, while connections are cut under them, before and after
// their commits. Whatever comes in between: what is stored is what the pure
// functions say of the jobs, no job is given out twice, and all comes to an end
// once runners have worked off what waits for them. STITHY_TEST_STORMS says how
// often, each time in another fixture.
func TestStoredStatusesAreWhatTheJobsSay(t *testing.T) {
	t.Parallel()
	some := set(t, "STITHY_TEST_SHAPES", 3) // configurations, each of three pipelines
	for n := range set(t, "STITHY_TEST_STORMS", 1) {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			t.Parallel()
			drive(t, some, uint64(n*some)+6)
		})
	}
}

// drive is one storm, with shapes from a seed on.
func drive(t *testing.T, some int, seed uint64) {
	t.Helper()
	w := newFixture(t, "")
	s := &storm{fixture: w, by: w.actor(access.Developer), started: map[int64]int{}}
	for shape := range some {
		file := ".svc-ci.yml"
		if shape > 0 {
			file = "~" + file // it is there already
		}
		w.commit(t, access.Maintainer, "main", "Random", map[string]string{file: randomConfig(uint64(shape) + seed)})
		for range 3 {
			s.ids = append(s.ids, w.create(t).ID)
		}
	}
	s.at = w.standing(t, access.Developer)
	const workers, steps = 6, 30 // steps for each shape
	done := make(chan struct{})
	var killer, hands sync.WaitGroup
	killer.Go(func() { s.cut(t.Context(), done) })
	for n := range workers {
		hands.Go(func() {
			r := rand.New(rand.NewPCG(uint64(n), seed))
			for range steps * some {
				if err := s.act(t.Context(), r); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	hands.Wait()
	close(done)
	killer.Wait()
	w.db.Pool().Reset() // some of its connections were cut
	s.check(t)
	s.workOff(t)
	s.check(t)
	t.Logf("%d pipelines, %d jobs given out, %d times a connection was cut", len(s.ids), len(s.started), s.cuts)
}

// Jobs of a running pipeline are started side by side, but none of them twice.
func TestOfTwoWhoTakeAJobOneGetsIt(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "{a: {script: x}, b: {script: x}}")
	id := w.create(t).ID
	w.start(t, id, "a")
	job := w.jobs(t, id)["b"].ID
	var both sync.WaitGroup // have looked
	both.Add(2)
	told := make(chan error, 2)
	for range 2 {
		go func() {
			told <- w.db.InTx(t.Context(), func(tx pgx.Tx) error {
				c, err := w.Candidate(t.Context(), tx, job)
				both.Done()
				both.Wait()
				if err != nil {
					return err
				}
				return w.Start(t.Context(), tx, c, 1)
			})
		}()
	}
	one, other := <-told, <-told
	if !errors.Is(errors.Join(one, other), pipeline.ErrNotPending) || (one != nil && other != nil) {
		t.Errorf("%v and %v", one, other)
	}
}

// Whoever finds that a job is taken asks for no more than a share of its
// pipeline: two who wanted more would wait for each other.
func TestWhoFindsAJobTakenWaitsForNobody(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "{a: {script: x}, b: {script: x}}")
	id := w.create(t).ID
	w.start(t, id, "a")
	jobs := w.jobs(t, id)
	w.in(t, func(tx pgx.Tx) error {
		if _, err := w.Candidate(t.Context(), tx, jobs["b"].ID); err != nil {
			return err
		}
		told := make(chan error, 1)
		go func() {
			told <- w.db.InTx(t.Context(), func(other pgx.Tx) error {
				_, err := w.Candidate(t.Context(), other, jobs["a"].ID)
				return err
			})
		}()
		select {
		case err := <-told:
			if !errors.Is(err, pipeline.ErrNotPending) {
				t.Error(err)
			}
		case <-time.After(10 * time.Second):
			t.Error("it waits for one who starts another job")
		}
		return nil
	})
}

// randomConfig is a file of twelve jobs in three stages.
func randomConfig(seed uint64) string {
	var b strings.Builder
	random := rand.New(rand.NewPCG(seed, seed))
	whens := []string{"on_success", "on_success", "on_failure", "always", "manual"}
	b.WriteString("stages: [s0, s1, s2]\n")
	for i := range 12 {
		fmt.Fprintf(&b, "j%d: {stage: s%d, script: [x], when: %s, allow_failure: %v", i, i/4, whens[random.IntN(len(whens))], random.IntN(3) == 0)
		if i >= 4 && random.IntN(2) == 0 {
			fmt.Fprintf(&b, ", needs: [j%d]", random.IntN(4))
		}
		if random.IntN(4) == 0 {
			b.WriteString(", retry: 1")
		}
		if random.IntN(5) == 0 {
			b.WriteString(", resource_group: r")
		}
		b.WriteString("}\n")
	}
	return b.String()
}

// storm is much that happens at once.
type storm struct {
	*fixture
	by   access.Actor
	at   *project.Project
	ids  []int64 // of pipelines
	cuts int

	mu      sync.Mutex
	started map[int64]int // how often a job was given out, as far as somebody was told
}

// cut ends a connection now and then.
func (s *storm) cut(ctx context.Context, done <-chan struct{}) {
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-done:
			return
		case <-ctx.Done():
			return
		case <-ticker.C:
			tag, err := s.db.Exec(ctx, `select pg_terminate_backend(pid) from pg_stat_activity
				where datname = current_database() and pid <> pg_backend_pid() order by random() limit 1`)
			if err == nil {
				s.cuts += int(tag.RowsAffected())
			}
		}
	}
}

// act does something to some job.
func (s *storm) act(ctx context.Context, r *rand.Rand) error {
	id, err := postgres.Value[int64](ctx, s.db, `select id from jobs where pipeline_id = $1 order by random() limit 1`, s.ids[r.IntN(len(s.ids))])
	if err != nil {
		return unlessCut(err)
	}
	switch r.IntN(9) {
	case 0:
		_, err = s.CancelJob(ctx, s.by, s.at, id)
	case 1:
		_, err = s.RetryJob(ctx, s.by, s.at, id)
	case 2:
		_, err = s.PlayJob(ctx, s.by, s.at, id, nil)
	case 3, 4, 5:
		err = s.giveOut(ctx, id)
	default:
		o := passed
		if r.IntN(3) == 0 {
			o = failed
		}
		err = s.finish(ctx, id, o)
	}
	_, said := fault.Of(err)
	if said || errors.Is(err, pipeline.ErrTransition) || errors.Is(err, pipeline.ErrNotPending) {
		return nil
	}
	return unlessCut(err)
}

// unlessCut lets pass that the connection went: whether the act happened, nobody
// was told.
func unlessCut(err error) error {
	var pg *pgconn.PgError
	if err == nil || (errors.As(err, &pg) && pg.Code != "57P01") {
		return err
	}
	return nil
}

func (s *storm) giveOut(ctx context.Context, id int64) error {
	err := s.db.InTx(ctx, func(tx pgx.Tx) error { return s.give(ctx, tx, id) })
	if err == nil {
		s.mu.Lock()
		s.started[id]++
		s.mu.Unlock()
	}
	return err
}

func (s *storm) finish(ctx context.Context, id int64, o pipeline.Outcome) error {
	return s.db.InTx(ctx, func(tx pgx.Tx) error {
		_, err := s.Finish(ctx, tx, id, o)
		return err
	})
}

// workOff lets runners have what waits for them until nothing does.
func (s *storm) workOff(t *testing.T) {
	t.Helper()
	for round := 0; ; round++ {
		s.carryOn(t)
		rows, err := postgres.All[struct {
			ID     int64
			Status pipeline.Status
		}](t.Context(), s.db, `select id, status from jobs where not retried and status in ('pending', 'running') order by id`)
		if err != nil {
			t.Fatal(err)
		}
		if len(rows) == 0 {
			break
		}
		if round > 1000 {
			t.Fatalf("%d jobs never end", len(rows))
		}
		for _, j := range rows {
			if j.Status == pipeline.Pending {
				if err := s.giveOut(t.Context(), j.ID); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.finish(t.Context(), j.ID, passed); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, id := range s.ids {
		if pl, err := s.ByID(t.Context(), s.db, id); err != nil || (!pl.Status.Complete() && pl.Status != pipeline.Manual) {
			t.Errorf("pipeline %d waits for ever: %s, %v", id, s.states(t, id), err)
		}
	}
}

// check holds what is stored against the pure functions.
func (s *storm) check(t *testing.T) {
	t.Helper()
	for id, n := range s.started {
		if n > 1 {
			t.Errorf("job %d was given out %d times", id, n)
		}
	}
	for _, id := range s.ids {
		var states []pipeline.State
		var nodes []pipeline.Node
		for _, j := range s.jobs(t, id) {
			state := pipeline.State{Status: j.Status, AllowFailure: j.AllowFailure}
			states = append(states, state)
			nodes = append(nodes, pipeline.Node{
				ID: j.ID, Name: j.Name, Stage: int(j.StageIndex), State: state, When: j.RunWhen, Needs: j.Needs, Resource: j.ResourceGroupID != nil,
			})
		}
		pl, err := s.ByID(t.Context(), s.db, id)
		if err != nil || pl.Status != pipeline.Combine(states) {
			t.Errorf("pipeline %d is stored as %s, its jobs say %s: %v", id, pl.Status, pipeline.Combine(states), err)
		}
		if left := pipeline.Advance(nodes); len(left) > 0 {
			t.Errorf("pipeline %d: %v was left undone", id, left)
		}
	}
	twice, err := postgres.Value[int](t.Context(), s.db, `select count(*) from (
		select pipeline_id, name from jobs where not retried group by 1, 2 having count(*) > 1) d`)
	if err != nil || twice != 0 {
		t.Errorf("%d jobs have two latest records, %v", twice, err)
	}
	holders, err := postgres.Value[int](t.Context(), s.db, `select count(*) from jobs j join resource_groups g on g.id = j.resource_group_id
		where not j.retried and j.status in ('pending', 'running')`)
	if err != nil || holders > 1 {
		t.Errorf("%d jobs hold one resource, %v", holders, err)
	}
}
