package access

import (
	"slices"

	"stithy/internal/kit/fault"
)

// Ability is one thing that an actor may do. The zero Ability is held by
// nobody: an open endpoint says Public out loud.
type Ability string

// On the whole instance.
const (
	Anyone       Ability = "public"        // anyone
	BySecret     Ability = "by_secret"     // whoever has the secret that the endpoint asks for by itself
	ReadProfiles Ability = "read_profiles" // look at other people
	SignIn       Ability = "sign_in"       // act as oneself
	Administer   Ability = "administer"    // run the instance
)

// In a group.
const (
	ReadGroup         Ability = "read_group"
	UpdateGroup       Ability = "update_group"
	DeleteGroup       Ability = "delete_group"
	TransferGroup     Ability = "transfer_group"
	ShareGroup        Ability = "share_group"
	CreateSubgroup    Ability = "create_subgroup"
	CreateProject     Ability = "create_project"
	ReadGroupMembers  Ability = "read_group_members"
	AdminGroupMembers Ability = "admin_group_members"
	AskToJoinGroup    Ability = "ask_to_join_group"
	AdminGroupTokens  Ability = "admin_group_tokens"
	AdminGroupDeploys Ability = "admin_group_deploy_tokens"
	LeaveGroup        Ability = "leave_group"

	AdminGroupRunners   Ability = "admin_group_runners"
	AdminGroupVariables Ability = "admin_group_variables"

	ReadGroupLabels  Ability = "read_group_labels"
	AdminGroupLabels Ability = "admin_group_labels"
	SubscribeInGroup Ability = "subscribe_in_group"

	ReadGroupIssues Ability = "read_group_issues"

	ReadGroupBoards  Ability = "read_group_boards"
	AdminGroupBoards Ability = "admin_group_boards"

	ReadGroupMilestones  Ability = "read_group_milestones"
	AdminGroupMilestones Ability = "admin_group_milestones"
	AdminGroupBadges     Ability = "admin_group_badges"

	ReadGroupAudit    Ability = "read_group_audit_events"
	ReadAllGroupAudit Ability = "read_all_group_audit_events"

	ReadGroupWiki        Ability = "read_group_wiki"
	WriteGroupWiki       Ability = "write_group_wiki"
	DeleteGroupWikiPages Ability = "delete_group_wiki_pages"
)

// In a project.
const (
	ReadProject         Ability = "read_project"
	ReadCode            Ability = "read_code"
	UpdateProject       Ability = "update_project"
	ChangeVisibility    Ability = "change_visibility"
	ArchiveProject      Ability = "archive_project"
	TransferProject     Ability = "transfer_project"
	DeleteProject       Ability = "delete_project"
	ForkProject         Ability = "fork_project"
	StarProject         Ability = "star_project"
	ShareProject        Ability = "share_project"
	UnlinkFork          Ability = "unlink_fork"
	ReadProjectMembers  Ability = "read_project_members"
	AdminProjectMembers Ability = "admin_project_members"
	AskToJoinProject    Ability = "ask_to_join_project"
	LeaveProject        Ability = "leave_project"
	AdminProjectTokens  Ability = "admin_project_tokens"
	AdminProjectDeploys Ability = "admin_project_deploy_tokens"
	PushCode            Ability = "push_code"
	UploadFiles         Ability = "upload_files"
	CommentCode         Ability = "comment_code"
	ReadCodeNotes       Ability = "read_code_notes"
	EditCodeNotes       Ability = "edit_code_notes"
	AdminCodeNotes      Ability = "admin_code_notes"
	SetCommitStatus     Ability = "set_commit_status"
	AdminProtection     Ability = "admin_protection"
	AdminDeployKeys     Ability = "admin_deploy_keys"

	AdminProjectRunners   Ability = "admin_project_runners"
	CreateProjectRunner   Ability = "create_project_runner"
	AdminProjectVariables Ability = "admin_project_variables"
	ReadPipelines         Ability = "read_pipelines"
	ReadJobs              Ability = "read_jobs"
	ViewJobs              Ability = "view_jobs"
	DownloadArtifacts     Ability = "download_artifacts"
	DownloadPrivateFiles  Ability = "download_private_artifacts"
	DownloadGuardedFiles  Ability = "download_guarded_artifacts"
	CreatePipeline        Ability = "create_pipeline"
	UpdateJobs            Ability = "update_jobs"
	EraseJobs             Ability = "erase_jobs"
	DeleteArtifacts       Ability = "delete_artifacts"
	DeletePipeline        Ability = "delete_pipeline"
	ReadPipelineVariables Ability = "read_pipeline_variables"
	ReadDebugLogs         Ability = "read_debug_logs"

	ReadAllPipelineVariables Ability = "read_all_pipeline_variables"

	AdminSchedules    Ability = "admin_schedules"
	TakeSchedules     Ability = "take_schedules"
	AdminTriggers     Ability = "admin_triggers"
	UseResourceGroups Ability = "use_resource_groups"

	ReadProjectLabels  Ability = "read_project_labels"
	AdminProjectLabels Ability = "admin_project_labels"
	SubscribeInProject Ability = "subscribe_in_project"

	ReadIssues             Ability = "read_issues"
	ReadConfidentialIssues Ability = "read_confidential_issues"
	CreateIssues           Ability = "create_issues"
	EditIssues             Ability = "edit_issues"
	PlanIssues             Ability = "plan_issues"
	SubscribeToIssues      Ability = "subscribe_to_issues"
	MarkIssues             Ability = "mark_issues"
	DeleteIssues           Ability = "delete_issues"

	ReadNotes         Ability = "read_notes"
	ReadInternalNotes Ability = "read_internal_notes"
	CreateNotes       Ability = "create_notes"
	EditNotes         Ability = "edit_notes"
	AdminNotes        Ability = "admin_notes"
	AwardEmoji        Ability = "award_emoji"

	ReadProjectBoards  Ability = "read_project_boards"
	AdminProjectBoards Ability = "admin_project_boards"

	ReadProjectMilestones  Ability = "read_project_milestones"
	AdminProjectMilestones Ability = "admin_project_milestones"
	AdminProjectBadges     Ability = "admin_project_badges"

	AdminAlertIntegrations Ability = "admin_alert_integrations"
	ReadAlerts             Ability = "read_alerts"
	UpdateAlerts           Ability = "update_alerts"
	AdminErrorTracking     Ability = "admin_error_tracking"
	ReadErrors             Ability = "read_errors"
	UpdateErrors           Ability = "update_errors"

	AdminPages  Ability = "admin_pages"
	RemovePages Ability = "remove_pages"

	ReadProjectAudit    Ability = "read_project_audit_events"
	ReadAllProjectAudit Ability = "read_all_project_audit_events"

	ReadProjectWiki        Ability = "read_project_wiki"
	WriteProjectWiki       Ability = "write_project_wiki"
	DeleteProjectWikiPages Ability = "delete_project_wiki_pages"

	ReadSnippets        Ability = "read_snippets"
	ReadPrivateSnippets Ability = "read_private_snippets"
	ListSnippets        Ability = "list_snippets"
	CreateSnippets      Ability = "create_snippets"
	EditSnippets        Ability = "edit_snippets"
	AdminSnippets       Ability = "admin_snippets"
	ReadSnippetNotes    Ability = "read_snippet_notes"
	CommentSnippets     Ability = "comment_snippets"
	EditSnippetNotes    Ability = "edit_snippet_notes"
	AdminSnippetNotes   Ability = "admin_snippet_notes"
	AwardSnippets       Ability = "award_snippets"
)

// Rank orders people by what they may do on the whole instance.
type Rank uint8

const (
	Anonymous Rank = iota
	Member
	Administrator
)

func (r Rank) String() string { return [...]string{"anonymous", "signed in", "administrator"}[r] }

// Level says what an ability is about.
type Level string

const (
	OnInstance Level = "instance"
	InGroup    Level = "group"
	InProject  Level = "project"
)

// Feature is a part of a project that can be closed, or kept to its members.
type Feature string

const (
	Code      Feature = "repository" // and all that is said about it
	Pipelines Feature = "builds"     // what runs on the code
	Jobs      Feature = "jobs"       // what it runs, and what that leaves: a project may keep it to its members
	Issues    Feature = "issues"
	Planning  Feature = "planning" // what issues and merge requests are sorted by: labels, milestones
	Wiki      Feature = "wiki"
	Snippets  Feature = "snippets"
	Uploads   Feature = "uploads" // files that texts link to; closed to nobody, and frozen with the project
)

// Rule says who holds an ability, and how those who do not are told.
type Rule struct {
	Ability   Ability
	Level     Level
	From      Rank // who may hold it at all
	Role      Role // from which role in the target
	PublicToo bool // those who see the target without a role hold it too
	Read      bool // changes nothing: auditors hold it
	Of        Feature
	Meaning   string
	Refusal   error // for anonymous callers; nil asks them to sign in
}

// Policy is the whole table; docs/api/permissions.md is made from it.
var Policy = []Rule{
	{Ability: Anyone, Level: OnInstance, From: Anonymous, Meaning: "anyone, signed in or not"},
	{Ability: BySecret, Level: OnInstance, From: Anonymous, Meaning: "whoever has the secret that the endpoint asks for: the token of a runner, a job or a trigger"},
	{Ability: ReadProfiles, Level: OnInstance, From: Member, Meaning: "look at other people's profiles",
		Refusal: fault.WithReason(fault.Forbidden, "Not authorized!")},
	{Ability: SignIn, Level: OnInstance, From: Member, Meaning: "act as oneself"},
	{Ability: Administer, Level: OnInstance, From: Administrator, Meaning: "administer the instance"},

	{Ability: ReadGroup, Level: InGroup, Role: MinimalAccess, PublicToo: true, Read: true, Meaning: "see a group"},
	{Ability: ReadGroupMembers, Level: InGroup, From: Member, Role: Guest, PublicToo: true, Read: true, Meaning: "see who is in a group"},
	{Ability: AskToJoinGroup, Level: InGroup, From: Member, PublicToo: true, Meaning: "ask to join a group"},
	{Ability: LeaveGroup, Level: InGroup, From: Member, Role: MinimalAccess, PublicToo: true, Meaning: "withdraw from a group"},
	{Ability: CreateProject, Level: InGroup, From: Member, Role: Developer, Meaning: "create projects in a group; the group may ask for more"},
	{Ability: CreateSubgroup, Level: InGroup, From: Member, Role: Owner, Meaning: "create subgroups; the group may ask for less"},
	{Ability: UpdateGroup, Level: InGroup, From: Member, Role: Owner, Meaning: "change a group"},
	{Ability: DeleteGroup, Level: InGroup, From: Member, Role: Owner, Meaning: "delete a group"},
	{Ability: TransferGroup, Level: InGroup, From: Member, Role: Owner, Meaning: "move a group"},
	{Ability: ShareGroup, Level: InGroup, From: Member, Role: Owner, Meaning: "share a group with another group"},
	{Ability: AdminGroupMembers, Level: InGroup, From: Member, Role: Owner, Meaning: "manage the members of a group"},
	{Ability: AdminGroupTokens, Level: InGroup, From: Member, Role: Owner, Meaning: "manage the access tokens of a group"},
	{Ability: AdminGroupDeploys, Level: InGroup, From: Member, Role: Owner, Meaning: "manage the deploy tokens of a group"},
	{Ability: AdminGroupRunners, Level: InGroup, From: Member, Role: Owner, Meaning: "manage the runners of a group"},
	{Ability: AdminGroupVariables, Level: InGroup, From: Member, Role: Owner, Meaning: "see and change the CI/CD variables of a group"},
	{Ability: ReadGroupLabels, Level: InGroup, From: Member, Role: Guest, PublicToo: true, Read: true, Meaning: "see the labels of a group"},
	{Ability: AdminGroupLabels, Level: InGroup, From: Member, Role: Reporter, Meaning: "manage the labels of a group"},
	{Ability: SubscribeInGroup, Level: InGroup, From: Member, Role: Guest, PublicToo: true, Read: true, Meaning: "subscribe to labels in a group"},
	{Ability: ReadGroupIssues, Level: InGroup, Role: Guest, PublicToo: true, Read: true, Meaning: "list the issues of a group's projects"},
	{Ability: ReadGroupBoards, Level: InGroup, From: Member, Role: Guest, PublicToo: true, Read: true, Meaning: "see the issue boards of a group"},
	{Ability: AdminGroupBoards, Level: InGroup, From: Member, Role: Reporter, Meaning: "manage the issue boards of a group"},
	{Ability: ReadGroupMilestones, Level: InGroup, From: Member, Role: Guest, PublicToo: true, Read: true, Meaning: "see the milestones of a group"},
	{Ability: AdminGroupMilestones, Level: InGroup, From: Member, Role: Reporter, Meaning: "manage the milestones of a group"},
	{Ability: AdminGroupBadges, Level: InGroup, From: Member, Role: Owner, Meaning: "manage the badges of a group"},
	{Ability: ReadGroupAudit, Level: InGroup, From: Member, Role: Developer, Read: true, Meaning: "read the audit events of one's own acts in a group; owners read all"},
	{Ability: ReadAllGroupAudit, Level: InGroup, From: Member, Role: Owner, Read: true, Meaning: "read all audit events of a group"},
	{Ability: ReadGroupWiki, Level: InGroup, Role: Guest, PublicToo: true, Read: true, Meaning: "read the wiki of a group"},
	{Ability: WriteGroupWiki, Level: InGroup, From: Member, Role: Developer, Meaning: "write in the wiki of a group"},
	{Ability: DeleteGroupWikiPages, Level: InGroup, From: Member, Role: Maintainer, Meaning: "delete pages of the wiki of a group"},

	{Ability: ReadProject, Level: InProject, Role: Guest, PublicToo: true, Read: true, Meaning: "see a project"},
	{Ability: ReadCode, Level: InProject, Of: Code, Role: Reporter, PublicToo: true, Read: true, Meaning: "read the code of a project"},
	{Ability: ReadProjectMembers, Level: InProject, From: Member, Role: Guest, PublicToo: true, Read: true, Meaning: "see who is in a project"},
	{Ability: StarProject, Level: InProject, From: Member, Role: Guest, PublicToo: true, Read: true, Meaning: "star a project"},
	{Ability: ForkProject, Level: InProject, Of: Code, From: Member, Role: Reporter, PublicToo: true, Read: true, Meaning: "fork a project"},
	{Ability: AskToJoinProject, Level: InProject, From: Member, PublicToo: true, Read: true, Meaning: "ask to join a project"},
	{Ability: LeaveProject, Level: InProject, From: Member, Role: Guest, PublicToo: true, Read: true, Meaning: "withdraw from a project"},
	{Ability: UploadFiles, Level: InProject, Of: Uploads, From: Member, Role: Guest, PublicToo: true, Meaning: "add files to what is written in a project"},
	{Ability: CommentCode, Level: InProject, Of: Code, From: Member, Role: Reporter, PublicToo: true, Meaning: "comment on the code of a project"},
	{Ability: ReadCodeNotes, Level: InProject, Of: Code, From: Member, Role: Reporter, PublicToo: true, Read: true, Meaning: "read what is said about the code of a project"},
	{Ability: EditCodeNotes, Level: InProject, Of: Code, From: Member, Role: Reporter, PublicToo: true, Meaning: "change one's own comments on code; maintainers change all"},
	{Ability: AdminCodeNotes, Level: InProject, Of: Code, From: Member, Role: Maintainer, Meaning: "change and delete comments of others on code"},
	{Ability: PushCode, Level: InProject, Of: Code, From: Member, Role: Developer, Meaning: "write to the repository of a project"},
	{Ability: SetCommitStatus, Level: InProject, Of: Code, From: Member, Role: Developer, Meaning: "say how a commit fares elsewhere"},
	{Ability: AdminProtection, Level: InProject, Of: Code, From: Member, Role: Maintainer, Meaning: "protect branches and tags"},
	{Ability: AdminDeployKeys, Level: InProject, Of: Code, From: Member, Role: Maintainer, Meaning: "manage the deploy keys of a project"},
	{Ability: ReadPipelines, Level: InProject, Of: Pipelines, Role: Reporter, PublicToo: true, Read: true, Meaning: "see the pipelines of a project; guests where jobs are public"},
	{Ability: ReadJobs, Level: InProject, Of: Jobs, From: Member, Role: Reporter, PublicToo: true, Read: true, Meaning: "see jobs and their logs; guests and strangers where jobs are public"},
	{Ability: ReadDebugLogs, Level: InProject, From: Member, Role: Developer, Meaning: "read the logs of jobs that print all that they do"},
	{Ability: ViewJobs, Level: InProject, Of: Jobs, Role: Reporter, PublicToo: true, Read: true, Meaning: "see jobs and their logs on pages; guests and strangers, also without an account, where jobs are public"},
	{Ability: DownloadArtifacts, Level: InProject, Of: Jobs, Role: Reporter, PublicToo: true, Read: true, Meaning: "fetch what jobs leave; guests and strangers where jobs are public"},
	{Ability: DownloadPrivateFiles, Level: InProject, Of: Jobs, From: Member, Role: Developer, Read: true, Meaning: "fetch what jobs leave for developers"},
	{Ability: DownloadGuardedFiles, Level: InProject, Of: Jobs, From: Member, Role: Maintainer, Read: true, Meaning: "fetch what jobs leave for maintainers"},
	{Ability: CreatePipeline, Level: InProject, Of: Pipelines, From: Member, Role: Developer, Meaning: "start pipelines"},
	{Ability: UpdateJobs, Level: InProject, Of: Pipelines, From: Member, Role: Developer, Meaning: "cancel, retry and play jobs"},
	{Ability: EraseJobs, Level: InProject, Of: Pipelines, From: Member, Role: Developer, Meaning: "erase jobs: their own; maintainers any"},
	{Ability: ReadPipelineVariables, Level: InProject, Of: Pipelines, From: Member, Role: Developer, Meaning: "read the variables of their own pipelines; maintainers of any"},
	{Ability: ReadAllPipelineVariables, Level: InProject, Of: Pipelines, From: Member, Role: Maintainer, Meaning: "read the variables of all pipelines"},
	{Ability: AdminSchedules, Level: InProject, Of: Pipelines, From: Member, Role: Developer, Meaning: "schedule pipelines"},
	{Ability: UseResourceGroups, Level: InProject, Of: Pipelines, From: Member, Role: Developer, Meaning: "see and set resource groups"},
	{Ability: TakeSchedules, Level: InProject, Of: Pipelines, From: Member, Role: Maintainer, Meaning: "take over the schedules of others"},
	{Ability: AdminTriggers, Level: InProject, Of: Pipelines, From: Member, Role: Maintainer, Meaning: "manage the trigger tokens of a project"},
	{Ability: DeleteArtifacts, Level: InProject, Of: Pipelines, From: Member, Role: Maintainer, Meaning: "delete what jobs left"},
	{Ability: DeletePipeline, Level: InProject, Of: Pipelines, From: Member, Role: Owner, Meaning: "delete pipelines"},
	{Ability: ReadProjectLabels, Level: InProject, Of: Planning, From: Member, Role: Guest, PublicToo: true, Read: true, Meaning: "see the labels of a project"},
	{Ability: AdminProjectLabels, Level: InProject, Of: Planning, From: Member, Role: Reporter, Meaning: "manage the labels of a project"},
	{Ability: SubscribeInProject, Level: InProject, Of: Planning, From: Member, Role: Guest, PublicToo: true, Read: true, Meaning: "subscribe to labels in a project"},
	{Ability: ReadIssues, Level: InProject, Of: Issues, Role: Guest, PublicToo: true, Read: true, Meaning: "read the issues of a project"},
	{Ability: ReadConfidentialIssues, Level: InProject, Of: Issues, From: Member, Role: Reporter, Read: true, Meaning: "read confidential issues of others"},
	{Ability: CreateIssues, Level: InProject, Of: Issues, From: Member, Role: Guest, PublicToo: true, Meaning: "create issues in a project"},
	{Ability: EditIssues, Level: InProject, Of: Issues, From: Member, Role: Guest, PublicToo: true, Meaning: "change one's own issues; reporters change all"},
	{Ability: PlanIssues, Level: InProject, Of: Issues, From: Member, Role: Reporter, Meaning: "sort, assign, move and link issues, and track their time"},
	{Ability: SubscribeToIssues, Level: InProject, Of: Issues, From: Member, Role: Guest, PublicToo: true, Read: true, Meaning: "subscribe to issues"},
	{Ability: MarkIssues, Level: InProject, Of: Issues, From: Member, Role: Guest, PublicToo: true, Read: true, Meaning: "put issues on one's own list of to-dos"},
	{Ability: DeleteIssues, Level: InProject, Of: Issues, From: Member, Role: Owner, Meaning: "delete issues"},
	{Ability: ReadNotes, Level: InProject, Of: Issues, From: Member, Role: Guest, PublicToo: true, Read: true, Meaning: "read what is said about issues"},
	{Ability: ReadInternalNotes, Level: InProject, Of: Issues, From: Member, Role: Reporter, Read: true, Meaning: "read and write internal notes"},
	{Ability: CreateNotes, Level: InProject, Of: Issues, From: Member, Role: Guest, PublicToo: true, Meaning: "comment on issues"},
	{Ability: EditNotes, Level: InProject, Of: Issues, From: Member, Role: Guest, PublicToo: true, Meaning: "change one's own comments; maintainers change all"},
	{Ability: AdminNotes, Level: InProject, Of: Issues, From: Member, Role: Maintainer, Meaning: "change and delete comments of others"},
	{Ability: AwardEmoji, Level: InProject, Of: Issues, From: Member, Role: Guest, PublicToo: true, Meaning: "give emoji to issues and comments"},
	{Ability: ReadProjectBoards, Level: InProject, Of: Issues, From: Member, Role: Guest, PublicToo: true, Read: true, Meaning: "see the issue boards of a project"},
	{Ability: AdminProjectBoards, Level: InProject, Of: Issues, From: Member, Role: Reporter, Meaning: "manage the issue boards of a project"},
	{Ability: ReadProjectMilestones, Level: InProject, Of: Planning, From: Member, Role: Guest, PublicToo: true, Read: true, Meaning: "see the milestones of a project"},
	{Ability: AdminProjectMilestones, Level: InProject, Of: Planning, From: Member, Role: Reporter, Meaning: "manage the milestones of a project"},
	{Ability: AdminProjectBadges, Level: InProject, From: Member, Role: Maintainer, Meaning: "manage the badges of a project"},
	{Ability: AdminAlertIntegrations, Level: InProject, From: Member, Role: Maintainer, Meaning: "manage where a project takes alerts, and see the keys"},
	{Ability: ReadAlerts, Level: InProject, From: Member, Role: Developer, Read: true, Meaning: "see the alerts of a project"},
	{Ability: UpdateAlerts, Level: InProject, From: Member, Role: Developer, Meaning: "acknowledge, resolve and assign alerts, and send a test alert"},
	{Ability: AdminErrorTracking, Level: InProject, From: Member, Role: Maintainer, Meaning: "set up error tracking in a project, and see its keys"},
	{Ability: ReadErrors, Level: InProject, From: Member, Role: Reporter, Read: true, Meaning: "see the errors that a project's programs report"},
	{Ability: UpdateErrors, Level: InProject, From: Member, Role: Developer, Meaning: "resolve and ignore errors"},
	{Ability: AdminPages, Level: InProject, From: Member, Role: Maintainer, Meaning: "see and change the domains and settings of a project's site"},
	{Ability: RemovePages, Level: InProject, From: Administrator, Meaning: "remove the site of a project"},
	{Ability: ReadProjectAudit, Level: InProject, From: Member, Role: Developer, Read: true, Meaning: "read the audit events of one's own acts in a project; maintainers read all"},
	{Ability: ReadAllProjectAudit, Level: InProject, From: Member, Role: Maintainer, Read: true, Meaning: "read all audit events of a project"},
	{Ability: ReadProjectWiki, Level: InProject, Of: Wiki, Role: Guest, PublicToo: true, Read: true, Meaning: "read the wiki of a project"},
	{Ability: WriteProjectWiki, Level: InProject, Of: Wiki, From: Member, Role: Developer, Meaning: "write in the wiki of a project"},
	{Ability: DeleteProjectWikiPages, Level: InProject, Of: Wiki, From: Member, Role: Maintainer, Meaning: "delete pages of the wiki of a project"},
	{Ability: ReadSnippets, Level: InProject, Of: Snippets, Role: Guest, PublicToo: true, Read: true, Meaning: "read snippets of a project that are open to them"},
	{Ability: ReadPrivateSnippets, Level: InProject, Of: Snippets, From: Member, Role: Guest, Read: true, Meaning: "read snippets of a project that are not open to others"},
	{Ability: ListSnippets, Level: InProject, Of: Snippets, From: Member, Role: Guest, PublicToo: true, Read: true, Meaning: "list the snippets of a project"},
	{Ability: CreateSnippets, Level: InProject, Of: Snippets, From: Member, Role: Reporter, Meaning: "create snippets in a project"},
	{Ability: EditSnippets, Level: InProject, Of: Snippets, From: Member, Role: Guest, PublicToo: true, Meaning: "change one's own snippets; maintainers change all"},
	{Ability: AdminSnippets, Level: InProject, Of: Snippets, From: Member, Role: Maintainer, Meaning: "change and delete snippets of others"},
	{Ability: ReadSnippetNotes, Level: InProject, Of: Snippets, From: Member, Role: Guest, PublicToo: true, Read: true, Meaning: "read what is said about snippets of a project"},
	{Ability: CommentSnippets, Level: InProject, Of: Snippets, From: Member, Role: Guest, PublicToo: true, Meaning: "comment on snippets of a project"},
	{Ability: EditSnippetNotes, Level: InProject, Of: Snippets, From: Member, Role: Guest, PublicToo: true, Meaning: "change one's own comments on snippets; maintainers change all"},
	{Ability: AdminSnippetNotes, Level: InProject, Of: Snippets, From: Member, Role: Maintainer, Meaning: "change and delete comments of others on snippets"},
	{Ability: AwardSnippets, Level: InProject, Of: Snippets, From: Member, Role: Guest, PublicToo: true, Meaning: "give emoji to snippets and comments on them"},
	{Ability: UpdateProject, Level: InProject, From: Member, Role: Maintainer, Meaning: "change a project"},
	{Ability: ShareProject, Level: InProject, From: Member, Role: Maintainer, Meaning: "share a project with a group"},
	{Ability: AdminProjectMembers, Level: InProject, From: Member, Role: Maintainer, Meaning: "manage the members of a project"},
	{Ability: AdminProjectTokens, Level: InProject, From: Member, Role: Maintainer, Meaning: "manage the access tokens of a project"},
	{Ability: AdminProjectDeploys, Level: InProject, From: Member, Role: Maintainer, Meaning: "manage the deploy tokens of a project"},
	{Ability: AdminProjectRunners, Level: InProject, From: Member, Role: Maintainer, Meaning: "manage the runners of a project"},
	{Ability: AdminProjectVariables, Level: InProject, From: Member, Role: Maintainer, Meaning: "see and change the CI/CD variables of a project"},
	{Ability: CreateProjectRunner, Level: InProject, From: Member, Role: Owner, Meaning: "create runners for a project"},
	{Ability: ChangeVisibility, Level: InProject, From: Member, Role: Owner, Meaning: "change who sees a project"},
	{Ability: ArchiveProject, Level: InProject, From: Member, Role: Owner, Meaning: "archive and unarchive a project"},
	{Ability: TransferProject, Level: InProject, From: Member, Role: Owner, Meaning: "move a project"},
	{Ability: UnlinkFork, Level: InProject, From: Member, Role: Owner, Meaning: "cut a fork from its source"},
	{Ability: DeleteProject, Level: InProject, From: Member, Role: Owner, Meaning: "delete a project"},
}

// RuleOf finds the rule of an ability.
func RuleOf(can Ability) (Rule, bool) {
	r, known := rules[can]
	return r, known
}

var rules = func() map[Ability]Rule {
	all := make(map[Ability]Rule, len(Policy))
	for _, r := range Policy {
		all[r.Ability] = r
	}
	return all
}()

// RankOf places an actor.
func RankOf(a Actor) Rank {
	switch {
	case a.Admin():
		return Administrator
	case a.SignedIn():
		return Member
	}
	return Anonymous
}

// CheckSignedIn refuses anonymous callers of an ability that needs a person.
func CheckSignedIn(a Actor, can Ability) error {
	r, ok := RuleOf(can)
	if !ok {
		return fault.New(fault.Forbidden)
	}
	if r.From > Anonymous && !a.SignedIn() {
		if r.Refusal != nil {
			return r.Refusal
		}
		return fault.New(fault.Unauthenticated)
	}
	return nil
}

// Check refuses an actor who does not hold an ability on the instance.
func Check(a Actor, can Ability) error {
	if err := CheckSignedIn(a, can); err != nil {
		return err
	}
	if r, _ := RuleOf(can); r.Level != OnInstance || RankOf(a) < r.From {
		return fault.New(fault.Forbidden)
	}
	return nil
}

// CheckIn refuses an actor who does not hold an ability in a target that they
// see.
func CheckIn(a Actor, can Ability, p Target) error {
	if err := CheckSignedIn(a, can); err != nil {
		return err
	}
	if !Holds(a, can, p) {
		return fault.New(fault.Forbidden)
	}
	return nil
}

// Holds decides: administrators hold everything, auditors whatever changes
// nothing, everyone else what their role or the visibility of the target gives. A
// feature that is closed is closed to all, and a target that is kept as it is
// has features to read only.
func Holds(a Actor, can Ability, p Target) bool {
	if p.Powerless {
		a = a.plain()
	}
	r, known := RuleOf(can)
	if !known || r.Level == OnInstance || r.From > RankOf(a) {
		return false
	}
	if r.Of != "" && (slices.Contains(p.Off, r.Of) || (p.Frozen && !r.Read)) {
		return false
	}
	if a.Admin() || (a.Auditor() && r.Read) {
		return true
	}
	from := r.Role
	if lowered, set := p.Lowered[can]; set {
		from = lowered
	}
	if from > NoRole && p.Role >= from {
		return true
	}
	// A member is never less than a stranger, but on a private target a role
	// below the one asked for does not count as seeing it.
	return r.PublicToo && !slices.Contains(p.Private, r.Of) && Sees(a, Target{Visibility: p.Visibility})
}
