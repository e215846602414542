package signin

import (
	"context"
	"errors"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/platform/mail"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/secretbox"
	"stithy/internal/user"
)

// Purpose is what a mail is for, and what the link in it allows.
type Purpose string

const (
	ResetPassword  Purpose = "reset_password"
	ConfirmAddress Purpose = "confirm_address"
	NoticeTaken    Purpose = "notice_taken"   // somebody tried to register an address that has an account
	NoticeWaiting  Purpose = "notice_waiting" // to an administrator: accounts wait for approval
)

// lifetimes of links. A link that sets a password is for now.
var lifetimes = map[Purpose]time.Duration{ResetPassword: 6 * time.Hour, ConfirmAddress: 3 * 24 * time.Hour}

var errDeadLink = fault.WithMessage(fault.Rejected, "This link was used already, or is too old. Ask for a new one.")

// link is a mailed link as it is looked up.
type link struct {
	UserID  int64
	Address string
}

// ForgotPassword mails a link that sets a new password to the account of an
// address, if there is one. The answer and the work are the same if not.
//
// The link goes to the primary address, as it is stored: nothing of what was
// typed reaches the mail.
func (s *Service) ForgotPassword(ctx context.Context, address string, from netip.Addr) error {
	return s.askForMail(ctx, address, from, ResetPassword, func(l *user.Login) bool {
		external := l.PasswordHash == nil && len(l.Identities) > 0
		return !external && !l.State.Blocked()
	})
}

// ResendConfirmation mails the links that prove an account's addresses again.
func (s *Service) ResendConfirmation(ctx context.Context, address string, from netip.Addr) error {
	return s.askForMail(ctx, address, from, ConfirmAddress, func(*user.Login) bool { return true })
}

func (s *Service) askForMail(ctx context.Context, address string, from netip.Addr, p Purpose, fits func(*user.Login) bool) error {
	if !strings.Contains(address, "@") {
		return fault.Field("email", "is not an address")
	}
	if err := s.countMail(ctx, address, from); err != nil {
		return err
	}
	l, err := s.deps.Users.FindLogin(ctx, address)
	if err != nil {
		return err
	}
	args := MailArgs{Purpose: p}
	if l != nil && l.Kind == user.Human && fits(l) {
		args.UserID = l.ID
	}
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		if p == ConfirmAddress { // or the links that are under way would stand for new ones
			if _, err := tx.Exec(ctx, sqlDropLinks, args.UserID, p); err != nil {
				return err
			}
		}
		return s.deps.Queue.Insert(ctx, tx, args)
	})
}

// ConfirmAgain mails somebody who is signed in the links that prove their
// addresses. Links that are under way stop working.
func (s *Service) ConfirmAgain(ctx context.Context, u *user.User, from netip.Addr) error {
	if err := s.countMail(ctx, u.Email, from); err != nil {
		return err
	}
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlDropLinks, u.ID, ConfirmAddress); err != nil {
			return err
		}
		return s.deps.Queue.Insert(ctx, tx, MailArgs{UserID: u.ID, Purpose: ConfirmAddress})
	})
}

const (
	mailsToOne    = 5
	mailsFromHere = 50
	mailsPeriod   = 10 * time.Minute
)

// countMail keeps anyone from filling other people's inboxes.
func (s *Service) countMail(ctx context.Context, address string, from netip.Addr) error {
	for key, most := range map[string]int{
		"mail to:" + strings.ToLower(strings.TrimSpace(address)): mailsToOne, "mail from:" + network(from): mailsFromHere,
	} {
		if err := s.countPeriod(ctx, key, most, mailsPeriod); err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) countPeriod(ctx context.Context, key string, most int, period time.Duration) error {
	now := s.deps.Clock.Now()
	n, err := postgres.Value[int](ctx, s.deps.DB, sqlCountInPeriod, s.digest(kindTry, key), now, now.Add(period))
	if err == nil && n > most {
		err = errTooMany
	}
	return err
}

// mail sends the mails of one purpose. The secret in a link is made here, so
// that it is nowhere but in the mail; a mail that is sent again has a new one.
func (s *Service) mail(ctx context.Context, args MailArgs) error {
	if args.UserID == 0 || !s.deps.Mail.Configured() {
		return nil
	}
	u, err := s.deps.Users.Find(ctx, args.UserID)
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	switch args.Purpose {
	case ResetPassword:
		return s.mailLink(ctx, u, u.Email, ResetPassword)
	case NoticeTaken:
		return s.deps.Mail.Send(ctx, mail.Message{To: u.Email, Subject: s.subject("You have an account already"), Text: noticeText(s.site(), u.Username)})
	case NoticeWaiting:
		return s.mailWaiting(ctx, u)
	}
	addresses, err := s.deps.Users.Unconfirmed(ctx, u.ID)
	if err != nil {
		return err
	}
	for _, address := range addresses {
		sent, err := postgres.Value[bool](ctx, s.deps.DB, sqlLinkLives, u.ID, ConfirmAddress, address, s.deps.Clock.Now())
		if err != nil {
			return err
		}
		if !sent {
			if err := s.mailLink(ctx, u, address, ConfirmAddress); err != nil {
				return err
			}
		}
	}
	return nil
}

// mailWaiting tells an administrator how many accounts wait now. Nothing of
// what strangers typed stands in it.
func (s *Service) mailWaiting(ctx context.Context, u *user.User) error {
	n, err := s.deps.Users.CountPending(ctx, mostWaiting)
	if err != nil || n == 0 || !u.Admin || u.State != user.Active {
		return err
	}
	return s.deps.Mail.Send(ctx, mail.Message{To: u.Email, Subject: s.subject("Accounts wait for approval"), Text: waitingText(s.site(), n)})
}

// mailLink mails a link that works from now on. A crash before the last step
// means one more mail, with a link that replaces this one.
func (s *Service) mailLink(ctx context.Context, u *user.User, address string, p Purpose) error {
	secret, now := secretbox.RandomToken(secretLength), s.deps.Clock.Now()
	digest := s.digest(kindLink, secret)
	if _, err := s.deps.DB.Exec(ctx, sqlPutLink, u.ID, p, address, digest, now, now.Add(lifetimes[p])); err != nil {
		return err
	}
	if err := s.deps.Mail.Send(ctx, s.compose(u, address, p, secret)); err != nil {
		return err
	}
	_, err := s.deps.DB.Exec(ctx, sqlLinkSent, digest, s.deps.Clock.Now())
	return err
}

func (s *Service) site() string { return s.deps.ExternalURL.String() }

func (s *Service) subject(text string) string { return s.deps.ExternalURL.Host + ": " + text }

// compose writes a mail. Only values of the instance and of the account row
// stand in it, and the host is the configured one.
func (s *Service) compose(u *user.User, address string, p Purpose, secret string) mail.Message {
	if p == ResetPassword {
		to := s.site() + "/users/password/edit?" + url.Values{"reset_password_token": {secret}}.Encode()
		return mail.Message{To: address, Subject: s.subject("Set your password"), Text: resetText(s.site(), u.Username, to)}
	}
	to := s.site() + "/users/confirmation?" + url.Values{"confirmation_token": {secret}}.Encode()
	return mail.Message{To: address, Subject: s.subject("Confirm your email address"), Text: confirmText(s.site(), u.Username, to)}
}

// LinkLives reports whether a mailed secret still works.
func (s *Service) LinkLives(ctx context.Context, p Purpose, secret string) (bool, error) {
	_, err := postgres.One[link](ctx, s.deps.DB, sqlLink, s.digest(kindLink, secret), p, s.deps.Clock.Now())
	if errors.Is(err, postgres.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// ResetPasswordBy sets a new password with a mailed secret, which works once.
func (s *Service) ResetPasswordBy(ctx context.Context, secret string, password secretbox.Secret, from netip.Addr) error {
	digest := s.digest(kindLink, secret)
	l, by, err := s.follow(ctx, ResetPassword, digest, from)
	if err != nil {
		return err
	}
	return s.deps.Users.SetPassword(ctx, by, l.UserID, password, func(tx pgx.Tx) error {
		return s.useLink(ctx, tx, ResetPassword, digest)
	})
}

// ConfirmAddressBy takes a mailed secret for the proof that an address is read
// by the owner of the account.
func (s *Service) ConfirmAddressBy(ctx context.Context, secret string, from netip.Addr) error {
	digest := s.digest(kindLink, secret)
	l, by, err := s.follow(ctx, ConfirmAddress, digest, from)
	if err != nil {
		return err
	}
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		if err := s.useLink(ctx, tx, ConfirmAddress, digest); err != nil {
			return err
		}
		return s.deps.Users.ConfirmAddress(ctx, tx, by, l.UserID, l.Address)
	})
}

// follow reads a link and whom it belongs to.
func (s *Service) follow(ctx context.Context, p Purpose, digest []byte, from netip.Addr) (link, access.Actor, error) {
	l, err := postgres.One[link](ctx, s.deps.DB, sqlLink, digest, p, s.deps.Clock.Now())
	if errors.Is(err, postgres.ErrNoRows) {
		return l, access.Actor{}, errDeadLink
	}
	if err != nil {
		return l, access.Actor{}, err
	}
	u, err := s.deps.Users.Find(ctx, l.UserID)
	if fault.Is(err, fault.NotFound) {
		return l, access.Actor{}, errDeadLink
	}
	if err != nil {
		return l, access.Actor{}, err
	}
	return l, access.Actor{Person: u.Person(), Address: from}, nil
}

// useLink takes a link out of use; of several who try at once one succeeds.
func (s *Service) useLink(ctx context.Context, tx pgx.Tx, p Purpose, digest []byte) error {
	tag, err := tx.Exec(ctx, sqlUseLink, digest, p, s.deps.Clock.Now())
	if err == nil && tag.RowsAffected() == 0 {
		err = errDeadLink
	}
	return err
}
