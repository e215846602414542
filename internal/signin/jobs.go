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

// TidyArgs asks for what has expired to be forgotten.
type TidyArgs struct{}

// Kind names the job.
func (TidyArgs) Kind() string { return "signin_tidy" }

const tidyEvery = time.Hour

// Register adds the room's workers.
func (s *Service) Register(r *jobqueue.Registry) {
	jobqueue.Register(r, s.unlock)
	jobqueue.Register(r, s.mail)
	jobqueue.Register(r, s.tidy)
	r.Every(tidyEvery, TidyArgs{})
}

func (s *Service) unlock(ctx context.Context, args UnlockArgs) error {
	_, period := s.limits()
	return s.Users.Unlock(ctx, s.DB, args.UserID, s.Clock.Now().Add(-period))
}

// tidy forgets what has expired, some at a time.
func (s *Service) tidy(ctx context.Context, _ TidyArgs) error {
	const batch = 10_000
	for _, sql := range []string{sqlForgetTries, sqlForgetHalf, sqlForgetLinks, sqlForgetChallenges} {
		for {
			tag, err := s.DB.Exec(ctx, sql, s.Clock.Now(), batch)
			if err != nil {
				return err
			}
			if tag.RowsAffected() < batch {
				break
			}
		}
	}
	return nil
}

// OnUser mails new addresses a link that proves them, and drops what an
// account loses with its second factor.
func (s *Service) OnUser(ctx context.Context, tx pgx.Tx, e user.Event) error {
	switch e.What {
	case user.Created, user.EmailAdded:
		if s.Mail.Configured() {
			return s.Queue.Insert(ctx, tx, MailArgs{UserID: e.User.ID, Purpose: ConfirmAddress}, jobqueue.Unique())
		}
	case user.TwoFactorDisabled:
		return s.dropFactors(ctx, tx, e.User.ID)
	case user.PasswordChanged:
		return s.dropWays(ctx, tx, e.User.ID)
	}
	return nil
}

// OnResetWanted mails a link with which the owner sets the password.
func (s *Service) OnResetWanted(ctx context.Context, tx pgx.Tx, e user.ResetWanted) error {
	if !s.Mail.Configured() {
		return nil
	}
	return s.Queue.Insert(ctx, tx, MailArgs{UserID: e.UserID, Purpose: ResetPassword})
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
	if _, err := tx.Exec(ctx, sqlForgetTriesOf, s.digest(kindTry, accountKey(userID))); err != nil {
		return err
	}
	return s.Users.Unlock(ctx, tx, userID, s.Clock.Now())
}
