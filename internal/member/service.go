package member

import (
	"context"
	"errors"
	"net/url"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/group"
	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/fault"
	"stithy/internal/owner"
	"stithy/internal/platform/clock"
	"stithy/internal/platform/deps"
	"stithy/internal/platform/jobqueue"
	"stithy/internal/platform/mail"
	"stithy/internal/platform/postgres"
	"stithy/internal/user"
)

// Deps is what the room needs from below.
type Deps struct {
	DB          *postgres.DB
	Bus         *bus.Bus
	Queue       *jobqueue.Queue
	Users       *user.Service
	Groups      *group.Service
	Owners      *owner.Service
	Mail        *mail.Sender
	Clock       clock.Clock
	ExternalURL *url.URL
}

// Service is the use cases of memberships.
type Service struct{ deps Deps }

// New puts the room together.
func New(d Deps) *Service { return &Service{deps: deps.Complete(d)} }

func (s *Service) today() time.Time { return s.deps.Clock.Now().UTC() }

var (
	errNotMember = fault.WithMessage(fault.NotFound, "404 Not found")
	errExists    = fault.WithMessage(fault.Conflict, "Member already exists")
)

// Add makes someone a member. An access request of theirs is granted by it.
func (s *Service) Add(ctx context.Context, by access.Actor, src *Source, userID int64, t Terms) (Member, error) {
	if err := t.check(by, src, s.today()); err != nil {
		return Member{}, err
	}
	u, err := s.deps.Users.Find(ctx, userID)
	if err != nil {
		return Member{}, err
	}
	var m Member
	err = s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		m, err = s.add(ctx, tx, by, src, u, t)
		return err
	})
	return m, err
}

// add writes a membership on terms that have been checked.
func (s *Service) add(ctx context.Context, tx pgx.Tx, by access.Actor, src *Source, u *user.User, t Terms) (Member, error) {
	switch {
	case u.ID == src.Holder:
		return Member{}, errExists
	case u.Kind == user.ProjectBot || u.Kind.Internal():
		return Member{}, fault.Field("user", "bots cannot be added to other groups / projects")
	}
	if err := checkUnlocked(ctx, tx, src); err != nil {
		return Member{}, err
	}
	if err := s.checkInherited(ctx, tx, src, u.ID, t.Level); err != nil {
		return Member{}, err
	}
	namespaceID, projectID := owner.Keys(src.Entity)
	if _, err := tx.Exec(ctx, sqlMakeRoom, namespaceID, projectID, u.ID, s.today()); err != nil {
		return Member{}, err
	}
	m, err := postgres.One[Member](ctx, tx, sqlInsert, namespaceID, projectID, u.ID, t.Level, t.ExpiresAt, nil, author(by), s.deps.Clock.Now())
	if err != nil {
		return Member{}, postgres.Faults{"members_namespace_user_key": errExists, "members_project_user_key": errExists}.Translate(err)
	}
	return m, s.deps.Bus.Publish(ctx, tx, Event{Action: Created, By: by, Source: src.Entity, UserID: u.ID, Name: u.Name, Level: m.AccessLevel})
}

// author is who a row remembers as its maker.
func author(by access.Actor) *int64 {
	if !by.SignedIn() {
		return nil
	}
	return new(by.ID())
}

// above is what the groups on the way up have decided.
type above struct {
	MembershipLock bool
	ShareLock      bool
	Closed         bool    // groups from outside the tree are not let in
	Lineage        []int64 // from the top
}

func readAbove(ctx context.Context, q postgres.Querier, namespaceID int64) (above, error) {
	return postgres.One[above](ctx, q, sqlAbove, namespaceID)
}

// checkUnlocked refuses to let people into a project whose groups want no
// members but their own.
func checkUnlocked(ctx context.Context, tx pgx.Tx, src *Source) error {
	if src.isGroup() {
		return nil
	}
	above, err := readAbove(ctx, tx, src.NamespaceID)
	if err == nil && above.MembershipLock {
		err = fault.New(fault.NotAllowed)
	}
	return err
}

// checkInherited refuses a level below the one that someone has from above,
// which would only seem to lower it.
func (s *Service) checkInherited(ctx context.Context, tx pgx.Tx, src *Source, userID int64, level access.Role) error {
	itself := int64(0)
	if src.isGroup() {
		itself = src.Entity.ID
	}
	var inherited access.Role
	var from string
	err := tx.QueryRow(ctx, sqlInherited, userID, src.NamespaceID, itself, s.today()).Scan(&inherited, &from)
	if errors.Is(err, postgres.ErrNoRows) || (err == nil && level >= inherited) {
		return nil
	}
	if err != nil {
		return err
	}
	return fault.Field("access_level", "should be greater than or equal to %s inherited membership from group %s", inherited, from)
}

// Changes are what is to be different about a membership. A nil ExpiresAt
// leaves it, one that points to nil takes it away.
type Changes struct {
	Level     *access.Role
	ExpiresAt **time.Time
}

// over are the terms that follow from the present ones.
func (c Changes) over(t Terms) Terms {
	if c.Level != nil {
		t.Level = *c.Level
	}
	if c.ExpiresAt != nil {
		t.ExpiresAt = *c.ExpiresAt
	}
	return t
}

// Update changes the terms of a membership.
func (s *Service) Update(ctx context.Context, by access.Actor, src *Source, userID int64, c Changes) (Member, error) {
	var m Member
	err := s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		before, err := s.lock(ctx, tx, src, userID)
		if err != nil {
			return err
		}
		if err := s.checkTouch(ctx, tx, by, src, before.Member); err != nil {
			return err
		}
		t := c.over(Terms{Level: before.AccessLevel, ExpiresAt: before.ExpiresAt})
		if err := t.check(by, src, s.today()); err != nil {
			return err
		}
		if err := s.checkInherited(ctx, tx, src, userID, t.Level); err != nil {
			return err
		}
		if m, err = postgres.One[Member](ctx, tx, sqlUpdate, before.ID, t.Level, t.ExpiresAt, s.deps.Clock.Now()); err != nil {
			return err
		}
		return s.deps.Bus.Publish(ctx, tx, Event{
			Action: Updated, By: by, Source: src.Entity, UserID: userID, Name: before.UserName, Level: m.AccessLevel,
			Change: changeOf(before.Member, m),
		})
	})
	return m, err
}

// named is a membership with the name of whose it is.
type named struct {
	Member
	UserName string
}

// lock reads a membership that is about to change. Changes of one group wait
// for each other, or two owners could each leave it to the other.
func (s *Service) lock(ctx context.Context, tx pgx.Tx, src *Source, userID int64) (named, error) {
	if userID == src.Holder {
		return named{}, fault.New(fault.Forbidden)
	}
	namespaceID, projectID := owner.Keys(src.Entity)
	if namespaceID != nil {
		if _, err := tx.Exec(ctx, sqlLockGroup, *namespaceID); err != nil {
			return named{}, err
		}
	}
	m, err := postgres.One[named](ctx, tx, sqlLock, namespaceID, projectID, userID, s.today())
	if errors.Is(err, postgres.ErrNoRows) {
		err = errNotMember
	}
	return m, err
}

// checkTouch refuses to change what is above the actor, and the last owner of
// a group.
func (s *Service) checkTouch(ctx context.Context, tx pgx.Tx, by access.Actor, src *Source, m Member) error {
	if !by.Is(m.UserID) {
		if err := checkReach(by, src, m.AccessLevel); err != nil {
			return err
		}
	}
	if !src.isGroup() || m.AccessLevel < access.Owner {
		return nil
	}
	other, err := postgres.Value[bool](ctx, tx, sqlOtherOwner, src.Entity.ID, m.ID, s.today())
	if err == nil && !other {
		err = fault.New(fault.Forbidden)
	}
	return err
}

// Remove ends a membership; anyone may end their own. What the person was
// given below a group ends with it, unless that is to stay.
func (s *Service) Remove(ctx context.Context, by access.Actor, src *Source, userID int64, keepBelow bool) error {
	if !by.Is(userID) {
		if err := access.CheckIn(by, src.admin(), src.At); err != nil {
			return err
		}
	}
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		m, err := s.lock(ctx, tx, src, userID)
		if err != nil {
			return err
		}
		if err := s.checkTouch(ctx, tx, by, src, m.Member); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, sqlDelete, m.ID); err != nil {
			return err
		}
		gone := Event{Action: Destroyed, By: by, Source: src.Entity, UserID: userID, Name: m.UserName, Level: m.AccessLevel}
		if err := s.deps.Bus.Publish(ctx, tx, gone); err != nil {
			return err
		}
		if !src.isGroup() || keepBelow {
			return nil
		}
		return s.removeBelow(ctx, tx, gone)
	})
}

// removed is a membership that went with another.
type removed struct {
	bus.Entity
	UserID      int64
	AccessLevel access.Role
	RequestedAt *time.Time
}

func (s *Service) removeBelow(ctx context.Context, tx pgx.Tx, from Event) error {
	for _, sql := range []string{sqlDeleteInGroups, sqlDeleteInProjects} {
		rows, err := postgres.All[removed](ctx, tx, sql, from.UserID, from.Source.ID)
		if err != nil {
			return err
		}
		for _, row := range rows {
			if row.RequestedAt != nil {
				continue // an access request leaves no trace
			}
			e := from
			e.Source, e.Level = row.Entity, row.AccessLevel
			if err := s.deps.Bus.Publish(ctx, tx, e); err != nil {
				return err
			}
		}
	}
	return nil
}
