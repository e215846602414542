package user

import (
	"time"

	"stithy/internal/kit/access"
	"stithy/internal/kit/attribute"
	"stithy/internal/kit/httpapi"
)

// publicForm is an account as everyone sees it.
type publicForm struct {
	ID        int64   `json:"id"`
	Username  string  `json:"username"`
	Name      string  `json:"name"`
	State     State   `json:"state"`
	Locked    bool    `json:"locked"`
	AvatarURL *string `json:"avatar_url"`
	WebURL    string  `json:"web_url"`
}

// profileForm is what people who are signed in see beyond that. What a private
// profile hides is left out, not null.
type profileForm struct {
	publicForm
	CreatedAt       *httpapi.Time `json:"created_at,omitempty"`
	Bio             string        `json:"bio"`
	Bot             bool          `json:"bot"`
	Location        *string       `json:"location"`
	PublicEmail     string        `json:"public_email"`
	Skype           string        `json:"skype"`
	Linkedin        string        `json:"linkedin"`
	Twitter         string        `json:"twitter"`
	Discord         string        `json:"discord"`
	WebsiteURL      string        `json:"website_url"`
	Organization    string        `json:"organization"`
	JobTitle        string        `json:"job_title"`
	Pronouns        string        `json:"pronouns"`
	WorkInformation *string       `json:"work_information"`
	Followers       *int          `json:"followers,omitempty"`
	Following       *int          `json:"following,omitempty"`
	IsFollowed      *bool         `json:"is_followed,omitempty"`
	LocalTime       string        `json:"local_time"`
}

// selfForm is what people see of themselves.
type selfForm struct {
	profileForm
	LastSignInAt     *httpapi.Time `json:"last_sign_in_at"`
	ConfirmedAt      *httpapi.Time `json:"confirmed_at"`
	LastActivityOn   *httpapi.Date `json:"last_activity_on"`
	Email            string        `json:"email"`
	ThemeID          int           `json:"theme_id"`
	ColorSchemeID    int           `json:"color_scheme_id"`
	ProjectsLimit    int           `json:"projects_limit"`
	CurrentSignInAt  *httpapi.Time `json:"current_sign_in_at"`
	Identities       []identity    `json:"identities"`
	CanCreateGroup   bool          `json:"can_create_group"`
	CanCreateProject bool          `json:"can_create_project"`
	TwoFactorEnabled bool          `json:"two_factor_enabled"`
	External         bool          `json:"external"`
	PrivateProfile   bool          `json:"private_profile"`
	CommitEmail      string        `json:"commit_email"`
	*paidFields
}

// paidFields exist on the premium and ultimate tiers.
type paidFields struct {
	SharedRunnersMinutesLimit      *int    `json:"shared_runners_minutes_limit"`
	ExtraSharedRunnersMinutesLimit *int    `json:"extra_shared_runners_minutes_limit"`
	ScimIdentities                 []scim  `json:"scim_identities"`
	Plan                           *string `json:"plan,omitempty"`
	Trial                          *bool   `json:"trial,omitempty"`
	IsAuditor                      *bool   `json:"is_auditor,omitempty"`
	UsingLicenseSeat               *bool   `json:"using_license_seat,omitempty"`
	ProvisionedByGroupID           *int64  `json:"provisioned_by_group_id"`
}

type identity struct {
	Provider       string `json:"provider"`
	ExternUID      string `json:"extern_uid"`
	SAMLProviderID *int64 `json:"saml_provider_id"`
}

type scim struct {
	ExternUID string `json:"extern_uid"`
	GroupID   int64  `json:"group_id"`
	Active    bool   `json:"active"`
}

// adminForm is what administrators see.
type adminForm struct {
	selfForm
	IsAdmin             bool              `json:"is_admin"`
	Note                string            `json:"note"`
	NamespaceID         int64             `json:"namespace_id"`
	CreatedBy           *publicForm       `json:"created_by"`
	EmailResetOfferedAt *httpapi.Time     `json:"email_reset_offered_at"`
	CustomAttributes    *[]attribute.Form `json:"custom_attributes,omitempty"`
	HighestRole         *int              `json:"highest_role,omitempty"` // of a single account
	*signIns
}

// signIns come with the accounts that an administrator looks at, not with the
// answer to a change nor with one's own account.
type signIns struct {
	CurrentSignInIP *string `json:"current_sign_in_ip"`
	LastSignInIP    *string `json:"last_sign_in_ip"`
	SignInCount     int     `json:"sign_in_count"`
}

type activityForm struct {
	Username       string       `json:"username"`
	LastActivityOn httpapi.Date `json:"last_activity_on"`
	LastActivityAt httpapi.Date `json:"last_activity_at"`
}

// publicForm presents an account to everyone.
func (s *Service) publicForm(u *User) publicForm { return s.briefForm(u.Brief()) }

func (s *Service) briefForm(b Brief) publicForm {
	p := publicForm{ID: b.ID, Username: b.Username, Name: b.Name, State: b.State, Locked: b.LockedAt != nil, WebURL: s.baseURL + "/" + b.Username}
	if b.Avatar != "" {
		p.AvatarURL = new(s.baseURL + "/uploads/-/system/user/avatar/" + formatID(b.ID) + "/" + b.Avatar)
	}
	return p
}

func (s *Service) profileForm(u *User, to access.Actor, followed bool) profileForm {
	p := profileForm{
		publicForm: s.publicForm(u), Bio: u.Bio, Bot: u.Bot(), Location: nonEmpty(u.Location), PublicEmail: u.PublicEmail,
		Skype: u.Skype, Linkedin: u.Linkedin, Twitter: u.Twitter, Discord: u.Discord, WebsiteURL: u.WebsiteURL,
		Organization: u.Organization, JobTitle: u.JobTitle, Pronouns: u.Pronouns,
		WorkInformation: u.WorkInformation(), LocalTime: localTime(u.Timezone, s.deps.Clock.Now()),
	}
	if u.ShowsProfile(to) {
		p.CreatedAt = httpapi.At(&u.CreatedAt)
		p.Followers, p.Following, p.IsFollowed = &u.Followers, &u.Following, &followed
	}
	return p
}

func (s *Service) selfForm(u *User, to access.Actor, followed bool) selfForm {
	form := selfForm{
		profileForm: s.profileForm(u, to, followed), LastSignInAt: httpapi.At(u.LastSignInAt), ConfirmedAt: httpapi.At(u.ConfirmedAt),
		LastActivityOn: httpapi.Day(u.LastActivityOn), Email: u.Email, ThemeID: u.ThemeID, ColorSchemeID: u.ColorSchemeID,
		ProjectsLimit: u.ProjectsLimit, CurrentSignInAt: httpapi.At(u.CurrentSignInAt), Identities: make([]identity, len(u.Identities)),
		CanCreateGroup: u.CanCreateGroup, CanCreateProject: u.ProjectsLimit > 0, TwoFactorEnabled: u.TwoFactorEnabled,
		External: u.External, PrivateProfile: u.PrivateProfile, CommitEmail: s.CommitEmail(u),
	}
	for i, id := range u.Identities {
		form.Identities[i] = identity(id)
	}
	if s.deps.Paid {
		form.paidFields = &paidFields{
			SharedRunnersMinutesLimit: u.SharedRunnersMinutesLimit, ExtraSharedRunnersMinutesLimit: u.ExtraSharedRunnersMinutesLimit,
			ScimIdentities: []scim{},
		}
	}
	return form
}

// surroundings are what an administrator's form shows beyond the row itself.
type surroundings struct {
	creators   map[int64]Brief
	followed   map[int64]bool
	attributes map[int64][]attribute.Attribute
}

func (s *Service) adminForm(u *User, to access.Actor, around surroundings) adminForm {
	form := adminForm{
		selfForm: s.selfForm(u, to, around.followed[u.ID]), IsAdmin: u.Admin, Note: u.Note, NamespaceID: u.NamespaceID,
		EmailResetOfferedAt: httpapi.At(u.EmailResetOfferedAt),
	}
	if u.CreatedByID != nil {
		if creator, ok := around.creators[*u.CreatedByID]; ok {
			form.CreatedBy = new(s.briefForm(creator))
		}
	}
	if form.paidFields != nil {
		form.IsAuditor = &u.Auditor
		form.UsingLicenseSeat = new(!u.Bot() && !u.Kind.Internal() && u.State == Active)
		form.Plan, form.Trial = new("default"), new(false)
	}
	if around.attributes != nil {
		form.CustomAttributes = new(attribute.Forms(around.attributes[u.ID]))
	}
	return form
}

func (s *Service) listedForm(u *User, to access.Actor, around surroundings) adminForm {
	form := s.adminForm(u, to, around)
	form.signIns = &signIns{CurrentSignInIP: u.CurrentSignInIP, LastSignInIP: u.LastSignInIP, SignInCount: u.SignInCount}
	return form
}

func (s *Service) singleForm(u *User, to access.Actor, around surroundings) adminForm {
	form := s.listedForm(u, to, around)
	form.HighestRole = new(0)
	return form
}

// CommitEmail is the address that commits made here carry.
func (s *Service) CommitEmail(u *User) string {
	switch u.CommitEmail {
	case "":
		return u.Email
	case privateCommitEmail:
		return formatID(u.ID) + "-" + u.Username + "@users.noreply." + s.host
	}
	return u.CommitEmail
}

// localTime is the time of day where the person is, or in UTC if they did not
// say where.
func localTime(zone string, now time.Time) string {
	place, err := time.LoadLocation(zone) // no zone is UTC
	if err != nil {
		place = time.UTC
	}
	return now.In(place).Format("3:04 PM")
}

func nonEmpty(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
