package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/ciconfig"
	"stithy/internal/pipeline"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/secretbox"
	"stithy/test/load/crowd"
	"stithy/test/load/history"
)

// ciRows are the rows about jobs.
var ciRows = []int{claimRow, logRow}

const (
	claimRow = 12
	logRow   = 13

	chunk      = 4096
	appendEach = 400
	// perLog is how many chunks a log takes.
	perLog = 20_000
	// longLog is how long a log is that has much behind it.
	longLog = 48 << 20
	// readSize is the size of a finished log.
	readSize = 1 << 20
)

// ci is what jobs of a site need.
type ci struct {
	s        *site
	conn     *pgx.Conn
	queued   crowd.Queued
	git      string
	logs     string // where bare keeps logs
	finished string // file of a finished log
	runner   string // secrets
	token    string
	read     string  // path of the log that is read
	growing  [3]*job // for bare, and two for stithy
	long     *job
	quick    bool
}

// job is one that runs.
type job struct {
	ID    int64
	Token string
}

// worker is somebody with a namespace of their own and a project to work on.
const worker = "worker"

// work makes a project, a runner and some jobs.
func (s *site) work(ctx context.Context, server *server, p plan) (err error) {
	c := &ci{s: s, logs: filepath.Join(s.dir, "bare-logs"), quick: p.quick}
	if err := os.Mkdir(c.logs, 0o750); err != nil {
		return err
	}
	if c.conn, err = pgx.Connect(ctx, s.address); err != nil {
		return err
	}
	password := filepath.Join(s.dir, "password-"+worker)
	if err := os.WriteFile(password, []byte(secretbox.RandomToken(20)+"\n"), 0o600); err != nil {
		return err
	}
	if _, err := s.run(ctx, "admin", "create-user", "--username", worker, "--name", "Worker", "--email", "worker@example.com", "--password-file", password); err != nil {
		return err
	}
	if c.token, err = s.run(ctx, "admin", "create-token", "--username", worker, "--name", "bench", "--scopes", "api"); err != nil {
		return err
	}
	known, err := filepath.Glob(filepath.Join(s.dir, "repositories", "@hashed", "*", "*", "*.git"))
	if err != nil {
		return err
	}
	var project struct{ ID int64 }
	if err := server.post(ctx, "/api/v4/projects", c.token, url.Values{"name": {"jobs"}, "visibility": {"private"}}, &project); err != nil {
		return err
	}
	at := "/api/v4/projects/" + strconv.FormatInt(project.ID, 10)
	if err := server.post(ctx, at+"/repository/files/first", c.token,
		url.Values{"branch": {"main"}, "content": {"x"}, "commit_message": {"first"}}, nil); err != nil {
		return err
	}
	found, err := filepath.Glob(filepath.Join(s.dir, "repositories", "@hashed", "*", "*", "*.git"))
	if err != nil {
		return err
	}
	for _, dir := range found {
		if !strings.Contains(strings.Join(known, "\n"), dir) {
			c.git = dir
		}
	}
	sha, err := history.Output(ctx, c.git, nil, "rev-parse", "refs/heads/main")
	if err != nil {
		return err
	}
	spec, err := json.Marshal(pipeline.Spec{
		Job: ciconfig.Job{Name: "build", Stage: "test", Script: []string{"make"}, When: ciconfig.OnSuccess}, Group: "build", NodeTotal: 1,
	})
	if err != nil {
		return err
	}
	user, err := postgres.Value[int64](ctx, c.conn, `select id from users where username = $1`, worker)
	if err != nil {
		return err
	}
	c.queued = crowd.Queued{ProjectID: project.ID, UserID: user, SHA: strings.TrimSpace(sha), Spec: spec, Tags: []string{""}, Repository: c.git}
	box, err := secretbox.Load(filepath.Join(s.dir, "secret.key"))
	if err != nil {
		return err
	}
	c.runner = "svcrt-" + secretbox.RandomToken(20)
	if _, err := c.conn.Exec(ctx, `insert into runners (runner_type, digest, created_at, updated_at) values ('instance_type', $1, now(), now())`,
		box.Digest("runner", c.runner)); err != nil {
		return err
	}
	s.ci = c
	return c.prepareLogs(ctx, server, at)
}

// hear lets the runners have said something: after two minutes without a word a
// server ends their jobs, and tries again.
func (c *ci) hear(ctx context.Context) error {
	_, err := c.conn.Exec(ctx, `update job_runs set contacted_at = now() + interval '1 hour' where ended_at is null and contacted_at < now()`)
	return err
}

// refill sees to it that at least some jobs wait.
func (c *ci) refill(ctx context.Context, least int) error {
	if err := c.hear(ctx); err != nil {
		return err
	}
	if c.quick {
		least /= 4
	}
	have, err := postgres.Value[int](ctx, c.conn, `select count(*) from job_queue`)
	if err != nil || have >= least {
		return err
	}
	c.queued.Jobs = least - have
	return pgx.BeginFunc(ctx, c.conn, func(tx pgx.Tx) error { return crowd.Pend(ctx, tx, c.queued) })
}

// prepareLogs claims jobs to write logs of: one for each side, one that is long
// already, and one that ends, so that its log is archived.
func (c *ci) prepareLogs(ctx context.Context, server *server, at string) error {
	if err := c.refill(ctx, 40); err != nil {
		return err
	}
	claim := func() (*job, error) {
		j := &job{}
		return j, server.send(ctx, "POST", "/api/v4/jobs/request", c.asking(), http.StatusCreated, j, "Content-Type: application/json")
	}
	ended, err := claim()
	for _, into := range []**job{&c.growing[0], &c.growing[1], &c.growing[2], &c.long} {
		if err == nil {
			*into, err = claim()
		}
	}
	if err != nil {
		return err
	}
	if err := c.hear(ctx); err != nil {
		return err
	}
	if _, err := c.conn.Exec(ctx, `insert into job_log_chunks (job_id, start, content)
		select $1, i * 131072, decode(repeat('78', 131072), 'hex') from generate_series(0, $2::bigint / 131072 - 1) i`, c.long.ID, longLog); err != nil {
		return err
	}
	if _, err := c.conn.Exec(ctx, `update job_logs set size = $2 where job_id = $1`, c.long.ID, longLog); err != nil {
		return err
	}
	const line = "what a compiler has to say about it\n"
	text := strings.Repeat(line, readSize/len(line))
	path := "/api/v4/jobs/" + strconv.FormatInt(ended.ID, 10)
	if err := server.send(ctx, "PATCH", path+"/trace", text, http.StatusAccepted, nil, "Job-Token: "+ended.Token, fmt.Sprintf("Content-Range: 0-%d", len(text)-1)); err != nil {
		return err
	}
	if err := server.send(ctx, "PUT", path, `{"token":"`+ended.Token+`","state":"success"}`, http.StatusOK, nil, "Content-Type: application/json"); err != nil {
		return err
	}
	c.read = at + "/jobs/" + strconv.FormatInt(ended.ID, 10) + "/trace"
	deadline := time.Now().Add(30 * time.Second)
	for time.Now().Before(deadline) {
		found, err := filepath.Glob(filepath.Join(c.s.dir, "*", "logs", "*", strconv.FormatInt(ended.ID, 10)))
		if err != nil {
			return err
		}
		archived, err := postgres.Value[bool](ctx, c.conn, `select archived_at is not null from job_logs where job_id = $1`, ended.ID)
		if err != nil {
			return err
		}
		if archived && len(found) == 1 {
			c.finished = found[0]
			return nil
		}
	}
	return errors.New("the log of a finished job was not archived")
}

// send sends a body and reads the answer.
func (s *server) send(ctx context.Context, method, path, body string, status int, into any, header ...string) error {
	req, err := http.NewRequestWithContext(ctx, method, "http://"+s.listen+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != status {
		return fmt.Errorf("%s: %s %s %w", path, res.Status, text, err)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(text, into)
}

func (c *ci) asking() string {
	return `{"token":"` + c.runner + `","system_id":"s_1","info":{"name":"bench","version":"1","executor":"shell"}}`
}

// pairs are the rows 12 and 13.
func (c *ci) pairs(bare, stithy *server) []*pair {
	claim := func(s *server, least int) *side {
		return &side{
			name: s.name, server: s, status: http.StatusCreated, prepare: func(ctx context.Context) error { return c.refill(ctx, least) },
			request: func(int) []byte {
				return message("POST", "/api/v4/jobs/request", c.asking(), "Content-Type: application/json")
			},
		}
	}
	// A log is written by one, piece after piece.
	grow := func(name string, s *server, j *job, from int) *side {
		body := strings.Repeat("x", chunk-1) + "\n"
		return few(appendEach, &side{name: name, server: s, status: http.StatusAccepted, request: func(n int) []byte {
			at := from + n%perLog*chunk
			return message("PATCH", "/api/v4/jobs/"+strconv.FormatInt(j.ID, 10)+"/trace", body, "Job-Token: "+j.Token,
				fmt.Sprintf("Content-Range: %d-%d", at, at+chunk-1))
		}})
	}
	token := "Private-Token: " + c.token
	return []*pair{
		{row: claimRow, name: "job claim, with all that a runner gets", limit: 2, today: 5, sides: [2]*side{claim(bare, 12_000), claim(stithy, 4_000)}},
		{row: logRow, name: "4 kB appended to a log", limit: 2, today: 3.5, sides: [2]*side{grow("bare, a file", bare, c.growing[0], 0), grow("stithy", stithy, c.growing[1], 0)}},
		{row: logRow, name: "4 kB appended, by what is there", limit: 1.15, sides: [2]*side{grow("stithy, a short log", stithy, c.growing[2], 0), grow("stithy, after 48 MB", stithy, c.long, longLog)}},
		{row: logRow, name: "log of 1 MB read", limit: 1.11, today: 3.5, sides: [2]*side{get(bare, "bare, ServeFile", c.read, token), get(stithy, "stithy", c.read, token)}},
	}
}
