package wiki

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"path"
	"strings"

	"github.com/jackc/pgx/v5"

	"stithy/internal/gitstore"
	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/fault"
	"stithy/internal/markdown"
	"stithy/internal/owner"
	"stithy/internal/platform/clock"
	"stithy/internal/platform/deps"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/sorting"
	"stithy/internal/repository"
	"stithy/internal/setting"
	"stithy/internal/upload"
	"stithy/internal/user"
)

// Deps is what the room needs from below.
type Deps struct {
	DB           *postgres.DB
	Bus          *bus.Bus
	Settings     *setting.Service
	Users        *user.Service
	Owners       *owner.Service
	Repositories *repository.Service
	Markdown     *markdown.Service
	Clock        clock.Clock
	ExternalURL  string
}

// Service is the use cases of wikis.
type Service struct{ deps Deps }

// New puts the room together.
func New(d Deps) *Service { return &Service{deps: deps.Complete(d)} }

var (
	errMissing   = fault.NotFoundf("Wiki Page")
	errDuplicate = fault.Field("base", "Duplicate page: A page with that title already exists")
	errRaced     = errors.New("another request made the wiki at the same time")
	errChanged   = fault.WithMessage(fault.Conflict, "Somebody changed this page meanwhile, and it was left as it is now.")
)

// repositoryOf is the id of the repository of a wiki; 0 if it has none yet.
func (s *Service) repositoryOf(ctx context.Context, of bus.Entity) (int64, error) {
	namespaceID, projectID := owner.Keys(of)
	id, err := postgres.Value[int64](ctx, s.deps.DB, sqlFind, namespaceID, projectID)
	if errors.Is(err, postgres.ErrNoRows) {
		return 0, nil
	}
	return id, err
}

// ensureRepository is repositoryOf for a write: the first one makes the repository.
func (s *Service) ensureRepository(ctx context.Context, of bus.Entity) (int64, error) {
	if id, err := s.repositoryOf(ctx, of); err != nil || id != 0 {
		return id, err
	}
	var id int64
	err := s.deps.DB.InTx(ctx, func(tx pgx.Tx) (err error) {
		if err := owner.Hold(ctx, tx, of); err != nil {
			return err
		}
		if id, err = s.deps.Repositories.PlanText(ctx, tx, 0); err != nil {
			return err
		}
		namespaceID, projectID := owner.Keys(of)
		tag, err := tx.Exec(ctx, sqlInsert, namespaceID, projectID, id, s.deps.Clock.Now())
		if err == nil && tag.RowsAffected() == 0 {
			err = errRaced
		}
		return err
	})
	if errors.Is(err, errRaced) {
		return s.repositoryOf(ctx, of)
	}
	return id, err
}

// tip is the repository of a wiki and its newest commit; nil and EmptyTree if it has none yet.
func (s *Service) tip(ctx context.Context, of bus.Entity) (*gitstore.Repo, gitstore.OID, error) {
	id, err := s.repositoryOf(ctx, of)
	if err != nil || id == 0 {
		return nil, gitstore.EmptyTree, err
	}
	return s.deps.Repositories.Tip(ctx, id)
}

// Limits on one list of all pages.
const (
	maxFiles   = 20_000
	maxPages   = 5_000
	maxContent = 8 << 20 // bytes of all pages together
)

var errTooMuch = fault.WithMessage(fault.TooLarge, "The pages of this wiki are too large for one answer. Read them one by one.")

var errTooLarge = fault.WithMessage(fault.TooLarge, "The page is larger than pages of a wiki may be. Clone the wiki to read it.")

// Pages lists the pages of a wiki by their titles. Their content is read only if content is true.
func (s *Service) Pages(ctx context.Context, of bus.Entity, content bool) ([]Page, error) {
	repo, commit, err := s.tip(ctx, of)
	if err != nil || commit == gitstore.EmptyTree {
		return nil, err
	}
	files, _, err := repo.Walk(ctx, commit, "", "", maxFiles)
	if err != nil {
		return nil, repository.Found(err, "Wiki Page")
	}
	var pages []Page
	for _, f := range files {
		if p, ok := pageAt(f); ok && len(pages) < maxPages {
			p.Commit = commit
			pages = append(pages, p)
		}
	}
	sorting.Stably(pages, func(a, b Page) int {
		return cmp.Or(cmp.Compare(strings.ToLower(a.Title), strings.ToLower(b.Title)), cmp.Compare(a.Slug, b.Slug))
	})
	if content {
		err = readContents(ctx, repo, pages)
	}
	if err != nil {
		return nil, err
	}
	return pages, nil
}

// readContents reads the content of all pages, which together have a limit.
func readContents(ctx context.Context, repo *gitstore.Repo, pages []Page) error {
	left := int64(maxContent)
	for i := range pages {
		text, err := repo.Blob(ctx, pages[i].ID, left)
		if errors.Is(err, gitstore.ErrTooLarge) {
			return errTooMuch
		}
		if err != nil {
			return repository.Found(err, "Wiki Page")
		}
		left -= int64(len(text))
		pages[i].read(text)
	}
	return nil
}

// Find reads a page of a wiki as it is, or as it was in a commit.
func (s *Service) Find(ctx context.Context, of bus.Entity, slug, version string) (*Page, error) {
	repo, commit, err := s.tip(ctx, of)
	if err != nil {
		return nil, err
	}
	if commit == gitstore.EmptyTree {
		return nil, errMissing
	}
	if version != "" {
		if commit, err = repo.Resolve(ctx, version); err != nil {
			return nil, repository.Found(err, "Wiki Page")
		}
	}
	return s.find(ctx, repo, commit, slug)
}

func (s *Service) find(ctx context.Context, repo *gitstore.Repo, commit gitstore.OID, slug string) (*Page, error) {
	p, err := locate(ctx, repo, commit, slug)
	if err != nil {
		return nil, err
	}
	text, err := repo.Blob(ctx, p.ID, int64(s.deps.Settings.Current().WikiPageMaxContentBytes))
	if errors.Is(err, gitstore.ErrTooLarge) {
		return nil, errTooLarge
	}
	if err != nil {
		return nil, repository.Found(err, "Wiki Page")
	}
	p.read(text)
	return p, nil
}

// locate finds the file that is a page, in the folder of its slug.
func locate(ctx context.Context, repo *gitstore.Repo, commit gitstore.OID, slug string) (*Page, error) {
	entries, err := folder(ctx, repo, commit, slug)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if p, ok := pageAt(e); ok && p.Slug == slug {
			p.Commit = commit
			return &p, nil
		}
	}
	return nil, errMissing
}

// folder lists the files beside a slug; none if its folder does not exist.
func folder(ctx context.Context, repo *gitstore.Repo, commit gitstore.OID, slug string) ([]gitstore.Entry, error) {
	dir := path.Dir(slug)
	if dir == "." {
		dir = ""
	}
	if commit == gitstore.EmptyTree || (dir != "" && gitstore.CheckPath(dir) != nil) {
		return nil, nil
	}
	entries, err := repo.Tree(ctx, commit, dir)
	if errors.Is(err, gitstore.ErrNotFound) || errors.Is(err, gitstore.ErrInvalid) {
		return nil, nil
	}
	return entries, repository.Found(err, "Wiki Page")
}

// checkFree refuses a slug that another page has, in whatever case and format. own is the path of the page that may have it.
func checkFree(ctx context.Context, repo *gitstore.Repo, commit gitstore.OID, slug, own string) error {
	entries, err := folder(ctx, repo, commit, slug)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if p, ok := pageAt(e); ok && p.path != own && strings.EqualFold(p.Slug, slug) {
			return errDuplicate
		}
	}
	return nil
}

// Draft is a page that is to be created.
type Draft struct {
	Title   string // a path where it holds slashes
	Content string
	Format  Format
	Message string // of the commit; made up when empty
}

// Change is what a page becomes. What is nil stays.
type Change struct {
	Title   *string
	Content *string
	Format  *Format
	Message string       // of the commit; made up when empty
	Seen    gitstore.OID // the ID that the page had when its writer began: if it has another one by now, the change is refused; empty: do not check
}

func (s *Service) checkContent(text string) error {
	if most := s.deps.Settings.Current().WikiPageMaxContentBytes; len(text) > most {
		return fault.Field("content", "is too long (%d Bytes). The maximum size is %d Bytes.", len(text), most)
	}
	return nil
}

// Create makes a page.
func (s *Service) Create(ctx context.Context, by access.Actor, of bus.Entity, d Draft) (*Page, error) {
	slug := slugOf(d.Title)
	if err := cmp.Or(checkTitle(slug), checkFormat(d.Format), checkMessage(d.Message), s.checkContent(d.Content)); err != nil {
		return nil, err
	}
	id, err := s.ensureRepository(ctx, of)
	if err != nil {
		return nil, err
	}
	message, err := s.message(ctx, by, "created", slug)
	if err != nil {
		return nil, err
	}
	return s.write(ctx, by, id, slug, cmp.Or(d.Message, message), func(ctx context.Context, repo *gitstore.Repo, tip gitstore.OID) ([]gitstore.Change, error) {
		if err := checkFree(ctx, repo, tip, slug, ""); err != nil {
			return nil, err
		}
		return []gitstore.Change{{Path: slug + "." + endings[d.Format][0], Content: []byte(d.Content), Create: true}}, nil
	})
}

// Update changes a page.
func (s *Service) Update(ctx context.Context, by access.Actor, of bus.Entity, slug string, c Change) (*Page, error) {
	id, err := s.repositoryOf(ctx, of)
	if err != nil {
		return nil, err
	}
	if id == 0 {
		return nil, errMissing
	}
	if err := s.checkChange(c); err != nil {
		return nil, err
	}
	to, done := slug, "updated"
	if c.Title != nil {
		if to = renamed(slug, *c.Title); to != slug {
			done = "moved"
		}
		if err := checkTitle(to); err != nil {
			return nil, err
		}
	}
	message, err := s.message(ctx, by, done, to)
	if err != nil {
		return nil, err
	}
	return s.write(ctx, by, id, to, cmp.Or(c.Message, message), func(ctx context.Context, repo *gitstore.Repo, tip gitstore.OID) ([]gitstore.Change, error) {
		was, err := locate(ctx, repo, tip, slug)
		if err != nil {
			return nil, err
		}
		if c.Seen != "" && c.Seen != was.ID {
			return nil, errChanged
		}
		ending := path.Ext(was.path)
		if c.Format != nil && *c.Format != was.Format {
			ending = "." + endings[*c.Format][0]
		}
		if err := checkFree(ctx, repo, tip, to, was.path); err != nil {
			return nil, err
		}
		change := gitstore.Change{Path: to + ending}
		if change.Path != was.path {
			change.From = was.path
		}
		if c.Content != nil {
			change.Content = []byte(*c.Content)
		}
		if same, err := unchanged(ctx, repo, was, c.Content); err != nil || (same && change.From == "") {
			return nil, err
		}
		return []gitstore.Change{change}, nil
	})
}

// unchanged reports whether a page already has the content that it is to get; nil keeps what it has.
func unchanged(ctx context.Context, repo *gitstore.Repo, was *Page, content *string) (bool, error) {
	if content == nil {
		return true, nil
	}
	text, err := repo.Blob(ctx, was.ID, int64(len(*content)))
	if errors.Is(err, gitstore.ErrTooLarge) {
		return false, nil
	}
	return string(text) == *content, repository.Found(err, "Wiki Page")
}

func (s *Service) checkChange(c Change) error {
	if c.Content != nil {
		if err := s.checkContent(*c.Content); err != nil {
			return err
		}
	}
	if c.Format != nil {
		if err := checkFormat(*c.Format); err != nil {
			return err
		}
	}
	return checkMessage(c.Message)
}

// write commits changes to a wiki and reads the page that results.
func (s *Service) write(
	ctx context.Context, by access.Actor, id int64, slug, message string,
	changes func(context.Context, *gitstore.Repo, gitstore.OID) ([]gitstore.Change, error),
) (*Page, error) {
	commit, err := s.deps.Repositories.CommitText(ctx, by, id, message, changes)
	if err != nil {
		return nil, err
	}
	repo, _, err := s.deps.Repositories.Tip(ctx, id)
	if err != nil {
		return nil, err
	}
	return s.find(ctx, repo, commit, slug)
}

// Delete removes a page.
func (s *Service) Delete(ctx context.Context, by access.Actor, of bus.Entity, slug string) error {
	id, err := s.repositoryOf(ctx, of)
	if err != nil {
		return err
	}
	if id == 0 {
		return errMissing
	}
	message, err := s.message(ctx, by, "deleted", slug)
	if err != nil {
		return err
	}
	_, err = s.deps.Repositories.CommitText(ctx, by, id, message, func(ctx context.Context, repo *gitstore.Repo, tip gitstore.OID) ([]gitstore.Change, error) {
		was, err := locate(ctx, repo, tip, slug)
		if err != nil {
			return nil, err
		}
		return []gitstore.Change{{Path: was.path, Delete: true}}, nil
	})
	return err
}

// message is the commit message for somebody who gave none.
func (s *Service) message(ctx context.Context, by access.Actor, done, slug string) (string, error) {
	people, err := s.deps.Users.Briefs(ctx, by.ID())
	return people[by.ID()].Username + " " + done + " page: " + titleOf(slug), err
}

// MaxAttachment is how many bytes a file may have that is attached to a page.
func (s *Service) MaxAttachment() int64 {
	return min(int64(s.deps.Settings.Current().MaxAttachmentSize)<<20, maxAttachment)
}

// maxAttachment bounds what one request holds in memory: a file becomes an object of git at once.
const maxAttachment = 25 << 20

// Attach adds a file to a wiki, and says where it lies, and on which branch.
func (s *Service) Attach(ctx context.Context, by access.Actor, of bus.Entity, name string, body io.Reader) (file, branch string, err error) {
	content, err := io.ReadAll(io.LimitReader(body, s.MaxAttachment()+1))
	if err != nil {
		return "", "", err
	}
	if int64(len(content)) > s.MaxAttachment() {
		return "", "", fault.WithMessage(fault.TooLarge, "413 Request Entity Too Large")
	}
	id, err := s.ensureRepository(ctx, of)
	if err != nil {
		return "", "", err
	}
	row, err := s.deps.Repositories.FindText(ctx, id)
	if err != nil {
		return "", "", err
	}
	var random [16]byte
	_, _ = rand.Read(random[:])
	file = uploads + "/" + hex.EncodeToString(random[:]) + "/" + upload.CleanName(name)
	_, err = s.deps.Repositories.CommitText(ctx, by, id, "Upload file "+upload.CleanName(name),
		func(context.Context, *gitstore.Repo, gitstore.OID) ([]gitstore.Change, error) {
			return []gitstore.Change{{Path: file, Content: content, Create: true}}, nil
		})
	return file, row.Branch, err
}

// OnTextPushed publishes an event for each page that a push created, changed or deleted.
func (s *Service) OnTextPushed(ctx context.Context, tx pgx.Tx, e repository.TextPushed) error {
	keys, err := postgres.One[struct{ NamespaceID, ProjectID *int64 }](ctx, tx, sqlOfRepository, e.TextID)
	if errors.Is(err, postgres.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, f := range e.Changed {
		event := Event{Action: Updated, By: e.By, In: owner.OfKeys(keys.NamespaceID, keys.ProjectID), Commit: e.New}
		file := gitstore.Entry{Path: f.NewPath, Mode: f.NewMode}
		switch {
		case f.Deleted:
			event.Action, file = Deleted, gitstore.Entry{Path: f.OldPath, Mode: f.OldMode}
		case f.Added:
			event.Action = Created
		}
		p, ok := pageAt(file)
		if !ok {
			continue
		}
		event.Slug, event.Title, event.Format = p.Slug, p.Title, p.Format
		if err := s.deps.Bus.Publish(ctx, tx, event); err != nil {
			return err
		}
	}
	return nil
}
