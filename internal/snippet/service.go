package snippet

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/gitstore"
	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/wire"
	"stithy/internal/owner"
	"stithy/internal/platform/clock"
	"stithy/internal/platform/deps"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
	"stithy/internal/repository"
	"stithy/internal/setting"
	"stithy/internal/user"
)

// Deps is what the room needs from below.
type Deps struct {
	DB           *postgres.DB
	Bus          *bus.Bus
	Settings     *setting.Service
	Users        *user.Service
	Projects     *project.Service
	Repositories *repository.Service
	Clock        clock.Clock
	ExternalURL  string
	Names        wire.Names
}

// Service is the use cases of snippets.
type Service struct{ deps Deps }

// New puts the room together.
func New(d Deps) *Service { return &Service{deps: deps.Complete(d)} }

var (
	errMissing   = fault.NotFoundf("Snippet")
	errMissingIn = fault.WithMessage(fault.NotFound, "404 Not found") // the words that clients of projects' snippets know
	errExternal  = fault.New(fault.Forbidden)
	errChanged   = fault.WithMessage(fault.Conflict, "Somebody changed this snippet meanwhile, and it was left as it is now.")
)

// Place is a snippet with its project, which is nil for a personal snippet.
type Place struct {
	*Snippet
	Project *project.Project
}

// Find reads a snippet that an actor may read.
func (s *Service) Find(ctx context.Context, by access.Actor, id int64) (Place, error) {
	found, err := postgres.One[Snippet](ctx, s.deps.DB, sqlFind, id)
	if errors.Is(err, postgres.ErrNoRows) {
		return Place{}, errMissing
	}
	if err != nil {
		return Place{}, err
	}
	at := Place{Snippet: &found}
	if found.ProjectID != nil {
		at.Project, err = s.deps.Projects.Find(ctx, by, *found.ProjectID)
		if fault.Is(err, fault.NotFound) {
			return Place{}, errMissing
		}
		if err != nil {
			return Place{}, err
		}
	}
	if !MayRead(by, at.Project, at.Snippet) {
		return Place{}, errMissing
	}
	return at, nil
}

// FindIn reads a snippet of a project that the actor sees.
func (s *Service) FindIn(ctx context.Context, by access.Actor, p *project.Project, id int64) (Place, error) {
	found, err := postgres.One[Snippet](ctx, s.deps.DB, sqlFind, id)
	if err != nil && !errors.Is(err, postgres.ErrNoRows) {
		return Place{}, err
	}
	if err != nil || found.ProjectID == nil || *found.ProjectID != p.ID || !MayRead(by, p, &found) {
		return Place{}, errMissingIn
	}
	return Place{&found, p}, nil
}

// Lock holds a snippet of a project that the actor may read for the rest of a transaction.
func Lock(ctx context.Context, tx pgx.Tx, by access.Actor, p *project.Project, id int64) (*Snippet, error) {
	held, err := postgres.One[Snippet](ctx, tx, sqlLock, id)
	if err == nil && (held.ProjectID == nil || *held.ProjectID != p.ID || !MayRead(by, p, &held)) {
		err = errMissing
	}
	return &held, found(err)
}

// Draft is a snippet that is to be created.
type Draft struct {
	Title       string
	Description *string
	Visibility  access.Visibility
	Files       []File
	UserAgent   string
}

// Create makes a snippet in two steps: first a row that nobody sees, then a commit with its files. OnTextPushed makes the row visible in the
// transaction of that commit, so nobody sees a snippet without files.
func (s *Service) Create(ctx context.Context, by access.Actor, p *project.Project, d Draft) (Place, error) {
	made := Snippet{AuthorID: new(by.ID()), Title: d.Title, Description: d.Description, Visibility: d.Visibility}
	if p == nil && !MayKeep(by) {
		return Place{}, errExternal
	}
	if err := s.checkRestricted(by, d.Visibility); err != nil {
		return Place{}, err
	}
	if err := made.check(); err != nil {
		return Place{}, err
	}
	edits, err := s.edits(d.Files)
	if err != nil {
		return Place{}, err
	}
	if p != nil {
		made.ProjectID = &p.ID
	}
	err = s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		if p != nil {
			if err := owner.Hold(ctx, tx, p.Entity()); err != nil {
				return err
			}
		}
		if made.RepositoryID, err = s.deps.Repositories.PlanText(ctx, tx, MaxFiles); err != nil {
			return err
		}
		made.ID, err = postgres.Value[int64](ctx, tx, sqlInsert, made.AuthorID, made.ProjectID, made.RepositoryID, made.Title, made.Description,
			made.Visibility, cut(d.UserAgent, maxUserAgent), by.Address.String(), s.deps.Clock.Now())
		return err
	})
	if err != nil {
		return Place{}, err
	}
	if err := s.commit(ctx, by, &made, "Initial commit", edits); err != nil {
		return Place{}, err
	}
	made, err = postgres.One[Snippet](ctx, s.deps.DB, sqlFind, made.ID)
	return Place{&made, p}, err
}

// maxUserAgent is how many characters are kept of what a client says of itself.
const maxUserAgent = 1000

// cut makes a text one that PostgreSQL stores, of so many characters at the most.
func cut(text string, most int) string {
	text = strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", ""), "")
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most])
	}
	return text
}

// checkRestricted refuses visibilities that the instance leaves to administrators.
func (s *Service) checkRestricted(by access.Actor, v access.Visibility) error {
	if !by.Admin() && slices.Contains(s.deps.Settings.Current().RestrictedVisibilityLevels, v.String()) {
		return fault.Within(fault.Forbidden, "error", "Visibility level %s has been restricted by your %s administrator", v, s.deps.Names.Text())
	}
	return nil
}

// edits checks edits of files and converts them to what gitstore takes.
func (s *Service) edits(files []File) ([]gitstore.Change, error) {
	if err := checkEdits(files, s.deps.Settings.Current().SnippetSizeLimit); err != nil {
		return nil, err
	}
	all := make([]gitstore.Change, len(files))
	for i, f := range files {
		all[i] = f.change()
		if !ValidPath(f.Path) || (all[i].From != "" && gitstore.CheckPath(all[i].From) != nil) {
			return nil, fault.WithMessage(fault.BadParams, "files[%d][file_path] should be a valid file path", i)
		}
	}
	return all, nil
}

// commit changes the files of a snippet. A refusal by git becomes an error in the form that clients of snippets expect.
func (s *Service) commit(ctx context.Context, by access.Actor, of *Snippet, message string, edits []gitstore.Change) error {
	_, err := s.deps.Repositories.CommitText(ctx, by, of.RepositoryID, message,
		func(context.Context, *gitstore.Repo, gitstore.OID) ([]gitstore.Change, error) { return edits, nil })
	if f, told := fault.Of(err); told && f.Kind == fault.Rejected {
		return refused("%s", f.Error())
	}
	return err
}

// Update changes a snippet: first its files, in a commit, then the rest, in a transaction. If it fails in between, the same call may be repeated.
func (s *Service) Update(ctx context.Context, by access.Actor, at Place, c Change) (Place, error) {
	if c.Visibility != nil && *c.Visibility != at.Visibility {
		if err := s.checkRestricted(by, *c.Visibility); err != nil {
			return Place{}, err
		}
	}
	become := *at.Snippet
	if err := c.apply(&become); err != nil { // before the files are changed; below it is applied to the row as it is then
		return Place{}, err
	}
	if len(c.Files) > 0 {
		edits, err := s.edits(c.Files)
		if err != nil {
			return Place{}, err
		}
		if err := s.commitSeen(ctx, by, at.Snippet, c.Seen, edits); err != nil {
			return Place{}, err
		}
		c.Seen = time.Time{}
	}
	err := s.deps.DB.InTx(ctx, func(tx pgx.Tx) (err error) {
		if become, err = postgres.One[Snippet](ctx, tx, sqlLock, at.ID); err != nil {
			return found(err)
		}
		if !c.Seen.IsZero() && !c.Seen.Equal(become.UpdatedAt) {
			return errChanged
		}
		if c.Title == nil && c.Description == nil && c.Visibility == nil {
			return nil // OnTextPushed has published the change of the files
		}
		if err := c.apply(&become); err != nil {
			return err
		}
		become.UpdatedAt = s.deps.Clock.Now()
		if _, err := tx.Exec(ctx, sqlUpdate, become.ID, become.Title, become.Description, become.Visibility, become.UpdatedAt); err != nil {
			return err
		}
		return s.deps.Bus.Publish(ctx, tx, Event{Action: Updated, By: by, Snippet: become})
	})
	return Place{&become, at.Project}, err
}

// commitSeen changes the files of a snippet that is still as its writer saw it; the zero time is whatever it is. The time of the last change is
// moved on before the commit, so that of several who saw the same one passes, and back when nothing was committed.
func (s *Service) commitSeen(ctx context.Context, by access.Actor, of *Snippet, seen time.Time, edits []gitstore.Change) error {
	if seen.IsZero() {
		return s.commit(ctx, by, of, "Update snippet", edits)
	}
	claimed, err := postgres.Value[time.Time](ctx, s.deps.DB, sqlClaim, of.ID, seen, s.deps.Clock.Now())
	if errors.Is(err, postgres.ErrNoRows) {
		return errChanged
	} else if err != nil {
		return err
	}
	if err := s.commit(ctx, by, of, "Update snippet", edits); err != nil {
		_, back := s.deps.DB.Exec(context.WithoutCancel(ctx), sqlUnclaim, of.ID, claimed, seen)
		return errors.Join(err, back)
	}
	return nil
}

// apply makes the changes to a snippet in memory and checks the result.
func (c Change) apply(s *Snippet) error {
	if c.Title != nil {
		s.Title = *c.Title
	}
	if c.Description != nil {
		s.Description = *c.Description
	}
	if c.Visibility != nil {
		s.Visibility = *c.Visibility
	}
	return s.check()
}

func found(err error) error {
	if errors.Is(err, postgres.ErrNoRows) {
		return errMissing
	}
	return err
}

// Delete removes a snippet. A job removes its repository.
func (s *Service) Delete(ctx context.Context, by access.Actor, at Place) error {
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		was, err := postgres.One[Snippet](ctx, tx, sqlLock, at.ID)
		if err != nil {
			return found(err)
		}
		if _, err := tx.Exec(ctx, sqlDelete, was.ID); err != nil {
			return err
		}
		return s.deps.Bus.Publish(ctx, tx, Event{Action: Deleted, By: by, Snippet: was})
	})
}

// Agent is the client that a snippet was made with, and its address.
type Agent struct{ UserAgent, IPAddress string }

// Agent reads which client made a snippet. It is for administrators: they look for spam.
func (s *Service) Agent(ctx context.Context, id int64) (Agent, error) {
	a, err := postgres.One[Agent](ctx, s.deps.DB, sqlUserAgent, id)
	return a, found(err)
}

// OnTextPushed stores which files a snippet has. The first push makes the snippet visible.
func (s *Service) OnTextPushed(ctx context.Context, tx pgx.Tx, e repository.TextPushed) error {
	was, err := postgres.One[struct {
		ID    int64
		Ready bool
	}](ctx, tx, sqlPushed, e.TextID, e.Files, s.deps.Clock.Now())
	if errors.Is(err, postgres.ErrNoRows) {
		return nil // the repository is of a wiki, or the snippet is being deleted
	}
	if err != nil {
		return err
	}
	now, err := postgres.One[Snippet](ctx, tx, sqlFind, was.ID)
	if err != nil {
		return err
	}
	action := Updated
	if !was.Ready {
		action = Created
	}
	return s.deps.Bus.Publish(ctx, tx, Event{Action: action, By: e.By, Snippet: now})
}

// OnUserRemoving removes the personal snippets of an account. Snippets of projects stay, without an author.
func (s *Service) OnUserRemoving(ctx context.Context, tx pgx.Tx, e user.Removing) error {
	_, err := tx.Exec(ctx, sqlDropPersonal, e.UserID)
	return err
}

// Path is the path of a snippet's repository for git clients.
func Path(at Place) string {
	path := "snippets/" + strconv.FormatInt(at.ID, 10)
	if at.Project != nil {
		path = at.Project.FullPath() + "/" + path
	}
	return path
}
