package project

import (
	"context"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/group"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/platform/postgres"
)

// Repositories is what the room above tells of the code of projects and does
// for them.
type Repositories interface {
	// Digests say what is known of some repositories without opening any. One
	// that is left out is empty.
	Digests(ctx context.Context, ids []int64) (map[int64]Digest, error)
	// Begin makes the first commit of a project that was to have one. Doing it
	// again changes nothing.
	Begin(ctx context.Context, p *Project) error
	// HasBranch reports whether a branch is there, or none is.
	HasBranch(ctx context.Context, p *Project, branch string) (bool, error)
	// FollowHead makes the repository show the project's default branch first.
	FollowHead(ctx context.Context, p *Project) error
}

// Digest is what is known of a repository.
type Digest struct {
	Empty     bool
	Size      int64 // bytes
	Commits   int64
	Languages map[string]float64 // in percent
	Readme    string             // path, or ""
	License   string             // path, or ""
}

// digests are those of a page.
func (s *Service) digests(ctx context.Context, ids []int64) (map[int64]Digest, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	return s.deps.Code.Digests(ctx, ids)
}

func (d Digest) statistics() *statistics {
	return &statistics{CommitCount: d.Commits, RepositorySize: d.Size, StorageSize: d.Size}
}

// begin makes the first commit where one was asked for. What goes wrong is
// left to the job, which was queued with the project.
func (s *Service) begin(ctx context.Context, p *Project) {
	if !p.Settings.InitializeWithReadme {
		return
	}
	if err := s.deps.Code.Begin(ctx, p); err != nil {
		s.deps.Log.Warn("beginning a repository", "project_id", p.ID, "error", err)
	}
}

// checkBranch refuses to show a branch first that is not there.
func (s *Service) checkBranch(ctx context.Context, p *Project, f *fault.Fields) error {
	if p.DefaultBranch == nil {
		return nil
	}
	there, err := s.deps.Code.HasBranch(ctx, p, *p.DefaultBranch)
	if err == nil && !there {
		f.Add("base", "Could not set the default branch. Do you have a branch named '%s' in your repository?", *p.DefaultBranch)
	}
	return err
}

// BranchOf is the branch that is shown first, also while there is none.
func (s *Service) BranchOf(p *Project) string { return s.defaultBranch(p) }

// Known reads a project for a process that acts for nobody.
func (s *Service) Known(ctx context.Context, id int64) (*Project, error) {
	p, err := postgres.One[Project](ctx, s.deps.DB, sqlKnown, id)
	return &p, missing(err)
}

// NotePush marks activity. A branch that became the default one by being the
// first is kept, unless someone has chosen another meanwhile.
func (s *Service) NotePush(ctx context.Context, tx pgx.Tx, id int64, at time.Time, first string) error {
	_, err := tx.Exec(ctx, sqlNotePush, id, at, first)
	return err
}

// ImportBegins notes that a job is fetching the repository from elsewhere.
func (s *Service) ImportBegins(ctx context.Context, id int64) error {
	_, err := s.deps.DB.Exec(ctx, sqlImportBegins, id)
	return err
}

// ImportFailed notes why the repository could not be fetched.
func (s *Service) ImportFailed(ctx context.Context, tx pgx.Tx, id int64, why string) error {
	_, err := tx.Exec(ctx, sqlImportFailed, id, why)
	return err
}

// Imported notes that the repository of a fork or an import is filled.
func (s *Service) Imported(ctx context.Context, tx pgx.Tx, id int64) error {
	_, err := tx.Exec(ctx, sqlImported, id)
	return err
}

// CreateAt makes the private project that somebody pushes to before there is
// one. Where they may not, there is nothing to find.
func (s *Service) CreateAt(ctx context.Context, by access.Actor, path string) (*Project, error) {
	missing := fault.NotFoundf("Project")
	cut := strings.LastIndexByte(path, '/')
	if cut < 0 || !by.SignedIn() || strings.HasSuffix(path, ".wiki") { // that is where the wiki of another is
		return nil, missing
	}
	route, err := group.Walk(ctx, s.deps.DB, path[:cut])
	if err != nil {
		return nil, err
	}
	if route.NamespaceID == 0 || route.ProjectID != 0 {
		return nil, missing
	}
	home, err := s.deps.Groups.Find(ctx, by, route.NamespaceID)
	if err != nil {
		return nil, err
	}
	if !access.Holds(by, access.CreateProject, home.Target()) {
		return nil, missing
	}
	return s.Create(ctx, by, Draft{
		NamespaceID: route.NamespaceID, Attributes: Attributes{Path: new(path[cut+1:]), Visibility: new(access.Private)},
	})
}
