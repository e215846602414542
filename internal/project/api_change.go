package project

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"reflect"
	"strconv"
	"strings"

	"stithy/internal/kit/access"
	"stithy/internal/kit/avatar"
	"stithy/internal/kit/httpapi"
)

// settingParams are what POST and PUT have in common.
type settingParams struct {
	Description   httpapi.Opt[string]        `param:"description" doc:"Description"`
	DefaultBranch httpapi.Opt[string]        `param:"default_branch" doc:"Default branch"`
	Visibility    httpapi.Opt[string]        `param:"visibility" enum:"private,internal,public" doc:"Who sees the project"`
	Topics        httpapi.Opt[[]string]      `param:"topics" split:"comma" doc:"Topics"`
	TagList       httpapi.Opt[[]string]      `param:"tag_list" split:"comma" doc:"Topics; deprecated, use topics"`
	Avatar        httpapi.Opt[*httpapi.File] `param:"avatar" doc:"Picture of the project; empty takes it away"`

	IssuesAccessLevel                httpapi.Opt[Level] `param:"issues_access_level" enum:"disabled,private,enabled" doc:"Who may use issues"`
	RepositoryAccessLevel            httpapi.Opt[Level] `param:"repository_access_level" enum:"disabled,private,enabled" doc:"Who may use the repository"`
	MergeRequestsAccessLevel         httpapi.Opt[Level] `param:"merge_requests_access_level" enum:"disabled,private,enabled" doc:"Who may use merge requests"`
	ForkingAccessLevel               httpapi.Opt[Level] `param:"forking_access_level" enum:"disabled,private,enabled" doc:"Who may fork"`
	WikiAccessLevel                  httpapi.Opt[Level] `param:"wiki_access_level" enum:"disabled,private,enabled" doc:"Who may use the wiki"`
	BuildsAccessLevel                httpapi.Opt[Level] `param:"builds_access_level" enum:"disabled,private,enabled" doc:"Who may use pipelines"`
	SnippetsAccessLevel              httpapi.Opt[Level] `param:"snippets_access_level" enum:"disabled,private,enabled" doc:"Who may use snippets"`
	PagesAccessLevel                 httpapi.Opt[Level] `param:"pages_access_level" enum:"disabled,private,enabled,public" doc:"Who may see the pages"`
	AnalyticsAccessLevel             httpapi.Opt[Level] `param:"analytics_access_level" enum:"disabled,private,enabled" doc:"Who may see analytics"`
	ContainerRegistryAccessLevel     httpapi.Opt[Level] `param:"container_registry_access_level" enum:"disabled,private,enabled" doc:"Who may use the container registry"`
	SecurityAndComplianceAccessLevel httpapi.Opt[Level] `param:"security_and_compliance_access_level" enum:"disabled,private,enabled" doc:"Who may see security and compliance"`
	ReleasesAccessLevel              httpapi.Opt[Level] `param:"releases_access_level" enum:"disabled,private,enabled" doc:"Who may use releases"`
	EnvironmentsAccessLevel          httpapi.Opt[Level] `param:"environments_access_level" enum:"disabled,private,enabled" doc:"Who may use environments"`
	FeatureFlagsAccessLevel          httpapi.Opt[Level] `param:"feature_flags_access_level" enum:"disabled,private,enabled" doc:"Who may use feature flags"`
	InfrastructureAccessLevel        httpapi.Opt[Level] `param:"infrastructure_access_level" enum:"disabled,private,enabled" doc:"Who may use infrastructure"`
	MonitorAccessLevel               httpapi.Opt[Level] `param:"monitor_access_level" enum:"disabled,private,enabled" doc:"Who may use monitoring"`

	IssuesEnabled            httpapi.Opt[bool] `param:"issues_enabled" doc:"Deprecated, use issues_access_level"`
	MergeRequestsEnabled     httpapi.Opt[bool] `param:"merge_requests_enabled" doc:"Deprecated, use merge_requests_access_level"`
	WikiEnabled              httpapi.Opt[bool] `param:"wiki_enabled" doc:"Deprecated, use wiki_access_level"`
	JobsEnabled              httpapi.Opt[bool] `param:"jobs_enabled" doc:"Deprecated, use builds_access_level"`
	SnippetsEnabled          httpapi.Opt[bool] `param:"snippets_enabled" doc:"Deprecated, use snippets_access_level"`
	ContainerRegistryEnabled httpapi.Opt[bool] `param:"container_registry_enabled" doc:"Deprecated, use container_registry_access_level"`

	ResolveOutdatedDiffDiscussions            httpapi.Opt[bool]   `param:"resolve_outdated_diff_discussions" doc:"Resolve discussions on lines that a push changed"`
	PackagesEnabled                           httpapi.Opt[bool]   `param:"packages_enabled" doc:"Whether there are packages"`
	ServiceDeskEnabled                        httpapi.Opt[bool]   `param:"service_desk_enabled" doc:"Whether there is a service desk"`
	EmailsDisabled                            httpapi.Opt[bool]   `param:"emails_disabled" doc:"Deprecated, use emails_enabled"`
	EmailsEnabled                             httpapi.Opt[bool]   `param:"emails_enabled" doc:"Whether mails are sent"`
	SharedRunnersEnabled                      httpapi.Opt[bool]   `param:"shared_runners_enabled" doc:"Whether the runners of the instance are used"`
	GroupRunnersEnabled                       httpapi.Opt[bool]   `param:"group_runners_enabled" doc:"Whether the runners of the group are used"`
	LFSEnabled                                httpapi.Opt[bool]   `param:"lfs_enabled" doc:"Whether large files are kept apart"`
	PublicBuilds                              httpapi.Opt[bool]   `param:"public_builds" doc:"Deprecated, use public_jobs"`
	PublicJobs                                httpapi.Opt[bool]   `param:"public_jobs" doc:"Whether those who only see the project see its jobs"`
	CIConfigPath                              httpapi.Opt[string] `param:"ci_config_path" doc:"Where the pipeline is configured; empty is the default file"`
	CIDefaultGitDepth                         httpapi.Opt[int]    `param:"ci_default_git_depth" doc:"Commits that jobs fetch; null or 0 is all"`
	CIForwardDeploymentEnabled                httpapi.Opt[bool]   `param:"ci_forward_deployment_enabled" doc:"Refuse to deploy what is older than the latest deployment"`
	CIForwardDeploymentRollbackAllowed        httpapi.Opt[bool]   `param:"ci_forward_deployment_rollback_allowed" doc:"Let retried jobs deploy what is older"`
	CIJobTokenScopeEnabled                    httpapi.Opt[bool]   `param:"ci_job_token_scope_enabled" doc:"Limit which projects job tokens open"`
	CISeparatedCaches                         httpapi.Opt[bool]   `param:"ci_separated_caches" doc:"Keep caches of protected branches apart"`
	CIAllowForkPipelinesToRunInParentProject  httpapi.Opt[bool]   `param:"ci_allow_fork_pipelines_to_run_in_parent_project" doc:"Let pipelines of forks run here"`
	BuildGitStrategy                          httpapi.Opt[string] `param:"build_git_strategy" enum:"fetch,clone" doc:"How jobs get the repository"`
	KeepLatestArtifact                        httpapi.Opt[bool]   `param:"keep_latest_artifact" doc:"Keep the latest artifacts for ever"`
	RestrictUserDefinedVariables              httpapi.Opt[bool]   `param:"restrict_user_defined_variables" doc:"Only maintainers may start pipelines with variables"`
	AutoCancelPendingPipelines                httpapi.Opt[string] `param:"auto_cancel_pending_pipelines" enum:"enabled,disabled" doc:"Cancel pipelines that a newer push made pointless"`
	BuildTimeout                              httpapi.Opt[int]    `param:"build_timeout" doc:"Seconds that a job may run"`
	AutoDevopsEnabled                         httpapi.Opt[bool]   `param:"auto_devops_enabled" doc:"Whether there is a pipeline without configuration"`
	AutoDevopsDeployStrategy                  httpapi.Opt[string] `param:"auto_devops_deploy_strategy" enum:"continuous,manual,timed_incremental" doc:"How such a pipeline deploys"`
	OnlyAllowMergeIfPipelineSucceeds          httpapi.Opt[bool]   `param:"only_allow_merge_if_pipeline_succeeds" doc:"Merge only after a pipeline succeeded"`
	AllowMergeOnSkippedPipeline               httpapi.Opt[bool]   `param:"allow_merge_on_skipped_pipeline" doc:"A skipped pipeline counts as a success"`
	RequestAccessEnabled                      httpapi.Opt[bool]   `param:"request_access_enabled" doc:"Whether people may ask to become members"`
	OnlyAllowMergeIfAllDiscussionsAreResolved httpapi.Opt[bool]   `param:"only_allow_merge_if_all_discussions_are_resolved" doc:"Merge only when all discussions are resolved"`
	RemoveSourceBranchAfterMerge              httpapi.Opt[bool]   `param:"remove_source_branch_after_merge" doc:"Offer to remove merged branches"`
	PrintingMergeRequestLinkEnabled           httpapi.Opt[bool]   `param:"printing_merge_request_link_enabled" doc:"Answer a push with a link to a merge request"`
	MergeMethod                               httpapi.Opt[string] `param:"merge_method" enum:"merge,rebase_merge,ff" doc:"How merge requests are merged"`
	SquashOption                              httpapi.Opt[string] `param:"squash_option" enum:"never,always,default_on,default_off" doc:"Whether merge requests are squashed"`
	EnforceAuthChecksOnUploads                httpapi.Opt[bool]   `param:"enforce_auth_checks_on_uploads" doc:"Only those who see the project see its uploads"`
	SuggestionCommitMessage                   httpapi.Opt[string] `param:"suggestion_commit_message" doc:"Message of commits that apply suggestions"`
	MergeCommitTemplate                       httpapi.Opt[string] `param:"merge_commit_template" doc:"Message of merge commits"`
	SquashCommitTemplate                      httpapi.Opt[string] `param:"squash_commit_template" doc:"Message of squash commits"`
	IssueBranchTemplate                       httpapi.Opt[string] `param:"issue_branch_template" doc:"Name of branches made from issues"`
	AutocloseReferencedIssues                 httpapi.Opt[bool]   `param:"autoclose_referenced_issues" doc:"Merging closes the issues that commits name"`
	MRDefaultTargetSelf                       httpapi.Opt[bool]   `param:"mr_default_target_self" doc:"Merge requests of a fork go to the fork by default"`
}

func (p settingParams) attributes() Attributes {
	a := Attributes{Description: text(p.Description), DefaultBranch: text(p.DefaultBranch), Visibility: visibility(p.Visibility), Avatar: avatar.Given(p.Avatar),
		Change: p.change}
	if p.TagList.Given {
		a.Topics = &p.TagList.Value
	}
	if p.Topics.Given {
		a.Topics = &p.Topics.Value
	}
	f := &a.Features
	for _, old := range []struct {
		level *Level
		given httpapi.Opt[bool]
	}{
		{&f.Issues, p.IssuesEnabled}, {&f.MergeRequests, p.MergeRequestsEnabled}, {&f.Wiki, p.WikiEnabled}, {&f.Builds, p.JobsEnabled},
		{&f.Snippets, p.SnippetsEnabled}, {&f.ContainerRegistry, p.ContainerRegistryEnabled},
	} {
		if on := old.given.Ptr(); on != nil {
			if *old.level = Off; *on {
				*old.level = Everyone
			}
		}
	}
	given := []httpapi.Opt[Level]{
		p.IssuesAccessLevel, p.RepositoryAccessLevel, p.MergeRequestsAccessLevel, p.ForkingAccessLevel, p.WikiAccessLevel,
		p.BuildsAccessLevel, p.SnippetsAccessLevel, p.PagesAccessLevel, p.AnalyticsAccessLevel, p.ContainerRegistryAccessLevel,
		p.SecurityAndComplianceAccessLevel, p.ReleasesAccessLevel, p.EnvironmentsAccessLevel, p.FeatureFlagsAccessLevel,
		p.InfrastructureAccessLevel, p.MonitorAccessLevel,
	}
	for i, level := range f.levels() {
		set(level.level, given[i].Ptr())
	}
	return a
}

func (p settingParams) change(s *Settings) {
	set(&s.ResolveOutdatedDiffDiscussions, p.ResolveOutdatedDiffDiscussions.Ptr())
	set(&s.PackagesEnabled, p.PackagesEnabled.Ptr())
	set(&s.ServiceDeskEnabled, p.ServiceDeskEnabled.Ptr())
	set(&s.EmailsDisabled, p.EmailsDisabled.Ptr())
	if on := p.EmailsEnabled.Ptr(); on != nil {
		s.EmailsDisabled = !*on
	}
	set(&s.SharedRunnersEnabled, p.SharedRunnersEnabled.Ptr())
	set(&s.GroupRunnersEnabled, p.GroupRunnersEnabled.Ptr())
	set(&s.LFSEnabled, p.LFSEnabled.Ptr())
	set(&s.PublicJobs, p.PublicBuilds.Ptr())
	set(&s.PublicJobs, p.PublicJobs.Ptr())
	setText(&s.CIConfigPath, p.CIConfigPath)
	if p.CIDefaultGitDepth.Given {
		s.CIDefaultGitDepth = p.CIDefaultGitDepth.Ptr()
	}
	set(&s.CIForwardDeploymentEnabled, p.CIForwardDeploymentEnabled.Ptr())
	set(&s.CIForwardDeploymentRollbackAllowed, p.CIForwardDeploymentRollbackAllowed.Ptr())
	set(&s.CIJobTokenScopeEnabled, p.CIJobTokenScopeEnabled.Ptr())
	set(&s.CISeparatedCaches, p.CISeparatedCaches.Ptr())
	set(&s.CIAllowForkPipelinesToRunInParentProject, p.CIAllowForkPipelinesToRunInParentProject.Ptr())
	set(&s.BuildGitStrategy, p.BuildGitStrategy.Ptr())
	set(&s.KeepLatestArtifact, p.KeepLatestArtifact.Ptr())
	set(&s.RestrictUserDefinedVariables, p.RestrictUserDefinedVariables.Ptr())
	set(&s.AutoCancelPendingPipelines, p.AutoCancelPendingPipelines.Ptr())
	set(&s.BuildTimeout, p.BuildTimeout.Ptr())
	set(&s.AutoDevopsEnabled, p.AutoDevopsEnabled.Ptr())
	set(&s.AutoDevopsDeployStrategy, p.AutoDevopsDeployStrategy.Ptr())
	set(&s.OnlyAllowMergeIfPipelineSucceeds, p.OnlyAllowMergeIfPipelineSucceeds.Ptr())
	set(&s.AllowMergeOnSkippedPipeline, p.AllowMergeOnSkippedPipeline.Ptr())
	set(&s.RequestAccessEnabled, p.RequestAccessEnabled.Ptr())
	set(&s.OnlyAllowMergeIfAllDiscussionsAreResolved, p.OnlyAllowMergeIfAllDiscussionsAreResolved.Ptr())
	set(&s.RemoveSourceBranchAfterMerge, p.RemoveSourceBranchAfterMerge.Ptr())
	set(&s.PrintingMergeRequestLinkEnabled, p.PrintingMergeRequestLinkEnabled.Ptr())
	set(&s.MergeMethod, p.MergeMethod.Ptr())
	set(&s.SquashOption, p.SquashOption.Ptr())
	set(&s.EnforceAuthChecksOnUploads, p.EnforceAuthChecksOnUploads.Ptr())
	setText(&s.SuggestionCommitMessage, p.SuggestionCommitMessage)
	setText(&s.MergeCommitTemplate, p.MergeCommitTemplate)
	setText(&s.SquashCommitTemplate, p.SquashCommitTemplate)
	setText(&s.IssueBranchTemplate, p.IssueBranchTemplate)
	set(&s.AutocloseReferencedIssues, p.AutocloseReferencedIssues.Ptr())
	set(&s.MRDefaultTargetSelf, p.MRDefaultTargetSelf.Ptr())
}

// text takes null as empty.
func text(o httpapi.Opt[string]) *string {
	if !o.Given {
		return nil
	}
	return &o.Value
}

// setText takes empty as null.
func setText(dst **string, o httpapi.Opt[string]) {
	if o.Given {
		*dst = nonEmpty(o.Value)
	}
}

// visibility reads a name that the binding has checked.
func visibility(o httpapi.Opt[string]) *access.Visibility {
	name := o.Ptr()
	if name == nil {
		return nil
	}
	v, err := access.ParseVisibility(*name)
	if err != nil {
		return nil
	}
	return &v
}

// newParams are what only a new project takes.
type newParams struct {
	InitializeWithReadme bool   `param:"initialize_with_readme" doc:"Begin the repository with a README.md"`
	ImportURL            string `param:"import_url" doc:"Address of a repository elsewhere; credentials in it are not kept"`
	settingParams
}

// draft is the new project as far as it does not depend on who makes it.
func (p newParams) draft() (d Draft, err error) {
	d.Attributes = p.attributes()
	if p.ImportURL != "" {
		if d.Import, err = parseImport(p.ImportURL); err != nil {
			return d, err
		}
	}
	d.Change = func(s *Settings) {
		p.change(s)
		s.InitializeWithReadme = p.InitializeWithReadme
		if d.Import != nil {
			s.ImportURL, s.ImportType = d.Import.URL, "git"
		}
	}
	return d, nil
}

type createParams struct {
	Name        httpapi.Opt[string] `param:"name" doc:"Name; the path when absent"`
	Path        httpapi.Opt[string] `param:"path" doc:"Path below the namespace; made from the name when absent"`
	NamespaceID httpapi.Opt[int64]  `param:"namespace_id" doc:"Namespace of the project; the caller's own when absent"`
	newParams
}

// Validate asks for something to call the project by.
func (p createParams) Validate() []string {
	if !p.Name.Given && !p.Path.Given {
		return []string{"name, path are missing, at least one parameter must be provided"}
	}
	return nil
}

func (s *Service) handleCreate(ctx context.Context, call httpapi.Call[httpapi.None, createParams]) (fullForm, error) {
	p := call.Params
	d, err := p.draft()
	if err != nil {
		return fullForm{}, err
	}
	d.Name, d.Path = text(p.Name), text(p.Path)
	if id := p.NamespaceID.Ptr(); id != nil {
		d.NamespaceID = *id
	} else if d.NamespaceID, err = s.personal(ctx, call.Actor.ID()); err != nil {
		return fullForm{}, err
	}
	made, err := s.Create(ctx, call.Actor, d)
	return s.presentOne(ctx, call.Actor, made, err)
}

type createForParams struct {
	UserID int64               `param:"user_id" doc:"ID of the user"`
	Name   string              `param:"name" required:"true" doc:"Name"`
	Path   httpapi.Opt[string] `param:"path" doc:"Path below the user's namespace; made from the name when absent"`
	newParams
}

func (s *Service) handleCreateFor(ctx context.Context, call httpapi.Call[httpapi.None, createForParams]) (fullForm, error) {
	p := call.Params
	u, err := s.deps.Users.Find(ctx, p.UserID)
	if err != nil {
		return fullForm{}, err
	}
	d, err := p.draft()
	if err != nil {
		return fullForm{}, err
	}
	d.CreatorID, d.Name, d.Path = u.ID, &p.Name, text(p.Path)
	if d.NamespaceID, err = s.personal(ctx, u.ID); err != nil {
		return fullForm{}, err
	}
	made, err := s.Create(ctx, call.Actor, d)
	return s.presentOne(ctx, call.Actor, made, err)
}

type updateParams struct {
	Ref
	Name httpapi.Opt[string] `param:"name" doc:"Name"`
	Path httpapi.Opt[string] `param:"path" doc:"Path below the namespace"`
	settingParams
}

// Validate asks for something to change.
func (p updateParams) Validate() []string {
	names, v := []string{}, reflect.ValueOf(p)
	for _, f := range reflect.VisibleFields(v.Type()) {
		name, tagged := f.Tag.Lookup("param")
		if !tagged || name == "id" {
			continue
		}
		if v.FieldByIndex(f.Index).FieldByName("Given").Bool() {
			return nil
		}
		names = append(names, name)
	}
	return []string{strings.Join(names, ", ") + " are missing, at least one parameter must be provided"}
}

func (s *Service) handleUpdate(ctx context.Context, call httpapi.Call[*Project, updateParams]) (fullForm, error) {
	p := call.Params
	if p.Visibility.Given {
		if err := access.CheckIn(call.Actor, access.ChangeVisibility, call.Subject.Target()); err != nil {
			return fullForm{}, err
		}
	}
	a := p.attributes()
	a.Name, a.Path = text(p.Name), text(p.Path)
	changed, err := s.Update(ctx, call.Actor, call.Subject.ID, a)
	return s.presentOne(ctx, call.Actor, changed, err)
}

func (s *Service) handleLanguages(ctx context.Context, call httpapi.Call[*Project, Ref]) (map[string]float64, error) {
	digests, err := s.digests(ctx, []int64{call.Subject.ID})
	languages := digests[call.Subject.ID].Languages
	if languages == nil {
		languages = map[string]float64{}
	}
	return languages, err
}

type storageForm struct {
	ProjectID         int64        `json:"project_id"`
	DiskPath          string       `json:"disk_path"`
	CreatedAt         httpapi.Time `json:"created_at"`
	RepositoryStorage string       `json:"repository_storage"`
}

func (s *Service) handleStorage(_ context.Context, call httpapi.Call[*Project, Ref]) (storageForm, error) {
	p := call.Subject
	sum := sha256.Sum256([]byte(strconv.FormatInt(p.ID, 10)))
	name := hex.EncodeToString(sum[:])
	return storageForm{
		ProjectID: p.ID, DiskPath: "@hashed/" + name[:2] + "/" + name[2:4] + "/" + name, CreatedAt: httpapi.Time(p.CreatedAt),
		RepositoryStorage: p.Storage,
	}, nil
}
