package main

import (
	"fmt"
	"slices"
	"strings"
)

const jobForm = "id int, name str, stage str, status str, ref str, tag bool, coverage num?, allow_failure bool, archived bool, created_at time, started_at time?, finished_at time?, erased_at time?, duration num?, queued_duration num?, artifacts arr, tag_list arr, commit obj, pipeline obj, runner obj?, web_url url, project obj, user obj?"

// reporter is a member of the shared group with the Reporter role.
func (t *T) reporter() User {
	return memo(t, "Reporter of the group", func(t *T) User {
		u := t.newUser("reporter", nil)
		t.addMember(t.user("owner").Token, "groups", t.group().ID, u.ID, 20)
		return u
	})
}

// ciTagged is a pipeline of a tag.
func (t *T) ciTagged() CI {
	return memo(t, "pipeline of a tag", func(t *T) CI {
		p := t.newCI("tagci", "tagged:\n  tags: [IDLE]\n  allow_failure: true\n  script: [\"true\"]\n")
		t.tag(p, "v9.9.9", p.Branch)
		id := num(t.post(t.user("owner").Token, p.path("/pipeline"), M{"ref": "v9.9.9"}).ok(201).obj(), "id")
		return CI{Project: p, Pipeline: id, Jobs: t.pipelineJobs(p, id)}
	})
}

// ciScratch is a pipeline of jobs for rules that change them: pend-*, and later
// in a stage that waits.
func (t *T) ciScratch() CI {
	return memo(t, "scratch pipeline", func(t *T) CI {
		p := t.newCI("scratch", "stages: [one, two]\npend-x:\n  stage: one\n  tags: [IDLE]\n  script: [\"true\"]\npend-y:\n  stage: one\n  tags: [IDLE]\n  script: [\"true\"]\npend-z:\n  stage: one\n  tags: [IDLE]\n  script: [\"true\"]\nlater:\n  stage: two\n  tags: [IDLE]\n  script: [\"true\"]\n")
		id := t.startPipeline(p)
		return CI{Project: p, Pipeline: id, Jobs: t.awaitStatus(p, id, nil, map[string]string{"pend-x": "pending", "later": "created"})}
	})
}

// ciPrivate is a pipeline of a private project.
func (t *T) ciPrivate() CI {
	return memo(t, "pipeline of a private project", func(t *T) CI {
		p := t.newProject("privci", M{"visibility": "private"})
		t.commit(p, p.Branch, "Add CI [skip ci]", map[string]string{".svc-ci.yml": "hid:\n  tags: [" + t.idleTag() + "]\n  script: [\"true\"]\n"}, nil)
		id := t.startPipeline(p)
		return CI{Project: p, Pipeline: id, Jobs: t.pipelineJobs(p, id)}
	})
}

func moreJobs(a *areaTable) {
	owner := func(t *T) string { return t.user("owner").Token }
	finished := func(t *T, name string) M {
		ci := t.ciFinished("main")
		return t.job(ci.Project, num(ci.Jobs[name], "id"))
	}
	open := func(t *T, name string) M {
		ci := t.ciOpen()
		return t.job(ci.Project, num(ci.Jobs[name], "id"))
	}
	act := func(t *T, tok string, ci CI, name, verb string) *Resp {
		return t.post(tok, ci.Project.path("/jobs/%v/%s", ci.Jobs[name]["id"], verb), nil)
	}

	a.add("Every element of the list has the job fields", "project list of the finished pipeline", func(t *T) {
		for _, j := range t.get(owner(t), t.ciFinished("main").Project.path("/jobs?per_page=100")).ok(200).nonEmpty() {
			t.shape(j, jobForm)
		}
	})
	a.add("Every element of a pipeline's list has the job fields", "pipeline list", func(t *T) {
		ci := t.ciFinished("main")
		for _, j := range t.get(owner(t), ci.Project.path("/pipelines/%d/jobs", ci.Pipeline)).ok(200).nonEmpty() {
			t.shape(j, jobForm)
		}
	})
	a.add("GET /job has the job fields", "with the job token of a running job; status running", func(t *T) {
		tok, _ := t.jobToken()
		j := t.via("JOB-TOKEN", tok, "/job").ok(200).obj()
		t.shape(j, jobForm)
		t.eq("status", j["status"], "running")
	})
	a.add("failure_reason is present on failed jobs only", "absent on the successful and the pending job", func(t *T) {
		t.eq("failure_reason", finished(t, "fail-test")["failure_reason"], "script_failure")
		t.lacks(finished(t, "ok-build"), "failure_reason")
		t.lacks(open(t, "pend-a"), "failure_reason")
	})
	a.add("queued_duration is a number while a job waits", "pending job", func(t *T) { t.shape(open(t, "pend-a"), "queued_duration num") })
	a.add("queued_duration is not nullable", "a number also on a created and on a manual job; only duration may be null", func(t *T) {
		t.shape(open(t, "later"), "queued_duration num")
		t.shape(finished(t, "play-test"), "queued_duration num")
	})
	a.add("A running job has started_at, no finished_at, and a duration", "hold-a: started_at time, finished_at null, duration num", func(t *T) {
		j := open(t, "hold-a")
		t.eq("status", j["status"], "running")
		t.shape(j, "started_at time, duration num")
		t.check(j["finished_at"] == nil, "finished_at null", "%v", j["finished_at"])
	})
	a.add("started_at is not after finished_at, and duration is not negative", "successful job", func(t *T) {
		j := finished(t, "ok-build")
		t.check(str(j, "created_at") <= str(j, "started_at") && str(j, "started_at") <= str(j, "finished_at"), "created_at, started_at, finished_at in this order", "%v %v %v", j["created_at"], j["started_at"], j["finished_at"])
		t.check(!strings.HasPrefix(fmt.Sprint(j["duration"]), "-"), "no negative duration", "%v", j["duration"])
	})
	a.add("A job of a tag has tag true and the tag as ref", "pipeline of tag v9.9.9", func(t *T) {
		ci := t.ciTagged()
		j := t.job(ci.Project, num(ci.Jobs["tagged"], "id"))
		t.eq("tag", j["tag"], true)
		t.eq("ref", j["ref"], "v9.9.9")
		t.eq("pipeline.ref", sub(j, "pipeline")["ref"], "v9.9.9")
	})
	a.add("allow_failure holds the job's setting", "true where configured, false otherwise", func(t *T) {
		ci := t.ciTagged()
		t.eq("allow_failure", t.job(ci.Project, num(ci.Jobs["tagged"], "id"))["allow_failure"], true)
		t.eq("allow_failure", finished(t, "ok-build")["allow_failure"], false)
	})
	a.add("The job's commit is that of the pipeline", "commit.id = pipeline.sha; short_id is its beginning; title is the first line of message", func(t *T) {
		j := finished(t, "ok-build")
		c, p := sub(j, "commit"), sub(j, "pipeline")
		t.eq("pipeline.sha", p["sha"], c["id"])
		t.check(len(str(c, "short_id")) >= 7 && strings.HasPrefix(str(c, "id"), str(c, "short_id")), "short_id as the beginning of id", "%v of %v", c["short_id"], c["id"])
		t.check(str(c, "title") != "" && strings.HasPrefix(str(c, "message"), str(c, "title")), "title as the beginning of message", "%v of %v", c["title"], c["message"])
		t.eq("pipeline.project_id", p["project_id"], t.ciFinished("main").Project.ID)
		t.eq("pipeline.ref", p["ref"], j["ref"])
	})
	a.add("The job's web_url names the project and the job", "path of the project and the id in it", func(t *T) {
		j := finished(t, "ok-build")
		t.check(strings.Contains(str(j, "web_url"), "/"+t.ciFinished("main").Project.Path+"/") && strings.HasSuffix(str(j, "web_url"), fmt.Sprintf("/%v", j["id"])), "project path and job id", "%v", j["web_url"])
	})
	a.add("The job's user is in the public form, locked included", "publicForm of the user", func(t *T) { t.shape(sub(finished(t, "ok-build"), "user"), publicForm) })
	a.add("artifacts_file agrees with the archive among the artifacts", "same filename and size; file_format is zip, gzip or raw", func(t *T) {
		j := finished(t, "ok-build")
		f, arc := sub(j, "artifacts_file"), M(nil)
		for _, x := range mapsOf(j, "artifacts") {
			t.check(slices.Contains([]string{"zip", "gzip", "raw"}, str(x, "file_format")), "file_format zip, gzip or raw", "%v", x)
			if str(x, "file_type") == "archive" {
				arc = x
			}
		}
		t.check(arc != nil, "an archive", "%v", j["artifacts"])
		t.eq("filename", f["filename"], arc["filename"])
		t.eq("size", f["size"], arc["size"])
		t.check(num(f, "size") > 0, "a size above 0", "%v", f["size"])
	})
	a.add("artifacts_expire_at follows expire_in", "between 6 and 8 days ahead of finished_at", func(t *T) {
		j := finished(t, "ok-build")
		t.shape(j, "artifacts_expire_at time")
		at := str(j, "artifacts_expire_at")
		t.check(len(at) > 10 && at[:10] >= dateIn(6) && at[:10] <= dateIn(8), "a week ahead", "%v", at)
	})

	a.add("An unsupported value in scope[] is refused", "scope[]=failed&scope[]=bogus: 400", func(t *T) {
		t.get(owner(t), t.ciFinished("main").Project.path("/jobs?scope[]=failed&scope[]=bogus")).ok(400)
	})
	for _, kind := range []string{"jobs", "bridges"} {
		a.add("Pipeline "+kind+": an unsupported scope is refused", "scope=bogus: 400", func(t *T) {
			ci := t.ciFinished("main")
			t.get(owner(t), ci.Project.path("/pipelines/%d/%s", ci.Pipeline, kind)).ok(200)
			t.get(owner(t), ci.Project.path("/pipelines/%d/%s?scope=bogus", ci.Pipeline, kind)).ok(400)
		})
		a.add("Pipeline "+kind+": a pipeline of another project is not found", "404", func(t *T) {
			ci := t.ciFinished("main")
			t.get(owner(t), ci.Project.path("/pipelines/%d/%s", ci.Pipeline, kind)).ok(200)
			t.get(owner(t), t.ciMany().Project.path("/pipelines/%d/%s", ci.Pipeline, kind)).ok(404)
		})
		a.add("Pipeline "+kind+" of a private project are hidden", "a stranger and an anonymous caller: 404 (or 401)", func(t *T) {
			ci := t.ciPrivate()
			path := ci.Project.path("/pipelines/%d/%s", ci.Pipeline, kind)
			t.get(owner(t), path).ok(200)
			t.get(t.user("stranger").Token, path).ok(404)
			t.get("", path).ok(404, 401)
		})
	}
	a.add("Bridges: unknown pipeline is not found", "404", func(t *T) {
		t.bridge()
		t.get(owner(t), t.ciBridge().Project.path("/pipelines/987654321/bridges")).ok(404)
	})
	a.add("Pipeline jobs leave trigger jobs out", "the plain job only", func(t *T) {
		t.bridge()
		ci := t.ciBridge()
		t.eq("names", column(t.get(owner(t), ci.Project.path("/pipelines/%d/jobs", ci.Pipeline)).ok(200).arr(), "name"), "[plain]")
	})
	a.add("Project jobs leave trigger jobs out", "the plain job only", func(t *T) {
		t.bridge()
		got := column(t.get(owner(t), t.ciBridge().Project.path("/jobs?per_page=100")).ok(200).nonEmpty(), "name")
		t.check(!slices.Contains(got, "bridge") && slices.Contains(got, "plain"), "plain, not bridge", "%v", got)
	})
	a.add("Bridges: scope[] takes several statuses", "the trigger job's own status and another one list it", func(t *T) {
		b, ci := t.bridge(), t.ciBridge()
		t.eq("names", column(t.get(owner(t), ci.Project.path("/pipelines/%d/bridges?scope[]=manual&scope[]=%s", ci.Pipeline, str(b, "status"))).ok(200).arr(), "name"), "[bridge]")
	})
	a.add("Trigger job: the pipeline objects name the right pipelines", "pipeline.id is the upstream one; downstream_pipeline another, with the branch of the other project", func(t *T) {
		b, ci := t.bridge(), t.ciBridge()
		t.eq("pipeline.id", sub(b, "pipeline")["id"], ci.Pipeline)
		d := sub(b, "downstream_pipeline")
		t.check(num(d, "id") > 0 && num(d, "id") != ci.Pipeline, "another pipeline", "%v", d)
		t.eq("ref", d["ref"], ci.Project.Branch)
	})
	a.add("Pipeline jobs: include_retried combines with scope", "scope=failed: the old failed job with include_retried=true, none without", func(t *T) {
		r := t.retried()
		path := r.ci.Project.path("/pipelines/%d/jobs?scope[]=failed", r.ci.Pipeline)
		with := t.get(owner(t), path+"&include_retried=true").ok(200).nonEmpty()
		t.once(column(with, "id"), []string{fmt.Sprint(r.oldID)})
		for _, j := range with {
			t.eq("status", j["status"], "failed")
		}
		got := column(t.get(owner(t), path+"&include_retried=false").ok(200).arr(), "id")
		t.check(!slices.Contains(got, fmt.Sprint(r.oldID)), "no retried job", "%v", got)
	})
	a.add("include_retried is a boolean", "include_retried=maybe: 400", func(t *T) {
		ci := t.ciFinished("main")
		t.get(owner(t), ci.Project.path("/pipelines/%d/jobs?include_retried=maybe", ci.Pipeline)).ok(400)
	})
	a.add("The project's list holds retried jobs as well", "all jobs if scope is omitted: old and new job", func(t *T) {
		r := t.retried()
		t.once(column(t.get(owner(t), r.ci.Project.path("/jobs?per_page=100")).ok(200).arr(), "id"), []string{fmt.Sprint(r.oldID), fmt.Sprint(r.job["id"])})
	})
	a.add("Jobs of a private project are hidden", "list, job and trace: 404 to a stranger", func(t *T) {
		ci := t.ciPrivate()
		for _, path := range []string{"/jobs", fmt.Sprintf("/jobs/%v", ci.Jobs["hid"]["id"])} {
			t.get(owner(t), ci.Project.path("%s", path)).ok(200)
			t.get(t.user("stranger").Token, ci.Project.path("%s", path)).ok(404)
		}
		t.get(t.user("stranger").Token, ci.Project.path("/jobs/%v/trace", ci.Jobs["hid"]["id"])).ok(404)
	})

	a.add("Trace: the log is plain text", "Content-Type text/plain; the text that the runner sent and nothing before it", func(t *T) {
		ci := t.ciFinished("main")
		r := t.get(owner(t), ci.Project.path("/jobs/%v/trace", ci.Jobs["ok-build"]["id"])).ok(200)
		t.check(strings.HasPrefix(r.header.Get("Content-Type"), "text/plain"), "text/plain", "%q", r.header.Get("Content-Type"))
		t.eq("log", string(r.body), "log of ok-build\n")
	})
	a.add("Trace: the log of a running job can be read", "hold-a: 200 with the text sent so far", func(t *T) {
		ci := t.ciOpen()
		t.check(ci.Held["hold-a"] != nil, "the running job", "none")
		t.contains(string(t.get(owner(t), ci.Project.path("/jobs/%v/trace", ci.Jobs["hold-a"]["id"])).ok(200).body), "log of hold-a")
	})
	a.add("Trace: a job of another project is not found", "404", func(t *T) {
		ci := t.ciFinished("main")
		t.get(owner(t), ci.Project.path("/jobs/%v/trace", ci.Jobs["ok-build"]["id"])).ok(200)
		t.get(owner(t), t.project().path("/jobs/%v/trace", ci.Jobs["ok-build"]["id"])).ok(404)
	})

	a.add("Cancel: a job that has not begun (created) becomes canceled", "POST cancel on later", func(t *T) {
		t.eq("status", act(t, owner(t), t.ciScratch(), "later", "cancel").ok(200, 201).obj()["status"], "canceled")
	})
	a.add("Cancel returns the job record; canceled twice it stays canceled", "two POSTs: 2xx, job fields, finished_at set", func(t *T) {
		for range 2 {
			m := act(t, owner(t), t.ciScratch(), "pend-x", "cancel").ok(200, 201).obj()
			t.shape(m, jobForm)
			t.eq("status", m["status"], "canceled")
			t.eq("id", m["id"], t.ciScratch().Jobs["pend-x"]["id"])
		}
	})
	a.add("Retry of a canceled job returns a pending job", "cancel, then retry", func(t *T) {
		act(t, owner(t), t.ciScratch(), "pend-y", "cancel").ok(200, 201)
		m := act(t, owner(t), t.ciScratch(), "pend-y", "retry").ok(200, 201).obj()
		t.shape(m, jobForm)
		t.eq("status", m["status"], "pending")
		t.eq("name", m["name"], "pend-y")
	})
	a.add("Retry of a successful job returns a pending job; the old one keeps its status", "retry of ok-build in its own pipeline", func(t *T) {
		ci := t.ciFinished("again")
		m := act(t, owner(t), ci, "ok-build", "retry").ok(200, 201).obj()
		t.eq("status", m["status"], "pending")
		for _, k := range []string{"started_at", "finished_at", "duration", "runner", "erased_at"} {
			t.check(m[k] == nil, k+" null", "%v", m[k])
		}
		t.lacks(m, "artifacts_file")
		t.eq("status of the old job", t.job(ci.Project, num(ci.Jobs["ok-build"], "id"))["status"], "success")
	})
	a.add("Of racing retries one makes a job", "8 POST retry of one job at once: one 2xx; the pipeline has one job of that name", func(t *T) {
		ci := t.ciFinished("race")
		got := t.race(8, func(int) Req {
			return Req{Method: "POST", Path: ci.Project.path("/jobs/%v/retry", ci.Jobs["fail-test"]["id"]), Token: owner(t)}
		})
		t.check(got[200]+got[201] == 1 && got[-1] == 0 && got[500] == 0, "one success, no failure of the server", "%v", got)
		t.once(column(t.get(owner(t), ci.Project.path("/pipelines/%d/jobs", ci.Pipeline)).ok(200).arr(), "name"), []string{"fail-test"})
	})
	a.add("Of racing erasures one succeeds; the others are refused as a later one is", "8 POST erase of one job at once: one 2xx, the others the status that a repeated erase has", func(t *T) {
		ci := t.ciFinished("race")
		one := func() Req {
			return Req{Method: "POST", Path: ci.Project.path("/jobs/%v/erase", ci.Jobs["ok-build"]["id"]), Token: owner(t)}
		}
		got := t.race(8, func(int) Req { return one() })
		again := t.do(one()).refused().status
		t.check(got[200]+got[201] == 1 && got[again] == 7, fmt.Sprintf("one success and seven times %d", again), "%v", got)
	})
	a.add("Erase leaves no artifact of any kind", "artifacts is an empty array in the answer and on read", func(t *T) {
		j := t.erased()
		p, _ := t.ciFinishedProject()
		t.eq("artifacts of the answer", len(list(j, "artifacts")), 0)
		t.eq("artifacts", len(list(t.job(p, num(j, "id")), "artifacts")), 0)
		t.shape(j, jobForm+", erased_at time")
	})
	for _, verb := range []string{"cancel", "retry", "erase"} {
		a.add("POST "+verb+" needs authentication", "anonymous, on a public project: 401", func(t *T) {
			t.post("", t.ciFinished("main").Project.path("/jobs/%v/%s", t.ciFinished("main").Jobs["ok-build"]["id"], verb), nil).ok(401)
		})
		a.add("POST "+verb+" is refused to a Reporter", "403", func(t *T) { act(t, t.reporter().Token, t.ciFinished("main"), "ok-build", verb).ok(403) })
		a.add("POST "+verb+" of an unknown job is not found", "404", func(t *T) {
			t.post(owner(t), t.ciFinished("main").Project.path("/jobs/987654321/%s", verb), nil).ok(404)
		})
	}
	a.add("A Developer may cancel and retry on a branch that is not protected", "cancel of a pending job of branch work, then retry: 2xx; the new job is the Developer's", func(t *T) {
		p, dev := t.ciScratch().Project, t.user("dev")
		t.post(owner(t), p.path("/repository/branches"), M{"branch": "work", "ref": p.Branch}).ok(201)
		id := num(t.post(dev.Token, p.path("/pipeline"), M{"ref": "work"}).ok(201).obj(), "id")
		ci := CI{Project: p, Pipeline: id, Jobs: t.awaitStatus(p, id, nil, map[string]string{"pend-z": "pending"})}
		t.eq("status", act(t, dev.Token, ci, "pend-z", "cancel").ok(200, 201).obj()["status"], "canceled")
		m := act(t, dev.Token, ci, "pend-z", "retry").ok(200, 201).obj()
		t.eq("status", m["status"], "pending")
		t.eq("user.id", sub(m, "user")["id"], dev.ID)
	})
	a.add("The agent listing's user and project are those of the job", "username of the owner; groups in an array of {id}", func(t *T) {
		tok, _ := t.jobToken()
		m := t.via("JOB-TOKEN", tok, "/job/allowed_agents").ok(200).obj()
		t.eq("username", sub(m, "user")["username"], t.user("owner").Username)
		t.eq("state", sub(m, "user")["state"], "active")
		for _, g := range mapsOf(sub(m, "project"), "groups") {
			t.shape(g, "id int")
		}
	})
}
