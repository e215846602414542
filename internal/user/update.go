package user

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/platform/postgres"
)

// Update changes an account. A name or address that belongs to someone else
// is answered as not found, as the API promises.
func (s *Service) Update(ctx context.Context, by access.Actor, id int64, a Attributes) (*User, error) {
	hash, err := s.hashNew(ctx, a)
	if err != nil {
		return nil, err
	}
	var u *User
	err = s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		if u, err = s.lock(ctx, tx, id); err != nil {
			return err
		}
		if u.Kind.Internal() {
			return fault.WithReason(fault.Forbidden, "An internal user cannot be modified")
		}
		before := *u
		u.UpdatedAt = s.deps.Clock.Now()
		a.apply(u)
		var f fault.Fields
		validate(u, &f)
		if err := s.changeEmail(ctx, tx, u, a, &f); err != nil {
			return err
		}
		if err := s.checkAddresses(ctx, tx, u, &before, &f); err != nil {
			return err
		}
		if a.Password != nil {
			checkPassword(*a.Password, u, s.deps.Settings.Current().MinimumPasswordLength, &f)
		}
		if err := f.Err(); err != nil {
			return err
		}
		if err := s.write(ctx, tx, u); err != nil {
			return err
		}
		if hash != nil {
			// A password that someone else chose must be changed at once.
			var expires *time.Time
			if !by.Is(u.ID) {
				expires = &u.UpdatedAt
			}
			if _, err := tx.Exec(ctx, sqlSetPassword, u.ID, *hash, expires); err != nil {
				return err
			}
		}
		if err := s.putIdentity(ctx, tx, u, a); err != nil {
			return err
		}
		if a.Avatar != nil {
			if u.Avatar, err = avatars.Set(ctx, tx, u.ID, *a.Avatar); err != nil {
				return err
			}
		}
		if err := s.deps.Bus.Publish(ctx, tx, Updated{By: by, Before: &before, After: u}); err != nil {
			return err
		}
		return s.publishChanges(ctx, tx, by, &before, u, hash != nil)
	})
	return u, err
}

func (s *Service) write(ctx context.Context, tx pgx.Tx, u *User) error {
	_, err := tx.Exec(ctx, sqlUpdate, u.ID, u.Username, u.Name, u.Email, u.UnconfirmedEmail, u.ConfirmedAt, u.Admin, u.Auditor,
		u.External, u.PrivateProfile, u.Bio, u.Location, u.PublicEmail, u.CommitEmail, u.Skype, u.Linkedin, u.Twitter, u.Discord,
		u.WebsiteURL, u.Organization, u.JobTitle, u.Pronouns, u.Note, u.ThemeID, u.ColorSchemeID, u.ProjectsLimit, u.CanCreateGroup,
		u.ViewDiffsFileByFile, u.SharedRunnersMinutesLimit, u.ExtraSharedRunnersMinutesLimit, u.UpdatedAt)
	return postgres.Faults{"users_username_key": fault.NotFoundf("User")}.Translate(err)
}

// changeEmail makes a secondary address the primary one; the two trade places,
// so that neither is lost. An address that nobody confirmed stays pending.
func (s *Service) changeEmail(ctx context.Context, tx pgx.Tx, u *User, a Attributes, f *fault.Fields) error {
	if a.Email == nil {
		return nil
	}
	email, normal, ok := parseAddress(*a.Email)
	if !ok {
		f.Add("email", "is invalid")
		return nil
	}
	_, current, _ := parseAddress(u.Email)
	if normal == current {
		u.Email = email
		return nil
	}
	owner, err := postgres.Value[int64](ctx, tx, sqlAddressOwner, normal)
	switch {
	case errors.Is(err, postgres.ErrNoRows):
		f.Add("email", "must be one of the user's secondary email addresses")
		return nil
	case err != nil:
		return err
	case owner != u.ID:
		return fault.NotFoundf("User")
	}
	var secondary struct {
		id        int64
		email     string
		confirmed *time.Time
	}
	if err := tx.QueryRow(ctx, sqlSecondary, u.ID, normal).Scan(&secondary.id, &secondary.email, &secondary.confirmed); err != nil {
		return err
	}
	if secondary.confirmed == nil && !a.Confirmed {
		u.UnconfirmedEmail = &secondary.email
		return nil
	}
	if _, err := tx.Exec(ctx, sqlSwapSecondary, secondary.id, u.ID, u.Email, current, u.ConfirmedAt, u.UpdatedAt); err != nil {
		return err
	}
	u.Email, u.UnconfirmedEmail = secondary.email, nil
	if u.ConfirmedAt = secondary.confirmed; u.ConfirmedAt == nil {
		u.ConfirmedAt = &u.UpdatedAt
	}
	return nil
}

// checkAddresses holds the shown addresses against the confirmed ones, where
// they changed.
func (s *Service) checkAddresses(ctx context.Context, tx pgx.Tx, u, before *User, f *fault.Fields) error {
	if u.PublicEmail == before.PublicEmail && u.CommitEmail == before.CommitEmail {
		return nil
	}
	own, err := postgres.Values[string](ctx, tx, sqlVerified, u.ID)
	if err != nil {
		return err
	}
	_, primary, _ := parseAddress(u.Email)
	checkShown(u, append(own, primary), f)
	return nil
}

func (s *Service) publishChanges(ctx context.Context, tx pgx.Tx, by access.Actor, before, after *User, password bool) error {
	var events []Event
	if before.Username != after.Username {
		events = append(events, change(UsernameChanged, by, after, "username", before.Username, after.Username))
	}
	if before.Email != after.Email {
		events = append(events, change(EmailChanged, by, after, "email address", before.Email, after.Email))
	}
	if before.Admin != after.Admin {
		events = append(events, change(AdminChanged, by, after, "admin status", strconv.FormatBool(before.Admin), strconv.FormatBool(after.Admin)))
	}
	if before.Auditor != after.Auditor {
		events = append(events, change(AuditorChanged, by, after, "auditor status", strconv.FormatBool(before.Auditor), strconv.FormatBool(after.Auditor)))
	}
	if password {
		events = append(events, Event{Action: PasswordChanged, By: by, User: after})
	}
	for _, e := range events {
		if err := s.deps.Bus.Publish(ctx, tx, e); err != nil {
			return err
		}
	}
	return nil
}

// RemoveIdentity unlinks an account from one elsewhere.
func (s *Service) RemoveIdentity(ctx context.Context, by access.Actor, u *User, provider string) error {
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, sqlDeleteIdentity, u.ID, provider)
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return fault.NotFoundf("Identity")
		}
		return s.deps.Bus.Publish(ctx, tx, Event{Action: IdentityRemoved, By: by, User: u, Message: "Removed identity of " + provider})
	})
}
