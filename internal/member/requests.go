package member

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/paging"
	"stithy/internal/owner"
	"stithy/internal/platform/postgres"
	"stithy/internal/user"
)

// Ask notes that someone would like to become a member.
func (s *Service) Ask(ctx context.Context, by access.Actor, src *Source) (Member, error) {
	u, err := s.deps.Users.Find(ctx, by.ID())
	if err != nil {
		return Member{}, err
	}
	if !src.AsksAllowed || src.At.Role > access.NoRole || u.Kind == user.ProjectBot {
		return Member{}, fault.New(fault.Forbidden)
	}
	var m Member
	err = s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		now := s.deps.Clock.Now()
		namespaceID, projectID := owner.Keys(src.Entity)
		if _, err := tx.Exec(ctx, sqlExpiredMember, namespaceID, projectID, u.ID, s.today()); err != nil {
			return err
		}
		m, err = postgres.One[Member](ctx, tx, sqlInsert, namespaceID, projectID, u.ID, access.Developer, nil, now, u.ID, now)
		exists := fault.Field("user_id", "already exists in source")
		if err := (postgres.Faults{"members_namespace_user_key": exists, "members_project_user_key": exists}).Translate(err); err != nil {
			return err
		}
		return s.deps.Bus.Publish(ctx, tx, Request{Action: Asked, By: by, Source: src.Entity, UserID: u.ID, At: now})
	})
	return m, err
}

// Requests lists who would like to become a member.
func (s *Service) Requests(ctx context.Context, src *Source, req paging.Request) (paging.Result[Member], error) {
	l := postgres.From("members m join users u on u.id = m.user_id and u.removal is null").Columns(columns).Where("m.requested_at is not null")
	owner.Where(l.Where, src.Entity, "m.namespace_id = ?", "m.project_id = ?")
	return paging.Fetch[Member](ctx, s.deps.DB, l.Order(postgres.Key{Expr: "m.user_id"}, postgres.Key{Expr: "m.id"}), req, nil)
}

// Approve grants an access request.
func (s *Service) Approve(ctx context.Context, by access.Actor, src *Source, userID int64, level access.Role) (Member, error) {
	t := Terms{Level: level}
	if err := t.check(by, src, s.today()); err != nil {
		return Member{}, err
	}
	u, err := s.deps.Users.Find(ctx, userID)
	if fault.Is(err, fault.NotFound) {
		err = errNotMember
	}
	if err != nil {
		return Member{}, err
	}
	var m Member
	err = s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		if _, err := s.lockRequest(ctx, tx, src, userID); err != nil {
			return err
		}
		if m, err = s.add(ctx, tx, by, src, u, t); err != nil {
			return err
		}
		return s.deps.Bus.Publish(ctx, tx, Request{Action: Granted, By: by, Source: src.Entity, UserID: userID, At: s.deps.Clock.Now()})
	})
	return m, err
}

// Deny forgets an access request; anyone may take back their own.
func (s *Service) Deny(ctx context.Context, by access.Actor, src *Source, userID int64) error {
	if !by.Is(userID) {
		if err := access.CheckIn(by, src.admin(), src.At); err != nil {
			return err
		}
	}
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		m, err := s.lockRequest(ctx, tx, src, userID)
		if err != nil {
			return err
		}
		if _, err = tx.Exec(ctx, sqlDelete, m.ID); err != nil || by.Is(userID) {
			return err
		}
		return s.deps.Bus.Publish(ctx, tx, Request{Action: Denied, By: by, Source: src.Entity, UserID: userID, At: s.deps.Clock.Now()})
	})
}

func (s *Service) lockRequest(ctx context.Context, tx pgx.Tx, src *Source, userID int64) (Member, error) {
	namespaceID, projectID := owner.Keys(src.Entity)
	m, err := postgres.One[Member](ctx, tx, sqlLockRequest, namespaceID, projectID, userID)
	if errors.Is(err, postgres.ErrNoRows) {
		err = errNotMember
	}
	return m, err
}
