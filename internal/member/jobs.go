package member

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/platform/jobqueue"
	"stithy/internal/platform/mail"
	"stithy/internal/platform/postgres"
)

// ExpireArgs asks for the removal of what has expired.
type ExpireArgs struct{}

// Kind names the job.
func (ExpireArgs) Kind() string { return "member_expire" }

// InviteMailArgs asks for the mail to an address that was invited.
type InviteMailArgs struct {
	InvitationID int64 `json:"invitation_id"`
}

// Kind names the job.
func (InviteMailArgs) Kind() string { return "member_invite_mail" }

// Register adds the room's workers.
func (s *Service) Register(r *jobqueue.Registry) {
	jobqueue.Register(r, s.mailInvitation)
	jobqueue.Register(r, func(ctx context.Context, _ ExpireArgs) error { return s.Expire(ctx) })
	r.Every(24*time.Hour, ExpireArgs{})
}

// invitesADay is how many mails about invitations an address gets in a day. More
// invitations are shown where it accepts them, and not mailed.
const invitesADay = 5

// mailInvitation tells an address that it was invited. The link opens nothing by
// itself: who follows it signs in, with the address confirmed. No text that
// people can choose freely stands in it.
func (s *Service) mailInvitation(ctx context.Context, args InviteMailArgs) error {
	if !s.deps.Mail.Configured() {
		return nil
	}
	r, err := postgres.One[Received](ctx, s.deps.DB, sqlInvitation, args.InvitationID)
	if errors.Is(err, postgres.ErrNoRows) {
		return nil // taken back or accepted
	}
	if err != nil {
		return err
	}
	n, err := postgres.Value[int](ctx, s.deps.DB, sqlInvitedSince, r.InviteEmail, s.deps.Clock.Now().Add(-24*time.Hour), invitesADay+1)
	if err != nil || n > invitesADay {
		return err
	}
	return s.deps.Mail.Send(ctx, mail.Message{
		To: r.InviteEmail, Subject: s.deps.ExternalURL.Host + ": You are invited to " + r.Path, Text: inviteText(s.deps.ExternalURL.String(), r),
	})
}

func inviteText(site string, r Received) string {
	inviter := "Somebody"
	if r.Inviter != "" {
		inviter = "The user " + r.Inviter
	}
	return fmt.Sprintf(`%s invited this address to the %s
%s at %s, with the role %s.

To accept or decline, sign in and open

%s/-/invitations

You need an account with this address, and the address must be confirmed.
If you know nothing of it, do nothing: you are not a member until you accept.
`, inviter, strings.ToLower(string(r.Kind)), r.Path, site, r.AccessLevel, site)
}

// expireBatch is how many rows one transaction removes.
const expireBatch = 200

// expired is a row that is about to go.
type expired struct {
	RowID int64
	bus.Entity
	UserID      int64 // of the person, or of the group that was let in
	Details     string
	AccessLevel access.Role
}

// Expire removes the memberships and shares that have expired. They stopped
// counting on their day; this only tidies up and tells the trail.
func (s *Service) Expire(ctx context.Context) error {
	members := func(e expired) bus.Event {
		return Event{Action: Destroyed, Source: e.Entity, UserID: e.UserID, Name: e.Details, Level: e.AccessLevel, Expired: true}
	}
	shares := func(e expired) bus.Event {
		what := ProjectUnshared
		if e.Kind == bus.OfGroup {
			what = GroupUnshared
		}
		return ShareEvent{Action: what, Source: e.Entity, GroupID: e.UserID, Name: e.Details, Level: e.AccessLevel}
	}
	if err := s.expire(ctx, sqlExpired, sqlDeleteRows, members); err != nil {
		return err
	}
	return s.expire(ctx, sqlExpiredShares, sqlDeleteShares, shares)
}

func (s *Service) expire(ctx context.Context, find, remove string, tell func(expired) bus.Event) error {
	for n := expireBatch; n == expireBatch; {
		err := s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
			rows, err := postgres.All[expired](ctx, tx, find, s.today(), expireBatch)
			if err != nil {
				return err
			}
			n = len(rows)
			ids := make([]int64, n)
			for i, row := range rows {
				ids[i] = row.RowID
				if err := s.deps.Bus.Publish(ctx, tx, tell(row)); err != nil {
					return err
				}
			}
			_, err = tx.Exec(ctx, remove, ids)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
