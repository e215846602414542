package pipeline_test

import (
	"archive/zip"
	"bytes"
	"io"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"stithy/internal/artifact"
	"stithy/internal/kit/access"
	"stithy/internal/pipeline"
	"stithy/internal/project/projecttest"
	"stithy/internal/repository/repositorytest"
)

func (w *fixture) lastQueued(t testing.TB) pipeline.JobQueued {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := len(w.told) - 1; i >= 0; i-- {
		if q, ok := w.told[i].(pipeline.JobQueued); ok {
			return q
		}
	}
	t.Fatal("nothing was queued")
	return pipeline.JobQueued{}
}

func TestCI03_ProtectionIsJudgedWhenAJobComesToWait(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "a: {script: [x], when: manual}\n")
	w.as(t, access.Maintainer).Do(t, "POST", w.at("/protected_branches"), url.Values{"name": {"main"}}).WantStatus(t, 201)
	play := func() pipeline.JobQueued {
		t.Helper()
		pl, err := w.Create(t.Context(), w.actor(access.Maintainer), w.standing(t, access.Maintainer), pipeline.CreateRequest{Source: pipeline.FromAPI, Ref: "main"})
		if err != nil {
			t.Fatal(err)
		}
		w.as(t, access.Maintainer).Do(t, "POST", w.at("/jobs/%d/play", w.jobs(t, pl.ID)["a"].ID), nil).WantStatus(t, 200)
		return w.lastQueued(t)
	}
	if !play().Protected {
		t.Error("a job of a protected branch waits as one of an open one")
	}
	// A tag of the same name is another ref, which no rule speaks about.
	w.as(t, access.Maintainer).Do(t, "POST", w.at("/repository/tags"), url.Values{"tag_name": {"v1"}, "ref": {"main"}}).WantStatus(t, 201)
	pl, err := w.Create(t.Context(), w.actor(access.Developer), w.standing(t, access.Developer), pipeline.CreateRequest{Source: pipeline.FromAPI, Ref: "v1"})
	if err != nil || !pl.Tag {
		t.Fatal(pl, err)
	}
	w.as(t, access.Developer).Do(t, "POST", w.at("/jobs/%d/play", w.jobs(t, pl.ID)["a"].ID), nil).WantStatus(t, 200)
	if w.lastQueued(t).Protected {
		t.Error("a job of an open tag waits as one of a protected ref")
	}
	w.as(t, access.Maintainer).Do(t, "DELETE", w.at("/protected_branches/main"), nil).WantStatus(t, 204)
	if play().Protected {
		t.Error("a branch that is protected no more counts as protected")
	}
}

func TestCI04_VariablesOfAPipelineAreForMaintainersAndWhoeverMadeIt(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simple)
	pl := w.create(t, pipeline.Variable{Key: "CANARY_NAME", Value: "canary-value"})
	path := w.at("/pipelines/%d/variables", pl.ID)
	for role, want := range map[access.Role]int{
		access.Guest: 403, access.Reporter: 403, access.Developer: 200, access.Maintainer: 200, access.Owner: 200,
	} {
		w.as(t, role).Do(t, "GET", path, nil).WantStatus(t, want)
	}
	w.as(t, access.Developer).Do(t, "GET", path, nil).Want(t, 200, `[{"key":"CANARY_NAME","value":"canary-value","variable_type":"env_var","raw":false}]`)
	w.exec(t, `update pipelines set user_id = $1`, w.people[access.Maintainer].ID)
	w.as(t, access.Developer).Do(t, "GET", path, nil).WantStatus(t, 403)
	for _, below := range []string{"/pipelines", "/pipelines/1", "/jobs", "/pipelines/1/jobs", "/pipelines/latest"} {
		if r := w.as(t, access.Developer).Do(t, "GET", w.at("%s", below), nil).WantStatus(t, 200); strings.Contains(strings.ToLower(r.Body), "canary") {
			t.Errorf("%s tells of a variable", below)
		}
	}
}

func TestCI11_IncludesReadWhatThePersonMayReadAlone(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simple)
	hidden := projecttest.New(t, w.db, w.home.ID, projecttest.Named("hidden"), projecttest.Visible(access.Private))
	repositorytest.New(t, w.db, w.store, hidden, repositorytest.Files{"ci.yml": "secret-job: {script: [x]}\n"})
	lint := func(role access.Role, content string) string {
		t.Helper()
		return w.as(t, role).Do(t, "POST", w.at("/ci/lint"), map[string]any{"content": content}).WantStatus(t, 200).Body
	}
	const other = "include: {project: house/hidden, file: ci.yml}\na: {script: [x]}\n"
	if got := lint(access.Developer, other); !strings.Contains(got, "not found or access denied") || strings.Contains(got, "secret-job") {
		t.Error(got)
	}
	projecttest.Join(t, w.db, hidden, w.people[access.Maintainer], access.Reporter)
	if got := lint(access.Maintainer, other); !strings.Contains(got, "secret-job") {
		t.Error(got)
	}
	for _, address := range []string{
		"http://127.0.0.1:5432/ci.yml", "http://localhost/ci.yml", "http://[::1]/ci.yml", "http://169.254.169.254/latest/meta-data.yml",
		"http://10.0.0.1/ci.yml", "http://0x7f000001/ci.yml", "file:///etc/passwd.yml", "http://user:pass@127.0.0.1/ci.yml",
	} {
		got := lint(access.Developer, "include: {remote: '"+address+"'}\na: {script: [x]}\n")
		if !strings.Contains(got, `"valid":false`) || strings.Contains(got, "socket error") || strings.Contains(got, "HTTP code") {
			t.Errorf("%s: %s", address, got)
		}
	}
	// Who may not run pipelines has nothing fetched for them.
	w.as(t, access.Reporter).Do(t, "POST", w.at("/ci/lint"), map[string]any{"content": "a: {script: [x]}"}).WantStatus(t, 403)
}

func TestCI15_WhatJobsLeaveIsForThoseWhoMaySeeThem(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simple)
	pl := w.create(t)
	id := w.jobs(t, pl.ID)["build"].ID
	const canary = "canary-of-the-job"
	var packed bytes.Buffer
	z := zip.NewWriter(&packed)
	f, err := z.CreateHeader(&zip.FileHeader{Name: "a.txt", Method: zip.Store})
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(f, canary)
	_ = z.Close()
	for kind, text := range map[string]string{artifact.Archive: packed.String(), artifact.JUnit: `<testsuite><testcase name="` + canary + `"/></testsuite>`} {
		format := map[string]artifact.Format{artifact.Archive: artifact.Zip, artifact.JUnit: artifact.Raw}[kind]
		if _, err := w.artifacts.Store(t.Context(), artifact.File{ProjectID: w.project.ID, JobID: id, Type: kind, Format: format, Filename: canary}, strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.db.InTx(t.Context(), func(tx pgx.Tx) error {
		var b pgx.Batch
		if err := w.artifacts.BeginLog(&b, w.project.ID, id); err != nil {
			return err
		}
		return tx.SendBatch(t.Context(), &b).Close()
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.artifacts.AppendLog(t.Context(), id, 0, []byte(canary)); err != nil {
		t.Fatal(err)
	}
	w.exec(t, `update pipelines set status = 'success' where id = $1`, pl.ID)
	paths := []string{
		w.at("/jobs/%d/artifacts", id), w.at("/jobs/%d/artifacts/a.txt", id), w.at("/jobs/artifacts/main/download?job=build"),
		w.at("/jobs/artifacts/main/raw/a.txt?job=build"), w.at("/jobs/%d/trace", id), w.at("/jobs/%d", id), w.at("/pipelines/%d/test_report", pl.ID),
	}
	check := func(role access.Role, want int) {
		t.Helper()
		for _, path := range paths {
			got := w.as(t, role).Do(t, "GET", path, nil)
			if got.Status != want || strings.Contains(got.Body, canary) != (want == 200) {
				t.Errorf("%s for %d: %d %s, want %d", path, role, got.Status, got.Body, want)
			}
		}
	}
	check(access.Guest, 200)
	check(access.NoRole, 200)
	w.exec(t, `update projects set settings = settings || '{"public_jobs": false}' where id = $1`, w.project.ID)
	check(access.Guest, 403)
	check(access.NoRole, 403)
	check(access.Reporter, 200)
	w.exec(t, `update projects set visibility = 0 where id = $1`, w.project.ID)
	check(access.NoRole, 404)
	check(access.Guest, 403)
	w.exec(t, `update projects set settings = settings || '{"public_jobs": true}' where id = $1`, w.project.ID)
	check(access.Guest, 200)
	w.exec(t, `update projects set features = features || '{"builds": "disabled"}' where id = $1`, w.project.ID)
	check(access.Owner, 403)
	for _, path := range paths {
		if got := w.Do(t, "GET", path, nil); got.Status == 200 || strings.Contains(got.Body, canary) {
			t.Errorf("%s is open to everybody", path)
		}
	}
}
