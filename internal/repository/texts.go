package repository

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/gitstore"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/platform/jobqueue"
	"stithy/internal/platform/postgres"
)

// Text is the row of a repository of texts. It has one branch, whose history
// is never rewritten.
type Text struct {
	ID       int64
	Storage  string
	State    State
	Branch   string
	MaxFiles int // 0 when any number will do
	Empty    bool
}

// Key is where it lies.
func (t *Text) Key() gitstore.Key { return gitstore.TextKeyOf(t.Storage, t.ID) }

// Ref is the full name of its branch.
func (t *Text) Ref() string { return gitstore.Branches + t.Branch }

// defaultBranch is the branch of a repository of texts where the instance names none.
const defaultBranch = "main"

// PlanText writes down a repository of texts, in the transaction that gives it an owner. It is made when it is first used.
func (s *Service) PlanText(ctx context.Context, tx pgx.Tx, maxFiles int) (int64, error) {
	branch := cmp.Or(string(s.deps.Settings.Current().DefaultBranchName), defaultBranch)
	return postgres.Value[int64](ctx, tx, sqlPlanText, s.storage(), branch, maxFiles, s.deps.Clock.Now())
}

// FindText reads the row of a repository of texts that something names.
func (s *Service) FindText(ctx context.Context, id int64) (*Text, error) {
	t, err := postgres.One[Text](ctx, s.deps.DB, sqlFindText, id)
	if errors.Is(err, postgres.ErrNoRows) {
		return nil, fault.NotFoundf("Repository")
	}
	return &t, err
}

// openText is a repository of texts on its storage. A new one is made first.
func (s *Service) openText(ctx context.Context, id int64) (*Text, *gitstore.Repo, error) {
	t, err := s.FindText(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	repo := s.deps.Store.Repo(t.Key())
	if t.State == Ready {
		return t, repo, nil
	}
	if err := repo.Create(ctx, t.Branch); err != nil {
		return nil, nil, fmt.Errorf("making a repository: %w", err)
	}
	_, err = s.deps.DB.Exec(ctx, sqlTextReady, t.ID)
	return t, repo, err
}

// Tip is a repository of texts and the commit that its branch is at, EmptyTree where there is none yet.
func (s *Service) Tip(ctx context.Context, id int64) (*gitstore.Repo, gitstore.OID, error) {
	t, repo, err := s.openText(ctx, id)
	if err != nil {
		return nil, "", err
	}
	tip, err := tipOf(ctx, repo, t)
	return repo, cmp.Or(tip, gitstore.EmptyTree), err
}

func tipOf(ctx context.Context, repo *gitstore.Repo, t *Text) (gitstore.OID, error) {
	ref, err := repo.Ref(ctx, t.Ref())
	if errors.Is(err, gitstore.ErrNotFound) {
		return "", nil
	}
	return ref.Target, found(err, "Branch")
}

// CommitText makes one commit of changes to a repository of texts, or none. changes is told which commit it builds on, and
// may look at it; EmptyTree where there is none.
func (s *Service) CommitText(
	ctx context.Context, by access.Actor, id int64, message string,
	changes func(ctx context.Context, repo *gitstore.Repo, tip gitstore.OID) ([]gitstore.Change, error),
) (gitstore.OID, error) {
	t, repo, err := s.openText(ctx, id)
	if err != nil {
		return "", err
	}
	a, err := s.begin(ctx, by, repo, texts{s: s, row: t}, ViaAPI) // whoever calls it checks what they write
	if err != nil {
		return "", err
	}
	defer a.Close()
	tip, err := tipOf(ctx, repo, t)
	if err != nil {
		return "", err
	}
	who, err := s.Signature(ctx, by)
	if err != nil {
		return "", err
	}
	draft := gitstore.Draft{Base: cmp.Or(tip, gitstore.EmptyTree), Author: who, Committer: who, Message: message}
	if tip != "" {
		draft.Parents = []gitstore.OID{tip}
	}
	if draft.Changes, err = changes(ctx, repo, draft.Base); err != nil || len(draft.Changes) == 0 {
		return tip, err
	}
	staged, err := repo.Stage(ctx, draft)
	if err != nil {
		return "", writeFault(err)
	}
	defer repo.Discard(staged.Quarantine)
	err = a.Move(ctx, staged.Quarantine, gitstore.RefUpdate{Name: t.Ref(), Old: cmp.Or(tip, gitstore.Zero), New: staged.ID})
	return staged.ID, moved(err)
}

// ServeText serves a git client that the caller found to be allowed to use the service.
func (s *Service) ServeText(ctx context.Context, by access.Actor, at TextTarget, x GitRequest) error {
	t, repo, err := s.openText(ctx, at.ID)
	if err != nil {
		return err
	}
	if x.Service != gitstore.ReceivePack {
		return s.send(ctx, repo, x, false)
	}
	a, err := s.begin(ctx, by, repo, texts{s, t, at.MaxFile}, x.Via)
	if err != nil {
		return err
	}
	defer a.Close()
	most := s.maxInput()
	if at.MaxSize > 0 && (most == 0 || at.MaxSize < most) {
		most = at.MaxSize
	}
	return s.take(ctx, a, most, x)
}

// texts is a repository of texts that is pushed to.
type texts struct {
	s   *Service
	row *Text

	maxFile func(path string) int64 // TextTarget.MaxFile
}

func (t texts) owner() (projectID, textID *int64) { return nil, &t.row.ID }

// check lets the one branch move forward.
func (t texts) check(ctx context.Context, a *PushSession, q gitstore.Quarantine, updates []gitstore.RefUpdate) error {
	repo := a.Repo.In(q)
	for _, u := range updates {
		switch {
		case u.Name != t.row.Ref():
			return &gitstore.RefusedError{Text: "Only the branch " + t.row.Branch + " can be pushed here."}
		case u.New == gitstore.Zero:
			return &gitstore.RefusedError{Text: "The branch " + t.row.Branch + " cannot be deleted."}
		}
		if u.Old != gitstore.Zero {
			kept, err := repo.IsAncestor(ctx, u.Old, u.New)
			if err != nil {
				return err
			}
			if !kept {
				return &gitstore.RefusedError{Text: "The history of " + t.row.Branch + " cannot be rewritten. Pull first, then push again."}
			}
		}
		if t.row.MaxFiles == 0 {
			if err := t.checkSizes(ctx, repo, u); err != nil {
				return err
			}
			continue
		}
		files, err := t.files(ctx, repo, u.New)
		switch {
		case err != nil:
			return err
		case len(files) > t.row.MaxFiles:
			return &gitstore.RefusedError{Text: fmt.Sprintf("This repository holds %d files at the most.", t.row.MaxFiles)}
		case len(files) == 0:
			return &gitstore.RefusedError{Text: "This repository must hold at least one file."}
		}
	}
	return nil
}

// maxPushed is how many files one push to a repository of any number may change.
const maxPushed = 20_000

// checkSizes refuses files that are too large, of those that a push changes.
func (t texts) checkSizes(ctx context.Context, repo *gitstore.Repo, u gitstore.RefUpdate) error {
	if t.maxFile == nil {
		return nil
	}
	old := u.Old
	if old == gitstore.Zero {
		old = gitstore.EmptyTree
	}
	changed, more, err := repo.Changes(ctx, old, u.New, maxPushed)
	if err != nil {
		return err
	}
	if more {
		return &gitstore.RefusedError{Text: fmt.Sprintf("One push changes %d files at the most. Push fewer commits at once.", maxPushed)}
	}
	for _, f := range changed {
		most := t.maxFile(f.NewPath)
		if f.Deleted || most == 0 || f.NewMode.Kind() != gitstore.BlobKind {
			continue
		}
		object, err := repo.StatEntry(ctx, gitstore.Entry{ID: f.NewID, Mode: f.NewMode, Path: f.NewPath})
		if err != nil {
			return err
		}
		if object.Size > most {
			return &gitstore.RefusedError{Text: fmt.Sprintf("The file %q is too long (%d Bytes). The maximum size is %d Bytes.", f.NewPath, object.Size, most)}
		}
	}
	return nil
}

// files are the paths of the files of a commit, where a repository may hold a few only.
func (t texts) files(ctx context.Context, repo *gitstore.Repo, commit gitstore.OID) ([]string, error) {
	const most = 1000 // with the folders that they are in
	entries, more, err := repo.Walk(ctx, commit, "", "", most)
	if err != nil {
		return nil, err
	}
	if more {
		return nil, &gitstore.RefusedError{Text: fmt.Sprintf("This repository holds %d files and folders at the most.", most)}
	}
	var paths []string
	left := int64(t.s.deps.Settings.Current().SnippetSizeLimit)
	for _, e := range entries {
		switch kind := e.Mode.Kind(); {
		case kind == gitstore.TreeKind:
			continue
		case kind != gitstore.BlobKind || gitstore.CheckPath(e.Path) != nil:
			return nil, &gitstore.RefusedError{Text: "This repository holds files alone, whose names are short and UTF-8."}
		case len(paths) > t.row.MaxFiles:
			return paths, nil
		}
		object, err := repo.StatEntry(ctx, e)
		if err != nil {
			return nil, err
		}
		if left -= object.Size; left < 0 {
			return nil, &gitstore.RefusedError{Text: fmt.Sprintf("The files are too large together. The maximum size is %d Bytes.", t.s.deps.Settings.Current().SnippetSizeLimit)}
		}
		paths = append(paths, e.Path)
	}
	return paths, nil
}

// maxChanged is of how many files a push tells.
const maxChanged = 100

// settling notes when texts were pushed, and publishes TextPushed.
func (t texts) settling(ctx context.Context, repo *gitstore.Repo, by access.Actor, push Push) (func(context.Context, pgx.Tx) error, error) {
	e := TextPushed{Push: push, TextID: t.row.ID, By: by, Old: push.Updates[0].Old, New: push.Updates[0].New}
	if t.row.MaxFiles > 0 {
		var err error
		if e.Files, err = t.files(ctx, repo, e.New); err != nil {
			return nil, err
		}
	} else {
		old := e.Old
		if old == gitstore.Zero {
			old = gitstore.EmptyTree
		}
		var err error
		if e.Changed, _, err = repo.Changes(ctx, old, e.New, maxChanged); err != nil {
			return nil, err
		}
	}
	return func(ctx context.Context, tx pgx.Tx) error {
		now := t.s.deps.Clock.Now()
		if _, err := tx.Exec(ctx, sqlTextPushed, t.row.ID, now); err != nil {
			return err
		}
		args := MaintainArgs{TextID: t.row.ID}
		if err := t.s.deps.Queue.Insert(ctx, tx, args, jobqueue.Unique(), jobqueue.At(now.Add(maintainDelay))); err != nil {
			return err
		}
		return t.s.deps.Bus.Publish(ctx, tx, e)
	}, nil
}

func (s *Service) maintainText(ctx context.Context, id int64) error {
	_, repo, err := s.openText(ctx, id)
	if err != nil {
		return gone(err)
	}
	return repo.Maintain(ctx)
}

// RemoveTextsArgs asks for the removal of repositories of texts that nothing names any more.
type RemoveTextsArgs struct{}

// Kind names the job.
func (RemoveTextsArgs) Kind() string { return "repository_remove_texts" }

const (
	removeTextsEvery = time.Minute
	removeTextsBatch = 100
)

// RemoveTexts takes repositories of texts that nothing names any more from
// their disks, and then their rows.
func (s *Service) RemoveTexts(ctx context.Context) error {
	var after int64
	var failed error
	for {
		unneeded, err := postgres.All[Text](ctx, s.deps.DB, sqlUnneededTexts, after, removeTextsBatch)
		if err != nil {
			return err
		}
		for _, t := range unneeded {
			after = t.ID
			// One storage that cannot be reached keeps no other waiting.
			err := s.deps.Store.Repo(t.Key()).Remove(ctx)
			if err == nil {
				_, err = s.deps.DB.Exec(ctx, sqlDropText, t.ID)
			}
			failed = errors.Join(failed, err)
		}
		if len(unneeded) < removeTextsBatch {
			return failed
		}
	}
}

// TextTarget is a repository of texts that a git client may use.
type TextTarget struct {
	ID      int64
	MaxSize int64  // bytes of what is pushed; 0 is the store's limit
	Path    string // as addresses name it, without .git

	MaxFile func(path string) int64 // bytes that a file may have, by its path; 0 is any number. nil: all files may
}
