package dispatch

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"stithy/internal/artifact"
	"stithy/internal/ciconfig"
	"stithy/internal/gitstore"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/wire"
	"stithy/internal/oauth"
	"stithy/internal/pipeline"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
	"stithy/internal/variable"
)

// gather reads all that a runner gets of a job. why is set when the job must
// not run after all.
func (s *Service) gather(ctx context.Context, a *JobRequest, c *claimed) (given *Payload, why pipeline.Reason, err error) {
	by, p, err := s.person(ctx, c.job)
	if err != nil || p == nil {
		return nil, pipeline.UserBlocked, err
	}
	stored, may, err := s.deps.Pipelines.VariablesFor(ctx, by, c.on(p))
	if err != nil || !may {
		return nil, pipeline.UserBlocked, err
	}
	if feature, lacks := missing(&c.spec.Job, a.Features); lacks {
		s.deps.Log.Info("a runner is too old for a job", "job", c.job.ID, "runner", a.Runner.ID, "feature", feature)
		return nil, pipeline.RunnerUnsupported, nil
	}
	h := payloadInput{
		Plan: c.spec.Job, JobID: c.job.ID, Token: c.secret.Reveal(), Queued: c.job.StartedAt.Sub(c.queuedAt), Timeout: c.timeout,
		Fetch: p.Settings.BuildGitStrategy != "clone", Pipeline: c.pipeline.ID, SeparateCaches: p.Settings.CISeparatedCaches,
		Git: Git{
			URL: s.cloneURL(p, c.secret.Reveal()), Ref: c.pipeline.Ref, Tag: c.pipeline.Tag, SHA: c.pipeline.SHA, Before: c.pipeline.BeforeSHA,
			Protected: c.protected,
		},
		Project: ProjectFacts{ID: p.ID, Name: p.Name, FullPath: p.FullPath(), NamespaceID: p.NamespaceID, RootNamespace: c.lineage[0]},
		TokenPrefixes: []string{
			s.deps.Names.TokenPrefix(wire.JobToken), s.deps.Names.TokenPrefix(wire.PersonalToken), s.deps.Names.TokenPrefix(wire.DeployToken),
			s.deps.Names.TokenPrefix(wire.RunnerToken), s.deps.Names.TokenPrefix(wire.TriggerToken),
		},
		Accepts: a.Features, Running: c.running,
	}
	repo, err := s.deps.Repositories.Open(ctx, p)
	if err != nil {
		return nil, "", err
	}
	// The runner fetches by this ref, and may be quicker than the job that holds it.
	if !s.deps.Pipelines.Kept(ctx, repo, c.pipeline.ID) {
		if err := s.deps.Pipelines.KeepRef(ctx, pipeline.KeepArgs{PipelineID: c.pipeline.ID, ProjectID: p.ID, SHA: c.pipeline.SHA}); err != nil {
			return nil, "", err
		}
	}
	deps, files, err := s.dependencies(ctx, by, p, c)
	if errors.Is(err, errDependency) {
		return nil, pipeline.MissingDependency, nil
	}
	if err != nil {
		return nil, "", err
	}
	h.Dependencies = deps
	if h.Lists, err = s.lists(ctx, a, c, p, repo, by, stored, files); err != nil {
		return nil, "", err
	}
	h.IDTokens, err = s.idTokens(ctx, c, p, by.Person, &h.Lists)
	if errors.Is(err, oauth.ErrAudience) {
		return nil, pipeline.UnmetPrerequisites, nil
	}
	if err != nil {
		return nil, "", err
	}
	h.Depth = depth(&h.Lists, p.Settings.CIDefaultGitDepth)
	built := h.build()
	if built.debugs() {
		err = s.deps.Pipelines.MarkDebugLog(ctx, c.job.ID)
	}
	return &built, "", err
}

// on is what the job is given variables for.
func (c *claimed) on(p *project.Project) pipeline.On {
	on := pipeline.On{Project: p, Ref: c.pipeline.Ref, Tag: c.pipeline.Tag, Protected: c.protected, Lineage: c.lineage}
	if c.job.Environment != nil {
		on.Environment = *c.job.Environment
	}
	return on
}

// debugs reports whether the log of the job will hold all that it does.
func (p *Payload) debugs() bool {
	var vars ciconfig.Variables
	for _, v := range p.Variables {
		vars = append(vars, ciconfig.Variable{Key: v.Key, Value: v.Value, Raw: v.Raw, File: v.File})
	}
	return pipeline.DebugLog(vars)
}

// person is as whom the job runs. There is no project when that one may not see
// it any more: rights are judged as they are now, not as they were when the job
// was made.
func (s *Service) person(ctx context.Context, job *pipeline.Job) (access.Actor, *project.Project, error) {
	if job.UserID == nil {
		return access.Actor{}, nil, nil
	}
	by, err := s.deps.Tokens.Later(ctx, *job.UserID)
	if _, refused := fault.Of(err); refused {
		return access.Actor{}, nil, nil
	}
	if err != nil {
		return access.Actor{}, nil, err
	}
	p, err := s.deps.Projects.Find(ctx, by, job.ProjectID)
	if fault.Is(err, fault.NotFound) {
		return access.Actor{}, nil, nil
	}
	return by, p, err
}

// cloneURL is where a job fetches from, with its token.
func (s *Service) cloneURL(p *project.Project, secret string) string {
	u, err := url.Parse(s.deps.ExternalURL + "/" + p.FullPath() + ".git")
	if err != nil {
		return ""
	}
	u.User = url.UserPassword(jobUser, secret)
	return u.String()
}

// jobUser is the user name of jobs at the doors of git, whatever the service is
// called: scripts have it written down.
const jobUser = "gitlab-ci-token"

// depth is how much of the history a job gets.
func depth(l *VariableLists, initial *int) int {
	for _, list := range [][]Variable{l.Played, l.Pipeline, l.Stored, l.YAML} {
		for _, v := range slices.Backward(list) {
			if v.Key != "GIT_DEPTH" {
				continue
			}
			if n, err := strconv.Atoi(strings.TrimSpace(v.Value)); err == nil && n >= 0 {
				return n
			}
			return 0
		}
	}
	if initial == nil {
		return 0
	}
	return *initial
}

var errDependency = errors.New("what a job depends on is gone")

// earlier is a job that another depends on.
type earlier struct {
	ID     int64
	Name   string
	Erased bool

	away []artifact.File // of a job of another pipeline: what this one may have
}

// dependencies are the jobs whose files this one gets, and all their files.
func (s *Service) dependencies(ctx context.Context, by access.Actor, p *project.Project, c *claimed) ([]Dependency, []artifact.File, error) {
	jobs, err := s.before(ctx, by, p, c)
	if err != nil || len(jobs) == 0 {
		return nil, nil, err
	}
	var ids, here []int64
	for _, j := range jobs {
		if j.Erased {
			return nil, nil, errDependency
		}
		if ids = append(ids, j.ID); j.away == nil {
			here = append(here, j.ID)
		}
	}
	gone, err := s.deps.Artifacts.Expired(ctx, ids...)
	if err != nil {
		return nil, nil, err
	}
	if len(gone) > 0 {
		return nil, nil, errDependency
	}
	files, err := s.deps.Artifacts.Files(ctx, here...)
	if err != nil {
		return nil, nil, err
	}
	var out []Dependency
	for _, j := range jobs {
		files = append(files, j.away...)
		i := slices.IndexFunc(files, func(f artifact.File) bool { return f.JobID == j.ID && f.Type == artifact.Archive })
		if i >= 0 {
			out = append(out, Dependency{ID: j.ID, Name: j.Name, Filename: files[i].Filename, Size: files[i].Size})
		}
	}
	return out, files, nil
}

// before are the jobs whose files were asked for: those that the job needs, or
// all of the earlier stages, or the ones that it lists.
func (s *Service) before(ctx context.Context, by access.Actor, p *project.Project, c *claimed) ([]earlier, error) {
	job := &c.spec.Job
	var names []string
	if c.spec.Needed != nil {
		names = []string{}
		for _, need := range c.spec.Needed {
			if need.Here() && need.Artifacts {
				names = append(names, need.Job)
			}
		}
	}
	if job.Dependencies != nil {
		listed := job.Dependencies
		if names != nil {
			listed = slices.DeleteFunc(slices.Clone(listed), func(name string) bool { return !slices.Contains(names, name) })
		}
		names = append([]string{}, listed...)
	}
	var jobs []earlier
	var err error
	if len(names) > 0 || (names == nil && c.job.StageIndex > 0) {
		if jobs, err = postgres.All[earlier](ctx, s.deps.DB, sqlEarlier, c.pipeline.ID, c.job.ID, names, c.job.StageIndex); err != nil {
			return nil, err
		}
	}
	for _, need := range job.Needs {
		if need.Here() || !need.Artifacts || need.Job == "" {
			continue
		}
		j, err := s.elsewhere(ctx, by, p, c, need)
		if errors.Is(err, postgres.ErrNoRows) {
			if need.Optional {
				continue
			}
			return nil, errDependency
		}
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, j)
	}
	return jobs, nil
}

// elsewhere finds a needed job of another pipeline or project. Of another
// project it takes the right of whoever runs the job to read there.
func (s *Service) elsewhere(ctx context.Context, by access.Actor, p *project.Project, c *claimed, need ciconfig.Need) (earlier, error) {
	known := c.known(p)
	if need.Project == "" {
		id, err := strconv.ParseInt(ciconfig.Expand(need.Pipeline, known), 10, 64)
		if err != nil {
			return earlier{}, postgres.ErrNoRows
		}
		j, err := postgres.One[earlier](ctx, s.deps.DB, sqlFromPipeline, id, p.ID, ciconfig.Expand(need.Job, known))
		if err != nil {
			return earlier{}, err
		}
		return s.handed(ctx, access.Actor{Person: by.Person}, c, p, j)
	}
	actor := access.Actor{Person: by.Person, Credential: access.Credential{Kind: access.JobToken, ID: c.job.ID}}
	other, _, err := s.deps.Projects.FindByRef(ctx, actor, ciconfig.Expand(need.Project, known))
	if fault.Is(err, fault.NotFound) || (err == nil && !access.Holds(actor, access.DownloadArtifacts, other.Target())) {
		return earlier{}, postgres.ErrNoRows
	}
	if err != nil {
		return earlier{}, err
	}
	j, err := postgres.One[earlier](ctx, s.deps.DB, sqlFromRef, other.ID, ciconfig.Expand(need.Ref, known), ciconfig.Expand(need.Job, known))
	if err != nil {
		return earlier{}, err
	}
	return s.handed(ctx, actor, c, other, j)
}

// handed adds to a job of another pipeline what it left and this one may have.
// One that keeps its archive from whoever runs this job is not found.
func (s *Service) handed(ctx context.Context, by access.Actor, c *claimed, of *project.Project, j earlier) (earlier, error) {
	job, err := s.deps.Pipelines.KnownJob(ctx, s.deps.DB, j.ID)
	if err != nil {
		return earlier{}, err
	}
	if j.away, err = s.deps.Pipelines.HandedTo(ctx, by, c.pipeline.ID, of, job); err != nil {
		return earlier{}, err
	}
	all, err := s.deps.Artifacts.Files(ctx, j.ID)
	if err != nil {
		return earlier{}, err
	}
	if hasArchive(all) && !hasArchive(j.away) {
		return earlier{}, postgres.ErrNoRows
	}
	j.away = append([]artifact.File{}, j.away...)
	return j, nil
}

func hasArchive(files []artifact.File) bool {
	return slices.ContainsFunc(files, func(f artifact.File) bool { return f.Type == artifact.Archive })
}

// known are the variables that names of other pipelines may hold.
func (c *claimed) known(p *project.Project) ciconfig.Variables {
	vars := ciconfig.Variables{
		{Key: "CI_COMMIT_REF_NAME", Value: c.pipeline.Ref}, {Key: "CI_PROJECT_PATH", Value: p.FullPath()},
		{Key: "CI_PROJECT_NAMESPACE", Value: p.NamespaceFullPath}, {Key: "CI_PIPELINE_ID", Value: strconv.FormatInt(c.pipeline.ID, 10)},
	}
	if c.pipeline.ParentID != nil {
		vars = append(vars, ciconfig.Variable{Key: "PARENT_PIPELINE_ID", Value: strconv.FormatInt(*c.pipeline.ParentID, 10)})
	}
	return append(vars, c.spec.Variables...)
}

// lists reads the variables of a job.
func (s *Service) lists(
	ctx context.Context, a *JobRequest, c *claimed, p *project.Project, repo *gitstore.Repo, by access.Actor, stored []variable.Variable, files []artifact.File,
) (l VariableLists, err error) {
	for _, v := range stored {
		l.Stored = append(l.Stored, Variable{
			Key: v.Key, Value: v.Value.Reveal(), Masked: v.Masked, File: v.Type == variable.File, Raw: v.Raw,
		})
	}
	for _, f := range files {
		if f.Type != artifact.Dotenv {
			continue
		}
		pairs, err := s.deps.Artifacts.Dotenv(ctx, f.JobID)
		if err != nil {
			return l, err
		}
		for _, pair := range pairs {
			l.Dotenv = append(l.Dotenv, Variable{Key: pair.Key, Value: pair.Value})
		}
	}
	commit, err := commitOf(ctx, repo, c.pipeline)
	if err != nil {
		return l, err
	}
	facts := &facts{
		url: s.deps.ExternalURL, job: c.job, spec: c.spec, project: p, runner: &a.Runner, token: c.secret.Reveal(), clone: s.cloneURL(p, c.secret.Reveal()),
		known: s.deps.Pipelines.Predefined(p, c.pipeline, commit, c.protected, by.Person),
	}
	l.Job, l.Predefined, l.Runner, l.Environment = facts.ofJob(), facts.predefined(), facts.ofRunner(), facts.ofEnvironment()
	given, played, err := s.deps.Pipelines.Given(ctx, s.deps.DB, c.pipeline.ID, c.job.ID)
	if err != nil {
		return l, err
	}
	l.Pipeline, l.Played = private(given), private(played)
	for _, v := range c.spec.Variables {
		l.YAML = append(l.YAML, Variable{Key: v.Key, Value: v.Value, Public: true, File: v.File, Raw: v.Raw})
	}
	return l, nil
}

// private are variables that people gave to a run.
func private(given []pipeline.Variable) []Variable {
	var list []Variable
	for _, v := range given {
		list = append(list, Variable{Key: v.Key, Value: v.Value, File: v.File, Raw: v.Raw})
	}
	return list
}

// commitOf reads the commit of a pipeline, nil when it is gone.
func commitOf(ctx context.Context, repo *gitstore.Repo, run *pipeline.Pipeline) (*gitstore.Commit, error) {
	if !gitstore.IsOID(run.SHA) {
		return nil, nil
	}
	c, err := repo.Commit(ctx, gitstore.OID(run.SHA))
	if errors.Is(err, gitstore.ErrNotFound) {
		return nil, nil
	}
	return c, err
}
