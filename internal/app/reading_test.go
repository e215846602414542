package app

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"stithy/internal/artifact"
	"stithy/internal/kit/access"
	"stithy/internal/project"
	"stithy/internal/project/projecttest"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
	"stithy/internal/web"
)

// nobody is a role that no person has.
const nobody = access.Owner + 1

// left is a job with something of each kind that jobs leave or are given, each
// with a word that is nowhere else.
type left struct {
	job, pipeline int64
	ref           string
	canaries      map[string]access.Role // by word: from which role on it may be read
}

// leave makes a job whose files are for an audience, and whose log is for
// developers unless they are for everyone.
func (d *doors) leave(t testing.TB, p *project.Project, by *user.User, to artifact.Audience) left {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	word := func(what string) string { return fmt.Sprintf("canary-%s-%s-%d", what, to, p.ID) }
	files := map[artifact.Audience]access.Role{
		artifact.Everyone: access.NoRole, artifact.Developers: access.Developer, artifact.Maintainers: access.Maintainer, artifact.Nobody: nobody,
	}[to]
	l := left{ref: "ref-" + string(to), canaries: map[string]access.Role{
		word("archive"): files, word("filename"): files, word("junit"): files, word("dotenv"): files, word("log"): access.Guest,
		word("variable"): access.Maintainer, word("stored"): access.Maintainer,
	}}
	l.job = d.job(t, p, by, "success", word("log")+"\n")
	if to == artifact.Everyone {
		l.canaries[word("log")] = access.NoRole
	} else {
		l.canaries[word("log")] = access.Developer
		d.exec(t, `update job_specs set document = '{"job":{"name":"build"},"variables":[{"key":"CI_DEBUG_TRACE","value":"true"}]}'
			where id = (select spec_id from jobs where id = $1)`, l.job)
	}
	row := d.DB.QueryRow(ctx, `update pipelines set ref = $2 where id = (select pipeline_id from jobs where id = $1) returning id`, l.job, l.ref)
	if err := row.Scan(&l.pipeline); err != nil {
		t.Fatal(err)
	}
	sealed, err := d.Box.Seal([]byte(word("variable")), fmt.Sprintf("pipeline_variables.value:%d:K", l.pipeline))
	if err != nil {
		t.Fatal(err)
	}
	d.exec(t, `insert into pipeline_variables (pipeline_id, key, value, file, raw, position) values ($1, 'K', $2, false, false, 1)`, l.pipeline, sealed)
	d.api(t, "POST", below(p, "/variables"), map[string]any{"key": "K_" + string(to), "value": word("stored")}, "")
	var packed bytes.Buffer
	z := zip.NewWriter(&packed)
	for _, name := range []string{"out.txt"} {
		f, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(f, word("archive"))
	}
	_ = z.Close()
	for _, f := range []struct {
		kind   string
		format artifact.Format
		body   string
	}{
		{artifact.Archive, artifact.Zip, packed.String()},
		{artifact.JUnit, artifact.Raw, `<testsuite><testcase name="` + word("junit") + `"/></testsuite>`},
		{artifact.Dotenv, artifact.Raw, "A=" + word("dotenv") + "\n"},
	} {
		if _, err := d.Artifacts.Store(ctx, artifact.File{
			ProjectID: p.ID, JobID: l.job, Type: f.kind, Format: f.format, Filename: word("filename"), Access: to,
		}, strings.NewReader(f.body)); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

// carries is what routes have in their paths that may show something of jobs.
var carries = regexp.MustCompile(`job|pipeline|artifact|variable|trace|report|badge|runner|trigger|deployment|environment|release|package`)

// addresses are where something of a job could be read: every such route of the
// API that reads, and every page about a project, filled in with what is there.
func (l left) addresses(i *instance, p *project.Project) (api, pages []string) {
	fill := func(path string) string {
		return strings.NewReplacer(
			"{job_id}", fmt.Sprint(l.job), "{pipeline_id}", fmt.Sprint(l.pipeline), "{ref_name}", url.PathEscape(l.ref), "{artifact_path}", "out.txt",
			"{key}", "K_all", "{schedule_id}", "1", "{trigger_id}", "1",
		).Replace(path)
	}
	for _, e := range i.v4() {
		if e.Method != http.MethodGet || !carries.MatchString(e.Path) {
			continue
		}
		path := strings.Replace(e.Path, "/projects/{id}", fmt.Sprintf("/projects/%d", p.ID), 1)
		path = strings.Replace(path, "/jobs/{id}", fmt.Sprintf("/jobs/%d", l.job), 1)
		path = strings.Replace(path, "/runners/{id}", "/runners/1", 1)
		path = strings.Replace(path, "/groups/{id}", fmt.Sprintf("/groups/%d", p.NamespaceID), 1)
		path = fill(path)
		if strings.ContainsRune(path, '{') {
			continue // about something else
		}
		api = append(api, "/api/v4"+path+"?job=build&per_page=100&include_retried=true")
	}
	for _, route := range web.ProjectRoutes() {
		method, path, _ := strings.Cut(route, " ")
		if method != http.MethodGet {
			continue
		}
		id := l.job
		if strings.Contains(path, "pipelines/{id}") {
			id = l.pipeline
		}
		path = strings.ReplaceAll(strings.TrimSuffix(path, "/{$}"), "{id}", fmt.Sprint(id))
		if strings.ContainsRune(path, '{') {
			continue
		}
		pages = append(pages, "/"+p.FullPath()+path+"?from=1")
	}
	return api, pages
}

// jobToken is the token of a job that runs in a project for a person.
func (d *doors) jobToken(t testing.TB, p *project.Project, by *user.User) string {
	t.Helper()
	id := d.job(t, p, by, "running", "")
	secret := fmt.Sprintf("cbt-%d-secret", id)
	d.exec(t, `insert into job_runs (job_id, project_id, runner_id, on_instance, digest, started_at, contacted_at, deadline)
		values ($1, $2, 1, true, $3, $4, $4, $4::timestamptz + interval '1 hour')`, id, p.ID, d.Box.Digest(string(access.JobToken), secret), d.Clock.Now())
	return secret
}

// CI-15: on every route and page, for every role and kind of credential: nobody
// reads a file, a log, a report or a variable that is not for them, and those
// for whom it is do.
func TestCI15_WhatIsKeptFromSomebodyIsInNoAnswerToThem(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	author := usertest.New(t, d.DB)
	far := projecttest.New(t, d.DB, d.house.ID, projecttest.Named("far"), projecttest.Visible(access.Public)) // no project lists it
	near := projecttest.New(t, d.DB, d.house.ID, projecttest.Named("near"), projecttest.Visible(access.Public))
	for _, p := range []*project.Project{d.open, d.hidden} {
		d.exec(t, `insert into job_token_allowlist (project_id, target_id, created_at) values ($1, $2, now())`, p.ID, near.ID)
	}
	type reader struct {
		name string
		role access.Role // that the reader has
		api  func(*http.Request)
		page *browser
	}
	byHeader := func(name, secret string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, secret) }
	}
	readers := []reader{{name: "nobody", role: access.NoRole, api: func(*http.Request) {}, page: d.browser(t)}}
	for role, person := range d.people {
		if role == access.MinimalAccess {
			continue
		}
		b, u := d.signedIn(t, role, d.open, d.hidden)
		readers = append(readers,
			reader{fmt.Sprint("a token of role ", role), role, byHeader("Private-Token", d.token(t, person, access.ScopeAPI)), nil},
			reader{fmt.Sprint("a session of role ", role), role, nil, b},
			reader{fmt.Sprint("a job elsewhere, role ", role), access.NoRole, byHeader("Job-Token", d.jobToken(t, far, u)), nil},
			reader{fmt.Sprint("a job that is let in, role ", role), role, byHeader("Job-Token", d.jobToken(t, near, u)), nil},
		)
	}
	deploy := d.api(t, "POST", below(d.open, "/deploy_tokens"), map[string]any{"name": "d", "scopes": []string{"read_repository"}}, "token")
	runner := d.api(t, "POST", "/user/runners", map[string]any{"runner_type": "instance_type"}, "token")
	readers = append(readers,
		reader{"an administrator", access.Owner, byHeader("Private-Token", d.token(t, d.root, access.ScopeAPI)), nil},
		reader{"a job of an administrator that is let in", access.NoRole, byHeader("Job-Token", d.jobToken(t, near, d.root)), nil},
		reader{"a job of an administrator elsewhere", access.NoRole, byHeader("Job-Token", d.jobToken(t, far, d.root)), nil},
		reader{"a deploy token", access.NoRole, byHeader("Private-Token", deploy), nil},
		reader{"a deploy token of its own", access.NoRole, byHeader("Deploy-Token", deploy), nil},
		reader{"a runner", access.NoRole, byHeader("Runner-Token", runner), nil},
		reader{"a runner as a job", access.NoRole, byHeader("Job-Token", runner), nil},
	)
	found := map[string]bool{}
	for _, p := range []*project.Project{d.open, d.hidden} {
		for _, to := range []artifact.Audience{artifact.Everyone, artifact.Developers, artifact.Maintainers, artifact.Nobody} {
			l := d.leave(t, p, author, to)
			api, pages := l.addresses(d.instance, p)
			if len(api) < 25 || len(pages) < 8 {
				t.Fatalf("%d routes and %d pages are looked at", len(api), len(pages))
			}
			for _, r := range readers {
				look := func(address, body string) {
					for word, from := range l.canaries {
						if !strings.Contains(body, word) {
							continue
						}
						found[word] = true
						if r.role < from || (p == d.hidden && r.role < access.Guest) {
							t.Errorf("%s reads %s at %s", r.name, word, address)
						}
					}
				}
				if r.api != nil {
					for _, address := range api {
						look(address, d.do("GET", address, nil, r.api).Body.String())
					}
				}
				if r.page != nil {
					for _, address := range pages {
						look(address, r.page.send("GET", address, nil).Body.String())
					}
				}
			}
			for word, from := range l.canaries {
				if !found[word] && from <= access.Owner && !strings.Contains(word, "dotenv") {
					t.Errorf("nobody reads %s", word)
				}
			}
		}
	}
}
