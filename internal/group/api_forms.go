package group

import (
	"context"
	"strconv"

	"stithy/internal/kit/access"
	"stithy/internal/kit/attribute"
	"stithy/internal/kit/httpapi"
)

// groupForm is a group in a list.
type groupForm struct {
	ID                              int64             `json:"id"`
	WebURL                          string            `json:"web_url"`
	Name                            string            `json:"name"`
	Path                            string            `json:"path"`
	Description                     string            `json:"description"`
	Visibility                      access.Visibility `json:"visibility"`
	ShareWithGroupLock              bool              `json:"share_with_group_lock"`
	RequireTwoFactorAuthentication  bool              `json:"require_two_factor_authentication"`
	TwoFactorGracePeriod            int               `json:"two_factor_grace_period"`
	ProjectCreationLevel            string            `json:"project_creation_level"`
	AutoDevopsEnabled               *bool             `json:"auto_devops_enabled"`
	SubgroupCreationLevel           string            `json:"subgroup_creation_level"`
	EmailsDisabled                  bool              `json:"emails_disabled"`
	MentionsDisabled                *bool             `json:"mentions_disabled"`
	LFSEnabled                      bool              `json:"lfs_enabled"`
	DefaultBranchProtection         int               `json:"default_branch_protection"`
	DefaultBranchProtectionDefaults branchRules       `json:"default_branch_protection_defaults"`
	AvatarURL                       *string           `json:"avatar_url"`
	RequestAccessEnabled            bool              `json:"request_access_enabled"`
	FullName                        string            `json:"full_name"`
	FullPath                        string            `json:"full_path"`
	CreatedAt                       httpapi.Time      `json:"created_at"`
	ParentID                        *int64            `json:"parent_id"`
	SharedRunnersSetting            string            `json:"shared_runners_setting"`
	CustomAttributes                *[]attribute.Form `json:"custom_attributes,omitempty"`
}

// branchRules spell a protection level out.
type branchRules struct {
	AllowedToPush           []branchAccess `json:"allowed_to_push"`
	AllowForcePush          bool           `json:"allow_force_push"`
	AllowedToMerge          []branchAccess `json:"allowed_to_merge"`
	DeveloperCanInitialPush *bool          `json:"developer_can_initial_push,omitempty"`
}

type branchAccess struct {
	AccessLevel access.Role `json:"access_level"`
}

func rulesOf(level int) branchRules {
	push, merge := access.Maintainer, access.Maintainer
	rules := branchRules{AllowForcePush: level == 0}
	switch level {
	case 0, 1:
		push, merge = access.Developer, access.Developer
	case 3:
		merge = access.Developer
	case 4:
		rules.DeveloperCanInitialPush = new(true)
	}
	rules.AllowedToPush, rules.AllowedToMerge = []branchAccess{{push}}, []branchAccess{{merge}}
	return rules
}

// detailForm is a single group.
type detailForm struct {
	groupForm
	SharedWithGroups                     []shareForm `json:"shared_with_groups"`
	PreventSharingGroupsOutsideHierarchy *bool       `json:"prevent_sharing_groups_outside_hierarchy,omitempty"`
	MembershipLock                       bool        `json:"membership_lock"`
	Projects                             *[]any      `json:"projects,omitempty"`
	SharedProjects                       *[]any      `json:"shared_projects,omitempty"`
}

type shareForm struct {
	GroupID          int64         `json:"group_id"`
	GroupName        string        `json:"group_name"`
	GroupFullPath    string        `json:"group_full_path"`
	GroupAccessLevel access.Role   `json:"group_access_level"`
	ExpiresAt        *httpapi.Date `json:"expires_at"`
}

// publicForm is what a list of places to choose from shows of a group.
type publicForm struct {
	ID        int64   `json:"id"`
	WebURL    string  `json:"web_url"`
	Name      string  `json:"name"`
	AvatarURL *string `json:"avatar_url"`
	FullName  string  `json:"full_name"`
	FullPath  string  `json:"full_path"`
}

func (s *Service) webURL(g *Group) string {
	if g.Kind == Personal {
		return s.deps.ExternalURL + "/" + g.FullPath
	}
	return s.deps.ExternalURL + "/groups/" + g.FullPath
}

func (s *Service) avatarURL(g *Group) *string {
	if g.Avatar == "" {
		return nil
	}
	return new(s.deps.ExternalURL + "/uploads/-/system/group/avatar/" + strconv.FormatInt(g.ID, 10) + "/" + g.Avatar)
}

// form presents a group. noted are the custom attributes of all groups that
// are shown, or nil when they are not asked for.
func (s *Service) form(g *Group, noted map[int64][]attribute.Attribute) groupForm {
	set := g.Settings
	f := groupForm{
		ID: g.ID, WebURL: s.webURL(g), Name: g.Name, Path: g.Path, Description: g.Description, Visibility: g.Visibility,
		ShareWithGroupLock: set.ShareWithGroupLock, RequireTwoFactorAuthentication: set.RequireTwoFactorAuthentication,
		TwoFactorGracePeriod: set.TwoFactorGracePeriod, ProjectCreationLevel: set.ProjectCreationLevel,
		AutoDevopsEnabled: set.AutoDevopsEnabled, SubgroupCreationLevel: set.SubgroupCreationLevel,
		EmailsDisabled: set.EmailsDisabled, MentionsDisabled: set.MentionsDisabled, LFSEnabled: set.LFSEnabled,
		DefaultBranchProtection: set.DefaultBranchProtection, DefaultBranchProtectionDefaults: rulesOf(set.DefaultBranchProtection),
		AvatarURL: s.avatarURL(g), RequestAccessEnabled: set.RequestAccessEnabled, FullName: g.FullName, FullPath: g.FullPath,
		CreatedAt: httpapi.Time(g.CreatedAt), ParentID: g.ParentID, SharedRunnersSetting: set.SharedRunnersSetting,
	}
	if noted != nil {
		f.CustomAttributes = new(attribute.Forms(noted[g.ID]))
	}
	return f
}

func (s *Service) publicForm(g *Group) publicForm {
	return publicForm{
		ID: g.ID, WebURL: s.webURL(g), Name: g.Name, AvatarURL: s.avatarURL(g), FullName: g.FullName, FullPath: g.FullPath,
	}
}

// detail presents a single group with what the viewer may know around it.
func (s *Service) detail(ctx context.Context, a access.Actor, g *Group, projects, attributes bool) (detailForm, error) {
	var noted map[int64][]attribute.Attribute
	if attributes {
		var err error
		if noted, err = s.attributes.Among(ctx, g.ID); err != nil {
			return detailForm{}, err
		}
	}
	shares, err := s.Shares(ctx, a, g)
	if err != nil {
		return detailForm{}, err
	}
	f := detailForm{groupForm: s.form(g, noted), SharedWithGroups: make([]shareForm, len(shares)), MembershipLock: g.Settings.MembershipLock}
	for i, sh := range shares {
		f.SharedWithGroups[i] = shareForm{sh.GroupID, sh.Name, sh.FullPath, sh.AccessLevel, httpapi.Day(sh.ExpiresAt)}
	}
	if g.ParentID == nil {
		f.PreventSharingGroupsOutsideHierarchy = &g.Settings.PreventSharingGroupsOutsideHierarchy
	}
	if projects {
		own, shared, err := s.deps.Projects.OfGroup(ctx, a, g)
		if err != nil {
			return detailForm{}, err
		}
		f.Projects, f.SharedProjects = &own, &shared
	}
	return f, nil
}
