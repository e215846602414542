package user

import (
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/access"
	"stithy/internal/kit/avatar"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/fault"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/secretbox"
)

// Attributes are what an administrator may set on an account. Nil leaves an
// attribute as it is, or gives a new account its default.
type Attributes struct {
	Email, Username, Name          *string
	Password                       *secretbox.Secret
	RandomPassword                 bool // nobody knows it; the owner asks for a reset
	Admin, Auditor, External       *bool
	PrivateProfile, CanCreateGroup *bool
	Bio, Location, Organization    *string
	JobTitle, Pronouns, Note       *string
	Skype, Linkedin, Twitter       *string
	Discord, WebsiteURL            *string
	PublicEmail, CommitEmail       *string
	ThemeID, ColorSchemeID         *int
	ProjectsLimit                  *int
	ViewDiffsFileByFile            *bool
	SharedRunnersMinutesLimit      **int
	ExtraSharedRunnersMinutesLimit **int
	GroupIDForSAML                 *int64
	Provider, ExternUID            *string
	Confirmed                      bool // the address needs no confirmation
	Pending                        bool // a new account waits for approval
	MailReset                      bool // a new account is mailed a link to set its password
	Avatar                         *avatar.Upload
}

// apply writes the attributes over an account, the address and password
// aside: those have rules of their own.
func (a Attributes) apply(u *User) {
	set(&u.Username, a.Username)
	set(&u.Name, a.Name)
	set(&u.Admin, a.Admin)
	set(&u.Auditor, a.Auditor)
	set(&u.External, a.External)
	set(&u.PrivateProfile, a.PrivateProfile)
	set(&u.CanCreateGroup, a.CanCreateGroup)
	set(&u.Bio, a.Bio)
	set(&u.Location, a.Location)
	set(&u.Organization, a.Organization)
	set(&u.JobTitle, a.JobTitle)
	set(&u.Pronouns, a.Pronouns)
	set(&u.Note, a.Note)
	set(&u.Skype, a.Skype)
	set(&u.Linkedin, a.Linkedin)
	set(&u.Twitter, a.Twitter)
	set(&u.Discord, a.Discord)
	set(&u.WebsiteURL, a.WebsiteURL)
	set(&u.PublicEmail, a.PublicEmail)
	set(&u.CommitEmail, a.CommitEmail)
	set(&u.ThemeID, a.ThemeID)
	set(&u.ColorSchemeID, a.ColorSchemeID)
	set(&u.ProjectsLimit, a.ProjectsLimit)
	set(&u.ViewDiffsFileByFile, a.ViewDiffsFileByFile)
	set(&u.SharedRunnersMinutesLimit, a.SharedRunnersMinutesLimit)
	set(&u.ExtraSharedRunnersMinutesLimit, a.ExtraSharedRunnersMinutesLimit)
}

func set[T any](dst *T, src *T) {
	if src != nil {
		*dst = *src
	}
}

var (
	errEmailTaken    = fault.WithMessage(fault.Conflict, "Email has already been taken")
	errUsernameTaken = fault.WithMessage(fault.Conflict, "Username has already been taken")
)

// Create makes an account. The password is hashed before the transaction
// begins, for that is slow on purpose.
func (s *Service) Create(ctx context.Context, by access.Actor, a Attributes) (*User, error) {
	defaults, now := s.deps.Settings.Current(), s.deps.Clock.Now()
	u := &User{
		AccountState:  AccountState{State: Active, Kind: Human, External: defaults.UserDefaultExternal, CanCreateGroup: defaults.CanCreateGroup},
		ProjectsLimit: defaults.DefaultProjectsLimit, PrivateProfile: defaults.UserDefaultsToPrivateProfile, ThemeID: 1, ColorSchemeID: 1,
		CreatedAt: now, UpdatedAt: now, Identities: []Identity{},
	}
	a.apply(u)
	var f fault.Fields
	validate(u, &f)
	var normal string
	if a.Email != nil {
		var ok bool
		if u.Email, normal, ok = parseAddress(*a.Email); !ok {
			f.Add("email", "is invalid")
		}
	}
	if a.Confirmed {
		u.ConfirmedAt = &now
	}
	if a.Pending {
		u.State = Pending
	}
	checkShown(u, []string{normal}, &f)
	if a.Password != nil && !a.RandomPassword {
		checkPassword(*a.Password, u, defaults.MinimumPasswordLength, &f)
	}
	if err := f.Err(); err != nil {
		return nil, err
	}
	hash, err := s.hashNew(ctx, a)
	if err != nil {
		return nil, err
	}
	if by.SignedIn() {
		u.CreatedByID = new(by.ID())
	}
	err = s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		if err := s.insert(ctx, tx, u, hash, a.GroupIDForSAML); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, sqlClaimAddress, normal, u.ID); err != nil {
			return postgres.Faults{"email_claims_pkey": errEmailTaken}.Translate(err)
		}
		if err := s.putIdentity(ctx, tx, u, a); err != nil {
			return err
		}
		if a.Avatar != nil {
			if u.Avatar, err = avatars.Set(ctx, tx, u.ID, *a.Avatar); err != nil {
				return err
			}
		}
		if a.MailReset {
			if err := s.deps.Bus.Publish(ctx, tx, ResetWanted{UserID: u.ID}); err != nil {
				return err
			}
		}
		return s.deps.Bus.Publish(ctx, tx, Event{Action: Created, By: by, User: u})
	})
	if errors.Is(err, errUsernameTaken) {
		// An address in use is named first, whichever the database met first.
		if _, taken := postgres.Value[int64](ctx, s.deps.DB, sqlAddressOwner, normal); taken == nil {
			err = errEmailTaken
		}
	}
	return u, err
}

func (s *Service) insert(ctx context.Context, tx pgx.Tx, u *User, hash *string, samlGroup *int64) error {
	err := tx.QueryRow(ctx, sqlInsert, u.Username, u.Name, u.Email, u.ConfirmedAt, u.State, u.Kind, u.Admin, u.Auditor, u.External,
		u.PrivateProfile, hash, u.PasswordExpiresAt, u.Bio, u.Location, u.PublicEmail, u.CommitEmail, u.Skype, u.Linkedin, u.Twitter,
		u.Discord, u.WebsiteURL, u.Organization, u.JobTitle, u.Pronouns, u.Note, u.ThemeID, u.ColorSchemeID, u.ProjectsLimit,
		u.CanCreateGroup, u.ViewDiffsFileByFile, u.SharedRunnersMinutesLimit, u.ExtraSharedRunnersMinutesLimit, samlGroup,
		u.CreatedByID, u.CreatedAt).Scan(&u.ID, &u.NamespaceID)
	return postgres.Faults{"users_username_key": errUsernameTaken}.Translate(err)
}

// hashNew is the hash of a new password. Without one, nobody signs in with a
// password before the owner has set it. One that is too long is not worth the
// work: the rules refuse it.
func (s *Service) hashNew(ctx context.Context, a Attributes) (*string, error) {
	if a.Password == nil || a.RandomPassword || len(*a.Password) > maxPassword {
		return nil, nil
	}
	hash, err := s.deps.Hasher.Hash(ctx, *a.Password)
	return &hash, err
}

// putIdentity links the account to one elsewhere, or moves that link.
func (s *Service) putIdentity(ctx context.Context, tx pgx.Tx, u *User, a Attributes) error {
	if a.Provider == nil || a.ExternUID == nil || *a.Provider == "" || *a.ExternUID == "" {
		return nil
	}
	if len(*a.Provider) > 255 || len(*a.ExternUID) > 255 {
		return fault.Field("identities.extern_uid", "is too long (maximum is 255 characters)")
	}
	if _, err := tx.Exec(ctx, sqlPutIdentity, u.ID, *a.Provider, *a.ExternUID, s.deps.Clock.Now()); err != nil {
		return postgres.Faults{"identities_extern_key": fault.Field("identities.extern_uid", "has already been taken")}.Translate(err)
	}
	u.Identities = slices.DeleteFunc(u.Identities, func(i Identity) bool { return i.Provider == *a.Provider })
	u.Identities = append(u.Identities, Identity{Provider: *a.Provider, ExternUID: *a.ExternUID})
	return nil
}

// checkShown refuses to show or commit with an address that the person has
// not proved to be theirs.
func checkShown(u *User, own []string, f *fault.Fields) {
	verified := func(s string) bool {
		_, normal, ok := parseAddress(s)
		return ok && slices.Contains(own, normal) && u.ConfirmedAt != nil
	}
	if u.PublicEmail != "" && !verified(u.PublicEmail) {
		f.Add("public_email", "must be an email you have verified")
	}
	if u.CommitEmail != "" && u.CommitEmail != privateCommitEmail && !verified(u.CommitEmail) {
		f.Add("commit_email", "must be an email you have verified")
	}
}

// privateCommitEmail stands for an address that hides the real one.
const privateCommitEmail = "_private"

// change is an act on an attribute.
func change(what Action, by access.Actor, u *User, attribute, from, to string) Event {
	return Event{Action: what, By: by, User: u, Change: &bus.Change{What: attribute, From: from, To: to}}
}
