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
	"stithy/internal/pipeline"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
	"stithy/internal/user"
	"stithy/internal/variable"
)

// gather reads all that a runner gets of a job. why is set when the job must
// not run after all.
func (s *Service) gather(ctx context.Context, a *Asking, c *claimed) (given *Payload, why pipeline.Reason, err error) {
	who, p, err := s.person(ctx, c.job)
	if err != nil || who == nil {
		return nil, pipeline.UserBlocked, err
	}
	if feature, lacks := missing(&c.spec.Job, a.Features); lacks {
		s.Log.Info("a runner is too old for a job", "job", c.job.ID, "runner", a.Runner.ID, "feature", feature)
		return nil, pipeline.RunnerUnsupported, nil
	}
	h := Handout{
		Plan: c.spec.Job, JobID: c.job.ID, Token: c.secret.Reveal(), Queued: c.job.StartedAt.Sub(c.queuedAt), Timeout: c.timeout,
		Fetch: p.Settings.BuildGitStrategy != "clone", Pipeline: c.pipeline.ID, SeparateCaches: p.Settings.CISeparatedCaches,
		Git: Git{
			URL: s.cloneURL(p, c.secret.Reveal()), Ref: c.pipeline.Ref, Tag: c.pipeline.Tag, SHA: c.pipeline.SHA, Before: c.pipeline.BeforeSHA,
			Protected: c.protected,
		},
		Project: ProjectFacts{ID: p.ID, Name: p.Name, FullPath: p.FullPath(), NamespaceID: p.NamespaceID, RootNamespace: c.lineage[0]},
		TokenPrefixes: []string{
			s.Names.TokenPrefix(wire.JobToken), s.Names.TokenPrefix(wire.PersonalToken), s.Names.TokenPrefix(wire.DeployToken),
			s.Names.TokenPrefix(wire.RunnerToken), s.Names.TokenPrefix(wire.TriggerToken),
		},
		Accepts: a.Features, Running: c.running,
	}
	repo, err := s.Repositories.Open(ctx, p)
	if err != nil {
		return nil, "", err
	}
	// The runner fetches by this ref, and may be quicker than the job that holds it.
	if !s.Pipelines.Kept(ctx, repo, c.pipeline.ID) {
		if err := s.Pipelines.KeepRef(ctx, pipeline.KeepArgs{PipelineID: c.pipeline.ID, ProjectID: p.ID, SHA: c.pipeline.SHA}); err != nil {
			return nil, "", err
		}
	}
	deps, files, err := s.dependencies(ctx, who, p, c)
	if errors.Is(err, errDependency) {
		return nil, pipeline.MissingDependency, nil
	}
	if err != nil {
		return nil, "", err
	}
	h.Dependencies = deps
	if h.Lists, err = s.lists(ctx, a, c, p, repo, who, files); err != nil {
		return nil, "", err
	}
	if h.IDTokens, err = s.idTokens(ctx, c, p, who, &h.Lists); err != nil {
		return nil, "", err
	}
	h.Depth = depth(&h.Lists, p.Settings.CIDefaultGitDepth)
	built := h.build()
	return &built, "", nil
}

// person is as whom the job runs, nil when that one may not run it any more:
// rights are judged as they are now, not as they were when the job was made.
func (s *Service) person(ctx context.Context, job *pipeline.Job) (*user.User, *project.Project, error) {
	if job.UserID == nil {
		return nil, nil, nil
	}
	u, err := s.Users.Find(ctx, *job.UserID)
	if fault.Is(err, fault.NotFound) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	actor, err := s.Tokens.Admit(u, access.Credential{})
	if _, refused := fault.Of(err); refused {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	p, err := s.Projects.Find(ctx, actor, job.ProjectID)
	if fault.Is(err, fault.NotFound) || (err == nil && !access.Holds(actor, access.CreatePipeline, p.Place())) {
		return nil, nil, nil
	}
	return u, p, err
}

// cloneURL is where a job fetches from, with its token.
func (s *Service) cloneURL(p *project.Project, secret string) string {
	u, err := url.Parse(s.ExternalURL + "/" + p.FullPath() + ".git")
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
}

// dependencies are the jobs whose files this one gets, and all their files.
func (s *Service) dependencies(ctx context.Context, who *user.User, p *project.Project, c *claimed) ([]Dependency, []artifact.File, error) {
	jobs, err := s.before(ctx, who, p, c)
	if err != nil || len(jobs) == 0 {
		return nil, nil, err
	}
	ids := make([]int64, 0, len(jobs))
	for _, j := range jobs {
		if j.Erased {
			return nil, nil, errDependency
		}
		ids = append(ids, j.ID)
	}
	gone, err := s.Artifacts.Expired(ctx, ids...)
	if err != nil {
		return nil, nil, err
	}
	if len(gone) > 0 {
		return nil, nil, errDependency
	}
	files, err := s.Artifacts.Files(ctx, ids...)
	if err != nil {
		return nil, nil, err
	}
	var out []Dependency
	for _, j := range jobs {
		i := slices.IndexFunc(files, func(f artifact.File) bool { return f.JobID == j.ID && f.Type == artifact.Archive })
		if i >= 0 {
			out = append(out, Dependency{ID: j.ID, Name: j.Name, Filename: files[i].Filename, Size: files[i].Size})
		}
	}
	return out, files, nil
}

// before are the jobs whose files were asked for: those that the job needs, or
// all of the earlier stages, or the ones that it lists.
func (s *Service) before(ctx context.Context, who *user.User, p *project.Project, c *claimed) ([]earlier, error) {
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
		if jobs, err = postgres.All[earlier](ctx, s.DB, sqlEarlier, c.pipeline.ID, c.job.ID, names, c.job.StageIndex); err != nil {
			return nil, err
		}
	}
	for _, need := range job.Needs {
		if need.Here() || !need.Artifacts || need.Job == "" {
			continue
		}
		j, err := s.elsewhere(ctx, who, p, c, need)
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
func (s *Service) elsewhere(ctx context.Context, who *user.User, p *project.Project, c *claimed, need ciconfig.Need) (earlier, error) {
	known := c.known(p)
	if need.Project == "" {
		id, err := strconv.ParseInt(ciconfig.Expand(need.Pipeline, known), 10, 64)
		if err != nil {
			return earlier{}, postgres.ErrNoRows
		}
		return postgres.One[earlier](ctx, s.DB, sqlFromPipeline, id, p.ID, ciconfig.Expand(need.Job, known))
	}
	actor := access.Actor{Person: who.Person(), Credential: access.Credential{Kind: access.JobToken, ID: c.job.ID}}
	other, _, err := s.Projects.FindByRef(ctx, actor, ciconfig.Expand(need.Project, known))
	if fault.Is(err, fault.NotFound) || (err == nil && !access.Holds(actor, access.DownloadArtifacts, other.Place())) {
		return earlier{}, postgres.ErrNoRows
	}
	if err != nil {
		return earlier{}, err
	}
	return postgres.One[earlier](ctx, s.DB, sqlFromRef, other.ID, ciconfig.Expand(need.Ref, known), ciconfig.Expand(need.Job, known))
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
	ctx context.Context, a *Asking, c *claimed, p *project.Project, repo *gitstore.Repo, who *user.User, files []artifact.File,
) (l VariableLists, err error) {
	environment := ""
	if c.job.Environment != nil {
		environment = *c.job.Environment
	}
	stored, err := s.Variables.ForJob(ctx, s.DB, variable.Query{
		ProjectID: p.ID, GroupIDs: c.lineage, Protected: c.protected, Environment: environment,
	})
	if err != nil {
		return l, err
	}
	for _, v := range stored {
		l.Stored = append(l.Stored, Variable{
			Key: v.Key, Value: v.Value.Reveal(), Masked: v.Masked, File: v.Type == variable.File, Raw: v.Raw,
		})
	}
	for _, f := range files {
		if f.Type != artifact.Dotenv {
			continue
		}
		pairs, err := s.Artifacts.Dotenv(ctx, f.JobID)
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
		url: s.ExternalURL, job: c.job, spec: c.spec, project: p, runner: &a.Runner, token: c.secret.Reveal(), clone: s.cloneURL(p, c.secret.Reveal()),
		known: s.Pipelines.Predefined(p, c.pipeline, commit, c.protected, who.Person()),
	}
	l.Job, l.Predefined, l.Runner, l.Environment = facts.ofJob(), facts.predefined(), facts.ofRunner(), facts.ofEnvironment()
	given, played, err := s.Pipelines.Given(ctx, s.DB, c.pipeline.ID, c.job.ID)
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
