package pipeline

import (
	"context"
	"strconv"
	"time"

	"stithy/internal/kit/paging"
	"stithy/internal/platform/postgres"
)

// JobFilter narrows a list of jobs.
type JobFilter struct {
	PipelineID int64    // 0: of the whole project
	Statuses   []Status // none: all
	Bridges    bool     // bridges instead of builds
	Retried    bool     // also records that others took the place of
}

// Jobs reads one page of a project's jobs, the newest first.
func (s *Service) Jobs(ctx context.Context, projectID int64, f JobFilter, req paging.Request) (paging.Result[Job], error) {
	l := postgres.From("jobs").Columns(jobColumns).Order(postgres.Key{Expr: "id", Desc: true})
	if f.PipelineID != 0 {
		l.Where("pipeline_id = ?", f.PipelineID)
	} else {
		l.Where("project_id = ?", projectID)
	}
	if f.Bridges {
		l.Where("bridge")
	} else {
		l.Where("not bridge")
	}
	if !f.Retried {
		l.Where("not retried")
	}
	if len(f.Statuses) > 0 {
		l.Where("status = any(?::text[])", f.Statuses)
	}
	if req.Keyset {
		return paging.Fetch(ctx, s.DB, l, req, func(j Job) []string { return []string{strconv.FormatInt(j.ID, 10)} })
	}
	// Nobody is told how many there are: counting them would cost more than the page.
	res, err := paging.FetchOf[Job](ctx, s.DB, l, req, 0, nil)
	if err == nil {
		res.Total = req.Offset() + len(res.Items)
		if res.More || (len(res.Items) == 0 && req.Page > 1) {
			res.Total = paging.MaxTotal + 1
		}
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
	return paging.Fetch(ctx, s.DB, l, req, func(p Pipeline) []string { return []string{strconv.FormatInt(p.ID, 10)} })
}
