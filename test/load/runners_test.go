package load

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/ciconfig"
	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/pipeline"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/postgres/postgrestest"
	"stithy/internal/platform/secretbox"
	"stithy/internal/project/projecttest"
	"stithy/internal/token/tokentest"
	"stithy/internal/user/usertest"
	"stithy/test/load/crowd"
)

const (
	// aWaiter is what a runner may cost that waits, 200 MB for 10,000.
	aWaiter = 20_000
	// handover is what the slowest of a hundred jobs may take from its commit to its runner.
	handover = 50 * time.Millisecond
	// fewStatements is more than a hand-over needs, and far less than waking everybody would.
	fewStatements = 60
	// manyRunners is from how many on memory and times are judged.
	manyRunners = 5000
)

// kinds are the tags of runners and of jobs; the last takes what has none.
var kinds = []string{"amd64", "arm64", "gpu", "windows", "macos", "large", "small", "edge", "signed", ""}

// waitingRunners are many runners that wait for jobs on one node.
type waitingRunners struct {
	*node
	db      *postgres.DB
	queued  crowd.Queued
	clients int
	given   chan given
}

// given is a job that a runner got.
type given struct {
	job int64
	at  time.Time
}

// TestManyRunnersWaitForJobs has STITHY_LOAD_RUNNERS runners on one node, over
// HTTP, and STITHY_LOAD_PENDING jobs. Node and runners are two processes: each may
// have 20,000 files only, and the memory of the one is not that of the other.
func TestManyRunnersWaitForJobs(t *testing.T) {
	clients, jobs := size(t, "STITHY_LOAD_RUNNERS", "200"), size(t, "STITHY_LOAD_PENDING", "500")
	h := newWaitingRunners(t, clients)
	before := h.read(t, "memory")
	began := time.Now()
	h.fill(t)
	t.Logf("%d runners wait after %v", clients, time.Since(began).Round(time.Millisecond))
	h.rest(t, 4*time.Second) // who was seen is written down every three
	t.Run("a waiter costs memory alone", func(t *testing.T) { h.costsMemoryAlone(t, before) })
	t.Run("a job is handed to one at once", h.handsOver)
	t.Run("every job is claimed once", func(t *testing.T) { h.claimsOnce(t, jobs) })
}

func newWaitingRunners(t *testing.T, clients int) *waitingRunners {
	t.Helper()
	address, dir := postgrestest.URL(t), t.TempDir()
	key := filepath.Join(dir, "secret.key")
	if err := secretbox.Generate(key); err != nil {
		t.Fatal(err)
	}
	box, err := secretbox.Load(key)
	if err != nil {
		t.Fatal(err)
	}
	db, err := postgres.Open(t.Context(), address, 4)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	h := &waitingRunners{db: db, clients: clients, given: make(chan given, 100_000)}
	h.node = startNode(t, "STITHY_DATABASE_URL="+address, "STITHY_DATA_DIR="+dir, "STITHY_JOB_REQUEST_HOLD=5m")

	ann := usertest.New(t, db, usertest.Named("ann"))
	p := projecttest.New(t, db, grouptest.New(t, db, grouptest.Named("team")).ID, projecttest.Named("tool"))
	projecttest.Join(t, db, p, ann, access.Maintainer)
	h.queued = crowd.Queued{ProjectID: p.ID, UserID: ann.ID, Tags: kinds}
	token := tokentest.New(t, db, box, ann.ID)
	h.call(t, "POST", fmt.Sprintf("/projects/%d/repository/files/README", p.ID), token, `{"branch":"main","content":"x","commit_message":"first"}`, nil)
	var commits []struct{ ID string }
	h.call(t, "GET", fmt.Sprintf("/projects/%d/repository/commits", p.ID), token, "", &commits)
	h.queued.SHA = commits[0].ID
	found, err := filepath.Glob(filepath.Join(dir, "repositories", "@hashed", "*", "*", "*.git"))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	h.queued.Repository = found[0]
	if h.queued.Spec, err = json.Marshal(pipeline.Spec{
		Job: ciconfig.Job{Name: "build", Stage: "test", Script: []string{"make"}, When: ciconfig.OnSuccess}, Group: "build", NodeTotal: 1,
	}); err != nil {
		t.Fatal(err)
	}
	var digests [][]byte
	for i := range clients {
		digests = append(digests, box.Digest("runner", secretOf(i)))
	}
	if _, err := db.Exec(t.Context(), `
		insert into runners (runner_type, digest, tags, run_untagged, created_at, updated_at)
		select 'instance_type', d, array_remove(array[($2::text[])[(i - 1) % cardinality($2::text[]) + 1]], ''),
			($2::text[])[(i - 1) % cardinality($2::text[]) + 1] = '', now(), now()
		from unnest($1::bytea[]) with ordinality as r (d, i)`, digests, kinds); err != nil {
		t.Fatal(err)
	}
	return h
}

func secretOf(runner int) string { return fmt.Sprintf("svcrt-%020d", runner) }

func (h *waitingRunners) call(t *testing.T, method, path, token, body string, into any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://"+h.address+"/api/v4"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Private-Token", token)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode >= 300 {
		t.Fatalf("%s %s: %s %s %v", method, path, res.Status, text, err)
	}
	if into != nil {
		if err := json.Unmarshal(text, into); err != nil {
			t.Fatal(err)
		}
	}
}

// fill lets all runners ask, and returns when all wait.
func (h *waitingRunners) fill(t *testing.T) {
	t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, h.clients)
	for i := range h.clients {
		go func() { ended <- h.client(ctx, secretOf(i)) }()
	}
	t.Cleanup(func() {
		stop()
		for range h.clients {
			if err := <-ended; err != nil {
				t.Error("a runner ended with", err)
			}
		}
	})
	h.await(t, time.Minute, h.clients)
}

// client is a runner that asks for jobs until ctx ends, and begins each anew as
// soon as it has one.
func (h *waitingRunners) client(ctx context.Context, secret string) error {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", h.address)
	if err != nil {
		return unlessOver(ctx, err)
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	reader := bufio.NewReaderSize(conn, 4096)
	cursor := ""
	for {
		body, err := json.Marshal(map[string]any{
			"token": secret, "system_id": "s_1", "last_update": cursor, "info": map[string]any{"name": "load", "version": "1", "executor": "shell"},
		})
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(conn, "POST /api/v4/jobs/request HTTP/1.1\r\nHost: forge.example\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
			len(body), body); err != nil {
			return unlessOver(ctx, err)
		}
		res, err := http.ReadResponse(reader, nil)
		if err != nil {
			return unlessOver(ctx, err)
		}
		at := time.Now()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			return unlessOver(ctx, err)
		}
		switch res.StatusCode {
		case http.StatusCreated:
			var job struct{ ID int64 }
			if err := json.Unmarshal(text, &job); err != nil {
				return err
			}
			h.given <- given{job.ID, at}
		case http.StatusNoContent:
			cursor = res.Header.Get("X-Gitlab-Last-Update")
		default:
			return fmt.Errorf("%s: %s", res.Status, text)
		}
	}
}

func unlessOver(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// await returns when as many runners wait.
func (h *waitingRunners) await(t *testing.T, patience time.Duration, n int) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for tick := time.NewTicker(5 * time.Millisecond); ; <-tick.C {
		got := h.read(t, "").Waiting
		if got == n {
			tick.Stop()
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d runners wait", got, n)
		}
	}
}

// rest lets time pass: what happens in it is measured.
func (h *waitingRunners) rest(t *testing.T, length time.Duration) {
	t.Helper()
	select {
	case <-time.After(length):
	case <-t.Context().Done():
		t.Fatal("no time left")
	}
}

func (h *waitingRunners) costsMemoryAlone(t *testing.T, before reading) {
	window := 3 * time.Second
	if h.clients >= manyRunners {
		window = 12 * time.Second
	}
	idle := h.read(t, "")
	h.rest(t, window)
	after := h.read(t, "memory")
	n := int64(h.clients)
	each := (after.Memory - before.Memory) / n
	t.Logf("%d waiting: %d MB, %d before; %d bytes each, of which %d are stack and %d heap; %d times a connection was used in %v", after.Waiting,
		after.Memory>>20, before.Memory>>20, each, (after.Stacks-before.Stacks)/n, (after.Heap-before.Heap)/n, after.Acquired-idle.Acquired, window)
	// A node looks for itself every ten seconds, at queues and at settings, whoever waits.
	if used := after.Acquired - idle.Acquired; used > 8 {
		t.Errorf("a connection was used %d times", used)
	}
	if h.clients >= manyRunners && each > aWaiter {
		t.Errorf("each costs %d bytes", each)
	}
}

// pend makes jobs and holds the commits of their pipelines, as a job of ours
// would have done by then.
func (h *waitingRunners) pend(t *testing.T, jobs int, tags ...string) {
	t.Helper()
	q := h.queued
	q.Jobs = jobs
	if tags != nil {
		q.Tags = tags
	}
	if err := h.db.InTx(t.Context(), func(tx pgx.Tx) error { return crowd.Pend(t.Context(), tx, q) }); err != nil {
		t.Fatal(err)
	}
}

func (h *waitingRunners) handsOver(t *testing.T) {
	times := 20
	if h.clients >= manyRunners {
		times = 300
	}
	var took []time.Duration
	worst := int64(0)
	for i := range times {
		before := h.read(t, "").Acquired
		h.pend(t, 1, kinds[i%len(kinds)])
		committed := time.Now()
		select {
		case g := <-h.given:
			took = append(took, max(0, g.at.Sub(committed)))
		case <-time.After(30 * time.Second):
			t.Fatal("nobody got the job")
		}
		h.await(t, 10*time.Second, h.clients)
		worst = max(worst, h.read(t, "").Acquired-before)
	}
	slices.Sort(took)
	p50, p99 := took[len(took)/2], took[len(took)*99/100]
	t.Logf("%d jobs, one after the other: p50 %v, p99 %v from commit to runner; a connection used %d times at the most", times,
		p50.Round(100*time.Microsecond), p99.Round(100*time.Microsecond), worst)
	if worst > fewStatements {
		t.Errorf("a connection was used %d times for one job: more than one was woken", worst)
	}
	if limit := 20 * handover; p99 > limit || (h.clients >= manyRunners && p99 > handover) {
		t.Errorf("p99 %v", p99)
	}
}

func (h *waitingRunners) claimsOnce(t *testing.T, jobs int) {
	before, err := postgres.Value[int](t.Context(), h.db, `select count(*) from job_runs`)
	if err != nil {
		t.Fatal(err)
	}
	h.pend(t, jobs)
	began := time.Now()
	seen := map[int64]bool{}
	for len(seen) < jobs {
		select {
		case g := <-h.given:
			if seen[g.job] {
				t.Fatalf("job %d was given twice", g.job)
			}
			seen[g.job] = true
		case <-time.After(30 * time.Second):
			t.Fatalf("%d of %d were claimed, then none for long", len(seen), jobs)
		}
	}
	took := time.Since(began)
	t.Logf("%d jobs claimed by %d runners in %v, %.0f a second", jobs, h.clients, took.Round(time.Millisecond), float64(jobs)/took.Seconds())
	h.await(t, time.Minute, h.clients)
	type left struct{ Queued, Pending, Runs int }
	now, err := postgres.One[left](t.Context(), h.db, `select (select count(*) from job_queue) as queued,
		(select count(*) from jobs where status = 'pending') as pending, (select count(*) from job_runs) as runs`)
	if err != nil || now.Queued != 0 || now.Pending != 0 || now.Runs != before+jobs || len(h.given) != 0 {
		t.Errorf("%+v, %d more given, %v", now, len(h.given), err)
	}
}
