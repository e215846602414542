package member

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/paging"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/secretbox"
)

// Invitation is a membership that waits for whoever reads an address.
type Invitation struct {
	ID          int64
	InviteEmail string
	AccessLevel access.Role
	ExpiresAt   *time.Time
	CreatedByID *int64
	CreatedAt   time.Time
	UpdatedAt   time.Time
}

// secretKind keeps the secret of an invitation from passing for another.
const secretKind = "invitation"

// Invite makes whoever confirmed an address a member. An address that is not
// confirmed grants nothing: it gets a letter, and only whoever reads that can
// take the place.
func (s *Service) Invite(ctx context.Context, by access.Actor, src *Source, address string, t Terms) error {
	if err := t.check(by, src, s.today()); err != nil {
		return err
	}
	email, holder, err := s.Users.Holder(ctx, address)
	if err != nil {
		return err
	}
	return s.DB.InTx(ctx, func(tx pgx.Tx) error {
		if holder != nil {
			_, err := s.add(ctx, tx, by, src, holder, t)
			return err
		}
		return s.invite(ctx, tx, by, src, email, t)
	})
}

func (s *Service) invite(ctx context.Context, tx pgx.Tx, by access.Actor, src *Source, email string, t Terms) error {
	if err := checkUnlocked(ctx, tx, src); err != nil {
		return err
	}
	namespaceID, projectID := src.keys()
	if _, err := tx.Exec(ctx, sqlExpiredInvitation, namespaceID, projectID, email, s.today()); err != nil {
		return err
	}
	secret := secretbox.Secret(secretbox.RandomToken(20))
	_, err := postgres.One[Invitation](ctx, tx, sqlInsertInvitation, namespaceID, projectID, email,
		s.Box.Digest(secretKind, secret.Reveal()), t.Level, t.ExpiresAt, author(by), s.Clock.Now())
	if err != nil {
		taken := fault.Say(fault.Conflict, "The member's email address has already been taken")
		return postgres.Faults{"members_namespace_invite_key": taken, "members_project_invite_key": taken}.Translate(err)
	}
	if err := s.Bus.Publish(ctx, tx, Event{What: Created, By: by, Source: src.Entity, Name: email, Level: t.Level}); err != nil {
		return err
	}
	return s.Bus.Publish(ctx, tx, Invited{By: by, Source: src.Entity, Email: email, Secret: secret})
}

// Invitations lists the addresses that were invited.
func (s *Service) Invitations(ctx context.Context, src *Source, query string, req paging.Request) (paging.Result[Invitation], error) {
	l := postgres.From("members m").Columns(invitationColumns).Where("m.invite_email is not null")
	whereSource(l, src)
	if query != "" {
		l.Where("m.invite_email ilike ?", postgres.LikeContains(query))
	}
	return paging.Fetch[Invitation](ctx, s.DB, l.Order(postgres.Key{Expr: "lower(m.invite_email)"}, postgres.Key{Expr: "m.id"}), req, nil)
}

// UpdateInvitation changes the terms of an invitation.
func (s *Service) UpdateInvitation(ctx context.Context, by access.Actor, src *Source, email string, c Changes) (Invitation, error) {
	var i Invitation
	err := s.DB.InTx(ctx, func(tx pgx.Tx) error {
		before, err := s.lockInvitation(ctx, tx, by, src, email)
		if err != nil {
			return err
		}
		t := c.over(Terms{Level: before.AccessLevel, ExpiresAt: before.ExpiresAt})
		if err := t.check(by, src, s.today()); err != nil {
			return err
		}
		if i, err = postgres.One[Invitation](ctx, tx, sqlUpdateInvitation, before.ID, t.Level, t.ExpiresAt, s.Clock.Now()); err != nil {
			return err
		}
		change := changeOf(Member{AccessLevel: before.AccessLevel, ExpiresAt: before.ExpiresAt}, Member{AccessLevel: t.Level, ExpiresAt: t.ExpiresAt})
		return s.Bus.Publish(ctx, tx, Event{What: Updated, By: by, Source: src.Entity, Name: i.InviteEmail, Level: t.Level, Change: change})
	})
	return i, err
}

// Disinvite takes an invitation back.
func (s *Service) Disinvite(ctx context.Context, by access.Actor, src *Source, email string) error {
	return s.DB.InTx(ctx, func(tx pgx.Tx) error {
		i, err := s.lockInvitation(ctx, tx, by, src, email)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, sqlDelete, i.ID); err != nil {
			return err
		}
		return s.Bus.Publish(ctx, tx, Event{What: Destroyed, By: by, Source: src.Entity, Name: i.InviteEmail, Level: i.AccessLevel})
	})
}

// lockInvitation reads an invitation that is about to change, by someone who
// could have made it.
func (s *Service) lockInvitation(ctx context.Context, tx pgx.Tx, by access.Actor, src *Source, email string) (Invitation, error) {
	namespaceID, projectID := src.keys()
	i, err := postgres.One[Invitation](ctx, tx, sqlLockInvitation, namespaceID, projectID, email)
	if errors.Is(err, postgres.ErrNoRows) {
		return i, errNotMember
	}
	if err != nil {
		return i, err
	}
	return i, checkReach(by, src, i.AccessLevel)
}
