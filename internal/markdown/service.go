// Package markdown shows texts to people: it keeps what kit/markdown rendered, and says what the references in a text are
// to the one who reads it. It does not own what they name.
//
// Tables: none. A text is rendered once in the life of a process, as long as there is room.
package markdown

import (
	"context"
	"errors"
	"math"
	"net/url"
	"runtime"
	"strings"
	"time"

	"stithy/internal/gitstore"
	"stithy/internal/group"
	"stithy/internal/issue"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/markdown"
	"stithy/internal/label"
	"stithy/internal/milestone"
	"stithy/internal/platform/deps"
	"stithy/internal/platform/fairshare"
	"stithy/internal/platform/memory"
	"stithy/internal/project"
	"stithy/internal/repository"
	"stithy/internal/upload"
	"stithy/internal/user"
)

// Deps is what the room needs from below.
type Deps struct {
	Users        *user.Service
	Groups       *group.Service
	Projects     *project.Service
	Repositories *repository.Service
	Labels       *label.Service
	Milestones   *milestone.Service
	Issues       *issue.Service
	ExternalURL  *url.URL
}

// Service renders texts.
type Service struct {
	deps  Deps
	kept  *memory.Cache[*markdown.Document]
	slots *fairshare.Slots
	base  string
}

// quick is how many bytes a text has that is rendered at once. Longer ones share slots, twice as many as there are cores, of which one caller has
// half at most; patience is how long they wait for one.
const (
	quick    = 4 << 10
	patience = 10 * time.Second
)

// keep is how many kilobytes of rendered texts a process keeps. The cache has tables as long as its weight, so it counts no bytes.
const keep = 8 << 10

// New puts the room together.
func New(d Deps) *Service {
	s := &Service{deps: deps.Complete(d), base: strings.TrimSuffix(d.ExternalURL.String(), "/")}
	s.slots = fairshare.New(2*runtime.GOMAXPROCS(0), math.MaxInt)
	s.kept = memory.New(keep, weigh)
	return s
}

func weigh(key memory.Key, d *markdown.Document) uint32 {
	n := len(key.Name) + 200
	for _, piece := range d.Pieces {
		n += len(piece) + 100
	}
	return uint32(min(n>>10+1, keep))
}

// Context is what a text belongs to and who reads it.
type Context struct {
	Reader  access.Actor
	Project *project.Project // nil where a text belongs to none: then nothing in it is near
}

// Show is a text as its reader sees it.
func (s *Service) Show(ctx context.Context, c Context, text string) (string, error) {
	d, err := s.document(ctx, text)
	if err != nil {
		return "", err
	}
	return d.HTML(ctx, func(ctx context.Context, all []markdown.Reference) ([]*markdown.Link, error) {
		return s.resolve(ctx, c, all)
	})
}

// Plain is a text without links for its references, the same for everyone.
func (s *Service) Plain(ctx context.Context, text string) (string, error) {
	d, err := s.document(ctx, text)
	if err != nil {
		return "", err
	}
	return d.Plain(), nil
}

// document is a text that was rendered, now or before.
func (s *Service) document(ctx context.Context, text string) (*markdown.Document, error) {
	key := markdown.Digest(text)
	if d, ok := s.kept.Get(memory.Key{Name: key}); ok {
		return d, nil
	}
	if len(text) > quick {
		wait, cancel := context.WithTimeoutCause(ctx, patience, fault.New(fault.TooMany))
		defer cancel()
		release, err := s.slots.Take(wait, "")
		if err != nil {
			return nil, err
		}
		defer release()
	}
	d, err := markdown.Render(ctx, text)
	if err == nil {
		s.kept.Set(memory.Key{Name: key}, d)
	}
	return d, err
}

// What is looked up for one text: each is a question to the database, or to git.
const (
	maxNames    = 50
	maxProjects = 20
	maxCommits  = 20
	maxPlanned  = 100 // issues, as many labels and as many milestones
)

// lookup is what was found out for one text and one reader.
type lookup struct {
	*Service
	Context
	names    map[string]*markdown.Link
	projects map[string]*project.Project
	commits  int
	planned  []planned
}

// resolve says what references are to a reader. What they may not see stays text, as what is not there does.
func (s *Service) resolve(ctx context.Context, c Context, all []markdown.Reference) ([]*markdown.Link, error) {
	l := &lookup{Service: s, Context: c, names: map[string]*markdown.Link{}, projects: map[string]*project.Project{}}
	links := make([]*markdown.Link, len(all))
	for i, r := range all {
		var err error
		switch r.Kind {
		case markdown.Mention:
			links[i], err = l.mention(ctx, r.Name)
		case markdown.Upload:
			if secret, name, _ := strings.Cut(r.Name, "/"); c.Project != nil {
				links[i] = &markdown.Link{URL: s.base + upload.Path(c.Project.ID, secret, name)}
			}
		case markdown.Project:
			links[i], err = l.project(ctx, r)
		case markdown.Commit, markdown.Range:
			links[i], err = l.commit(ctx, r)
		case markdown.Issue, markdown.Label, markdown.Milestone:
			err = l.plan(ctx, i, r)
		}
		if err != nil {
			return nil, err
		}
	}
	return links, l.link(ctx, links)
}

// mention is a person, or a group that the reader sees. Those who may not see profiles see no names.
func (l *lookup) mention(ctx context.Context, name string) (*markdown.Link, error) {
	key := strings.ToLower(name)
	link, known := l.names[key]
	if known || len(l.names) >= maxNames || access.Check(l.Reader, access.ReadProfiles) != nil {
		return link, nil
	}
	u, err := l.deps.Users.FindByUsername(ctx, name)
	switch {
	case err == nil:
		link = &markdown.Link{URL: l.base + "/" + url.PathEscape(u.Username), Title: u.Name}
	case fault.Is(err, fault.NotFound):
		g, groupErr := l.deps.Groups.FindByRef(ctx, l.Reader, name)
		if groupErr != nil && !fault.Is(groupErr, fault.NotFound) {
			return nil, groupErr
		}
		if groupErr == nil {
			link = &markdown.Link{URL: l.base + "/groups/" + g.FullPath, Title: g.FullName}
		}
	default:
		return nil, err
	}
	l.names[key] = link
	return link, nil
}

// find is the project that a reference names, nil if the reader sees none: the whole path, or one beside that of the text.
func (l *lookup) find(ctx context.Context, path string) (*project.Project, error) {
	if path == "" {
		return l.Project, nil
	}
	if !strings.Contains(path, "/") {
		if l.Project == nil {
			return nil, nil
		}
		path = l.Project.NamespaceFullPath + "/" + path
	}
	key := strings.ToLower(path)
	p, known := l.projects[key]
	if known || len(l.projects) >= maxProjects {
		return p, nil
	}
	p, _, err := l.deps.Projects.FindByRef(ctx, l.Reader, path)
	if fault.Is(err, fault.NotFound) {
		p, err = nil, nil
	}
	l.projects[key] = p
	return p, err
}

func (l *lookup) project(ctx context.Context, r markdown.Reference) (*markdown.Link, error) {
	p, err := l.find(ctx, r.Path)
	if p == nil || err != nil {
		return nil, err
	}
	return &markdown.Link{URL: l.base + "/" + p.FullPath(), Text: p.FullPath()}, nil
}

// commit is a commit, or two, of a project whose code the reader sees.
func (l *lookup) commit(ctx context.Context, r markdown.Reference) (*markdown.Link, error) {
	p, err := l.find(ctx, r.Path)
	if p == nil || err != nil || !access.Holds(l.Reader, access.ReadCode, p.Target()) {
		return nil, err
	}
	repo, err := l.deps.Repositories.Open(ctx, p)
	if fault.Is(err, fault.NotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	from, to, ranged := strings.Cut(r.Name, "..")
	names := []string{from}
	if ranged {
		names = append(names, strings.TrimPrefix(to, "."))
	}
	ids := make([]string, 0, len(names))
	for _, name := range names {
		if l.commits++; l.commits > maxCommits {
			return nil, nil
		}
		id, err := repo.Resolve(ctx, name)
		if errors.Is(err, gitstore.ErrNotFound) || errors.Is(err, gitstore.ErrAmbiguous) || err == nil && !strings.HasPrefix(string(id), name) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		ids = append(ids, string(id))
	}
	prefix := ""
	if r.Path != "" {
		prefix = p.FullPath() + "@"
	}
	at := l.base + "/" + p.FullPath() + "/-/"
	if ranged {
		return &markdown.Link{URL: at + "compare/" + ids[0] + "..." + ids[1], Text: prefix + ids[0][:8] + "..." + ids[1][:8]}, nil
	}
	commit, err := repo.Commit(ctx, gitstore.OID(ids[0]))
	if err != nil {
		return nil, err
	}
	return &markdown.Link{URL: at + "commit/" + ids[0], Text: prefix + ids[0][:8], Title: l.deps.Repositories.CommitForm(p, commit).Title}, nil
}
