package dispatch

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"stithy/internal/ciconfig"
	"stithy/internal/pipeline"
	"stithy/internal/project"
	"stithy/internal/runner"
)

// facts are what the predefined variables of a job say.
type facts struct {
	url     string // of the instance
	job     *pipeline.Job
	spec    *pipeline.Spec
	project *project.Project
	runner  *runner.Runner
	known   ciconfig.Variables // what rules of the pipeline were judged by
	token   string
	clone   string
}

// public makes a list of names and values that anyone may see in a log. Names
// without a value are left out.
func public(pairs ...string) []Variable {
	var list []Variable
	for i := 0; i+1 < len(pairs); i += 2 {
		list = append(list, Variable{Key: pairs[i], Value: pairs[i+1], Public: true})
	}
	return list
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// ofJob is about this one run. Whoever may set variables may override these,
// so nothing of the server relies on them.
func (f *facts) ofJob() []Variable {
	started := ""
	if f.job.StartedAt != nil {
		started = f.job.StartedAt.UTC().Format(time.RFC3339)
	}
	list := public("CI_JOB_ID", decimal(f.job.ID), "CI_JOB_URL", f.url+"/"+f.project.FullPath()+"/-/jobs/"+decimal(f.job.ID))
	list = append(list, Variable{Key: "CI_JOB_TOKEN", Value: f.token, Masked: true})
	list = append(list, public("CI_JOB_STARTED_AT", started)...)
	return append(list, Variable{Key: "CI_REPOSITORY_URL", Value: f.clone})
}

// written are the predefined texts that others wrote. They are not expanded: a
// commit message is no program.
var written = []string{
	"CI_COMMIT_MESSAGE", "CI_COMMIT_TITLE", "CI_COMMIT_DESCRIPTION", "CI_COMMIT_AUTHOR", "CI_PROJECT_DESCRIPTION", "CI_PROJECT_TITLE",
	"CI_PIPELINE_NAME", "GITLAB_USER_NAME",
}

// predefined is about the server, the project, the commit, the pipeline and the
// place of the job in it.
func (f *facts) predefined() []Variable {
	total := f.spec.NodeTotal
	if total == 0 {
		total = 1
	}
	list := public(
		"CI_JOB_NAME", f.job.Name, "CI_JOB_NAME_SLUG", ciconfig.Slug(f.job.Name), "CI_JOB_STAGE", f.job.Stage, "CI_NODE_TOTAL", strconv.Itoa(total),
	)
	if f.spec.NodeIndex > 0 {
		list = append(list, public("CI_NODE_INDEX", strconv.Itoa(f.spec.NodeIndex))...)
	}
	if f.job.RunWhen == ciconfig.Manual {
		list = append(list, public("CI_JOB_MANUAL", "true")...)
	}
	for _, v := range f.known {
		list = append(list, Variable{Key: v.Key, Value: v.Value, Public: true, Raw: slices.Contains(written, v.Key)})
	}
	return list
}

func (f *facts) ofRunner() []Variable {
	tags := make([]string, 0, len(f.runner.Tags))
	for _, tag := range f.runner.Tags {
		tags = append(tags, strconv.Quote(tag))
	}
	return public(
		"CI_RUNNER_ID", decimal(f.runner.ID), "CI_RUNNER_DESCRIPTION", f.runner.Description, "CI_RUNNER_TAGS", "["+strings.Join(tags, ", ")+"]",
	)
}

func (f *facts) ofEnvironment() []Variable {
	e := f.spec.Job.Environment
	if e == nil || f.job.Environment == nil {
		return nil
	}
	list := public(
		"CI_ENVIRONMENT_NAME", *f.job.Environment, "CI_ENVIRONMENT_SLUG", ciconfig.EnvironmentSlug(*f.job.Environment),
		"CI_ENVIRONMENT_ACTION", e.Action,
	)
	if e.Tier != "" {
		list = append(list, public("CI_ENVIRONMENT_TIER", e.Tier)...)
	}
	if e.URL != "" {
		list = append(list, public("CI_ENVIRONMENT_URL", e.URL)...)
	}
	return list
}
