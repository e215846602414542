// Package dispatch hands pending jobs to runners and listens to them until
// they are done: the queues of pending jobs, claims, long polling, what a runner
// gets of a job, the runner protocol, the tokens of running jobs and which
// projects they open, and jobs that nobody is heard of any more.
//
// It does not own jobs, whose status pipeline alone writes, nor the records of
// runners (runner), nor logs and files of jobs (artifact).
//
// Tables: job_lanes, job_queue, job_runs, job_token_allowlist, cluster_agents,
// cluster_agent_grants.
package dispatch

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"stithy/internal/pipeline"
)

// RunnerMatch is what counts of a runner that asks for a job. Runners that are equal
// in it may take the same jobs.
type RunnerMatch struct {
	Scopes    []int64  // whose runner it is, sorted; see Queue.Serves
	Tags      []string // sorted
	Untagged  bool     // takes jobs without tags
	Protected bool     // takes jobs of protected refs only
}

// instance is the scope of the instance's runners; see Queue.Serves.
const instance int64 = 0

// OfInstance is the scope of the instance's runners.
func OfInstance() []int64 { return []int64{instance} }

// OfGroup is the scope of a group's runners.
func OfGroup(id int64) []int64 { return []int64{id} }

// OfProjects is the scope of a runner that is assigned to projects.
func OfProjects(ids []int64) []int64 {
	scopes := make([]int64, 0, len(ids))
	for _, id := range ids {
		scopes = append(scopes, -id)
	}
	slices.Sort(scopes)
	return scopes
}

// fair reports whether the runner is one of the instance, which all projects
// share: it serves the project first that it serves least.
func (s *RunnerMatch) fair() bool { return slices.Equal(s.Scopes, []int64{instance}) }

// key is equal for runners that may take the same jobs.
func (s *RunnerMatch) key() string {
	var b strings.Builder
	for _, scope := range s.Scopes {
		b.WriteString(strconv.FormatInt(scope, 10))
		b.WriteByte(' ')
	}
	b.WriteString(strconv.FormatBool(s.Untagged))
	b.WriteString(strconv.FormatBool(s.Protected))
	for _, tag := range s.Tags {
		b.WriteByte(0)
		b.WriteString(tag)
	}
	return b.String()
}

// Queue is the pending jobs of one project with the same tags and protection
// (table job_lanes); its jobs are rows of job_queue. pendingJobs is all queues.
type Queue struct {
	ID        int64
	ProjectID int64
	Tags      []string
	Protected bool
	Serves    []int64 // whose runners: 0 is the instance, positive a group, negative a project
}

// takes says whether a match may take the jobs of a queue. The statement that
// ranks queues says the same in SQL.
func (s *RunnerMatch) takes(q *Queue) bool {
	switch {
	case s.Protected && !q.Protected:
		return false
	case len(q.Tags) == 0 && !s.Untagged:
		return false
	case !slices.ContainsFunc(q.Serves, func(scope int64) bool { return slices.Contains(s.Scopes, scope) }):
		return false
	}
	return !slices.ContainsFunc(q.Tags, func(tag string) bool { return !slices.Contains(s.Tags, tag) })
}

// Limits on jobs that make no progress.
const (
	pendingAtMost   = 24 * time.Hour  // in the queue
	pendingNobody   = time.Hour       // in the queue, and no runner could take it
	unheardAtMost   = 2 * time.Minute // given out, and the runner never said a word
	silentAtMost    = time.Hour       // running, and the runner says nothing
	scheduleOverdue = time.Hour
	onlineWithin    = 2 * time.Hour  // since it was heard of a runner
	runsKept        = 24 * time.Hour // after the end
)

// lapse says why a run is ended whose runner is not heard of, "" while it may go
// on. A runner reports within seconds after it was given a job; one that never
// did has not got it, because the node or the connection died before the answer
// was out. The job then starts again by itself, and a runner that has the old
// one after all is told that it has ended.
func lapse(started, contacted, deadline, now time.Time) pipeline.Reason {
	switch {
	case contacted.Equal(started) && now.Sub(started) > unheardAtMost:
		return pipeline.SchedulerFailure
	case now.Sub(contacted) > silentAtMost:
		return pipeline.StuckOrTimeout
	case now.After(deadline):
		return pipeline.JobExecutionTimeout
	}
	return ""
}
