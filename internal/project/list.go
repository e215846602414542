package project

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/jackc/pgx/v5"

	"stithy/internal/grant"
	"stithy/internal/kit/access"
	"stithy/internal/kit/attribute"
	"stithy/internal/kit/paging"
	"stithy/internal/platform/postgres"
)

// Filter narrows a list of projects.
type Filter struct {
	Search                                string
	SearchNamespaces                      bool
	Archived                              *bool
	Visibility                            *access.Visibility
	Owned, Membership, Starred, Imported  bool // only those of the viewer
	MinRole                               access.Role
	WithIssues, WithMergeRequests         bool
	Topics                                []string
	Attributes                            map[string]string // for administrators; nobody else learns what they match
	IDAfter, IDBefore                     int64
	LastActivityAfter, LastActivityBefore time.Time
	UpdatedAfter, UpdatedBefore           time.Time
	Storage                               string
	Nothing                               bool // asks for what no project has

	// A list of something's projects starts there.
	NamespaceID int64 // projects of one namespace
	CreatorID   int64
	StarredBy   int64
	ForksOf     int64
	Group       *GroupScope
}

// GroupScope is which projects a list of a group holds.
type GroupScope struct {
	ID                int64
	Own, Below, Above bool // of the group itself, of groups below and above
	Shared            bool // that were shared with the group
}

// scoped reports whether the list starts somewhere, and therefore is short
// enough to ask for each project whether it is seen.
func (f Filter) scoped() bool {
	return f.NamespaceID != 0 || f.CreatorID != 0 || f.StarredBy != 0 || f.ForksOf != 0 || f.Group != nil || f.Starred
}

// role is the least role that the viewer must have, or none.
func (f Filter) role() access.Role {
	switch {
	case f.Owned:
		return access.Owner
	case f.Membership:
		return max(f.MinRole, access.Guest)
	}
	return f.MinRole
}

// fragment is SQL text. It is a type so that a string that came from a request
// does not compile as SQL.
type fragment string

// query is SQL with arguments, of which the first three are what the
// fragments of grant ask for: a person, a day and a role.
type query struct {
	sql  strings.Builder
	args []any
}

// add writes a fragment, in which each ? stands for one argument.
func (q *query) add(text fragment, args ...any) {
	rest := string(text)
	for _, v := range args {
		before, after, _ := strings.Cut(rest, "?")
		q.args = append(q.args, v)
		q.sql.WriteString(before + "$" + strconv.Itoa(len(q.args)))
		rest = after
	}
	q.sql.WriteString(rest)
}

// listing is one list for one viewer.
type listing struct {
	Filter
	viewer access.Actor
	order  fragment // the key before the id; empty when the id alone orders
	alike  bool     // the key is the similarity to the search
	desc   bool
	own    *reach // nil when it is too long to be carried along
	wide   bool   // the viewer has a role in so many projects that gathering them costs more than passing all in order
}

// reach is where the viewer has a role: namespaces, and projects by themselves.
type reach struct {
	Namespaces, Projects []int64
	Held                 int // projects in those namespaces, up to one more than maxOwn
}

const (
	// maxOwn is up to how many projects of the viewer's own are gathered.
	// Beyond it they are met soon enough when all projects are passed in order.
	maxOwn = 10_000
	// maxReach is how many namespaces, or single projects, are carried along
	// to be compared with. Whoever has more is asked for in each project.
	maxReach = 100_000
)

// orders are the keys that a list may be ordered by; everything else means the
// id, which follows the time of creation.
var orders = map[string]fragment{"name": "p.name", "path": "p.path", "updated_at": "p.updated_at", "last_activity_at": "p.last_activity_at"}

// List is one page of the projects that the viewer sees.
//
// What a page costs does not grow with the instance. For most viewers it is
// the merge of three ordered and limited parts: what is open to everyone like
// them, by an index of exactly that; what their namespaces hold, by an index
// within each; and the single projects that are shared with them.
func (s *Service) List(ctx context.Context, viewer access.Actor, f Filter, req paging.Request) (paging.Result[Project], error) {
	if err := attribute.CheckFilter(f.Attributes); err != nil {
		return paging.Result[Project]{}, err
	}
	l := listing{Filter: f, viewer: viewer, order: orders[req.OrderBy], desc: req.Desc}
	if req.OrderBy == "similarity" && f.Search != "" && viewer.SignedIn() {
		l.alike, l.Membership, l.desc = true, true, true
	}
	if l.Nothing || ((l.role() > access.NoRole || l.Starred || l.Imported) && !viewer.SignedIn()) {
		return paging.Result[Project]{}, nil
	}
	if l.merged() {
		own, err := postgres.One[reach](ctx, s.deps.DB, sqlReach, viewer.ID(), s.today(), l.least(), maxOwn+1, maxReach+1)
		if err != nil {
			return paging.Result[Project]{}, err
		}
		l.take(own)
	}
	return l.fetch(ctx, s.deps.DB, s.today(), req)
}

func (l *listing) take(own reach) {
	l.wide = max(own.Held, len(own.Namespaces), len(own.Projects)) > maxOwn
	if max(len(own.Namespaces), len(own.Projects)) <= maxReach {
		l.own = &own
	}
}

// sqlReach is asked before the list: with what it found, the list is planned
// for that many and not for a guess.
const sqlReach = `
with mine as materialized (` + grant.Namespaces + `), single as materialized (` + grant.Projects + `)
select array(select id from mine limit $5) as namespaces, array(select id from single limit $5) as projects,
	(select count(*) from (select 1 from mine cross join lateral (select 1 from projects p where p.namespace_id = mine.id limit $4) p limit $4) bounded) as held`

// Standing is where a person has at least a role: in all projects of some namespaces, and in single projects.
type Standing struct{ Namespaces, Projects []int64 }

// StandingFrom finds where an actor has at least a role, for lists of what projects hold.
func (s *Service) StandingFrom(ctx context.Context, a access.Actor, least access.Role) (Standing, error) {
	if !a.SignedIn() {
		return Standing{Namespaces: []int64{}, Projects: []int64{}}, nil
	}
	return postgres.One[Standing](ctx, s.deps.DB, sqlStandingFrom, a.ID(), s.today(), least)
}

const sqlStandingFrom = `select array(` + grant.Namespaces + `) as namespaces, array(` + grant.Projects + `) as projects`

func (l *listing) fetch(ctx context.Context, db postgres.Querier, today time.Time, req paging.Request) (paging.Result[Project], error) {
	sql, args := l.page(today, req)
	items, err := postgres.All[Project](ctx, db, sql, l.planned(args)...)
	if err != nil {
		return paging.Result[Project]{}, err
	}
	res := paging.Result[Project]{Items: items, More: len(items) > req.PerPage}
	if res.More {
		res.Items = items[:req.PerPage]
	}
	if req.Keyset {
		if res.More {
			res.Last = res.Items[req.PerPage-1].ID
		}
		return res, nil
	}
	if res.Total = req.Offset() + len(items); res.More || (len(items) == 0 && req.Page > 1) {
		sql, args := l.count(today)
		res.Total, err = postgres.Value[int](ctx, db, sql, l.planned(args)...)
	}
	return res, err
}

// planned has a search planned for its own words each time. A plan for any
// words at all would not use the index, as most words are rare and the planner
// takes them for common.
func (l *listing) planned(args []any) []any {
	if !l.sought() {
		return args
	}
	return append([]any{pgx.QueryExecModeCacheDescribe}, args...)
}

// sought reports whether the list is of what matches a text.
func (l *listing) sought() bool {
	return l.Search != "" || len(l.Topics) > 0 || (l.viewer.Admin() && len(l.Attributes) > 0)
}

// merged reports whether the list is a merge of parts.
func (l *listing) merged() bool {
	return l.viewer.SignedIn() && !l.scoped() && (l.role() > access.NoRole || !(l.viewer.Admin() || l.viewer.Auditor()))
}

// least is the role below which a membership shows nothing.
func (l *listing) least() access.Role { return max(l.role(), access.Guest) }

// page is the query of a page with one row more. The role of the viewer is
// found out for its rows alone.
func (l *listing) page(today time.Time, req paging.Request) (string, []any) {
	q := l.begin(today)
	q.add(`select ` + withRole + ` from (select u.id, u.key from (`)
	l.parts(q, req.Offset()+req.PerPage+1)
	q.add(`) u`)
	l.orderBy(q, "u.key", "u.id")
	q.add(` limit ? offset ?`, req.PerPage+1, (req.Page-1)*req.PerPage)
	q.add(`) page join projects p on p.id = page.id join namespaces n on n.id = p.namespace_id`)
	l.orderBy(q, "page.key", "page.id")
	return q.sql.String(), q.args
}

// count is the query of the total, up to one more than is ever told. In no
// order, what the viewer's namespaces hold is soon counted that far.
func (l *listing) count(today time.Time) (string, []any) {
	l.order, l.alike, l.wide = "", false, false
	q := l.begin(today)
	q.add(`select count(*) from (select 1 from (`)
	l.parts(q, paging.MaxTotal+1)
	q.add(`) u limit ?) bounded`, paging.MaxTotal+1)
	return q.sql.String(), q.args
}

func (l *listing) begin(today time.Time) *query {
	q := &query{args: []any{l.viewer.ID(), today, l.least()}}
	q.add(`with person as (select $1::bigint, $2::date, $3::smallint)`) // the arguments are there whether used or not
	switch {
	case l.merged() && l.own != nil:
		q.add(`, mine as materialized (select unnest(?::bigint[]) as id), single as materialized (select unnest(?::bigint[]) as id)`,
			l.own.Namespaces, l.own.Projects)
	case l.merged():
		q.add(`, mine as materialized (` + grant.Namespaces + `), single as materialized (` + grant.Projects + `)`)
	}
	q.add(` `)
	return q
}

func (l *listing) orderBy(q *query, key, id fragment) {
	direction := fragment("")
	if l.desc {
		direction = " desc"
	}
	q.add(` order by `)
	if l.order != "" || l.alike {
		q.add(key + direction + `, `)
	}
	q.add(id + direction)
}

// open is the condition that everyone like the viewer sees a project. It is
// spelled as the indexes spell it.
func (l *listing) open() fragment {
	if !l.viewer.SignedIn() || l.viewer.Person.External {
		return `p.visibility = 20`
	}
	return `p.visibility >= 10`
}

func (l *listing) closed() fragment {
	if l.viewer.Person.External {
		return `p.visibility < 20`
	}
	return `p.visibility < 10`
}

// parts writes the ordered and limited parts that make the list.
func (l *listing) parts(q *query, limit int) {
	seesAll := l.viewer.Admin() || l.viewer.Auditor()
	if !l.merged() {
		l.part(q, `from projects p join namespaces n on n.id = p.namespace_id`, limit, func() {
			switch {
			case l.role() > access.NoRole:
				q.add(` and ` + grant.ProjectRole + ` >= $3`)
			case seesAll:
			case !l.viewer.SignedIn():
				q.add(` and ` + l.open())
			default:
				q.add(` and (` + l.open() + ` or ` + grant.ProjectRole + ` > 0)`)
			}
		})
		return
	}
	own := fragment(`p.namespace_id in (select id from mine) or p.id in (select id from single)`)
	if l.own == nil {
		own = `(select ` + grant.ProjectRole + ` from namespaces n where n.id = p.namespace_id) >= $3`
	}
	all := l.role() == access.NoRole
	if l.sought() { // what matches is few, and asked for each whether it is seen
		l.part(q, `from projects p`, limit, func() {
			if q.add(` and (` + own); all {
				q.add(` or ` + l.open())
			}
			q.add(`)`)
		})
		return
	}
	if all {
		l.part(q, `from projects p`, limit, func() { q.add(` and ` + l.open()) })
		q.add(` union all `)
	}
	hidden := func() {
		if all {
			q.add(` and ` + l.closed())
		}
	}
	if l.wide {
		l.part(q, `from projects p`, limit, func() {
			hidden()
			q.add(` and (` + own + `)`)
		})
		return
	}
	inEach := limit
	if l.order != "" && l.order != orders["name"] {
		inEach = whole // no index has this order within a namespace, and that of all projects must not be tried
	}
	q.add(`(select p.id, p.key from mine cross join lateral `)
	l.part(q, `from projects p`, inEach, func() {
		hidden()
		q.add(` and p.namespace_id = mine.id`)
	})
	q.add(` p) union all `)
	l.part(q, `from projects p`, limit, func() {
		hidden()
		q.add(` and p.id = any(array(select id from single)) and p.namespace_id not in (select id from mine)`)
	})
}

// whole is the limit of a part that is short anyway.
const whole = 0

func (l *listing) part(q *query, from fragment, limit int, where func()) {
	q.add(`(select p.id, `)
	switch {
	case l.alike:
		q.add(`greatest(similarity(p.name, ?), similarity(p.path, ?))`, l.Search, l.Search)
	case l.order != "":
		q.add(l.order)
	default:
		q.add(`null`)
	}
	q.add(` as key ` + from + ` where not p.removal`)
	where()
	l.where(q)
	switch {
	case limit == whole:
		q.add(` offset 0)`) // planned on its own, not as a part of what is around it
		return
	case l.alike:
		q.add(` order by key desc, p.id desc`)
	default:
		l.orderBy(q, l.order, "p.id")
	}
	q.add(` limit ?)`, limit)
}

// where adds what was asked for.
func (l *listing) where(q *query) {
	l.whereScope(q)
	if l.Search != "" {
		l.whereMatches(q)
	}
	if l.Archived != nil {
		q.add(` and p.archived = ?`, *l.Archived)
	}
	if l.Visibility != nil {
		q.add(` and p.visibility = ?`, *l.Visibility)
	}
	if l.Imported {
		q.add(` and p.creator_id = $1 and p.settings->>'import_type' <> ''`)
	}
	if l.WithIssues {
		q.add(` and coalesce(p.features->>'issues', 'enabled') <> 'disabled'`)
	}
	if l.WithMergeRequests {
		q.add(` and coalesce(p.features->>'merge_requests', 'enabled') <> 'disabled'`)
	}
	if len(l.Topics) > 0 {
		q.add(` and p.topics @> ?::text[]`, l.Topics)
	}
	if l.viewer.Admin() {
		for _, key := range slices.Sorted(maps.Keys(l.Attributes)) {
			q.add(` and p.id in (select a.project_id from project_custom_attributes a where a.key = ? and a.value = ?)`, key, l.Attributes[key])
		}
	}
	if l.IDAfter != 0 {
		q.add(` and p.id > ?`, l.IDAfter)
	}
	if l.IDBefore != 0 {
		q.add(` and p.id < ?`, l.IDBefore)
	}
	for _, bound := range []struct {
		text fragment
		at   time.Time
	}{
		{` and p.last_activity_at >= ?`, l.LastActivityAfter}, {` and p.last_activity_at <= ?`, l.LastActivityBefore},
		{` and p.updated_at >= ?`, l.UpdatedAfter}, {` and p.updated_at <= ?`, l.UpdatedBefore},
	} {
		if !bound.at.IsZero() {
			q.add(bound.text, bound.at)
		}
	}
	if l.Storage != "" && l.viewer.Admin() {
		q.add(` and p.storage = ?`, l.Storage)
	}
}

func (l *listing) whereScope(q *query) {
	if l.NamespaceID != 0 {
		q.add(` and p.namespace_id = ?`, l.NamespaceID)
	}
	if l.CreatorID != 0 {
		q.add(` and p.creator_id = ?`, l.CreatorID)
	}
	if l.ForksOf != 0 {
		q.add(` and p.forked_from_id = ?`, l.ForksOf)
	}
	if l.StarredBy != 0 {
		q.add(` and p.id = any(array(select project_id from project_stars where user_id = ?))`, l.StarredBy)
	}
	if l.Starred {
		q.add(` and p.id = any(array(select project_id from project_stars where user_id = $1))`)
	}
	if g := l.Group; g != nil {
		q.add(` and (false`)
		if g.Own {
			q.add(` or p.namespace_id = ?`, g.ID)
		}
		if g.Below {
			q.add(` or p.namespace_id = any(array(select id from namespaces where lineage @> array[?::bigint]))`, g.ID)
		}
		if g.Above {
			q.add(` or p.namespace_id = any((select lineage from namespaces where id = ?)::bigint[])`, g.ID)
		}
		if g.Shared {
			q.add(` or p.id = any(array(select s.project_id from shares s where s.group_id = ? and s.project_id is not null
				and (s.expires_at is null or s.expires_at > $2::date)))`, g.ID)
		}
		q.add(`)`)
	}
}

// whereMatches finds the search inside names and descriptions, or as a whole
// where the index does not know its parts.
func (l *listing) whereMatches(q *query) {
	pattern := postgres.LikeContains(l.Search)
	switch run := longestRun(l.Search); {
	case run == 0: // nor does it know the whole
		q.add(` and p.name = ?`, l.Search)
		return
	case run < 3:
		pattern = pattern[1 : len(pattern)-1]
	}
	q.add(` and (p.name ilike ? or p.path ilike ? or p.description ilike ?`, pattern, pattern, pattern)
	if l.SearchNamespaces {
		q.add(` or p.namespace_id = any(array(select d.id from namespaces d
			where d.lineage && array(select m.id from namespaces m where m.name ilike ? or m.path ilike ?)))`, pattern, pattern)
	}
	q.add(`)`)
}

// longestRun is how many letters or digits follow each other in a text. The
// index is made of three at a time.
func longestRun(text string) (longest int) {
	run := 0
	for _, r := range text {
		if run++; !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			run = 0
		}
		longest = max(longest, run)
	}
	return longest
}
