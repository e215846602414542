package schedule

import (
	"context"

	"stithy/internal/kit/paging"
	"stithy/internal/platform/postgres"
)

// List reads one page of a project's schedules.
func (s *Service) List(ctx context.Context, projectID int64, active *bool, req paging.Request) (paging.Result[Schedule], error) {
	l := postgres.From("pipeline_schedules").Columns(scheduleColumns).Where("project_id = ?", projectID).Order(postgres.Key{Expr: "id"})
	if active != nil {
		l.Where("active = ?", *active)
	}
	return paging.Fetch[Schedule](ctx, s.deps.DB, l, req, nil)
}

// Triggers reads one page of a project's tokens.
func (s *Service) Triggers(ctx context.Context, projectID int64, req paging.Request) (paging.Result[Trigger], error) {
	l := postgres.From("trigger_tokens").Columns(triggerColumns).Where("project_id = ?", projectID).Order(postgres.Key{Expr: "id"})
	return paging.Fetch[Trigger](ctx, s.deps.DB, l, req, nil)
}
