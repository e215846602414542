package repository

import (
	"context"
	"errors"
	"math"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/gitstore"
	"stithy/internal/kit/fault"
	"stithy/internal/platform/jobqueue"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
)

// Digests say what is known of some repositories.
func (s *Service) Digests(ctx context.Context, ids []int64) (map[int64]project.Digest, error) {
	rows, err := postgres.All[struct {
		ProjectID   int64
		Empty       bool
		Size        int64
		CommitCount int64
		Languages   map[string]float64
		Readme      *string
		License     *string
	}](ctx, s.deps.DB, sqlDigests, ids)
	all := make(map[int64]project.Digest, len(rows))
	for _, r := range rows {
		d := project.Digest{Empty: r.Empty, Size: r.Size, Commits: r.CommitCount, Languages: r.Languages}
		if r.Readme != nil {
			d.Readme = *r.Readme
		}
		if r.License != nil {
			d.License = *r.License
		}
		all[r.ProjectID] = d
	}
	return all, err
}

// SurveyArgs names a repository whose code is to be looked at.
type SurveyArgs struct {
	ProjectID int64 `json:"project_id"`
}

// Kind names the job.
func (SurveyArgs) Kind() string { return "repository_survey" }

// surveyDelay lets pushes in a row be followed by one survey.
const surveyDelay = 5 * time.Second

// OnPushed has the code looked at.
func (s *Service) OnPushed(ctx context.Context, tx pgx.Tx, e Pushed) error {
	at := jobqueue.At(s.deps.Clock.Now().Add(surveyDelay))
	return s.deps.Queue.Insert(ctx, tx, SurveyArgs{ProjectID: e.Project.ID}, jobqueue.Unique(), at)
}

func (s *Service) survey(ctx context.Context, args SurveyArgs) error {
	return s.withProject(ctx, args.ProjectID, s.Survey)
}

// Survey notes size, commits, languages, readme and license of a repository as
// its default branch is now.
func (s *Service) Survey(ctx context.Context, p *project.Project) error {
	repo, err := s.Open(ctx, p)
	if err != nil {
		return err
	}
	state, err := repo.Measure(ctx)
	if err != nil {
		return err
	}
	tip, err := repo.Ref(ctx, gitstore.Branches+s.deps.Projects.BranchOf(p))
	if errors.Is(err, gitstore.ErrNotFound) {
		_, err = s.deps.DB.Exec(ctx, sqlSurveyed, p.ID, state.Size, 0, map[string]float64{}, nil, nil)
		return err
	}
	if err != nil {
		return err
	}
	commits, err := repo.Count(ctx, gitstore.LogQuery{From: []gitstore.OID{tip.Target}}, maxCount)
	if err != nil {
		return err
	}
	top, err := repo.Tree(ctx, tip.Target, "")
	if err != nil {
		return err
	}
	sizes, err := s.sizes(ctx, repo, tip.Target)
	if err != nil {
		return err
	}
	_, err = s.deps.DB.Exec(ctx, sqlSurveyed, p.ID, state.Size, commits, shares(sizes), named(top, "readme"), named(top, "license", "licence", "copying"))
	return err
}

// surveyed is how many files are looked at.
const surveyed = 20_000

// sizes adds up the bytes of each language by the names of files. What others
// wrote, what was made by programs and what is prose does not count.
func (s *Service) sizes(ctx context.Context, repo *gitstore.Repo, commit gitstore.OID) (map[string]int64, error) {
	files, _, err := repo.Walk(ctx, commit, "", "", surveyed)
	if err != nil {
		return nil, err
	}
	sizes, known := map[string]int64{}, s.languages()
	for _, f := range files {
		if f.Mode != gitstore.FileMode && f.Mode != gitstore.ExecMode {
			continue
		}
		language := known.of(f.Path)
		if language == "" || !known.counts(f.Path) {
			continue
		}
		object, err := repo.Stat(ctx, f.ID)
		if err != nil {
			return nil, err
		}
		sizes[language] += object.Size
	}
	return sizes, nil
}

// shares are percentages, to the hundredth.
func shares(sizes map[string]int64) map[string]float64 {
	var total int64
	for _, n := range sizes {
		total += n
	}
	all := map[string]float64{}
	for language, n := range sizes {
		if share := math.Round(float64(n)/float64(max(total, 1))*10_000) / 100; share > 0 {
			all[language] = share
		}
	}
	return all
}

// named is the file at the top whose name is one of these, whatever its
// ending; a plain name or Markdown comes before others.
func named(top []gitstore.Entry, names ...string) *string {
	rank := func(e gitstore.Entry) int {
		base := strings.ToLower(e.Name())
		ending := path.Ext(base)
		if e.Mode.Kind() != gitstore.BlobKind || len(e.Path) > 255 || !slices.Contains(names, strings.TrimSuffix(base, ending)) {
			return 0
		}
		return map[string]int{".md": 4, ".markdown": 3, "": 2}[ending] + 1
	}
	best, at := 0, -1
	for i, e := range top {
		if r := rank(e); r > best {
			best, at = r, i
		}
	}
	if at < 0 {
		return nil
	}
	return &top[at].Path
}

// BeginArgs names a project whose repository is to begin with a commit.
type BeginArgs struct {
	ProjectID int64 `json:"project_id"`
}

// Kind names the job.
func (BeginArgs) Kind() string { return "repository_begin" }

// HeadArgs names a project whose default branch was changed.
type HeadArgs struct {
	ProjectID int64 `json:"project_id"`
}

// Kind names the job.
func (HeadArgs) Kind() string { return "repository_head" }

// beginDelay is how long the process that made a project has to begin its
// repository before a job does.
const beginDelay = 30 * time.Second

// OnProject leaves jobs behind for what a process may not live to do.
func (s *Service) OnProject(ctx context.Context, tx pgx.Tx, e project.Event) error {
	later := jobqueue.At(s.deps.Clock.Now().Add(beginDelay))
	switch {
	case e.Action == project.Created && e.Project.Settings.InitializeWithReadme:
		return s.deps.Queue.Insert(ctx, tx, BeginArgs{ProjectID: e.Project.ID}, jobqueue.Unique(), later)
	case e.Action == project.DefaultBranchChanged:
		return s.deps.Queue.Insert(ctx, tx, HeadArgs{ProjectID: e.Project.ID}, jobqueue.Unique(), later)
	}
	return nil
}

// withProject works on a project that may be gone.
func (s *Service) withProject(ctx context.Context, id int64, do func(context.Context, *project.Project) error) error {
	p, err := s.deps.Projects.Known(ctx, id)
	if err != nil {
		return gone(err)
	}
	return do(ctx, p)
}

// Begin makes the first commit of a project: a readme that says its name.
func (s *Service) Begin(ctx context.Context, p *project.Project) error {
	if empty, err := s.Empty(ctx, p); err != nil || !empty {
		return err
	}
	by, err := s.maker(ctx, p)
	if err != nil {
		return err
	}
	who, err := s.Signature(ctx, by)
	if err != nil {
		return err
	}
	a, err := s.BeginPush(ctx, by, p, ViaJob)
	if err != nil {
		return err
	}
	defer a.Close()
	text := "# " + p.Name + "\n"
	if p.Description != "" {
		text += "\n" + p.Description + "\n"
	}
	staged, err := a.Repo.Stage(ctx, gitstore.Draft{
		Base: gitstore.EmptyTree, Changes: []gitstore.Change{{Path: "README.md", Content: []byte(text), Create: true}},
		Author: who, Committer: who, Message: "Initial commit",
	})
	if err != nil {
		return err
	}
	defer a.Repo.Discard(staged.Quarantine)
	err = a.Move(ctx, staged.Quarantine, gitstore.RefUpdate{Name: gitstore.Branches + s.deps.Projects.BranchOf(p), Old: gitstore.Zero, New: staged.ID})
	if errors.Is(err, gitstore.ErrConflict) {
		return nil // someone was here before
	}
	return err
}

// HasBranch reports whether a branch is there. In an empty repository any
// branch may become the default one.
func (s *Service) HasBranch(ctx context.Context, p *project.Project, branch string) (bool, error) {
	row, err := s.Find(ctx, p)
	if err != nil || row.Empty {
		return err == nil, err
	}
	repo, err := s.open(ctx, p, row)
	if err != nil {
		return false, err
	}
	_, err = repo.Ref(ctx, gitstore.Branches+branch)
	if isMissing(err) {
		return false, nil
	}
	return err == nil, err
}

// FollowHead makes HEAD name the default branch of the project.
func (s *Service) FollowHead(ctx context.Context, p *project.Project) error {
	repo, err := s.Open(ctx, p)
	if fault.Is(err, fault.Unavailable) || fault.Is(err, fault.NotFound) {
		return nil // its HEAD is set when it is filled
	}
	if err != nil {
		return err
	}
	return repo.SetHead(ctx, s.deps.Projects.BranchOf(p))
}
