package member

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/paging"
	"stithy/internal/owner"
	"stithy/internal/platform/postgres"
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

// Invite invites an address. Whoever has confirmed it accepts the invitation;
// the answer does not tell whether there is such a person. Whose address it is
// anyway known to be becomes a member at once: the actor's own, one that its
// owner made public, and any to administrators.
func (s *Service) Invite(ctx context.Context, by access.Actor, src *Source, address string, t Terms) error {
	if err := t.check(by, src, s.today()); err != nil {
		return err
	}
	email, holder, err := s.deps.Users.Holder(ctx, address)
	if err != nil {
		return err
	}
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		if holder != nil && (by.Admin() || by.Is(holder.ID) || strings.EqualFold(holder.PublicEmail, email)) {
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
	namespaceID, projectID := owner.Keys(src.Entity)
	if _, err := tx.Exec(ctx, sqlExpiredInvitation, namespaceID, projectID, email, s.today()); err != nil {
		return err
	}
	i, err := postgres.One[Invitation](ctx, tx, sqlInsertInvitation, namespaceID, projectID, email, t.Level, t.ExpiresAt, author(by), s.deps.Clock.Now())
	if err != nil {
		taken := fault.WithMessage(fault.Conflict, "The member's email address has already been taken")
		return postgres.Faults{"members_namespace_invite_key": taken, "members_project_invite_key": taken}.Translate(err)
	}
	if err := s.deps.Bus.Publish(ctx, tx, Event{Action: Created, By: by, Source: src.Entity, Name: email, Level: t.Level}); err != nil {
		return err
	}
	if !s.deps.Mail.Configured() {
		return nil
	}
	return s.deps.Queue.Insert(ctx, tx, InviteMailArgs{InvitationID: i.ID})
}

// Invitations lists the addresses that were invited.
func (s *Service) Invitations(ctx context.Context, src *Source, query string, req paging.Request) (paging.Result[Invitation], error) {
	l := postgres.From("members m").Columns(invitationColumns).Where("m.invite_email is not null")
	owner.Where(l.Where, src.Entity, "m.namespace_id = ?", "m.project_id = ?")
	if query != "" {
		l.Where("m.invite_email ilike ?", postgres.LikeContains(query))
	}
	return paging.Fetch[Invitation](ctx, s.deps.DB, l.Order(postgres.Key{Expr: "lower(m.invite_email)"}, postgres.Key{Expr: "m.id"}), req, nil)
}

// UpdateInvitation changes the terms of an invitation.
func (s *Service) UpdateInvitation(ctx context.Context, by access.Actor, src *Source, email string, c Changes) (Invitation, error) {
	var i Invitation
	err := s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		before, err := s.lockInvitation(ctx, tx, by, src, email)
		if err != nil {
			return err
		}
		t := c.over(Terms{Level: before.AccessLevel, ExpiresAt: before.ExpiresAt})
		if err := t.check(by, src, s.today()); err != nil {
			return err
		}
		if i, err = postgres.One[Invitation](ctx, tx, sqlUpdateInvitation, before.ID, t.Level, t.ExpiresAt, s.deps.Clock.Now()); err != nil {
			return err
		}
		change := changeOf(Member{AccessLevel: before.AccessLevel, ExpiresAt: before.ExpiresAt}, Member{AccessLevel: t.Level, ExpiresAt: t.ExpiresAt})
		return s.deps.Bus.Publish(ctx, tx, Event{Action: Updated, By: by, Source: src.Entity, Name: i.InviteEmail, Level: t.Level, Change: change})
	})
	return i, err
}

// Disinvite takes an invitation back.
func (s *Service) Disinvite(ctx context.Context, by access.Actor, src *Source, email string) error {
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		i, err := s.lockInvitation(ctx, tx, by, src, email)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, sqlDelete, i.ID); err != nil {
			return err
		}
		return s.deps.Bus.Publish(ctx, tx, Event{Action: Destroyed, By: by, Source: src.Entity, Name: i.InviteEmail, Level: i.AccessLevel})
	})
}

// lockInvitation reads an invitation that is about to change, by someone who
// could have made it.
func (s *Service) lockInvitation(ctx context.Context, tx pgx.Tx, by access.Actor, src *Source, email string) (Invitation, error) {
	namespaceID, projectID := owner.Keys(src.Entity)
	i, err := postgres.One[Invitation](ctx, tx, sqlLockInvitation, namespaceID, projectID, email)
	if errors.Is(err, postgres.ErrNoRows) {
		return i, errNotMember
	}
	if err != nil {
		return i, err
	}
	return i, checkReach(by, src, i.AccessLevel)
}

// Received is an invitation as whoever was invited sees it.
type Received struct {
	ID          int64
	InviteEmail string
	AccessLevel access.Role
	ExpiresAt   *time.Time
	CreatedAt   time.Time
	Inviter     string // the username of who invited them, empty when the account is gone
	Kind        bus.EntityKind
	SourceID    int64
	Path        string
	Name        string
	NamespaceID int64 // the group itself, or what the project stands in
	Holder      int64 // whose personal namespace that is, if anyone's
}

func (r Received) source() *Source {
	return &Source{Entity: bus.Entity{Kind: r.Kind, ID: r.SourceID, Path: r.Path, Name: r.Name}, NamespaceID: r.NamespaceID, Holder: r.Holder}
}

// maxReceived is how many invitations somebody is shown.
const maxReceived = 100

// Received lists the invitations to the addresses that a person has confirmed.
func (s *Service) Received(ctx context.Context, userID int64) ([]Received, error) {
	addresses, err := s.deps.Users.Confirmed(ctx, userID)
	if err != nil || len(addresses) == 0 {
		return nil, err
	}
	return postgres.All[Received](ctx, s.deps.DB, sqlReceived, addresses, s.today(), maxReceived)
}

// Accept makes somebody a member by an invitation to one of the addresses that
// they have confirmed.
func (s *Service) Accept(ctx context.Context, by access.Actor, id int64) (Received, error) {
	return s.answer(ctx, by, id, func(tx pgx.Tx, r Received) error {
		src := r.source()
		if by.Is(r.Holder) {
			return errExists
		}
		if err := checkUnlocked(ctx, tx, src); err != nil {
			return err
		}
		if err := s.checkInherited(ctx, tx, src, by.ID(), r.AccessLevel); err != nil {
			return err
		}
		namespaceID, projectID := owner.Keys(src.Entity)
		if _, err := tx.Exec(ctx, sqlMakeRoom, namespaceID, projectID, by.ID(), s.today()); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, sqlAccept, r.ID, by.ID(), s.deps.Clock.Now()); err != nil {
			return postgres.Faults{"members_namespace_user_key": errExists, "members_project_user_key": errExists}.Translate(err)
		}
		return s.deps.Bus.Publish(ctx, tx, Event{Action: Created, By: by, Source: src.Entity, UserID: by.ID(), Name: by.Person.Name, Level: r.AccessLevel})
	})
}

// Standing is the role that somebody has already where an invitation leads, also from above; NoRole is none.
func (s *Service) Standing(ctx context.Context, by access.Actor, r Received) (access.Role, error) {
	if by.Is(r.Holder) {
		return access.Owner, nil
	}
	src := r.source()
	src.At.Role = access.Guest // nobody is a stranger to their own membership
	m, err := s.Find(ctx, by, src, by.ID(), true)
	if fault.Is(err, fault.NotFound) {
		return access.NoRole, nil
	}
	return m.AccessLevel, err
}

// Decline removes an invitation to one of the addresses that somebody has
// confirmed.
func (s *Service) Decline(ctx context.Context, by access.Actor, id int64) (Received, error) {
	return s.answer(ctx, by, id, func(tx pgx.Tx, r Received) error {
		if _, err := tx.Exec(ctx, sqlDelete, r.ID); err != nil {
			return err
		}
		return s.deps.Bus.Publish(ctx, tx, Event{Action: Destroyed, By: by, Source: r.source().Entity, Name: r.InviteEmail, Level: r.AccessLevel})
	})
}

func (s *Service) answer(ctx context.Context, by access.Actor, id int64, do func(pgx.Tx, Received) error) (r Received, err error) {
	addresses, err := s.deps.Users.Confirmed(ctx, by.ID())
	if err != nil {
		return r, err
	}
	err = s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		r, err = postgres.One[Received](ctx, tx, sqlLockReceived, addresses, s.today(), id)
		if errors.Is(err, postgres.ErrNoRows) {
			return errNotMember
		}
		if err != nil {
			return err
		}
		return do(tx, r)
	})
	return r, err
}
