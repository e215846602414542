// Package group owns namespaces: groups at any depth, and the personal
// namespace of each account. It owns the paths below them, present and
// former, for projects too. It does not own the projects (project) nor who is
// a member of what (grant, member).
//
// Tables: namespaces, namespace_avatars, routes, namespace_custom_attributes.
package group

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
)

// Kind says what a namespace belongs to.
type Kind string

const (
	Personal Kind = "user"
	Shared   Kind = "group"
)

// MaxDepth is how many groups may stand above one.
const MaxDepth = 20

// Group is a namespace, with the role of whoever asked for it.
type Group struct {
	ID          int64
	Kind        Kind
	ParentID    *int64
	OwnerID     *int64
	Lineage     []int64
	Name        string
	Path        string
	FullName    string
	FullPath    string
	Description string
	Visibility  access.Visibility
	Avatar      string
	Settings    Settings
	CreatedAt   time.Time
	UpdatedAt   time.Time
	Role        access.Role
}

// Settings are what an owner decides for a group. Absent members have their
// defaults.
type Settings struct {
	ShareWithGroupLock                   bool   `json:"share_with_group_lock"`
	RequireTwoFactorAuthentication       bool   `json:"require_two_factor_authentication"`
	TwoFactorGracePeriod                 int    `json:"two_factor_grace_period"`
	ProjectCreationLevel                 string `json:"project_creation_level"`
	AutoDevopsEnabled                    *bool  `json:"auto_devops_enabled"`
	SubgroupCreationLevel                string `json:"subgroup_creation_level"`
	EmailsDisabled                       bool   `json:"emails_disabled"`
	MentionsDisabled                     *bool  `json:"mentions_disabled"`
	LFSEnabled                           bool   `json:"lfs_enabled"`
	DefaultBranchProtection              int    `json:"default_branch_protection"`
	RequestAccessEnabled                 bool   `json:"request_access_enabled"`
	MembershipLock                       bool   `json:"membership_lock"`
	SharedRunnersSetting                 string `json:"shared_runners_setting"`
	PreventSharingGroupsOutsideHierarchy bool   `json:"prevent_sharing_groups_outside_hierarchy"`
}

func defaults() Settings {
	return Settings{
		TwoFactorGracePeriod: 48, ProjectCreationLevel: "developer", SubgroupCreationLevel: "maintainer", LFSEnabled: true,
		DefaultBranchProtection: 2, RequestAccessEnabled: true, SharedRunnersSetting: "enabled",
	}
}

// Scan reads the document over the defaults.
func (s *Settings) Scan(src any) error {
	*s = defaults()
	text, ok := src.(string)
	if !ok {
		return fmt.Errorf("group: settings come as %T", src)
	}
	return json.Unmarshal([]byte(text), s)
}

// ModifiedAt lets a client delete only what it has seen.
func (g *Group) ModifiedAt() time.Time { return g.UpdatedAt }

// Target is the group as the actor stands in it.
func (g *Group) Target() access.Target {
	p := access.Target{Visibility: g.Visibility, Role: g.Role, Lowered: map[access.Ability]access.Role{}}
	switch g.Settings.ProjectCreationLevel {
	case "noone":
		p.Lowered[access.CreateProject] = access.Owner + 1
	case "maintainer":
		p.Lowered[access.CreateProject] = access.Maintainer
	}
	if g.Settings.SubgroupCreationLevel == "maintainer" {
		p.Lowered[access.CreateSubgroup] = access.Maintainer
	}
	return p
}

// Root is the top-level namespace above.
func (g *Group) Root() int64 { return g.Lineage[0] }

var pathPattern = regexp.MustCompile(`^[a-zA-Z0-9_.][a-zA-Z0-9_.-]*$`)

// reserved are paths of pages at the top and below a group.
var (
	reservedTop = []string{
		"-", ".well-known", "404.html", "422.html", "500.html", "502.html", "503.html", "admin", "api", "apple-touch-icon.png",
		"assets", "dashboard", "deploy.html", "explore", "favicon.ico", "favicon.png", "files", "groups", "health_check", "help",
		"import", "jwt", "login", "oauth", "profile", "projects", "public", "robots.txt", "s", "search", "sitemap", "sitemap.xml",
		"sitemap.xml.gz", "slash-command-logo.png", "snippets", "unsubscribes", "uploads", "users", "v2",
	}
	// ReservedBelow are refused to projects and subgroups.
	ReservedBelow = []string{
		"-", "badges", "blame", "blob", "builds", "commits", "create", "create_dir", "edit", "environments", "files", "find_file",
		"info", "new", "preview", "raw", "refs", "tree", "update", "wikis",
	}
)

// ReservedAtTop reports whether a first segment of a path is no namespace's:
// what lies below it is something else.
func ReservedAtTop(segment string) bool {
	return slices.Contains(reservedTop, strings.ToLower(segment))
}

// checkPath holds a path against the rules of its place.
func checkPath(path string, top bool, f *fault.Fields) {
	lower := strings.ToLower(path)
	reserved := ReservedBelow
	if top {
		reserved = reservedTop
	}
	switch {
	case path == "":
		f.Add("path", "can't be blank")
	case len(path) > 255:
		f.Add("path", "is too long (maximum is 255 characters)")
	case !pathPattern.MatchString(path), strings.HasSuffix(path, "."), strings.HasSuffix(lower, ".git"), strings.HasSuffix(lower, ".atom"):
		f.Add("path", "can contain only letters, digits, '_', '-' and '.'. Cannot start with '-' or end in '.', '.git' or '.atom'.")
	case top && len(path) < 2:
		f.Add("path", "is too short (minimum is 2 characters)")
	case slices.Contains(reserved, lower):
		f.Add("path", "%s is a reserved name", path)
	}
}

// validate holds a group against the rules of its fields.
func validate(g *Group, f *fault.Fields) {
	checkPath(g.Path, g.ParentID == nil, f)
	if strings.TrimSpace(g.Name) == "" {
		f.Add("name", "can't be blank")
	}
	if utf8.RuneCountInString(g.Name) > 255 {
		f.Add("name", "is too long (maximum is 255 characters)")
	}
	if strings.ContainsAny(g.Name, "<>\n\r\t") {
		f.Add("name", "can contain only letters, digits, emojis, '_', '.', '+', dashes, and spaces. It must start with a letter, digit, emoji, or '_'.")
	}
	if utf8.RuneCountInString(g.Description) > 500 {
		f.Add("description", "is too long (maximum is 500 characters)")
	}
	if len(g.Lineage) > MaxDepth+1 {
		f.Add("parent_id", "has too deep level of nesting")
	}
	if g.Settings.TwoFactorGracePeriod < 0 {
		f.Add("two_factor_grace_period", "must be greater than or equal to 0")
	}
}

// inspect spells fields as the API's older answers do.
func inspect(f fault.Fields) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(f)) {
		texts := make([]string, len(f[name]))
		for i, t := range f[name] {
			texts[i] = fmt.Sprintf("%q", t)
		}
		parts = append(parts, fmt.Sprintf(":%s=>[%s]", name, strings.Join(texts, ", ")))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}
