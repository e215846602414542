package group_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"stithy/internal/group"
	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/setting"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
)

func TestAGroupIsShownWithAllItsFields(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ann := w.person(t, "ann")
	var made struct{ ID int64 }
	w.as(ann).Do(t, "POST", "/groups", map[string]any{"name": "The Forge", "path": "Forge"}).WantStatus(t, 201).Decode(t, &made)
	body := `"web_url":"https://forge.example/groups/Forge","name":"The Forge","path":"Forge","description":"","visibility":"private",` +
		`"share_with_group_lock":false,"require_two_factor_authentication":false,"two_factor_grace_period":48,` +
		`"project_creation_level":"developer","auto_devops_enabled":null,"subgroup_creation_level":"maintainer","emails_disabled":false,` +
		`"mentions_disabled":null,"lfs_enabled":true,"default_branch_protection":2,"default_branch_protection_defaults":` +
		`{"allowed_to_push":[{"access_level":40}],"allow_force_push":false,"allowed_to_merge":[{"access_level":40}]},` +
		`"avatar_url":null,"request_access_enabled":true,"full_name":"The Forge","full_path":"Forge",` +
		`"created_at":"2025-06-01T12:00:00.000Z","parent_id":null,"shared_runners_setting":"enabled"`
	around := `,"shared_with_groups":[],"prevent_sharing_groups_outside_hierarchy":false,"membership_lock":false`
	w.as(ann).Do(t, "GET", "/groups", nil).Want(t, 200, fmt.Sprintf(`[{"id":%d,%s}]`, made.ID, body))
	w.as(ann).Do(t, "GET", "/groups/forge", nil).Want(t, 200, fmt.Sprintf(`{"id":%d,%s%s,"projects":[],"shared_projects":[]}`, made.ID, body, around))
	w.as(ann).Do(t, "GET", "/groups/forge?with_projects=false", nil).Want(t, 200, fmt.Sprintf(`{"id":%d,%s%s}`, made.ID, body, around))
	if got := w.audited(t, made.ID); got != "group_created" {
		t.Errorf("audited %s", got)
	}

	w.groups.ListWith(telling{})
	if reply := w.as(ann).Do(t, "GET", "/groups/forge", nil); !strings.HasSuffix(reply.Body, `"projects":["Forge"],"shared_projects":["ann",50]}`) {
		t.Error(reply.Body)
	}
}

// telling is a room of projects that says what it was asked.
type telling struct{}

func (telling) OfGroup(_ context.Context, a access.Actor, g *group.Group) (projects, shared []any, err error) {
	return []any{g.FullPath}, []any{a.Person.Username, g.Role}, nil
}

func TestEverySettingOfAGroupIsKept(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ann := w.person(t, "ann")
	both := map[string]any{
		"description": "What we do", "visibility": "internal", "share_with_group_lock": true, "require_two_factor_authentication": true,
		"two_factor_grace_period": 12, "project_creation_level": "noone", "auto_devops_enabled": true, "subgroup_creation_level": "owner",
		"emails_disabled": true, "mentions_disabled": true, "lfs_enabled": false, "request_access_enabled": false,
		"default_branch_protection": 4, "membership_lock": true,
	}
	check := func(reply *httpapitest.Reply, want map[string]any) {
		t.Helper()
		got := map[string]any{}
		reply.Decode(t, &got)
		for name, value := range want {
			if fmt.Sprint(got[name]) != fmt.Sprint(value) {
				t.Errorf("%s is %v, want %v", name, got[name], value)
			}
		}
	}
	create := map[string]any{"name": "One", "path": "one"}
	for name, value := range both {
		create[name] = value
	}
	check(w.as(ann).Do(t, "POST", "/groups", create).WantStatus(t, 201), create)
	check(w.as(ann).Do(t, "GET", "/groups/one", nil).WantStatus(t, 200), create)

	g := w.group(t, "two", ann)
	update := map[string]any{
		"name": "Two!", "path": "zwei", "shared_runners_setting": "disabled_and_overridable", "prevent_sharing_groups_outside_hierarchy": true,
	}
	for name, value := range both {
		update[name] = value
	}
	check(w.as(ann).Do(t, "PUT", at(g, ""), update).WantStatus(t, 200), update)
	check(w.as(ann).Do(t, "GET", "/groups/zwei", nil).WantStatus(t, 200), update)
	check(w.as(ann).Do(t, "PUT", at(g, ""), map[string]any{"auto_devops_enabled": nil, "description": "", "lfs_enabled": nil}).WantStatus(t, 200),
		map[string]any{"auto_devops_enabled": nil, "description": "", "lfs_enabled": false, "mentions_disabled": true})
	for _, what := range []string{"group_lfs_enabled_updated", "group_auto_devops_enabled_updated", "group_membership_lock_updated", "group_visibility_level_updated"} {
		if !strings.Contains(w.audited(t, g.ID), what) {
			t.Errorf("no trace of %s", what)
		}
	}

	child := grouptest.New(t, w.db, grouptest.Under(g))
	reply := w.as(ann).Do(t, "PUT", at(child, ""), map[string]any{"prevent_sharing_groups_outside_hierarchy": true}).WantStatus(t, 200)
	if strings.Contains(reply.Body, "prevent_sharing") {
		t.Error("a subgroup decides for its tree")
	}
}

func TestAGroupIsRefused(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ann := w.person(t, "ann")
	w.group(t, "taken", ann)
	g := w.group(t, "mine", ann)
	grouptest.New(t, w.db, grouptest.Named("sub"), grouptest.Under(g))
	const characters = "can contain only letters, digits, '_', '-' and '.'. Cannot start with '-' or end in '.', '.git' or '.atom'."
	for _, tc := range []struct {
		body map[string]any
		want string // of the field named first
	}{
		{map[string]any{"path": "Taken"}, "path: has already been taken"},
		{map[string]any{"path": "ANN"}, "path: has already been taken"},
		{map[string]any{"path": "-a"}, "path: " + characters},
		{map[string]any{"path": "a/b"}, "path: " + characters},
		{map[string]any{"path": "abc."}, "path: " + characters},
		{map[string]any{"path": "abc.git"}, "path: " + characters},
		{map[string]any{"path": "abc.Atom"}, "path: " + characters},
		{map[string]any{"path": "ümlaut"}, "path: " + characters},
		{map[string]any{"path": ""}, "path: can't be blank"},
		{map[string]any{"path": "x"}, "path: is too short (minimum is 2 characters)"},
		{map[string]any{"path": strings.Repeat("x", 256)}, "path: is too long (maximum is 255 characters)"},
		{map[string]any{"path": "Admin"}, "path: Admin is a reserved name"},
		{map[string]any{"path": "v2"}, "path: v2 is a reserved name"},
		{map[string]any{"path": "tree", "parent_id": g.ID}, "path: tree is a reserved name"},
		{map[string]any{"path": "-", "parent_id": g.ID}, "path: " + characters},
		{map[string]any{"path": "SUB", "parent_id": g.ID}, "path: has already been taken"},
		{map[string]any{"name": ""}, "name: can't be blank"},
		{map[string]any{"name": "<b>"}, "name: can contain only letters, digits, emojis, '_', '.', '+', dashes, and spaces. It must start with a letter, digit, emoji, or '_'."},
		{map[string]any{"name": strings.Repeat("x", 256)}, "name: is too long (maximum is 255 characters)"},
		{map[string]any{"description": strings.Repeat("x", 501)}, "description: is too long (maximum is 500 characters)"},
		{map[string]any{"two_factor_grace_period": -1}, "two_factor_grace_period: must be greater than or equal to 0"},
	} {
		body := map[string]any{"name": "New", "path": "new"}
		for k, v := range tc.body {
			body[k] = v
		}
		field, text, _ := strings.Cut(tc.want, ": ")
		var created struct{ Message string }
		w.as(ann).Do(t, "POST", "/groups", body).WantStatus(t, 400).Decode(t, &created)
		if want := fmt.Sprintf(`Failed to save group {:%s=>[%q]}`, field, text); created.Message != want {
			t.Errorf("%v:\ngot  %s\nwant %s", tc.body, created.Message, want)
		}
		if tc.body["parent_id"] != nil {
			continue
		}
		var updated struct{ Message map[string][]string }
		w.as(ann).Do(t, "PUT", at(g, ""), tc.body).WantStatus(t, 400).Decode(t, &updated)
		if len(updated.Message) != 1 || len(updated.Message[field]) != 1 || updated.Message[field][0] != text {
			t.Errorf("%v: got %v", tc.body, updated.Message)
		}
	}
	for _, tc := range []struct {
		body map[string]any
		want string
	}{
		{map[string]any{}, `{"error":"name is missing, path is missing"}`},
		{map[string]any{"name": "n", "path": "nn", "visibility": "secret"}, `{"error":"visibility does not have a valid value"}`},
		{map[string]any{"name": "n", "path": "nn", "project_creation_level": "all"}, `{"error":"project_creation_level does not have a valid value"}`},
		{map[string]any{"name": "n", "path": "nn", "subgroup_creation_level": "developer"}, `{"error":"subgroup_creation_level does not have a valid value"}`},
		{map[string]any{"name": "n", "path": "nn", "default_branch_protection": 5}, `{"error":"default_branch_protection does not have a valid value"}`},
		{map[string]any{"name": "n", "path": "nn", "parent_id": "x"}, `{"error":"parent_id is invalid"}`},
	} {
		w.as(ann).Do(t, "POST", "/groups", tc.body).Want(t, 400, tc.want)
	}
	w.as(ann).Do(t, "POST", "/groups", map[string]any{"name": "short", "path": "x", "parent_id": g.ID}).WantStatus(t, 201)
	w.as(ann).Do(t, "POST", "/groups", map[string]any{"name": "page", "path": "admin", "parent_id": g.ID}).WantStatus(t, 201)
	w.tree(t)
}

func TestWhoMayCreateAGroup(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	may := w.person(t, "may")
	mayNot := w.person(t, "may-not", usertest.With("can_create_group", false))
	external := w.person(t, "external", usertest.With("external", true))
	open := grouptest.New(t, w.db, grouptest.Visible(access.Public))
	strict := grouptest.New(t, w.db, grouptest.With(`{"subgroup_creation_level":"owner"}`))
	hidden := grouptest.New(t, w.db)
	roles := map[access.Role]*user.User{}
	for _, role := range access.Roles {
		roles[role] = w.person(t, strings.ToLower(role.String()))
		grouptest.Join(t, w.db, open, roles[role], role)
		grouptest.Join(t, w.db, strict, roles[role], role)
	}
	n := 0
	try := func(who *httpapitest.Client, parent any, want string) {
		t.Helper()
		n++
		body := map[string]any{"name": "n", "path": fmt.Sprintf("try%d", n), "parent_id": parent}
		reply := who.Do(t, "POST", "/groups", body)
		var said struct{ Message string }
		reply.Decode(t, &said)
		if got := strings.TrimSpace(fmt.Sprint(reply.Status, " ", said.Message)); got != want {
			t.Errorf("attempt %d: %s, want %s", n, got, want)
		}
	}
	try(w.as(may), nil, "201")
	try(w.as(mayNot), nil, "403 403 Forbidden")
	try(w.as(external), nil, "403 403 Forbidden")
	try(w.as(w.root), nil, "201")
	try(w.client, nil, "401 401 Unauthorized")
	for role, want := range map[access.Role]string{
		access.Guest: "403 403 Forbidden", access.Reporter: "403 403 Forbidden", access.Developer: "403 403 Forbidden",
		access.Maintainer: "201", access.Owner: "201",
	} {
		try(w.as(roles[role]), open.ID, want)
	}
	try(w.as(roles[access.Maintainer]), strict.ID, "403 403 Forbidden")
	try(w.as(roles[access.Owner]), strict.ID, "201")
	try(w.as(may), open.ID, "403 403 Forbidden")
	try(w.as(may), hidden.ID, "404 404 Group Not Found")
	try(w.as(may), 999999, "404 404 Group Not Found")
	try(w.as(may), may.NamespaceID, "404 404 Group Not Found")
	try(w.as(w.root), hidden.ID, "201")
	w.tree(t)

	// Whoever made a group owns it, and gets a role of their own only where none comes from above.
	if role := value[int](t, w, `select access_level from members where user_id = $1`, may.ID); role != 50 {
		t.Errorf("the creator has %d", role)
	}
	owners := func(userID int64) int {
		return value[int](t, w, `select count(*) from members m join namespaces n on n.id = m.namespace_id
			where n.parent_id is not null and m.user_id = $1 and m.access_level = 50`, userID)
	}
	for who, want := range map[*user.User]int{roles[access.Maintainer]: 1, roles[access.Owner]: 0, w.root: 1} {
		if got := owners(who.ID); got != want {
			t.Errorf("%s was made owner of %d subgroups, want %d", who.Username, got, want)
		}
	}
}

func TestTheVisibilityOfANewGroup(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ann := w.person(t, "ann")
	parent := w.group(t, "parent", ann, grouptest.Visible(access.Internal))
	made := func(who *user.User, body map[string]any) string {
		t.Helper()
		body["name"] = "n"
		var got struct{ Visibility, Message string }
		w.as(who).Do(t, "POST", "/groups", body).Decode(t, &got)
		return got.Visibility + got.Message
	}
	if got := made(ann, map[string]any{"path": "aa"}); got != "private" {
		t.Error(got)
	}
	if got := made(ann, map[string]any{"path": "bb", "parent_id": parent.ID}); got != "internal" {
		t.Error(got)
	}
	if err := w.settings.Update(t.Context(), actor(w.root), func(s *setting.Settings) {
		s.DefaultGroupVisibility, s.RestrictedVisibilityLevels = "internal", []string{"public"}
	}); err != nil {
		t.Fatal(err)
	}
	if got := made(ann, map[string]any{"path": "cc"}); got != "internal" {
		t.Error(got)
	}
	if got := made(ann, map[string]any{"path": "dd", "visibility": "public"}); got != `Failed to save group {:visibility_level=>["public has been restricted by your Svc administrator"]}` {
		t.Error(got)
	}
	w.as(ann).Do(t, "PUT", at(parent, ""), map[string]any{"visibility": "public"}).Want(t, 400,
		`{"message":{"visibility_level":["public has been restricted by your Svc administrator"]}}`)
	if got := made(w.root, map[string]any{"path": "dd", "visibility": "public"}); got != "public" {
		t.Error(got)
	}
}

// Each viewer with what they see of each kind of group: nothing, the group, or
// the group as one who may change it.
func TestWhoSeesAGroup(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	top := grouptest.New(t, w.db, grouptest.Named("top"))
	private := grouptest.New(t, w.db, grouptest.Named("private"), grouptest.Under(top))
	below := grouptest.New(t, w.db, grouptest.Named("below"), grouptest.Under(private))
	internal := grouptest.New(t, w.db, grouptest.Named("internal"), grouptest.Visible(access.Internal))
	open := grouptest.New(t, w.db, grouptest.Named("open"), grouptest.Visible(access.Public))
	project := value[int64](t, w, `insert into projects (namespace_id, name, path, visibility, last_activity_at, created_at, updated_at)
		values ($1, 'p', 'p', 0, now(), now(), now()) returning id`, below.ID)
	team := grouptest.New(t, w.db)
	grouptest.Share(t, w.db, private, team, access.Developer)

	as := map[string]*httpapitest.Client{"": w.client, "root": w.as(w.root)}
	add := func(name string, options ...usertest.Option) *user.User {
		u := w.person(t, name, options...)
		as[name] = w.as(u)
		return u
	}
	add("stranger")
	add("external", usertest.With("external", true))
	add("auditor", usertest.With("auditor", true))
	for _, role := range access.Roles {
		grouptest.Join(t, w.db, private, add(strings.ToLower(role.String())), role)
	}
	grouptest.Join(t, w.db, top, add("above"), access.Guest)
	grouptest.Join(t, w.db, top, add("minimal"), access.MinimalAccess)
	grouptest.Join(t, w.db, below, add("from-below"), access.Owner)
	grouptest.Join(t, w.db, team, add("invited"), access.Owner)
	w.exec(t, `insert into members (project_id, user_id, access_level, created_at, updated_at) values ($1, $2, 30, now(), now())`, project, add("worker").ID)
	w.exec(t, `insert into members (namespace_id, user_id, access_level, created_at, updated_at, expires_at) values ($1, $2, 50, now(), now(), $3)`,
		private.ID, add("expired").ID, w.clock())
	w.exec(t, `insert into members (namespace_id, user_id, access_level, created_at, updated_at, requested_at) values ($1, $2, 50, now(), now(), now())`,
		private.ID, add("asking").ID)

	const no, sees, owns = "404", "200 403", "200 200"
	for name, want := range map[string][5]string{ // top, private, below, internal, open
		"":           {no, no, no, no, "200 401"},
		"stranger":   {no, no, no, sees, sees},
		"external":   {no, no, no, no, sees},
		"expired":    {no, no, no, sees, sees},
		"asking":     {no, no, no, sees, sees},
		"auditor":    {sees, sees, sees, sees, sees},
		"guest":      {sees, sees, sees, sees, sees},
		"reporter":   {sees, sees, sees, sees, sees},
		"developer":  {sees, sees, sees, sees, sees},
		"maintainer": {sees, sees, sees, sees, sees},
		"owner":      {sees, owns, owns, sees, sees},
		"above":      {sees, sees, sees, sees, sees},
		"minimal":    {sees, no, no, sees, sees},
		"from-below": {sees, sees, owns, sees, sees},
		"invited":    {no, sees, sees, sees, sees},
		"worker":     {sees, sees, sees, sees, sees},
		"root":       {owns, owns, owns, owns, owns},
	} {
		var got [5]string
		for i, g := range []*group.Group{top, private, below, internal, open} {
			read := as[name].Do(t, "GET", at(g, ""), nil)
			got[i] = fmt.Sprint(read.Status)
			change := as[name].Do(t, "PUT", at(g, ""), map[string]any{"description": name})
			if got[i] == "404" {
				missing := as[name].Do(t, "GET", "/groups/999999", nil)
				if read.Body != missing.Body || (change.Status != 404 && name != "") {
					t.Errorf("%s: what is hidden differs from what is missing: %s %s", name, read.Body, change.Body)
				}
				continue
			}
			got[i] += fmt.Sprint(" ", change.Status)
		}
		if got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

func TestOnlyOwnersChangeAGroup(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for _, role := range append([]access.Role{access.NoRole}, access.Roles...) {
		u := w.person(t, "u"+fmt.Sprint(int(role)))
		g := grouptest.New(t, w.db, grouptest.Visible(access.Public))
		home := w.group(t, fmt.Sprintf("home%d", role), u)
		if role > access.NoRole {
			grouptest.Join(t, w.db, g, u, role)
		}
		want := map[bool]int{true: 0, false: 403}[role == access.Owner]
		for _, call := range []struct {
			method, rest string
			body         any
			done         int
		}{
			{"PUT", "", map[string]any{"name": "x"}, 200},
			{"GET", "/transfer_locations", nil, 200},
			{"POST", "/transfer", map[string]any{"group_id": home.ID}, 201},
			{"DELETE", "", nil, 202},
		} {
			reply := w.as(u).Do(t, call.method, at(g, call.rest), call.body)
			if status := max(want, call.done*(1-min(want, 1))); reply.Status != status {
				t.Errorf("%s: %s %s: %d %s, want %d", role, call.method, call.rest, reply.Status, reply.Body, status)
			}
			if role == access.NoRole {
				w.client.Do(t, call.method, at(g, call.rest), call.body).Want(t, 401, `{"message":"401 Unauthorized"}`)
			}
		}
	}
}

func TestADeletionHonoursWhatTheClientHasSeen(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ann := w.person(t, "ann")
	g := w.group(t, "g1", ann)
	w.as(ann).Do(t, "PUT", at(g, ""), map[string]any{"description": "changed"}).WantStatus(t, 200)
	w.as(ann).With("If-Unmodified-Since", w.clock().Add(-time.Hour).Format(http.TimeFormat)).Do(t, "DELETE", at(g, ""), nil).WantStatus(t, 412)
	w.as(ann).With("If-Unmodified-Since", w.clock().Format(http.TimeFormat)).Do(t, "DELETE", at(g, ""), nil).WantStatus(t, 202)
}

func TestTheListOfGroups(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ann := w.person(t, "ann")
	external := w.person(t, "external", usertest.With("external", true))
	auditor := w.person(t, "auditor", usertest.With("auditor", true))
	open := grouptest.New(t, w.db, grouptest.Named("open"), grouptest.Visible(access.Public))
	grouptest.New(t, w.db, grouptest.Named("openchild"), grouptest.Under(open))
	internal := grouptest.New(t, w.db, grouptest.Named("internal"), grouptest.Visible(access.Internal))
	grouptest.Join(t, w.db, internal, external, access.Guest)
	mine := w.group(t, "mine", ann)
	child := grouptest.New(t, w.db, grouptest.Named("child"), grouptest.Under(mine))
	grouptest.New(t, w.db, grouptest.Named("grandchild"), grouptest.Under(child))
	hidden := grouptest.New(t, w.db, grouptest.Named("hidden"))
	lane := grouptest.New(t, w.db, grouptest.Named("lane"), grouptest.Under(hidden))
	inside := grouptest.New(t, w.db, grouptest.Named("inside"), grouptest.Under(lane))
	grouptest.New(t, w.db, grouptest.Named("elsewhere"), grouptest.Under(hidden))
	grouptest.Join(t, w.db, inside, ann, access.Developer)
	shared := grouptest.New(t, w.db, grouptest.Named("shared"))
	grouptest.Share(t, w.db, shared, child, access.Reporter)
	worked := grouptest.New(t, w.db, grouptest.Named("worked"))
	w.exec(t, `with p as (insert into projects (namespace_id, name, path, visibility, last_activity_at, created_at, updated_at)
		values ($1, 'p', 'p', 0, now(), now(), now()) returning id)
		insert into members (project_id, user_id, access_level, created_at, updated_at) select id, $2, 30, now(), now() from p`, worked.ID, ann.ID)
	as := map[string]*httpapitest.Client{"": w.client, "ann": w.as(ann), "external": w.as(external), "auditor": w.as(auditor), "root": w.as(w.root)}
	const (
		own = "mine/child mine/child/grandchild hidden hidden/lane/inside hidden/lane mine shared worked"
		all = "mine/child hidden/elsewhere mine/child/grandchild hidden hidden/lane/inside internal hidden/lane mine open open/openchild shared worked"
	)
	for _, tc := range []struct{ who, query, want string }{
		{"", "", "open open/openchild"},
		{"", "all_available=false", "open open/openchild"},
		{"", "owned=true", ""},
		{"", "min_access_level=10", "open open/openchild"},
		{"ann", "", own},
		{"ann", "all_available=true", "mine/child mine/child/grandchild hidden hidden/lane/inside internal hidden/lane mine open open/openchild shared worked"},
		{"ann", "owned=true", "mine"},
		{"ann", "min_access_level=10", "mine/child mine/child/grandchild hidden/lane/inside mine shared"},
		{"ann", "min_access_level=30", "mine/child mine/child/grandchild hidden/lane/inside mine"},
		{"ann", "min_access_level=50", "mine/child mine/child/grandchild mine"},
		{"ann", "top_level_only=true", "hidden mine shared worked"},
		{"ann", "sort=desc", "worked shared mine hidden/lane hidden/lane/inside hidden mine/child/grandchild mine/child"},
		{"ann", "order_by=id", "mine mine/child mine/child/grandchild hidden hidden/lane hidden/lane/inside shared worked"},
		{"ann", "order_by=path&sort=desc&top_level_only=true", "worked shared mine hidden"},
		{"ann", "search=CHILD", "mine/child mine/child/grandchild"},
		{"ann", "search=child&order_by=similarity", "mine/child mine/child/grandchild"},
		{"ann", "order_by=similarity&top_level_only=true", "hidden mine shared worked"},
		{"ann", "search=mi", ""},
		{"ann", "search=%25%25%25", ""},
		{"ann", fmt.Sprintf("skip_groups=%d,%d&top_level_only=true", mine.ID, hidden.ID), "shared worked"},
		{"ann", fmt.Sprintf("skip_groups[]=%d&top_level_only=true", mine.ID), "hidden shared worked"},
		{"ann", "statistics=true&with_custom_attributes=true&custom_attributes[k]=v&top_level_only=true", "hidden mine shared worked"},
		{"external", "", "internal"},
		{"external", "all_available=true", "internal open open/openchild"},
		{"auditor", "", all},
		{"root", "", all},
		{"root", "all_available=false", ""},
		{"root", "search=elsewhere", "hidden/elsewhere"},
	} {
		if got := paths(t, as[tc.who].Do(t, "GET", "/groups?"+tc.query, nil)); got != tc.want {
			t.Errorf("%s %s:\ngot  %s\nwant %s", tc.who, tc.query, got, tc.want)
		}
	}
	for query, want := range map[string]string{
		"order_by=created_at": "order_by does not have a valid value", "sort=up": "sort does not have a valid value",
		"min_access_level=5": "min_access_level does not have a valid value", "per_page=0": "per_page has a value not allowed",
	} {
		w.as(ann).Do(t, "GET", "/groups?"+query, nil).Want(t, 400, `{"error":"`+want+`"}`)
	}
	reply := w.as(ann).Do(t, "GET", "/groups?per_page=3&page=2", nil)
	if reply.Header.Get("X-Total") != "8" || reply.Header.Get("X-Next-Page") != "3" || reply.Header.Get("X-Prev-Page") != "1" {
		t.Errorf("got %v", reply.Header)
	}
}

func TestStrangersTurnPagesByCursor(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ann := w.person(t, "ann")
	var want []string
	for i := range 7 {
		g := grouptest.New(t, w.db, grouptest.Named(fmt.Sprintf("g%d", i)), grouptest.Visible(access.Public))
		w.exec(t, `update namespaces set name = $2 where id = $1`, g.ID, []string{"a", "b"}[i/4])
		want = append(want, g.FullPath)
	}
	grouptest.New(t, w.db, grouptest.Named("aa"), grouptest.Visible(access.Internal))
	var walked []string
	next := "/groups?pagination=keyset&order_by=name&sort=asc&per_page=3"
	for next != "" && len(walked) < 20 {
		reply := w.client.Do(t, "GET", next, nil)
		walked = append(walked, strings.Fields(paths(t, reply))...)
		if reply.Header.Get("X-Total") != "" {
			t.Error("a keyset page has a total")
		}
		if next = ""; reply.Header.Get("Link") != "" {
			link, _, _ := strings.Cut(strings.TrimPrefix(reply.Header.Get("Link"), "<"), ">")
			next = strings.TrimPrefix(link, "https://forge.example/api/v4")
		}
	}
	if strings.Join(walked, " ") != strings.Join(want, " ") {
		t.Errorf("walked %v", walked)
	}
	const refused = `{"error":"Keyset pagination is not yet available for this type of request"}`
	w.client.Do(t, "GET", "/groups?pagination=keyset&order_by=name&sort=desc", nil).Want(t, 405, refused)
	w.client.Do(t, "GET", "/groups?pagination=keyset&order_by=id", nil).Want(t, 405, refused)
	w.as(ann).Do(t, "GET", "/groups?pagination=keyset&order_by=name&sort=asc", nil).Want(t, 405, refused)
	limited := httpapitest.Start(t, &httpapi.Server{Endpoints: w.groups.Endpoints(), Limits: w.settings})
	limited.Do(t, "GET", "/groups?page=1000&per_page=100", nil).Want(t, 405, `{"error":"Offset pagination has a maximum allowed offset of 50000 `+
		`for requests that return objects of type Group. Remaining records can be retrieved using keyset pagination."}`)
	w.client.Do(t, "GET", "/groups?pagination=keyset&cursor=nonsense", nil).Want(t, 400, `{"error":"cursor is invalid"}`)
}

func TestTheGroupsBelowAGroup(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ann, bob := w.person(t, "ann"), w.person(t, "bob")
	top := w.group(t, "top", ann, grouptest.Visible(access.Public))
	b := grouptest.New(t, w.db, grouptest.Named("b"), grouptest.Under(top))
	grouptest.New(t, w.db, grouptest.Named("bb"), grouptest.Under(b), grouptest.Visible(access.Internal))
	secret := grouptest.New(t, w.db, grouptest.Named("a"), grouptest.Under(top), grouptest.Visible(access.Private))
	grouptest.New(t, w.db, grouptest.Named("aa"), grouptest.Under(secret))
	for _, tc := range []struct {
		who        *httpapitest.Client
		rest, want string
	}{
		{w.as(ann), "/subgroups", "top/a top/b"},
		{w.as(ann), "/subgroups?sort=desc", "top/b top/a"},
		{w.as(ann), "/descendant_groups", "top/a top/a/aa top/b top/b/bb"},
		{w.as(ann), "/descendant_groups?search=bb", "top/b/bb"},
		{w.as(ann), "/descendant_groups?min_access_level=50&per_page=1", "top/a"},
		{w.as(bob), "/subgroups", "top/b"},
		{w.as(bob), "/subgroups?all_available=false", ""},
		{w.as(bob), "/descendant_groups", "top/b top/b/bb"},
		{w.as(bob), "/descendant_groups?owned=true", ""},
		{w.client, "/subgroups", "top/b"},
		{w.client, "/descendant_groups", "top/b"},
		{w.as(w.root), "/descendant_groups", "top/a top/a/aa top/b top/b/bb"},
	} {
		if got := paths(t, tc.who.Do(t, "GET", at(top, tc.rest), nil)); got != tc.want {
			t.Errorf("%s: got %s, want %s", tc.rest, got, tc.want)
		}
	}
	w.as(bob).Do(t, "GET", at(secret, "/subgroups"), nil).Want(t, 404, `{"message":"404 Group Not Found"}`)
	w.client.Do(t, "GET", at(secret, "/descendant_groups"), nil).Want(t, 404, `{"message":"404 Group Not Found"}`)
}

func TestPE11_AGroupNamesOnlyThoseSharesThatTheViewerSees(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ann, bob := w.person(t, "ann"), w.person(t, "bob")
	g := w.group(t, "g1", ann, grouptest.Visible(access.Public))
	open := grouptest.New(t, w.db, grouptest.Named("open"), grouptest.Visible(access.Public))
	secret := w.group(t, "secret", ann)
	grouptest.Share(t, w.db, g, open, access.Developer)
	grouptest.Share(t, w.db, g, secret, access.Guest)
	gone := grouptest.New(t, w.db, grouptest.Visible(access.Public))
	grouptest.Share(t, w.db, g, gone, access.Guest)
	w.exec(t, `update shares set expires_at = '2025-06-02' where group_id = $1`, open.ID)
	w.exec(t, `update shares set expires_at = '2025-06-01' where group_id = $1`, gone.ID)
	seen := fmt.Sprintf(`"shared_with_groups":[{"group_id":%d,"group_name":"open","group_full_path":"open","group_access_level":30,"expires_at":"2025-06-02"}`, open.ID)
	hidden := fmt.Sprintf(`,{"group_id":%d,"group_name":"secret","group_full_path":"secret","group_access_level":10,"expires_at":null}]`, secret.ID)
	for who, want := range map[*httpapitest.Client]string{w.as(ann): seen + hidden, w.as(w.root): seen + hidden, w.as(bob): seen + "]", w.client: seen + "]"} {
		if body := who.Do(t, "GET", at(g, ""), nil).WantStatus(t, 200).Body; !strings.Contains(body, want) {
			t.Errorf("got %s, want %s", body, want)
		}
	}
}
