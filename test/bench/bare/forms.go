package main

import "time"

type person struct {
	ID        int64   `json:"id"`
	Username  string  `json:"username"`
	Name      string  `json:"name"`
	State     string  `json:"state"`
	Locked    bool    `json:"locked"`
	AvatarURL *string `json:"avatar_url"`
	WebURL    string  `json:"web_url"`
}

type self struct {
	person
	CreatedAt        moment     `json:"created_at"`
	Bio              string     `json:"bio"`
	Bot              bool       `json:"bot"`
	Location         *string    `json:"location"`
	PublicEmail      string     `json:"public_email"`
	Skype            string     `json:"skype"`
	Linkedin         string     `json:"linkedin"`
	Twitter          string     `json:"twitter"`
	Discord          string     `json:"discord"`
	WebsiteURL       string     `json:"website_url"`
	Organization     string     `json:"organization"`
	JobTitle         string     `json:"job_title"`
	Pronouns         string     `json:"pronouns"`
	WorkInformation  *string    `json:"work_information"`
	Followers        int        `json:"followers"`
	Following        int        `json:"following"`
	IsFollowed       bool       `json:"is_followed"`
	LocalTime        string     `json:"local_time"`
	LastSignInAt     *moment    `json:"last_sign_in_at"`
	ConfirmedAt      *moment    `json:"confirmed_at"`
	LastActivityOn   *day       `json:"last_activity_on"`
	Email            string     `json:"email"`
	ThemeID          int        `json:"theme_id"`
	ColorSchemeID    int        `json:"color_scheme_id"`
	ProjectsLimit    int        `json:"projects_limit"`
	CurrentSignInAt  *moment    `json:"current_sign_in_at"`
	Identities       []identity `json:"identities"`
	CanCreateGroup   bool       `json:"can_create_group"`
	CanCreateProject bool       `json:"can_create_project"`
	TwoFactorEnabled bool       `json:"two_factor_enabled"`
	External         bool       `json:"external"`
	PrivateProfile   bool       `json:"private_profile"`
	CommitEmail      string     `json:"commit_email"`
	SharedMinutes    *int       `json:"shared_runners_minutes_limit"`
	ExtraMinutes     *int       `json:"extra_shared_runners_minutes_limit"`
	ScimIdentities   []struct{} `json:"scim_identities"`
	ProvisionedBy    *int64     `json:"provisioned_by_group_id"`
}

type identity struct {
	Provider       string `json:"provider"`
	ExternUID      string `json:"extern_uid"`
	SAMLProviderID *int64 `json:"saml_provider_id"`
}

type moment time.Time

func (m moment) MarshalJSON() ([]byte, error) {
	return time.Time(m).UTC().AppendFormat(make([]byte, 0, 26), `"2006-01-02T15:04:05.000Z"`), nil
}

type day time.Time

func (d day) MarshalJSON() ([]byte, error) {
	return time.Time(d).AppendFormat(make([]byte, 0, 12), `"2006-01-02"`), nil
}
