package pipeline

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/fault"
	"stithy/internal/kit/paging"
	"stithy/internal/platform/jobqueue"
	"stithy/internal/platform/postgres"
)

// Serve gives a resource that is free to the job whose turn it is.
func (s *Service) Serve(ctx context.Context, groupID int64) error {
	for {
		again, err := s.serveOne(ctx, groupID)
		if err != nil || !again {
			return err
		}
	}
}

// serveOne reports whether the job that was chosen had moved on meanwhile.
func (s *Service) serveOne(ctx context.Context, groupID int64) (again bool, err error) {
	mode, err := postgres.Value[string](ctx, s.deps.DB, sqlResourceMode, groupID)
	if errors.Is(err, postgres.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	sql := map[string]string{"oldest_first": sqlOldestFirst, "newest_first": sqlNewestFirst}[mode]
	if sql == "" {
		sql = sqlNextWaiting
	}
	next, err := postgres.One[struct {
		ID     int64
		Status Status
	}](ctx, s.deps.DB, sql, groupID)
	if errors.Is(err, postgres.ErrNoRows) || (err == nil && next.Status != WaitingForResource) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	err = s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		t, j, err := s.beginOf(ctx, tx, next.ID)
		if err != nil {
			return err
		}
		if j == nil || j.Status != WaitingForResource {
			again = true
			return nil
		}
		tag, err := tx.Exec(ctx, sqlHoldResource, groupID, j.ID)
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		if err := t.move(j, Enqueue); err != nil {
			return err
		}
		return t.settle(ctx)
	})
	if fault.Is(err, fault.NotFound) {
		return true, nil
	}
	return again, err
}

// ResourceGroup is something that one job at a time may use.
type ResourceGroup struct {
	ID          int64
	ProjectID   int64
	Key         string
	ProcessMode string // unordered, oldest_first, newest_first
	CreatedAt   time.Time
	UpdatedAt   time.Time
}

// ResourceGroups reads one page of a project's resource groups.
func (s *Service) ResourceGroups(ctx context.Context, projectID int64, req paging.Request) (paging.Result[ResourceGroup], error) {
	l := postgres.From("resource_groups").Columns(groupColumns).Where("project_id = ?", projectID).
		Order(postgres.Key{Expr: "key"}, postgres.Key{Expr: "id"})
	return paging.Fetch[ResourceGroup](ctx, s.deps.DB, l, req, nil)
}

// Upcoming reads one page of the jobs that wait for a resource, in the order of
// their pipelines.
func (s *Service) Upcoming(ctx context.Context, g *ResourceGroup, req paging.Request) (paging.Result[Job], error) {
	l := postgres.From("jobs").Columns(jobColumns).Where("resource_group_id = ?", g.ID).Where("not retried and not bridge")
	if g.ProcessMode == "unordered" {
		l.Where("status = 'waiting_for_resource'")
	} else {
		l.Where("status in ('created', 'scheduled', 'waiting_for_resource')")
	}
	l.Order(postgres.Key{Expr: "pipeline_id", Desc: g.ProcessMode == "newest_first"}, postgres.Key{Expr: "id"})
	return paging.Fetch[Job](ctx, s.deps.DB, l, req, nil)
}

// SetResourceGroup says who comes next.
func (s *Service) SetResourceGroup(ctx context.Context, projectID int64, key, mode string) (g *ResourceGroup, err error) {
	err = s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		if g, err = found(postgres.One[ResourceGroup](ctx, tx, sqlSetResourceGroup, projectID, key, mode, s.deps.Clock.Now())); err != nil {
			return err
		}
		return s.deps.Queue.Insert(ctx, tx, ServeArgs{GroupID: g.ID}, jobqueue.Unique())
	})
	return g, err
}
