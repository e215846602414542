package dispatch

import (
	"testing"

	"stithy/internal/ciconfig"
	"stithy/internal/kit/access"
	"stithy/internal/pipeline"
	"stithy/internal/platform/secretbox"
	"stithy/internal/project/projecttest"
	"stithy/internal/user/usertest"
	"stithy/internal/variable"
)

// CI-15: the log of a job that prints all that it does is for developers. That is
// decided by what the job was given and what its runner says, and stays so.
func TestCI15_ADebugLogStaysOne(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	reader := usertest.New(t, w.deps.DB, usertest.Named("rita"))
	projecttest.Join(t, w.deps.DB, w.project, reader, access.Reporter)
	set := func(key, value string) *variable.Variable {
		t.Helper()
		v := &variable.Variable{Key: key, Value: secretbox.Secret(value), Type: variable.EnvVar, Scope: "*"}
		if err := w.Variables.CreateIn(t.Context(), access.Actor{}, w.project.Entity(), v); err != nil {
			t.Fatal(err)
		}
		return v
	}
	remove := func(v *variable.Variable) {
		t.Helper()
		if err := w.Variables.DeleteIn(t.Context(), access.Actor{}, w.project.Entity(), v); err != nil {
			t.Fatal(err)
		}
	}
	inFile := func(key, value string) func(*pipeline.Spec) {
		return func(s *pipeline.Spec) { s.Variables = append(s.Variables, ciconfig.Variable{Key: key, Value: value}) }
	}
	handed := func(change ...func(*pipeline.Spec)) *Payload {
		t.Helper()
		w.pending(t, w.project, change...)
		p := w.handed(t)
		if p == nil {
			t.Fatal("a job is not handed out")
		}
		return p
	}
	write := func(p *Payload, query string) {
		t.Helper()
		want(t, w.call("PATCH", "/jobs/"+id(p.ID)+"/trace"+query, "line\n", byJob(p.Token), with("Content-Range", "0-4")), 202, "")
	}
	reads := func(name string, p *Payload, status int) {
		t.Helper()
		path := "/projects/" + id(w.project.ID) + "/jobs/" + id(p.ID) + "/trace"
		if r := w.call("GET", path, nil, w.as(t, reader)); r.Code != status {
			t.Errorf("%s, for a reporter: %d, want %d", name, r.Code, status)
		}
		want(t, w.call("GET", path, nil, w.as(t, w.ann)), 200, "line\n")
	}

	plain := handed(inFile("CI_DEBUG_TRACE", "false"))
	write(plain, "?debug_trace=false")
	reads("a plain log", plain, 200)
	later := set("CI_DEBUG_TRACE", "true")
	reads("a plain log, and a variable that came later", plain, 200)
	stored := handed()
	write(stored, "")
	reads("a stored variable", stored, 403)
	remove(later)
	reads("a stored variable that is gone", stored, 403)

	referred := set("DBG", "yes")
	expanded := handed(inFile("CI_DEBUG_TRACE", "$DBG"))
	write(expanded, "")
	reads("a variable that refers to another", expanded, 403)
	remove(referred)
	reads("a variable that refers to another, which is gone", expanded, 403)

	services := handed(inFile("CI_DEBUG_SERVICES", "1"))
	write(services, "")
	reads("logs of services", services, 403)

	said := handed()
	write(said, "?debug_trace=true")
	reads("the runner says so", said, 403)
	want(t, w.call("PATCH", "/jobs/"+id(said.ID)+"/trace?debug_trace=false", "", byJob(said.Token), with("Content-Range", "5-5")), 202, "")
	reads("the runner says so no more", said, 403)

	ended := handed()
	write(ended, "")
	want(t, w.call("PUT", "/jobs/"+id(ended.ID), map[string]any{"token": ended.Token, "state": "success", "debug_trace": true}), 200, "")
	reads("the runner says so at the end", ended, 403)
}
