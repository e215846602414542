package issue

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"time"
	"unicode"

	"stithy/internal/group"
	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/paging"
	"stithy/internal/owner"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/sorting"
	"stithy/internal/project"
)

// Scope is where a list looks: in a project, in all projects of a group and of those below it, or everywhere.
type Scope struct {
	Project *project.Project
	Group   *group.Group
}

// Presence says whether something is asked for at all.
type Presence int

const (
	Whatever Presence = iota
	None
	Any
	Upcoming // of milestones: the next that is due
	Started  // of milestones: begun and not over
)

// Match is what is asked of labels, milestones, authors and assignees. Ids are those of people.
type Match struct {
	IIDs        []int
	Labels      []string // all of them; of what a list leaves out: any of them
	Label       Presence
	Milestone   *string // by title
	InMilestone Presence
	MilestoneID int64
	AuthorIDs   []int64
	AssigneeIDs []int64
	Assigned    Presence
	Weight      *int
	Weighed     Presence
	Health      string
	HealthSaid  Presence
	NobodyKnown bool // asks for people or things that do not exist
}

// Filter narrows a list of issues.
type Filter struct {
	Match
	Not                                                      Match
	Closed                                                   *bool
	Search                                                   string
	InTitle, InDescription                                   bool
	CreatedAfter, CreatedBefore, UpdatedAfter, UpdatedBefore *time.Time
	Due                                                      string
	Confidential                                             *bool
	Types                                                    []Type   // any of them
	Reaction                                                 string   // an emoji that the reader gave the issue
	Reacted                                                  Presence // whether the reader gave any
	NonArchived                                              bool
	Marked, Unmarked                                         Marks // with one of each kind that is named, and with none at all
}

// orders are the keys that a list may be ordered by, before the id. What has none of a key comes last.
var orders = map[string]struct{ asc, desc []postgres.Key }{
	"created_at":        {[]postgres.Key{{Expr: "i.created_at"}}, []postgres.Key{{Expr: "i.created_at", Desc: true}}},
	"updated_at":        {[]postgres.Key{{Expr: "i.updated_at"}}, []postgres.Key{{Expr: "i.updated_at", Desc: true}}},
	"title":             {[]postgres.Key{{Expr: "lower(i.title)"}}, []postgres.Key{{Expr: "lower(i.title)", Desc: true}}},
	"popularity":        {[]postgres.Key{{Expr: "i.upvotes"}}, []postgres.Key{{Expr: "i.upvotes", Desc: true}}},
	"weight":            {[]postgres.Key{{Expr: "coalesce(i.weight, 2147483647)"}}, []postgres.Key{{Expr: "coalesce(i.weight, -1)", Desc: true}}},
	"due_date":          {[]postgres.Key{{Expr: "coalesce(i.due_date, 'infinity')"}}, []postgres.Key{{Expr: "coalesce(i.due_date, '-infinity')", Desc: true}}},
	"relative_position": {[]postgres.Key{{Expr: "coalesce(i.relative_position, 9223372036854775807)"}}, []postgres.Key{{Expr: "coalesce(i.relative_position, 9223372036854775807)"}}},
	"milestone_due":     {[]postgres.Key{{Expr: milestoneDue}}, []postgres.Key{{Expr: milestoneDueLast, Desc: true}}},
	"label_priority":    {[]postgres.Key{{Expr: labelPriority}}, []postgres.Key{{Expr: labelPriorityLast, Desc: true}}},
	"priority":          {[]postgres.Key{{Expr: milestoneDue}, {Expr: labelPriority}}, []postgres.Key{{Expr: milestoneDueLast, Desc: true}, {Expr: labelPriorityLast, Desc: true}}},
}

const (
	milestoneDue      = `coalesce((select m.due_date from milestones m where m.id = i.milestone_id), 'infinity')`
	milestoneDueLast  = `coalesce((select m.due_date from milestones m where m.id = i.milestone_id), '-infinity')`
	priorityOf        = `(select min(lp.priority) from issue_labels il join label_priorities lp on lp.label_id = il.label_id and lp.project_id = i.project_id where il.issue_id = i.id)`
	labelPriority     = `coalesce(` + priorityOf + `, 2147483647)`
	labelPriorityLast = `coalesce(` + priorityOf + `, -1)`
)

var byID = postgres.Key{Expr: "i.id", Desc: true}

// listing is one list for one reader.
type listing struct {
	Filter
	by       access.Actor
	today    time.Time
	project  *project.Project // alone
	projects []int64          // each of them, with issues
	full     []bool           // of each: confidential ones, too
	numbers  int              // that issues of these projects were given
	large    []int64          // of the projects: those with very many issues
	all      *readers         // of all projects, each looked at when it is met
	labels   [][]int64        // of each name that is asked for, the labels that have it
	unwanted []int64
	goals    []int64 // milestones of the title that is asked for
	others   []int64 // of the title that is not wanted
	groups   []int64 // whose labels and milestones the projects may have; nil: not asked for yet
	first    bool    // looks only at the first maxPassed issues
}

// readers is who reads issues, as the condition readable asks for it.
type readers struct {
	all            bool // administrators and auditors
	least          access.Visibility
	guest, reports project.Standing
}

// maxEach is of how many projects the first issues of each are read. Beyond it they are met soon enough when all are passed in order.
const maxEach = 2_000

// maxInGroup is of how many projects a list of a group holds issues.
const maxInGroup = 100_000

// List reads one page of the issues that an actor may read.
func (s *Service) List(ctx context.Context, by access.Actor, in Scope, f Filter, req paging.Request) (paging.Result[Issue], error) {
	l, empty, err := s.listing(ctx, by, in, f)
	if err != nil || empty {
		return paging.Result[Issue]{}, err
	}
	return s.fetch(ctx, l, req)
}

// Part is issues of one state with some marks, or without.
type Part struct {
	Closed           bool
	Marked, Unmarked Marks
}

// ListParts reads one page of each of some parts of a list. What the reader sees, and what the filter names, is found once for all of them.
func (s *Service) ListParts(
	ctx context.Context, by access.Actor, in Scope, f Filter, parts []Part, req paging.Request,
) ([]paging.Result[Issue], error) {
	pages := make([]paging.Result[Issue], len(parts))
	l, empty, err := s.listing(ctx, by, in, f)
	if err != nil || empty {
		return pages, err
	}
	for n, p := range parts {
		l.Closed, l.Marked, l.Unmarked = &p.Closed, p.Marked, p.Unmarked
		if pages[n], err = s.fetch(ctx, l, req); err != nil {
			return nil, err
		}
	}
	return pages, nil
}

func (s *Service) fetch(ctx context.Context, l *listing, req paging.Request) (paging.Result[Issue], error) {
	after := func(i Issue) []string {
		at := i.CreatedAt
		if req.OrderBy == "updated_at" {
			at = i.UpdatedAt
		}
		return []string{at.Format(time.RFC3339Nano), strconv.FormatInt(i.ID, 10)}
	}
	vast, err := s.vast(ctx, l, req)
	if err != nil {
		return paging.Result[Issue]{}, err
	}
	ctx = l.hurry(ctx)
	if vast {
		first := *l
		first.first = true
		if page, err := paging.FetchOf(ctx, s.deps.DB, first.page(req), req, paging.MaxTotal+1, after); err != nil || page.More {
			return page, tooBroad(err)
		}
	}
	parts, err := s.parts(ctx, l)
	if err != nil {
		return paging.Result[Issue]{}, err
	}
	list := l.page(req)
	if len(parts) > 1 {
		if list, err = s.join(ctx, parts, req); err != nil {
			return paging.Result[Issue]{}, err
		}
	}
	page, err := paging.FetchOf(ctx, s.deps.DB, list, req, 0, after)
	if err != nil || req.Keyset {
		return page, tooBroad(err)
	}
	if page.Total = req.Offset() + len(page.Items); page.More || (len(page.Items) == 0 && req.Page > 1) {
		page.Total, err = s.countParts(ctx, parts, req, paging.MaxTotal+1)
	}
	return page, err
}

// maxLarge is how many projects of a list are looked at alone: the largest.
const maxLarge = 3

// parts are a list of several projects as lists of its large projects, each alone, and of all others. The database plans a list of many projects for
// their average, which is far from what a large one needs.
func (s *Service) parts(ctx context.Context, l *listing) ([]*listing, error) {
	if l.projects == nil || l.Search != "" || len(l.large) == 0 {
		return []*listing{l}, nil
	}
	var all []*listing
	for _, id := range l.large {
		p, err := s.deps.Projects.Find(ctx, l.by, id)
		if fault.Is(err, fault.NotFound) {
			continue // it was deleted meanwhile
		}
		if err != nil {
			return nil, err
		}
		one, empty, err := s.listing(ctx, l.by, Scope{Project: p}, l.Filter)
		if err != nil {
			return nil, err
		}
		if !empty {
			all = append(all, one)
		}
	}
	rest := *l
	rest.projects, rest.full = []int64{}, []bool{}
	for n, id := range l.projects {
		if !slices.Contains(l.large, id) {
			rest.projects, rest.full = append(rest.projects, id), append(rest.full, l.full[n])
		}
	}
	return append(all, &rest), nil
}

// join is the list of what some lists find for a page.
func (s *Service) join(ctx context.Context, parts []*listing, req paging.Request) (*postgres.List, error) {
	most := req.PerPage + 1
	if !req.Keyset {
		most += req.Offset()
	}
	type row struct{ ID int64 }
	part, found := req, []int64{}
	part.Page, part.PerPage = 1, most
	for _, l := range parts {
		some, err := paging.FetchOf(ctx, s.deps.DB, inOrder(l.found(req, most), req), part, 0, func(row) []string { return nil })
		if err != nil {
			return nil, err
		}
		for _, r := range some.Items {
			found = append(found, r.ID)
		}
	}
	return inOrder(postgres.From("unnest(?::bigint[]) found(id)", found), req).Details("join issues i on i.id = page.id", listColumns), nil
}

func (s *Service) countParts(ctx context.Context, parts []*listing, req paging.Request, most int) (total int, err error) {
	for _, l := range parts {
		sql, args := l.found(req, most).CountSQL(most)
		n, err := postgres.Value[int](l.hurry(ctx), s.deps.DB, sql, args...)
		if err != nil {
			return 0, tooBroad(err)
		}
		if total += n; total >= most {
			return most, nil
		}
	}
	return total, nil
}

// maxSearch is how long the database looks for a text. A word that millions of issues have, none of them new, takes longer than anybody waits.
const maxSearch = 5 * time.Second

// hurry bounds a search.
func (l *listing) hurry(ctx context.Context) context.Context {
	if l.Search == "" {
		return ctx
	}
	return postgres.Within(ctx, postgres.Limits{Statement: maxSearch})
}

// tooBroad says what to do about a search that takes too long.
func tooBroad(err error) error {
	if errors.Is(err, postgres.ErrTimeout) {
		return errBroad
	}
	return err
}

var errBroad = fault.WithMessage(fault.Unavailable, "This takes too long here: search for longer or rarer words, or add filters")

// maxPassed is how many issues a search passes in the order of its list before it asks the index of texts. That index knows no order: what a word finds
// it finds as a whole, so a word that many issues have costs most, and that word is on the first of them often enough to fill a page.
const maxPassed = 5_000

// vast reports whether a search looks into more issues than are counted.
func (s *Service) vast(ctx context.Context, l *listing, req paging.Request) (bool, error) {
	if l.Search == "" || l.through(req) != issuesAlone || (req.OrderBy != "" && req.OrderBy != "created_at" && req.OrderBy != "updated_at") {
		return false, nil
	}
	switch {
	case l.project != nil:
		return postgres.Value[bool](ctx, s.deps.DB, sqlNumbersBeyond, l.project.ID, paging.MaxTotal)
	case l.all == nil:
		return l.numbers > paging.MaxTotal, nil
	}
	return postgres.Value[bool](ctx, s.deps.DB, sqlIssuesBeyond, paging.MaxTotal)
}

// Counts is how many issues of a list are open and closed, as far as they were counted.
type Counts struct {
	Opened, Closed int
	More           bool // there may be more of either
}

// MaxCount is how far statistics count.
const MaxCount = 100_000

// Count counts the issues that an actor may read, each state up to MaxCount.
func (s *Service) Count(ctx context.Context, by access.Actor, in Scope, f Filter) (c Counts, err error) {
	return s.countStates(ctx, by, in, f, MaxCount, false)
}

// CountOpen is how many open issues of each of some projects an actor may read, of the first that lists count. The actor reads issues there. Confidential
// ones count for those who read all of them.
func (s *Service) CountOpen(ctx context.Context, by access.Actor, projects []*project.Project) (map[int64]int, error) {
	ids, readable := make([]int64, len(projects)), make([]bool, len(projects))
	for n, p := range projects {
		ids[n], readable[n] = p.ID, access.Holds(by, access.ReadConfidentialIssues, p.Target())
	}
	rows, err := postgres.All[struct {
		ID   int64
		Open int
	}](ctx, s.deps.DB, sqlCountOpen, ids, readable, paging.MaxTotal, by.Admin())
	open := make(map[int64]int, len(rows))
	for _, r := range rows {
		open[r.ID] = r.Open
	}
	return open, err
}

// listing finds out where a list looks. empty is that it can hold nothing.
func (s *Service) listing(ctx context.Context, by access.Actor, in Scope, f Filter) (l *listing, empty bool, err error) {
	l = &listing{Filter: f, by: by, today: s.deps.Clock.Now().UTC(), project: in.Project}
	if f.NobodyKnown {
		return l, true, nil
	}
	if in.Project == nil && len(f.AuthorIDs) == 0 && len(f.AssigneeIDs) == 0 && f.Search != "" && !searchable(f.Search) {
		return nil, false, errSearch
	}
	if in.Project == nil {
		if empty, err = s.spread(ctx, l, in.Group); err != nil || empty {
			return l, empty, err
		}
	} else if f.NonArchived && in.Project.Archived {
		return l, true, nil
	}
	if f.Milestone != nil {
		if l.goals, err = s.titled(ctx, l, in, *f.Milestone); err != nil || len(l.goals) == 0 {
			return l, true, err
		}
	}
	if f.Not.Milestone != nil {
		if l.others, err = s.titled(ctx, l, in, *f.Not.Milestone); err != nil {
			return l, false, err
		}
	}
	for _, name := range f.Labels {
		ids, err := s.named(ctx, l, in, name)
		if err != nil || len(ids) == 0 {
			return l, true, err
		}
		l.labels = append(l.labels, ids)
	}
	for _, name := range f.Not.Labels {
		ids, err := s.named(ctx, l, in, name)
		if err != nil {
			return l, false, err
		}
		l.unwanted = append(l.unwanted, ids...)
	}
	return l, false, nil
}

// readers finds out where an actor reads issues.
func (s *Service) readers(ctx context.Context, by access.Actor) (r *readers, err error) {
	r = &readers{all: by.Admin() || by.Auditor(), least: access.Public}
	if access.Sees(by, access.Target{Visibility: access.Internal}) {
		r.least = access.Internal
	}
	if r.guest, err = s.deps.Projects.StandingFrom(ctx, by, access.Guest); err == nil {
		r.reports, err = s.deps.Projects.StandingFrom(ctx, by, access.Reporter)
	}
	return r, err
}

// spread finds the projects of a list that is not of one alone.
func (s *Service) spread(ctx context.Context, l *listing, g *group.Group) (empty bool, err error) {
	r, err := s.readers(ctx, l.by)
	if err != nil {
		return false, err
	}
	if g == nil && (len(l.AuthorIDs) > 0 || len(l.AssigneeIDs) > 0 || r.all) {
		l.all = r // by the index of a person, or of everything
		return false, nil
	}
	found := postgres.From("issue_counters c join projects p on p.id = c.project_id").Columns("p.id, c.last, "+fullyReadable, r.full()...)
	found.Where(readable, r.args()...)
	if l.NonArchived {
		found.Where("not p.archived")
	}
	most := maxEach
	if g != nil {
		found.Where("p.namespace_id = any(array(select n.id from namespaces n where n.lineage @> array[?::bigint]))", g.ID)
		most = maxInGroup
	}
	sql, args := found.Order(postgres.Key{Expr: "p.id"}).Limit(most + 1).SQL()
	type has struct {
		ID   int64
		Last int // number of an issue
		Full bool
	}
	rows, err := postgres.All[has](ctx, s.deps.DB, sql, args...)
	if err != nil {
		return false, err
	}
	if len(rows) > most && g == nil {
		l.all = r
		return false, nil
	}
	for _, row := range rows {
		l.projects, l.full, l.numbers = append(l.projects, row.ID), append(l.full, row.Full), l.numbers+row.Last
	}
	sorting.By(rows, func(a, b has) int { return cmp.Compare(b.Last, a.Last) })
	for _, row := range rows[:min(len(rows), maxLarge)] {
		if row.Last > paging.MaxTotal {
			l.large = append(l.large, row.ID)
		}
	}
	return len(rows) == 0, nil
}

// readable is the condition that somebody reads the issues of a project called p: what access.Holds says of ReadIssues, for lists that are filtered
// before they are counted. fullyReadable is whether they read confidential ones, too.
const (
	readable = `not p.removal and coalesce(p.features->>'issues', 'enabled') <> 'disabled' and (?::boolean
	or (p.visibility >= ?::smallint and coalesce(p.features->>'issues', 'enabled') = 'enabled')
	or p.namespace_id = any(?::bigint[]) or p.id = any(?::bigint[]))`
	fullyReadable = `(?::boolean or p.namespace_id = any(?::bigint[]) or p.id = any(?::bigint[])) as full`
)

// InReadable and Readable are for lists of other rooms: they join the project, as p, of an issue called i, and leave what somebody may read. A Reader
// has their arguments.
const (
	// Offset 0 has each issue that is met asked for its project: how many are readable is not guessed.
	InReadable = `cross join lateral (select p.id, p.namespace_id from projects p where p.id = i.project_id and ` + readable + ` offset 0) p`
	Readable   = `(?::boolean or not i.confidential or p.namespace_id = any(?::bigint[]) or p.id = any(?::bigint[])
	or i.author_id = ? or exists (select 1 from issue_assignees a where a.issue_id = i.id and a.user_id = ?))
	and (?::boolean or not exists (select 1 from users u where u.id = i.author_id and u.state = 'banned'))`
	// Reported is that somebody is a reporter in p.
	Reported = `(?::boolean or p.namespace_id = any(?::bigint[]) or p.id = any(?::bigint[]))`
)

// Reader is somebody who reads issues of many projects.
type Reader struct {
	by access.Actor
	in *readers
}

// Reader finds out what an actor reads.
func (s *Service) Reader(ctx context.Context, by access.Actor) (Reader, error) {
	in, err := s.readers(ctx, by)
	return Reader{by, in}, err
}

// InReadable are the arguments of the constant of that name, and so on.
func (r Reader) InReadable() []any { return r.in.args() }

// Readable are its arguments.
func (r Reader) Readable() []any { return append(r.in.full(), r.by.ID(), r.by.ID(), r.by.Admin()) }

// Reported are its arguments.
func (r Reader) Reported() []any { return r.in.full() }

func (r *readers) args() []any { return []any{r.all, r.least, r.guest.Namespaces, r.guest.Projects} }
func (r *readers) full() []any { return []any{r.all, r.reports.Namespaces, r.reports.Projects} }

// named are the labels of a name that issues of the list may have.
func (s *Service) named(ctx context.Context, l *listing, in Scope, name string) ([]int64, error) {
	groups, err := s.groups(ctx, l, in)
	if err != nil {
		return nil, err
	}
	if in.Project == nil {
		return postgres.Values[int64](ctx, s.deps.DB, sqlNamedIn, name, l.all != nil, l.projects, groups)
	}
	return postgres.Values[int64](ctx, s.deps.DB, sqlNamedFor, name, in.Project.ID, groups)
}

// groups are those whose labels and milestones the projects of a list may have.
func (s *Service) groups(ctx context.Context, l *listing, in Scope) (_ []int64, err error) {
	switch {
	case l.groups != nil || l.all != nil:
	case in.Project != nil:
		l.groups, err = owner.Lineage(ctx, s.deps.DB, bus.Entity{Kind: bus.OfProject, ID: in.Project.ID})
	case in.Group != nil:
		l.groups, err = postgres.Value[[]int64](ctx, s.deps.DB, sqlGroupsAround, in.Group.ID)
	default:
		l.groups, err = postgres.Value[[]int64](ctx, s.deps.DB, sqlGroupsAbove, l.projects)
	}
	return l.groups, err
}

// titled are the milestones of a title that issues of the list may have.
func (s *Service) titled(ctx context.Context, l *listing, in Scope, title string) ([]int64, error) {
	groups, err := s.groups(ctx, l, in)
	if err != nil {
		return nil, err
	}
	if in.Project == nil {
		return postgres.Values[int64](ctx, s.deps.DB, sqlTitledIn, title, l.all != nil, l.projects, groups)
	}
	return postgres.Values[int64](ctx, s.deps.DB, sqlTitledFor, title, in.Project.ID, groups)
}

// keys are the order of a request. It is total: what is equal is ordered by id.
func keys(req paging.Request) []postgres.Key {
	order, known := orders[req.OrderBy]
	if !known {
		order = orders["created_at"]
	}
	if req.Desc {
		return append(order.desc[:len(order.desc):len(order.desc)], byID)
	}
	return append(order.asc[:len(order.asc):len(order.asc)], byID)
}

// page is the list of one page.
func (l *listing) page(req paging.Request) *postgres.List {
	most := req.PerPage + 1
	if !req.Keyset {
		most += req.Offset()
	}
	return inOrder(l.found(req, most), req).Details("join issues i on i.id = page.id", listColumns)
}

// inOrder puts issues that were found in the order of a request.
func inOrder(found *postgres.List, req paging.Request) *postgres.List {
	return found.Join("join issues i on i.id = found.id").Columns("i.id").Order(keys(req)...)
}

// found is the ids of the first issues, no more than most of each project: further ones stand on no page that is asked for.
func (l *listing) found(req paging.Request, most int) *postgres.List {
	issues, order := postgres.From("issues i"), keys(req)
	through := l.through(req)
	switch {
	case l.first:
		issues = postgres.Among(l.passed(req), "i")
	case through == aLabel:
		issues, order = postgres.From("issue_labels x join issues i on i.id = x.issue_id"), inRows(req)
	case through == anAssignee:
		issues, order = postgres.From("issue_assignees x join issues i on i.id = x.issue_id"), inRows(req)
	}
	const each = "unnest(?::bigint[], ?::boolean[]) o(project_id, readable)"
	if l.projects != nil && l.Search != "" {
		issues.Join("join "+each+" on o.project_id = i.project_id", l.projects, l.full) // a text is sought once, not in each project
	}
	if l.all != nil {
		// Offset 0 has each issue that is met asked for its project: how many are readable is not guessed.
		issues.Join("cross join lateral (select p.id, p.namespace_id from projects p where p.id = i.project_id and not (? and p.archived) and "+readable+" offset 0) p",
			append([]any{l.NonArchived}, l.all.args()...)...)
	}
	l.where(issues, through)
	issues.Columns("i.id").Order(order...).Limit(most)
	goOn(issues, req)
	var list *postgres.List
	if l.projects != nil && l.Search == "" {
		list = postgres.From(each, l.projects, l.full).Each(issues, "found")
	} else {
		list = postgres.Among(issues, "found")
	}
	if l.sought() {
		list.Replan()
	}
	return list
}

// goOn has a list begin where a request goes on.
func goOn(issues *postgres.List, req paging.Request) {
	if req.Cursor == nil || !issues.AfterFits(len(req.Cursor.After)) {
		return
	}
	values := make([]any, len(req.Cursor.After))
	for n, v := range req.Cursor.After {
		values[n] = v
	}
	issues.After(values...)
}

// passed is the issues that a search looks at one by one.
func (l *listing) passed(req paging.Request) *postgres.List {
	issues := postgres.From("issues i").Columns("i.*").Order(keys(req)...).Limit(maxPassed)
	if l.project != nil {
		issues.Where("i.project_id = ?", l.project.ID)
	}
	goOn(issues, req)
	return issues
}

// way is what a list is read through: issues themselves, or rows beside them that an index has in the order of the list.
type way int

const (
	issuesAlone way = iota
	aLabel          // the issues of one
	anAssignee
)

// through says how a list is read. Rows beside issues are in the order in which the issues were created.
func (l *listing) through(req paging.Request) way {
	switch {
	case req.OrderBy != "" && req.OrderBy != "created_at":
		return issuesAlone
	case len(l.AssigneeIDs) == 1:
		return anAssignee
	case l.all == nil && len(l.labels) > 0 && len(l.labels[0]) == 1:
		return aLabel
	}
	return issuesAlone
}

// inRows is the order by creation of rows beside issues, called x.
func inRows(req paging.Request) []postgres.Key {
	return []postgres.Key{{Expr: "x.created_at", Desc: req.Desc}, {Expr: "x.issue_id", Desc: true}}
}

// sought reports whether how best to find the issues depends on what is asked for.
func (l *listing) sought() bool {
	return l.Search != "" || l.Reaction != "" || l.Reacted == Any || len(l.labels) > 0 || len(l.AssigneeIDs) > 0 || len(l.AuthorIDs) > 0 || l.Milestone != nil || l.MilestoneID != 0 ||
		l.CreatedAfter != nil || l.CreatedBefore != nil || l.UpdatedAfter != nil || l.UpdatedBefore != nil || l.Marked.any()
}

// where adds who may read and what was asked for.
func (l *listing) where(q *postgres.List, through way) {
	const own = `i.author_id = ? or exists (select 1 from issue_assignees a where a.issue_id = i.id and a.user_id = ?)`
	me := l.by.ID()
	switch {
	case l.project != nil:
		if through == issuesAlone {
			q.Where("i.project_id = ?", l.project.ID)
		} else {
			q.Where("x.project_id = ?", l.project.ID)
		}
		if !access.Holds(l.by, access.ReadConfidentialIssues, l.project.Target()) {
			q.Where("not i.confidential or "+own, me, me)
		}
	case l.all == nil:
		if through == issuesAlone {
			q.Where("i.project_id = o.project_id")
		} else {
			q.Where("x.project_id = o.project_id")
		}
		q.Where("o.readable or not i.confidential or "+own, me, me)
	case !l.all.all:
		q.Where("not i.confidential or p.namespace_id = any(?::bigint[]) or p.id = any(?::bigint[]) or "+own,
			l.all.reports.Namespaces, l.all.reports.Projects, me, me)
	}
	if !l.by.Admin() {
		q.Where("not exists (select 1 from users u where u.id = i.author_id and u.state = 'banned')")
	}
	if l.Closed != nil {
		if *l.Closed {
			q.Where("i.closed")
		} else {
			q.Where("not i.closed") // as the index of open ones says it
		}
	}
	if l.Confidential != nil {
		if *l.Confidential {
			q.Where("i.confidential") // as their index says it
		} else {
			q.Where("not i.confidential")
		}
	}
	switch len(l.Types) {
	case 0:
	case 1:
		q.Where("i.type = ?", l.Types[0])
	default:
		q.Where("i.type = any(?::text[])", l.Types)
	}
	if l.Search != "" {
		l.whereMatches(q)
	}
	l.whereReacted(q)
	l.whereTimes(q)
	l.whereDue(q)
	l.whereLabels(q, through)
	l.whereMatch(q, through)
	l.whereNot(q)
	l.whereMarks(q)
}

var errSearch = fault.WithMessage(fault.BadParams, "search needs three letters or digits in a row where it looks into all projects")

// searchable reports whether the index knows where a text stands: it knows three letters or digits in a row.
func searchable(text string) bool {
	row := 0
	for _, c := range text {
		if row++; !unicode.IsLetter(c) && !unicode.IsDigit(c) {
			row = 0
		}
		if row == 3 {
			return true
		}
	}
	return false
}

func (l *listing) whereMatches(q *postgres.List) {
	pattern := postgres.LikeContains(l.Search)
	switch {
	case l.InTitle == l.InDescription:
		q.Where("i.title ilike ? or left(i.description, 10000) ilike ?", pattern, pattern) // as the index says it
	case l.InTitle:
		q.Where("i.title ilike ?", pattern)
	default:
		q.Where("left(i.description, 10000) ilike ?", pattern)
	}
}

// whereReacted looks at the emoji that the reader gave: these are few, and issues are many.
func (l *listing) whereReacted(q *postgres.List) {
	switch {
	case !l.by.SignedIn():
	case l.Reaction != "":
		q.Where("i.id = any(array(select e.issue_id from award_emoji e where e.user_id = ? and e.name = ?))", l.by.ID(), l.Reaction)
	case l.Reacted == Any:
		q.Where("i.id = any(array(select e.issue_id from award_emoji e where e.user_id = ?))", l.by.ID())
	case l.Reacted == None:
		q.Where("not exists (select 1 from award_emoji e where e.issue_id = i.id and e.user_id = ?)", l.by.ID())
	}
}

func (l *listing) whereTimes(q *postgres.List) {
	if l.CreatedAfter != nil {
		q.Where("i.created_at >= ?", *l.CreatedAfter)
	}
	if l.CreatedBefore != nil {
		q.Where("i.created_at <= ?", *l.CreatedBefore)
	}
	if l.UpdatedAfter != nil {
		q.Where("i.updated_at >= ?", *l.UpdatedAfter)
	}
	if l.UpdatedBefore != nil {
		q.Where("i.updated_at <= ?", *l.UpdatedBefore)
	}
}

// whereDue reads due dates against the day in UTC. A week begins on Monday.
func (l *listing) whereDue(q *postgres.List) {
	day := time.Date(l.today.Year(), l.today.Month(), l.today.Day(), 0, 0, 0, 0, time.UTC)
	within := func(from, to time.Time) { q.Where("i.due_date >= ? and i.due_date < ?", from, to) }
	switch l.Due {
	case "0":
		q.Where("i.due_date is null")
	case "any":
		q.Where("i.due_date is not null")
	case "today":
		within(day, day.AddDate(0, 0, 1))
	case "tomorrow":
		within(day.AddDate(0, 0, 1), day.AddDate(0, 0, 2))
	case "overdue":
		q.Where("i.due_date < ?", day)
	case "week":
		monday := day.AddDate(0, 0, -(int(day.Weekday())+6)%7)
		within(monday, monday.AddDate(0, 0, 7))
	case "month":
		first := day.AddDate(0, 0, 1-day.Day())
		within(first, first.AddDate(0, 1, 0))
	case "next_month_and_previous_two_weeks":
		within(day.AddDate(0, 0, -14), day.AddDate(0, 0, 1-day.Day()).AddDate(0, 2, 0))
	}
}

func (l *listing) whereLabels(q *postgres.List, through way) {
	for n, ids := range l.labels {
		switch {
		case through == aLabel && n == 0:
			q.Where("x.label_id = ?", ids[0])
		case l.all != nil:
			q.Where(labeledHere, ids)
		default:
			q.Where(labeled, ids)
		}
	}
	switch {
	case len(l.unwanted) == 0:
	case l.all != nil:
		q.Where("not "+labeledHere, l.unwanted)
	default:
		q.Where(unlabeled, l.unwanted)
	}
	l.Label.either(func() { q.Where("not " + anyLabel) }, func() { q.Where(anyLabel) })
}

const (
	anyLabel    = `exists (select 1 from issue_labels il where il.issue_id = i.id)`
	anyAssignee = `exists (select 1 from issue_assignees a where a.issue_id = i.id)`
)

// The last condition of labeledHere and plannedHere leaves out what an issue kept of a group that its project has left. Where the projects of a list
// are known, its labels and milestones are of their groups alone.
const (
	labeled = `exists (select 1 from issue_labels il where il.issue_id = i.id and il.label_id = any(?::bigint[]))`
	// Each issue that is met is looked up: to find all that have a label takes longer than to pass some that have it.
	unlabeled   = `(select true from issue_labels il where il.issue_id = i.id and il.label_id = any(?::bigint[]) limit 1) is null`
	labeledHere = `exists (select 1 from issue_labels il join labels b on b.id = il.label_id where il.issue_id = i.id and il.label_id = any(?::bigint[])
	and (b.project_id = i.project_id or b.namespace_id = any(select unnest(n.lineage) from namespaces n where n.id = p.namespace_id)))`
	planned     = `i.milestone_id = any(?::bigint[])`
	plannedHere = `exists (select 1 from milestones m where m.id = i.milestone_id and m.id = any(?::bigint[])
	and (m.project_id = i.project_id or m.namespace_id = any(select unnest(n.lineage) from namespaces n where n.id = p.namespace_id)))`
)

const (
	assigned = `exists (select 1 from issue_assignees a where a.issue_id = i.id and a.user_id = any(?::bigint[]))`
	upcoming = `exists (select 1 from milestones m where m.id = i.milestone_id and m.state = 'active' and m.due_date >= ?::date and not exists (
	select 1 from milestones o where o.state = 'active' and o.due_date >= ?::date and o.due_date < m.due_date
		and (o.project_id = m.project_id or o.namespace_id = m.namespace_id)))`
	started = `exists (select 1 from milestones m where m.id = i.milestone_id and m.start_date <= ?::date and coalesce(m.due_date >= ?::date, true))`
)

func (l *listing) whereMatch(q *postgres.List, through way) {
	if len(l.IIDs) > 0 {
		q.Where("i.iid = any(?::bigint[])", l.IIDs)
	}
	switch { // an index is in order for one value, not for any of several
	case len(l.AuthorIDs) == 1:
		q.Where("i.author_id = ?", l.AuthorIDs[0])
	case len(l.AuthorIDs) > 1:
		q.Where("i.author_id = any(?::bigint[])", l.AuthorIDs)
	}
	switch {
	case through == anAssignee:
		q.Where("x.user_id = ?", l.AssigneeIDs[0])
	case len(l.AssigneeIDs) > 0:
		q.Where(assigned, l.AssigneeIDs)
	}
	l.Assigned.either(func() { q.Where("not " + anyAssignee) }, func() { q.Where(anyAssignee) })
	if l.MilestoneID != 0 {
		q.Where("i.milestone_id = ?", l.MilestoneID)
	}
	switch {
	case l.Milestone == nil:
	case l.all != nil:
		q.Where(plannedHere, l.goals)
	case len(l.goals) == 1:
		q.Where("i.milestone_id = ?", l.goals[0])
	default:
		q.Where(planned, l.goals)
	}
	switch l.InMilestone {
	case None:
		q.Where("i.milestone_id is null")
	case Any:
		q.Where("i.milestone_id is not null")
	case Upcoming:
		q.Where(upcoming, l.today, l.today)
	case Started:
		q.Where(started, l.today, l.today)
	}
	if l.Weight != nil {
		q.Where("i.weight = ?::bigint", *l.Weight)
	}
	l.Weighed.either(func() { q.Where("i.weight is null") }, func() { q.Where("i.weight is not null") })
	if l.Health != "" {
		q.Where("i.health_status = ?", l.Health)
	}
	l.HealthSaid.either(func() { q.Where("i.health_status is null") }, func() { q.Where("i.health_status is not null") })
}

// either does one thing where none is asked for, and another where any is.
func (here Presence) either(none, some func()) {
	switch here {
	case None:
		none()
	case Any:
		some()
	}
}

// opposite is what is left where something is not wanted: without none there is some.
func (here Presence) opposite() Presence {
	switch here {
	case None:
		return Any
	case Any:
		return None
	}
	return Whatever
}

func (l *listing) whereNot(q *postgres.List) {
	if len(l.Not.IIDs) > 0 {
		q.Where("i.iid <> all(?::bigint[])", l.Not.IIDs)
	}
	if len(l.Not.AuthorIDs) > 0 {
		q.Where("i.author_id is null or i.author_id <> all(?::bigint[])", l.Not.AuthorIDs)
	}
	if len(l.Not.AssigneeIDs) > 0 {
		q.Where("not "+assigned, l.Not.AssigneeIDs)
	}
	switch {
	case l.Not.Milestone == nil:
	case l.all != nil:
		q.Where("not "+plannedHere, l.others)
	default:
		q.Where("i.milestone_id is null or not "+planned, l.others)
	}
	switch l.Not.InMilestone {
	case Upcoming:
		q.Where("not "+upcoming, l.today, l.today)
	case Started:
		q.Where("not "+started, l.today, l.today)
	}
	if l.Not.Weight != nil {
		q.Where("i.weight is null or i.weight <> ?::bigint", *l.Not.Weight)
	}
	l.Not.Weighed.opposite().either(func() { q.Where("i.weight is null") }, func() { q.Where("i.weight is not null") })
	if l.Not.Health != "" {
		q.Where("i.health_status is distinct from ?", l.Not.Health)
	}
	l.Not.HealthSaid.opposite().either(func() { q.Where("i.health_status is null") }, func() { q.Where("i.health_status is not null") })
	l.Not.InMilestone.opposite().either(func() { q.Where("i.milestone_id is null") }, func() { q.Where("i.milestone_id is not null") })
	l.Not.Label.opposite().either(func() { q.Where("not " + anyLabel) }, func() { q.Where(anyLabel) })
	l.Not.Assigned.opposite().either(func() { q.Where("not " + anyAssignee) }, func() { q.Where(anyAssignee) })
}

// whereMarks keeps a list to what stands in a list of a board.
func (l *listing) whereMarks(q *postgres.List) {
	if ids := l.Marked.LabelIDs; len(ids) > 0 {
		q.Where(labeled, ids)
	}
	if ids := l.Unmarked.LabelIDs; len(ids) > 0 {
		q.Where("not "+labeled, ids)
	}
	if ids := l.Marked.AssigneeIDs; len(ids) > 0 {
		q.Where(assigned, ids)
	}
	if ids := l.Unmarked.AssigneeIDs; len(ids) > 0 {
		q.Where("not "+assigned, ids)
	}
	if ids := l.Marked.MilestoneIDs; len(ids) > 0 {
		q.Where("i.milestone_id = any(?::bigint[])", ids)
	}
	if ids := l.Unmarked.MilestoneIDs; len(ids) > 0 {
		q.Where("i.milestone_id is null or i.milestone_id <> all(?::bigint[])", ids)
	}
}
