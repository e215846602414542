// Package user owns accounts: people and bots, their profiles, addresses,
// identities, keys, custom attributes and states. It does not own the tokens
// that prove who they are (token), nor what they are members of (member).
//
// Tables: users, email_claims, emails, identities, user_custom_attributes,
// follows, user_statuses, ssh_keys, gpg_keys, avatars.
package user

import (
	"time"

	"stithy/internal/kit/access"
)

// State is where an account stands; see transition for the moves.
type State string

const (
	Active      State = "active"
	Blocked     State = "blocked"
	LDAPBlocked State = "ldap_blocked"
	Pending     State = "blocked_pending_approval"
	Banned      State = "banned"
	Deactivated State = "deactivated"
)

// Blocked reports whether the state keeps its holder out for good.
func (s State) Blocked() bool {
	return s == Blocked || s == LDAPBlocked || s == Pending || s == Banned
}

// Kind is what stands behind an account.
type Kind string

const (
	Human          Kind = "human"
	Ghost          Kind = "ghost" // keeps what deleted people left behind
	ProjectBot     Kind = "project_bot"
	ServiceAccount Kind = "service_account"
	AlertBot       Kind = "alert_bot"
	SupportBot     Kind = "support_bot"
)

// Internal reports whether the instance itself stands behind the account: it
// can neither sign in nor be changed.
func (k Kind) Internal() bool { return k == Ghost || k == AlertBot || k == SupportBot }

// AccountState is the part of an account that decides whether and as whom it may
// act. Every request reads it.
type AccountState struct {
	ID                int64
	Username          string
	Name              string
	Email             string
	ConfirmedAt       *time.Time
	State             State
	Kind              Kind
	Admin             bool
	Auditor           bool
	External          bool
	CanCreateGroup    bool
	PasswordExpiresAt *time.Time
	LastActivityOn    *time.Time
}

// User is one account, with every column that some form of it shows.
type User struct {
	AccountState
	NamespaceID                    int64
	UnconfirmedEmail               *string
	PrivateProfile                 bool
	LockedAt                       *time.Time
	TwoFactorEnabled               bool
	Bio                            string
	Location                       string
	PublicEmail                    string
	CommitEmail                    string
	Skype                          string
	Linkedin                       string
	Twitter                        string
	Discord                        string
	WebsiteURL                     string `db:"website_url"`
	Organization                   string
	JobTitle                       string
	Pronouns                       string
	Timezone                       string
	Note                           string
	Avatar                         string
	ThemeID                        int
	ColorSchemeID                  int
	ProjectsLimit                  int
	ViewDiffsFileByFile            bool
	ShowWhitespaceInDiffs          bool
	PassUserIdentitiesToCIJWT      bool `db:"pass_user_identities_to_ci_jwt"`
	SharedRunnersMinutesLimit      *int
	ExtraSharedRunnersMinutesLimit *int
	Followers                      int
	Following                      int
	LastSignInAt                   *time.Time
	CurrentSignInAt                *time.Time
	LastSignInIP                   *string `db:"last_sign_in_ip"`
	CurrentSignInIP                *string `db:"current_sign_in_ip"`
	SignInCount                    int
	EmailResetOfferedAt            *time.Time
	CreatedByID                    *int64
	CreatedAt                      time.Time
	UpdatedAt                      time.Time
	Identities                     []Identity
}

// Identity links an account to one at another provider.
type Identity struct {
	Provider       string `json:"provider"`
	ExternUID      string `json:"extern_uid"`
	SAMLProviderID *int64 `json:"saml_provider_id"`
}

// ModifiedAt lets a client delete only what it has seen.
func (u *User) ModifiedAt() time.Time { return u.UpdatedAt }

// Bot reports whether no person signs in to the account.
func (u *User) Bot() bool { return u.Kind != Human && u.Kind != Ghost }

// PasswordExpired reports whether the password must be changed before the
// account is used.
func (u *User) PasswordExpired(now time.Time) bool {
	return u.PasswordExpiresAt != nil && !now.Before(*u.PasswordExpiresAt)
}

// Person is the account as decisions see it.
func (s *AccountState) Person() *access.Person {
	return &access.Person{
		ID: s.ID, Username: s.Username, Name: s.Name, Email: s.Email,
		Admin: s.Admin, Auditor: s.Auditor, External: s.External,
	}
}

// WorkInformation is the line under a person's name.
func (u *User) WorkInformation() *string {
	line := u.JobTitle
	switch {
	case u.JobTitle != "" && u.Organization != "":
		line = u.JobTitle + " at " + u.Organization
	case u.JobTitle == "":
		line = u.Organization
	}
	if line == "" {
		return nil
	}
	return &line
}

// ShowsProfile reports whether someone sees when the account was made and who
// follows it.
func (u *User) ShowsProfile(to access.Actor) bool {
	if to.Admin() || to.Is(u.ID) {
		return true
	}
	return !u.PrivateProfile && !u.State.Blocked() && u.ConfirmedAt != nil
}
