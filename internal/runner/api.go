package runner

import (
	"context"
	"net/http"
	"slices"

	"stithy/internal/group"
	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/httpapi"
	"stithy/internal/kit/paging"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
)

// Endpoints of the room.
func (s *Service) Endpoints() []httpapi.Endpoint {
	return slices.Concat(s.ownEndpoints(), s.adminEndpoints(), s.placeEndpoints())
}

// ownEndpoints are called by runners, who prove themselves with a token in the
// parameters.
func (s *Service) ownEndpoints() []httpapi.Endpoint {
	const byToken = "whose token is not that of a runner is answered with status 403"
	return []httpapi.Endpoint{
		httpapi.Do(httpapi.Spec{
			Route: "POST /user/runners", Needs: access.SignIn, Scopes: []access.Scope{access.ScopeCreateRunner}, Status: http.StatusCreated,
			Summary: "Create a runner for the instance, a group or a project.", Note: "The token is shown this one time.",
			ExtraRefusals: "who does not administer the instance, or own the group or project, is answered with status 403",
		}, s.handleCreate),
		httpapi.Do(httpapi.Spec{
			Route: "POST /runners", Needs: access.BySecret, Status: http.StatusCreated,
			Summary: "Register a runner with a registration token.", Note: "Deprecated; create runners with POST /user/runners.",
			ExtraRefusals: "a token that is not for registration is answered with status 403",
		}, s.handleRegister),
		httpapi.Do(httpapi.Spec{
			Route: "POST /runners/verify", Needs: access.BySecret, Summary: "Check the token of a runner.", ExtraRefusals: byToken,
		}, s.handleVerify),
		httpapi.Do(httpapi.Spec{
			Route: "DELETE /runners", Needs: access.BySecret, Summary: "Remove a runner by its token.", ExtraRefusals: byToken,
		}, s.handleUnregister),
		httpapi.Do(httpapi.Spec{
			Route: "DELETE /runners/managers", Needs: access.BySecret, Summary: "Forget a machine that uses the token of a runner.", ExtraRefusals: byToken,
		}, s.handleForget),
		httpapi.Do(httpapi.Spec{
			Route: "POST /runners/reset_authentication_token", Needs: access.BySecret, Status: http.StatusCreated,
			Summary: "Replace the token of a runner by itself.", ExtraRefusals: byToken,
		}, s.handleResetOwn),
	}
}

func (s *Service) adminEndpoints() []httpapi.Endpoint {
	const owners = "who does not manage the runner is answered with status 403; a runner of projects is managed by those who maintain " +
		"the project that it was made for, or all that it serves"
	return []httpapi.Endpoint{
		httpapi.Do(httpapi.Spec{Route: "GET /runners", Needs: access.SignIn, Summary: "List the runners that one manages by one's roles."}, s.handleListOwned),
		httpapi.Do(httpapi.Spec{Route: "GET /runners/all", Needs: access.Administer, Summary: "List all runners."}, s.handleListAll),
		httpapi.Do(httpapi.Spec{
			Route: "GET /runners/{id:digits}", Needs: access.SignIn, Summary: "Show a runner.",
			ExtraRefusals: "who maintains no project that the runner serves, and does not manage it, is answered with status 403; runners of the instance are for all",
		}, s.handleGet),
		httpapi.Do(httpapi.Spec{Route: "PUT /runners/{id:digits}", Needs: access.SignIn, Summary: "Change a runner.", ExtraRefusals: owners}, s.handleUpdate),
		httpapi.Do(httpapi.Spec{Route: "DELETE /runners/{id:digits}", Needs: access.SignIn, Summary: "Remove a runner.", ExtraRefusals: owners}, s.handleRemove),
		httpapi.Do(httpapi.Spec{
			Route: "POST /runners/{id:digits}/reset_authentication_token", Needs: access.SignIn, Status: http.StatusCreated,
			Summary: "Replace the token of a runner.", ExtraRefusals: owners,
		}, s.handleReset),
		httpapi.Do(httpapi.Spec{
			Route: "POST /runners/reset_registration_token", Needs: access.Administer, Status: http.StatusCreated,
			Summary: "Replace the token that runners of the instance register with.",
		}, s.handleResetInstance),
	}
}

func (s *Service) placeEndpoints() []httpapi.Endpoint {
	return []httpapi.Endpoint{
		project.On(s.deps.Projects, httpapi.Spec{
			Route: "GET /projects/{id}/runners", Needs: access.AdminProjectRunners, Summary: "List the runners that serve a project.",
		}, s.handleListProject),
		project.On(s.deps.Projects, httpapi.Spec{
			Route: "POST /projects/{id}/runners", Needs: access.AdminProjectRunners, Status: http.StatusCreated,
			Summary: "Let a runner serve a project.", ExtraRefusals: "who does not manage the runner, too, is answered with status 403",
		}, s.handleAssign),
		project.On(s.deps.Projects, httpapi.Spec{
			Route: "DELETE /projects/{id}/runners/{runner_id:digits}", Needs: access.AdminProjectRunners,
			Summary: "End that a runner serves a project.",
		}, s.handleUnassign),
		project.On(s.deps.Projects, httpapi.Spec{
			Route: "POST /projects/{id}/runners/reset_registration_token", Needs: access.AdminProjectRunners, Status: http.StatusCreated,
			Summary: "Replace the token that runners of a project register with.",
		}, s.handleResetProject),
		group.On(s.deps.Groups, httpapi.Spec{
			Route: "GET /groups/{id}/runners", Needs: access.AdminGroupRunners, Summary: "List the runners that serve a group.",
		}, s.handleListGroup),
		group.On(s.deps.Groups, httpapi.Spec{
			Route: "POST /groups/{id}/runners/reset_registration_token", Needs: access.AdminGroupRunners, Status: http.StatusCreated,
			Summary: "Replace the token that runners of a group register with.",
		}, s.handleResetGroup),
	}
}

// newForm is a new runner as its maker sees it, this one time.
type newForm struct {
	ID             int64         `json:"id"`
	Token          string        `json:"token"`
	TokenExpiresAt *httpapi.Time `json:"token_expires_at"`
}

// draftParams are what a new runner may be given.
type draftParams struct {
	Description     string              `param:"description" doc:"What people call the runner, 1,024 characters at the most"`
	Paused          httpapi.Opt[bool]   `param:"paused" doc:"Whether the runner gets no new jobs"`
	Locked          bool                `param:"locked" doc:"Whether the runner stays with its project"`
	RunUntagged     bool                `param:"run_untagged" default:"true" doc:"Whether the runner takes jobs without tags"`
	Tags            []string            `param:"tag_list" split:"comma" doc:"Tags of the jobs that it takes"`
	AccessLevel     AccessLevel         `param:"access_level" enum:"not_protected,ref_protected" default:"not_protected" doc:"Whether it takes jobs of protected branches and tags only"`
	MaximumTimeout  httpapi.Opt[int]    `param:"maximum_timeout" doc:"Seconds that a job may take, 600 at the least"`
	MaintenanceNote httpapi.Opt[string] `param:"maintenance_note" doc:"Notes for those who look after it, 1,024 characters at the most"`
}

func (p draftParams) draft() Draft {
	return Draft{
		Description: p.Description, MaintenanceNote: p.MaintenanceNote.Or(""), Tags: p.Tags, RunUntagged: p.RunUntagged, AccessLevel: p.AccessLevel,
		MaximumTimeout: p.MaximumTimeout.Ptr(), Paused: p.Paused.Or(false), Locked: p.Locked,
	}
}

type createParams struct {
	Type      Type               `param:"runner_type" required:"true" enum:"instance_type,group_type,project_type" doc:"Whom the runner serves"`
	GroupID   httpapi.Opt[int64] `param:"group_id" doc:"Group of a group_type runner"`
	ProjectID httpapi.Opt[int64] `param:"project_id" doc:"Project of a project_type runner"`
	draftParams
}

// Validate asks for the place that the type needs.
func (p createParams) Validate() []string {
	switch {
	case p.Type == Group && p.GroupID.Ptr() == nil:
		return []string{"group_id is missing"}
	case p.Type == Project && p.ProjectID.Ptr() == nil:
		return []string{"project_id is missing"}
	}
	return nil
}

func (s *Service) handleCreate(ctx context.Context, call httpapi.Call[httpapi.None, createParams]) (newForm, error) {
	p := call.Params
	r, token, err := s.Create(ctx, call.Actor, Target{Type: p.Type, GroupID: p.GroupID.Or(0), ProjectID: p.ProjectID.Or(0)}, p.draft())
	return newForm{ID: r.ID, Token: token.Reveal(), TokenExpiresAt: httpapi.At(r.TokenExpiresAt)}, err
}

// infoParams are what a machine says of itself.
type infoParams struct {
	Name         string `param:"name" doc:"Name of the program"`
	Version      string `param:"version" doc:"Its version"`
	Revision     string `param:"revision" doc:"Its revision"`
	Platform     string `param:"platform" doc:"Operating system"`
	Architecture string `param:"architecture" doc:"Architecture"`
	Executor     string `param:"executor" doc:"How it runs jobs"`
}

func (p infoParams) info(a access.Actor) Info {
	i := Info{Name: p.Name, Version: p.Version, Revision: p.Revision, Platform: p.Platform, Architecture: p.Architecture, Executor: p.Executor}
	if a.Address.IsValid() {
		i.Address = a.Address.String()
	}
	return i
}

type registerParams struct {
	Token          string              `param:"token" required:"true" doc:"Registration token"`
	Info           infoParams          `param:"info" doc:"What the machine says of itself: name, version, revision, platform, architecture"`
	Active         httpapi.Opt[bool]   `param:"active" doc:"Deprecated: the opposite of paused"`
	MaintainerNote httpapi.Opt[string] `param:"maintainer_note" doc:"Deprecated: maintenance_note"`
	draftParams
}

// Validate refuses old and new names together.
func (p registerParams) Validate() (texts []string) {
	if p.MaintenanceNote.Given && p.MaintainerNote.Given {
		texts = append(texts, "maintainer_note, maintenance_note are mutually exclusive")
	}
	if p.Active.Given && p.Paused.Given {
		texts = append(texts, "active, paused are mutually exclusive")
	}
	return texts
}

func (s *Service) handleRegister(ctx context.Context, call httpapi.Call[httpapi.None, registerParams]) (newForm, error) {
	p := call.Params
	d := p.draft()
	if p.Active.Ptr() != nil {
		d.Paused = !p.Active.Value
	}
	if p.MaintainerNote.Given {
		d.MaintenanceNote = p.MaintainerNote.Or("")
	}
	r, token, err := s.Enrol(ctx, call.Actor, p.Token, d, p.Info.info(call.Actor))
	return newForm{ID: r.ID, Token: token.Reveal(), TokenExpiresAt: httpapi.At(r.TokenExpiresAt)}, err
}

type verifyParams struct {
	Token    string     `param:"token" required:"true" doc:"Token of the runner"`
	SystemID string     `param:"system_id" doc:"Which machine it is"`
	Info     infoParams `param:"info" doc:"What the machine says of itself"`
}

// handleVerify gives back the token that it was given: runners keep what they
// are told here.
func (s *Service) handleVerify(ctx context.Context, call httpapi.Call[httpapi.None, verifyParams]) (newForm, error) {
	p := call.Params
	r, _, err := s.Authenticate(ctx, p.Token, p.SystemID, p.Info.info(call.Actor))
	if err != nil {
		return newForm{}, err
	}
	return newForm{ID: r.ID, Token: p.Token, TokenExpiresAt: httpapi.At(r.TokenExpiresAt)}, nil
}

type tokenParams struct {
	Token string `param:"token" required:"true" doc:"Token of the runner"`
}

func (s *Service) handleUnregister(ctx context.Context, call httpapi.Call[httpapi.None, tokenParams]) (httpapi.NoContent, error) {
	r, err := s.bearer(ctx, call.Params.Token)
	if err != nil {
		return httpapi.NoContent{}, err
	}
	return httpapi.NoContent{}, s.Remove(ctx, access.Actor{Address: call.Actor.Address, Process: "runner"}, r.ID)
}

// bearer finds the runner of a token, whichever machine presents it.
func (s *Service) bearer(ctx context.Context, token string) (Runner, error) {
	r, _, err := s.Authenticate(ctx, token, "", Info{})
	return r, err
}

type forgetParams struct {
	tokenParams
	SystemID string `param:"system_id" required:"true" doc:"Which machine is forgotten"`
}

func (s *Service) handleForget(ctx context.Context, call httpapi.Call[httpapi.None, forgetParams]) (httpapi.NoContent, error) {
	return httpapi.NoContent{}, s.ForgetMachine(ctx, call.Params.Token, call.Params.SystemID)
}

// resetForm is a new token.
type resetForm struct {
	Token          string        `json:"token"`
	TokenExpiresAt *httpapi.Time `json:"token_expires_at"`
}

func (s *Service) handleResetOwn(ctx context.Context, call httpapi.Call[httpapi.None, tokenParams]) (resetForm, error) {
	r, err := s.bearer(ctx, call.Params.Token)
	if err != nil {
		return resetForm{}, err
	}
	r, token, err := s.ResetToken(ctx, access.Actor{Address: call.Actor.Address, Process: "runner"}, r.ID)
	return resetForm{Token: token.Reveal(), TokenExpiresAt: httpapi.At(r.TokenExpiresAt)}, err
}

type ref struct {
	ID int64 `param:"id" doc:"ID of the runner"`
}

func (s *Service) handleReset(ctx context.Context, call httpapi.Call[httpapi.None, ref]) (resetForm, error) {
	if _, err := s.Owned(ctx, call.Actor, call.Params.ID); err != nil {
		return resetForm{}, err
	}
	r, token, err := s.ResetToken(ctx, call.Actor, call.Params.ID)
	return resetForm{Token: token.Reveal(), TokenExpiresAt: httpapi.At(r.TokenExpiresAt)}, err
}

// registrationForm is a token that runners register with.
type registrationForm struct {
	Token string `json:"token"`
}

func (s *Service) resetRegistration(ctx context.Context, by access.Actor, of bus.Entity) (registrationForm, error) {
	token, err := s.ResetRegistration(ctx, by, of)
	return registrationForm{Token: token.Reveal()}, err
}

func (s *Service) handleResetInstance(ctx context.Context, call httpapi.Call[httpapi.None, httpapi.None]) (registrationForm, error) {
	return s.resetRegistration(ctx, call.Actor, bus.Instance())
}

func (s *Service) handleResetProject(ctx context.Context, call httpapi.Call[*project.Project, project.Ref]) (registrationForm, error) {
	return s.resetRegistration(ctx, call.Actor, call.Subject.Entity())
}

func (s *Service) handleResetGroup(ctx context.Context, call httpapi.Call[*group.Group, group.Ref]) (registrationForm, error) {
	return s.resetRegistration(ctx, call.Actor, call.Subject.Entity())
}

// Form is a runner in a list, and beside a job.
type Form struct {
	ID          int64   `json:"id"`
	Description string  `json:"description"`
	IPAddress   string  `json:"ip_address"`
	Active      bool    `json:"active"`
	Paused      bool    `json:"paused"`
	IsShared    bool    `json:"is_shared"`
	Type        Type    `json:"runner_type"`
	Name        *string `json:"name"`
	Online      bool    `json:"online"`
	Status      Status  `json:"status"`
}

// present shows a runner. Where it is, only those learn who manage it.
func (s *Service) present(r Runner) Form {
	status := r.Status(s.deps.Clock.Now())
	e := Form{
		ID: r.ID, Description: r.Description, Active: !r.Paused, Paused: r.Paused, IsShared: r.Type == Instance, Type: r.Type,
		Online: status == Online, Status: status,
	}
	if r.Paused {
		e.Status = Paused
	}
	if r.Name != "" {
		e.Name = &r.Name
	}
	return e
}

// Forms shows runners beside what they did, by id. Those that are gone are left out.
func (s *Service) Forms(ctx context.Context, ids ...int64) (map[int64]Form, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	rows, err := postgres.All[row](ctx, s.deps.DB, sqlFindAll, ids)
	if err != nil {
		return nil, err
	}
	forms := make(map[int64]Form, len(rows))
	for _, r := range rows {
		forms[r.ID] = s.present(r.runner())
	}
	return forms, nil
}

type filterParams struct {
	Type   string            `param:"type" enum:"instance_type,group_type,project_type" doc:"Only runners of this type"`
	Status string            `param:"status" enum:"active,paused,online,offline,stale,never_contacted" doc:"Only runners with this status"`
	Paused httpapi.Opt[bool] `param:"paused" doc:"Only runners that are paused, or are not"`
	Tags   []string          `param:"tag_list" split:"comma" doc:"Only runners with all of these tags"`
	Scope  string            `param:"scope" doc:"Deprecated: a type without its ending (shared, specific) or a status"`
	httpapi.Paging
}

func (p filterParams) filter() (Filter, error) {
	f := Filter{Type: Type(p.Type), Status: Status(p.Status), Paused: p.Paused.Ptr(), Tags: clean(p.Tags)}
	switch Status(p.Scope) {
	case "":
	case Active, Paused, Online, Offline, Stale, NeverContacted:
		f.Status = Status(p.Scope)
	default:
		kind, known := map[string]Type{
			"shared": Instance, "specific": Project, string(Instance): Instance, string(Group): Group, string(Project): Project,
		}[p.Scope]
		if !known {
			return f, fault.WithMessage(fault.Rejected, "Scope contains invalid value")
		}
		f.Type = kind
	}
	return f, nil
}

// list shows one page of runners.
func (s *Service) list(
	ctx context.Context, p filterParams, managed bool, fetch func(Filter, paging.Request) (paging.Result[Runner], error),
) (httpapi.List[Form], error) {
	f, err := p.filter()
	if err != nil {
		return httpapi.List[Form]{}, err
	}
	req, err := p.Request()
	if err != nil {
		return httpapi.List[Form]{}, err
	}
	page, err := fetch(f, req)
	if err != nil {
		return httpapi.List[Form]{}, err
	}
	addresses := map[int64]string{}
	if managed {
		ids := make([]int64, 0, len(page.Items))
		for _, r := range page.Items {
			ids = append(ids, r.ID)
		}
		if addresses, err = s.addresses(ctx, ids); err != nil {
			return httpapi.List[Form]{}, err
		}
	}
	return httpapi.ListOf(req, page, func(r Runner) Form {
		e := s.present(r)
		e.IPAddress = addresses[r.ID]
		return e
	}), nil
}

func (s *Service) handleListOwned(ctx context.Context, call httpapi.Call[httpapi.None, filterParams]) (httpapi.List[Form], error) {
	return s.list(ctx, call.Params, true, func(f Filter, req paging.Request) (paging.Result[Runner], error) {
		return s.ListOwned(ctx, call.Actor, f, req)
	})
}

func (s *Service) handleListAll(ctx context.Context, call httpapi.Call[httpapi.None, filterParams]) (httpapi.List[Form], error) {
	return s.list(ctx, call.Params, true, func(f Filter, req paging.Request) (paging.Result[Runner], error) { return s.ListAll(ctx, f, req) })
}

type projectListParams struct {
	project.Ref
	filterParams
}

func (s *Service) handleListProject(ctx context.Context, call httpapi.Call[*project.Project, projectListParams]) (httpapi.List[Form], error) {
	p := call.Subject
	return s.list(ctx, call.Params.filterParams, call.Actor.Admin(), func(f Filter, req paging.Request) (paging.Result[Runner], error) {
		return s.ListFor(ctx, p.Entity(), p.NamespaceID, f, req)
	})
}

type groupListParams struct {
	group.Ref
	filterParams
}

func (s *Service) handleListGroup(ctx context.Context, call httpapi.Call[*group.Group, groupListParams]) (httpapi.List[Form], error) {
	g := call.Subject
	return s.list(ctx, call.Params.filterParams, call.Actor.Admin(), func(f Filter, req paging.Request) (paging.Result[Runner], error) {
		return s.ListFor(ctx, g.Entity(), g.ID, f, req)
	})
}

// projectIdentity is a project that a runner serves.
type projectIdentity struct {
	ID                int64        `json:"id"`
	Name              string       `json:"name"`
	NameWithNamespace string       `json:"name_with_namespace"`
	Path              string       `json:"path"`
	PathWithNamespace string       `json:"path_with_namespace"`
	CreatedAt         httpapi.Time `json:"created_at"`
}

type groupIdentity struct {
	ID     int64  `json:"id"`
	WebURL string `json:"web_url"`
	Name   string `json:"name"`
}

// detailForm is a runner by itself.
type detailForm struct {
	Form
	Tags            []string          `json:"tag_list"`
	RunUntagged     bool              `json:"run_untagged"`
	Locked          bool              `json:"locked"`
	MaximumTimeout  *int              `json:"maximum_timeout"`
	AccessLevel     AccessLevel       `json:"access_level"`
	Version         *string           `json:"version"`
	Revision        *string           `json:"revision"`
	Platform        *string           `json:"platform"`
	Architecture    *string           `json:"architecture"`
	ContactedAt     *httpapi.Time     `json:"contacted_at"`
	MaintenanceNote *string           `json:"maintenance_note"`
	Projects        []projectIdentity `json:"projects"`
	Groups          []groupIdentity   `json:"groups"`
}

// detail shows a runner to somebody who sees it; what only those know
// who use it in a place of theirs is left out for the others.
func (s *Service) detail(ctx context.Context, by access.Actor, r Runner, uses bool) (detailForm, error) {
	d := detailForm{
		Form: s.present(r), Tags: r.Tags, RunUntagged: r.RunUntagged, Locked: r.Locked, MaximumTimeout: r.MaximumTimeout, AccessLevel: r.AccessLevel,
		ContactedAt: httpapi.At(r.ContactedAt), Projects: []projectIdentity{}, Groups: []groupIdentity{},
	}
	if !uses {
		return d, nil
	}
	text := func(s string) *string {
		if s == "" {
			return nil
		}
		return &s
	}
	d.MaintenanceNote = text(r.MaintenanceNote)
	m, found, err := s.machine(ctx, r.ID)
	if err != nil {
		return d, err
	}
	if found {
		d.IPAddress, d.Version, d.Revision = m.Address, text(m.Version), text(m.Revision)
		d.Platform, d.Architecture = text(m.Platform), text(m.Architecture)
	}
	served, err := s.projectsOf(ctx, by, r.ID)
	if err != nil {
		return d, err
	}
	for _, p := range served {
		d.Projects = append(d.Projects, projectIdentity{
			ID: p.ID, Name: p.Name, NameWithNamespace: p.NameWithNamespace, Path: p.Path, PathWithNamespace: p.PathWithNamespace,
			CreatedAt: httpapi.Time(p.CreatedAt),
		})
	}
	if r.GroupID != nil {
		g, err := s.groupOf(ctx, *r.GroupID)
		if err != nil {
			return d, err
		}
		d.Groups = append(d.Groups, groupIdentity{ID: g.ID, Name: g.Name, WebURL: s.deps.ExternalURL + "/groups/" + g.FullPath})
	}
	return d, nil
}

func (s *Service) handleGet(ctx context.Context, call httpapi.Call[httpapi.None, ref]) (detailForm, error) {
	r, err := s.Find(ctx, call.Params.ID)
	if err != nil {
		return detailForm{}, err
	}
	uses, err := s.uses(ctx, call.Actor, r)
	if err == nil && !uses && r.Type != Instance {
		err = errNoAccess
	}
	if err != nil {
		return detailForm{}, err
	}
	return s.detail(ctx, call.Actor, r, uses)
}

type updateParams struct {
	ref
	Description     httpapi.Opt[string]      `param:"description" doc:"What people call the runner"`
	Active          httpapi.Opt[bool]        `param:"active" doc:"Deprecated: the opposite of paused"`
	Paused          httpapi.Opt[bool]        `param:"paused" doc:"Whether the runner gets no new jobs"`
	Tags            httpapi.Opt[[]string]    `param:"tag_list" split:"comma" doc:"Tags of the jobs that it takes"`
	RunUntagged     httpapi.Opt[bool]        `param:"run_untagged" doc:"Whether it takes jobs without tags"`
	Locked          httpapi.Opt[bool]        `param:"locked" doc:"Whether it stays with its project"`
	AccessLevel     httpapi.Opt[AccessLevel] `param:"access_level" enum:"not_protected,ref_protected" doc:"Whether it takes jobs of protected branches and tags only"`
	MaximumTimeout  httpapi.Opt[int]         `param:"maximum_timeout" doc:"Seconds that a job may take, 600 at the least"`
	MaintenanceNote httpapi.Opt[string]      `param:"maintenance_note" doc:"Notes for those who look after it"`
}

// Validate asks for something to change.
func (p updateParams) Validate() []string {
	if p.Active.Given && p.Paused.Given {
		return []string{"active, paused are mutually exclusive"}
	}
	if p.Description.Given || p.Active.Given || p.Paused.Given || p.Tags.Given || p.RunUntagged.Given || p.Locked.Given || p.AccessLevel.Given ||
		p.MaximumTimeout.Given || p.MaintenanceNote.Given {
		return nil
	}
	return []string{"description, active, paused, tag_list, run_untagged, locked, access_level, maximum_timeout, maintenance_note are missing, " +
		"at least one parameter must be provided"}
}

func (p updateParams) apply(d *Draft) {
	d.Description = p.Description.Or(d.Description)
	d.Paused = p.Paused.Or(d.Paused)
	if p.Active.Ptr() != nil {
		d.Paused = !p.Active.Value
	}
	if p.Tags.Given {
		d.Tags = p.Tags.Value
	}
	d.RunUntagged = p.RunUntagged.Or(d.RunUntagged)
	d.Locked = p.Locked.Or(d.Locked)
	d.AccessLevel = p.AccessLevel.Or(d.AccessLevel)
	if p.MaximumTimeout.Given {
		d.MaximumTimeout = p.MaximumTimeout.Ptr()
	}
	if p.MaintenanceNote.Given {
		d.MaintenanceNote = p.MaintenanceNote.Value
	}
}

func (s *Service) handleUpdate(ctx context.Context, call httpapi.Call[httpapi.None, updateParams]) (detailForm, error) {
	if _, err := s.Owned(ctx, call.Actor, call.Params.ID); err != nil {
		return detailForm{}, err
	}
	r, err := s.Update(ctx, call.Actor, call.Params.ID, call.Params.apply)
	if err != nil {
		return detailForm{}, err
	}
	return s.detail(ctx, call.Actor, r, true)
}

func (s *Service) handleRemove(ctx context.Context, call httpapi.Call[httpapi.None, ref]) (httpapi.NoContent, error) {
	if _, err := s.Owned(ctx, call.Actor, call.Params.ID); err != nil {
		return httpapi.NoContent{}, err
	}
	return httpapi.NoContent{}, s.Remove(ctx, call.Actor, call.Params.ID)
}

type assignParams struct {
	project.Ref
	RunnerID int64 `param:"runner_id" required:"true" doc:"ID of the runner"`
}

func (s *Service) handleAssign(ctx context.Context, call httpapi.Call[*project.Project, assignParams]) (Form, error) {
	r, err := s.Assign(ctx, call.Actor, call.Params.RunnerID, call.Subject)
	if err != nil {
		return Form{}, err
	}
	return s.present(r), nil
}

type unassignParams struct {
	project.Ref
	RunnerID int64 `param:"runner_id" doc:"ID of the runner"`
}

func (s *Service) handleUnassign(ctx context.Context, call httpapi.Call[*project.Project, unassignParams]) (httpapi.NoContent, error) {
	return httpapi.NoContent{}, s.Unassign(ctx, call.Actor, call.Params.RunnerID, call.Subject)
}
