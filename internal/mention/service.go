package mention

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/grant"
	"stithy/internal/group"
	"stithy/internal/issue"
	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/markdown"
	"stithy/internal/kit/paging"
	"stithy/internal/note"
	"stithy/internal/platform/clock"
	"stithy/internal/platform/deps"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
	"stithy/internal/subscription"
	"stithy/internal/user"
)

// Deps is what the room needs from below.
type Deps struct {
	DB     *postgres.DB
	Bus    *bus.Bus
	Users  *user.Service
	Issues *issue.Service
	Notes  *note.Service
	Clock  clock.Clock
}

// Service is the use cases of mentions.
type Service struct{ deps Deps }

// New puts the room together.
func New(d Deps) *Service { return &Service{deps: deps.Complete(d)} }

func (s *Service) today() time.Time { return s.deps.Clock.Now().UTC() }

// OnIssue reads the description of an issue that comes or changes.
func (s *Service) OnIssue(ctx context.Context, tx pgx.Tx, e issue.Event) error {
	t := text{By: e.By, At: e.At, Project: e.Project, Issue: &e.Issue}
	switch e.Action {
	case issue.Created:
		return s.read(ctx, tx, t, "", written(e.Issue.Description))
	case issue.Updated:
		return s.read(ctx, tx, t, written(e.Before.Description), written(e.Issue.Description))
	case issue.Moved:
		_, err := tx.Exec(ctx, sqlMove, e.Issue.ID, e.Other.ID)
		return err
	case issue.Cloned:
		_, err := tx.Exec(ctx, sqlCopy, e.Issue.ID, e.Other.ID)
		return err
	}
	return nil
}

func written(description *string) string {
	if description == nil {
		return ""
	}
	return *description
}

// OnNote reads a comment that comes or changes. One that goes takes along whom it names.
func (s *Service) OnNote(ctx context.Context, tx pgx.Tx, e note.Event) error {
	t := text{By: e.By, At: e.At, Project: e.Project, Issue: &e.Issue, Note: &e.Note}
	switch e.Action {
	case note.Created:
		return s.read(ctx, tx, t, "", e.Note.Body)
	case note.Updated:
		return s.read(ctx, tx, t, e.Before, e.Note.Body)
	}
	return nil
}

// read finds what a text names that was another before.
func (s *Service) read(ctx context.Context, tx pgx.Tx, t text, before, after string) error {
	if before == after {
		return nil
	}
	was, err := markdown.References(ctx, before)
	if err != nil {
		return err
	}
	is, err := markdown.References(ctx, after)
	if err != nil {
		return err
	}
	if err := s.mentions(ctx, tx, t, namesOf(was), namesOf(is)); err != nil {
		return err
	}
	return s.references(ctx, tx, t, slices.DeleteFunc(is, func(r markdown.Reference) bool { return r.Kind != markdown.Issue || slices.Contains(was, r) }))
}

// mentions keeps whom a text names, and tells of those who are new.
func (s *Service) mentions(ctx context.Context, tx pgx.Tx, t text, was, is names) error {
	if is.same(was) {
		return nil
	}
	all, err := s.named(ctx, tx, t, was, is)
	if err != nil {
		return err
	}
	may, err := s.readers(ctx, tx, t.Project, t.Issue, t.internal(), all.ids())
	if err != nil {
		return err
	}
	had, err := earlier(ctx, tx, t)
	if err != nil {
		return err
	}
	named := all.among(may)
	gone := slices.DeleteFunc(slices.Clone(had), func(id int64) bool { return slices.Contains(named.ids(), id) })
	for sql, ids := range map[string][]int64{sqlForget: gone, sqlRemember: named.without(had).ids()} {
		if len(ids) > 0 {
			if _, err := tx.Exec(ctx, sql, t.Issue.ID, t.noteID(), ids); err != nil {
				return err
			}
		}
	}
	fresh := named.without(had).fresh()
	if len(fresh) == 0 {
		return nil
	}
	if err := subscription.SetAll(ctx, tx, subscription.Issue, t.Issue.ID, fresh.ids(), t.At); err != nil {
		return err
	}
	return s.deps.Bus.Publish(ctx, tx, Event{By: t.By, At: t.At, Project: t.Project, Issue: t.Issue, Note: t.Note, People: fresh})
}

// earlier are the people whom a text named before.
func earlier(ctx context.Context, tx pgx.Tx, t text) ([]int64, error) {
	if t.Note != nil {
		return postgres.Values[int64](ctx, tx, sqlInNote, t.Note.ID)
	}
	return postgres.Values[int64](ctx, tx, sqlMentioned, t.Issue.ID)
}

// named are the people whom names stand for: themselves first, then members of groups that the author sees, then of the project.
func (s *Service) named(ctx context.Context, tx pgx.Tx, t text, was, is names) (all people, err error) {
	if len(is.all) == 0 {
		return nil, nil
	}
	rows, err := postgres.All[struct {
		ID   int64
		Name string
	}](ctx, tx, sqlNamed, is.all)
	if err != nil {
		return nil, err
	}
	rest := slices.Clone(is.all)
	for _, r := range rows {
		all.add(r.ID, is.direct[r.Name], was.has(r.Name))
		rest = slices.DeleteFunc(rest, func(name string) bool { return name == r.Name })
	}
	for n, name := range rest {
		if n == maxGroups {
			break
		}
		members, err := s.members(ctx, tx, t, name)
		if err != nil {
			return nil, err
		}
		for _, id := range members {
			all.add(id, is.direct[name], was.has(name))
		}
	}
	return all, nil
}

// members are the first people of a group that the author of a text sees, or of the project if they are in it.
func (s *Service) members(ctx context.Context, tx pgx.Tx, t text, name string) ([]int64, error) {
	if name == everyone {
		if t.Project.Role < access.Guest {
			return nil, nil
		}
		return postgres.Values[int64](ctx, tx, sqlTeam, t.Project.ID, s.today(), maxPeople)
	}
	route, err := group.Walk(ctx, tx, name)
	if err != nil || route.NamespaceID == 0 || route.Former {
		return nil, err
	}
	g, err := postgres.One[struct {
		Visibility access.Visibility
		Quiet      bool
		Role       access.Role
	}](ctx, tx, sqlGroup, t.By.ID(), s.today(), route.NamespaceID)
	if errors.Is(err, postgres.ErrNoRows) || (err == nil && (g.Quiet || !access.Sees(t.By, access.Target{Visibility: g.Visibility, Role: g.Role}))) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	return postgres.Values[int64](ctx, tx, sqlMembers, route.NamespaceID, s.today(), maxPeople)
}

// readers are those of some people who may read an issue of a project, and internal notes about it where those are meant, as they stand there now.
func (s *Service) readers(ctx context.Context, q postgres.Querier, p *project.Project, i *issue.Issue, internal bool, ids []int64) ([]int64, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	accounts, err := postgres.All[user.AccountState](ctx, q, sqlPeople, ids)
	if err != nil {
		return nil, err
	}
	roles, err := grant.RolesOnProject(ctx, q, ids, p.ID, s.today())
	may := []int64{}
	for _, u := range accounts {
		them, there := access.Actor{Person: u.Person()}, *p
		there.Role = roles[u.ID]
		if issue.RightsOf(them, &there, i).Read && (!internal || access.Holds(them, access.ReadInternalNotes, there.Target())) {
			may = append(may, u.ID)
		}
	}
	return may, err
}

// references notes at the issues that a text names that it does. What an internal note names is not told, nor what the author may not comment on.
func (s *Service) references(ctx context.Context, tx pgx.Tx, t text, refs []markdown.Reference) error {
	if len(refs) == 0 || t.internal() || !t.By.SignedIn() {
		return nil
	}
	projects, err := s.projects(ctx, tx, t, refs)
	if err != nil {
		return err
	}
	var numbers []issue.Number
	for _, r := range refs {
		iid, err := strconv.ParseInt(r.Name, 10, 32)
		p := projects[strings.ToLower(r.Path)]
		number := issue.Number{Project: p, IID: int(iid)}
		if err == nil && p != nil && !slices.Contains(numbers, number) && len(numbers) < maxIssues && access.Holds(t.By, access.CreateNotes, p.Target()) {
			numbers = append(numbers, number)
		}
	}
	found, err := issue.Referred(ctx, tx, t.By, numbers)
	if err != nil {
		return err
	}
	for n, i := range found {
		if i == nil || i.ID == t.Issue.ID {
			continue
		}
		at, from := note.Place{Project: numbers[n].Project, Issue: i}, note.Place{Project: t.Project, Issue: t.Issue}
		if err := s.deps.Notes.NoteMention(ctx, tx, t.By, at, from, t.At); err != nil {
			return err
		}
	}
	return nil
}

// projects are those of some references, by their paths in small letters, as the author of the text stands in them.
func (s *Service) projects(ctx context.Context, tx pgx.Tx, t text, refs []markdown.Reference) (map[string]*project.Project, error) {
	byPath, ids := map[string]*project.Project{"": t.Project}, map[string]int64{}
	for _, r := range refs {
		path := strings.ToLower(r.Path)
		if _, known := ids[path]; known || path == "" || len(ids) == maxProjects {
			continue
		}
		whole := path
		if !strings.Contains(path, "/") {
			whole = t.Project.NamespaceFullPath + "/" + path
		}
		route, err := group.Walk(ctx, tx, whole)
		if err != nil {
			return nil, err
		}
		ids[path] = route.ProjectID
	}
	if len(ids) == 0 {
		return byPath, nil
	}
	var asked []int64
	for _, id := range ids {
		asked = append(asked, id)
	}
	rows, err := postgres.All[project.Project](ctx, tx, sqlProjects, t.By.ID(), s.today(), asked)
	for path, id := range ids {
		if n := slices.IndexFunc(rows, func(p project.Project) bool { return p.ID == id }); n >= 0 && access.Sees(t.By, rows[n].Target()) {
			byPath[path] = &rows[n]
		}
	}
	return byPath, err
}

// Participants reads one page of the people who take part in an issue and may read it: its author, whom it is given to, who said something, and who is
// named, as far as the reader may know. They are ordered by id; further ones than the first thousand are not listed.
func (s *Service) Participants(ctx context.Context, a access.Actor, at note.Place, req paging.Request) (paging.Result[user.Brief], error) {
	internal := access.Holds(a, access.ReadInternalNotes, at.Target())
	ids, err := postgres.Values[int64](ctx, s.deps.DB, sqlParticipants, at.Issue.ID, internal)
	if err != nil {
		return paging.Result[user.Brief]{}, err
	}
	may, err := s.readers(ctx, s.deps.DB, at.Project, at.Issue, false, ids)
	if err != nil {
		return paging.Result[user.Brief]{}, err
	}
	slices.Sort(may)
	page := paging.Cut(may, req)
	briefs, err := s.deps.Users.Briefs(ctx, page.Items...)
	return paging.Map(page, func(id int64) user.Brief { return briefs[id] }), err
}
