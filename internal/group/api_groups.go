package group

import (
	"context"
	"net/http"
	"slices"
	"strconv"

	"stithy/internal/kit/access"
	"stithy/internal/kit/attribute"
	"stithy/internal/kit/avatar"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/httpapi"
	"stithy/internal/kit/paging"
)

// Endpoints lists the REST surface of this room.
func (s *Service) Endpoints() []httpapi.Endpoint {
	return slices.Concat(s.groupEndpoints(), s.namespaceEndpoints(), s.attributeEndpoints())
}

func (s *Service) groupEndpoints() []httpapi.Endpoint {
	return []httpapi.Endpoint{
		httpapi.Do(httpapi.Spec{Route: "GET /groups", Needs: access.Anyone, Summary: "List groups."}, s.handleList),
		httpapi.Do(httpapi.Spec{
			Route: "POST /groups", Needs: access.SignIn, Status: http.StatusCreated, Summary: "Create a group.",
		}, s.handleCreate),
		On(s, httpapi.Spec{Route: "GET /groups/{id}", Needs: access.ReadGroup, Summary: "Get a group."}, s.handleGet),
		On(s, httpapi.Spec{Route: "PUT /groups/{id}", Needs: access.UpdateGroup, Summary: "Modify a group."}, s.handleUpdate),
		On(s, httpapi.Spec{
			Route: "DELETE /groups/{id}", Needs: access.DeleteGroup, Status: http.StatusAccepted,
			Summary: "Delete a group with everything in it.",
		}, s.handleDelete),
		On(s, httpapi.Spec{
			Route: "GET /groups/{id}/avatar", Needs: access.ReadGroup, Summary: "Download the picture of a group.",
		}, s.handleAvatar),
		On(s, httpapi.Spec{
			Route: "GET /groups/{id}/subgroups", Needs: access.ReadGroup, Summary: "List the groups in a group.",
		}, s.handleBelow(true)),
		On(s, httpapi.Spec{
			Route: "GET /groups/{id}/descendant_groups", Needs: access.ReadGroup, Summary: "List all groups below a group.",
		}, s.handleBelow(false)),
		On(s, httpapi.Spec{
			Route: "POST /groups/{id}/transfer", Needs: access.TransferGroup, Status: http.StatusCreated,
			Summary: "Move a group below another, or to the top.",
		}, s.handleTransfer),
		On(s, httpapi.Spec{
			Route: "GET /groups/{id}/transfer_locations", Needs: access.TransferGroup,
			Summary: "List where a group may be moved to.",
		}, s.handleTransferLocations),
	}
}

// filterParams are what the lists of groups have in common.
type filterParams struct {
	SkipGroups           []int64           `param:"skip_groups" split:"comma" doc:"IDs of groups to leave out"`
	AllAvailable         httpapi.Opt[bool] `param:"all_available" doc:"All groups that you may see, not only your own"`
	Search               string            `param:"search" doc:"Part of a name or path, or a whole one of fewer than 3 characters"`
	Owned                bool              `param:"owned" doc:"Only groups that you own by a membership of your own"`
	OrderBy              string            `param:"order_by" enum:"name,path,id,similarity" default:"name" doc:"Order of the list; similarity needs search"`
	Sort                 string            `param:"sort" enum:"asc,desc" default:"asc" doc:"Direction of the order"`
	MinAccessLevel       httpapi.Opt[int]  `param:"min_access_level" enum:"10,20,30,40,50" doc:"Only groups where you have this role or a higher one"`
	TopLevelOnly         bool              `param:"top_level_only" doc:"No subgroups"`
	Statistics           bool              `param:"statistics" doc:"Show statistics; administrators only"`
	CustomAttributes     map[string]string `param:"custom_attributes" doc:"Custom attributes that must match; administrators only"`
	WithCustomAttributes bool              `param:"with_custom_attributes" doc:"Show custom attributes; administrators only"`
}

func (p filterParams) filter(a access.Actor, all bool) Filter {
	f := Filter{
		Search: p.Search, Skip: p.SkipGroups, TopLevel: p.TopLevelOnly, Owned: p.Owned,
		MinRole: access.Role(p.MinAccessLevel.Or(0)), All: p.AllAvailable.Or(all),
	}
	if a.Admin() {
		f.Attributes = p.CustomAttributes
	}
	return f
}

type listParams struct {
	httpapi.KeysetPaging
	filterParams
}

type groupList = httpapi.List[groupForm]

func (s *Service) handleList(ctx context.Context, call httpapi.Call[httpapi.None, listParams]) (groupList, error) {
	p, a := call.Params, call.Actor
	offer := httpapi.Offer{Model: "Group"}
	if !a.SignedIn() {
		offer.OrderBy, offer.Sort = []string{"name"}, "asc"
	}
	req, err := p.Request(p.OrderBy, p.Sort, offer)
	if err != nil {
		return groupList{}, err
	}
	return s.list(ctx, a, p.filter(a, a.Admin() || a.Auditor()), req, p.WithCustomAttributes)
}

type belowParams struct {
	Ref
	httpapi.Paging
	filterParams
}

func (s *Service) handleBelow(direct bool) func(context.Context, httpapi.Call[*Group, belowParams]) (groupList, error) {
	return func(ctx context.Context, call httpapi.Call[*Group, belowParams]) (groupList, error) {
		p := call.Params
		req, err := p.Request()
		if err != nil {
			return groupList{}, err
		}
		req.OrderBy, req.Desc = p.OrderBy, p.Sort == "desc"
		f := p.filter(call.Actor, true)
		f.Below, f.Direct = call.Subject, direct
		return s.list(ctx, call.Actor, f, req, p.WithCustomAttributes)
	}
}

func (s *Service) list(ctx context.Context, a access.Actor, f Filter, req paging.Request, attributes bool) (groupList, error) {
	page, err := s.List(ctx, a, f, req)
	if err != nil {
		return groupList{}, err
	}
	var noted map[int64][]attribute.Attribute
	if attributes && a.Admin() {
		ids := make([]int64, len(page.Items))
		for i, g := range page.Items {
			ids[i] = g.ID
		}
		if noted, err = s.attributes.Among(ctx, ids...); err != nil {
			return groupList{}, err
		}
	}
	return httpapi.ListOf(req, page, func(g Group) groupForm { return s.form(&g, noted) }), nil
}

type getParams struct {
	Ref
	WithProjects         bool `param:"with_projects" default:"true" doc:"Show the projects of the group, 100 at the most"`
	WithCustomAttributes bool `param:"with_custom_attributes" doc:"Show custom attributes; administrators only"`
}

func (s *Service) handleGet(ctx context.Context, call httpapi.Call[*Group, getParams]) (detailForm, error) {
	p := call.Params
	return s.detail(ctx, call.Actor, call.Subject, p.WithProjects, p.WithCustomAttributes && call.Actor.Admin())
}

// settingParams are what POST and PUT have in common.
type settingParams struct {
	Description                    httpapi.Opt[string]        `param:"description" doc:"Description"`
	Visibility                     httpapi.Opt[string]        `param:"visibility" enum:"private,internal,public" doc:"Who sees the group"`
	ShareWithGroupLock             httpapi.Opt[bool]          `param:"share_with_group_lock" doc:"Whether projects may not be shared with other groups"`
	RequireTwoFactorAuthentication httpapi.Opt[bool]          `param:"require_two_factor_authentication" doc:"Whether members must use two-factor authentication"`
	TwoFactorGracePeriod           httpapi.Opt[int]           `param:"two_factor_grace_period" doc:"Hours until that is enforced"`
	ProjectCreationLevel           httpapi.Opt[string]        `param:"project_creation_level" enum:"noone,maintainer,developer" doc:"Who may create projects"`
	AutoDevopsEnabled              httpapi.Opt[bool]          `param:"auto_devops_enabled" doc:"Whether projects use Auto DevOps; null inherits"`
	SubgroupCreationLevel          httpapi.Opt[string]        `param:"subgroup_creation_level" enum:"owner,maintainer" doc:"Who may create subgroups"`
	EmailsDisabled                 httpapi.Opt[bool]          `param:"emails_disabled" doc:"Whether no mail is sent"`
	MentionsDisabled               httpapi.Opt[bool]          `param:"mentions_disabled" doc:"Whether the group cannot be mentioned"`
	LFSEnabled                     httpapi.Opt[bool]          `param:"lfs_enabled" doc:"Whether projects may use large file storage"`
	RequestAccessEnabled           httpapi.Opt[bool]          `param:"request_access_enabled" doc:"Whether people may ask to join"`
	DefaultBranchProtection        httpapi.Opt[int]           `param:"default_branch_protection" enum:"0,1,2,3,4" doc:"Who may push to default branches: from 0, nobody is kept out, to 4"`
	MembershipLock                 httpapi.Opt[bool]          `param:"membership_lock" doc:"Whether projects may not add members"`
	Avatar                         httpapi.Opt[*httpapi.File] `param:"avatar" doc:"Picture of the group; empty takes it away"`
}

func (p settingParams) change(s *Settings) {
	set(&s.ShareWithGroupLock, p.ShareWithGroupLock)
	set(&s.RequireTwoFactorAuthentication, p.RequireTwoFactorAuthentication)
	set(&s.TwoFactorGracePeriod, p.TwoFactorGracePeriod)
	set(&s.ProjectCreationLevel, p.ProjectCreationLevel)
	set(&s.SubgroupCreationLevel, p.SubgroupCreationLevel)
	set(&s.EmailsDisabled, p.EmailsDisabled)
	set(&s.LFSEnabled, p.LFSEnabled)
	set(&s.RequestAccessEnabled, p.RequestAccessEnabled)
	set(&s.DefaultBranchProtection, p.DefaultBranchProtection)
	set(&s.MembershipLock, p.MembershipLock)
	if p.AutoDevopsEnabled.Given {
		s.AutoDevopsEnabled = p.AutoDevopsEnabled.Ptr()
	}
	if p.MentionsDisabled.Given {
		s.MentionsDisabled = p.MentionsDisabled.Ptr()
	}
}

func set[T any](dst *T, given httpapi.Opt[T]) { *dst = given.Or(*dst) }

func visibility(given httpapi.Opt[string]) *access.Visibility {
	v, err := access.ParseVisibility(given.Or(""))
	if err != nil {
		return nil
	}
	return &v
}

type createParams struct {
	Name     string             `param:"name" required:"true" doc:"Name"`
	Path     string             `param:"path" required:"true" doc:"Path, below that of the parent"`
	ParentID httpapi.Opt[int64] `param:"parent_id" doc:"ID of the group to create a subgroup in"`
	settingParams
}

func (s *Service) handleCreate(ctx context.Context, call httpapi.Call[httpapi.None, createParams]) (detailForm, error) {
	p, a := call.Params, call.Actor
	if err := s.checkCreate(ctx, a, p.ParentID.Ptr()); err != nil {
		return detailForm{}, err
	}
	g, err := s.Create(ctx, a, Draft{
		Name: p.Name, Path: p.Path, Description: p.Description.Or(""), ParentID: p.ParentID.Ptr(),
		Visibility: visibility(p.Visibility), Avatar: avatar.Given(p.Avatar), Change: p.change,
	})
	if refused, ok := fault.Of(err); ok && len(refused.Fields) > 0 {
		return detailForm{}, fault.WithMessage(fault.Rejected, "Failed to save group %s", inspect(refused.Fields))
	}
	if err != nil {
		return detailForm{}, err
	}
	return s.detail(ctx, a, g, true, false)
}

// checkCreate refuses those who may not create a group in this place.
func (s *Service) checkCreate(ctx context.Context, a access.Actor, parentID *int64) error {
	if parentID == nil {
		if !MayCreate(a) {
			return fault.New(fault.Forbidden)
		}
		return nil
	}
	parent, err := s.FindByRef(ctx, a, strconv.FormatInt(*parentID, 10))
	if err != nil {
		return err
	}
	return access.CheckIn(a, access.CreateSubgroup, parent.Target())
}

type updateParams struct {
	Ref
	Name                                 httpapi.Opt[string] `param:"name" doc:"Name"`
	Path                                 httpapi.Opt[string] `param:"path" doc:"Path, below that of the parent"`
	SharedRunnersSetting                 httpapi.Opt[string] `param:"shared_runners_setting" enum:"enabled,disabled_and_overridable,disabled_and_unoverridable" doc:"Whether projects may use the runners of the instance"`
	PreventSharingGroupsOutsideHierarchy httpapi.Opt[bool]   `param:"prevent_sharing_groups_outside_hierarchy" doc:"Whether groups may only be shared within this tree; top-level groups only"`
	settingParams
}

func (s *Service) handleUpdate(ctx context.Context, call httpapi.Call[*Group, updateParams]) (detailForm, error) {
	p := call.Params
	a := Attributes{Name: p.Name.Ptr(), Path: p.Path.Ptr(), Visibility: visibility(p.Visibility), Avatar: avatar.Given(p.Avatar)}
	if p.Description.Given {
		a.Description = &p.Description.Value
	}
	a.Change = func(to *Settings) {
		p.change(to)
		set(&to.SharedRunnersSetting, p.SharedRunnersSetting)
		if call.Subject.ParentID == nil {
			set(&to.PreventSharingGroupsOutsideHierarchy, p.PreventSharingGroupsOutsideHierarchy)
		}
	}
	g, err := s.Update(ctx, call.Actor, call.Subject.ID, a)
	if err != nil {
		return detailForm{}, err
	}
	g.Role = call.Subject.Role
	return s.detail(ctx, call.Actor, g, true, false)
}

func (s *Service) handleDelete(ctx context.Context, call httpapi.Call[*Group, Ref]) (httpapi.Accepted, error) {
	return httpapi.WorkAccepted(), s.Remove(ctx, call.Actor, call.Subject.ID)
}

type transferParams struct {
	Ref
	GroupID httpapi.Opt[int64] `param:"group_id" doc:"ID of the group to move it to; absent makes it a top-level group"`
}

func (s *Service) handleTransfer(ctx context.Context, call httpapi.Call[*Group, transferParams]) (detailForm, error) {
	a := call.Actor
	target, err := s.target(ctx, a, call.Params.GroupID.Ptr())
	if err != nil {
		return detailForm{}, err
	}
	g, err := s.Transfer(ctx, a, call.Subject.ID, target)
	if err != nil {
		return detailForm{}, err
	}
	g.Role = call.Subject.Role
	return s.detail(ctx, a, g, true, false)
}

// target is where the actor wants to move a group; nil is the top.
func (s *Service) target(ctx context.Context, a access.Actor, id *int64) (*Group, error) {
	if id == nil {
		if !MayCreate(a) {
			return nil, errNoTransfer
		}
		return nil, nil
	}
	target, err := s.FindByRef(ctx, a, strconv.FormatInt(*id, 10))
	if err == nil && !access.Holds(a, access.CreateSubgroup, target.Target()) {
		err = errNoTransfer
	}
	return target, err
}

type transferLocationParams struct {
	Ref
	httpapi.Paging
	Search string `param:"search" doc:"Part of a name or path"`
}

func (s *Service) handleTransferLocations(ctx context.Context, call httpapi.Call[*Group, transferLocationParams]) (httpapi.List[publicForm], error) {
	req, err := call.Params.Request()
	if err != nil {
		return httpapi.List[publicForm]{}, err
	}
	page, err := s.TransferLocations(ctx, call.Actor, call.Subject, call.Params.Search, req)
	return httpapi.ListOf(req, page, func(g Group) publicForm { return s.publicForm(&g) }), err
}
