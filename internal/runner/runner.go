// Package runner owns the machines that run jobs: their records, their tokens
// and registration tokens, the machines behind one token, who administers
// them, and which of them may serve which project. A runner is known by its
// token alone; whatever else it says of itself is a remark.
//
// It does not own jobs (pipeline) nor who gets which one and when (dispatch).
//
// Tables: runners, runner_projects, runner_managers, runner_registration_tokens.
package runner

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"stithy/internal/platform/sorting"
)

// Type says whom a runner serves.
type Type string

const (
	Instance Type = "instance_type" // every project that lets it
	Group    Type = "group_type"    // the projects below a group
	Project  Type = "project_type"  // those it is assigned to
)

// AccessLevel says which refs a runner works for.
type AccessLevel string

const (
	NotProtected AccessLevel = "not_protected"
	RefProtected AccessLevel = "ref_protected" // protected ones alone
)

// Runner is a runner. Its token is not in it.
type Runner struct {
	ID              int64
	Type            Type
	GroupID         *int64  // of a group runner
	ProjectIDs      []int64 // of a project runner, its owner first; as far as they were read
	CreatorID       *int64
	TokenExpiresAt  *time.Time
	Registered      bool // with a registration token, not by a person
	Description     string
	MaintenanceNote string
	Name            string
	Tags            []string
	RunUntagged     bool
	AccessLevel     AccessLevel
	MaximumTimeout  *int // seconds
	Paused          bool
	Locked          bool
	ContactedAt     *time.Time
	CreatedAt       time.Time
}

// Manager is a machine that uses a runner's token.
type Manager struct {
	ID       int64
	RunnerID int64
	SystemID string
	Info
	ContactedAt time.Time
	CreatedAt   time.Time
}

// Info is what a machine says of itself.
type Info struct {
	Name         string
	Version      string
	Revision     string
	Platform     string
	Architecture string
	Executor     string
	Address      string
}

// JobFacts is what decides which runners may take a job.
type JobFacts struct {
	ProjectID       int64
	GroupIDs        []int64 // the line of groups above the project
	Tags            []string
	Protected       bool // it is of a protected ref
	InstanceRunners bool // the project lets runners of the instance in
	GroupRunners    bool // and those of its groups
}

// CanTake says whether a runner may take a job, and if not, why, in words for
// people. A paused runner takes nothing.
func CanTake(r Runner, job JobFacts) (ok bool, why string) {
	if r.Paused {
		return false, "The runner is paused."
	}
	if why := notServed(r, job); why != "" {
		return false, why
	}
	if r.AccessLevel == RefProtected && !job.Protected {
		return false, "The runner takes jobs of protected branches and tags only."
	}
	if len(job.Tags) == 0 && !r.RunUntagged {
		return false, "The job has no tags, and the runner takes tagged jobs only."
	}
	var missing []string
	for _, tag := range job.Tags {
		if !slices.Contains(r.Tags, tag) {
			missing = append(missing, tag)
		}
	}
	switch len(missing) {
	case 0:
		return true, ""
	case 1:
		return false, "The runner lacks the tag " + missing[0] + "."
	}
	return false, "The runner lacks the tags " + strings.Join(missing, ", ") + "."
}

// NobodyServes is why a job waits where there is no runner at all.
const NobodyServes = "No runner serves this project. Register one."

// Waiting says in words for whom a pending job waits, given the runners that
// may serve its project.
func Waiting(runners []Runner, job JobFacts, now time.Time) string {
	var heard, silent, fresh int
	reasons := map[string]int{}
	for _, r := range runners {
		switch ok, why := CanTake(r, job); {
		case !ok:
			reasons[why]++
		case r.Status(now) == Online:
			heard++
		case r.Status(now) == NeverContacted:
			fresh++
		default:
			silent++
		}
	}
	count := func(n int) string {
		if n == 1 {
			return "1 runner"
		}
		return strconv.Itoa(n) + " runners"
	}
	switch {
	case len(runners) == 0:
		return NobodyServes
	case heard > 0:
		return "It waits for its turn: " + count(heard) + " can take it."
	case silent > 0:
		return "It waits for a runner to come back: " + count(silent) + " could take it, and none was heard of for two hours."
	case fresh > 0:
		return "It waits for a runner to connect for the first time: " + count(fresh) + " could take it."
	case len(runners) == 1:
		_, why := CanTake(runners[0], job)
		return "1 runner serves this project and may not take it. " + why
	}
	var words []string
	for _, why := range sorting.All(maps.Keys(reasons), func(a, b string) int { return cmp.Or(reasons[b]-reasons[a], strings.Compare(a, b)) }) {
		words = append(words, fmt.Sprintf("%d because %s", reasons[why], strings.ToLower(why[:1])+strings.TrimSuffix(why[1:], ".")))
	}
	return "None of the " + count(len(runners)) + " here may take it: " + strings.Join(words[:min(len(words), 4)], "; ") + "."
}

// notServed says why a runner does not work for the project of a job.
func notServed(r Runner, job JobFacts) string {
	switch r.Type {
	case Instance:
		if !job.InstanceRunners {
			return "The project does not use runners of the instance."
		}
	case Group:
		switch {
		case r.GroupID == nil || !slices.Contains(job.GroupIDs, *r.GroupID):
			return "The runner belongs to a group that the project is not in."
		case !job.GroupRunners:
			return "The project does not use runners of its groups."
		}
	case Project:
		if !slices.Contains(r.ProjectIDs, job.ProjectID) {
			return "The runner is not assigned to the project."
		}
	default:
		return "The runner serves nobody."
	}
	return ""
}
