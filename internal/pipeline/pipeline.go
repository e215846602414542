// Package pipeline owns pipelines and the jobs in them: how they come to be
// from a push, a person, a schedule, a trigger token or another pipeline, every
// change of their status, what people do to them, resource groups, and
// environments as far as jobs name them.
//
// Nobody else writes the status of a job. Whoever changes one locks its
// pipeline first; what follows is computed by the pure functions of status.go
// and written in the same transaction.
//
// It does not own the language of the configuration (ciconfig), variables of
// projects and groups (variable), logs and files (artifact), schedules and
// trigger tokens (schedule), nor which runner gets which job (dispatch).
//
// Tables: pipelines, pipeline_counters, pipeline_variables, jobs, job_specs,
// job_variables, resource_groups, environments.
package pipeline

import (
	"slices"
	"time"

	"stithy/internal/ciconfig"
)

// Source is the kind of act that made a pipeline.
type Source string

const (
	FromPush     Source = "push"
	FromWeb      Source = "web"
	FromTrigger  Source = "trigger"
	FromSchedule Source = "schedule"
	FromAPI      Source = "api"
	FromPipeline Source = "pipeline"        // of another project
	FromParent   Source = "parent_pipeline" // of the same
)

// Reason says why a job failed.
type Reason string

const (
	UnknownFailure           Reason = "unknown_failure"
	ScriptFailure            Reason = "script_failure"
	APIFailure               Reason = "api_failure"
	StuckOrTimeout           Reason = "stuck_or_timeout_failure"
	RunnerSystemFailure      Reason = "runner_system_failure"
	MissingDependency        Reason = "missing_dependency_failure"
	RunnerUnsupported        Reason = "runner_unsupported"
	StaleSchedule            Reason = "stale_schedule"
	JobExecutionTimeout      Reason = "job_execution_timeout"
	ArchivedFailure          Reason = "archived_failure"
	UnmetPrerequisites       Reason = "unmet_prerequisites"
	SchedulerFailure         Reason = "scheduler_failure"
	DataIntegrityFailure     Reason = "data_integrity_failure"
	UserBlocked              Reason = "user_blocked"
	ProjectDeleted           Reason = "project_deleted"
	QuotaExceeded            Reason = "ci_quota_exceeded"
	LoopDetected             Reason = "pipeline_loop_detected"
	NoMatchingRunner         Reason = "no_matching_runner"
	TraceSizeExceeded        Reason = "trace_size_exceeded"
	BuildsDisabled           Reason = "builds_disabled"
	EnvironmentFailure       Reason = "environment_creation_failure"
	DeploymentRejected       Reason = "deployment_rejected"
	OutdatedDeployment       Reason = "failed_outdated_deployment_job"
	ForwardDeployment        Reason = "forward_deployment_failure"
	InsufficientBridgeRights Reason = "insufficient_bridge_permissions"
	BridgeProjectNotFound    Reason = "downstream_bridge_project_not_found"
	InvalidBridgeTrigger     Reason = "invalid_bridge_trigger"
	DownstreamFailed         Reason = "downstream_pipeline_creation_failed"
	DescendantsTooDeep       Reason = "reached_max_descendant_pipelines_depth"
	HierarchyTooLarge        Reason = "reached_max_pipeline_hierarchy_size"
	UpstreamNotFound         Reason = "upstream_bridge_project_not_found"
	InsufficientUpstream     Reason = "insufficient_upstream_permissions"
	SecretsProviderMissing   Reason = "secrets_provider_not_found"
	ProtectedEnvironment     Reason = "protected_environment_failure"
)

// Reasons are all that a failure may be called, in runner reports too.
var Reasons = []Reason{
	UnknownFailure, ScriptFailure, APIFailure, StuckOrTimeout, RunnerSystemFailure, MissingDependency, RunnerUnsupported, StaleSchedule,
	JobExecutionTimeout, ArchivedFailure, UnmetPrerequisites, SchedulerFailure, DataIntegrityFailure, UserBlocked, ProjectDeleted,
	QuotaExceeded, LoopDetected, NoMatchingRunner, TraceSizeExceeded, BuildsDisabled, EnvironmentFailure, DeploymentRejected,
	OutdatedDeployment, ForwardDeployment, InsufficientBridgeRights, BridgeProjectNotFound, InvalidBridgeTrigger, DownstreamFailed,
	DescendantsTooDeep, HierarchyTooLarge, UpstreamNotFound, InsufficientUpstream, SecretsProviderMissing, ProtectedEnvironment,
}

// Known reports whether the reason is one of the list.
func (r Reason) Known() bool { return slices.Contains(Reasons, r) }

// Pipeline is one run of a configuration at a commit.
type Pipeline struct {
	ID            int64
	ProjectID     int64
	IID           int64
	SHA           string
	BeforeSHA     string
	Ref           string // short name
	Tag           bool
	Status        Status
	Source        Source
	Name          *string
	FailureReason *string
	YAMLErrors    *string
	AutoCancel    string
	FailFast      bool
	UserID        *int64
	PushID        *int64
	ScheduleID    *int64
	ParentID      *int64
	RootID        *int64
	Child         bool
	Depth         int16
	CommittedAt   *time.Time
	StartedAt     *time.Time
	FinishedAt    *time.Time
	CreatedAt     time.Time
	UpdatedAt     time.Time
}

// FullRef is the name of the ref with its kind.
func (p *Pipeline) FullRef() string {
	if p.Tag {
		return "refs/tags/" + p.Ref
	}
	return "refs/heads/" + p.Ref
}

// Job is a job of a pipeline: a build that a runner runs, or a bridge that
// starts another pipeline. A job that was retried has a record for each time.
type Job struct {
	ID              int64
	ProjectID       int64
	PipelineID      int64
	SpecID          int64
	UserID          *int64 // as whom it runs
	Bridge          bool
	Name            string
	Stage           string
	StageIndex      int16
	Status          Status
	FailureReason   *Reason
	ExitCode        *int32
	RunWhen         string // on_success, on_failure, always, manual, delayed
	AllowFailure    bool
	Needs           []string // names; nil: all of the earlier stages
	Tags            []string
	Interruptible   bool
	Retried         bool
	Retries         int16
	StartIn         int64 // seconds
	ScheduledAt     *time.Time
	Environment     *string // expanded
	ResourceGroupID *int64
	DownstreamID    *int64
	RunnerID        *int64
	Coverage        *float64
	DebugLog        *bool // its log holds secrets; nil: not decided
	CreatedAt       time.Time
	QueuedAt        *time.Time
	StartedAt       *time.Time
	FinishedAt      *time.Time
	ErasedAt        *time.Time
	UpdatedAt       time.Time
}

// Spec is what was planned for a job. It is kept as one document and read when
// the job is handed out.
type Spec struct {
	Job       ciconfig.Job       `json:"job"`       // the matching rule applied; tags, environment, resource group and the folder and prefix of a site expanded
	Group     string             `json:"group"`     // the name in the file
	Variables ciconfig.Variables `json:"variables"` // of the file, in the order in which they override each other
	Needed    []ciconfig.Need    `json:"needed,omitzero"`
	NodeIndex int                `json:"node_index,omitempty"`
	NodeTotal int                `json:"node_total,omitempty"`
	Because   string             `json:"because,omitempty"` // the rule that added it, in words
}

// Variable is a variable of a pipeline, of a schedule, or of a job that was
// played.
type Variable struct {
	Key   string `json:"key"`
	Value string `json:"value"`
	File  bool   `json:"file,omitempty"`
	Raw   bool   `json:"raw,omitempty"`
}

// Outcome is how a job ended where it ran.
type Outcome struct {
	State    Status // Success or Failed
	Reason   Reason // of a failure
	ExitCode *int
	Coverage *float64
}
