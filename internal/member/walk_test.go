package member_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"stithy/internal/group"
	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
	"stithy/internal/token/tokentest"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
)

// walker is the oracle: what the rows should mean, kept in plain maps.
type walker struct {
	*fixture
	r        *rand.Rand
	log      []string
	people   []*person
	groups   []*space
	projects []*site
	shares   []let
}

type person struct {
	*user.User
	secret  string
	blocked bool
}

// site is a place that has members; a space is one that has others below it.
type site struct {
	id         int64
	in         *space // a project's; a space's parent
	visibility access.Visibility
	held       map[int64]held
	project    bool
}

type space struct {
	site
	holder int64
}

type held struct {
	level   access.Role
	expires string // day, or empty
}

type let struct {
	into  *site
	who   *space
	level access.Role
}

func (w *walker) today() string { return w.now.Format(time.DateOnly) }

func (w *walker) direct(p *person, s *site) access.Role {
	h := s.held[p.ID]
	if h.expires != "" && h.expires <= w.today() {
		return access.NoRole
	}
	return h.level
}

// up is the way from a site to the top, itself first.
func (s *site) up() []*site {
	way := []*site{s}
	for in := s.in; in != nil; in = in.in {
		way = append(way, &in.site)
	}
	return way
}

func (w *walker) role(p *person, s *site) access.Role {
	highest := access.NoRole
	for _, here := range s.up() {
		if r := w.direct(p, here); r > access.MinimalAccess || (here == s && !s.project) {
			highest = max(highest, r)
		}
		for _, l := range w.shares {
			if l.into == here {
				for _, above := range l.who.up() {
					if r := w.direct(p, above); r > access.MinimalAccess {
						highest = max(highest, min(l.level, r))
					}
				}
			}
		}
	}
	if s.project && s.in.holder == p.ID {
		highest = access.Owner
	}
	return highest
}

// below reports whether someone holds something below a group.
func (w *walker) below(p *person, g *space) bool {
	for _, s := range w.sites() {
		if s != &g.site && slices.Contains(s.up(), &g.site) && w.direct(p, s) > access.NoRole {
			return true
		}
	}
	return false
}

func (w *walker) sites() []*site {
	all := slices.Clone(w.projects)
	for _, g := range w.groups {
		all = append(all, &g.site)
	}
	return all
}

// sees is the rule of what may be known, written down once more.
func (w *walker) sees(p *person, s *site) bool {
	switch {
	case p.Admin || s.visibility == access.Public || w.role(p, s) > access.NoRole:
		return true
	}
	return s.visibility == access.Internal && !p.External
}

// abilities are checked after each step, with the role they ask for and
// whether seeing an open place is enough.
var abilities = map[bool][]struct {
	can  access.Ability
	from access.Role
	seen bool
}{
	false: {{access.ReadGroupMembers, access.Guest, true}, {access.AdminGroupMembers, access.Owner, false}, {access.DeleteGroup, access.Owner, false}},
	true: {{access.ReadCode, access.Reporter, true}, {access.AdminProjectMembers, access.Maintainer, false},
		{access.DeleteProject, access.Owner, false}},
}

// check compares everyone's view of everything with the oracle.
func (w *walker) check(t *testing.T) {
	t.Helper()
	for _, p := range w.people {
		actor, err := w.tokens.Authenticate(t.Context(), access.Presented{Secret: p.secret, Kinds: []access.Kind{access.PersonalToken}})
		if (err != nil) != p.blocked {
			w.fail(t, "%s (blocked %t) signs in: %v", p.Username, p.blocked, err)
		}
		if p.blocked {
			continue
		}
		for _, s := range w.sites() {
			var place access.Target
			if s.project {
				var found *project.Project
				if found, err = w.fixture.projects.Find(t.Context(), actor, s.id); err == nil {
					place = found.Target()
				}
			} else {
				var found *group.Group
				if found, err = w.fixture.groups.Find(t.Context(), actor, s.id); err == nil {
					place = found.Target()
				}
			}
			sees := w.sees(p, s)
			if !s.project && !sees {
				sees = w.below(p, w.spaceOf(s))
			}
			if (err == nil) != sees || (err != nil && !fault.Is(err, fault.NotFound)) {
				w.fail(t, "%s and %s: sees it %t, found %v", p.Username, w.name(s), sees, err)
			}
			if err != nil {
				continue
			}
			role, open := w.role(p, s), w.sees(p, &site{visibility: s.visibility})
			for _, a := range abilities[s.project] {
				want := p.Admin || role >= a.from || (a.seen && open)
				if got := access.Holds(actor, a.can, place); got != want {
					w.fail(t, "%s in %s is a %s (shown as %s): %s is %t, want %t", p.Username, w.name(s), role, place.Role, a.can, got, want)
				}
			}
		}
	}
}

func (w *walker) spaceOf(s *site) *space {
	return w.groups[slices.IndexFunc(w.groups, func(g *space) bool { return &g.site == s })]
}

func (w *walker) name(s *site) string {
	if s.project {
		return fmt.Sprintf("project %d", s.id)
	}
	return fmt.Sprintf("group %d", s.id)
}

func (w *walker) fail(t *testing.T, format string, args ...any) {
	t.Helper()
	t.Fatalf("%s\nafter:\n%s", fmt.Sprintf(format, args...), strings.Join(w.log[max(0, len(w.log)-60):], "\n"))
}

// path of a site in the API.
func (w *walker) path(s *site, more ...any) string {
	if s.project {
		return pathOf(fmt.Sprintf("/projects/%d", s.id), more...)
	}
	return pathOf(fmt.Sprintf("/groups/%d", s.id), more...)
}

// step does one thing, through the API where there is one, and writes it down
// when it was done.
func (w *walker) step(t *testing.T) {
	t.Helper()
	root := w.as(w.root)
	p, s := pick(w.r, w.people), pick(w.r, w.sites())
	did := func(status int, format string, args ...any) bool {
		t.Helper()
		if status >= 500 {
			w.fail(t, "%d: "+format, append([]any{status}, args...)...)
		}
		w.log = append(w.log, fmt.Sprintf("%d ", status)+fmt.Sprintf(format, args...))
		return status < 300
	}
	switch w.r.IntN(13) {
	case 0, 1, 2:
		body := h{"user_id": p.ID, "access_level": pick(w.r, access.Roles)}
		if w.r.IntN(4) == 0 && !s.project && s.in == nil {
			body["access_level"] = access.MinimalAccess
		}
		given := held{level: body["access_level"].(access.Role)}
		if w.r.IntN(3) == 0 {
			given.expires = w.now.AddDate(0, 0, w.r.IntN(4)).Format(time.DateOnly)
			body["expires_at"] = given.expires
		}
		if did(root.Do(t, "POST", w.path(s, "members"), body).Status, "%s joins %s: %v", p.Username, w.name(s), body) {
			s.held[p.ID] = given
		}
	case 3, 4:
		level := pick(w.r, access.Roles)
		if did(root.Do(t, "PUT", w.path(s, "members", p.ID), h{"access_level": level}).Status, "%s becomes %s in %s", p.Username, level, w.name(s)) {
			h := s.held[p.ID]
			h.level = level
			s.held[p.ID] = h
		}
	case 5:
		keep := w.r.IntN(2) == 0
		if did(root.Do(t, "DELETE", w.path(s, "members", p.ID)+fmt.Sprintf("?skip_subresources=%t", keep), nil).Status,
			"%s leaves %s, keeping what is below %t", p.Username, w.name(s), keep) {
			for _, other := range w.sites() {
				if other == s || (!keep && !s.project && slices.Contains(other.up(), s)) {
					delete(other.held, p.ID)
				}
			}
		}
	case 6:
		w.now = w.now.AddDate(0, 0, 1)
		w.log = append(w.log, "the next day")
	case 7:
		if err := w.members.Expire(t.Context()); err != nil {
			w.fail(t, "expiring: %v", err)
		}
		for _, other := range w.sites() {
			for id, h := range other.held {
				if h.expires != "" && h.expires <= w.today() {
					delete(other.held, id)
				}
			}
		}
		w.log = append(w.log, "what has expired goes")
	case 8:
		w.recolour(t, s)
	case 9:
		w.move(t, pick(w.r, w.groups))
	case 10, 11:
		w.share(t, s)
	case 12:
		move := user.Block
		if p.blocked {
			move = user.Unblock
		}
		if _, err := w.users.Transition(t.Context(), access.Actor{Person: w.root.Person()}, p.ID, move); err != nil {
			w.fail(t, "%s: %v", move, err)
		}
		p.blocked = !p.blocked
		w.log = append(w.log, fmt.Sprintf("%s: %s", move, p.Username))
	}
}

// recolour changes who sees a site, as far as what is around it allows.
func (w *walker) recolour(t *testing.T, s *site) {
	t.Helper()
	v := pick(w.r, []access.Visibility{access.Private, access.Internal, access.Public})
	fits := s.in == nil || v <= s.in.visibility
	for _, other := range w.sites() {
		if other.in != nil && &other.in.site == s && other.visibility > v {
			fits = false
		}
	}
	var err error
	if s.project {
		_, err = w.db.Exec(t.Context(), `update projects set visibility = $2 where id = $1`, s.id, v)
	} else {
		_, err = w.fixture.groups.Update(t.Context(), access.Actor{Person: w.root.Person()}, s.id, group.Attributes{Visibility: &v})
	}
	if (err == nil) != fits {
		w.fail(t, "%s becomes %s: fits %t, %v", w.name(s), v, fits, err)
	}
	if err == nil {
		s.visibility = v
	}
	w.log = append(w.log, fmt.Sprintf("%s becomes %s: %v", w.name(s), v, err))
}

// move transfers a group below another, or to the top.
func (w *walker) move(t *testing.T, g *space) {
	t.Helper()
	admin := access.Actor{Person: w.root.Person()}
	var target *group.Group
	var to *space
	if w.r.IntN(4) > 0 {
		to = pick(w.r, w.groups)
		var err error
		if target, err = w.fixture.groups.Find(t.Context(), admin, to.id); err != nil {
			w.fail(t, "%v", err)
		}
	}
	_, err := w.fixture.groups.Transfer(t.Context(), admin, g.id, target)
	if _, refused := fault.Of(err); err != nil && !refused {
		w.fail(t, "moving: %v", err)
	}
	below := "nothing"
	if to != nil {
		below = w.name(&to.site)
	}
	w.log = append(w.log, fmt.Sprintf("%s moves below %s: %v", w.name(&g.site), below, err))
	if err != nil {
		return
	}
	g.in = to
	for _, s := range w.sites() {
		if to != nil && slices.Contains(s.up(), &g.site) { // nothing is more open than what it stands in
			s.visibility = min(s.visibility, to.visibility)
		}
	}
}

// share lets a group in, or keeps it out again.
func (w *walker) share(t *testing.T, s *site) {
	t.Helper()
	who, root := pick(w.r, w.groups), w.as(w.root)
	at := slices.IndexFunc(w.shares, func(l let) bool { return l.into == s && l.who == who })
	if at >= 0 {
		root.Do(t, "DELETE", w.path(s, "share", who.id), nil).WantStatus(t, 204)
		w.shares = slices.Delete(w.shares, at, at+1)
		w.log = append(w.log, fmt.Sprintf("group %d is kept out of %s", who.id, w.name(s)))
		return
	}
	level := pick(w.r, access.Roles)
	status := root.Do(t, "POST", w.path(s, "share"), h{"group_id": who.id, "group_access": level}).Status
	if status == 201 {
		w.shares = append(w.shares, let{s, who, level})
	}
	w.log = append(w.log, fmt.Sprintf("%d group %d shares %s as %s", status, who.id, w.name(s), level))
}

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

// newWalk sets out in a small fixture: a few people, a forest of groups, and a
// personal namespace as the last of the spaces.
func newWalk(t *testing.T) *walker {
	t.Helper()
	seed := rand.Uint64()
	if given := os.Getenv("STITHY_TEST_SEED"); given != "" {
		var err error
		if seed, err = strconv.ParseUint(given, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("STITHY_TEST_SEED=%d", seed)
	w := &walker{fixture: newFixture(t), r: rand.New(rand.NewPCG(seed, seed))}
	for i, options := range [][]usertest.Option{nil, nil, nil, {usertest.With("external", true)}} {
		u := w.person(t, fmt.Sprintf("person%d", i), options...)
		w.people = append(w.people, &person{User: u, secret: tokentest.New(t, w.db, w.box, u.ID)})
	}
	var seeded []*group.Group
	for _, parent := range []int{-1, 0, 1, -1, 3} {
		options, in := []grouptest.Option{grouptest.Visible(access.Private)}, (*space)(nil)
		if parent >= 0 {
			options, in = append(options, grouptest.Under(seeded[parent])), w.groups[parent]
		}
		g := grouptest.New(t, w.db, options...)
		seeded = append(seeded, g)
		w.groups = append(w.groups, &space{site: site{id: g.ID, in: in, held: map[int64]held{}}})
	}
	own := grouptest.Personal(t, w.db, w.people[0].User)
	personal := &space{site: site{id: own.ID, visibility: access.Public}, holder: w.people[0].ID}
	for _, in := range []int{0, 2, 4} {
		p := w.project(t, seeded[in], access.Private)
		w.projects = append(w.projects, &site{id: p.ID, in: w.groups[in], held: map[int64]held{}, project: true})
	}
	p := w.project(t, own, access.Private)
	w.projects = append(w.projects, &site{id: p.ID, in: personal, held: map[int64]held{}, project: true})
	return w
}

func TestPE04_RightsFollowARandomWalk(t *testing.T) {
	t.Parallel()
	steps := 300
	if given := os.Getenv("STITHY_WALK_STEPS"); given != "" {
		var err error
		if steps, err = strconv.Atoi(given); err != nil {
			t.Fatal(err)
		}
	}
	w := newWalk(t)
	done := 0
	for range steps {
		w.step(t)
		w.check(t)
		if last := w.log[len(w.log)-1]; !strings.HasPrefix(last, "4") {
			done++
		}
	}
	if done < steps/3 {
		t.Errorf("only %d of %d steps did anything", done, steps)
	}
	if n, err := postgres.Value[int](t.Context(), w.db, `select count(*) from members`); err != nil || n == 0 {
		t.Errorf("%d members are left, %v", n, err)
	}
}
