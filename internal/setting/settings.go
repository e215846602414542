package setting

import (
	"encoding/json"

	"stithy/internal/kit/wire"
)

// Text is text that is null where it is empty.
type Text string

// MarshalJSON writes null for no text.
func (t Text) MarshalJSON() ([]byte, error) {
	if t == "" {
		return []byte("null"), nil
	}
	return json.Marshal(string(t))
}

// UnmarshalJSON reads null as no text; without it a null would leave the default in place.
func (t *Text) UnmarshalJSON(text []byte) error {
	*t = ""
	return json.Unmarshal(text, (*string)(t))
}

// Weights are shares by name.
type Weights map[string]int

// UnmarshalJSON replaces what is there; without it a stored name would be added to the default ones.
func (w *Weights) UnmarshalJSON(text []byte) error {
	*w = nil
	return json.Unmarshal(text, (*map[string]int)(w))
}

// Settings are the application settings. This struct is the one place that
// names them: the API's answer, its parameters, their documents, what is
// stored and what is allowed all follow from it.
//
//	json:"name"    its name on the wire and in the database
//	doc:"…"        one line for readers
//	enum:"a,b"     the values that are taken, of each item in a list
//	min, max       bounds of a number (from 0), greatest length of a text (255)
//	is:"…"         a form of text: regexp, url or prefix
//	split:"comma"  a list may come as one string
//	needs:"a,b"    settings to be given as well when it is switched on
type Settings struct {
	// Sign-up and accounts.
	SignupEnabled                       bool     `json:"signup_enabled" doc:"People may register themselves"`
	RequireAdminApprovalAfterUserSignup bool     `json:"require_admin_approval_after_user_signup" doc:"Accounts that people register wait for an administrator's approval. Where mail is set up, the ten administrators seen last are told, at most every five minutes"`
	EmailConfirmationSetting            string   `json:"email_confirmation_setting" enum:"off,soft,hard" doc:"Whether a new address must be confirmed before its owner signs in"`
	DomainAllowlist                     []string `json:"domain_allowlist" split:"comma" doc:"Only addresses of these domains may sign up; wildcards are allowed"`
	DomainDenylistEnabled               bool     `json:"domain_denylist_enabled" doc:"Refuse sign-up to the domains of the denylist"`
	DomainDenylist                      []string `json:"domain_denylist" split:"comma" doc:"Addresses of these domains may not sign up; wildcards are allowed"`
	EmailRestrictionsEnabled            bool     `json:"email_restrictions_enabled" doc:"Refuse sign-up to addresses that match the restriction"`
	EmailRestrictions                   Text     `json:"email_restrictions" max:"1000" is:"regexp" doc:"Regular expression of addresses that may not sign up"`
	DefaultProjectsLimit                int      `json:"default_projects_limit" doc:"Personal projects that a new account may have"`
	CanCreateGroup                      bool     `json:"can_create_group" doc:"New accounts may create top-level groups"`
	UserDefaultExternal                 bool     `json:"user_default_external" doc:"New accounts are external"`
	UserDefaultInternalRegex            Text     `json:"user_default_internal_regex" max:"1000" is:"regexp" doc:"Regular expression of addresses whose accounts are not external by default"`
	UserDefaultsToPrivateProfile        bool     `json:"user_defaults_to_private_profile" doc:"New accounts have a private profile"`
	AllowAccountDeletion                bool     `json:"allow_account_deletion" doc:"People may delete their own accounts"`
	UpdatingNameDisabledForUsers        bool     `json:"updating_name_disabled_for_users" doc:"People may not change their own names"`
	DeactivateDormantUsers              bool     `json:"deactivate_dormant_users" doc:"Deactivate accounts that nobody uses"`
	DeactivateDormantUsersPeriod        int      `json:"deactivate_dormant_users_period" min:"90" doc:"Days without activity after which an account is dormant"`
	UserDeactivationEmailsEnabled       bool     `json:"user_deactivation_emails_enabled" doc:"Tell people by mail when their accounts are deactivated"`
	DeleteUnconfirmedUsers              bool     `json:"delete_unconfirmed_users" doc:"Delete accounts whose address was not confirmed in time"`
	UnconfirmedUsersDeleteAfterDays     int      `json:"unconfirmed_users_delete_after_days" min:"1" doc:"Days in which an address must be confirmed"`
	GravatarEnabled                     bool     `json:"gravatar_enabled" doc:"Show avatars from an outside service"`
	CommitEmailHostname                 Text     `json:"commit_email_hostname" doc:"Host of private commit addresses; null follows the external URL"`
	UserShowAddSSHKeyMessage            bool     `json:"user_show_add_ssh_key_message" doc:"Remind people without an SSH key to add one"`
	AbuseNotificationEmail              Text     `json:"abuse_notification_email" doc:"Address that abuse reports are sent to"`
	EnforceTerms                        bool     `json:"enforce_terms" needs:"terms" doc:"People must accept the terms of service; needs terms"`
	Terms                               Text     `json:"terms" max:"65535" bytes:"262144" doc:"Terms of service, in Markdown"`

	// Signing in, and the tokens that stand for it.
	PasswordAuthenticationEnabledForWeb      bool     `json:"password_authentication_enabled_for_web" doc:"People may sign in to the pages with a password"`
	PasswordAuthenticationEnabledForGit      bool     `json:"password_authentication_enabled_for_git" doc:"Passwords are accepted for Git over HTTP"`
	MinimumPasswordLength                    int      `json:"minimum_password_length" min:"8" max:"128" doc:"Characters that a password must have"`
	PasswordNumberRequired                   bool     `json:"password_number_required" doc:"Passwords must hold a digit"`
	PasswordSymbolRequired                   bool     `json:"password_symbol_required" doc:"Passwords must hold a symbol"`
	PasswordUppercaseRequired                bool     `json:"password_uppercase_required" doc:"Passwords must hold an upper-case letter"`
	PasswordLowercaseRequired                bool     `json:"password_lowercase_required" doc:"Passwords must hold a lower-case letter"`
	RequireTwoFactorAuthentication           bool     `json:"require_two_factor_authentication" needs:"two_factor_grace_period" doc:"Everybody must use a second factor; needs two_factor_grace_period"`
	RequireAdminTwoFactorAuthentication      bool     `json:"require_admin_two_factor_authentication" doc:"Administrators must use a second factor"`
	TwoFactorGracePeriod                     int      `json:"two_factor_grace_period" doc:"Hours in which the second factor may still be left out"`
	MaxLoginAttempts                         *int     `json:"max_login_attempts" min:"1" doc:"Failed sign-ins that lock an account"`
	FailedLoginAttemptsUnlockPeriodInMinutes *int     `json:"failed_login_attempts_unlock_period_in_minutes" min:"1" doc:"Minutes after which a locked account opens again"`
	RememberMeEnabled                        bool     `json:"remember_me_enabled" doc:"Sessions may outlive the browser"`
	SessionExpireDelay                       int      `json:"session_expire_delay" doc:"Minutes that a session lives"`
	NotifyOnUnknownSignIn                    bool     `json:"notify_on_unknown_sign_in" doc:"Tell people by mail of a sign-in from a new address"`
	UniqueIPsLimitEnabled                    bool     `json:"unique_ips_limit_enabled" needs:"unique_ips_limit_per_user,unique_ips_limit_time_window" doc:"Limit the addresses that one account is used from; needs both values below"`
	UniqueIPsLimitPerUser                    int      `json:"unique_ips_limit_per_user" doc:"Addresses that one account may be used from in the time window"`
	UniqueIPsLimitTimeWindow                 int      `json:"unique_ips_limit_time_window" doc:"Seconds for which an address counts"`
	AdminMode                                bool     `json:"admin_mode" doc:"Administrators must ask for their powers; tokens need the scope admin_mode"`
	DisabledOAuthSignInSources               []string `json:"disabled_oauth_sign_in_sources" split:"comma" doc:"Providers that nobody may sign in with"`
	UserOAuthApplications                    bool     `json:"user_oauth_applications" doc:"People may register OAuth applications"`
	DisableAdminOAuthScopes                  bool     `json:"disable_admin_oauth_scopes" doc:"Keep administrators from applications that are not trusted"`
	DisableFeedToken                         bool     `json:"disable_feed_token" doc:"Do not show feed tokens"`
	DisablePersonalAccessTokens              bool     `json:"disable_personal_access_tokens" doc:"Personal access tokens do not work"`
	PersonalAccessTokenPrefix                string   `json:"personal_access_token_prefix" max:"20" is:"prefix" doc:"What personal access tokens begin with"`
	MaxPersonalAccessTokenLifetime           *int     `json:"max_personal_access_token_lifetime" min:"1" max:"365" doc:"Days that a personal access token may live; null is 365"`
	MaxSSHKeyLifetime                        *int     `json:"max_ssh_key_lifetime" min:"1" doc:"Days that an SSH key may be used; null is for ever"`
	RSAKeyRestriction                        int      `json:"rsa_key_restriction" min:"-1" doc:"Bits that an RSA key must have; -1 refuses all"`
	DSAKeyRestriction                        int      `json:"dsa_key_restriction" min:"-1" doc:"Bits that a DSA key must have; -1 refuses all"`
	ECDSAKeyRestriction                      int      `json:"ecdsa_key_restriction" min:"-1" doc:"Bits that an ECDSA key must have; -1 refuses all"`
	ECDSASKKeyRestriction                    int      `json:"ecdsa_sk_key_restriction" min:"-1" doc:"Bits that an ECDSA_SK key must have; -1 refuses all"`
	ED25519KeyRestriction                    int      `json:"ed25519_key_restriction" min:"-1" doc:"Bits that an ED25519 key must have; -1 refuses all"`
	ED25519SKKeyRestriction                  int      `json:"ed25519_sk_key_restriction" min:"-1" doc:"Bits that an ED25519_SK key must have; -1 refuses all"`

	// Pages and mail.
	SignInText                     Text   `json:"sign_in_text" max:"65535" doc:"Text on the sign-in page"`
	AfterSignUpText                Text   `json:"after_sign_up_text" max:"65535" doc:"Text after sign-up"`
	AfterSignOutPath               Text   `json:"after_sign_out_path" doc:"Where people are sent after they sign out"`
	HomePageURL                    Text   `json:"home_page_url" is:"url" doc:"Where visitors who are not signed in are sent"`
	HelpPageText                   Text   `json:"help_page_text" max:"65535" doc:"Text on the help page"`
	HelpPageSupportURL             Text   `json:"help_page_support_url" is:"url" doc:"Link to support"`
	HelpPageDocumentationBaseURL   Text   `json:"help_page_documentation_base_url" is:"url" doc:"Where the documentation is"`
	HelpPageHideCommercialContent  bool   `json:"help_page_hide_commercial_content" doc:"Leave commercial entries out of the help page"`
	HideThirdPartyOffers           bool   `json:"hide_third_party_offers" doc:"Leave offers of third parties out of the pages"`
	SecurityTXTContent             Text   `json:"security_txt_content" max:"2048" doc:"Contact for security reports, served as security.txt"`
	DefaultPreferredLanguage       string `json:"default_preferred_language" max:"32" doc:"Language of pages for people who have not chosen one"`
	DefaultSyntaxHighlightingTheme int    `json:"default_syntax_highlighting_theme" min:"1" doc:"Highlighting theme for people who have not chosen one"`
	FirstDayOfWeek                 int    `json:"first_day_of_week" enum:"0,1,6" doc:"First day of the week in calendars: 0 Sunday, 1 Monday, 6 Saturday"`
	TimeTrackingLimitToHours       bool   `json:"time_tracking_limit_to_hours" doc:"Show time spent in hours at the most"`
	LocalMarkdownVersion           int    `json:"local_markdown_version" doc:"Raise it to render stored Markdown anew"`
	MathRenderingLimitsEnabled     bool   `json:"math_rendering_limits_enabled" doc:"Bound the work of rendering formulas"`
	EmailAuthorInBody              bool   `json:"email_author_in_body" doc:"Name the author in the text of a mail"`
	HTMLEmailsEnabled              bool   `json:"html_emails_enabled" doc:"Send mails as HTML beside plain text"`
	EmailAdditionalText            Text   `json:"email_additional_text" max:"10000" doc:"Text at the end of every mail"`
	MaintenanceMode                bool   `json:"maintenance_mode" doc:"Only administrators may change anything"`
	MaintenanceModeMessage         Text   `json:"maintenance_mode_message" doc:"What people read in maintenance mode"`
	SilentModeEnabled              bool   `json:"silent_mode_enabled" doc:"Send nothing to the outside"`

	// Projects, groups and their repositories.
	DefaultProjectVisibility                    string   `json:"default_project_visibility" enum:"private,internal,public" doc:"Visibility of new projects"`
	DefaultGroupVisibility                      string   `json:"default_group_visibility" enum:"private,internal,public" doc:"Visibility of new groups"`
	DefaultSnippetVisibility                    string   `json:"default_snippet_visibility" enum:"private,internal,public" doc:"Visibility of new snippets"`
	RestrictedVisibilityLevels                  []string `json:"restricted_visibility_levels" enum:"private,internal,public" split:"comma" doc:"Visibilities that only administrators may use; public also hides profiles from visitors"`
	DefaultBranchName                           Text     `json:"default_branch_name" doc:"Name of the first branch of a new repository"`
	DefaultBranchProtection                     int      `json:"default_branch_protection" max:"4" doc:"Who may push to a default branch: from 0, nobody is kept out, to 4"`
	DefaultProjectCreation                      int      `json:"default_project_creation" max:"2" doc:"Who may create projects in a group: 0 nobody, 1 maintainers, 2 developers too"`
	GroupOwnersCanManageDefaultBranchProtection bool     `json:"group_owners_can_manage_default_branch_protection" doc:"Owners of groups may change the protection of default branches"`
	EnabledGitAccessProtocol                    Text     `json:"enabled_git_access_protocol" enum:"ssh,http,all" doc:"Protocol that Git may use; null or all is every one"`
	CustomHTTPCloneURLRoot                      Text     `json:"custom_http_clone_url_root" is:"url" doc:"Address that shown clone URLs begin with"`
	RepositoryStoragesWeighted                  Weights  `json:"repository_storages_weighted" max:"100" doc:"Share of new repositories that each storage takes, 0 to 100"`
	RepositoryChecksEnabled                     bool     `json:"repository_checks_enabled" doc:"Check repositories for damage regularly"`
	RepositorySizeLimit                         int      `json:"repository_size_limit" doc:"Megabytes that a repository may take; 0 is unlimited"`
	ReceiveMaxInputSize                         *int     `json:"receive_max_input_size" min:"1" doc:"Megabytes that a push may have; null is unlimited"`
	HousekeepingEnabled                         bool     `json:"housekeeping_enabled" doc:"Keep repositories packed"`
	HousekeepingOptimizeRepositoryPeriod        int      `json:"housekeeping_optimize_repository_period" min:"1" doc:"Pushes after which a repository is packed"`
	MirrorAvailable                             bool     `json:"mirror_available" doc:"People may set up mirrors of repositories"`
	DiffMaxPatchBytes                           int      `json:"diff_max_patch_bytes" doc:"Bytes of a file's diff that are shown"`
	DiffMaxFiles                                int      `json:"diff_max_files" doc:"Files of a diff that are shown"`
	DiffMaxLines                                int      `json:"diff_max_lines" doc:"Lines of a diff that are shown"`
	MaxAttachmentSize                           int      `json:"max_attachment_size" min:"1" doc:"Megabytes of an upload"`
	SnippetSizeLimit                            int      `json:"snippet_size_limit" doc:"Bytes of a snippet"`
	WikiPageMaxContentBytes                     int      `json:"wiki_page_max_content_bytes" min:"1024" doc:"Bytes of a wiki page"`
	PushEventActivitiesLimit                    int      `json:"push_event_activities_limit" doc:"Refs in one push beyond which it is shown as one event"`
	PushEventHooksLimit                         int      `json:"push_event_hooks_limit" doc:"Refs in one push beyond which webhooks are not called"`
	DeletionAdjournedPeriod                     int      `json:"deletion_adjourned_period" min:"1" max:"90" doc:"Days between marking for deletion and deletion"`
	DeleteInactiveProjects                      bool     `json:"delete_inactive_projects" doc:"Delete projects that nobody uses"`
	InactiveProjectsDeleteAfterMonths           int      `json:"inactive_projects_delete_after_months" doc:"Months without activity after which a project is deleted"`
	InactiveProjectsMinSizeMB                   int      `json:"inactive_projects_min_size_mb" doc:"Megabytes below which an inactive project is kept"`
	InactiveProjectsSendWarningEmailAfterMonths int      `json:"inactive_projects_send_warning_email_after_months" doc:"Months without activity after which its maintainers are warned"`
	ImportSources                               []string `json:"import_sources" split:"comma" doc:"Where projects may be imported from"`
	ProjectExportEnabled                        bool     `json:"project_export_enabled" doc:"Projects may be exported"`
	BulkImportEnabled                           bool     `json:"bulk_import_enabled" doc:"Groups and projects may be moved here from another instance"`
	BulkImportMaxDownloadFileSize               int      `json:"bulk_import_max_download_file_size" doc:"Megabytes of one file in such a move"`
	MaxImportSize                               int      `json:"max_import_size" doc:"Megabytes of an import file; 0 is unlimited"`
	MaxImportRemoteFileSize                     int      `json:"max_import_remote_file_size" doc:"Megabytes of an import file fetched from elsewhere"`
	MaxExportSize                               int      `json:"max_export_size" doc:"Megabytes of an export file; 0 is unlimited"`
	MaxDecompressedArchiveSize                  int      `json:"max_decompressed_archive_size" doc:"Megabytes of an archive when unpacked; 0 is unlimited"`
	DecompressArchiveFileTimeout                int      `json:"decompress_archive_file_timeout" doc:"Seconds in which an archive must be unpacked; 0 is unlimited"`
	AllowLocalRequestsFromWebHooksAndServices   bool     `json:"allow_local_requests_from_web_hooks_and_services" doc:"Webhooks and integrations may call the local network"`
	AllowLocalRequestsFromSystemHooks           bool     `json:"allow_local_requests_from_system_hooks" doc:"System hooks may call the local network"`
	OutboundLocalRequestsWhitelist              []string `json:"outbound_local_requests_whitelist" split:"comma" doc:"Local addresses that may be called in any case"`
	DNSRebindingProtectionEnabled               bool     `json:"dns_rebinding_protection_enabled" doc:"Call the address that was checked, not the one a name points to later"`
	PlantUMLEnabled                             bool     `json:"plantuml_enabled" needs:"plantuml_url" doc:"Draw PlantUML diagrams; needs plantuml_url"`
	PlantUMLURL                                 Text     `json:"plantuml_url" is:"url" doc:"PlantUML server"`
	KrokiEnabled                                bool     `json:"kroki_enabled" needs:"kroki_url" doc:"Draw diagrams with Kroki; needs kroki_url"`
	KrokiURL                                    Text     `json:"kroki_url" is:"url" doc:"Kroki server"`
	DiagramsNetEnabled                          bool     `json:"diagramsnet_enabled" needs:"diagramsnet_url" doc:"Edit diagrams with Diagrams.net; needs diagramsnet_url"`
	DiagramsNetURL                              Text     `json:"diagramsnet_url" is:"url" doc:"Diagrams.net server"`

	// CI/CD and Pages.
	SharedRunnersEnabled                 bool     `json:"shared_runners_enabled" needs:"shared_runners_text" doc:"New projects may use the runners of the instance; needs shared_runners_text"`
	SharedRunnersText                    Text     `json:"shared_runners_text" max:"65535" doc:"What people read about these runners"`
	AllowRunnerRegistrationToken         bool     `json:"allow_runner_registration_token" doc:"Runners may be registered with a registration token"`
	ValidRunnerRegistrars                []string `json:"valid_runner_registrars" enum:"project,group" split:"comma" doc:"Who may register runners"`
	RunnerTokenExpirationInterval        *int     `json:"runner_token_expiration_interval" min:"7200" doc:"Seconds that the token of an instance runner lives; null is for ever"`
	GroupRunnerTokenExpirationInterval   *int     `json:"group_runner_token_expiration_interval" min:"7200" doc:"Seconds that the token of a group runner lives; null is for ever"`
	ProjectRunnerTokenExpirationInterval *int     `json:"project_runner_token_expiration_interval" min:"7200" doc:"Seconds that the token of a project runner lives; null is for ever"`
	CIInstanceLevelVariables             int      `json:"ci_instance_level_variables" doc:"CI/CD variables that the instance may have; 0 is unlimited"`
	ProtectedCIVariables                 bool     `json:"protected_ci_variables" doc:"New CI/CD variables are protected unless said otherwise in the pages"`
	DefaultCIConfigPath                  Text     `json:"default_ci_config_path" doc:"Where new projects keep their pipeline"`
	CIMaxIncludes                        int      `json:"ci_max_includes" doc:"Files that a pipeline may include"`
	MaxYAMLSizeBytes                     int      `json:"max_yaml_size_bytes" min:"1" doc:"Bytes of a pipeline file"`
	MaxYAMLDepth                         int      `json:"max_yaml_depth" min:"1" doc:"Nesting of a pipeline file"`
	CIJobLiveTraceEnabled                bool     `json:"ci_job_live_trace_enabled" doc:"Keep the log of a running job outside the database"`
	MaxArtifactsSize                     int      `json:"max_artifacts_size" min:"1" doc:"Megabytes of a job's artifacts"`
	DefaultArtifactsExpireIn             string   `json:"default_artifacts_expire_in" doc:"How long artifacts are kept unless a job says otherwise"`
	KeepLatestArtifact                   bool     `json:"keep_latest_artifact" doc:"Keep the artifacts of the latest pipeline of each ref"`
	ArchiveBuildsInHumanReadable         Text     `json:"archive_builds_in_human_readable" doc:"Age from which jobs cannot be run again, for example 1 month; null is never"`
	MaxTerraformStateSizeBytes           int      `json:"max_terraform_state_size_bytes" doc:"Bytes of a Terraform state; 0 is unlimited"`
	ContainerRegistryTokenExpireDelay    int      `json:"container_registry_token_expire_delay" min:"1" doc:"Minutes that a token for the container registry lives"`
	PagesDomainVerificationEnabled       bool     `json:"pages_domain_verification_enabled" doc:"Owners of Pages domains must prove that these are theirs"`
	MaxPagesSize                         int      `json:"max_pages_size" doc:"Megabytes of a Pages site; 0 is unlimited"`
	MaxPagesCustomDomainsPerProject      int      `json:"max_pages_custom_domains_per_project" doc:"Pages domains that a project may have; 0 is unlimited"`
	PrometheusMetricsEnabled             bool     `json:"prometheus_metrics_enabled" doc:"Serve metrics"`
	TerminalMaxSessionTime               int      `json:"terminal_max_session_time" doc:"Seconds that a terminal may stay open; 0 is unlimited"`

	// Limits on all lists, and rates of single endpoints; 0 switches a limit off.
	OffsetPaginationLimit               int      `json:"offset_pagination_limit" doc:"Deepest item of a list that paging by offset reaches"`
	RateLimitingResponseText            Text     `json:"rate_limiting_response_text" max:"1000" doc:"What throttled clients read in place of Retry later"`
	UsersGetByIDLimit                   int      `json:"users_get_by_id_limit" doc:"Reads of single accounts in ten minutes, for each person who does not administer"`
	UsersGetByIDLimitAllowlist          []string `json:"users_get_by_id_limit_allowlist" split:"comma" doc:"Usernames that this limit does not apply to"`
	SearchRateLimit                     int      `json:"search_rate_limit" doc:"Searches in a minute, for each person"`
	SearchRateLimitUnauthenticated      int      `json:"search_rate_limit_unauthenticated" doc:"Searches in a minute, for each address"`
	RawBlobRequestLimit                 int      `json:"raw_blob_request_limit" doc:"Raw reads of one file in a minute"`
	IssuesCreateLimit                   int      `json:"issues_create_limit" doc:"New issues in a minute, for each person"`
	NotesCreateLimit                    int      `json:"notes_create_limit" doc:"New comments in a minute, for each person"`
	NotesCreateLimitAllowlist           []string `json:"notes_create_limit_allowlist" split:"comma" doc:"Usernames that this limit does not apply to"`
	MembersDeleteLimit                  int      `json:"members_delete_limit" doc:"Removals of members in a minute, for each person and group or project"`
	PipelineLimitPerProjectUserSHA      int      `json:"pipeline_limit_per_project_user_sha" doc:"New pipelines in a minute, for each project, person and commit"`
	ProjectJobsAPIRateLimit             int      `json:"project_jobs_api_rate_limit" doc:"Lists of jobs in a minute, for each person"`
	ProjectsAPIRateLimitUnauthenticated int      `json:"projects_api_rate_limit_unauthenticated" doc:"Lists of projects in ten minutes, for each address"`
	ProjectExportLimit                  int      `json:"project_export_limit" doc:"Project exports in a minute, for each person"`
	ProjectDownloadExportLimit          int      `json:"project_download_export_limit" doc:"Downloads of an export in a minute, for each person and project"`
	ProjectImportLimit                  int      `json:"project_import_limit" doc:"Project imports in a minute, for each person"`
	GroupExportLimit                    int      `json:"group_export_limit" doc:"Group exports in a minute, for each person"`
	GroupDownloadExportLimit            int      `json:"group_download_export_limit" doc:"Downloads of an export in a minute, for each person and group"`
	GroupImportLimit                    int      `json:"group_import_limit" doc:"Group imports in a minute, for each person"`

	// Throttles of whole kinds of traffic.
	ThrottleUnauthenticatedAPIEnabled                     bool     `json:"throttle_unauthenticated_api_enabled" needs:"throttle_unauthenticated_api_requests_per_period,throttle_unauthenticated_api_period_in_seconds" doc:"Limit API requests without a person, for each address; needs both values below"`
	ThrottleUnauthenticatedAPIRequestsPerPeriod           int      `json:"throttle_unauthenticated_api_requests_per_period" doc:"Number of API requests without a person, for each address, in a period"`
	ThrottleUnauthenticatedAPIPeriodInSeconds             int      `json:"throttle_unauthenticated_api_period_in_seconds" min:"1" doc:"Seconds of a period"`
	ThrottleAuthenticatedAPIEnabled                       bool     `json:"throttle_authenticated_api_enabled" needs:"throttle_authenticated_api_requests_per_period,throttle_authenticated_api_period_in_seconds" doc:"Limit API requests, for each person; needs both values below"`
	ThrottleAuthenticatedAPIRequestsPerPeriod             int      `json:"throttle_authenticated_api_requests_per_period" doc:"Number of API requests, for each person, in a period"`
	ThrottleAuthenticatedAPIPeriodInSeconds               int      `json:"throttle_authenticated_api_period_in_seconds" min:"1" doc:"Seconds of a period"`
	ThrottleUnauthenticatedWebEnabled                     bool     `json:"throttle_unauthenticated_web_enabled" needs:"throttle_unauthenticated_web_requests_per_period,throttle_unauthenticated_web_period_in_seconds" doc:"Limit page requests without a person, for each address; needs both values below"`
	ThrottleUnauthenticatedWebRequestsPerPeriod           int      `json:"throttle_unauthenticated_web_requests_per_period" doc:"Number of page requests without a person, for each address, in a period"`
	ThrottleUnauthenticatedWebPeriodInSeconds             int      `json:"throttle_unauthenticated_web_period_in_seconds" min:"1" doc:"Seconds of a period"`
	ThrottleAuthenticatedWebEnabled                       bool     `json:"throttle_authenticated_web_enabled" needs:"throttle_authenticated_web_requests_per_period,throttle_authenticated_web_period_in_seconds" doc:"Limit page requests, for each person; needs both values below"`
	ThrottleAuthenticatedWebRequestsPerPeriod             int      `json:"throttle_authenticated_web_requests_per_period" doc:"Number of page requests, for each person, in a period"`
	ThrottleAuthenticatedWebPeriodInSeconds               int      `json:"throttle_authenticated_web_period_in_seconds" min:"1" doc:"Seconds of a period"`
	ThrottleUnauthenticatedFilesAPIEnabled                bool     `json:"throttle_unauthenticated_files_api_enabled" needs:"throttle_unauthenticated_files_api_requests_per_period,throttle_unauthenticated_files_api_period_in_seconds" doc:"Limit reads of repository files without a person, for each address; needs both values below"`
	ThrottleUnauthenticatedFilesAPIRequestsPerPeriod      int      `json:"throttle_unauthenticated_files_api_requests_per_period" doc:"Number of reads of repository files without a person, for each address, in a period"`
	ThrottleUnauthenticatedFilesAPIPeriodInSeconds        int      `json:"throttle_unauthenticated_files_api_period_in_seconds" min:"1" doc:"Seconds of a period"`
	ThrottleAuthenticatedFilesAPIEnabled                  bool     `json:"throttle_authenticated_files_api_enabled" needs:"throttle_authenticated_files_api_requests_per_period,throttle_authenticated_files_api_period_in_seconds" doc:"Limit reads of repository files, for each person; needs both values below"`
	ThrottleAuthenticatedFilesAPIRequestsPerPeriod        int      `json:"throttle_authenticated_files_api_requests_per_period" doc:"Number of reads of repository files, for each person, in a period"`
	ThrottleAuthenticatedFilesAPIPeriodInSeconds          int      `json:"throttle_authenticated_files_api_period_in_seconds" min:"1" doc:"Seconds of a period"`
	ThrottleUnauthenticatedPackagesAPIEnabled             bool     `json:"throttle_unauthenticated_packages_api_enabled" needs:"throttle_unauthenticated_packages_api_requests_per_period,throttle_unauthenticated_packages_api_period_in_seconds" doc:"Limit package requests without a person, for each address; needs both values below"`
	ThrottleUnauthenticatedPackagesAPIRequestsPerPeriod   int      `json:"throttle_unauthenticated_packages_api_requests_per_period" doc:"Number of package requests without a person, for each address, in a period"`
	ThrottleUnauthenticatedPackagesAPIPeriodInSeconds     int      `json:"throttle_unauthenticated_packages_api_period_in_seconds" min:"1" doc:"Seconds of a period"`
	ThrottleAuthenticatedPackagesAPIEnabled               bool     `json:"throttle_authenticated_packages_api_enabled" needs:"throttle_authenticated_packages_api_requests_per_period,throttle_authenticated_packages_api_period_in_seconds" doc:"Limit package requests, for each person; needs both values below"`
	ThrottleAuthenticatedPackagesAPIRequestsPerPeriod     int      `json:"throttle_authenticated_packages_api_requests_per_period" doc:"Number of package requests, for each person, in a period"`
	ThrottleAuthenticatedPackagesAPIPeriodInSeconds       int      `json:"throttle_authenticated_packages_api_period_in_seconds" min:"1" doc:"Seconds of a period"`
	ThrottleUnauthenticatedDeprecatedAPIEnabled           bool     `json:"throttle_unauthenticated_deprecated_api_enabled" needs:"throttle_unauthenticated_deprecated_api_requests_per_period,throttle_unauthenticated_deprecated_api_period_in_seconds" doc:"Limit deprecated API requests without a person, for each address; needs both values below"`
	ThrottleUnauthenticatedDeprecatedAPIRequestsPerPeriod int      `json:"throttle_unauthenticated_deprecated_api_requests_per_period" doc:"Number of deprecated API requests without a person, for each address, in a period"`
	ThrottleUnauthenticatedDeprecatedAPIPeriodInSeconds   int      `json:"throttle_unauthenticated_deprecated_api_period_in_seconds" min:"1" doc:"Seconds of a period"`
	ThrottleAuthenticatedDeprecatedAPIEnabled             bool     `json:"throttle_authenticated_deprecated_api_enabled" needs:"throttle_authenticated_deprecated_api_requests_per_period,throttle_authenticated_deprecated_api_period_in_seconds" doc:"Limit deprecated API requests, for each person; needs both values below"`
	ThrottleAuthenticatedDeprecatedAPIRequestsPerPeriod   int      `json:"throttle_authenticated_deprecated_api_requests_per_period" doc:"Number of deprecated API requests, for each person, in a period"`
	ThrottleAuthenticatedDeprecatedAPIPeriodInSeconds     int      `json:"throttle_authenticated_deprecated_api_period_in_seconds" min:"1" doc:"Seconds of a period"`
	ThrottleAuthenticatedGitLFSEnabled                    bool     `json:"throttle_authenticated_git_lfs_enabled" needs:"throttle_authenticated_git_lfs_requests_per_period,throttle_authenticated_git_lfs_period_in_seconds" doc:"Limit Git LFS requests, for each person; needs both values below"`
	ThrottleAuthenticatedGitLFSRequestsPerPeriod          int      `json:"throttle_authenticated_git_lfs_requests_per_period" doc:"Number of Git LFS requests, for each person, in a period"`
	ThrottleAuthenticatedGitLFSPeriodInSeconds            int      `json:"throttle_authenticated_git_lfs_period_in_seconds" min:"1" doc:"Seconds of a period"`
	ThrottleProtectedPathsEnabled                         bool     `json:"throttle_protected_paths_enabled" needs:"throttle_protected_paths_requests_per_period,throttle_protected_paths_period_in_seconds" doc:"Limit posts to protected paths; needs both values below"`
	ThrottleProtectedPathsRequestsPerPeriod               int      `json:"throttle_protected_paths_requests_per_period" doc:"Number of posts to protected paths, in a period"`
	ThrottleProtectedPathsPeriodInSeconds                 int      `json:"throttle_protected_paths_period_in_seconds" min:"1" doc:"Seconds of a period"`
	ProtectedPaths                                        []string `json:"protected_paths" split:"comma" doc:"Paths that the throttle of protected paths watches"`
	ThrottleIncidentManagementNotificationEnabled         bool     `json:"throttle_incident_management_notification_enabled" needs:"throttle_incident_management_notification_per_period,throttle_incident_management_notification_period_in_seconds" doc:"Limit alert notifications; needs both values below"`
	ThrottleIncidentManagementNotificationPerPeriod       int      `json:"throttle_incident_management_notification_per_period" doc:"Number of alert notifications of a project, in a period"`
	ThrottleIncidentManagementNotificationPeriodInSeconds int      `json:"throttle_incident_management_notification_period_in_seconds" min:"1" doc:"Seconds of a period"`
}

// Defaults are the settings of an instance where nobody has changed any.
func Defaults(names wire.Names) *Settings {
	return &Settings{
		SignupEnabled:                       true,
		RequireAdminApprovalAfterUserSignup: true,
		EmailConfirmationSetting:            "off",
		DomainAllowlist:                     []string{},
		DomainDenylist:                      []string{},
		DefaultProjectsLimit:                100_000,
		CanCreateGroup:                      true,
		AllowAccountDeletion:                true,
		DeactivateDormantUsersPeriod:        90,
		UserDeactivationEmailsEnabled:       true,
		UnconfirmedUsersDeleteAfterDays:     7,
		GravatarEnabled:                     true,
		UserShowAddSSHKeyMessage:            true,

		PasswordAuthenticationEnabledForWeb: true,
		PasswordAuthenticationEnabledForGit: true,
		MinimumPasswordLength:               8,
		TwoFactorGracePeriod:                48,
		RememberMeEnabled:                   true,
		SessionExpireDelay:                  10_080,
		NotifyOnUnknownSignIn:               true,
		UniqueIPsLimitPerUser:               10,
		UniqueIPsLimitTimeWindow:            3600,
		DisabledOAuthSignInSources:          []string{},
		UserOAuthApplications:               true,
		PersonalAccessTokenPrefix:           names.TokenPrefix(wire.PersonalToken),

		DefaultPreferredLanguage:       "en",
		DefaultSyntaxHighlightingTheme: 1,
		MathRenderingLimitsEnabled:     true,
		HTMLEmailsEnabled:              true,

		DefaultProjectVisibility:                    "private",
		DefaultGroupVisibility:                      "private",
		DefaultSnippetVisibility:                    "private",
		RestrictedVisibilityLevels:                  []string{},
		DefaultBranchProtection:                     2,
		DefaultProjectCreation:                      2,
		GroupOwnersCanManageDefaultBranchProtection: true,
		RepositoryStoragesWeighted:                  Weights{"default": 100},
		RepositoryChecksEnabled:                     true,
		HousekeepingEnabled:                         true,
		HousekeepingOptimizeRepositoryPeriod:        10,
		MirrorAvailable:                             true,
		DiffMaxPatchBytes:                           204_800,
		DiffMaxFiles:                                1000,
		DiffMaxLines:                                50_000,
		MaxAttachmentSize:                           100,
		SnippetSizeLimit:                            52_428_800,
		WikiPageMaxContentBytes:                     5_242_880,
		PushEventActivitiesLimit:                    3,
		PushEventHooksLimit:                         3,
		DeletionAdjournedPeriod:                     7,
		InactiveProjectsDeleteAfterMonths:           2,
		InactiveProjectsSendWarningEmailAfterMonths: 1,
		ImportSources:                               []string{"git"},
		ProjectExportEnabled:                        true,
		BulkImportMaxDownloadFileSize:               5120,
		MaxImportRemoteFileSize:                     10_240,
		MaxDecompressedArchiveSize:                  25_600,
		DecompressArchiveFileTimeout:                210,
		AllowLocalRequestsFromSystemHooks:           true,
		OutboundLocalRequestsWhitelist:              []string{},
		DNSRebindingProtectionEnabled:               true,
		DiagramsNetEnabled:                          true,
		DiagramsNetURL:                              "https://embed.diagrams.net",

		SharedRunnersEnabled:              true,
		AllowRunnerRegistrationToken:      true,
		ValidRunnerRegistrars:             []string{"project", "group"},
		CIInstanceLevelVariables:          25,
		ProtectedCIVariables:              true,
		CIMaxIncludes:                     150,
		MaxYAMLSizeBytes:                  2_097_152,
		MaxYAMLDepth:                      100,
		MaxArtifactsSize:                  100,
		DefaultArtifactsExpireIn:          "30 days",
		KeepLatestArtifact:                true,
		ContainerRegistryTokenExpireDelay: 5,
		PagesDomainVerificationEnabled:    true,
		MaxPagesSize:                      100,
		PrometheusMetricsEnabled:          true,

		OffsetPaginationLimit:               50_000,
		UsersGetByIDLimit:                   300,
		UsersGetByIDLimitAllowlist:          []string{},
		SearchRateLimit:                     30,
		SearchRateLimitUnauthenticated:      10,
		RawBlobRequestLimit:                 300,
		IssuesCreateLimit:                   300,
		NotesCreateLimit:                    300,
		NotesCreateLimitAllowlist:           []string{},
		MembersDeleteLimit:                  60,
		ProjectJobsAPIRateLimit:             600,
		ProjectsAPIRateLimitUnauthenticated: 400,
		ProjectExportLimit:                  6,
		ProjectDownloadExportLimit:          1,
		ProjectImportLimit:                  6,
		GroupExportLimit:                    6,
		GroupDownloadExportLimit:            1,
		GroupImportLimit:                    6,

		ThrottleUnauthenticatedAPIRequestsPerPeriod:           3600,
		ThrottleUnauthenticatedAPIPeriodInSeconds:             3600,
		ThrottleAuthenticatedAPIRequestsPerPeriod:             7200,
		ThrottleAuthenticatedAPIPeriodInSeconds:               3600,
		ThrottleUnauthenticatedWebRequestsPerPeriod:           3600,
		ThrottleUnauthenticatedWebPeriodInSeconds:             3600,
		ThrottleAuthenticatedWebRequestsPerPeriod:             7200,
		ThrottleAuthenticatedWebPeriodInSeconds:               3600,
		ThrottleUnauthenticatedFilesAPIRequestsPerPeriod:      125,
		ThrottleUnauthenticatedFilesAPIPeriodInSeconds:        15,
		ThrottleAuthenticatedFilesAPIRequestsPerPeriod:        500,
		ThrottleAuthenticatedFilesAPIPeriodInSeconds:          15,
		ThrottleUnauthenticatedPackagesAPIRequestsPerPeriod:   800,
		ThrottleUnauthenticatedPackagesAPIPeriodInSeconds:     15,
		ThrottleAuthenticatedPackagesAPIRequestsPerPeriod:     1000,
		ThrottleAuthenticatedPackagesAPIPeriodInSeconds:       15,
		ThrottleUnauthenticatedDeprecatedAPIRequestsPerPeriod: 1800,
		ThrottleUnauthenticatedDeprecatedAPIPeriodInSeconds:   3600,
		ThrottleAuthenticatedDeprecatedAPIRequestsPerPeriod:   3600,
		ThrottleAuthenticatedDeprecatedAPIPeriodInSeconds:     3600,
		ThrottleAuthenticatedGitLFSRequestsPerPeriod:          1000,
		ThrottleAuthenticatedGitLFSPeriodInSeconds:            60,
		ThrottleProtectedPathsRequestsPerPeriod:               10,
		ThrottleProtectedPathsPeriodInSeconds:                 60,
		ProtectedPaths:                                        []string{"/users/password", "/users/sign_in", "/api/v4/session.json", "/api/v4/session", "/users", "/users/confirmation", "/unsubscribes/", "/admin/session"},
		ThrottleIncidentManagementNotificationPerPeriod:       3600,
		ThrottleIncidentManagementNotificationPeriodInSeconds: 3600,
	}
}
