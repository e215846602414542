package signin

import (
	"context"
	"errors"
	"net/netip"
	"path"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/platform/secretbox"
	"stithy/internal/user"
)

// Registration is what people say of themselves to get an account.
type Registration struct {
	Name, Username, Email string
	Password              secretbox.Secret
}

const registrationsFromHere = 20

// SignUp makes an account for whoever asks, where the settings allow that.
//
// An address that has an account already is answered as a new one is, and its
// owner is told by mail: a stranger does not learn who is here. Without mail
// that cannot be kept up, and the answer says that the address is taken.
func (s *Service) SignUp(ctx context.Context, r Registration, from netip.Addr) error {
	now := s.deps.Settings.Current()
	if !now.SignupEnabled {
		return fault.New(fault.NotFound)
	}
	if err := s.countPeriod(ctx, "register from:"+network(from), registrationsFromHere, time.Minute); err != nil {
		return err
	}
	if !domainAllowed(r.Email, now.DomainAllowlist, now.DomainDenylistEnabled, now.DomainDenylist) {
		return fault.Field("email", "is not allowed for sign-up. Please use your regular email address.")
	}
	// An address counts without proof only where the operator wants none and
	// there is no mail to ask for one.
	confirmed := now.EmailConfirmationSetting == "off" && !s.deps.Mail.Configured()
	_, err := s.deps.Users.Create(ctx, access.Actor{Address: from}, user.Attributes{
		Name: &r.Name, Username: &r.Username, Email: &r.Email, Password: &r.Password,
		Pending: now.RequireAdminApprovalAfterUserSignup, Confirmed: confirmed,
	})
	if fault.Is(err, fault.Conflict) && s.deps.Mail.Configured() {
		return s.noticeTaken(ctx, r)
	}
	return err
}

// noticeTaken tells the owner of a taken address. A username is no secret, so
// one that is taken is said.
func (s *Service) noticeTaken(ctx context.Context, r Registration) error {
	l, err := s.deps.Users.FindLogin(ctx, r.Username)
	if err != nil {
		return err
	}
	if l != nil {
		return fault.Field("username", "has already been taken")
	}
	l, err = s.deps.Users.FindLogin(ctx, r.Email)
	if err != nil || l == nil {
		return err // an address that is being proved elsewhere: nobody to tell
	}
	// Whoever registers an address again and again hears the same each time, and its owner hears of it once in a while.
	switch err := s.countPeriod(ctx, "taken:"+strings.ToLower(strings.TrimSpace(r.Email)), 1, mailsPeriod); {
	case errors.Is(err, errTooMany):
		return nil
	case err != nil:
		return err
	}
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		return s.deps.Queue.Insert(ctx, tx, MailArgs{UserID: l.ID, Purpose: NoticeTaken})
	})
}

// domainAllowed holds the domain of an address against the lists, in which *
// stands for any part.
func domainAllowed(address string, allowed []string, denying bool, denied []string) bool {
	domain := strings.ToLower(strings.TrimSpace(address[strings.LastIndexByte(address, '@')+1:]))
	listed := func(list []string) bool {
		for _, pattern := range list {
			if ok, err := path.Match(strings.ToLower(strings.TrimSpace(pattern)), domain); err == nil && ok {
				return true
			}
		}
		return false
	}
	if len(allowed) > 0 && !listed(allowed) {
		return false
	}
	return !denying || !listed(denied)
}
