package e2e

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/pipeline"
	"stithy/internal/platform/postgres"
)

// works is simulated runners at two nodes, of which one dies again and again.
type works struct {
	*pair
	db          *postgres.DB
	project     int64
	runnerToken string

	mu      sync.Mutex
	urls    []string      // of nodes that live
	given   map[int64]int // how often each job was handed to somebody
	results int           // that were acknowledged
}

// TestTwoNodesLoseNoJob kills a node amid claims and results of STITHY_TEST_PIPELINES pipelines, and connections of both.
// No job runs twice, none is lost, and what is stored of pipelines is what their jobs say.
func TestTwoNodesLoseNoJob(t *testing.T) {
	t.Parallel()
	pipelines, err := strconv.Atoi(cmp.Or(os.Getenv("STITHY_TEST_PIPELINES"), "6"))
	if err != nil {
		t.Fatal(err)
	}
	p := &pair{forge: install(t, "STITHY_REDIS_URL="+redisURL(t), "STITHY_JOB_REQUEST_HOLD=1s", "STITHY_DATABASE_MAX_CONNS=5")}
	for i := range p.nodes {
		p.nodes[i] = p.serve("STITHY_LISTEN=" + freeAddress(t))
	}
	w := &works{pair: p, given: map[int64]int{}, urls: []string{p.nodes[0].url, p.nodes[1].url}}
	p.url = p.nodes[1].url // this one lives
	if w.db, err = postgres.Open(t.Context(), p.database(), 2); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.db.Close)
	w.project = p.project("tool")
	dir := p.tree()
	p.commit(dir, ciFile, `
stages: [build, test, deploy]
a: {stage: build, script: [x]}
b: {stage: build, script: [x], allow_failure: true}
c: {stage: test, script: [x], needs: [a]}
d: {stage: test, script: [x], retry: 1}
e: {stage: test, script: [x], when: on_failure}
f: {stage: deploy, script: [x], when: always, resource_group: r}
g: {stage: deploy, script: [x], needs: [b, c]}
`)
	p.mustGit(dir, nil, "push", p.remote("tool"), "HEAD:refs/heads/main")
	var made struct{ Token string }
	p.asRoot(http.MethodPost, "/user/runners", map[string]string{"runner_type": "instance_type", "run_untagged": "true"}, &made)
	w.runnerToken = p.secret(made.Token)
	for range pipelines {
		if got := p.asRoot(http.MethodPost, fmt.Sprintf("/projects/%d/pipeline", w.project), map[string]string{"ref": "main"}, nil); got != http.StatusCreated {
			t.Fatalf("making a pipeline: %d", got)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	var runners sync.WaitGroup
	for n := range 8 {
		runners.Go(func() { w.run(ctx, t, rand.New(rand.NewPCG(uint64(n), 9))) })
	}
	for kill := 1; kill <= 1+pipelines/20; kill++ {
		eventually(t, ciPatience, "some jobs have ended", func() bool { return w.ended() >= 4*kill })
		w.die(t)
	}
	eventually(t, ciPatience, "every pipeline has come to its end", func() bool { return w.settled(t) })
	stop()
	runners.Wait()
	w.check(t)
}

func (w *works) ended() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.results
}

// die kills the first node, cuts a connection of the other, and starts the first anew.
func (w *works) die(t *testing.T) {
	t.Helper()
	w.mu.Lock()
	w.urls = []string{w.nodes[1].url}
	w.mu.Unlock()
	w.nodes[0].kill()
	if _, err := w.db.Exec(t.Context(), `select pg_terminate_backend(pid) from pg_stat_activity
		where datname = current_database() and application_name = 'stithy' and pid <> pg_backend_pid() order by random() limit 1`); err != nil {
		t.Error(err)
	}
	w.nodes[0] = w.serve("STITHY_LISTEN=" + freeAddress(t))
	w.mu.Lock()
	w.urls = []string{w.nodes[0].url, w.nodes[1].url}
	w.mu.Unlock()
}

// run is a runner: it asks, writes a log and says how it went. Who gets no answer asks the other node.
func (w *works) run(ctx context.Context, t *testing.T, random *rand.Rand) {
	for ctx.Err() == nil {
		var job struct {
			ID    int64
			Token string
		}
		status, text := w.say(ctx, random, http.MethodPost, "/jobs/request", map[string]any{"token": w.runnerToken, "system_id": "s_1"}, nil)
		if status != http.StatusCreated {
			if status >= 400 && status < 500 {
				t.Errorf("asking for a job: %d %s", status, text)
				return
			}
			continue
		}
		if err := json.Unmarshal(text, &job); err != nil {
			continue // the answer broke off
		}
		w.mu.Lock()
		w.given[job.ID]++
		w.mu.Unlock()
		path := fmt.Sprintf("/jobs/%d", job.ID)
		for try := 0; try < 50 && ctx.Err() == nil; try++ {
			if status, _ = w.say(ctx, random, http.MethodPatch, path+"/trace", "hello\n", map[string]string{"Job-Token": job.Token, "Content-Range": "0-5"}); status > 0 {
				break
			}
		}
		result := map[string]any{"token": job.Token, "state": "success"}
		if random.IntN(4) == 0 {
			result = map[string]any{"token": job.Token, "state": "failed", "failure_reason": "script_failure"}
		}
		for try := 0; try < 50 && ctx.Err() == nil; try++ {
			// After a lost answer the second try is told that the job has ended.
			if status, _ = w.say(ctx, random, http.MethodPut, path, result, nil); status == http.StatusOK || status == http.StatusForbidden {
				w.mu.Lock()
				w.results++
				w.mu.Unlock()
				break
			}
		}
	}
}

// say sends something to a node; 0 is no answer.
func (w *works) say(ctx context.Context, random *rand.Rand, method, path string, body any, header map[string]string) (int, []byte) {
	w.mu.Lock()
	url := w.urls[random.IntN(len(w.urls))]
	w.mu.Unlock()
	var content []byte
	kind := "text/plain"
	if text, plain := body.(string); plain {
		content = []byte(text)
	} else {
		content, _ = json.Marshal(body)
		kind = "application/json"
	}
	req, err := http.NewRequestWithContext(ctx, method, url+"/api/v4"+path, bytes.NewReader(content))
	if err != nil {
		return 0, nil
	}
	req.Header.Set("Content-Type", kind)
	for name, value := range header {
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode >= 500 {
		return 0, text
	}
	return res.StatusCode, text
}

// settled reports whether all pipelines have ended. Claims whose answer was lost are made old, and what looks for them
// every minute is asked to do so now.
func (w *works) settled(t *testing.T) bool {
	t.Helper()
	err := w.db.InTx(t.Context(), func(tx pgx.Tx) error {
		if _, err := tx.Exec(t.Context(), `update job_runs set started_at = started_at - interval '5 minutes', contacted_at = contacted_at - interval '5 minutes'
			where ended_at is null and contacted_at = started_at and started_at between now() - interval '4 minutes' and now() - interval '5 seconds'`); err != nil {
			return err
		}
		_, err := tx.Exec(t.Context(), `insert into river_job (kind, args, max_attempts) select 'dispatch_tend', '{}', 5
			where not exists (select from river_job where kind = 'dispatch_tend' and state in ('available', 'running', 'retryable'))`)
		return err
	})
	if err != nil {
		return false // the connection was cut
	}
	left, err := postgres.Value[int](t.Context(), w.db, `select count(*) from pipelines where status not in ('success', 'failed', 'canceled', 'skipped')`)
	if err != nil {
		return false
	}
	select {
	case <-time.After(200 * time.Millisecond):
	case <-t.Context().Done():
	}
	return left == 0
}

func (w *works) check(t *testing.T) {
	t.Helper()
	for id, times := range w.given {
		if times > 1 {
			t.Errorf("job %d was given out %d times", id, times)
		}
	}
	ids, err := postgres.Values[int64](t.Context(), w.db, `select id from pipelines order by id`)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		states, err := postgres.All[pipeline.State](t.Context(), w.db, `select status, allow_failure from jobs where pipeline_id = $1 and not retried`, id)
		if err != nil {
			t.Fatal(err)
		}
		stored, err := postgres.Value[pipeline.Status](t.Context(), w.db, `select status from pipelines where id = $1`, id)
		if err != nil || stored != pipeline.Combine(states) {
			t.Errorf("pipeline %d is stored as %s, its jobs say %s, %v", id, stored, pipeline.Combine(states), err)
		}
	}
	type row struct{ Queued, Running, Lost int }
	got, err := postgres.One[row](t.Context(), w.db, `select (select count(*) from job_queue) as queued,
		(select count(*) from job_runs r where r.ended_at is null) as running,
		(select count(*) from jobs where failure_reason = 'scheduler_failure') as lost`)
	if err != nil || got.Queued != 0 || got.Running != 0 {
		t.Errorf("left behind: %+v, %v", got, err)
	}
	t.Logf("%d pipelines, %d jobs given out, %d whose answer was lost", len(ids), len(w.given), got.Lost)
}
