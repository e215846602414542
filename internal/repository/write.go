package repository

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"regexp"
	"strings"

	"stithy/internal/gitstore"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
)

// Action is one edit that a client asks for.
type Action struct {
	Do           string // create, update, move, delete, chmod
	Path         string
	PreviousPath string
	Content      *string
	Base64       bool
	LastCommit   string // of the file, as the client knows it
	Exec         *bool
}

// CommitDraft is a commit that a client asks for.
type CommitDraft struct {
	Branch       string
	StartBranch  string
	StartSHA     string
	StartProject *project.Project // nil is the project itself
	Force        bool             // the branch begins anew at the start
	Message      string
	AuthorName   string
	AuthorEmail  string
	Actions      []Action
	Stale        string // what to say when a file is not what the client last saw
}

// Limits of one commit through the API.
const (
	maxActions = 10_000
	maxMessage = 1 << 20
)

var shaPattern = regexp.MustCompile(`^[0-9a-fA-F]{4,40}$`)

func refuse(format string, args ...any) error {
	return fault.WithMessage(fault.Rejected, format, args...)
}

var (
	errNoBranch  = refuse("You can only create or edit files when you are on a branch")
	errTraversal = refuse("Path cannot include directory traversal")
	errTaken     = refuse("A file with this name already exists")
	errNoFile    = refuse("A file with this name doesn't exist")
	errDirectory = refuse("A directory with this name already exists")
	errNoPush    = refuse("You are not allowed to push into this branch")
)

// WriteCommit makes one commit of all edits, or none.
func (s *Service) WriteCommit(ctx context.Context, by access.Actor, p *project.Project, d CommitDraft) (*gitstore.Commit, error) {
	full := gitstore.Branches + d.Branch
	switch {
	case gitstore.CheckRefName(full) != nil:
		return nil, errNoBranch
	case len(d.Actions) > maxActions || len(d.Message) > maxMessage:
		return nil, fault.New(fault.TooLarge)
	}
	repo, err := s.Open(ctx, p)
	if err != nil {
		return nil, err
	}
	may, err := s.deps.Protection.MayPushTo(ctx, by, p, d.Branch)
	if err != nil {
		return nil, err
	}
	if !may {
		return nil, errNoPush
	}
	branch, err := repo.Ref(ctx, full)
	switch {
	case errors.Is(err, gitstore.ErrNotFound):
		branch.Target = gitstore.Zero
	case err != nil:
		return nil, found(err, "Branch")
	}
	base, from, err := s.base(ctx, p, repo, branch.Target, d)
	if err != nil {
		return nil, err
	}
	if from != repo { // what it is built on comes along
		taken, err := repo.Take(ctx, from, base)
		if err != nil {
			return nil, found(err, "Commit")
		}
		defer repo.Discard(taken)
		repo = repo.In(taken)
	}
	who, err := s.Signature(ctx, by)
	if err != nil {
		return nil, err
	}
	draft := gitstore.Draft{Base: base, Author: who, Committer: who, Message: d.Message}
	if d.AuthorName != "" {
		draft.Author.Name = d.AuthorName
	}
	if d.AuthorEmail != "" {
		draft.Author.Email = d.AuthorEmail
	}
	if base != gitstore.EmptyTree {
		draft.Parents = []gitstore.OID{base}
	}
	if draft.Changes, err = changes(ctx, repo, base, d); err != nil {
		return nil, err
	}
	staged, err := repo.Stage(ctx, draft)
	if err != nil {
		return nil, writeFault(err)
	}
	defer repo.Discard(staged.Quarantine)
	if err := s.Push(ctx, by, p, staged.Quarantine, gitstore.RefUpdate{Name: full, Old: branch.Target, New: staged.ID}); err != nil {
		return nil, moved(err)
	}
	made, err := repo.In(gitstore.Quarantine{}).Commit(ctx, staged.ID)
	return made, found(err, "Commit")
}

// base is the commit that a new one is built on, and the repository that has
// it.
func (s *Service) base(ctx context.Context, p *project.Project, repo *gitstore.Repo, tip gitstore.OID, d CommitDraft) (gitstore.OID, *gitstore.Repo, error) {
	exists := tip != gitstore.Zero
	start := d.StartSHA != "" || (d.StartBranch != "" && (d.StartBranch != d.Branch || d.StartProject != nil))
	switch {
	case start && exists && !d.Force:
		return "", nil, refuse("A branch called '%s' already exists. Switch to that branch in order to make changes", d.Branch)
	case !start && exists:
		return tip, repo, nil
	case !start:
		refs, _, err := repo.Refs(ctx, gitstore.RefQuery{Prefix: gitstore.Branches, Limit: 1})
		if err != nil {
			return "", nil, found(err, "Branch")
		}
		if len(refs) > 0 {
			return "", nil, errNoBranch
		}
		return gitstore.EmptyTree, repo, nil
	}
	from := repo
	if d.StartProject != nil && d.StartProject.ID != p.ID {
		var err error
		if from, err = s.Open(ctx, d.StartProject); err != nil {
			return "", nil, err
		}
	}
	id, err := startOf(ctx, from, d)
	return id, from, err
}

func startOf(ctx context.Context, from *gitstore.Repo, d CommitDraft) (gitstore.OID, error) {
	if d.StartSHA == "" {
		ref, err := from.Ref(ctx, gitstore.Branches+d.StartBranch)
		if isMissing(err) {
			return "", errNoBranch
		}
		return ref.Target, found(err, "Branch")
	}
	if !shaPattern.MatchString(d.StartSHA) {
		return "", refuse("Invalid start_sha '%s'", d.StartSHA)
	}
	id, err := from.Resolve(ctx, d.StartSHA)
	if isMissing(err) || (err == nil && !strings.HasPrefix(string(id), strings.ToLower(d.StartSHA))) {
		return "", refuse("Cannot find start_sha '%s'", d.StartSHA)
	}
	return id, found(err, "Commit")
}

// changes are the edits as the store takes them. What a client knew about a
// file must still be so.
func changes(ctx context.Context, repo *gitstore.Repo, base gitstore.OID, d CommitDraft) ([]gitstore.Change, error) {
	var stale []string
	known := map[string]string{}
	all := make([]gitstore.Change, len(d.Actions))
	for i, a := range d.Actions {
		path, err := cleanPath(a.Path)
		if err != nil {
			return nil, err
		}
		c := gitstore.Change{Path: path, Exec: a.Exec}
		if a.Content != nil {
			c.Content = []byte(*a.Content)
			if a.Base64 {
				if c.Content, err = decode(*a.Content); err != nil {
					return nil, refuse("Content is not valid Base64")
				}
			}
			if c.Content == nil {
				c.Content = []byte{}
			}
		}
		watched := path
		switch a.Do {
		case "create":
			c.Create, watched = true, ""
		case "delete":
			c.Delete, c.Content = true, nil
		case "move":
			if c.From, err = cleanPath(a.PreviousPath); err != nil {
				return nil, err
			}
			watched = c.From
		case "chmod":
			c.Content, watched = nil, ""
			if c.Exec == nil {
				c.Exec = new(false)
			}
		}
		if a.LastCommit != "" && watched != "" && base != gitstore.EmptyTree {
			stale, known[watched] = append(stale, watched), a.LastCommit
		}
		all[i] = c
	}
	if len(stale) == 0 {
		return all, nil
	}
	last, err := repo.LastCommits(ctx, base, stale)
	if err != nil {
		return nil, found(err, "Commit")
	}
	for _, path := range stale {
		if id, there := last[path]; there && string(id) != known[path] {
			return nil, refuse("%s", cmp.Or(d.Stale, "The file has changed since you started editing it: "+path))
		}
	}
	return all, nil
}

// decode reads Base64 as clients write it: in lines, with or without the
// padding.
func decode(text string) ([]byte, error) {
	text = strings.Map(func(r rune) rune {
		if r == '\n' || r == '\r' || r == ' ' || r == '\t' {
			return -1
		}
		return r
	}, text)
	return base64.RawStdEncoding.DecodeString(strings.TrimRight(text, "="))
}

// cleanPath is a path that may stand in a commit.
func cleanPath(path string) (string, error) {
	path = strings.Trim(path, "/")
	switch {
	case path == "":
		return "", refuse("You must provide a file path")
	case gitstore.CheckPath(path) != nil:
		return "", errTraversal
	}
	return path, nil
}

// writeFault says what is wrong with an edit.
func writeFault(err error) error {
	wrong, ok := errors.AsType[*gitstore.PathError](err)
	switch {
	case ok && errors.Is(err, gitstore.ErrNotFound):
		return errNoFile
	case ok && wrong.Dir:
		return errDirectory
	case ok && errors.Is(err, gitstore.ErrConflict):
		return errTaken
	case ok && errors.Is(err, gitstore.ErrInvalid):
		return errTraversal
	case errors.Is(err, gitstore.ErrInvalid):
		return refuse("The commit is not valid")
	}
	return found(err, "File")
}

// sameNetwork reports whether one project was forked from the other, or both
// from a third, over any number of steps.
func (s *Service) sameNetwork(ctx context.Context, a, b int64) (bool, error) {
	return postgres.Value[bool](ctx, s.deps.DB, sqlSameNetwork, a, b)
}
