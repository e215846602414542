package protection

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"

	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi"
	"stithy/internal/kit/paging"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
)

// Endpoints lists the REST surface of this room.
func (s *Service) Endpoints() []httpapi.Endpoint {
	branch := func(method, below, summary string) httpapi.Spec {
		return httpapi.Spec{Route: method + " /projects/{id}/protected_branches" + below, Needs: access.AdminProtection, Summary: summary}
	}
	tag := func(method, below, summary string) httpapi.Spec {
		return httpapi.Spec{Route: method + " /projects/{id}/protected_tags" + below, Needs: access.AdminProtection, Summary: summary}
	}
	listed := branch("GET", "", "List the protected branches of a project.")
	one := branch("GET", "/{name}", "Get a protected branch.")
	listed.Needs, one.Needs = access.ReadCode, access.ReadCode
	protect, protectTag := branch("POST", "", "Protect branches."), tag("POST", "", "Protect tags.")
	protect.Status, protectTag.Status = http.StatusCreated, http.StatusCreated
	return []httpapi.Endpoint{
		project.On(s.deps.Projects, listed, s.handleBranchRules),
		project.On(s.deps.Projects, one, s.handleBranchRule),
		project.On(s.deps.Projects, protect, s.handleProtectBranch),
		project.On(s.deps.Projects, branch("PATCH", "/{name}", "Change a protected branch."), s.handleChangeRule),
		project.On(s.deps.Projects, branch("DELETE", "/{name}", "Unprotect branches."), s.handleUnprotectBranch),

		project.On(s.deps.Projects, tag("GET", "", "List the protected tags of a project."), s.handleTagRules),
		project.On(s.deps.Projects, tag("GET", "/{name}", "Get a protected tag."), s.handleTagRule),
		project.On(s.deps.Projects, protectTag, s.handleProtectTag),
		project.On(s.deps.Projects, tag("DELETE", "/{name}", "Unprotect tags."), s.handleUnprotectTag),
	}
}

// grantForm is one line of a rule. Which holders it can name depends on the
// tier and on the act.
type grantForm struct {
	ID          int64       `json:"id"`
	AccessLevel access.Role `json:"access_level"`
	Description string      `json:"access_level_description"`
	DeployKeyID **int64     `json:"deploy_key_id,omitempty"`
	UserID      **int64     `json:"user_id,omitempty"`
	GroupID     **int64     `json:"group_id,omitempty"`
}

type branchRuleForm struct {
	ID             int64       `json:"id"`
	Name           string      `json:"name"`
	Push           []grantForm `json:"push_access_levels"`
	Merge          []grantForm `json:"merge_access_levels"`
	AllowForcePush bool        `json:"allow_force_push"`
	*paidRuleFields
}

// paidRuleFields are there where the tier has them.
type paidRuleFields struct {
	Unprotect                 []grantForm `json:"unprotect_access_levels"`
	CodeOwnerApprovalRequired bool        `json:"code_owner_approval_required"`
}

type tagRuleForm struct {
	Name   string      `json:"name"`
	Create []grantForm `json:"create_access_levels"`
}

var levelNames = map[access.Role]string{
	Nobody: "No one", access.Developer: "Developers + Maintainers", access.Maintainer: "Maintainers", Administrators: "Administrators",
}

// paid reports whether rules may name people and groups.
func (s *Service) paid() bool { return s.deps.Settings.Instance().Enterprise() }

func (s *Service) grantForms(grants []Grant, withKeys bool) []grantForm {
	forms := make([]grantForm, len(grants))
	for i, g := range grants {
		forms[i] = grantForm{ID: g.ID, AccessLevel: g.Role, Description: cmp.Or(g.Name, levelNames[g.Role])}
		if g.DeployKey != nil {
			forms[i].Description = "Deploy key"
		}
		if withKeys {
			forms[i].DeployKeyID = &grants[i].DeployKey
		}
		if s.paid() {
			forms[i].UserID, forms[i].GroupID = &grants[i].UserID, &grants[i].GroupID
		}
	}
	return forms
}

func (s *Service) branchRuleForm(r BranchRule) branchRuleForm {
	f := branchRuleForm{
		ID: r.ID, Name: r.Name, Push: s.grantForms(r.Push, true), Merge: s.grantForms(r.Merge, false), AllowForcePush: r.ForcePush,
	}
	if s.paid() {
		f.paidRuleFields = &paidRuleFields{Unprotect: s.grantForms(r.Unprotect, false), CodeOwnerApprovalRequired: r.CodeOwners}
	}
	return f
}

func (s *Service) tagRuleForm(r TagRule) tagRuleForm {
	return tagRuleForm{Name: r.Name, Create: s.grantForms(r.Create, true)}
}

type ruleListParams struct {
	project.Ref
	httpapi.Paging
	Search string `param:"search" doc:"Only rules whose name contains this"`
}

func (s *Service) handleBranchRules(ctx context.Context, call httpapi.Call[*project.Project, ruleListParams]) (httpapi.List[branchRuleForm], error) {
	var none httpapi.List[branchRuleForm]
	req, err := call.Params.Request()
	if err != nil {
		return none, err
	}
	rows, err := postgres.All[branchRow](ctx, s.deps.DB, sqlBranchRules, call.Subject.ID)
	if err != nil {
		return none, err
	}
	rows = slices.DeleteFunc(rows, func(r branchRow) bool { return !call.Params.wants(r.Name) })
	return httpapi.ListOf(req, paging.Cut(rows, req), func(r branchRow) branchRuleForm { return s.branchRuleForm(r.rule()) }), nil
}

func (s *Service) handleTagRules(ctx context.Context, call httpapi.Call[*project.Project, ruleListParams]) (httpapi.List[tagRuleForm], error) {
	var none httpapi.List[tagRuleForm]
	req, err := call.Params.Request()
	if err != nil {
		return none, err
	}
	rows, err := postgres.All[tagRow](ctx, s.deps.DB, sqlTagRules, call.Subject.ID)
	if err != nil {
		return none, err
	}
	rows = slices.DeleteFunc(rows, func(r tagRow) bool { return !call.Params.wants(r.Name) })
	return httpapi.ListOf(req, paging.Cut(rows, req), func(r tagRow) tagRuleForm { return s.tagRuleForm(r.rule()) }), nil
}

// wants reports whether a rule of this name is to be listed.
func (p ruleListParams) wants(name string) bool {
	return strings.Contains(strings.ToLower(name), strings.ToLower(p.Search))
}

type ruleRef struct {
	project.Ref
	Name string `param:"name" doc:"Name of the branch or tag, or pattern with *"`
}

func (s *Service) handleBranchRule(ctx context.Context, call httpapi.Call[*project.Project, ruleRef]) (branchRuleForm, error) {
	return s.branchRuleReply(s.BranchRule(ctx, call.Subject, call.Params.Name))
}

func (s *Service) branchRuleReply(r *BranchRule, err error) (branchRuleForm, error) {
	if err != nil {
		return branchRuleForm{}, err
	}
	return s.branchRuleForm(*r), nil
}

func (s *Service) handleTagRule(ctx context.Context, call httpapi.Call[*project.Project, ruleRef]) (tagRuleForm, error) {
	return s.tagRuleReply(s.TagRule(ctx, call.Subject, call.Params.Name))
}

func (s *Service) tagRuleReply(r *TagRule, err error) (tagRuleForm, error) {
	if err != nil {
		return tagRuleForm{}, err
	}
	return s.tagRuleForm(*r), nil
}

// grantParams is a line that a client asks for.
type grantParams struct {
	ID          int64              `param:"id" doc:"ID of a line that is there"`
	Destroy     bool               `param:"_destroy" doc:"Take the line away"`
	AccessLevel httpapi.Opt[int]   `param:"access_level" doc:"Everyone of this role: 0, 30, 40 or 60"`
	UserID      httpapi.Opt[int64] `param:"user_id" doc:"A person"`
	GroupID     httpapi.Opt[int64] `param:"group_id" doc:"A group"`
	DeployKeyID httpapi.Opt[int64] `param:"deploy_key_id" doc:"A deploy key"`
}

func (p grantParams) grant() (Grant, error) {
	g := Grant{Role: access.Maintainer, UserID: p.UserID.Ptr(), GroupID: p.GroupID.Ptr(), DeployKey: p.DeployKeyID.Ptr()}
	if level := p.AccessLevel.Ptr(); level != nil {
		g.Role = access.Role(*level)
		if _, known := levelNames[g.Role]; !known {
			return g, unprocessable("Access level is not included in the list")
		}
	}
	return g, nil
}

type protectParams struct {
	project.Ref
	Name                 string                     `param:"name" required:"true" doc:"Name of the branch, or pattern with *"`
	PushAccessLevel      httpapi.Opt[int]           `param:"push_access_level" enum:"0,30,40,60" doc:"Who may push; 40 when absent"`
	MergeAccessLevel     httpapi.Opt[int]           `param:"merge_access_level" enum:"0,30,40,60" doc:"Who may merge; 40 when absent"`
	UnprotectAccessLevel httpapi.Opt[int]           `param:"unprotect_access_level" enum:"30,40,60" doc:"Who may unprotect; maintainers when absent"`
	AllowForcePush       bool                       `param:"allow_force_push" doc:"Let those who may push force it"`
	CodeOwners           bool                       `param:"code_owner_approval_required" doc:"Ask for the approval of code owners"`
	AllowedToPush        httpapi.Opt[[]grantParams] `param:"allowed_to_push" doc:"Who may push, one by one"`
	AllowedToMerge       httpapi.Opt[[]grantParams] `param:"allowed_to_merge" doc:"Who may merge, one by one"`
	AllowedToUnprotect   httpapi.Opt[[]grantParams] `param:"allowed_to_unprotect" doc:"Who may unprotect, one by one"`
}

// levels are the grants that a rule begins with: those that were listed and the
// level that was named, or the default when there is neither.
func (s *Service) levels(level httpapi.Opt[int], listed httpapi.Opt[[]grantParams], standard []Grant) ([]Grant, error) {
	var all []Grant
	if s.paid() {
		for _, p := range listed.Value {
			g, err := p.grant()
			if err != nil {
				return nil, err
			}
			all = append(all, g)
		}
	}
	if l := level.Ptr(); l != nil {
		all = append(all, Grant{Role: access.Role(*l)})
	}
	if all == nil {
		all = standard
	}
	return all, nil
}

func (s *Service) handleProtectBranch(ctx context.Context, call httpapi.Call[*project.Project, protectParams]) (branchRuleForm, error) {
	p := call.Params
	rule := BranchRule{Name: p.Name, ForcePush: p.AllowForcePush, CodeOwners: p.CodeOwners && s.paid()}
	maintainers := []Grant{{Role: access.Maintainer}}
	var err error
	if rule.Push, err = s.levels(p.PushAccessLevel, p.AllowedToPush, maintainers); err != nil {
		return branchRuleForm{}, err
	}
	if rule.Merge, err = s.levels(p.MergeAccessLevel, p.AllowedToMerge, maintainers); err != nil {
		return branchRuleForm{}, err
	}
	if s.paid() {
		if rule.Unprotect, err = s.levels(p.UnprotectAccessLevel, p.AllowedToUnprotect, nil); err != nil {
			return branchRuleForm{}, err
		}
	}
	return s.branchRuleReply(s.ProtectBranch(ctx, call.Actor, call.Subject, rule))
}

type changeRuleParams struct {
	ruleRef
	AllowForcePush       httpapi.Opt[bool]          `param:"allow_force_push" blank:"refuse" doc:"Let those who may push force it"`
	CodeOwners           httpapi.Opt[bool]          `param:"code_owner_approval_required" blank:"refuse" doc:"Ask for the approval of code owners"`
	UnprotectAccessLevel httpapi.Opt[int]           `param:"unprotect_access_level" enum:"30,40,60" doc:"Who may unprotect"`
	AllowedToPush        httpapi.Opt[[]grantParams] `param:"allowed_to_push" doc:"Lines to add, or with _destroy to take away"`
	AllowedToMerge       httpapi.Opt[[]grantParams] `param:"allowed_to_merge" doc:"Lines to add, or with _destroy to take away"`
	AllowedToUnprotect   httpapi.Opt[[]grantParams] `param:"allowed_to_unprotect" doc:"Lines to add, or with _destroy to take away"`
}

func (s *Service) handleChangeRule(ctx context.Context, call httpapi.Call[*project.Project, changeRuleParams]) (branchRuleForm, error) {
	p := call.Params
	c := RuleChange{ForcePush: p.AllowForcePush.Ptr(), Add: map[Act][]Grant{}, Cut: map[Act][]int64{}, Only: map[Act]Grant{}}
	if s.paid() {
		c.CodeOwners = p.CodeOwners.Ptr()
		for act, lines := range map[Act][]grantParams{
			ToPush: p.AllowedToPush.Value, ToMerge: p.AllowedToMerge.Value, ToUnprotect: p.AllowedToUnprotect.Value,
		} {
			for _, line := range lines {
				g, err := line.grant()
				switch {
				case err != nil:
					return branchRuleForm{}, err
				case line.ID == 0:
					c.Add[act] = append(c.Add[act], g)
				case line.Destroy:
					c.Cut[act] = append(c.Cut[act], line.ID)
				default: // changed in place: the old line goes and a new one comes
					c.Cut[act], c.Add[act] = append(c.Cut[act], line.ID), append(c.Add[act], g)
				}
			}
		}
		if level := p.UnprotectAccessLevel.Ptr(); level != nil {
			c.Only[ToUnprotect] = Grant{Role: access.Role(*level)}
		}
	}
	return s.branchRuleReply(s.ChangeRule(ctx, call.Actor, call.Subject, p.Name, c))
}

func (s *Service) handleUnprotectBranch(ctx context.Context, call httpapi.Call[*project.Project, ruleRef]) (httpapi.NoContent, error) {
	return httpapi.NoContent{}, s.UnprotectBranch(ctx, call.Actor, call.Subject, call.Params.Name)
}

type protectTagParams struct {
	project.Ref
	Name              string                     `param:"name" required:"true" doc:"Name of the tag, or pattern with *"`
	CreateAccessLevel httpapi.Opt[int]           `param:"create_access_level" enum:"0,30,40,60" doc:"Who may create; 40 when absent"`
	AllowedToCreate   httpapi.Opt[[]grantParams] `param:"allowed_to_create" doc:"Who may create, one by one"`
}

func (s *Service) handleProtectTag(ctx context.Context, call httpapi.Call[*project.Project, protectTagParams]) (tagRuleForm, error) {
	p := call.Params
	grants, err := s.levels(p.CreateAccessLevel, p.AllowedToCreate, []Grant{{Role: access.Maintainer}})
	if err != nil {
		return tagRuleForm{}, err
	}
	return s.tagRuleReply(s.ProtectTag(ctx, call.Actor, call.Subject, TagRule{Name: p.Name, Create: grants}))
}

func (s *Service) handleUnprotectTag(ctx context.Context, call httpapi.Call[*project.Project, ruleRef]) (httpapi.NoContent, error) {
	return httpapi.NoContent{}, s.UnprotectTag(ctx, call.Actor, call.Subject, call.Params.Name)
}
