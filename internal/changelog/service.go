package changelog

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"

	"stithy/internal/gitstore"
	"stithy/internal/grant"
	"stithy/internal/group"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/wire"
	"stithy/internal/platform/clock"
	"stithy/internal/platform/deps"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
	"stithy/internal/protection"
	"stithy/internal/repository"
	"stithy/internal/setting"
	"stithy/internal/user"
)

// Deps is what the room needs from below.
type Deps struct {
	DB           *postgres.DB
	Settings     *setting.Service
	Users        *user.Service
	Groups       *group.Service
	Projects     *project.Service
	Protection   *protection.Service
	Repositories *repository.Service
	Clock        clock.Clock
	Names        wire.Names
}

// Service is the use cases of changelogs.
type Service struct{ deps Deps }

// New puts the room together.
func New(d Deps) *Service { return &Service{deps: deps.Complete(d)} }

// Query says what a section tells of.
type Query struct {
	Version string // semantic
	From    string // excluded; the last stable version before when empty
	To      string // included; the default branch when empty
	Date    *time.Time
	Trailer string
	Config  string // path of the configuration
}

// searching is how long tags are searched, and rendering how long a template runs.
const (
	searching = 2 * time.Second
	rendering = time.Second
)

// Section is what changed up to a version, as Markdown.
func (s *Service) Section(ctx context.Context, by access.Actor, p *project.Project, q Query) (string, error) {
	repo, err := s.deps.Repositories.Open(ctx, p)
	if err != nil {
		return "", err
	}
	text, err := s.section(ctx, by, p, repo, q)
	return text, told(err)
}

// told is a failure in the words of the API.
func told(err error) error {
	if own, ok := errors.AsType[*generationError](err); ok {
		return fault.WithMessage(fault.Unprocessable, "Failed to generate the changelog: %s", own.text)
	}
	if errors.Is(err, gitstore.ErrTimeout) || errors.Is(err, gitstore.ErrUnavailable) {
		return fault.New(fault.Unavailable)
	}
	return err
}

func (s *Service) section(ctx context.Context, by access.Actor, p *project.Project, repo *gitstore.Repo, q Query) (string, error) {
	version, err := parseVersion(q.Version)
	if err != nil {
		return "", fault.WithMessage(fault.BadParams, "version is invalid")
	}
	config, err := s.config(ctx, p, repo, q.Config)
	if err != nil {
		return "", err
	}
	commits, err := s.commits(ctx, p, repo, q, version, config)
	if err != nil {
		return "", err
	}
	chosen := choose(commits, q.Trailer)
	authors, err := s.authors(ctx, by, p, chosen, config)
	if err != nil {
		return "", err
	}
	limited, cancel := context.WithTimeout(ctx, rendering)
	defer cancel()
	body, err := config.template.render(limited, data(chosen, config, p.FullPath(), authors))
	if err != nil {
		return "", err
	}
	return section(q.Version, strftime(config.dateFormat, day(q.Date, s.deps.Clock.Now())), body), nil
}

// config reads the configuration from the default branch.
func (s *Service) config(ctx context.Context, p *project.Project, repo *gitstore.Repo, path string) (*config, error) {
	path = strings.Trim(cmp.Or(path, s.deps.Names.ChangelogConfig()), "/")
	text, err := file(ctx, repo, gitstore.Branches+s.deps.Projects.BranchOf(p), path, maxConfig)
	if errors.Is(err, gitstore.ErrTooLarge) {
		return nil, failed("The configuration is too large")
	}
	if err != nil {
		return nil, err
	}
	return parseConfig(text)
}

// file reads a file of a ref; nil when either is not there.
func file(ctx context.Context, repo *gitstore.Repo, ref, path string, limit int64) ([]byte, error) {
	missing := func(err error) bool {
		return errors.Is(err, gitstore.ErrNotFound) || errors.Is(err, gitstore.ErrInvalid)
	}
	tip, err := repo.Ref(ctx, ref)
	if missing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if gitstore.CheckPath(path) != nil {
		return nil, nil
	}
	found, err := repo.Find(ctx, tip.Target, path)
	if missing(err) || err == nil && found.Mode.Kind() != gitstore.BlobKind {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	text, err := repo.Blob(ctx, found.ID, limit)
	if text == nil && err == nil {
		text = []byte{} // it is there, and empty
	}
	return text, err
}

// limitFlag keeps ranges short unless an administrator shuts it.
const limitFlag = "changelog_commits_limitation"

// commits are those of the range, newest first.
func (s *Service) commits(ctx context.Context, p *project.Project, repo *gitstore.Repo, q Query, version *semver.Version, c *config) ([]*gitstore.Commit, error) {
	from, err := s.start(ctx, repo, q.From, version, c)
	if err != nil {
		return nil, err
	}
	to, err := s.deps.Repositories.Revision(ctx, repo, p, q.To)
	if err != nil {
		return nil, outside(err)
	}
	wanted := gitstore.LogQuery{From: []gitstore.OID{to}, Not: []gitstore.OID{from}, Limit: maxCommits}
	if !s.deps.Settings.Enabled(limitFlag) {
		wanted.Limit = 0 // as many as git is asked for at all
	}
	commits, more, err := repo.Log(ctx, wanted)
	if err != nil {
		return nil, outside(err)
	}
	if more {
		return nil, failed("The commits range exceeds %d elements.", len(commits))
	}
	return commits, nil
}

func outside(err error) error {
	if errors.Is(err, gitstore.ErrNotFound) || errors.Is(err, gitstore.ErrInvalid) || errors.Is(err, gitstore.ErrAmbiguous) {
		return failed("Invalid or not found commit value in the given range")
	}
	return err
}

// start is the commit after which the range begins.
func (s *Service) start(ctx context.Context, repo *gitstore.Repo, from string, version *semver.Version, c *config) (gitstore.OID, error) {
	if from != "" {
		id, err := repo.Resolve(ctx, from)
		return id, outside(err)
	}
	tags, _, err := repo.Refs(ctx, gitstore.RefQuery{Prefix: gitstore.Tags, Limit: maxTags})
	if err != nil {
		return "", err
	}
	limited, cancel := context.WithTimeout(ctx, searching)
	defer cancel()
	tag, err := c.tags.before(version, tags, func() bool { return limited.Err() == nil })
	return tag.Peeled, err
}

// maxAuthors is how many addresses are looked up for one section.
const maxAuthors = 200

// authors are the people of a section by address. Only who has to do with the
// project, or with a group that its configuration thanks, is named: an
// address in a commit proves nothing, and tells strangers no name.
func (s *Service) authors(ctx context.Context, by access.Actor, p *project.Project, chosen []entry, c *config) (map[string]author, error) {
	groups, err := s.thanked(ctx, by, c.includeGroups)
	if err != nil {
		return nil, err
	}
	asked, known := map[string]bool{}, map[string]author{}
	today := s.deps.Clock.Now().UTC()
	for _, e := range chosen {
		address := strings.ToLower(e.commit.Author.Email)
		if asked[address] || len(asked) == maxAuthors {
			continue
		}
		asked[address] = true
		_, u, err := s.deps.Users.Holder(ctx, e.commit.Author.Email)
		if fault.Is(err, fault.Rejected) || err == nil && u == nil {
			continue
		}
		if err != nil {
			return nil, err
		}
		role, err := grant.OnProject(ctx, s.deps.DB, u.ID, p.ID, today)
		if err != nil {
			return nil, err
		}
		pushed := false
		if role == access.NoRole {
			if pushed, err = s.deps.Repositories.Pushed(ctx, p.ID, u.ID); err != nil {
				return nil, err
			}
		}
		included, err := grant.IsIn(ctx, s.deps.DB, u.ID, groups, today)
		if err != nil {
			return nil, err
		}
		if role > access.NoRole || pushed || included {
			known[address] = author{username: u.Username, contributor: pushed, credit: pushed || included}
		}
	}
	return known, nil
}

// thanked are the groups of the configuration whose members the caller may see.
func (s *Service) thanked(ctx context.Context, by access.Actor, paths []string) (ids []int64, err error) {
	for _, path := range paths {
		g, err := s.deps.Groups.FindByRef(ctx, by, path)
		if fault.Is(err, fault.NotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if access.Holds(by, access.ReadGroupMembers, g.Target()) {
			ids = append(ids, g.ID)
		}
	}
	return ids, nil
}

// Entry says where a section goes.
type Entry struct {
	Query
	Branch  string // the default branch when empty
	File    string
	Message string
}

// tries is how often a section is written again because somebody else wrote.
const tries = 3

var errBranch = fault.WithReason(fault.Forbidden, "You are not allowed to commit a changelog on this branch")

// Write adds a section to the changelog of a branch. A version that is there
// already is left as it is.
func (s *Service) Write(ctx context.Context, by access.Actor, p *project.Project, e Entry) error {
	e.Branch = cmp.Or(e.Branch, s.deps.Projects.BranchOf(p))
	e.To = cmp.Or(e.To, gitstore.Branches+e.Branch)
	e.File = strings.Trim(e.File, "/")
	allowed, err := s.deps.Protection.MayPushTo(ctx, by, p, e.Branch)
	if err != nil {
		return err
	}
	if !allowed {
		return errBranch
	}
	repo, err := s.deps.Repositories.Open(ctx, p)
	if err != nil {
		return err
	}
	text, err := s.section(ctx, by, p, repo, e.Query)
	if err != nil {
		return told(err)
	}
	if gitstore.CheckPath(e.File) != nil {
		return told(failed("The path of the file is invalid"))
	}
	for range tries {
		err = s.write(ctx, by, p, repo, e, text)
		if !errors.Is(err, gitstore.ErrConflict) {
			break
		}
	}
	switch {
	case fault.Is(err, fault.Forbidden):
		return errBranch
	case errors.Is(err, gitstore.ErrConflict):
		return told(failed("The branch was changed by someone else"))
	}
	return told(err)
}

func (s *Service) write(ctx context.Context, by access.Actor, p *project.Project, repo *gitstore.Repo, e Entry, text string) error {
	full := gitstore.Branches + e.Branch
	tip, err := repo.Ref(ctx, full)
	if err != nil {
		return outside(err)
	}
	old, err := file(ctx, repo, full, e.File, maxFile)
	if errors.Is(err, gitstore.ErrTooLarge) {
		return failed("The file is too large")
	}
	if err != nil {
		return err
	}
	content, changed := join(string(old), e.Version, text)
	if !changed {
		return nil
	}
	author, err := s.deps.Repositories.Signature(ctx, by)
	if err != nil {
		return err
	}
	staged, err := repo.Stage(ctx, gitstore.Draft{
		Parents: []gitstore.OID{tip.Target}, Base: tip.Target, Changes: []gitstore.Change{{Path: e.File, Content: []byte(content), Create: old == nil}},
		Author: author, Committer: author, Message: cmp.Or(e.Message, "Add changelog for version "+e.Version),
	})
	if _, wrong := errors.AsType[*gitstore.PathError](err); wrong {
		return failed("The file cannot be written: a directory is in its way")
	}
	if err != nil {
		return err
	}
	defer repo.Discard(staged.Quarantine)
	return s.deps.Repositories.Push(ctx, by, p, staged.Quarantine, gitstore.RefUpdate{Name: full, Old: tip.Target, New: staged.ID})
}
