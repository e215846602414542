package pipeline_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/pipeline"
	"stithy/internal/platform/postgres"
)

// TestStoredStatusesAreWhatTheJobsSay drives pipelines from several sides at
// once. Whatever comes in between, what is stored is what the pure functions say
// of the jobs, and no job is given out twice.
func TestStoredStatusesAreWhatTheJobsSay(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	var b strings.Builder
	random := rand.New(rand.NewPCG(6, 6))
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
	w.commit(t, access.Maintainer, "main", "Random", map[string]string{".svc-ci.yml": b.String()})
	const pipelines, workers, steps = 6, 6, 60
	var ids []int64
	for range pipelines {
		ids = append(ids, w.create(t).ID)
	}
	var mu sync.Mutex
	started := map[int64]int{}
	p := w.standing(t, access.Developer)
	by := w.actor(access.Developer)
	act := func(r *rand.Rand) error {
		id, err := postgres.Value[int64](t.Context(), w.db, `select id from jobs where pipeline_id = $1 order by random() limit 1`, ids[r.IntN(len(ids))])
		if err != nil {
			return err
		}
		switch r.IntN(9) {
		case 0:
			_, err = w.CancelJob(t.Context(), by, p, id)
		case 1:
			_, err = w.RetryJob(t.Context(), by, p, id)
		case 2:
			_, err = w.PlayJob(t.Context(), by, p, id, nil)
		case 3, 4, 5:
			err = w.db.InTx(t.Context(), func(tx pgx.Tx) error {
				_, err := w.Start(t.Context(), tx, id, 1)
				return err
			})
			if err == nil {
				mu.Lock()
				started[id]++
				mu.Unlock()
			}
		default:
			o := passed
			if r.IntN(3) == 0 {
				o = failed
			}
			err = w.db.InTx(t.Context(), func(tx pgx.Tx) error {
				_, err := w.Finish(t.Context(), tx, id, o)
				return err
			})
		}
		_, said := fault.Of(err)
		if said || errors.Is(err, pipeline.ErrTransition) || errors.Is(err, pipeline.ErrNotPending) {
			return nil
		}
		return err
	}
	var wg sync.WaitGroup
	for n := range workers {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(n), 7))
			for range steps {
				if err := act(r); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	w.carryOn(t)
	for id, n := range started {
		if n > 1 {
			t.Errorf("job %d was given out %d times", id, n)
		}
	}
	type row struct {
		Status       pipeline.Status
		AllowFailure bool
	}
	for _, id := range ids {
		rows, err := postgres.All[row](t.Context(), w.db, `select status, allow_failure from jobs where pipeline_id = $1 and not retried`, id)
		if err != nil {
			t.Fatal(err)
		}
		var states []pipeline.State
		for _, r := range rows {
			states = append(states, pipeline.State{Status: r.Status, AllowFailure: r.AllowFailure})
		}
		pl, err := w.Known(t.Context(), w.db, id)
		if err != nil || pl.Status != pipeline.Combine(states) {
			t.Errorf("pipeline %d is stored as %s, its jobs say %s: %v", id, pl.Status, pipeline.Combine(states), err)
		}
	}
	twice, err := postgres.Value[int](t.Context(), w.db, `select count(*) from (
		select pipeline_id, name from jobs where not retried group by 1, 2 having count(*) > 1) d`)
	if err != nil || twice != 0 {
		t.Errorf("%d jobs have two latest records, %v", twice, err)
	}
	holders, err := postgres.Value[int](t.Context(), w.db, `select count(*) from jobs j join resource_groups g on g.id = j.resource_group_id
		where not j.retried and j.status in ('pending', 'running')`)
	if err != nil || holders > 1 {
		t.Errorf("%d jobs hold one resource, %v", holders, err)
	}
}
