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
	"stithy/internal/platform/jobqueue"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
	"stithy/internal/repository"
	"stithy/internal/subscription"
	"stithy/internal/token"
	"stithy/internal/user"
)

// Deps is what the room needs from below.
type Deps struct {
	DB           *postgres.DB
	Bus          *bus.Bus
	Queue        *jobqueue.Queue
	Users        *user.Service
	Tokens       *token.Service
	Projects     *project.Service
	Repositories *repository.Service
	Issues       *issue.Service
	Notes        *note.Service
	Clock        clock.Clock
	ExternalURL  string
}

// Service is the use cases of mentions.
type Service struct{ deps Deps }

// New puts the room together.
func New(d Deps) *Service { return &Service{deps: deps.Complete(d)} }

func (s *Service) today() time.Time { return s.deps.Clock.Now().UTC() }

// OnIssue records what a new or changed description of an issue mentions and refers to.
func (s *Service) OnIssue(ctx context.Context, tx pgx.Tx, e issue.Event) error {
	t := text{By: e.By, At: e.At, Project: e.Project, Issue: &e.Issue}
	switch e.Action {
	case issue.Created:
		return s.update(ctx, tx, t, "", written(e.Issue.Description))
	case issue.Updated:
		return s.update(ctx, tx, t, written(e.Before.Description), written(e.Issue.Description))
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

// OnNote records what a new or changed comment on an issue mentions and refers to; comments on other things mention nobody. Deleting a note deletes its
// mentions with it (foreign key).
func (s *Service) OnNote(ctx context.Context, tx pgx.Tx, e note.Event) error {
	of, is := note.IssueOf(e.Of)
	if !is {
		return nil
	}
	t := text{By: e.By, At: e.At, Project: of.Project, Issue: of.Issue, Note: &e.Note}
	switch e.Action {
	case note.Created:
		return s.update(ctx, tx, t, "", e.Note.Body)
	case note.Updated:
		return s.update(ctx, tx, t, e.Before, e.Note.Body)
	}
	return nil
}

// update compares a text with its earlier version and records the mentions and references that changed.
func (s *Service) update(ctx context.Context, tx pgx.Tx, t text, before, after string) error {
	if before == after {
		return nil
	}
	oldRefs, err := markdown.References(ctx, before)
	if err != nil {
		return err
	}
	newRefs, err := markdown.References(ctx, after)
	if err != nil {
		return err
	}
	if err := s.updateMentions(ctx, tx, t, namesOf(oldRefs), namesOf(newRefs)); err != nil {
		return err
	}
	added := slices.DeleteFunc(newRefs, func(r markdown.Reference) bool { return r.Kind != markdown.Issue || slices.Contains(oldRefs, r) })
	return s.addBacklinks(ctx, tx, t, added)
}

// updateMentions records whom a text mentions, subscribes those who are new to the issue and publishes them.
func (s *Service) updateMentions(ctx context.Context, tx pgx.Tx, t text, oldNames, newNames names) error {
	if newNames.same(oldNames) {
		return nil
	}
	all, err := s.named(ctx, tx, t, oldNames, newNames)
	if err != nil {
		return err
	}
	readerIDs, err := s.readers(ctx, tx, t.Project, t.Issue, t.internal(), all.ids())
	if err != nil {
		return err
	}
	recorded, err := earlier(ctx, tx, t)
	if err != nil {
		return err
	}
	mentioned := all.among(readerIDs)
	removed := slices.DeleteFunc(slices.Clone(recorded), func(id int64) bool { return slices.Contains(mentioned.ids(), id) })
	if len(removed) > 0 {
		if _, err := tx.Exec(ctx, sqlForget, t.Issue.ID, t.noteID(), removed); err != nil {
			return err
		}
	}
	added := mentioned.without(recorded)
	if len(added) > 0 {
		if _, err := tx.Exec(ctx, sqlRemember, t.Issue.ID, t.noteID(), added.ids()); err != nil {
			return err
		}
	}
	fresh := added.fresh()
	if len(fresh) == 0 {
		return nil
	}
	if err := subscription.SetAll(ctx, tx, subscription.Issue, t.Issue.ID, fresh.ids(), t.At); err != nil {
		return err
	}
	return s.deps.Bus.Publish(ctx, tx, Event{By: t.By, At: t.At, Project: t.Project, Issue: t.Issue, Note: t.Note, People: fresh})
}

// earlier returns the people who are recorded as mentioned in a text.
func earlier(ctx context.Context, tx pgx.Tx, t text) ([]int64, error) {
	if t.Note != nil {
		return postgres.Values[int64](ctx, tx, sqlInNote, t.Note.ID)
	}
	return postgres.Values[int64](ctx, tx, sqlMentioned, t.Issue.ID)
}

// named resolves names to people: usernames first, then, in the order of the text, members of groups that the author can see; "all" stands for the
// project's members.
func (s *Service) named(ctx context.Context, tx pgx.Tx, t text, oldNames, newNames names) (all people, err error) {
	if len(newNames.all) == 0 {
		return nil, nil
	}
	rows, err := postgres.All[struct {
		ID   int64
		Name string
	}](ctx, tx, sqlNamed, newNames.all)
	if err != nil {
		return nil, err
	}
	rest := slices.Clone(newNames.all)
	for _, r := range rows {
		all.add(r.ID, newNames.direct[r.Name], oldNames.has(r.Name))
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
			all.add(id, newNames.direct[name], oldNames.has(name))
		}
	}
	return all, nil
}

// members returns at most maxPeople members of a group that the author of a text sees, or of the project if the author is one of them.
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

// readers returns those of some people who may read an issue of a project and, if internal is true, the internal notes about it.
func (s *Service) readers(ctx context.Context, q postgres.Querier, p *project.Project, i *issue.Issue, internal bool, ids []int64) ([]int64, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	accounts, err := postgres.All[user.AccountState](ctx, q, sqlPeople, ids)
	if err != nil {
		return nil, err
	}
	roles, err := grant.RolesOnProject(ctx, q, ids, p.ID, s.today())
	if err != nil {
		return nil, err
	}
	readerIDs := []int64{}
	for _, u := range accounts {
		them, there := access.Actor{Person: u.Person()}, *p
		there.Role = roles[u.ID]
		if issue.RightsOf(them, &there, i).Read && (!internal || access.Holds(them, access.ReadInternalNotes, there.Target())) {
			readerIDs = append(readerIDs, u.ID)
		}
	}
	return readerIDs, nil
}

// addBacklinks adds a system note "mentioned in …" to every issue that the text refers to. Internal notes add none, and neither do references to projects
// in which the author may not comment.
func (s *Service) addBacklinks(ctx context.Context, tx pgx.Tx, t text, refs []markdown.Reference) error {
	if len(refs) == 0 || t.internal() || !t.By.SignedIn() {
		return nil
	}
	paths := make([]string, len(refs))
	for n := range refs {
		paths[n] = strings.ToLower(refs[n].Path)
	}
	projects, err := s.projects(ctx, tx, t.By, t.Project, paths)
	if err != nil {
		return err
	}
	var numbers []issue.Number
	for n, r := range refs {
		number, ok := numberIn(t.By, projects[paths[n]], r.Name)
		if ok && !slices.Contains(numbers, number) && len(numbers) < maxIssues {
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
		at, from := issue.Placed{Project: numbers[n].Project, Issue: i}, issue.Placed{Project: t.Project, Issue: t.Issue}
		if err := s.deps.Notes.NoteMention(ctx, tx, t.By, at, from, t.At); err != nil {
			return err
		}
	}
	return nil
}

// numberIn reads the number of an issue in a project. It is none where the author may not comment, or does not see the project, which is nil then.
func numberIn(by access.Actor, p *project.Project, text string) (issue.Number, bool) {
	iid, err := strconv.ParseInt(text, 10, 32)
	return issue.Number{Project: p, IID: int(iid)}, err == nil && p != nil && access.Holds(by, access.CreateNotes, p.Target())
}

// projects returns the projects at some paths in lower case that the author of a text sees, with the author's roles. The path "" is the text's own
// project, and one without a slash is beside it.
func (s *Service) projects(
	ctx context.Context, q postgres.Querier, by access.Actor, own *project.Project, paths []string,
) (map[string]*project.Project, error) {
	byPath, ids := map[string]*project.Project{"": own}, map[string]int64{}
	for _, path := range paths {
		if _, known := ids[path]; known || path == "" || len(ids) == maxProjects {
			continue
		}
		whole := path
		if !strings.Contains(path, "/") {
			whole = own.NamespaceFullPath + "/" + path
		}
		route, err := group.Walk(ctx, q, whole)
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
	rows, err := postgres.All[project.Project](ctx, q, sqlProjects, by.ID(), s.today(), asked)
	if err != nil {
		return nil, err
	}
	for path, id := range ids {
		if n := slices.IndexFunc(rows, func(p project.Project) bool { return p.ID == id }); n >= 0 && access.Sees(by, rows[n].Target()) {
			byPath[path] = &rows[n]
		}
	}
	return byPath, nil
}

// Participants reads one page of the people who take part in an issue and may read it: its author, its assignees, whoever commented on it
// and whoever is mentioned, as far as the reader may know. They are ordered by id; further ones than the first thousand are not listed.
func (s *Service) Participants(ctx context.Context, a access.Actor, at issue.Placed, req paging.Request) (paging.Result[user.Brief], error) {
	internal := access.Holds(a, access.ReadInternalNotes, at.Target())
	ids, err := postgres.Values[int64](ctx, s.deps.DB, sqlParticipants, at.Issue.ID, internal)
	if err != nil {
		return paging.Result[user.Brief]{}, err
	}
	readerIDs, err := s.readers(ctx, s.deps.DB, at.Project, at.Issue, false, ids)
	if err != nil {
		return paging.Result[user.Brief]{}, err
	}
	slices.Sort(readerIDs)
	page := paging.Cut(readerIDs, req)
	briefs, err := s.deps.Users.Briefs(ctx, page.Items...)
	return paging.Map(page, func(id int64) user.Brief { return briefs[id] }), err
}
