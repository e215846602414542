package pipeline

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"stithy/internal/ciconfig"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/sorting"
	"stithy/internal/project"
	"stithy/internal/runner"
)

// Circumstances are what decides when a job runs.
type Circumstances struct {
	Jobs    []Job  // the latest of its pipeline
	Rule    string // that added it, in words; may be empty
	Group   string // the resource group that it needs; may be empty
	Holder  string // the job that has the resource; may be empty
	Runners []runner.Runner
	Facts   runner.JobFacts
	Now     time.Time
}

// Why says in words why a job has not run, or why it failed: which job, rule,
// tag, runner or resource decided. It is empty where there is nothing to say.
func Why(j *Job, c *Circumstances) string {
	switch j.Status {
	case Created:
		return waits(j, c.Jobs)
	case WaitingForResource:
		return awaits(c)
	case Preparing:
		return "It is being prepared."
	case Pending:
		if j.Bridge {
			return "It is about to start the other pipeline."
		}
		return runner.Waiting(c.Runners, c.Facts, c.Now)
	case Manual:
		return joined("It waits for somebody to start it.", c.Rule)
	case Scheduled:
		if j.ScheduledAt == nil {
			return joined("It waits for its time.", c.Rule)
		}
		return joined("It starts by itself at "+j.ScheduledAt.UTC().Format("15:04 UTC on 2 January 2006")+".", c.Rule)
	case Skipped:
		return skipped(j, c.Jobs)
	case Canceled:
		if j.StartedAt == nil {
			return "It was canceled before it started."
		}
		return "It was canceled while it ran."
	case Failed:
		return failed(j)
	}
	return ""
}

func joined(sentence, rule string) string {
	if rule == "" || rule == ciconfig.NoRules {
		return sentence
	}
	return sentence + " " + rule
}

// before are the jobs that a job waits for: those it needs, or all of the
// stages before its own.
func before(j *Job, jobs []Job) []Job {
	var some []Job
	for _, o := range jobs {
		switch {
		case o.ID == j.ID:
		case j.Needs == nil && o.StageIndex < j.StageIndex, j.Needs != nil && slices.Contains(j.Needs, o.Name):
			some = append(some, o)
		}
	}
	return some
}

// doing says what a job does that another one waits for.
func (j *Job) doing() string {
	switch j.Status {
	case Manual:
		return "waits for somebody to start it"
	case Scheduled:
		return "waits for its time"
	case Pending:
		return "waits for a runner"
	case WaitingForResource:
		return "waits for a resource"
	case Created:
		return "has not started"
	case Running:
		return "is running"
	case Failed:
		return "failed"
	case Canceled:
		return "was canceled"
	case Skipped:
		return "was skipped"
	}
	return "is " + strings.ReplaceAll(string(j.Status), "_", " ")
}

// told is how many jobs a sentence names.
const told = 3

// list names jobs with what they do, as far as a sentence goes.
func list(jobs []Job) string {
	var parts []string
	for _, o := range jobs[:min(told, len(jobs))] {
		parts = append(parts, o.Name+", which "+o.doing())
	}
	if more := len(jobs) - told; more > 0 {
		parts = append(parts, fmt.Sprintf("%d more", more))
	}
	return strings.Join(parts, "; ")
}

func waits(j *Job, jobs []Job) string {
	// What does nothing by itself, and blocks, is named first.
	rank := func(o Job) int {
		return slices.Index([]Status{Manual, Scheduled, Running, WaitingForResource, Pending}, o.Status) + 1
	}
	open := slices.DeleteFunc(before(j, jobs), func(o Job) bool {
		return o.Status.Complete() || (o.Status == Manual && o.AllowFailure && j.Needs == nil)
	})
	sorting.Stably(open, func(a, b Job) int {
		first := func(o Job) int {
			if r := rank(o); r > 0 {
				return r
			}
			return len(Statuses)
		}
		return first(a) - first(b)
	})
	if len(open) == 0 {
		return "It is about to be decided whether it runs."
	}
	return "It waits for " + list(open) + "."
}

func awaits(c *Circumstances) string {
	switch {
	case c.Group == "":
		return "It waits for a resource that one job at a time may use."
	case c.Holder == "":
		return "It waits for its turn in the resource group " + c.Group + ", which one job at a time may use."
	}
	return "It waits for the resource group " + c.Group + ", which the job " + c.Holder + " uses now."
}

func skipped(j *Job, jobs []Job) string {
	prior := before(j, jobs)
	worked := func(o Job) bool {
		return o.Status == Success || (o.AllowFailure && (o.Status == Failed || o.Status == Canceled))
	}
	if j.RunWhen == ciconfig.OnFailure {
		if !slices.ContainsFunc(prior, func(o Job) bool { return o.Status == Failed && !o.AllowFailure }) {
			return "It runs only when a job before it fails, and none did."
		}
	}
	guilty := slices.DeleteFunc(prior, func(o Job) bool {
		return worked(o) || (j.Needs == nil && (o.Status == Skipped || o.Status == Manual))
	})
	if len(guilty) == 0 {
		return "It was skipped, because what comes before it did not let it run."
	}
	return "It was skipped because of " + list(guilty) + "."
}

// reasonWords say what a failure means, and what to do where there is something.
var reasonWords = map[Reason]string{
	UnknownFailure:           "It failed, and nothing says why.",
	ScriptFailure:            "Its script failed.",
	APIFailure:               "The runner could not reach this instance.",
	StuckOrTimeout:           "No runner took it in time, or the runner fell silent.",
	RunnerSystemFailure:      "The runner had a fault of its own. Try again.",
	MissingDependency:        "Files that it needs from another job are gone. Run that job again.",
	RunnerUnsupported:        "The runner is too old for what the job asks for.",
	StaleSchedule:            "Its time passed while nothing could start it.",
	JobExecutionTimeout:      "It ran longer than it may.",
	ArchivedFailure:          "It is too old to be run.",
	UnmetPrerequisites:       "What it needs could not be prepared. An ID token may not have an application of this instance as its audience.",
	SchedulerFailure:         "It could not be handed to a runner. Try again.",
	DataIntegrityFailure:     "What was planned for it cannot be read.",
	UserBlocked:              "The account that it runs for may not be used any more.",
	ProjectDeleted:           "The project was being deleted.",
	QuotaExceeded:            "The time that jobs may run here is used up.",
	LoopDetected:             "The pipelines start each other in a circle.",
	NoMatchingRunner:         "No runner could ever take it: look at its tags.",
	TraceSizeExceeded:        "Its log grew larger than it may.",
	BuildsDisabled:           "Pipelines are switched off in this project.",
	EnvironmentFailure:       "Its environment could not be made: look at the name.",
	DeploymentRejected:       "The deployment was rejected.",
	OutdatedDeployment:       "A newer deployment took its place.",
	ForwardDeployment:        "A newer deployment took its place.",
	InsufficientBridgeRights: "Whoever started it may not start pipelines in the other project.",
	BridgeProjectNotFound:    "The project whose pipeline it starts is not there, or may not be seen.",
	InvalidBridgeTrigger:     "What it says about the other pipeline is not valid.",
	DownstreamFailed:         "The other pipeline could not be made: look at its configuration.",
	DescendantsTooDeep:       "Pipelines may not start each other that deep.",
	HierarchyTooLarge:        "Too many pipelines follow from one.",
	UpstreamNotFound:         "The pipeline that it follows is not there, or may not be seen.",
	InsufficientUpstream:     "Whoever started it may not see the pipeline that it follows.",
	SecretsProviderMissing:   "There is no provider for the secrets that it asks for.",
	ProtectedEnvironment:     "Whoever started it may not deploy to this environment.",
}

func failed(j *Job) string {
	why := deref(j.FailureReason)
	text := reasonWords[why]
	if why == ScriptFailure && j.ExitCode != nil {
		text = fmt.Sprintf("Its script failed with exit code %d.", *j.ExitCode)
	}
	if text == "" {
		text = reasonWords[UnknownFailure]
	}
	if j.AllowFailure {
		text += " The pipeline goes on without it."
	}
	return text
}

// maxServing is how many runners an answer to Why looks at.
const maxServing = 100

// Whys says of some jobs of a pipeline why they have not run or why they
// failed, by id. latest are the latest jobs of the pipeline.
func (s *Service) Whys(ctx context.Context, p *project.Project, pl *Pipeline, latest []Job, of ...Job) (map[int64]string, error) {
	c := Circumstances{Jobs: latest, Now: s.deps.Clock.Now(), Facts: runner.JobFacts{
		ProjectID: p.ID, InstanceRunners: p.Settings.SharedRunnersEnabled, GroupRunners: p.Settings.GroupRunnersEnabled,
	}}
	var ruled, groups []int64
	var pending bool
	for _, j := range of {
		switch {
		case j.Status == Manual, j.Status == Scheduled:
			ruled = append(ruled, j.SpecID)
		case j.Status == WaitingForResource && j.ResourceGroupID != nil:
			groups = append(groups, *j.ResourceGroupID)
		case j.Status == Pending && !j.Bridge:
			pending = true
		}
	}
	if pending {
		var err error
		if c.Facts.GroupIDs, err = postgres.Value[[]int64](ctx, s.deps.DB, sqlLineage, p.ID); err != nil {
			return nil, err
		}
		if c.Facts.Protected, err = s.deps.Protection.ProtectedRef(ctx, s.deps.DB, p.ID, pl.Ref, pl.Tag); err != nil {
			return nil, err
		}
		if c.Runners, err = s.deps.Runners.Serving(ctx, c.Facts, maxServing); err != nil {
			return nil, err
		}
	}
	rules, err := s.rules(ctx, ruled)
	if err != nil {
		return nil, err
	}
	held, err := s.held(ctx, groups)
	if err != nil {
		return nil, err
	}
	whys := map[int64]string{}
	for _, j := range of {
		own := c
		own.Facts.Tags, own.Rule = j.Tags, rules[j.SpecID]
		if j.ResourceGroupID != nil {
			own.Group, own.Holder = held[*j.ResourceGroupID].Key, held[*j.ResourceGroupID].Holder
		}
		if text := Why(&j, &own); text != "" {
			whys[j.ID] = text
		}
	}
	return whys, nil
}

// rules are what added some jobs, by what was planned for them.
func (s *Service) rules(ctx context.Context, specs []int64) (map[int64]string, error) {
	if len(specs) == 0 {
		return nil, nil
	}
	rows, err := postgres.All[struct {
		ID      int64
		Because string
	}](ctx, s.deps.DB, sqlRules, specs)
	words := map[int64]string{}
	for _, r := range rows {
		words[r.ID] = r.Because
	}
	return words, err
}

type heldGroup struct {
	ID     int64
	Key    string
	Holder string
}

// held are some resource groups with the names of the jobs that have them.
func (s *Service) held(ctx context.Context, groups []int64) (map[int64]heldGroup, error) {
	if len(groups) == 0 {
		return nil, nil
	}
	rows, err := postgres.All[heldGroup](ctx, s.deps.DB, sqlHeld, groups)
	byID := map[int64]heldGroup{}
	for _, r := range rows {
		byID[r.ID] = r
	}
	return byID, err
}
