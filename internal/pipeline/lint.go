package pipeline

import (
	"context"
	"errors"
	"strings"

	"stithy/internal/ciconfig"
	"stithy/internal/gitstore"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/project"
)

// LintQuery says which configuration is checked.
type LintQuery struct {
	Content  *string // instead of the project's own
	Revision string  // whose file it is; the default branch when empty
	Ref      string  // that a pipeline is planned for; the default branch when empty
	DryRun   bool
}

// Lint is what there is to say of a configuration.
type Lint struct {
	Problems []string
	Found    []ciconfig.Problem // the same with their places, as far as these are known
	Config   *ciconfig.Config
	Merged   []byte         // the configuration in one piece
	Plan     *ciconfig.Plan // of a dry run
}

// Lint checks a configuration with the rights of whoever asks. Who may not run
// pipelines on the ref has it checked without variables.
func (s *Service) Lint(ctx context.Context, by access.Actor, p *project.Project, q LintQuery) (*Lint, error) {
	repo, err := s.deps.Repositories.Open(ctx, p)
	if err != nil {
		return nil, err
	}
	ref := q.Ref
	if ref == "" {
		ref = s.deps.Projects.BranchOf(p)
	}
	revision := q.Revision
	if revision == "" {
		revision = ref
	}
	missing := fault.NotFoundf("Commit")
	c := &createContext{project: p, repo: repo}
	sha, err := s.deps.Repositories.Revision(ctx, repo, p, revision)
	if err == nil {
		c.commit, err = repo.Commit(ctx, sha)
	}
	switch {
	case fault.Is(err, fault.NotFound), errors.Is(err, gitstore.ErrNotFound), errors.Is(err, gitstore.ErrInvalid):
		if q.Content == nil {
			return nil, missing
		}
		c.commit = &gitstore.Commit{} // an empty repository: what is local is not there
	case err != nil:
		return nil, err
	}
	name, tag := gitstore.ShortRef(ref), strings.HasPrefix(ref, gitstore.Tags)
	if _, err := repo.Ref(ctx, gitstore.Tags+ref); err == nil {
		tag = true
	}
	if c.protected, err = s.deps.Protection.ProtectedRef(ctx, s.deps.DB, p.ID, name, tag); err != nil {
		return nil, err
	}
	c.pipeline = Pipeline{
		ProjectID: p.ID, SHA: string(c.commit.ID), BeforeSHA: string(gitstore.Zero), Ref: name, Tag: tag, Source: FromPush, CreatedAt: s.deps.Clock.Now(),
	}
	if err := s.gather(ctx, by, c); err != nil {
		return nil, err
	}
	w := CreateRequest{Source: FromPush, place: ciconfig.Place{Project: p.FullPath(), ProjectID: p.ID, SHA: c.pipeline.SHA}}
	var content []byte
	if q.Content != nil {
		content = []byte(*q.Content)
	} else if _, content, err = s.configuration(ctx, by, c, &w); err != nil {
		if errors.Is(err, errTooLarge) {
			return &Lint{Problems: []string{textOf(err)}}, nil
		}
		if errors.Is(err, errNoConfig) {
			return &Lint{Problems: []string{"Please provide content of " + s.ConfigPath(p)}}, nil
		}
		return nil, err
	}
	seat, err := s.takeSeat(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { seat.end() }()
	ctx, cancel := context.WithTimeout(ctx, fetchAll)
	defer cancel()
	src := s.filesFor(by)
	src.seat = seat
	src.remote = access.Holds(by, access.CreatePipeline, p.Target())
	config, problems, err := ciconfig.Load(ctx, src, ciconfig.LoadOptions{Content: content, Name: s.ConfigPath(p), Place: w.place, Facts: c.facts})
	if err != nil {
		return nil, err
	}
	if config != nil && !c.given {
		config.Warnings = append(config.Warnings, ciconfig.Problem{
			Message: "Variables of the project, its groups and the instance were left out: you may not run pipelines on '" + name + "'.",
		})
	}
	l := &Lint{Problems: messages(problems), Found: problems, Config: config}
	if config != nil {
		l.Merged = config.Merged()
	}
	if len(problems) > 0 || !q.DryRun {
		return l, nil
	}
	l.Plan, problems = config.Plan(c.facts)
	l.Problems, l.Found = messages(problems), problems
	if l.Plan != nil && len(problems) == 0 {
		switch l.Plan.Outcome {
		case ciconfig.Filtered:
			l.Problems = []string{"Pipeline filtered out by workflow rules."}
		case ciconfig.NoJobs:
			l.Problems = []string{"Pipeline will not run for the selected trigger. The rules configuration prevented any jobs from being added to the pipeline."}
		}
	}
	return l, nil
}
