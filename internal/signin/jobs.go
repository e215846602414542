package signin

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/platform/jobqueue"
	"stithy/internal/user"
)

// UnlockArgs names an account that takes passwords again.
type UnlockArgs struct {
	UserID int64 `json:"user_id"`
}

// Kind names the job.
func (UnlockArgs) Kind() string { return "signin_unlock" }

// MailArgs asks for the mail of one purpose to an account. Zero is nobody: work
// that is done for show, so that asking about an address tells nothing.
type MailArgs struct {
	UserID  int64   `json:"user_id"`
	Purpose Purpose `json:"purpose"`
}

// Kind names the job.
func (MailArgs) Kind() string { return "signin_mail" }

// TellArgs asks for administrators to be told that accounts wait for approval.
type TellArgs struct{}

// Kind names the job.
func (TellArgs) Kind() string { return "signin_tell_administrators" }

const (
	// tellAfter is how long registrations are collected for one mail, so that
	// nobody fills the inboxes of administrators by registering.
	tellAfter   = 5 * time.Minute
	mostTold    = 10   // administrators, those seen last
	mostWaiting = 1000 // accounts are counted up to here
)

// TidyArgs asks for what has expired to be forgotten.
type TidyArgs struct{}

// Kind names the job.
func (TidyArgs) Kind() string { return "signin_tidy" }

const tidyEvery = time.Hour

// Register adds the room's workers.
func (s *Service) Register(r *jobqueue.Registry) {
	jobqueue.Register(r, s.unlock)
	jobqueue.Register(r, s.mail)
	jobqueue.Register(r, s.tell)
	jobqueue.Register(r, s.tidy)
	r.Every(tidyEvery, TidyArgs{})
}

func (s *Service) unlock(ctx context.Context, args UnlockArgs) error {
	_, period := s.limits()
	return s.deps.Users.Unlock(ctx, s.deps.DB, args.UserID, s.deps.Clock.Now().Add(-period))
}

// tell asks for one mail to each of the administrators, so that one that
// cannot be sent keeps no other waiting.
func (s *Service) tell(ctx context.Context, _ TellArgs) error {
	ids, err := s.deps.Users.Administrators(ctx, mostTold)
	if err != nil {
		return err
	}
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		for _, id := range ids {
			if err := s.deps.Queue.Insert(ctx, tx, MailArgs{UserID: id, Purpose: NoticeWaiting}, jobqueue.Unique()); err != nil {
				return err
			}
		}
		return nil
	})
}

// tidy forgets what has expired, some at a time.
func (s *Service) tidy(ctx context.Context, _ TidyArgs) error {
	const batch = 10_000
	for _, sql := range []string{sqlForgetTries, sqlForgetHalf, sqlForgetLinks, sqlForgetChallenges} {
		if err := s.deps.DB.InBatches(ctx, batch, sql, s.deps.Clock.Now()); err != nil {
			return err
		}
	}
	return nil
}

// OnUser mails new addresses a link that proves them, tells administrators of
// accounts that wait for approval, and drops what an account loses with its
// second factor, its password or its lock.
func (s *Service) OnUser(ctx context.Context, tx pgx.Tx, e user.Event) error {
	switch e.Action {
	case user.Created, user.EmailAdded:
		return s.onAddress(ctx, tx, e)
	case user.TwoFactorDisabled:
		return s.dropFactors(ctx, tx, e.User.ID)
	case user.PasswordChanged:
		return s.dropWays(ctx, tx, e.User.ID)
	case user.WasUnlocked:
		return s.forgetTries(ctx, tx, e.User.ID)
	}
	return nil
}

func (s *Service) onAddress(ctx context.Context, tx pgx.Tx, e user.Event) error {
	if !s.deps.Mail.Configured() {
		return nil
	}
	if e.Action == user.Created && e.User.State == user.Pending {
		if err := s.deps.Queue.Insert(ctx, tx, TellArgs{}, jobqueue.Unique(), jobqueue.At(s.deps.Clock.Now().Add(tellAfter))); err != nil {
			return err
		}
	}
	return s.deps.Queue.Insert(ctx, tx, MailArgs{UserID: e.User.ID, Purpose: ConfirmAddress}, jobqueue.Unique())
}

// OnResetWanted mails a link with which the owner sets the password.
func (s *Service) OnResetWanted(ctx context.Context, tx pgx.Tx, e user.ResetWanted) error {
	if !s.deps.Mail.Configured() {
		return nil
	}
	return s.deps.Queue.Insert(ctx, tx, MailArgs{UserID: e.UserID, Purpose: ResetPassword})
}

// dropWays ends what the old password had begun: half sign-ins, mailed links
// to set another, and the count of wrong ones.
func (s *Service) dropWays(ctx context.Context, tx pgx.Tx, userID int64) error {
	if _, err := tx.Exec(ctx, sqlEndHalves, userID); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, sqlDropLinks, userID, ResetPassword); err != nil {
		return err
	}
	if err := s.forgetTries(ctx, tx, userID); err != nil {
		return err
	}
	return s.deps.Users.Unlock(ctx, tx, userID, s.deps.Clock.Now())
}

func (s *Service) forgetTries(ctx context.Context, tx pgx.Tx, userID int64) error {
	_, err := tx.Exec(ctx, sqlForgetTriesOf, s.digest(kindTry, accountKey(userID)))
	return err
}
