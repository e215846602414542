package dispatch

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"stithy/internal/ciconfig"
	"stithy/internal/gitstore"
)

// payloadInput is all that is known when a job is given to a runner. The payload
// follows from it and from nothing else.
type payloadInput struct {
	Plan     ciconfig.Job // with its rule applied
	JobID    int64
	Token    string // the job's, shown to its runner alone
	Queued   time.Duration
	Running  int // jobs of the project on runners of the instance, this one aside
	Timeout  time.Duration
	Fetch    bool // into the folder of the job before, if there is one
	Depth    int  // of the clone; 0 is all
	Git      Git
	Pipeline int64
	Project  ProjectFacts
	Lists    VariableLists
	IDTokens []Variable // signed ones, in the order of the file

	Dependencies   []Dependency
	SeparateCaches bool // those of protected refs apart from the others
	CacheIndex     int64
	TokenPrefixes  []string // of secrets that runners mask
	Accepts        Features // what the runner can do
}

// Git is what is to be checked out.
type Git struct {
	URL       string // with the job's token
	Ref       string
	Tag       bool
	SHA       string
	Before    string
	Protected bool
}

// ProjectFacts is the project of a job as runners know it.
type ProjectFacts struct {
	ID            int64
	Name          string
	FullPath      string
	NamespaceID   int64
	RootNamespace int64
}

// Dependency is a job whose files this one gets.
type Dependency struct {
	ID       int64
	Name     string
	Filename string
	Size     int64
}

// Variable is a variable on its way to a runner.
type Variable struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Public bool   `json:"public"`
	Masked bool   `json:"masked"`
	File   bool   `json:"file,omitempty"`
	Raw    bool   `json:"raw,omitempty"`
}

// VariableLists are the variables of a job by where they come from, the weakest
// first: of two with one name the later list's counts.
type VariableLists struct {
	Job         []Variable // about this one job: its id, its token
	Predefined  []Variable // about project, commit, pipeline and who runs it
	Runner      []Variable
	YAML        []Variable
	Dotenv      []Variable // what jobs before it left
	Stored      []Variable // of instance, groups and project
	Pipeline    []Variable // given to the pipeline by whoever made it
	Played      []Variable // given to the job by whoever started it
	Environment []Variable // where it deploys to
}

// all puts the lists in order, lets the last of a name win and expands what
// refers to others.
func (l *VariableLists) all(last []Variable) []Variable {
	lists := slices.Concat(l.Job, l.Predefined, l.Runner, l.YAML, l.Dotenv, l.Stored, l.Pipeline, l.Played, last, l.Environment)
	at := make(map[string]int, len(lists))
	var kept []Variable
	for _, v := range lists {
		if i, again := at[v.Key]; again {
			kept[i] = v
			continue
		}
		at[v.Key] = len(kept)
		kept = append(kept, v)
	}
	plain := make(ciconfig.Variables, 0, len(kept))
	for _, v := range kept {
		plain = append(plain, ciconfig.Variable{Key: v.Key, Value: v.Value, Raw: v.Raw, File: v.File})
	}
	expanded, err := plain.Expanded()
	if err != nil {
		return kept // in a circle: the runner gets them as they are written
	}
	out := make([]Variable, 0, len(expanded))
	for _, v := range expanded {
		whole := kept[at[v.Key]]
		whole.Value = v.Value
		out = append(out, whole)
	}
	return out
}

// Features are what a runner says it can do.
type Features map[string]bool

// missing is a feature that the job needs and the runner lacks. Without it the
// job would run and something of it would be lost.
func missing(job *ciconfig.Job, has Features) (feature string, lacks bool) {
	artifacts := job.Artifacts
	for _, need := range []struct {
		feature string
		needed  bool
	}{
		{"upload_multiple_artifacts", artifacts != nil && len(artifacts.Reports) > 0},
		{"artifacts_exclude", artifacts != nil && len(artifacts.Exclude) > 0},
		{"multi_build_steps", job.Release != nil},
		{"return_exit_code", len(job.AllowFailure.ExitCodes) > 0},
		{"fallback_cache_keys", slices.ContainsFunc(job.Cache, func(c ciconfig.Cache) bool { return len(c.FallbackKeys) > 0 })},
	} {
		if need.needed && !has[need.feature] {
			return need.feature, true
		}
	}
	return "", false
}

// Payload is a job as a runner gets it.
type Payload struct {
	ID            int64             `json:"id"`
	Token         string            `json:"token"`
	AllowGitFetch bool              `json:"allow_git_fetch"`
	JobInfo       payloadJob        `json:"job_info"`
	GitInfo       payloadGit        `json:"git_info"`
	RunnerInfo    payloadRunner     `json:"runner_info"`
	Variables     []Variable        `json:"variables"`
	Steps         []payloadStep     `json:"steps"`
	Hooks         []payloadHook     `json:"hooks"`
	Image         *payloadImage     `json:"image"`
	Services      []payloadImage    `json:"services"`
	Artifacts     []payloadArtifact `json:"artifacts"`
	Cache         []payloadCache    `json:"cache"`
	Credentials   []struct{}        `json:"credentials"`
	Dependencies  []payloadNeed     `json:"dependencies"`
	Features      payloadFeatures   `json:"features"`
	Secrets       map[string]any    `json:"secrets,omitempty"`
}

type payloadJob struct {
	ID              int64   `json:"id"`
	Name            string  `json:"name"`
	Stage           string  `json:"stage"`
	ProjectID       int64   `json:"project_id"`
	ProjectName     string  `json:"project_name"`
	ProjectFullPath string  `json:"project_full_path"`
	PipelineID      int64   `json:"pipeline_id"`
	NamespaceID     int64   `json:"namespace_id"`
	RootNamespaceID int64   `json:"root_namespace_id"`
	TimeInQueue     float64 `json:"time_in_queue_seconds"`
	RunningShared   string  `json:"project_jobs_running_on_instance_runners_count"`
}

type payloadGit struct {
	RepoURL      string   `json:"repo_url"`
	Ref          string   `json:"ref"`
	SHA          string   `json:"sha"`
	BeforeSHA    string   `json:"before_sha"`
	RefType      string   `json:"ref_type"`
	Refspecs     []string `json:"refspecs"`
	Depth        int      `json:"depth"`
	ObjectFormat string   `json:"repo_object_format"`
	Protected    bool     `json:"protected"`
}

type payloadRunner struct {
	Timeout    int     `json:"timeout"`
	SessionURL *string `json:"runner_session_url"`
}

type payloadStep struct {
	Name         string   `json:"name"`
	Script       []string `json:"script"`
	Timeout      int      `json:"timeout"`
	When         string   `json:"when"`
	AllowFailure bool     `json:"allow_failure"`
}

type payloadHook struct {
	Name   string   `json:"name"`
	Script []string `json:"script"`
}

type payloadImage struct {
	Name         string           `json:"name"`
	Alias        string           `json:"alias,omitempty"`
	Entrypoint   []string         `json:"entrypoint,omitempty"`
	Command      []string         `json:"command,omitempty"`
	Ports        []struct{}       `json:"ports"`
	PullPolicy   []string         `json:"pull_policy,omitempty"`
	Variables    []Variable       `json:"variables,omitempty"`
	ExecutorOpts *payloadExecutor `json:"executor_opts,omitempty"`
}

type payloadExecutor struct {
	Docker     map[string]string `json:"docker,omitempty"`
	Kubernetes map[string]string `json:"kubernetes,omitempty"`
}

type payloadArtifact struct {
	Name      string   `json:"name,omitempty"`
	Untracked bool     `json:"untracked,omitempty"`
	Paths     []string `json:"paths"`
	Exclude   []string `json:"exclude,omitempty"`
	When      string   `json:"when,omitempty"`
	ExpireIn  string   `json:"expire_in,omitempty"`
	Type      string   `json:"artifact_type"`
	Format    string   `json:"artifact_format"`
}

type payloadCache struct {
	Key          string   `json:"key"`
	Untracked    bool     `json:"untracked,omitempty"`
	Policy       string   `json:"policy"`
	Paths        []string `json:"paths"`
	When         string   `json:"when"`
	FallbackKeys []string `json:"fallback_keys"`
}

type payloadNeed struct {
	ID            int64        `json:"id"`
	Name          string       `json:"name"`
	Token         string       `json:"token"`
	ArtifactsFile *payloadFile `json:"artifacts_file,omitempty"`
}

type payloadFile struct {
	Filename string `json:"filename"`
	Size     int64  `json:"size"`
}

type payloadFeatures struct {
	TraceSections  bool     `json:"trace_sections"`
	TokenPrefixes  []string `json:"token_mask_prefixes"`
	FailureReasons []string `json:"failure_reasons"`
}

// failureReasons are those that a runner may give. Others it says in words that
// every server knows.
var failureReasons = []string{
	"unknown_failure", "script_failure", "api_failure", "stuck_or_timeout_failure", "runner_system_failure",
	"missing_dependency_failure", "runner_unsupported", "stale_schedule", "job_execution_timeout", "archived_failure",
	"unmet_prerequisites", "scheduler_failure", "data_integrity_failure",
}

// build makes the payload.
func (h *payloadInput) build() Payload {
	job := &h.Plan
	return Payload{
		ID: h.JobID, Token: h.Token, AllowGitFetch: h.Fetch,
		JobInfo: payloadJob{
			ID: h.JobID, Name: job.Name, Stage: job.Stage, ProjectID: h.Project.ID, ProjectName: h.Project.Name,
			ProjectFullPath: h.Project.FullPath, PipelineID: h.Pipeline, NamespaceID: h.Project.NamespaceID,
			RootNamespaceID: h.Project.RootNamespace, TimeInQueue: h.Queued.Round(time.Millisecond).Seconds(), RunningShared: fewOrMany(h.Running),
		},
		GitInfo:    h.git(),
		RunnerInfo: payloadRunner{Timeout: int(h.Timeout.Seconds())},
		Variables:  h.Lists.all(h.IDTokens), Steps: h.steps(), Hooks: hooks(job), Image: image(job.Image), Services: services(job.Services),
		Artifacts: artifacts(job.Artifacts), Cache: h.caches(), Credentials: []struct{}{}, Dependencies: h.needs(),
		Features: payloadFeatures{TraceSections: true, TokenPrefixes: h.TokenPrefixes, FailureReasons: failureReasons},
		Secrets:  maps.Clone(job.Secrets),
	}
}

// fewOrMany is a number that says little about how busy others are.
func fewOrMany(n int) string {
	if n >= 5 {
		return "5+"
	}
	return strconv.Itoa(n)
}

// git says what to fetch. The pipeline's own ref is there as long as the
// pipeline is, whatever becomes of the branch.
func (h *payloadInput) git() payloadGit {
	kept := gitstore.Pipelines + strconv.FormatInt(h.Pipeline, 10)
	g := payloadGit{
		RepoURL: h.Git.URL, Ref: h.Git.Ref, SHA: h.Git.SHA, BeforeSHA: h.Git.Before, RefType: "branch", Depth: h.Depth,
		Refspecs: []string{"+" + kept + ":" + kept}, ObjectFormat: "sha1", Protected: h.Git.Protected,
	}
	branch, tag := "*", "*"
	if h.Git.Tag {
		g.RefType = "tag"
	}
	if h.Depth > 0 {
		branch, tag = h.Git.Ref, h.Git.Ref
	}
	if h.Depth == 0 || !h.Git.Tag {
		g.Refspecs = append(g.Refspecs, "+refs/heads/"+branch+":refs/remotes/origin/"+branch)
	}
	if h.Depth == 0 || h.Git.Tag {
		g.Refspecs = append(g.Refspecs, "+refs/tags/"+tag+":refs/tags/"+tag)
	}
	return g
}

func (h *payloadInput) steps() []payloadStep {
	job, timeout := &h.Plan, int(h.Timeout.Seconds())
	steps := []payloadStep{{
		Name: "script", Script: slices.Concat(job.BeforeScript, job.Script), Timeout: timeout, When: "on_success",
	}}
	if steps[0].Script == nil {
		steps[0].Script = []string{}
	}
	if job.Release != nil {
		steps = append(steps, payloadStep{Name: "release", Script: []string{releaseCommand(job.Release)}, Timeout: timeout, When: "on_success"})
	}
	if len(job.AfterScript) > 0 {
		steps = append(steps, payloadStep{Name: "after_script", Script: job.AfterScript, Timeout: timeout, When: "always", AllowFailure: true})
	}
	return steps
}

// releaseCommand is the call that makes a release; every value is quoted, for
// it ends up in a shell. Variables in it are the job's to expand.
func releaseCommand(r *ciconfig.Release) string {
	command := []string{"release-cli create"}
	add := func(name, value string) {
		if value != "" {
			command = append(command, name+" "+quote(value))
		}
	}
	add("--name", r.Name)
	add("--description", r.Description)
	add("--tag-name", r.TagName)
	add("--tag-message", r.TagMessage)
	add("--ref", r.Ref)
	add("--released-at", r.ReleasedAt)
	for _, milestone := range r.Milestones {
		add("--milestone", milestone)
	}
	for _, l := range r.Links {
		add("--assets-link", fmt.Sprintf(`{"url":%q,"name":%q,"filepath":%q,"link_type":%q}`, l.URL, l.Name, l.FilePath, l.LinkType))
	}
	return strings.Join(command, " ")
}

// quote makes one word of a text for a shell, in which variables alone keep
// their meaning.
func quote(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "`", "\\`", "$(", `\$(`).Replace(text) + `"`
}

func hooks(job *ciconfig.Job) []payloadHook {
	if len(job.Hooks.PreGetSources) == 0 {
		return []payloadHook{}
	}
	return []payloadHook{{Name: "pre_get_sources_script", Script: job.Hooks.PreGetSources}}
}

func image(i *ciconfig.Image) *payloadImage {
	if i == nil {
		return nil
	}
	p := payloadImage{Name: i.Name, Entrypoint: i.Entrypoint, Ports: []struct{}{}, PullPolicy: i.PullPolicy}
	docker := map[string]string{}
	if i.Platform != "" {
		docker["platform"] = i.Platform
	}
	if i.User != "" {
		docker["user"] = i.User
	}
	if len(docker) > 0 {
		p.ExecutorOpts = &payloadExecutor{Docker: docker}
	}
	return &p
}

func services(list []ciconfig.Service) []payloadImage {
	out := []payloadImage{}
	for _, s := range list {
		p := image(&s.Image)
		p.Alias, p.Command = s.Alias, s.Command
		for _, v := range s.Variables {
			p.Variables = append(p.Variables, Variable{Key: v.Key, Value: v.Value, Public: true, File: v.File, Raw: v.Raw})
		}
		out = append(out, *p)
	}
	return out
}

// reportForms are how runners pack reports and what they call them, where it
// is not as it is for most.
var reportForms = map[string]struct{ name, format string }{
	"junit": {"junit.xml", "gzip"}, "dotenv": {".env", "gzip"}, "cobertura": {"cobertura-coverage.xml", "gzip"},
	"metrics": {"metrics.txt", "gzip"}, "cyclonedx": {"gl-sbom.cdx.json", "gzip"}, "annotations": {"gl-annotations.json", "gzip"},
	"lsif": {"lsif.json", "zip"}, "codequality": {"gl-code-quality-report.json", "raw"}, "terraform": {"tfplan.json", "raw"},
	"accessibility": {"gl-accessibility.json", "raw"}, "performance": {"performance.json", "raw"},
	"load_performance": {"load-performance.json", "raw"}, "requirements": {"requirements.json", "raw"},
	"requirements_v2": {"requirements_v2.json", "raw"}, "sast": {"gl-sast-report.json", "raw"},
	"dependency_scanning": {"gl-dependency-scanning-report.json", "raw"}, "container_scanning": {"gl-container-scanning-report.json", "raw"},
	"dast": {"gl-dast-report.json", "raw"}, "secret_detection": {"gl-secret-detection-report.json", "raw"},
	"api_fuzzing": {"gl-api-fuzzing-report.json", "raw"}, "coverage_fuzzing": {"gl-coverage-fuzzing.json", "raw"},
	"cluster_image_scanning": {"gl-cluster-image-scanning-report.json", "raw"}, "browser_performance": {"browser-performance.json", "raw"},
	"repository_xray": {"gl-repository-xray.json", "raw"},
}

func artifacts(a *ciconfig.Artifacts) []payloadArtifact {
	out := []payloadArtifact{}
	if a == nil {
		return out
	}
	if len(a.Paths) > 0 || a.Untracked {
		out = append(out, payloadArtifact{
			Name: a.Name, Untracked: a.Untracked, Paths: append([]string{}, a.Paths...), Exclude: a.Exclude, When: a.When, ExpireIn: a.ExpireIn,
			Type: "archive", Format: "zip",
		})
	}
	for _, r := range a.Reports {
		form, known := reportForms[r.Type]
		if !known {
			form.format = "raw"
		}
		out = append(out, payloadArtifact{
			Name: form.name, Paths: r.Paths, When: "always", ExpireIn: a.ExpireIn, Type: r.Type, Format: form.format,
		})
	}
	return out
}

// caches gives jobs of protected refs caches of their own, so that nobody who
// may not push there leaves something for them. The keys begin with a number
// that clearing the caches counts up.
func (h *payloadInput) caches() []payloadCache {
	out := []payloadCache{}
	for _, c := range h.Plan.Cache {
		suffix := ""
		if h.SeparateCaches && !c.Unprotect {
			suffix = "-non_protected"
			if h.Git.Protected {
				suffix = "-protected"
			}
		}
		name := func(key string) string {
			if h.CacheIndex > 0 {
				key += "-" + strconv.FormatInt(h.CacheIndex, 10)
			}
			return key + suffix
		}
		key := c.Key
		if key == "" {
			key = "default"
		}
		fallback := []string{}
		for _, k := range c.FallbackKeys {
			fallback = append(fallback, name(k))
		}
		out = append(out, payloadCache{
			Key: name(key), Untracked: c.Untracked, Policy: c.Policy, Paths: append([]string{}, c.Paths...), When: c.When, FallbackKeys: fallback,
		})
	}
	return out
}

// needs are the jobs whose files this one gets. They are fetched with the token
// of this job, which opens them while it runs.
func (h *payloadInput) needs() []payloadNeed {
	out := []payloadNeed{}
	for _, d := range h.Dependencies {
		need := payloadNeed{ID: d.ID, Name: d.Name, Token: h.Token}
		if d.Filename != "" {
			need.ArtifactsFile = &payloadFile{Filename: d.Filename, Size: d.Size}
		}
		out = append(out, need)
	}
	return out
}
