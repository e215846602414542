package project

// Settings are what maintainers decide for a project and no query asks for.
// Absent members have their defaults.
type Settings struct {
	ResolveOutdatedDiffDiscussions            bool    `json:"resolve_outdated_diff_discussions"`
	PackagesEnabled                           bool    `json:"packages_enabled"`
	ServiceDeskEnabled                        bool    `json:"service_desk_enabled"`
	EmailsDisabled                            bool    `json:"emails_disabled"`
	SharedRunnersEnabled                      bool    `json:"shared_runners_enabled"`
	GroupRunnersEnabled                       bool    `json:"group_runners_enabled"`
	LFSEnabled                                bool    `json:"lfs_enabled"`
	PublicJobs                                bool    `json:"public_jobs"`
	CIConfigPath                              *string `json:"ci_config_path"`
	CIDefaultGitDepth                         *int    `json:"ci_default_git_depth"`
	CIForwardDeploymentEnabled                bool    `json:"ci_forward_deployment_enabled"`
	CIForwardDeploymentRollbackAllowed        bool    `json:"ci_forward_deployment_rollback_allowed"`
	CIJobTokenScopeEnabled                    bool    `json:"ci_job_token_scope_enabled"`
	CISeparatedCaches                         bool    `json:"ci_separated_caches"`
	CIAllowForkPipelinesToRunInParentProject  bool    `json:"ci_allow_fork_pipelines_to_run_in_parent_project"`
	BuildGitStrategy                          string  `json:"build_git_strategy"`
	KeepLatestArtifact                        bool    `json:"keep_latest_artifact"`
	RestrictUserDefinedVariables              bool    `json:"restrict_user_defined_variables"`
	AutoCancelPendingPipelines                string  `json:"auto_cancel_pending_pipelines"`
	BuildTimeout                              int     `json:"build_timeout"`
	AutoDevopsEnabled                         bool    `json:"auto_devops_enabled"`
	AutoDevopsDeployStrategy                  string  `json:"auto_devops_deploy_strategy"`
	OnlyAllowMergeIfPipelineSucceeds          bool    `json:"only_allow_merge_if_pipeline_succeeds"`
	AllowMergeOnSkippedPipeline               bool    `json:"allow_merge_on_skipped_pipeline"`
	RequestAccessEnabled                      bool    `json:"request_access_enabled"`
	OnlyAllowMergeIfAllDiscussionsAreResolved bool    `json:"only_allow_merge_if_all_discussions_are_resolved"`
	RemoveSourceBranchAfterMerge              bool    `json:"remove_source_branch_after_merge"`
	PrintingMergeRequestLinkEnabled           bool    `json:"printing_merge_request_link_enabled"`
	MergeMethod                               string  `json:"merge_method"`
	SquashOption                              string  `json:"squash_option"`
	EnforceAuthChecksOnUploads                bool    `json:"enforce_auth_checks_on_uploads"`
	SuggestionCommitMessage                   *string `json:"suggestion_commit_message"`
	MergeCommitTemplate                       *string `json:"merge_commit_template"`
	SquashCommitTemplate                      *string `json:"squash_commit_template"`
	IssueBranchTemplate                       *string `json:"issue_branch_template"`
	AutocloseReferencedIssues                 bool    `json:"autoclose_referenced_issues"`
	MRDefaultTargetSelf                       bool    `json:"mr_default_target_self"`
	InitializeWithReadme                      bool    `json:"initialize_with_readme,omitempty"` // asked for; the repository's first commit is made with it
	ImportURL                                 string  `json:"import_url,omitempty"`
	ImportType                                string  `json:"import_type,omitempty"`
}

func defaultSettings() Settings {
	return Settings{
		PackagesEnabled: true, SharedRunnersEnabled: true, GroupRunnersEnabled: true, LFSEnabled: true, PublicJobs: true,
		CIDefaultGitDepth: new(20), CIForwardDeploymentEnabled: true, CIForwardDeploymentRollbackAllowed: true, CISeparatedCaches: true,
		CIAllowForkPipelinesToRunInParentProject: true, BuildGitStrategy: "fetch", KeepLatestArtifact: true,
		AutoCancelPendingPipelines: "enabled", BuildTimeout: 3600, AutoDevopsDeployStrategy: "continuous", RequestAccessEnabled: true,
		RemoveSourceBranchAfterMerge: true, PrintingMergeRequestLinkEnabled: true, MergeMethod: "merge", SquashOption: "default_off",
		EnforceAuthChecksOnUploads: true, AutocloseReferencedIssues: true,
	}
}
