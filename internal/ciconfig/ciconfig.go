// Package ciconfig reads CI configuration files and says what a pipeline made from them would hold. It is pure: files come
// through Source, facts about the ref, the variables and the repository through Facts, and nothing is stored.
//
// Load goes from text to a Config: YAML, includes with inputs, merging, !reference, extends, structure, logic. Plan goes from
// a Config to the jobs of one pipeline: workflow and job rules, parallel and matrix, needs. Both answer in Problems, with
// the texts that clients of the reference know and the place in the file that caused them.
//
// It owns the configuration language: keywords, expressions, globs, durations, expansion of variables, slugs. It does not
// own pipelines, stored variables or the protocol of runners; it has no tables.
package ciconfig

import (
	"context"
	"fmt"
	"time"
)

// Limits of what is read. Beyond each the configuration is refused before it is unfolded.
const (
	MaxFile      = 1 << 20   // bytes of one file
	MaxTotal     = 150 << 20 // bytes of all files together
	MaxDepth     = 100       // nesting of one file
	MaxIncludes  = 150       // files, nested ones counted
	MaxNeeds     = 50        // needs of one job
	MaxParallel  = 200       // jobs that one definition may become
	MaxJobs      = 20_000    // jobs that all definitions may become
	MaxJobName   = 255
	MaxTags      = 50
	MaxWarnings  = 25
	MaxTokens    = 100 // of one expression
	MaxGlobs     = 50  // of one rules:changes or rules:exists
	MaxReference = 10  // !reference through !reference, and nesting of scripts and rules
	MaxExtends   = 11  // levels of extends
)

// Problem is something that keeps a configuration from being used, or a warning about it.
type Problem struct {
	Message string // whole, as the API shows it
	File    string // as Include.Location has it; empty for the file that was asked about
	Line    int    // from 1; 0 when no place caused it
	Column  int
}

// String is the message and where it comes from.
func (p Problem) String() string {
	if p.Line == 0 {
		return p.Message
	}
	return fmt.Sprintf("%s (%s:%d:%d)", p.Message, p.File, p.Line, p.Column)
}

// Place is a project at a commit. Includes are looked up relative to the place of the file that asks for them. The
// package hands places back to the Source that made them and reads only Project and SHA, for the list of includes.
type Place struct {
	Project   string // full path
	ProjectID int64
	SHA       string
}

// File is an included file.
type File struct {
	Body     []byte
	Place    Place  // what its own includes are relative to
	Location string // its path, name or address
	Blob     string // address of its page, if it has one
	Raw      string // address of its bytes, if it has one
}

// Source fetches what includes ask for. It decides who may read what and which addresses may be called; the time that all
// fetching may take is ctx's. What is wrong with an include is a FetchError; any other error ends Load.
type Source interface {
	Local(ctx context.Context, at Place, path string) (File, error)
	// Glob lists the paths at a place that match a pattern of * and **, sorted.
	Glob(ctx context.Context, at Place, pattern string) ([]string, error)
	// Project reads a file of another project; an empty ref means its default branch.
	Project(ctx context.Context, from Place, project, ref, file string) (File, error)
	Remote(ctx context.Context, url string) (File, error)
	Template(ctx context.Context, name string) (File, error)
	Component(ctx context.Context, from Place, address string) (File, error)
	// Artifact reads a file from the archive of a job of the parent pipeline; it is called for child pipelines only.
	Artifact(ctx context.Context, at Place, job, path string) (File, error)
}

// FetchReason says why an included file cannot be had.
type FetchReason uint8

const (
	FileAbsent    FetchReason = iota + 1
	ProjectHidden             // absent, or the person may not read it
	RefAbsent
	BadStatus // the remote answered with Status
	TimedOut
	Unreachable
	BadAddress // not an address, or one that must not be called
	TooLarge
	Said // Text says it all
)

// FetchError is the part of an include's failure that only the Source knows.
type FetchError struct {
	Reason FetchReason
	Status int
	Text   string
}

func (e *FetchError) Error() string {
	if e.Text != "" {
		return e.Text
	}
	return fmt.Sprintf("fetching an included file: reason %d, status %d", e.Reason, e.Status)
}

// LoadOptions says what is read and what is known while reading.
type LoadOptions struct {
	Content []byte
	Name    string         // of the file, in messages: .svc-ci.yml
	Place   Place          // what its includes are relative to
	Facts   Facts          // for variables and rules of includes
	Inputs  map[string]any // for a file whose header declares inputs
	HelpURL string         // of the page that warnings point to
	Child   bool           // the file is a child pipeline's: it may include artifacts of the parent's jobs
	Kept    bool           // problems are kept for people who may not see variables: their values stay out of messages
}

// Load reads a configuration. With problems, only Merged, Includes and Warnings of the Config mean anything. The error is
// the Source's or ctx's.
func Load(ctx context.Context, src Source, opt LoadOptions) (*Config, []Problem, error) {
	return load(ctx, src, opt)
}

// Config is a configuration that could be used.
type Config struct {
	Stages    []string  // .pre and .post included
	Variables Variables // global ones
	Workflow  Workflow
	Jobs      []Job // visible ones, in the order of the file
	Includes  []Include
	Warnings  []Problem

	merged []byte
	untold Variables // that were inserted, and whose values stay out of messages
}

// Merged is the configuration as one YAML document: includes merged, references and extends resolved, keys in the order
// in which they were written. Nil when reading did not get that far.
func (c *Config) Merged() []byte { return c.merged }

// Include is a file that took part, in the form that the lint API lists.
type Include struct {
	Type     string // local, file, remote, template, component, artifact
	Location string
	Blob     string
	Raw      string
	Extra    map[string]string // project, ref, job_name
	From     Place             // of the file that asked for it
}

// Variable is one of a list in which the last of a name wins.
type Variable struct {
	Key         string   `json:"key"`
	Value       string   `json:"value"`
	Raw         bool     `json:"raw,omitempty"`  // not expanded, and not inserted expanded
	File        bool     `json:"file,omitempty"` // the value is content; references to it stay references
	Masked      bool     `json:"-"`              // not shown in problems and lists of includes
	Description string   `json:"description,omitempty"`
	Options     []string `json:"options,omitempty"`
}

// Variables is an ordered list; of several with one key the last counts.
type Variables []Variable

// Workflow decides whether there is a pipeline at all.
type Workflow struct {
	Name       string
	Rules      []Rule // nil: every event makes a pipeline
	AutoCancel AutoCancel
}

// AutoCancel says what a newer commit or a failed job ends.
type AutoCancel struct {
	OnNewCommit  string `json:"on_new_commit,omitempty"`  // conservative, interruptible, none; empty: not said
	OnJobFailure string `json:"on_job_failure,omitempty"` // all, none; empty: not said
}

// Values of Job.When.
const (
	OnSuccess = "on_success"
	OnFailure = "on_failure"
	Always    = "always"
	Manual    = "manual"
	Delayed   = "delayed"
	Never     = "never" // in rules only
)

// Job is a visible job with extends and defaults applied. It may be kept as JSON. A job with a Trigger is a bridge: it has no
// script and runs nowhere.
type Job struct {
	Name          string         `json:"name"`
	Stage         string         `json:"stage"`
	Script        []string       `json:"script,omitempty"`
	BeforeScript  []string       `json:"before_script,omitempty"`
	AfterScript   []string       `json:"after_script,omitempty"`
	Image         *Image         `json:"image,omitempty"`
	Services      []Service      `json:"services,omitempty"`
	Tags          []string       `json:"tags,omitempty"`
	Variables     Variables      `json:"variables,omitempty"` // its own only; PlannedJob has all of YAML's
	When          string         `json:"when"`
	StartIn       time.Duration  `json:"start_in,omitempty"`
	AllowFailure  AllowFailure   `json:"allow_failure,omitzero"`
	Dependencies  []string       `json:"dependencies,omitzero"` // nil: all earlier; empty: none
	Needs         []Need         `json:"needs,omitzero"`        // nil: all earlier stages; empty: starts at once
	Artifacts     *Artifacts     `json:"artifacts,omitempty"`
	Cache         []Cache        `json:"cache,omitempty"`
	Retry         Retry          `json:"retry,omitzero"`
	Timeout       time.Duration  `json:"timeout,omitempty"` // 0: the project's
	Interruptible bool           `json:"interruptible,omitempty"`
	Coverage      string         `json:"coverage,omitempty"` // the expression without its slashes
	Parallel      *Parallel      `json:"-"`
	ResourceGroup string         `json:"resource_group,omitempty"` // unexpanded
	Environment   *Environment   `json:"environment,omitempty"`
	Release       *Release       `json:"release,omitempty"`
	Pages         bool           `json:"pages,omitempty"`           // deploys static content after success
	Publish       string         `json:"publish,omitempty"`         // the folder that it deploys
	PathPrefix    string         `json:"path_prefix,omitempty"`     // of the site, below which it deploys; unexpanded
	PagesExpireIn string         `json:"pages_expire_in,omitempty"` // how long that is kept, in words
	IDTokens      []IDToken      `json:"id_tokens,omitempty"`
	Secrets       map[string]any `json:"secrets,omitempty"` // in the form that runners read
	Hooks         Hooks          `json:"hooks,omitzero"`
	Inherit       Inherit        `json:"-"`
	Trigger       *Trigger       `json:"trigger,omitempty"`
	Rules         []Rule         `json:"-"` // nil: none written
	Only          *Policy        `json:"-"`
	Except        *Policy        `json:"-"`

	Line   int    `json:"-"` // where it is written, for problems
	Column int    `json:"-"`
	File   string `json:"-"`
}

// Bridge reports whether the job starts another pipeline instead of running.
func (j *Job) Bridge() bool { return j.Trigger != nil }

// Follows is the project whose latest pipeline a job mirrors that has none of
// its own; unexpanded.
func (j *Job) Follows() string {
	for _, n := range j.Needs {
		if n.Pipeline != "" && n.Job == "" {
			return n.Pipeline
		}
	}
	return ""
}

// AllowFailure says which failures do not count.
type AllowFailure struct {
	Allowed   bool  `json:"allowed,omitempty"`
	ExitCodes []int `json:"exit_codes,omitempty"` // when set, these only
}

// Image is a container image.
type Image struct {
	Name       string   `json:"name"`
	Entrypoint []string `json:"entrypoint,omitzero"`
	PullPolicy []string `json:"pull_policy,omitempty"`
	Platform   string   `json:"platform,omitempty"` // docker's
	User       string   `json:"user,omitempty"`     // docker's
}

// Service is a container beside the job's.
type Service struct {
	Image
	Alias     string    `json:"alias,omitempty"`
	Command   []string  `json:"command,omitzero"`
	Variables Variables `json:"variables,omitempty"`
}

// Need is a job that must end first, or whose artifacts are fetched from elsewhere.
type Need struct {
	Job       string      `json:"job,omitempty"`
	Artifacts bool        `json:"artifacts"`
	Optional  bool        `json:"optional,omitempty"`
	Matrix    []Variables `json:"-"`                  // of needs:parallel:matrix: which of a matrix's jobs
	Pipeline  string      `json:"pipeline,omitempty"` // another pipeline's number, or for a bridge without Job the project whose status it mirrors; unexpanded
	Project   string      `json:"project,omitempty"`  // unexpanded, as Ref
	Ref       string      `json:"ref,omitempty"`
}

// Here reports whether the need is a job of the same pipeline.
func (n Need) Here() bool { return n.Pipeline == "" && n.Project == "" }

// Artifacts are files that outlive a job.
type Artifacts struct {
	Name      string   `json:"name,omitempty"`
	Paths     []string `json:"paths,omitempty"`
	Exclude   []string `json:"exclude,omitempty"`
	Untracked bool     `json:"untracked,omitempty"`
	When      string   `json:"when,omitempty"`      // empty: on_success
	ExpireIn  string   `json:"expire_in,omitempty"` // as written; see ParseDuration
	ExposeAs  string   `json:"expose_as,omitempty"`
	Access    string   `json:"access,omitempty"` // all, developer, maintainer, none; empty: all
	Reports   []Report `json:"reports,omitempty"`
}

// Report is a kind of artifact that the server reads.
type Report struct {
	Type  string   `json:"type"` // junit, dotenv, cobertura, ...: the artifact_type of the runner protocol
	Paths []string `json:"paths"`
}

// Cache is what a job finds again in its next run.
type Cache struct {
	Key          string   `json:"key,omitempty"` // empty: by KeyFiles, or "default"
	KeyFiles     []string `json:"key_files,omitempty"`
	KeyPrefix    string   `json:"key_prefix,omitempty"`
	Paths        []string `json:"paths,omitempty"`
	Untracked    bool     `json:"untracked,omitempty"`
	Policy       string   `json:"policy"` // pull-push, pull, push or a variable
	When         string   `json:"when"`
	Unprotect    bool     `json:"unprotect,omitempty"`
	FallbackKeys []string `json:"fallback_keys,omitempty"`
}

// Retry says how often a failed job starts again by itself.
type Retry struct {
	Max       int      `json:"max,omitempty"`
	When      []string `json:"when,omitempty"` // empty: always
	ExitCodes []int    `json:"exit_codes,omitempty"`
}

// Parallel makes several jobs of one. Either Count or Matrix is set.
type Parallel struct {
	Count  int
	Matrix []Variables // one list per job, in order
}

// Environment is where a job deploys to. Name and URL are unexpanded.
type Environment struct {
	Name                string `json:"name"`
	URL                 string `json:"url,omitempty"`
	Action              string `json:"action"` // start, prepare, stop, verify, access
	OnStop              string `json:"on_stop,omitempty"`
	AutoStopIn          string `json:"auto_stop_in,omitempty"` // as written; may hold variables
	Tier                string `json:"deployment_tier,omitempty"`
	KubernetesNamespace string `json:"kubernetes_namespace,omitempty"`
}

// Release is a release that the job makes after its script.
type Release struct {
	TagName     string        `json:"tag_name"`
	TagMessage  string        `json:"tag_message,omitempty"`
	Name        string        `json:"name,omitempty"`
	Description string        `json:"description"`
	Ref         string        `json:"ref,omitempty"`
	Milestones  []string      `json:"milestones,omitempty"`
	ReleasedAt  string        `json:"released_at,omitempty"`
	Links       []ReleaseLink `json:"links,omitempty"`
}

// ReleaseLink is an asset of a release.
type ReleaseLink struct {
	Name     string `json:"name"`
	URL      string `json:"url"`
	FilePath string `json:"filepath,omitempty"`
	LinkType string `json:"link_type,omitempty"`
}

// IDToken is a signed token for somebody else's service.
type IDToken struct {
	Name string   `json:"name"`
	Aud  []string `json:"aud"`
}

// Hooks run at moments of a job that are not its own.
type Hooks struct {
	PreGetSources []string `json:"pre_get_sources_script,omitempty"`
}

// Inherit says which defaults and global variables reach a job. A nil list with All means every one.
type Inherit struct {
	Defaults  Inherited
	Variables Inherited
}

// Inherited is true, false or a list of names.
type Inherited struct {
	All   bool
	Names []string
}

// Trigger starts another pipeline.
type Trigger struct {
	Project   string           `json:"project,omitempty"` // unexpanded, as Branch; empty for a child pipeline
	Branch    string           `json:"branch,omitempty"`
	Strategy  string           `json:"strategy,omitempty"` // depend, mirror or empty
	Include   []TriggerInclude `json:"include,omitempty"`
	Inputs    map[string]any   `json:"inputs,omitempty"` // for another project's configuration
	YAML      bool             `json:"forward_yaml_variables"`
	Pipelines bool             `json:"forward_pipeline_variables,omitempty"`
}

// TriggerInclude is a file of a child pipeline's configuration.
type TriggerInclude struct {
	Local     string         `json:"local,omitempty"`
	Project   string         `json:"project,omitempty"`
	Ref       string         `json:"ref,omitempty"`
	File      []string       `json:"file,omitempty"`
	Template  string         `json:"template,omitempty"`
	Remote    string         `json:"remote,omitempty"`
	Component string         `json:"component,omitempty"`
	Artifact  string         `json:"artifact,omitempty"`
	Job       string         `json:"job,omitempty"`
	Inputs    map[string]any `json:"inputs,omitempty"`
}

// Content is the configuration of the child pipeline: one that includes what the trigger names. Load it with Child set.
func (t *Trigger) Content() []byte { return t.content() }

// Rule is one entry of rules. All of its conditions must hold; the first rule that matches decides.
type Rule struct {
	If            *Expression
	Changes       *Changes
	Exists        *Exists
	When          string // empty: the job's
	StartIn       time.Duration
	AllowFailure  *AllowFailure
	Variables     Variables
	Needs         []Need // nil: the job's
	Interruptible *bool
	AutoCancel    AutoCancel // of workflow rules
	Line          int
}

// Changes holds when a changed path matches.
type Changes struct {
	Paths     []string // unexpanded
	CompareTo string   // unexpanded; empty: the commit before
}

// Exists holds when a path of the tree matches.
type Exists struct {
	Paths   []string // unexpanded
	Project string   // unexpanded, as Ref; empty: this one
	Ref     string
}

// Policy is an only or an except. A part that is nil was not written.
type Policy struct {
	Refs       []string
	Variables  []*Expression
	Changes    []string
	Kubernetes bool
}

// Facts are what is known when a pipeline is made. The functions are called when a rule asks, at most once for each
// argument, and may be nil.
type Facts struct {
	Source    string // push, web, trigger, schedule, api, pipeline, parent_pipeline, merge_request_event, ...
	Ref       string // short name
	Tag       bool
	Protected bool
	Project   string // full path, for name@group/project

	Predefined Variables // below the file's variables
	Variables  Variables // above them: instance, group, project, pipeline, in this order
	// ForEnvironment gives the variables above the file's for a job with an environment, in place of Variables.
	ForEnvironment func(name string) Variables

	// Changes lists the paths that the pipeline's commits changed; known is false when there is nothing to compare with.
	Changes func() (paths []string, known bool)
	// ChangesFrom does so compared with a ref; known is false when there is no such ref.
	ChangesFrom func(ref string) (paths []string, known bool)
	// Exists reports whether a path of the commit's tree matches. See Glob, and ExistsIn for one made from a list.
	Exists func(glob string) bool
	// ExistsAt does so in another project; known is false when the person may not read it or the ref is absent.
	ExistsAt func(project, ref, glob string) (found, known bool)

	Kubernetes bool // a cluster is there, for kubernetes: active
}

// Outcome says what became of a plan.
type Outcome uint8

const (
	Runs     Outcome = iota
	Filtered         // workflow rules: no pipeline, which is not an error on a push
	NoJobs           // no job was added: no pipeline, which is not an error on a push
	Broken           // the problems are errors of the configuration
)

// Plan is what one pipeline holds.
type Plan struct {
	Outcome    Outcome
	Name       string    // of the pipeline, expanded; may be empty
	Variables  Variables // global ones and those of the workflow rule that matched
	AutoCancel AutoCancel
	Stages     []string // those with jobs, in order
	Jobs       []PlannedJob
	Why        []LeftOut // jobs that are not in it, and a first entry without Job when the workflow decided
}

// PlannedJob is a job of a pipeline. Its lists are read only, but for Tags and Environment, which are its own.
type PlannedJob struct {
	Job                     // with the matching rule applied; Name is the whole name
	Group         string    // the name in the file
	StageIndex    int       // in Plan.Stages
	YAMLVariables Variables // global ones as inherited, workflow's, the job's, the matrix's, the rule's: one of each name, not expanded
	Needed        []Need    // Needs of this pipeline with whole names, absent optional ones dropped; nil as Needs
	NodeIndex     int       // from 1; 0 without parallel
	NodeTotal     int       // 1 without parallel
	Because       string    // the rule that added it, in words
}

// NoRules is why a job is in a pipeline that nothing of its own decided about.
const NoRules = "It has no rules."

// LeftOut says why a job is not in a pipeline.
type LeftOut struct {
	Job  string
	Rule int    // from 1; 0 when none matched or there are no rules
	Text string // in words
	Line int
}

// Plan says what runs, given the facts. Problems come with Broken alone; what is said of Filtered and NoJobs are TextFiltered
// and TextNoJobs.
func (c *Config) Plan(facts Facts) (*Plan, []Problem) {
	plan, problems := c.plan(facts)
	return plan, c.told(problems)
}
