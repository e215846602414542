package pipeline

import (
	"context"
	"math"
	"strconv"
	"time"

	"stithy/internal/kit/access"
	"stithy/internal/kit/paging"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
)

// JobFilter narrows a list of jobs.
type JobFilter struct {
	PipelineID int64    // 0: of the whole project
	Statuses   []Status // none: all
	Bridges    bool     // bridges instead of builds
	Retried    bool     // also records that others took the place of
}

// Lists of jobs by status go through an index that ends in status and id, one
// status after the other: neither a rare status nor a deep page is walked to.
// Whose jobs they are is said by a query: who is known to have many would make
// the planner walk all jobs by id, in the hope of soon meeting some of them.
const (
	jobsByStatus = `unnest(?::text[]) as wanted (one) cross join lateral (select ` + jobColumns + ` from jobs j
		where j.project_id = (select ?::bigint) and j.status = wanted.one and not j.bridge and (? or not j.retried) and j.id < ? order by j.id desc limit ?) jobs`
	jobsOfRunner   = readable + `j.id < ? order by j.id desc limit ?) jobs`
	jobsOfRunnerUp = readable + `j.id > ? order by j.id limit ?) jobs`
	// What the reader may not read is left out before anything is counted. The
	// projects are asked for one by one, as the jobs come.
	readable = `(select ?::bigint, ?::date, ?::smallint, ?::boolean) as reader cross join unnest(?::text[]) as wanted (one)
		cross join lateral (select ` + jobColumns + ` from jobs j cross join lateral (
			select from projects p join namespaces n on n.id = p.namespace_id where p.id = j.project_id and ` + project.ReadsJobs + ` offset 0) may
		where j.runner_id = (select ?::bigint) and j.status = wanted.one and `
)

// border is the id that a page by keyset lies beyond.
func border(req paging.Request) (id int64) {
	if req.Desc {
		id = math.MaxInt64
	}
	if req.Keyset && req.Cursor != nil && len(req.Cursor.After) == 1 {
		if after, err := strconv.ParseInt(req.Cursor.After[0], 10, 64); err == nil {
			id = after
		}
	}
	return id
}

// Jobs reads one page of a project's jobs, the newest first.
func (s *Service) Jobs(ctx context.Context, projectID int64, f JobFilter, req paging.Request) (paging.Result[Job], error) {
	return s.jobPage(ctx, func(reach int) *postgres.List { return s.jobList(projectID, f, req, reach) }, req)
}

// jobList is the list of a project's jobs, of which reach rows of each status
// are looked at.
func (s *Service) jobList(projectID int64, f JobFilter, req paging.Request, reach int) *postgres.List {
	var l *postgres.List
	switch {
	case f.PipelineID != 0:
		l = postgres.From("jobs").Where("pipeline_id = ?", f.PipelineID)
		if f.Bridges {
			l.Where("bridge")
		} else {
			l.Where("not bridge")
		}
		if len(f.Statuses) > 0 {
			l.Where("status = any(?::text[])", f.Statuses)
		}
	case len(f.Statuses) > 0:
		req.Desc = true
		l = postgres.From(jobsByStatus, f.Statuses, projectID, f.Retried, border(req), reach)
	default:
		l = postgres.From("jobs").Where("project_id = ?", projectID).Where("not bridge")
	}
	if !f.Retried {
		l.Where("not retried")
	}
	return l.Columns(jobColumns).Order(postgres.Key{Expr: "id", Desc: true})
}

// JobsOfRunner reads one page of what a runner had and somebody may read, the
// newest first unless asked otherwise.
func (s *Service) JobsOfRunner(ctx context.Context, by access.Actor, runnerID int64, of Status, req paging.Request) (paging.Result[Job], error) {
	statuses := Statuses
	if of != "" {
		statuses = []Status{of}
	}
	reader := s.deps.Projects.JobsReader(by)
	return s.jobPage(ctx, func(reach int) *postgres.List {
		args := append(reader[:], statuses, runnerID, border(req), reach)
		l := postgres.From(jobsOfRunner, args...)
		if !req.Desc {
			l = postgres.From(jobsOfRunnerUp, args...)
		}
		return l.Columns(jobColumns).Order(postgres.Key{Expr: "id", Desc: req.Desc})
	}, req)
}

// jobPage reads one page of jobs. A page by offset that is not the last is counted
// besides, as far as lists are counted at all.
func (s *Service) jobPage(ctx context.Context, list func(reach int) *postgres.List, req paging.Request) (paging.Result[Job], error) {
	reach := req.PerPage + 1
	if !req.Keyset {
		reach += req.Offset()
	}
	res, err := paging.FetchOf(ctx, s.deps.DB, list(reach), req, 0, func(j Job) []string { return []string{strconv.FormatInt(j.ID, 10)} })
	if err != nil || req.Keyset {
		return res, err
	}
	res.Total = req.Offset() + len(res.Items)
	if res.More || (len(res.Items) == 0 && req.Page > 1) {
		res.Total, err = paging.Count(ctx, s.deps.DB, list(paging.MaxTotal+1))
	}
	return res, err
}

// Filter narrows a list of pipelines.
type Filter struct {
	Scope         string // running, pending, finished, branches, tags
	Status        Status
	Source        Source
	Ref, SHA      string
	YAMLErrors    *bool
	UserID        *int64
	Name          string
	ScheduleID    int64
	UpdatedAfter  time.Time
	UpdatedBefore time.Time
	CreatedAfter  time.Time
	CreatedBefore time.Time
}

// List reads one page of a project's pipelines. Children are shown when they
// are asked for.
func (s *Service) List(ctx context.Context, projectID int64, f Filter, req paging.Request) (paging.Result[Pipeline], error) {
	l := postgres.From("pipelines").Columns(pipelineColumns).Where("project_id = ?", projectID)
	if f.Source != "" {
		l.Where("source = ?", f.Source)
	} else {
		l.Where("not child")
	}
	switch f.Scope {
	case "running", "pending":
		l.Where("status = ?", f.Scope)
	case "finished":
		l.Where("status in ('success', 'failed', 'canceled')")
	case "branches":
		l.Where("not tag")
	case "tags":
		l.Where("tag")
	}
	if f.Status != "" {
		l.Where("status = ?", f.Status)
	}
	if f.Ref != "" {
		l.Where("ref = ?", f.Ref)
	}
	if f.SHA != "" {
		l.Where("sha = ?", f.SHA)
	}
	if f.YAMLErrors != nil {
		l.Where("(yaml_errors is not null) = ?", *f.YAMLErrors)
	}
	if f.UserID != nil {
		l.Where("user_id = ?", *f.UserID)
	}
	if f.Name != "" {
		l.Where("name = ?", f.Name)
	}
	if f.ScheduleID != 0 {
		l.Where("schedule_id = ?", f.ScheduleID)
	}
	for _, b := range []struct {
		at    time.Time
		apply func()
	}{
		{f.UpdatedAfter, func() { l.Where("updated_at > ?", f.UpdatedAfter) }},
		{f.UpdatedBefore, func() { l.Where("updated_at < ?", f.UpdatedBefore) }},
		{f.CreatedAfter, func() { l.Where("created_at > ?", f.CreatedAfter) }},
		{f.CreatedBefore, func() { l.Where("created_at < ?", f.CreatedBefore) }},
	} {
		if !b.at.IsZero() {
			b.apply()
		}
	}
	id := postgres.Key{Expr: "id", Desc: req.Desc}
	switch req.OrderBy {
	case "status":
		l.Order(postgres.Key{Expr: "status", Desc: req.Desc}, id)
	case "ref":
		l.Order(postgres.Key{Expr: "ref", Desc: req.Desc}, id)
	case "updated_at":
		l.Order(postgres.Key{Expr: "updated_at", Desc: req.Desc}, id)
	case "user_id":
		l.Order(postgres.Key{Expr: "coalesce(user_id, 0)", Desc: req.Desc}, id)
	default:
		l.Order(id)
	}
	// Pages by cursor go by the id.
	return paging.Fetch(ctx, s.deps.DB, l, req, func(p Pipeline) []string { return []string{strconv.FormatInt(p.ID, 10)} })
}

// Warned says which of some pipelines passed with failures that are allowed.
func (s *Service) Warned(ctx context.Context, pipelines ...*Pipeline) (map[int64]bool, error) {
	var passed []int64
	for _, pl := range pipelines {
		if pl.Status == Success {
			passed = append(passed, pl.ID)
		}
	}
	if passed == nil {
		return nil, nil
	}
	ids, err := postgres.Values[int64](ctx, s.deps.DB, sqlWarned, passed)
	warned := make(map[int64]bool, len(ids))
	for _, id := range ids {
		warned[id] = true
	}
	return warned, err
}
