package user

import (
	"context"
	"net/http"
	"slices"
	"time"

	"stithy/internal/kit/access"
	"stithy/internal/kit/avatar"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/httpapi"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/secretbox"
)

// readUser lets tokens made for reading profiles in.
var readUser = []access.Scope{access.ScopeReadUser}

// Ref is the {id} of an account in a route. Embed it in params.
type Ref struct {
	ID int64 `param:"id" doc:"ID of the user"`
}

func (r Ref) user() int64 { return r.ID }

// On declares an endpoint below /users/{id} whose handler gets the account.
func On[P interface{ user() int64 }, R any](
	s *Service, spec httpapi.Spec, handle func(context.Context, httpapi.Call[*User, P]) (R, error),
) httpapi.Endpoint {
	return httpapi.On(spec, load[P](s, spec), handle)
}

func load[P interface{ user() int64 }](s *Service, spec httpapi.Spec) func(context.Context, access.Actor, P) (*User, error) {
	return func(ctx context.Context, a access.Actor, in P) (*User, error) {
		if err := access.Check(a, spec.Needs); err != nil && spec.AfterParams {
			return nil, nil // refused after the parameters, whether the account exists or not
		}
		return s.Find(ctx, in.user())
	}
}

// Endpoints lists the REST surface of this room.
func (s *Service) Endpoints() []httpapi.Endpoint {
	own := []httpapi.Endpoint{
		httpapi.Do(httpapi.Spec{
			Route: "GET /users", Needs: access.Anyone, Scopes: readUser, Summary: "List users.",
			Note: "Paging by offset is deprecated; use keyset pagination.",
		}, s.handleList),
		httpapi.Do(httpapi.Spec{
			Route: "GET /users/{id:digits}", Needs: access.ReadProfiles, Scopes: readUser, Limit: "users_get_by_id",
			Summary: "Get a user.",
		}, s.handleGet),
		httpapi.Do(httpapi.Spec{
			Route: "POST /users", Needs: access.Administer, AfterParams: true, Status: http.StatusCreated, MaxBody: 1 << 20,
			Summary: "Create a user.",
		}, s.handleCreate),
		On(s, httpapi.Spec{
			Route: "PUT /users/{id:digits}", Needs: access.Administer, AfterParams: true, Summary: "Modify a user.",
		}, s.handleUpdate),
		On(s, httpapi.Spec{
			Route: "DELETE /users/{id:digits}", Needs: access.Administer, AfterParams: true,
			Summary: "Delete a user.",
		}, s.handleDelete),
		On(s, httpapi.Spec{
			Route: "DELETE /users/{id:digits}/identities/{provider}", Needs: access.Administer, AfterParams: true,
			Summary: "Unlink a user from a provider.",
		}, s.handleDeleteIdentity),
		httpapi.Do(httpapi.Spec{
			Route: "GET /user", Needs: access.SignIn, Scopes: readUser, Account: true, Summary: "Get the authenticated user.",
		}, s.handleSelf),
		httpapi.Do(httpapi.Spec{
			Route: "GET /user/activities", Needs: access.Administer, Scopes: readUser, Summary: "List when users were last active.",
		}, s.handleActivities),
		On(s, httpapi.Spec{
			Route: "PATCH /users/{id:digits}/disable_two_factor", Needs: access.Administer, AfterParams: true,
			Summary: "Disable two-factor authentication of a user.",
		}, s.handleDisableTwoFactor),
		s.decision("approve", "Approve a user who signed up.", "You are not allowed to approve a user", http.StatusCreated,
			func(ctx context.Context, by access.Actor, id int64) error {
				_, err := s.Transition(ctx, by, id, Approve)
				return err
			}),
		s.decision("reject", "Reject a user who signed up.", "You are not allowed to reject a user", http.StatusOK, s.Reject),
	}
	for _, m := range []struct {
		move    Transition
		summary string
	}{
		{Block, "Block a user."}, {Unblock, "Unblock a user."}, {Ban, "Ban a user."}, {Unban, "Unban a user."},
		{Activate, "Activate a user."}, {Deactivate, "Deactivate a user."},
	} {
		own = append(own, On(s, httpapi.Spec{
			Route: "POST /users/{id:digits}/" + string(m.move), Needs: access.Administer, AfterParams: true,
			Status: http.StatusCreated, Summary: m.summary,
		}, func(ctx context.Context, call httpapi.Call[*User, Ref]) (*bool, error) {
			return s.Transition(ctx, call.Actor, call.Subject.ID, m.move)
		}))
	}
	return slices.Concat(own, s.emailEndpoints(), s.sshKeyEndpoints(), s.gpgKeyEndpoints(), s.attributeEndpoints(),
		s.followEndpoints(), s.statusEndpoints(), s.preferenceEndpoints())
}

type successForm struct {
	Message string `json:"message"`
}

// decision declares what an administrator answers to someone who signed up.
// Others are refused in words of their own.
func (s *Service) decision(verb, summary, refusal string, status int, do func(context.Context, access.Actor, int64) error) httpapi.Endpoint {
	return httpapi.Do(httpapi.Spec{
		Route: "POST /users/{id:digits}/" + verb, Needs: access.SignIn, Status: status, Summary: summary,
		ExtraRefusals: "administrators only",
	}, func(ctx context.Context, call httpapi.Call[httpapi.None, Ref]) (successForm, error) {
		if !call.Actor.Admin() {
			return successForm{}, fault.WithMessage(fault.Forbidden, "%s", refusal)
		}
		return successForm{Message: "Success"}, do(ctx, call.Actor, call.Params.ID)
	})
}

type listParams struct {
	httpapi.KeysetPaging
	Username             string            `param:"username" doc:"Exact username, in any case"`
	Search               string            `param:"search" doc:"Part of a name or username, or a whole public email address"`
	Active               bool              `param:"active" doc:"Only active users"`
	Blocked              bool              `param:"blocked" doc:"Only blocked users"`
	External             bool              `param:"external" doc:"Only external users"`
	ExcludeExternal      bool              `param:"exclude_external" doc:"No external users"`
	ExcludeInternal      bool              `param:"exclude_internal" doc:"No accounts of the instance itself"`
	ExcludeActive        bool              `param:"exclude_active" doc:"No active users"`
	WithoutProjectBots   bool              `param:"without_project_bots" doc:"No bots of projects and groups"`
	CreatedAfter         time.Time         `param:"created_after" doc:"Created at this time or later"`
	CreatedBefore        time.Time         `param:"created_before" doc:"Created at this time or earlier"`
	ExternUID            string            `param:"extern_uid" doc:"UID at the provider; administrators only"`
	Provider             string            `param:"provider" doc:"Provider of the UID; administrators only"`
	OrderBy              string            `param:"order_by" enum:"id,name,username,created_at,updated_at" default:"id" doc:"Order of the list"`
	Sort                 string            `param:"sort" enum:"asc,desc" default:"desc" doc:"Direction of the order"`
	TwoFactor            string            `param:"two_factor" enum:"enabled,disabled" doc:"Only users with or without a second factor; administrators only"`
	WithoutProjects      bool              `param:"without_projects" doc:"Only users without projects; administrators only"`
	Admins               bool              `param:"admins" doc:"Only administrators; administrators only"`
	Auditors             bool              `param:"auditors" doc:"Only auditors; administrators only"`
	SAMLProviderID       int64             `param:"saml_provider_id" doc:"Only users of this SAML provider; administrators only"`
	SkipLDAP             bool              `param:"skip_ldap" doc:"No users of a directory; administrators only"`
	CustomAttributes     map[string]string `param:"custom_attributes" doc:"Custom attributes that must match; administrators only"`
	WithCustomAttributes bool              `param:"with_custom_attributes" doc:"Show custom attributes; administrators only"`
}

// Validate asks for both halves of an identity.
func (p listParams) Validate() []string { return allOrNone(p.ExternUID, p.Provider) }

func allOrNone(externUID, provider string) []string {
	if (externUID == "") != (provider == "") {
		return []string{"extern_uid, provider provide all or none of parameters"}
	}
	return nil
}

// filter drops what only administrators may ask for, and what the tier lacks.
func (p listParams) filter(a access.Actor, paid bool) Filter {
	f := Filter{
		Username: p.Username, Search: p.Search, Active: p.Active, Blocked: p.Blocked, External: p.External,
		ExcludeExternal: p.ExcludeExternal, ExcludeInternal: p.ExcludeInternal, NoBots: p.WithoutProjectBots,
		ExcludeActive: p.ExcludeActive, CreatedAfter: p.CreatedAfter, CreatedBefore: p.CreatedBefore, Visible: a,
	}
	if a.Admin() {
		f.WithoutProjects = p.WithoutProjects
		f.Provider, f.ExternUID, f.TwoFactor, f.Admins = p.Provider, p.ExternUID, p.TwoFactor, p.Admins
		f.CustomAttributes = p.CustomAttributes
	}
	if a.Admin() && paid {
		f.Auditors, f.SAMLProviderID, f.SkipLDAP = p.Auditors, p.SAMLProviderID, p.SkipLDAP
	}
	return f
}

// userList is a page of accounts in either form.
type userList = httpapi.List[listItem]

type listItem = httpapi.Either[publicForm, adminForm]

func (s *Service) handleList(ctx context.Context, call httpapi.Call[httpapi.None, listParams]) (userList, error) {
	p, actor := call.Params, call.Actor
	if err := s.mayList(actor, p); err != nil {
		return userList{}, err
	}
	req, err := p.Request(p.OrderBy, p.Sort, httpapi.Offer{Model: "User", OrderBy: []string{"id", "name", "username"}})
	if err != nil {
		return userList{}, err
	}
	f := p.filter(actor, s.deps.Paid)
	f.ExplicitOrder = actor.Admin() && (p.OrderBy != "id" || p.Sort != "desc")
	if !actor.Admin() {
		if !req.Keyset {
			req.OrderBy, req.Desc = "id", true
		}
		page, err := s.ListBrief(ctx, f, req)
		return httpapi.ListOf(req, page, func(b Brief) listItem { return listItem{}.One(s.briefForm(b)) }), err
	}
	page, err := s.List(ctx, f, req)
	if err != nil {
		return userList{}, err
	}
	around, err := s.around(ctx, actor, page.Items, p.WithCustomAttributes)
	return httpapi.ListOf(req, page, func(u User) listItem { return listItem{}.Other(s.listedForm(&u, actor, around)) }), err
}

// mayList lets strangers look one username up, where profiles are public.
func (s *Service) mayList(a access.Actor, p listParams) error {
	if p.ExternUID != "" && !a.Admin() {
		if !a.SignedIn() {
			return fault.New(fault.Unauthenticated)
		}
		return fault.New(fault.Forbidden)
	}
	if !a.SignedIn() && (p.Username == "" || slices.Contains(s.deps.Settings.Current().RestrictedVisibilityLevels, "public")) {
		return fault.WithReason(fault.Forbidden, "Not authorized to access /api/v4/users")
	}
	return nil
}

// around reads, for a whole page at once, what the rows do not hold.
func (s *Service) around(ctx context.Context, a access.Actor, users []User, attributes bool) (around surroundings, err error) {
	ids := make([]int64, len(users))
	var creators []int64
	for i, u := range users {
		ids[i] = u.ID
		if u.CreatedByID != nil && !slices.Contains(creators, *u.CreatedByID) {
			creators = append(creators, *u.CreatedByID)
		}
	}
	if around.creators, err = s.Briefs(ctx, creators...); err != nil {
		return around, err
	}
	if len(ids) != 1 || !a.Is(ids[0]) { // nobody follows themselves
		followed, err := postgres.Values[int64](ctx, s.deps.DB, sqlFollowedAmong, a.ID(), ids)
		if err != nil {
			return around, err
		}
		around.followed = make(map[int64]bool, len(followed))
		for _, id := range followed {
			around.followed[id] = true
		}
	}
	if attributes {
		around.attributes, err = s.attributes.Among(ctx, ids...)
	}
	return around, err
}

type getParams struct {
	Ref
	WithCustomAttributes bool `param:"with_custom_attributes" doc:"Show custom attributes; administrators only"`
}

// getReply is an account as others see it.
type getReply = httpapi.Either[profileForm, adminForm]

func (s *Service) handleGet(ctx context.Context, call httpapi.Call[httpapi.None, getParams]) (reply getReply, _ error) {
	u, err := s.Find(ctx, call.Params.ID)
	if err != nil {
		return reply, err
	}
	around, err := s.around(ctx, call.Actor, []User{*u}, call.Actor.Admin() && call.Params.WithCustomAttributes)
	if err != nil {
		return reply, err
	}
	if call.Actor.Admin() {
		return reply.Other(s.singleForm(u, call.Actor, around)), nil
	}
	return reply.One(s.profileForm(u, call.Actor, around.followed[u.ID])), nil
}

// selfReply is the caller's own account.
type selfReply = httpapi.Either[selfForm, adminForm]

func (s *Service) handleSelf(ctx context.Context, call httpapi.Call[httpapi.None, struct{}]) (reply selfReply, _ error) {
	u, err := s.account(ctx, call.Actor)
	if err != nil {
		return reply, err
	}
	if !u.Admin {
		return reply.One(s.selfForm(u, call.Actor, false)), nil
	}
	around, err := s.around(ctx, call.Actor, []User{*u}, false)
	return reply.Other(s.adminForm(u, call.Actor, around)), err
}

// attributeParams are what POST and PUT /users have in common.
type attributeParams struct {
	Admin                          httpapi.Opt[bool]          `param:"admin" doc:"Whether the user administers the instance"`
	Auditor                        httpapi.Opt[bool]          `param:"auditor" doc:"Whether the user may read everything"`
	Avatar                         httpapi.Opt[*httpapi.File] `param:"avatar" doc:"Picture of the user; empty takes it away"`
	Bio                            httpapi.Opt[string]        `param:"bio" doc:"Biography"`
	CanCreateGroup                 httpapi.Opt[bool]          `param:"can_create_group" doc:"Whether the user may create top-level groups"`
	ColorSchemeID                  httpapi.Opt[int]           `param:"color_scheme_id" doc:"Colour scheme of code, 1 to 6"`
	CommitEmail                    httpapi.Opt[string]        `param:"commit_email" doc:"Address that commits carry; _private hides it"`
	ExternUID                      string                     `param:"extern_uid" doc:"UID at the provider"`
	External                       httpapi.Opt[bool]          `param:"external" doc:"Whether the user is external"`
	ExtraSharedRunnersMinutesLimit httpapi.Opt[int]           `param:"extra_shared_runners_minutes_limit" doc:"Extra CI minutes"`
	GroupIDForSAML                 httpapi.Opt[int64]         `param:"group_id_for_saml" doc:"Group where SAML is configured"`
	JobTitle                       httpapi.Opt[string]        `param:"job_title" doc:"Job title"`
	Linkedin                       httpapi.Opt[string]        `param:"linkedin" doc:"LinkedIn account"`
	Location                       httpapi.Opt[string]        `param:"location" doc:"Location"`
	Note                           httpapi.Opt[string]        `param:"note" doc:"Note of the administrators"`
	Organization                   httpapi.Opt[string]        `param:"organization" doc:"Organization"`
	Password                       secretbox.Secret           `param:"password" doc:"Password"`
	PrivateProfile                 httpapi.Opt[bool]          `param:"private_profile" doc:"Whether the profile is private; null means the default"`
	ProjectsLimit                  httpapi.Opt[int]           `param:"projects_limit" doc:"How many projects the user may create"`
	Pronouns                       httpapi.Opt[string]        `param:"pronouns" doc:"Pronouns"`
	Provider                       string                     `param:"provider" doc:"Provider of the UID"`
	PublicEmail                    httpapi.Opt[string]        `param:"public_email" doc:"Address that everyone sees"`
	SharedRunnersMinutesLimit      httpapi.Opt[int]           `param:"shared_runners_minutes_limit" doc:"CI minutes a month; null inherits, 0 is unlimited"`
	Skype                          httpapi.Opt[string]        `param:"skype" doc:"Skype name"`
	ThemeID                        httpapi.Opt[int]           `param:"theme_id" doc:"Theme, 1 to 10"`
	Twitter                        httpapi.Opt[string]        `param:"twitter" doc:"Twitter account"`
	Discord                        httpapi.Opt[string]        `param:"discord" doc:"Discord account"`
	ViewDiffsFileByFile            httpapi.Opt[bool]          `param:"view_diffs_file_by_file" doc:"Whether diffs show one file at a time"`
	WebsiteURL                     httpapi.Opt[string]        `param:"website_url" doc:"Web site"`
}

func (p attributeParams) attributes(paid bool) Attributes {
	a := Attributes{
		Admin: p.Admin.Ptr(), Bio: text(p.Bio), CanCreateGroup: p.CanCreateGroup.Ptr(),
		ColorSchemeID: p.ColorSchemeID.Ptr(), CommitEmail: text(p.CommitEmail), External: p.External.Ptr(),
		GroupIDForSAML: p.GroupIDForSAML.Ptr(), JobTitle: text(p.JobTitle), Linkedin: text(p.Linkedin), Location: text(p.Location),
		Note: text(p.Note), Organization: text(p.Organization), PrivateProfile: p.PrivateProfile.Ptr(),
		ProjectsLimit: p.ProjectsLimit.Ptr(), Pronouns: text(p.Pronouns), PublicEmail: text(p.PublicEmail), Skype: text(p.Skype),
		ThemeID: p.ThemeID.Ptr(), Twitter: text(p.Twitter), Discord: text(p.Discord),
		ViewDiffsFileByFile: p.ViewDiffsFileByFile.Ptr(), WebsiteURL: text(p.WebsiteURL), Avatar: avatar.Given(p.Avatar),
	}
	if paid {
		a.Auditor = p.Auditor.Ptr()
		a.SharedRunnersMinutesLimit = minutes(p.SharedRunnersMinutesLimit)
		a.ExtraSharedRunnersMinutesLimit = minutes(p.ExtraSharedRunnersMinutesLimit)
	}
	if p.Password != "" {
		a.Password = &p.Password
	}
	if p.Provider != "" {
		a.Provider, a.ExternUID = &p.Provider, &p.ExternUID
	}
	return a
}

// text takes null as empty: the columns know no null.
func text(o httpapi.Opt[string]) *string {
	if !o.Given {
		return nil
	}
	return &o.Value
}

// minutes keeps null, which means that a default is inherited.
func minutes(o httpapi.Opt[int]) **int {
	if !o.Given {
		return nil
	}
	return new(o.Ptr())
}

type createParams struct {
	Email               string `param:"email" required:"true" doc:"Email address"`
	Name                string `param:"name" required:"true" doc:"Name"`
	Username            string `param:"username" required:"true" doc:"Username"`
	ForceRandomPassword bool   `param:"force_random_password" doc:"Set a password that nobody knows"`
	ResetPassword       bool   `param:"reset_password" doc:"Send a link to set the password"`
	SkipConfirmation    bool   `param:"skip_confirmation" doc:"Take the address as confirmed"`
	attributeParams
}

// Validate asks for a way to get a password, and both halves of an identity.
func (p createParams) Validate() []string {
	if p.Password == "" && !p.ResetPassword && !p.ForceRandomPassword {
		return []string{"password, reset_password, force_random_password are missing, at least one parameter must be provided"}
	}
	return allOrNone(p.ExternUID, p.Provider)
}

func (s *Service) handleCreate(ctx context.Context, call httpapi.Call[httpapi.None, createParams]) (adminForm, error) {
	p := call.Params
	a := p.attributes(s.deps.Paid)
	a.Email, a.Name, a.Username = &p.Email, &p.Name, &p.Username
	a.RandomPassword, a.MailReset, a.Confirmed = p.ForceRandomPassword || p.ResetPassword, p.ResetPassword, p.SkipConfirmation
	u, err := s.Create(ctx, call.Actor, a)
	if err != nil {
		return adminForm{}, err
	}
	return s.shown(ctx, call.Actor, u)
}

type updateParams struct {
	Ref
	Email              httpapi.Opt[string] `param:"email" doc:"Email address; one of the user's secondary addresses"`
	Name               httpapi.Opt[string] `param:"name" doc:"Name"`
	Username           httpapi.Opt[string] `param:"username" doc:"Username"`
	SkipReconfirmation bool                `param:"skip_reconfirmation" doc:"Take the new address as confirmed"`
	attributeParams
}

// Validate asks for both halves of an identity.
func (p updateParams) Validate() []string { return allOrNone(p.ExternUID, p.Provider) }

func (s *Service) handleUpdate(ctx context.Context, call httpapi.Call[*User, updateParams]) (adminForm, error) {
	p := call.Params
	a := p.attributes(s.deps.Paid)
	a.Email, a.Name, a.Username, a.Confirmed = p.Email.Ptr(), text(p.Name), p.Username.Ptr(), p.SkipReconfirmation
	if p.PrivateProfile.Null {
		a.PrivateProfile = &s.deps.Settings.Current().UserDefaultsToPrivateProfile
	}
	u, err := s.Update(ctx, call.Actor, call.Subject.ID, a)
	if err != nil {
		return adminForm{}, err
	}
	return s.shown(ctx, call.Actor, u)
}

// shown presents one account to the administrator who changed it.
func (s *Service) shown(ctx context.Context, a access.Actor, u *User) (adminForm, error) {
	around, err := s.around(ctx, a, []User{*u}, false)
	return s.adminForm(u, a, around), err
}

type deleteParams struct {
	Ref
	HardDelete bool `param:"hard_delete" doc:"Also delete what the user made"`
}

func (s *Service) handleDelete(ctx context.Context, call httpapi.Call[*User, deleteParams]) (httpapi.NoContent, error) {
	return httpapi.NoContent{}, s.Remove(ctx, call.Actor, call.Subject.ID, call.Params.HardDelete)
}

type identityParams struct {
	Ref
	Provider string `param:"provider" doc:"Provider of the identity"`
}

func (s *Service) handleDeleteIdentity(ctx context.Context, call httpapi.Call[*User, identityParams]) (httpapi.NoContent, error) {
	return httpapi.NoContent{}, s.RemoveIdentity(ctx, call.Actor, call.Subject, call.Params.Provider)
}

func (s *Service) handleDisableTwoFactor(ctx context.Context, call httpapi.Call[*User, Ref]) (httpapi.NoContent, error) {
	return httpapi.NoContent{}, s.DisableTwoFactor(ctx, call.Actor, call.Subject.ID)
}

type activityParams struct {
	httpapi.Paging
	From time.Time `param:"from" format:"date" doc:"First day; six months ago when absent"`
}

func (s *Service) handleActivities(ctx context.Context, call httpapi.Call[httpapi.None, activityParams]) (httpapi.List[activityForm], error) {
	req, err := call.Params.Request()
	if err != nil {
		return httpapi.List[activityForm]{}, err
	}
	from := call.Params.From
	if from.IsZero() {
		from = s.deps.Clock.Now().UTC().AddDate(0, -6, 0)
	}
	page, err := s.Activities(ctx, from, req)
	return httpapi.ListOf(req, page, func(a Activity) activityForm {
		return activityForm{a.Username, httpapi.Date(a.LastActivityOn), httpapi.Date(a.LastActivityOn)}
	}), err
}
