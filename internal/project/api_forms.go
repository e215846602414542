package project

import (
	"cmp"
	"context"
	"encoding/json"
	"html"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"stithy/internal/group"
	"stithy/internal/kit/access"
	"stithy/internal/kit/attribute"
	"stithy/internal/kit/httpapi"
	"stithy/internal/platform/postgres"
	"stithy/internal/user"
)

// IdentityForm is a project where another thing refers to it.
type IdentityForm struct {
	ID                int64        `json:"id"`
	Description       *string      `json:"description"`
	Name              string       `json:"name"`
	NameWithNamespace string       `json:"name_with_namespace"`
	Path              string       `json:"path"`
	PathWithNamespace string       `json:"path_with_namespace"`
	CreatedAt         httpapi.Time `json:"created_at"`
}

// basicForm is what strangers see, and everyone who asks for little.
type basicForm struct {
	IdentityForm
	DefaultBranch *string  `json:"default_branch,omitempty"`
	TagList       []string `json:"tag_list"`
	Topics        []string `json:"topics"`
	SSHURLToRepo  string   `json:"ssh_url_to_repo"`
	HTTPURLToRepo string   `json:"http_url_to_repo"`
	WebURL        string   `json:"web_url"`
	*codeFields
	*licenseFields
	AvatarURL         *string           `json:"avatar_url"`
	StarCount         int               `json:"star_count"`
	LastActivityAt    httpapi.Time      `json:"last_activity_at"`
	Namespace         namespaceForm     `json:"namespace"`
	CustomAttributes  *[]attribute.Form `json:"custom_attributes,omitempty"`
	RepositoryStorage string            `json:"repository_storage,omitempty"`
}

// codeFields are for those who may read the code.
type codeFields struct {
	ReadmeURL  *string `json:"readme_url"`
	ForksCount int     `json:"forks_count"`
}

type licenseFields struct {
	LicenseURL *string      `json:"license_url"`
	License    *licenseForm `json:"license"`
}

type licenseForm struct {
	Key       string  `json:"key"`
	Name      string  `json:"name"`
	Nickname  *string `json:"nickname"`
	HTMLURL   *string `json:"html_url"`
	SourceURL *string `json:"source_url"`
}

type namespaceForm struct {
	ID        int64   `json:"id"`
	Name      string  `json:"name"`
	Path      string  `json:"path"`
	Kind      string  `json:"kind"`
	FullPath  string  `json:"full_path"`
	ParentID  *int64  `json:"parent_id"`
	AvatarURL *string `json:"avatar_url"`
	WebURL    string  `json:"web_url"`
}

// fullForm is a project with its settings. What the viewer has no business
// with is left out, not null.
type fullForm struct {
	basicForm
	Links                            links        `json:"_links"`
	PackagesEnabled                  bool         `json:"packages_enabled"`
	EmptyRepo                        bool         `json:"empty_repo"`
	Archived                         bool         `json:"archived"`
	Visibility                       string       `json:"visibility"`
	Owner                            *user.Public `json:"owner,omitempty"`
	ResolveOutdatedDiffDiscussions   bool         `json:"resolve_outdated_diff_discussions"`
	IssuesEnabled                    bool         `json:"issues_enabled"`
	MergeRequestsEnabled             bool         `json:"merge_requests_enabled"`
	WikiEnabled                      bool         `json:"wiki_enabled"`
	JobsEnabled                      bool         `json:"jobs_enabled"`
	SnippetsEnabled                  bool         `json:"snippets_enabled"`
	ContainerRegistryEnabled         bool         `json:"container_registry_enabled"`
	ServiceDeskEnabled               bool         `json:"service_desk_enabled"`
	CanCreateMergeRequestIn          bool         `json:"can_create_merge_request_in"`
	IssuesAccessLevel                Level        `json:"issues_access_level"`
	RepositoryAccessLevel            Level        `json:"repository_access_level"`
	MergeRequestsAccessLevel         Level        `json:"merge_requests_access_level"`
	ForkingAccessLevel               Level        `json:"forking_access_level"`
	WikiAccessLevel                  Level        `json:"wiki_access_level"`
	BuildsAccessLevel                Level        `json:"builds_access_level"`
	SnippetsAccessLevel              Level        `json:"snippets_access_level"`
	PagesAccessLevel                 Level        `json:"pages_access_level"`
	AnalyticsAccessLevel             Level        `json:"analytics_access_level"`
	ContainerRegistryAccessLevel     Level        `json:"container_registry_access_level"`
	SecurityAndComplianceAccessLevel Level        `json:"security_and_compliance_access_level"`
	ReleasesAccessLevel              Level        `json:"releases_access_level"`
	EnvironmentsAccessLevel          Level        `json:"environments_access_level"`
	FeatureFlagsAccessLevel          Level        `json:"feature_flags_access_level"`
	InfrastructureAccessLevel        Level        `json:"infrastructure_access_level"`
	MonitorAccessLevel               Level        `json:"monitor_access_level"`
	EmailsDisabled                   bool         `json:"emails_disabled"`
	EmailsEnabled                    bool         `json:"emails_enabled"`
	SharedRunnersEnabled             bool         `json:"shared_runners_enabled"`
	LFSEnabled                       bool         `json:"lfs_enabled"`
	CreatorID                        *int64       `json:"creator_id"`
	ForkedFromProject                *basicForm   `json:"forked_from_project,omitempty"`
	MRDefaultTargetSelf              *bool        `json:"mr_default_target_self,omitempty"`
	ImportStatus                     string       `json:"import_status"`
	*maintainerFields
	ImportError     *orNull      `json:"import_error,omitempty"`
	OpenIssuesCount *int         `json:"open_issues_count,omitempty"`
	DescriptionHTML string       `json:"description_html"`
	UpdatedAt       httpapi.Time `json:"updated_at"`
	*ciConfig
	PublicJobs                                bool         `json:"public_jobs"`
	SharedWithGroups                          []shareForm  `json:"shared_with_groups"`
	OnlyAllowMergeIfPipelineSucceeds          bool         `json:"only_allow_merge_if_pipeline_succeeds"`
	AllowMergeOnSkippedPipeline               bool         `json:"allow_merge_on_skipped_pipeline"`
	RequestAccessEnabled                      bool         `json:"request_access_enabled"`
	OnlyAllowMergeIfAllDiscussionsAreResolved bool         `json:"only_allow_merge_if_all_discussions_are_resolved"`
	RemoveSourceBranchAfterMerge              bool         `json:"remove_source_branch_after_merge"`
	PrintingMergeRequestLinkEnabled           bool         `json:"printing_merge_request_link_enabled"`
	MergeMethod                               string       `json:"merge_method"`
	SquashOption                              string       `json:"squash_option"`
	EnforceAuthChecksOnUploads                bool         `json:"enforce_auth_checks_on_uploads"`
	SuggestionCommitMessage                   *string      `json:"suggestion_commit_message"`
	MergeCommitTemplate                       *string      `json:"merge_commit_template"`
	SquashCommitTemplate                      *string      `json:"squash_commit_template"`
	IssueBranchTemplate                       *string      `json:"issue_branch_template"`
	AutocloseReferencedIssues                 bool         `json:"autoclose_referenced_issues"`
	Statistics                                *statistics  `json:"statistics,omitempty"`
	Permissions                               *permissions `json:"permissions,omitempty"`
}

// orNull is a text that is null when there is none.
type orNull string

// MarshalJSON writes the text or null.
func (t orNull) MarshalJSON() ([]byte, error) {
	if t == "" {
		return []byte("null"), nil
	}
	return json.Marshal(string(t))
}

// links are where the parts of a project are, as far as this server has them.
type links struct {
	Self         string `json:"self"`
	RepoBranches string `json:"repo_branches"`
	Members      string `json:"members"`
}

// ciConfig is for those who may read the code.
type ciConfig struct {
	CIConfigPath *string `json:"ci_config_path"`
}

// maintainerFields are for those who may change them.
type maintainerFields struct {
	ImportURL                                *string `json:"import_url"`
	ImportType                               *string `json:"import_type"`
	CIDefaultGitDepth                        *int    `json:"ci_default_git_depth"`
	CIForwardDeploymentEnabled               bool    `json:"ci_forward_deployment_enabled"`
	CIForwardDeploymentRollbackAllowed       bool    `json:"ci_forward_deployment_rollback_allowed"`
	CIJobTokenScopeEnabled                   bool    `json:"ci_job_token_scope_enabled"`
	CISeparatedCaches                        bool    `json:"ci_separated_caches"`
	CIAllowForkPipelinesToRunInParentProject bool    `json:"ci_allow_fork_pipelines_to_run_in_parent_project"`
	BuildGitStrategy                         string  `json:"build_git_strategy"`
	KeepLatestArtifact                       bool    `json:"keep_latest_artifact"`
	RestrictUserDefinedVariables             bool    `json:"restrict_user_defined_variables"`
	RunnersToken                             *string `json:"runners_token"`
	RunnerTokenExpirationInterval            *int    `json:"runner_token_expiration_interval"`
	GroupRunnersEnabled                      bool    `json:"group_runners_enabled"`
	AutoCancelPendingPipelines               string  `json:"auto_cancel_pending_pipelines"`
	BuildTimeout                             int     `json:"build_timeout"`
	AutoDevopsEnabled                        bool    `json:"auto_devops_enabled"`
	AutoDevopsDeployStrategy                 string  `json:"auto_devops_deploy_strategy"`
}

type shareForm struct {
	GroupID          int64         `json:"group_id"`
	GroupName        string        `json:"group_name"`
	GroupFullPath    string        `json:"group_full_path"`
	GroupAccessLevel access.Role   `json:"group_access_level"`
	ExpiresAt        *httpapi.Date `json:"expires_at"`
}

// statistics are how much there is of a project; what cannot be measured yet is zero.
type statistics struct {
	CommitCount           int64 `json:"commit_count"`
	StorageSize           int64 `json:"storage_size"`
	RepositorySize        int64 `json:"repository_size"`
	WikiSize              int64 `json:"wiki_size"`
	LFSObjectsSize        int64 `json:"lfs_objects_size"`
	JobArtifactsSize      int64 `json:"job_artifacts_size"`
	PipelineArtifactsSize int64 `json:"pipeline_artifacts_size"`
	PackagesSize          int64 `json:"packages_size"`
	SnippetsSize          int64 `json:"snippets_size"`
	UploadsSize           int64 `json:"uploads_size"`
}

type permissions struct {
	ProjectAccess *accessForm `json:"project_access"`
	GroupAccess   *accessForm `json:"group_access"`
}

type accessForm struct {
	AccessLevel       access.Role `json:"access_level"`
	NotificationLevel int         `json:"notification_level"`
}

// globalNotifications is the level of people who chose none for a place.
const globalNotifications = 3

// groupForm is a group as a project refers to it.
type groupForm struct {
	ID        int64   `json:"id"`
	WebURL    string  `json:"web_url"`
	Name      string  `json:"name"`
	AvatarURL *string `json:"avatar_url"`
	FullName  string  `json:"full_name"`
	FullPath  string  `json:"full_path"`
}

// shape is which form of a project was asked for.
type shape struct {
	simple      bool // the basic form
	single      bool // there is but one
	permissions bool
	statistics  bool
	license     bool
	attributes  bool
}

// surroundings are what the forms of a page show beyond its rows.
type surroundings struct {
	owners     map[int64]user.Brief
	shares     map[int64][]shareForm
	sources    map[int64]*Project
	access     map[int64]memberships
	attributes map[int64][]attribute.Attribute
	digests    map[int64]Digest
	open       map[int64]int // issues
}

type memberships struct {
	ID           int64
	Direct       *access.Role
	ThroughGroup *access.Role
}

// relative is a group that has to do with a project, as the viewer stands in
// it.
type relative struct {
	ID         int64
	Name       string
	FullName   string
	FullPath   string
	Avatar     string
	Visibility access.Visibility
	Lineage    []int64
	Role       access.Role
	SeesBelow  bool
}

func (r relative) seenBy(a access.Actor) bool {
	return access.Sees(a, access.Target{Visibility: r.Visibility, Role: r.Role}) || (a.SignedIn() && r.SeesBelow)
}

// eitherForm is a project as somebody sees it.
type eitherForm = httpapi.Either[basicForm, fullForm]

// present makes the forms of a page of projects for a viewer. Each kind of
// thing around them is read once for the whole page.
func (s *Service) present(ctx context.Context, to access.Actor, page []Project, form shape) ([]eitherForm, error) {
	around, err := s.around(ctx, to, page, form)
	if err != nil {
		return nil, err
	}
	forms := make([]eitherForm, len(page))
	for i := range page {
		if form.simple {
			forms[i] = forms[i].One(s.basicForm(to, &page[i], around, form))
		} else {
			forms[i] = forms[i].Other(s.fullForm(to, &page[i], around, form))
		}
	}
	return forms, nil
}

// presentOne makes the full form of one project.
func (s *Service) presentOne(ctx context.Context, to access.Actor, p *Project, err error) (fullForm, error) {
	if err != nil {
		return fullForm{}, err
	}
	form := shape{single: true}
	around, err := s.around(ctx, to, []Project{*p}, form)
	if err != nil {
		return fullForm{}, err
	}
	return s.fullForm(to, p, around, form), nil
}

func (s *Service) around(ctx context.Context, to access.Actor, page []Project, form shape) (around surroundings, err error) {
	var ids, owners, sources []int64
	for _, p := range page {
		ids = append(ids, p.ID)
		if p.ForkedFromID != nil && !slices.Contains(sources, *p.ForkedFromID) {
			sources = append(sources, *p.ForkedFromID)
		}
	}
	around.sources = map[int64]*Project{}
	if len(sources) > 0 && !form.simple {
		if around.sources, err = s.Among(ctx, to, sources); err != nil {
			return around, err
		}
	}
	if around.digests, err = s.digests(ctx, append(ids, sources...)); err != nil {
		return around, err
	}
	own := func(p *Project) {
		if p.NamespaceOwnerID != nil && !slices.Contains(owners, *p.NamespaceOwnerID) {
			owners = append(owners, *p.NamespaceOwnerID)
		}
	}
	for i := range page {
		own(&page[i])
	}
	for _, p := range around.sources {
		own(p)
	}
	if around.owners, err = s.deps.Users.Briefs(ctx, owners...); err != nil {
		return around, err
	}
	if !form.simple {
		if around.shares, err = s.sharesAmong(ctx, to, ids); err != nil {
			return around, err
		}
		if around.open, err = s.openIssues(ctx, to, page); err != nil {
			return around, err
		}
	}
	if form.permissions && to.SignedIn() {
		if around.access, err = s.accessAmong(ctx, to, ids); err != nil {
			return around, err
		}
	}
	if form.attributes && to.Admin() {
		around.attributes, err = s.attributes.Among(ctx, ids...)
	}
	return around, err
}

// openIssues counts the open issues of those projects whose issues the viewer
// reads.
func (s *Service) openIssues(ctx context.Context, to access.Actor, page []Project) (map[int64]int, error) {
	var of []*Project
	for i := range page {
		if page[i].readsIssues(to) {
			of = append(of, &page[i])
		}
	}
	if len(of) == 0 {
		return nil, nil
	}
	return s.deps.Issues.CountOpen(ctx, to, of)
}

func (p *Project) readsIssues(to access.Actor) bool {
	return p.MayRead(to, p.Features.Issues, access.Guest)
}

// sharesAmong leaves out the groups that the viewer may not know of.
func (s *Service) sharesAmong(ctx context.Context, to access.Actor, ids []int64) (map[int64][]shareForm, error) {
	rows, err := postgres.All[struct {
		relative
		ProjectID   int64
		AccessLevel access.Role
		ExpiresAt   *time.Time
	}](ctx, s.deps.DB, sqlSharesAmong, to.ID(), s.today(), ids)
	byProject := map[int64][]shareForm{}
	for _, r := range rows {
		if r.seenBy(to) {
			byProject[r.ProjectID] = append(byProject[r.ProjectID], shareForm{
				GroupID: r.ID, GroupName: r.Name, GroupFullPath: r.FullPath, GroupAccessLevel: r.AccessLevel, ExpiresAt: httpapi.Day(r.ExpiresAt),
			})
		}
	}
	return byProject, err
}

func (s *Service) accessAmong(ctx context.Context, to access.Actor, ids []int64) (map[int64]memberships, error) {
	rows, err := postgres.All[memberships](ctx, s.deps.DB, sqlAccessAmong, to.ID(), s.today(), ids)
	byProject := map[int64]memberships{}
	for _, r := range rows {
		byProject[r.ID] = r
	}
	return byProject, err
}

// IdentityForm presents a project where another thing refers to it.
func (s *Service) IdentityForm(p *Project) IdentityForm {
	return IdentityForm{
		ID: p.ID, Description: nonEmpty(p.Description), Name: p.Name, NameWithNamespace: p.FullName(), Path: p.Path,
		PathWithNamespace: p.FullPath(), CreatedAt: httpapi.Time(p.CreatedAt),
	}
}

func (s *Service) basicForm(to access.Actor, p *Project, around surroundings, form shape) basicForm {
	b := basicForm{
		IdentityForm: s.IdentityForm(p), TagList: p.Topics, Topics: p.Topics, SSHURLToRepo: s.SSHAddress(p), HTTPURLToRepo: s.HTTPAddress(p),
		WebURL: s.deps.ExternalURL + "/" + p.FullPath(), AvatarURL: s.avatarURL("project", p.ID, p.Avatar), StarCount: p.StarCount,
		LastActivityAt: httpapi.Time(p.LastActivityAt), Namespace: s.namespaceForm(p, around),
	}
	if p.MayReadCode(to) {
		d := around.digests[p.ID]
		b.DefaultBranch = new(s.defaultBranch(p))
		b.codeFields = &codeFields{ForksCount: p.ForksCount, ReadmeURL: s.blobURL(p, d.Readme)}
		if form.license {
			b.licenseFields = &licenseFields{LicenseURL: s.blobURL(p, d.License)}
		}
	}
	if to.Admin() {
		b.RepositoryStorage = p.Storage
	}
	if around.attributes != nil {
		b.CustomAttributes = new(attribute.Forms(around.attributes[p.ID]))
	}
	return b
}

func (s *Service) namespaceForm(p *Project, around surroundings) namespaceForm {
	n := namespaceForm{
		ID: p.NamespaceID, Name: p.NamespaceName, Path: p.NamespacePath, Kind: p.NamespaceKind, FullPath: p.NamespaceFullPath,
		ParentID: p.NamespaceParentID, AvatarURL: s.avatarURL("group", p.NamespaceID, p.NamespaceAvatar),
		WebURL: s.deps.ExternalURL + "/groups/" + p.NamespaceFullPath,
	}
	if p.NamespaceKind == string(group.Personal) {
		n.WebURL, n.AvatarURL = s.deps.ExternalURL+"/"+p.NamespaceFullPath, nil
		if owner, ok := around.owners[*p.NamespaceOwnerID]; ok {
			n.AvatarURL = s.deps.Users.PublicForm(owner).AvatarURL
		}
	}
	return n
}

func (s *Service) fullForm(to access.Actor, p *Project, around surroundings, form shape) fullForm {
	f, set := p.Features, p.Settings
	code := p.MayReadCode(to)
	issues := p.readsIssues(to)
	requests := code && p.MayRead(to, f.MergeRequests, access.Reporter)
	api := s.deps.ExternalURL + "/api/v4/projects/" + strconv.FormatInt(p.ID, 10)
	digest, known := around.digests[p.ID]
	empty := !known || digest.Empty
	full := fullForm{
		basicForm: s.basicForm(to, p, around, form),
		Links: links{
			Self: api, RepoBranches: api + "/repository/branches", Members: api + "/members",
		},
		PackagesEnabled: set.PackagesEnabled, EmptyRepo: empty, Archived: p.Archived, Visibility: p.Visibility.String(),
		ResolveOutdatedDiffDiscussions: set.ResolveOutdatedDiffDiscussions, IssuesEnabled: issues, MergeRequestsEnabled: requests,
		WikiEnabled: p.MayRead(to, f.Wiki, access.Guest), JobsEnabled: code && p.MayRead(to, f.Builds, access.Guest),
		SnippetsEnabled:          p.MayRead(to, f.Snippets, access.Guest),
		ContainerRegistryEnabled: p.MayRead(to, f.ContainerRegistry, access.Reporter), ServiceDeskEnabled: set.ServiceDeskEnabled,
		CanCreateMergeRequestIn: to.SignedIn() && requests && !p.Archived,
		IssuesAccessLevel:       f.Issues, RepositoryAccessLevel: f.Repository, MergeRequestsAccessLevel: f.MergeRequests,
		ForkingAccessLevel: f.Forking, WikiAccessLevel: f.Wiki, BuildsAccessLevel: f.Builds, SnippetsAccessLevel: f.Snippets,
		PagesAccessLevel: f.Pages, AnalyticsAccessLevel: f.Analytics, ContainerRegistryAccessLevel: f.ContainerRegistry,
		SecurityAndComplianceAccessLevel: f.SecurityAndCompliance, ReleasesAccessLevel: f.Releases,
		EnvironmentsAccessLevel: f.Environments, FeatureFlagsAccessLevel: f.FeatureFlags,
		InfrastructureAccessLevel: f.Infrastructure, MonitorAccessLevel: f.Monitor,
		EmailsDisabled: set.EmailsDisabled, EmailsEnabled: !set.EmailsDisabled, SharedRunnersEnabled: set.SharedRunnersEnabled,
		LFSEnabled: set.LFSEnabled, CreatorID: p.CreatorID, ImportStatus: p.ImportStatus, DescriptionHTML: plainHTML(p.Description),
		UpdatedAt: httpapi.Time(p.UpdatedAt), PublicJobs: set.PublicJobs, SharedWithGroups: around.shares[p.ID],
		OnlyAllowMergeIfPipelineSucceeds: set.OnlyAllowMergeIfPipelineSucceeds, AllowMergeOnSkippedPipeline: set.AllowMergeOnSkippedPipeline,
		RequestAccessEnabled:                      set.RequestAccessEnabled,
		OnlyAllowMergeIfAllDiscussionsAreResolved: set.OnlyAllowMergeIfAllDiscussionsAreResolved,
		RemoveSourceBranchAfterMerge:              set.RemoveSourceBranchAfterMerge,
		PrintingMergeRequestLinkEnabled:           set.PrintingMergeRequestLinkEnabled, MergeMethod: set.MergeMethod,
		SquashOption: set.SquashOption, EnforceAuthChecksOnUploads: set.EnforceAuthChecksOnUploads,
		SuggestionCommitMessage: set.SuggestionCommitMessage, MergeCommitTemplate: set.MergeCommitTemplate,
		SquashCommitTemplate: set.SquashCommitTemplate, IssueBranchTemplate: set.IssueBranchTemplate,
		AutocloseReferencedIssues: set.AutocloseReferencedIssues,
	}
	if full.SharedWithGroups == nil {
		full.SharedWithGroups = []shareForm{}
	}
	if issues {
		full.OpenIssuesCount = new(around.open[p.ID])
	}
	if code {
		full.ciConfig = &ciConfig{CIConfigPath: set.CIConfigPath}
	}
	if p.NamespaceOwnerID != nil {
		if owner, ok := around.owners[*p.NamespaceOwnerID]; ok {
			full.Owner = new(s.deps.Users.PublicForm(owner))
		}
	}
	if p.ForkedFromID != nil {
		if source := around.sources[*p.ForkedFromID]; source != nil {
			full.ForkedFromProject = new(s.basicForm(to, source, surroundings{owners: around.owners, digests: around.digests}, shape{}))
			full.MRDefaultTargetSelf = &set.MRDefaultTargetSelf
		}
	}
	if access.Holds(to, access.UpdateProject, p.Target()) {
		full.maintainerFields = s.maintainerFields(p)
		if form.single {
			full.ImportError = new(orNull(p.ImportError))
		}
	}
	if form.statistics && (to.Admin() || to.Auditor() || p.Role >= access.Reporter) {
		full.Statistics = digest.statistics()
	}
	if form.permissions && to.SignedIn() {
		full.Permissions = permissionsForm(to, p, around.access[p.ID])
	}
	return full
}

func (s *Service) maintainerFields(p *Project) *maintainerFields {
	set := p.Settings
	return &maintainerFields{
		ImportURL: nonEmpty(set.ImportURL), ImportType: nonEmpty(set.ImportType), CIDefaultGitDepth: set.CIDefaultGitDepth,
		CIForwardDeploymentEnabled: set.CIForwardDeploymentEnabled, CIForwardDeploymentRollbackAllowed: set.CIForwardDeploymentRollbackAllowed,
		CIJobTokenScopeEnabled: set.CIJobTokenScopeEnabled, CISeparatedCaches: set.CISeparatedCaches,
		CIAllowForkPipelinesToRunInParentProject: set.CIAllowForkPipelinesToRunInParentProject, BuildGitStrategy: set.BuildGitStrategy,
		KeepLatestArtifact: set.KeepLatestArtifact, RestrictUserDefinedVariables: set.RestrictUserDefinedVariables,
		GroupRunnersEnabled: set.GroupRunnersEnabled, AutoCancelPendingPipelines: set.AutoCancelPendingPipelines,
		BuildTimeout: set.BuildTimeout, AutoDevopsEnabled: set.AutoDevopsEnabled, AutoDevopsDeployStrategy: set.AutoDevopsDeployStrategy,
	}
}

// permissionsForm counts the owner of a personal namespace as a member of the
// projects in it.
func permissionsForm(to access.Actor, p *Project, m memberships) *permissions {
	form := func(level *access.Role) *accessForm {
		if level == nil {
			return nil
		}
		return &accessForm{AccessLevel: *level, NotificationLevel: globalNotifications}
	}
	if p.NamespaceOwnerID != nil && to.Is(*p.NamespaceOwnerID) {
		m.Direct = new(access.Owner)
	}
	return &permissions{ProjectAccess: form(m.Direct), GroupAccess: form(m.ThroughGroup)}
}

func (s *Service) groupForm(r relative) groupForm {
	return groupForm{
		ID: r.ID, WebURL: s.deps.ExternalURL + "/groups/" + r.FullPath, Name: r.Name, AvatarURL: s.avatarURL("group", r.ID, r.Avatar),
		FullName: r.FullName, FullPath: r.FullPath,
	}
}

func (s *Service) avatarURL(kind string, id int64, name string) *string {
	if name == "" {
		return nil
	}
	return new(s.deps.ExternalURL + "/uploads/-/system/" + kind + "/avatar/" + strconv.FormatInt(id, 10) + "/" + name)
}

// blobURL is the page of a file on the default branch, nil where there is none.
func (s *Service) blobURL(p *Project, path string) *string {
	if path == "" {
		return nil
	}
	escape := func(name string) string { return strings.ReplaceAll(url.PathEscape(name), "%2F", "/") }
	return new(s.deps.ExternalURL + "/" + p.FullPath() + "/-/blob/" + escape(s.defaultBranch(p)) + "/" + escape(path))
}

// HTTPAddress is where git reaches a project over HTTP.
func (s *Service) HTTPAddress(p *Project) string { return s.HTTPAddressOf(p.FullPath()) }

// HTTPAddressOf is where git reaches what has a path over HTTP.
func (s *Service) HTTPAddressOf(path string) string {
	root := cmp.Or(string(s.deps.Settings.Current().CustomHTTPCloneURLRoot), s.deps.ExternalURL)
	return strings.TrimSuffix(root, "/") + "/" + path + ".git"
}

// ServesSSH reports whether git reaches projects over SSH at all.
func (s *Service) ServesSSH() bool { return s.deps.SSHPort != 0 }

// SSHAddress is where git reaches a project over SSH.
func (s *Service) SSHAddress(p *Project) string { return s.SSHAddressOf(p.FullPath()) }

// SSHAddressOf is where git reaches what has a path over SSH. A port of its own
// does not fit into the short form.
func (s *Service) SSHAddressOf(path string) string {
	host := s.deps.ExternalURL
	if u, err := url.Parse(s.deps.ExternalURL); err == nil {
		host = u.Hostname()
	}
	if s.deps.SSHPort != 0 && s.deps.SSHPort != 22 {
		return "ssh://git@" + net.JoinHostPort(host, strconv.Itoa(s.deps.SSHPort)) + "/" + path + ".git"
	}
	return "git@" + host + ":" + path + ".git"
}

// plainHTML shows a text as it was typed.
func plainHTML(text string) string {
	if text == "" {
		return ""
	}
	return `<p dir="auto">` + html.EscapeString(text) + `</p>`
}

func nonEmpty(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
