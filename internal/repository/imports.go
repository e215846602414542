package repository

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"stithy/internal/gitstore"
	"stithy/internal/platform/jobqueue"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
)

// ImportArgs names a project whose repository is to be fetched from elsewhere.
type ImportArgs struct {
	ProjectID int64 `json:"project_id"`
	UserID    int64 `json:"user_id,omitempty"` // who asked for it
}

// Kind names the job.
func (ImportArgs) Kind() string { return "repository_import" }

// Apart shares what is copied by person.
func (a ImportArgs) Apart() (queue string, share int64) { return jobqueue.Imports, a.UserID }

// pendingImport is an import that is not done yet.
type pendingImport struct {
	ProjectID int64
	URL       string
	Login     []byte // sealed
}

// login is what lets us in on the other side.
type login struct {
	User     string `json:"user"`
	Password string `json:"password"`
}

// loginPlace ties a sealed login to its project.
func loginPlace(projectID int64) string { return fmt.Sprintf("repository_imports.login.%d", projectID) }

// OnImportAsked plans a repository that a job fetches from elsewhere.
func (s *Service) OnImportAsked(ctx context.Context, tx pgx.Tx, e project.ImportAsked) error {
	var sealed []byte
	if e.Import.User != "" || e.Import.Password != "" {
		text, err := json.Marshal(login{User: e.Import.User, Password: e.Import.Password.Reveal()})
		if err != nil {
			return err
		}
		if sealed, err = s.deps.Box.Seal(text, loginPlace(e.Project.ID)); err != nil {
			return err
		}
	}
	if _, err := tx.Exec(ctx, sqlPlan, e.Project.ID, s.storage(), Importing, s.deps.Clock.Now()); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, sqlPlanImport, e.Project.ID, e.Import.URL, sealed, s.deps.Clock.Now()); err != nil {
		return err
	}
	return s.deps.Queue.Insert(ctx, tx, ImportArgs{ProjectID: e.Project.ID, UserID: creator(e.Project)}, jobqueue.Unique())
}

// creator is who made a project, or 0.
func creator(p *project.Project) int64 {
	if p.CreatorID == nil {
		return 0
	}
	return *p.CreatorID
}

// fetch works an import. What is wrong on the other side is final and told; what
// is wrong on ours is tried again. Everything the fetch reaches, it reaches
// through the guard.
func (s *Service) fetch(ctx context.Context, args ImportArgs) error {
	plan, err := postgres.One[pendingImport](ctx, s.deps.DB, sqlPendingImport, args.ProjectID)
	if errors.Is(err, postgres.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	p, err := s.deps.Projects.Known(ctx, args.ProjectID)
	if err != nil {
		return gone(err)
	}
	row, err := s.Find(ctx, p)
	if err != nil {
		return err
	}
	remote := gitstore.Remote{URL: plan.URL}
	if plan.Login != nil {
		text, err := s.deps.Box.Open(plan.Login, loginPlace(p.ID))
		if err != nil {
			return err
		}
		var known login
		if err := json.Unmarshal(text, &known); err != nil {
			return err
		}
		remote.User, remote.Password = known.User, known.Password
	}
	if err := s.deps.Projects.ImportBegins(ctx, p.ID); err != nil {
		return err
	}
	repo := s.deps.Store.Repo(row.Key())
	if err := repo.Create(ctx, s.deps.Projects.BranchOf(p)); err != nil {
		return err
	}
	head, err := s.fetchGuarded(ctx, repo, remote)
	switch {
	case errors.Is(err, gitstore.ErrUnavailable), ctx.Err() != nil:
		return err
	case err != nil:
		return s.endImport(ctx, p.ID, Failed, false, "", why(err))
	}
	branches, _, err := repo.Refs(ctx, gitstore.RefQuery{Prefix: gitstore.Branches, Limit: 1})
	if err != nil {
		return err
	}
	if head != "" {
		if err := repo.SetHead(ctx, head); err != nil {
			return err
		}
	}
	return s.endImport(ctx, p.ID, Ready, len(branches) == 0, head, "")
}

func (s *Service) fetchGuarded(ctx context.Context, repo *gitstore.Repo, remote gitstore.Remote) (head string, err error) {
	proxy, err := s.deps.Outbound.Proxy(ctx)
	if err != nil {
		return "", fmt.Errorf("%w: %w", gitstore.ErrUnavailable, err)
	}
	defer proxy.Close()
	remote.Proxy = proxy.URL.String()
	return repo.Import(ctx, remote)
}

// why says in words for people what was wrong on the other side, and nothing
// that git said, which may name addresses and files.
func why(err error) string {
	switch {
	case errors.Is(err, gitstore.ErrTooLarge):
		return "The repository is larger than this instance takes."
	case errors.Is(err, gitstore.ErrTimeout):
		return "The other side took too long to answer."
	case errors.Is(err, gitstore.ErrCorrupt):
		return "The repository is damaged."
	}
	return "The repository could not be fetched. Check that the address is that of a git repository and that the login in it is right."
}

func (s *Service) endImport(ctx context.Context, projectID int64, state State, empty bool, head, failure string) error {
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlEndImport, projectID, state, empty); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, sqlForgetImport, projectID); err != nil {
			return err
		}
		if state == Failed {
			return s.deps.Projects.ImportFailed(ctx, tx, projectID, failure)
		}
		if !empty {
			if err := s.deps.Projects.NotePush(ctx, tx, projectID, s.deps.Clock.Now(), head); err != nil {
				return err
			}
			if err := s.deps.Queue.Insert(ctx, tx, MaintainArgs{ProjectID: projectID}, jobqueue.Unique()); err != nil {
				return err
			}
		}
		return s.deps.Projects.Imported(ctx, tx, projectID)
	})
}
