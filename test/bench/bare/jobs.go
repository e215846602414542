package main

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/access"
	"stithy/internal/platform/secretbox"
)

// jobs gives out pending jobs and keeps their logs, each in a file.
type jobs struct {
	*server
	logs     string
	finished string
}

func (j *jobs) handle(mux *http.ServeMux) {
	mux.HandleFunc("POST /api/v4/jobs/request", j.request)
	mux.HandleFunc("PATCH /api/v4/jobs/{id}/trace", j.append)
	mux.HandleFunc("GET /api/v4/projects/{id}/jobs/{job}/trace", j.read)
}

const (
	sqlRunner = `select id from runners where digest = $1 and not paused and (token_expires_at is null or token_expires_at > $2)`

	// The loop that a claim comes down to: one row, passed over by all others.
	sqlClaim = `
with taken as (
	delete from job_queue where job_id = (select job_id from job_queue order by job_id limit 1 for update skip locked) returning job_id
), started as (
	update jobs j set status = 'running', runner_id = $1, started_at = $2, updated_at = $2 from taken t where j.id = t.job_id
	returning j.id, j.project_id, j.spec_id
), proved as (
	insert into job_runs (job_id, project_id, runner_id, on_instance, digest, started_at, contacted_at, deadline)
	select id, project_id, $1, true, $3, $2, $2, $2 from started
)
select s.id, d.document from started s join job_specs d on d.id = s.spec_id`

	sqlRun = `select r.job_id from job_runs r join jobs j on j.id = r.job_id where r.digest = $1 and j.status = 'running'`
)

func (j *jobs) request(w http.ResponseWriter, r *http.Request) {
	var asked struct{ Token string }
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var runner int64
	now := time.Now()
	if err := j.pool.QueryRow(r.Context(), sqlRunner, j.box.Digest("runner", asked.Token), now).Scan(&runner); err != nil {
		http.Error(w, err.Error(), http.StatusForbidden)
		return
	}
	answer := struct {
		ID    int64           `json:"id"`
		Token string          `json:"token"`
		Plan  json.RawMessage `json:"plan"`
	}{Token: secretbox.RandomToken(20)}
	err := j.pool.QueryRow(r.Context(), sqlClaim, runner, now, j.box.Digest(string(access.JobToken), answer.Token)).Scan(&answer.ID, &answer.Plan)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		w.WriteHeader(http.StatusNoContent)
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	default:
		w.WriteHeader(http.StatusCreated)
		reply(w, answer)
	}
}

func (j *jobs) append(w http.ResponseWriter, r *http.Request) {
	var job int64
	if err := j.pool.QueryRow(r.Context(), sqlRun, j.box.Digest(string(access.JobToken), r.Header.Get("Job-Token"))).Scan(&job); err != nil {
		http.Error(w, err.Error(), http.StatusForbidden)
		return
	}
	file, err := os.OpenFile(filepath.Join(j.logs, strconv.FormatInt(job, 10)), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err == nil {
		_, err = io.Copy(file, r.Body)
		err = errors.Join(err, file.Close())
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.WriteHeader(http.StatusAccepted)
}

func (j *jobs) read(w http.ResponseWriter, r *http.Request) {
	if j.authenticate(w, r, sqlToken) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		http.ServeFile(w, r, j.finished)
	}
}
