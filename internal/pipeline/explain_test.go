package pipeline_test

import (
	"strings"
	"testing"
	"time"

	"stithy/internal/ciconfig"
	"stithy/internal/kit/access"
	"stithy/internal/pipeline"
	"stithy/internal/runner"
)

func TestWhyAJobDidNotRunIsSaidInWords(t *testing.T) {
	t.Parallel()
	now := time.Date(2024, 5, 2, 15, 4, 5, 0, time.UTC)
	online := runner.Runner{ID: 1, Type: runner.Instance, RunUntagged: true, ContactedAt: &now, CreatedAt: now}
	with := func(change func(*runner.Runner)) runner.Runner {
		r := online
		change(&r)
		return r
	}
	job := func(id int64, name string, stage int16, status pipeline.Status, change ...func(*pipeline.Job)) pipeline.Job {
		j := pipeline.Job{ID: id, Name: name, StageIndex: stage, Status: status, RunWhen: ciconfig.OnSuccess}
		for _, c := range change {
			c(&j)
		}
		return j
	}
	allowed := func(j *pipeline.Job) { j.AllowFailure = true }
	when := func(w string) func(*pipeline.Job) { return func(j *pipeline.Job) { j.RunWhen = w } }
	needs := func(names ...string) func(*pipeline.Job) { return func(j *pipeline.Job) { j.Needs = names } }
	because := func(r pipeline.Reason) func(*pipeline.Job) {
		return func(j *pipeline.Job) { j.FailureReason = &r }
	}
	facts := runner.JobFacts{ProjectID: 7, InstanceRunners: true, GroupRunners: true}
	tagged := facts
	tagged.Tags = []string{"docker", "big"}
	const rule = "The rule number 2 matched: if $CI_COMMIT_TAG."

	for _, c := range []struct {
		name string
		job  pipeline.Job
		pipeline.Circumstances
		want string
	}{
		{"one that passed", job(9, "x", 1, pipeline.Success), pipeline.Circumstances{}, ""},
		{"one that runs", job(9, "x", 1, pipeline.Running), pipeline.Circumstances{}, ""},
		{
			"behind a stage", job(9, "x", 1, pipeline.Created),
			pipeline.Circumstances{Jobs: []pipeline.Job{job(1, "done", 0, pipeline.Success), job(2, "build", 0, pipeline.Running), job(3, "later", 2, pipeline.Created)}},
			"It waits for build, which is running.",
		},
		{
			"behind many, the one that needs a person first", job(9, "x", 1, pipeline.Created),
			pipeline.Circumstances{Jobs: []pipeline.Job{
				job(1, "a", 0, pipeline.Created), job(2, "b", 0, pipeline.Pending), job(3, "c", 0, pipeline.Running), job(4, "gate", 0, pipeline.Manual), job(5, "e", 0, pipeline.Created),
			}},
			"It waits for gate, which waits for somebody to start it; c, which is running; b, which waits for a runner; 2 more.",
		},
		{
			"behind what it needs alone", job(9, "x", 2, pipeline.Created, needs("a")),
			pipeline.Circumstances{Jobs: []pipeline.Job{job(1, "a", 1, pipeline.Scheduled), job(2, "b", 0, pipeline.Running)}},
			"It waits for a, which waits for its time.",
		},
		{
			"a manual job that blocks nothing is not waited for", job(9, "x", 1, pipeline.Created),
			pipeline.Circumstances{Jobs: []pipeline.Job{job(1, "a", 0, pipeline.Manual, allowed)}},
			"It is about to be decided whether it runs.",
		},
		{"no resource is known", job(9, "x", 1, pipeline.WaitingForResource), pipeline.Circumstances{}, "It waits for a resource that one job at a time may use."},
		{
			"a resource that is in use", job(9, "x", 1, pipeline.WaitingForResource), pipeline.Circumstances{Group: "production", Holder: "deploy of pipeline #4"},
			"It waits for the resource group production, which the job deploy of pipeline #4 uses now.",
		},
		{
			"a resource that goes by turns", job(9, "x", 1, pipeline.WaitingForResource), pipeline.Circumstances{Group: "production"},
			"It waits for its turn in the resource group production, which one job at a time may use.",
		},
		{"by hand", job(9, "x", 1, pipeline.Manual), pipeline.Circumstances{Rule: rule}, "It waits for somebody to start it. " + rule},
		{"by hand, without rules", job(9, "x", 1, pipeline.Manual), pipeline.Circumstances{Rule: ciconfig.NoRules}, "It waits for somebody to start it."},
		{
			"delayed", job(9, "x", 1, pipeline.Scheduled, func(j *pipeline.Job) { j.ScheduledAt = &now }), pipeline.Circumstances{Rule: rule},
			"It starts by itself at 15:04 UTC on 2 May 2024. " + rule,
		},
		{
			"skipped after a failure", job(9, "x", 1, pipeline.Skipped),
			pipeline.Circumstances{Jobs: []pipeline.Job{job(1, "build", 0, pipeline.Failed), job(2, "lint", 0, pipeline.Failed, allowed), job(3, "ok", 0, pipeline.Success)}},
			"It was skipped because of build, which failed.",
		},
		{
			"skipped after what it needs was skipped", job(9, "x", 1, pipeline.Skipped, needs("build")),
			pipeline.Circumstances{Jobs: []pipeline.Job{job(1, "build", 0, pipeline.Skipped), job(2, "lint", 0, pipeline.Failed)}},
			"It was skipped because of build, which was skipped.",
		},
		{
			"for failures alone", job(9, "x", 1, pipeline.Skipped, when(ciconfig.OnFailure)),
			pipeline.Circumstances{Jobs: []pipeline.Job{job(1, "build", 0, pipeline.Success)}}, "It runs only when a job before it fails, and none did.",
		},
		{"canceled early", job(9, "x", 1, pipeline.Canceled), pipeline.Circumstances{}, "It was canceled before it started."},
		{"a bridge", job(9, "x", 1, pipeline.Pending, func(j *pipeline.Job) { j.Bridge = true }), pipeline.Circumstances{}, "It is about to start the other pipeline."},
		{"no runner at all", job(9, "x", 1, pipeline.Pending), pipeline.Circumstances{Facts: facts, Now: now}, "No runner serves this project. Register one."},
		{
			"its turn", job(9, "x", 1, pipeline.Pending), pipeline.Circumstances{Facts: facts, Now: now, Runners: []runner.Runner{online, online}},
			"It waits for its turn: 2 runners can take it.",
		},
		{
			"a runner that was never there", job(9, "x", 1, pipeline.Pending),
			pipeline.Circumstances{Facts: facts, Now: now, Runners: []runner.Runner{with(func(r *runner.Runner) { r.ContactedAt = nil })}},
			"It waits for a runner to connect for the first time: 1 runner could take it.",
		},
		{
			"a runner that is away", job(9, "x", 1, pipeline.Pending),
			pipeline.Circumstances{Facts: facts, Now: now.Add(3 * time.Hour), Runners: []runner.Runner{online}},
			"It waits for a runner to come back: 1 runner could take it, and none was heard of for two hours.",
		},
		{
			"tags that the runner lacks", job(9, "x", 1, pipeline.Pending), pipeline.Circumstances{Facts: tagged, Now: now, Runners: []runner.Runner{online}},
			"1 runner serves this project and may not take it. The runner lacks the tags docker, big.",
		},
		{
			"each for its own reason", job(9, "x", 1, pipeline.Pending),
			pipeline.Circumstances{Facts: facts, Now: now, Runners: []runner.Runner{
				with(func(r *runner.Runner) { r.Paused = true }), with(func(r *runner.Runner) { r.Paused = true }),
				with(func(r *runner.Runner) { r.AccessLevel = runner.RefProtected }), with(func(r *runner.Runner) { r.RunUntagged = false }),
			}},
			"None of the 4 runners here may take it: 2 because the runner is paused; 1 because the job has no tags, and the runner takes tagged jobs only; " +
				"1 because the runner takes jobs of protected branches and tags only.",
		},
		{
			"a script that failed", job(9, "x", 1, pipeline.Failed, because(pipeline.ScriptFailure), func(j *pipeline.Job) { j.ExitCode = new(int32(3)) }), pipeline.Circumstances{},
			"Its script failed with exit code 3.",
		},
		{
			"a failure that is allowed", job(9, "x", 1, pipeline.Failed, because(pipeline.StuckOrTimeout), allowed), pipeline.Circumstances{},
			"No runner took it in time, or the runner fell silent. The pipeline goes on without it.",
		},
	} {
		if got := pipeline.Why(&c.job, &c.Circumstances); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, got, c.want)
		}
	}
}

func TestEveryFailureHasWords(t *testing.T) {
	t.Parallel()
	for _, r := range pipeline.Reasons {
		j := pipeline.Job{Status: pipeline.Failed, FailureReason: &r}
		if got := pipeline.Why(&j, &pipeline.Circumstances{}); got == "" || (r != pipeline.UnknownFailure && strings.Contains(got, "nothing says why")) {
			t.Errorf("%s: %q", r, got)
		}
	}
}

// What is said comes from what is stored: the rule, the holder of a resource and
// the runners as they are.
func TestWhysAreReadFromWhatIsStored(t *testing.T) {
	t.Parallel()
	w := newFixture(t, `
first: {stage: build, script: [x], resource_group: press, tags: [docker]}
second: {stage: build, script: [x], resource_group: press}
gate:
  stage: test
  script: [x]
  needs: []
  rules: [{if: '$CI_COMMIT_BRANCH == "main"', when: manual}]
last: {stage: deploy, script: [x]}
`)
	pl := w.create(t)
	jobs, err := w.LatestJobs(t.Context(), pl.ID, 100)
	if err != nil {
		t.Fatal(err)
	}
	p := w.standing(t, access.Developer)
	whys, err := w.Whys(t.Context(), p, pl, jobs, jobs...)
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]string{}
	for _, j := range jobs {
		byName[j.Name] = whys[j.ID]
	}
	for name, want := range map[string]string{
		"first": "No runner serves this project", "second": "which the job first of pipeline #", "gate": `The rule number 1 matched: if $CI_COMMIT_BRANCH == "main"`,
		"last": "It waits for gate, which waits for somebody to start it; ",
	} {
		if !strings.Contains(byName[name], want) {
			t.Errorf("%s: %q", name, byName[name])
		}
	}
}
