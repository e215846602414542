package member_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stithy/internal/group"
	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/member"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
)

func TestAMemberIsTheAccountWithItsRole(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	g := grouptest.New(t, w.db, grouptest.Named("team"))
	p := w.project(t, g, access.Private)
	olga, ada := w.person(t, "olga"), w.person(t, "ada")
	w.join(t, g, olga, access.Owner)
	who := func(u *user.User) string {
		return fmt.Sprintf(`"id":%d,"username":"%s","name":"%s","state":"active","locked":false,"avatar_url":null,"web_url":"https://forge.example/%s"`,
			u.ID, u.Username, u.Name, u.Username)
	}
	want := `{` + who(ada) + `,"access_level":30,"created_at":"2024-05-02T15:04:05.678Z","created_by":{` + who(olga) +
		`},"expires_at":"2024-06-01","membership_state":"active"}`
	for _, where := range []any{g, p} {
		as := w.as(olga)
		as.Do(t, "POST", pathOf(where, "members"), h{"user_id": ada.ID, "access_level": 30, "expires_at": "2024-06-01"}).Want(t, 201, want)
		as.Do(t, "GET", pathOf(where, "members", ada.ID), nil).Want(t, 200, want)
		as.Do(t, "GET", pathOf(where, "members/all", ada.ID), nil).Want(t, 200, want)
		as.Do(t, "PUT", pathOf(where, "members", ada.ID), h{"access_level": 30, "expires_at": ""}).
			Want(t, 200, strings.ReplaceAll(want, `"2024-06-01"`, `null`))
		as.Do(t, "DELETE", pathOf(where, "members", ada.ID), nil).Want(t, 204, "")
		as.Do(t, "GET", pathOf(where, "members", ada.ID), nil).Want(t, 404, notFound)
	}
	if diff := cmp.Diff([]string{
		"member_created: Group team, User Ada", "member_created: Project team/project1, User Ada",
		"member_destroyed: Group team, User Ada", "member_destroyed: Project team/project1, User Ada",
		"member_updated: Group team, User Ada", "member_updated: Project team/project1, User Ada",
	}, w.taken()); diff != "" {
		t.Error(diff)
	}
}

func TestEverySituationHasItsAnswer(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	top := grouptest.New(t, w.db, grouptest.Named("top"), grouptest.Visible(access.Public))
	sub := grouptest.New(t, w.db, grouptest.Named("sub"), grouptest.Under(top))
	secret := grouptest.New(t, w.db, grouptest.Named("secret"))
	p, hidden := w.project(t, sub, access.Private), w.project(t, secret, access.Private)
	owner, maintainer, guest, stranger := w.person(t, "owner"), w.person(t, "maintainer"), w.person(t, "guest"), w.person(t, "stranger")
	ada, bob := w.person(t, "ada"), w.person(t, "bob")
	bot := w.person(t, "bot", usertest.With("kind", "project_bot"))
	personal := grouptest.Personal(t, w.db, ada)
	own := w.project(t, personal, access.Private)
	w.join(t, top, owner, access.Owner)
	w.join(t, top, bob, access.Developer)
	w.join(t, sub, maintainer, access.Maintainer)
	w.join(t, p, guest, access.Guest)

	const gone = `{"message":"404 Group Not Found"}`
	for name, c := range map[string]struct {
		as           *user.User
		method, path string
		body         h
		status       int
		want         string
	}{
		"anonymous readers":            {nil, "GET", pathOf(top, "members"), nil, 401, unauthorized},
		"anonymous writers":            {nil, "POST", pathOf(top, "members"), h{"user_id": ada.ID, "access_level": 10}, 401, unauthorized},
		"a group nobody sees":          {stranger, "GET", pathOf(secret, "members"), nil, 404, gone},
		"a project nobody sees":        {stranger, "GET", pathOf(hidden, "members"), nil, 404, `{"message":"404 Project Not Found"}`},
		"a group that is not there":    {stranger, "GET", "/groups/9999/members", nil, 404, gone},
		"a personal namespace":         {w.root, "GET", pathOf(personal, "members"), nil, 404, gone},
		"group without the right":      {maintainer, "POST", pathOf(sub, "members"), h{"user_id": ada.ID, "access_level": 10}, 403, forbidden},
		"project without the right":    {guest, "POST", pathOf(p, "members"), h{"user_id": ada.ID, "access_level": 10}, 403, forbidden},
		"the right before parameters":  {guest, "POST", pathOf(p, "members"), h{}, 403, forbidden},
		"a maintainer grants owner":    {maintainer, "POST", pathOf(p, "members"), h{"user_id": ada.ID, "access_level": 50}, 403, forbidden},
		"unknown person":               {owner, "POST", pathOf(top, "members"), h{"user_id": 9999, "access_level": 10}, 404, `{"message":"404 User Not Found"}`},
		"no person":                    {owner, "POST", pathOf(top, "members"), h{"access_level": 10}, 400, `{"error":"user_id is missing"}`},
		"no level":                     {owner, "POST", pathOf(top, "members"), h{"user_id": ada.ID}, 400, `{"error":"access_level is missing"}`},
		"unknown level":                {owner, "POST", pathOf(top, "members"), h{"user_id": ada.ID, "access_level": 15}, 400, `{"message":{"access_level":["is not included in the list"]}}`},
		"a level that wraps around":    {owner, "POST", pathOf(top, "members"), h{"user_id": ada.ID, "access_level": 65546}, 400, `{"message":{"access_level":["is not included in the list"]}}`},
		"minimal access below the top": {owner, "POST", pathOf(sub, "members"), h{"user_id": ada.ID, "access_level": 5}, 400, `{"message":{"access_level":["is not included in the list"]}}`},
		"minimal access to a project":  {owner, "POST", pathOf(p, "members"), h{"user_id": ada.ID, "access_level": 5}, 400, `{"message":{"access_level":["is not included in the list"]}}`},
		"past expiry":                  {owner, "POST", pathOf(top, "members"), h{"user_id": ada.ID, "access_level": 10, "expires_at": "2024-05-01"}, 400, `{"message":{"expires_at":["cannot be a date in the past"]}}`},
		"already a member":             {owner, "POST", pathOf(top, "members"), h{"user_id": bob.ID, "access_level": 10}, 409, `{"message":"Member already exists"}`},
		"below an inherited level":     {owner, "POST", pathOf(sub, "members"), h{"user_id": bob.ID, "access_level": 20}, 400, `{"message":{"access_level":["should be greater than or equal to Developer inherited membership from group top"]}}`},
		"the same in a project":        {owner, "POST", pathOf(p, "members"), h{"user_id": bob.ID, "access_level": 20}, 400, `{"message":{"access_level":["should be greater than or equal to Developer inherited membership from group top"]}}`},
		"a bot":                        {owner, "POST", pathOf(top, "members"), h{"user_id": bot.ID, "access_level": 20}, 400, `{"message":{"user":["bots cannot be added to other groups / projects"]}}`},
		"the last owner changed":       {owner, "PUT", pathOf(top, "members", owner.ID), h{"access_level": 40}, 403, forbidden},
		"the last owner kept":          {w.root, "PUT", pathOf(top, "members", owner.ID), h{"access_level": 50}, 403, forbidden},
		"the last owner leaves":        {owner, "DELETE", pathOf(top, "members", owner.ID), nil, 403, forbidden},
		"the last owner removed":       {w.root, "DELETE", pathOf(top, "members", owner.ID), nil, 403, forbidden},
		"the holder added":             {w.root, "POST", pathOf(own, "members"), h{"user_id": ada.ID, "access_level": 30}, 409, `{"message":"Member already exists"}`},
		"the holder changed":           {ada, "PUT", pathOf(own, "members", ada.ID), h{"access_level": 30}, 403, forbidden},
		"the holder leaves":            {ada, "DELETE", pathOf(own, "members", ada.ID), nil, 403, forbidden},
		"the holder removed":           {w.root, "DELETE", pathOf(own, "members", ada.ID), nil, 403, forbidden},
		"somebody else removed":        {guest, "DELETE", pathOf(p, "members", guest.ID+1), nil, 404, notFound},
		"inherited is not direct":      {owner, "GET", pathOf(p, "members", owner.ID), nil, 404, notFound},
		"inherited is not changed":     {owner, "PUT", pathOf(p, "members", bob.ID), h{"access_level": 40}, 404, notFound},
		"inherited is not removed":     {owner, "DELETE", pathOf(p, "members", bob.ID), nil, 404, notFound},
		"change without a level":       {owner, "PUT", pathOf(top, "members", bob.ID), h{}, 400, `{"error":"access_level is missing"}`},
		"change to an unknown level":   {owner, "PUT", pathOf(top, "members", bob.ID), h{"access_level": 0}, 400, `{"message":{"access_level":["is not included in the list"]}}`},
		"change to a past expiry":      {owner, "PUT", pathOf(top, "members", bob.ID), h{"access_level": 30, "expires_at": "2024-05-01"}, 400, `{"message":{"expires_at":["cannot be a date in the past"]}}`},
		"not a number":                 {owner, "GET", pathOf(top, "members", "ada"), nil, 400, `{"error":"user_id is invalid"}`},
	} {
		client := w.Client
		if c.as != nil {
			client = w.as(c.as)
		}
		r := client.Do(t, c.method, c.path, c.body)
		if r.Status != c.status || r.Body != c.want {
			t.Errorf("%s: got %d %s, want %d %s", name, r.Status, r.Body, c.status, c.want)
		}
	}
	if records := w.taken(); len(records) > 0 {
		t.Errorf("refused and yet audited: %q", records)
	}
	wantMembers(t, w.as(ada), pathOf(own, "members"), "ada 50")
	wantMembers(t, w.as(ada), pathOf(own, "members/all"), "ada 50")
	w.as(owner).Do(t, "POST", pathOf(top, "members"), h{"user_id": ada.ID, "access_level": 5}).WantStatus(t, 201)
	wantMembers(t, w.as(owner), pathOf(sub, "members/all"), "owner 50", "bob 30", "maintainer 40")
}

func TestAnOwnerMayGoWhenAnotherStays(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	top := grouptest.New(t, w.db)
	sub := grouptest.New(t, w.db, grouptest.Under(top))
	ada, bob, bot := w.person(t, "ada"), w.person(t, "bob"), w.person(t, "bot", usertest.With("kind", "project_bot"))
	w.join(t, top, ada, access.Owner)
	w.join(t, top, bot, access.Owner)
	w.join(t, sub, bob, access.Owner)
	w.as(ada).Do(t, "DELETE", pathOf(top, "members", ada.ID), nil).Want(t, 403, forbidden)
	w.as(bob).Do(t, "DELETE", pathOf(sub, "members", bob.ID), nil).Want(t, 204, "")
	w.join(t, top, bob, access.Owner)
	w.exec(t, `update members set expires_at = '2024-05-02' where user_id = $1`, bob.ID)
	w.as(ada).Do(t, "DELETE", pathOf(top, "members", ada.ID), nil).Want(t, 403, forbidden)
	w.exec(t, `update members set expires_at = null where user_id = $1`, bob.ID)
	w.as(ada).Do(t, "PUT", pathOf(top, "members", ada.ID), h{"access_level": 30}).WantStatus(t, 200)
	w.as(bob).Do(t, "DELETE", pathOf(top, "members", bob.ID), nil).Want(t, 403, forbidden)
}

func TestTwoOwnersCannotBothLeaveAtOnce(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for range 10 {
		g := grouptest.New(t, w.db)
		both := []*user.User{usertest.New(t, w.db), usertest.New(t, w.db)}
		for _, u := range both {
			w.join(t, g, u, access.Owner)
		}
		var wait sync.WaitGroup
		statuses := make([]int, 2)
		for i, u := range both {
			wait.Go(func() { statuses[i] = w.as(u).Do(t, "DELETE", pathOf(g, "members", u.ID), nil).Status })
		}
		wait.Wait()
		if statuses[0]+statuses[1] != 204+403 {
			t.Fatalf("got %v", statuses)
		}
	}
}

func TestLeavingIsOpenToEveryRole(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	g := grouptest.New(t, w.db)
	p := w.project(t, g, access.Private)
	for _, role := range []access.Role{access.MinimalAccess, access.Guest, access.Reporter, access.Developer, access.Maintainer} {
		for _, where := range []any{g, p} {
			if where == any(p) && role == access.MinimalAccess {
				continue
			}
			u := usertest.New(t, w.db)
			w.join(t, where, u, role)
			w.as(u).Do(t, "DELETE", pathOf(where, "members", u.ID), nil).Want(t, 204, "")
		}
	}
}

func TestOthersAreRemovedByThoseWhoManageMembersAlone(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	g := grouptest.New(t, w.db, grouptest.Visible(access.Public))
	p := w.project(t, g, access.Public)
	for _, where := range []any{g, p} {
		guest := usertest.New(t, w.db)
		w.join(t, where, guest, access.Guest)
		for _, role := range []access.Role{access.NoRole, access.Guest, access.Reporter, access.Developer} {
			u := usertest.New(t, w.db)
			if role != access.NoRole {
				w.join(t, where, u, role)
			}
			w.as(u).Do(t, "DELETE", pathOf(where, "members", guest.ID), nil).Want(t, 403, forbidden)
		}
		owner := usertest.New(t, w.db)
		w.join(t, where, owner, access.Owner)
		w.as(owner).Do(t, "DELETE", pathOf(where, "members", guest.ID), nil).Want(t, 204, "")
	}
}

func TestWhatWasGivenBelowAGroupGoesWithIt(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	top := grouptest.New(t, w.db, grouptest.Named("top"))
	sub := grouptest.New(t, w.db, grouptest.Named("sub"), grouptest.Under(top))
	elsewhere := grouptest.New(t, w.db, grouptest.Named("elsewhere"))
	p := w.project(t, sub, access.Private)
	ada, bob := w.person(t, "ada"), w.person(t, "bob")
	for _, u := range []*user.User{ada, bob} {
		for _, where := range []any{top, sub, elsewhere, p} {
			w.join(t, where, u, access.Developer)
		}
	}
	root := w.as(w.root)
	root.Do(t, "DELETE", pathOf(top, "members", bob.ID)+"?skip_subresources=true", nil).Want(t, 204, "")
	w.taken()
	root.Do(t, "DELETE", pathOf(top, "members", ada.ID)+"?unassign_issuables=true", nil).Want(t, 204, "")
	wantMembers(t, root, pathOf(top, "members"))
	wantMembers(t, root, pathOf(sub, "members"), "bob 30")
	wantMembers(t, root, pathOf(p, "members"), "bob 30")
	wantMembers(t, root, pathOf(elsewhere, "members"), "ada 30", "bob 30")
	if diff := cmp.Diff([]string{
		"member_destroyed: Group top, User Ada", "member_destroyed: Group top/sub, User Ada", "member_destroyed: Project top/sub/project1, User Ada",
	}, w.taken()); diff != "" {
		t.Error(diff)
	}
}

func TestADeleteOfWhatTheClientHasNotSeenIsRefused(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	g, ada := grouptest.New(t, w.db), w.person(t, "ada")
	w.join(t, g, ada, access.Developer)
	root := w.as(w.root)
	root.Do(t, "PUT", pathOf(g, "members", ada.ID), h{"access_level": 20}).WantStatus(t, 200)
	root.With("If-Unmodified-Since", "Wed, 01 May 2024 00:00:00 GMT").Do(t, "DELETE", pathOf(g, "members", ada.ID), nil).WantStatus(t, 412)
	root.With("If-Unmodified-Since", "Thu, 02 May 2024 15:04:05 GMT").Do(t, "DELETE", pathOf(g, "members", ada.ID), nil).WantStatus(t, 204)
}

func TestSeveralPeopleAreAddedAtOnce(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	g := grouptest.New(t, w.db)
	p := w.project(t, g, access.Private)
	ada, bob, eve := w.person(t, "ada"), w.person(t, "bob"), w.person(t, "eve")
	w.join(t, g, eve, access.Maintainer)
	for _, where := range []any{g, p} {
		add := func(list string, level int) *httpapitest.Reply {
			return w.as(w.root).Do(t, "POST", pathOf(where, "members"), h{"user_id": list, "access_level": level})
		}
		add(fmt.Sprintf("%d, %d", ada.ID, bob.ID), 30).Want(t, 201, `{"status":"success"}`)
		add(fmt.Sprintf("%d,9999", ada.ID), 30).Want(t, 201, `{"status":"error","message":{"9999":"User not found","ada":"Member already exists"}}`)
		add(fmt.Sprintf("%d,%d", ada.ID, bob.ID), 31).Want(t, 400, `{"message":{"access_level":["is not included in the list"]}}`)
		add(strings.Repeat("9997,9998,9999,", 50), 30).WantStatus(t, 201) // three people
	}
	w.as(w.root).Do(t, "POST", pathOf(p, "members"), h{"user_id": fmt.Sprintf("%d,", eve.ID), "access_level": 30}).
		Want(t, 201, `{"status":"error","message":{"eve":"Access level should be greater than or equal to Maintainer inherited membership from group `+g.Name+`"}}`)
	w.as(eve).Do(t, "POST", pathOf(p, "members"), h{"user_id": "1,2", "access_level": 50}).Want(t, 403, forbidden)
	var many []string
	for i := range 101 {
		many = append(many, fmt.Sprint(i))
	}
	w.as(w.root).Do(t, "POST", pathOf(p, "members"), h{"user_id": strings.Join(many, ","), "access_level": 30}).
		Want(t, 400, `{"message":"Too many users specified (limit is 100)"}`)
}

func TestMembersComeThroughEveryDoorOnce(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	top := grouptest.New(t, w.db, grouptest.Visible(access.Public))
	sub := grouptest.New(t, w.db, grouptest.Under(top))
	guests, crowd := grouptest.New(t, w.db), grouptest.New(t, w.db, grouptest.Visible(access.Public))
	below := grouptest.New(t, w.db, grouptest.Under(guests))
	p := w.project(t, sub, access.Public)
	ada, bob, eve, dan, pat := w.person(t, "ada"), w.person(t, "bob"), w.person(t, "eve"), w.person(t, "dan"), w.person(t, "pat")
	stranger, minimal := w.person(t, "stranger"), w.person(t, "minimal")
	w.join(t, top, ada, access.Reporter)
	w.join(t, p, ada, access.Maintainer)
	w.join(t, sub, bob, access.Owner)
	w.join(t, guests, eve, access.Owner)
	w.join(t, guests, ada, access.Owner)
	w.join(t, crowd, dan, access.Maintainer)
	w.join(t, p, pat, access.Guest)
	w.join(t, top, minimal, access.MinimalAccess)
	grouptest.Share(t, w.db, top, below, access.Developer)
	w.insert(t, `insert into shares (group_id, project_id, access_level, created_at) values ($1, $2, 20, now()) returning id`, crowd.ID, p.ID)
	w.exec(t, `insert into members (project_id, user_id, access_level, requested_at, created_at, updated_at) values ($1, $2, 50, now(), now(), now())`, p.ID, stranger.ID)

	root := w.as(w.root)
	wantMembers(t, root, pathOf(p, "members"), "ada 40", "pat 10")
	wantMembers(t, root, pathOf(p, "members/all"), "ada 40", "bob 50", "eve 30", "dan 20", "pat 10")
	wantMembers(t, root, pathOf(sub, "members/all"), "ada 30", "bob 50", "eve 30")
	wantMembers(t, root, pathOf(top, "members/all"), "ada 30", "eve 30", "minimal 5")
	wantMembers(t, w.as(pat), pathOf(p, "members/all"), "ada 40", "bob 50", "eve 30", "dan 20", "pat 10")
	// Who has no role does not learn who is in a private group.
	wantMembers(t, w.as(stranger), pathOf(p, "members/all"), "ada 40", "bob 50", "dan 20", "pat 10")
	w.as(stranger).Do(t, "GET", pathOf(p, "members/all", eve.ID), nil).Want(t, 404, notFound)
	for u, level := range map[*user.User]access.Role{ada: 40, bob: 50, eve: 30, dan: 20, pat: 10} {
		got := httpapitest.JSON[seen](t, root.Do(t, "GET", pathOf(p, "members/all", u.ID), nil).WantStatus(t, 200))
		if got.AccessLevel != level {
			t.Errorf("%s: got %d, want %d", u.Username, got.AccessLevel, level)
		}
	}

	all := pathOf(p, "members/all")
	wantMembers(t, root, all+"?query=AD", "ada 40")
	wantMembers(t, root, all+"?query=ada@example.com", "ada 40")
	wantMembers(t, w.as(pat), all+"?query=ada@example.com")
	wantMembers(t, root, all+fmt.Sprintf("?user_ids[]=%d&user_ids[]=%d&user_ids[]=%d", ada.ID, eve.ID, stranger.ID), "ada 40", "eve 30")
	wantMembers(t, root, all+fmt.Sprintf("?skip_users[]=%d&skip_users[]=%d", ada.ID, eve.ID), "bob 50", "dan 20", "pat 10")

	var pages []string
	for page := range 4 {
		r := root.Do(t, "GET", all+fmt.Sprintf("?per_page=2&page=%d", page+1), nil)
		for _, m := range httpapitest.JSON[[]seen](t, r.WantStatus(t, 200)) {
			pages = append(pages, m.Username)
		}
		if total := r.Header.Get("X-Total"); total != "5" {
			t.Errorf("page %d: X-Total %s", page+1, total)
		}
	}
	if got := strings.Join(pages, " "); got != "ada bob eve dan pat" {
		t.Errorf("pages hold %s", got)
	}
}

func TestExpiryCountsByDay(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	g := grouptest.New(t, w.db, grouptest.Named("team"))
	p := w.project(t, g, access.Private)
	invited := grouptest.New(t, w.db, grouptest.Named("guests"))
	ada := w.person(t, "ada")
	root := w.as(w.root)
	root.Do(t, "POST", pathOf(p, "members"), h{"user_id": ada.ID, "access_level": 30, "expires_at": "2024-05-03"}).WantStatus(t, 201)
	root.Do(t, "POST", pathOf(p, "share"), h{"group_id": invited.ID, "group_access": 30, "expires_at": "2024-05-03"}).WantStatus(t, 201)
	root.Do(t, "POST", pathOf(g, "share"), h{"group_id": invited.ID, "group_access": 30, "expires_at": "2024-05-03"}).WantStatus(t, 201)
	root.Do(t, "POST", pathOf(g, "invitations"), h{"email": "eve@elsewhere.example", "access_level": 30, "expires_at": "2024-05-03"}).WantStatus(t, 201)
	w.taken()
	wantMembers(t, w.as(ada), pathOf(p, "members"), "ada 30")
	if err := w.members.Expire(t.Context()); err != nil || len(w.taken()) > 0 {
		t.Fatalf("expired a day early, %v", err)
	}
	w.now = time.Date(2024, 5, 3, 0, 0, 1, 0, time.UTC)
	w.as(ada).Do(t, "GET", pathOf(p, "members"), nil).WantStatus(t, 404)
	root.Do(t, "PUT", pathOf(p, "members", ada.ID), h{"access_level": 30}).Want(t, 404, notFound)
	root.Do(t, "DELETE", pathOf(p, "members", ada.ID), nil).Want(t, 404, notFound)
	root.Do(t, "DELETE", pathOf(p, "share", invited.ID), nil).Want(t, 404, `{"message":"404 Group Link Not Found"}`)
	if err := w.members.Expire(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{
		"group_share_with_group_link_removed: Group team, Group guests",
		"member_destroyed: Group team, User eve@elsewhere.example", "member_destroyed: Project team/project1, User Ada",
		"project_group_link_deleted: Project team/project1, Group guests",
	}, w.taken()); diff != "" {
		t.Error(diff)
	}
	for _, table := range []string{"members", "shares"} {
		if n := w.insert(t, `select count(*) from `+table); n != 0 {
			t.Errorf("%d rows left in %s", n, table)
		}
	}
	root.Do(t, "POST", pathOf(p, "members"), h{"user_id": ada.ID, "access_level": 30, "expires_at": "2024-05-03"}).WantStatus(t, 201)
	root.Do(t, "POST", pathOf(p, "members"), h{"user_id": ada.ID, "access_level": 30, "expires_at": "2024-05-04"}).WantStatus(t, 201)
}

func TestManyExpiredMembershipsGoInBatches(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	g := grouptest.New(t, w.db)
	w.exec(t, `insert into users (username, name, email, projects_limit, created_at, updated_at)
		select 'old' || i, 'x', 'old' || i || '@example.com', 0, now(), now() from generate_series(1, 450) i`)
	w.exec(t, `insert into members (namespace_id, user_id, access_level, expires_at, created_at, updated_at)
		select $1, id, 30, '2024-05-01', now(), now() from users where username like 'old%'`, g.ID)
	if err := w.members.Expire(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := len(w.taken()); n != 450 {
		t.Errorf("%d were audited", n)
	}
	if n := w.insert(t, `select count(*) from members`); n != 0 {
		t.Errorf("%d are left", n)
	}
}

func TestAnAccessRequestIsGrantedDeniedOrTakenBack(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	g := grouptest.New(t, w.db, grouptest.Visible(access.Public))
	p := w.project(t, g, access.Public)
	maintainer, ada := w.person(t, "maintainer"), w.person(t, "ada")
	owner := w.person(t, "owner")
	w.join(t, p, maintainer, access.Maintainer)
	w.join(t, g, owner, access.Owner)
	for _, c := range []struct {
		where any
		by    *user.User
	}{{p, maintainer}, {g, owner}} {
		path := pathOf(c.where, "access_requests")
		w.Do(t, "POST", path, nil).Want(t, 401, unauthorized)
		ask := func() *httpapitest.Reply { return w.as(ada).Do(t, "POST", path, nil) }
		want := fmt.Sprintf(`{"id":%d,"username":"ada","name":"Ada","state":"active","locked":false,"avatar_url":null,"web_url":"https://forge.example/ada",`+
			`"requested_at":"2024-05-02T15:04:05.678Z"}`, ada.ID)
		ask().Want(t, 201, want)
		ask().Want(t, 400, `{"message":{"user_id":["already exists in source"]}}`)
		w.as(owner).Do(t, "GET", path, nil).Want(t, 200, "["+want+"]")
		w.as(ada).Do(t, "GET", path, nil).Want(t, 403, forbidden)
		w.as(ada).Do(t, "PUT", path+fmt.Sprintf("/%d/approve", ada.ID), nil).Want(t, 403, forbidden)
		w.as(c.by).Do(t, "DELETE", pathOf(c.where, "members", ada.ID), nil).Want(t, 404, notFound)
		w.as(ada).Do(t, "DELETE", path+fmt.Sprintf("/%d", ada.ID), nil).Want(t, 204, "")
		w.as(ada).Do(t, "DELETE", path+fmt.Sprintf("/%d", ada.ID), nil).Want(t, 404, notFound)
		ask().WantStatus(t, 201)
		w.as(c.by).Do(t, "DELETE", path+fmt.Sprintf("/%d", ada.ID), nil).Want(t, 204, "")
		w.as(c.by).Do(t, "PUT", path+fmt.Sprintf("/%d/approve", ada.ID), nil).Want(t, 404, notFound)
		ask().WantStatus(t, 201)
		got := httpapitest.JSON[seen](t, w.as(c.by).Do(t, "PUT", path+fmt.Sprintf("/%d/approve", ada.ID), nil).WantStatus(t, 201))
		if got.ID != ada.ID || got.AccessLevel != access.Developer {
			t.Errorf("approved as %+v", got)
		}
		ask().Want(t, 403, forbidden)
		w.as(c.by).Do(t, "DELETE", pathOf(c.where, "members", ada.ID), nil).Want(t, 204, "")
	}
	w.exec(t, `update namespaces set settings = '{"request_access_enabled": false}'`)
	w.as(ada).Do(t, "POST", pathOf(g, "access_requests"), nil).Want(t, 403, forbidden)
}

func TestAU03_AnAddressThatNobodyConfirmedGrantsNothing(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	g := grouptest.New(t, w.db, grouptest.Named("team"))
	p := w.project(t, g, access.Private)
	confirmed, unconfirmed := w.person(t, "confirmed"), w.person(t, "unconfirmed", usertest.Unconfirmed())
	for address, yes := range map[string]bool{"second@example.com": true, "waiting@example.com": false} {
		if _, err := w.users.AddEmail(t.Context(), access.Actor{}, unconfirmed.ID, address, yes); err != nil {
			t.Fatal(err)
		}
	}
	w.taken()
	root := w.as(w.root)
	for _, where := range []any{g, p} {
		path := pathOf(where, "invitations")
		invite := func(email string) *httpapitest.Reply {
			return root.Do(t, "POST", path, h{"email": email, "access_level": 20})
		}
		invite("Confirmed@Example.com, unconfirmed@example.com,waiting@example.com,new@example.com").Want(t, 201, `{"status":"success"}`)
		wantMembers(t, root, pathOf(where, "members"), "confirmed 20")
		invite("confirmed@example.com").Want(t, 201, `{"status":"error","message":{"confirmed@example.com":"Member already exists"}}`)
		invite("NEW@example.com").Want(t, 201, `{"status":"error","message":{"NEW@example.com":"The member's email address has already been taken"}}`)
		invite("nonsense").Want(t, 201, `{"status":"error","message":{"nonsense":"Email is invalid"}}`)
		root.Do(t, "POST", path, h{"email": "x@example.com"}).Want(t, 400, `{"error":"access_level is missing"}`)
		root.Do(t, "POST", path, h{"email": "x@example.com", "access_level": 7}).Want(t, 400, `{"message":{"access_level":["is not included in the list"]}}`)

		// Neither an account of that address nor its confirmation takes the place.
		w.exec(t, `update users set confirmed_at = now() where id = $1`, unconfirmed.ID)
		wantMembers(t, root, pathOf(where, "members"), "confirmed 20")
		w.exec(t, `update users set confirmed_at = null where id = $1`, unconfirmed.ID)
		w.as(confirmed).Do(t, "GET", path, nil).Want(t, 403, forbidden)

		list := root.Do(t, "GET", path+"?query=NEW@", nil)
		id := w.insert(t, `select max(id) from members where invite_email = 'new@example.com'`)
		want := fmt.Sprintf(`{"id":%d,"invite_email":"new@example.com","created_at":"2024-05-02T15:04:05.678Z","access_level":20,"expires_at":null,`+
			`"user_name":null,"created_by_name":"Root"}`, id)
		list.Want(t, 200, "["+want+"]")
		root.Do(t, "PUT", path+"/new@example.com", h{"access_level": 30, "expires_at": "2024-07-01"}).
			Want(t, 200, strings.NewReplacer(`:20,`, `:30,`, `"expires_at":null`, `"expires_at":"2024-07-01"`).Replace(want))
		root.Do(t, "DELETE", path+"/NEW%40example.com", nil).Want(t, 204, "")
		root.Do(t, "DELETE", path+"/new@example.com", nil).Want(t, 404, notFound)
		root.Do(t, "PUT", path+"/new@example.com", h{"access_level": 30}).Want(t, 404, notFound)

		invite("second@example.com").Want(t, 201, `{"status":"success"}`)
		wantMembers(t, root, pathOf(where, "members"), "confirmed 20", "unconfirmed 20")
	}
	if _, err := w.members.Accept(t.Context(), access.Actor{Person: unconfirmed.Person()}, w.insert(t, `select max(id) from members where invite_email = 'unconfirmed@example.com'`)); !fault.Is(err, fault.NotFound) {
		t.Errorf("an invitation to an address without proof is accepted: %v", err)
	}
}

// Who may invite learns neither that an address has an account nor which, unless
// the address is public, their own, or they administer the instance.
func TestAU13_AnInvitationDoesNotTellWhoseAnAddressIs(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	g := grouptest.New(t, w.db, grouptest.Named("team"))
	p := w.project(t, g, access.Private)
	owner := w.person(t, "owner")
	w.join(t, g, owner, access.Owner)
	ada := w.person(t, "ada")
	w.person(t, "open", usertest.With("public_email", "open@example.com"))
	if _, err := w.users.AddEmail(t.Context(), access.Actor{}, ada.ID, "ada.second@example.com", true); err != nil {
		t.Fatal(err)
	}
	plain := strings.NewReplacer("ada.second@", "X@", "ada@", "X@", "nobody@", "X@")
	for _, where := range []any{g, p} {
		path := pathOf(where, "invitations")
		told := map[string]string{}
		for _, address := range []string{"nobody@example.com", "ada@example.com", "ada.second@example.com"} {
			var all []string
			for _, email := range []string{address, strings.ToUpper(address[:1]) + address[1:]} {
				r := w.as(owner).Do(t, "POST", path, h{"email": email, "access_level": 20}).WantStatus(t, 201)
				all = append(all, strings.ToLower(r.Body))
			}
			for _, below := range []string{"members?query=" + address, "members", "members/all"} {
				all = append(all, w.as(owner).Do(t, "GET", pathOf(where, below), nil).WantStatus(t, 200).Body)
			}
			w.as(owner).Do(t, "PUT", path+"/"+address, h{"access_level": 10}).WantStatus(t, 200)
			w.as(owner).Do(t, "DELETE", path+"/"+address, nil).WantStatus(t, 204)
			told[address] = plain.Replace(strings.Join(all, "\n"))
		}
		for address, text := range told {
			if text != told["nobody@example.com"] {
				t.Errorf("%s is told apart from an address that nobody has:\n%s\n%s", address, text, told["nobody@example.com"])
			}
		}
	}
	w.as(owner).Do(t, "POST", pathOf(p, "invitations"), h{"email": "Open@example.com", "access_level": 20}).Want(t, 201, `{"status":"success"}`)
	w.as(w.root).Do(t, "POST", pathOf(p, "invitations"), h{"email": "ada@example.com", "access_level": 20}).Want(t, 201, `{"status":"success"}`)
	wantMembers(t, w.as(owner), pathOf(p, "members"), "ada 20", "open 20")
}

func TestAnInvitationIsAcceptedByWhoHasTheAddress(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	g := grouptest.New(t, w.db, grouptest.Named("team"))
	p := w.project(t, g, access.Private)
	owner, ada, bob := w.person(t, "owner"), w.person(t, "ada"), w.person(t, "bob")
	w.join(t, g, owner, access.Owner)
	as := func(u *user.User) access.Actor { return access.Actor{Person: u.Person()} }
	invite := func(where any, level access.Role) int64 {
		t.Helper()
		w.as(owner).Do(t, "POST", pathOf(where, "invitations"), h{"email": "Ada@example.com", "access_level": level}).Want(t, 201, `{"status":"success"}`)
		got, err := w.members.Received(t.Context(), ada.ID)
		if err != nil || len(got) != 1 || got[0].AccessLevel != level || got[0].Inviter != "owner" || got[0].InviteEmail != "Ada@example.com" {
			t.Fatalf("%+v, %v", got, err)
		}
		return got[0].ID
	}
	for _, where := range []any{p, g} {
		id := invite(where, access.Reporter)
		if got, err := w.members.Received(t.Context(), bob.ID); err != nil || len(got) != 0 {
			t.Errorf("bob is shown %v, %v", got, err)
		}
		for _, answer := range []func(context.Context, access.Actor, int64) (member.Received, error){w.members.Accept, w.members.Decline} {
			if _, err := answer(t.Context(), as(bob), id); !fault.Is(err, fault.NotFound) {
				t.Errorf("bob answers for ada: %v", err)
			}
		}
		if _, err := w.members.Decline(t.Context(), as(ada), id); err != nil {
			t.Fatal(err)
		}
		id = invite(where, access.Reporter)
		w.now = w.now.Add(time.Hour)
		if _, err := w.members.Accept(t.Context(), as(ada), id); err != nil {
			t.Fatal(err)
		}
		if _, err := w.members.Accept(t.Context(), as(ada), id); !fault.Is(err, fault.NotFound) {
			t.Errorf("accepted twice: %v", err)
		}
		want := []string{"ada 20"}
		if where == any(g) {
			want = append(want, "owner 50")
		}
		wantMembers(t, w.as(owner), pathOf(where, "members"), want...)
		w.as(owner).Do(t, "GET", pathOf(where, "invitations"), nil).Want(t, 200, `[]`)
		if where == any(p) {
			w.as(owner).Do(t, "DELETE", pathOf(p, "members", ada.ID), nil).WantStatus(t, 204)
		}
	}
	// Who has the role from above by now, or is a member, is told so, and nothing is lowered.
	w.as(owner).Do(t, "POST", pathOf(g, "invitations"), h{"email": "ada@example.com", "access_level": 10}).Want(t, 201, `{"status":"success"}`)
	got, err := w.members.Received(t.Context(), ada.ID)
	if err != nil || len(got) != 1 {
		t.Fatal(got, err)
	}
	if _, err := w.members.Accept(t.Context(), as(ada), got[0].ID); !fault.Is(err, fault.Conflict) {
		t.Errorf("a member accepts another role: %v", err)
	}
	wantMembers(t, w.as(owner), pathOf(g, "members"), "ada 20", "owner 50")
	// One that has expired is not there.
	w.exec(t, `update members set expires_at = '2024-05-01' where id = $1`, got[0].ID)
	if _, err := w.members.Accept(t.Context(), as(ada), got[0].ID); !fault.Is(err, fault.NotFound) {
		t.Errorf("an expired invitation: %v", err)
	}
}

func TestAGroupIsLetIntoAProject(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	g := grouptest.New(t, w.db, grouptest.Named("team"))
	p := w.project(t, g, access.Private)
	guests, hidden := grouptest.New(t, w.db, grouptest.Named("guests")), grouptest.New(t, w.db)
	maintainer, ada := w.person(t, "maintainer"), w.person(t, "ada")
	w.join(t, p, maintainer, access.Maintainer)
	w.join(t, guests, maintainer, access.Guest)
	w.join(t, guests, ada, access.Owner)
	as := w.as(maintainer)
	share := func(groupID int64, level any) *httpapitest.Reply {
		return as.Do(t, "POST", pathOf(p, "share"), h{"group_id": groupID, "group_access": level})
	}
	w.as(ada).Do(t, "POST", pathOf(p, "share"), h{"group_id": guests.ID, "group_access": 20}).WantStatus(t, 404)
	share(hidden.ID, 20).Want(t, 404, `{"message":"Not Found"}`)
	share(9999, 20).Want(t, 404, `{"message":"Not Found"}`)
	share(maintainer.NamespaceID, 20).Want(t, 404, `{"message":"Not Found"}`)
	share(guests.ID, 50).Want(t, 400, `{"error":"group_access does not have a valid value"}`)
	share(guests.ID, 15).Want(t, 400, `{"error":"group_access does not have a valid value"}`)
	w.as(w.root).Do(t, "POST", pathOf(p, "share"), h{"group_id": g.ID, "group_access": 20}).
		Want(t, 409, `{"message":"Project cannot be shared with the group it is in or one of its ancestors."}`)
	made := share(guests.ID, 20)
	made.Want(t, 201, fmt.Sprintf(`{"id":%d,"project_id":%d,"group_id":%d,"group_access":20,"expires_at":null}`,
		w.insert(t, `select max(id) from shares`), p.ID, guests.ID))
	share(guests.ID, 30).Want(t, 409, `{"message":"Group already shared with this group"}`)
	wantMembers(t, w.as(ada), pathOf(p, "members/all"), "ada 20", "maintainer 40")
	w.as(ada).Do(t, "DELETE", pathOf(p, "share", guests.ID), nil).Want(t, 403, forbidden)
	as.Do(t, "DELETE", pathOf(p, "share", guests.ID), nil).Want(t, 204, "")
	as.Do(t, "DELETE", pathOf(p, "share", guests.ID), nil).Want(t, 404, `{"message":"404 Group Link Not Found"}`)
	w.as(ada).Do(t, "GET", pathOf(p, "members/all"), nil).WantStatus(t, 404)
	if diff := cmp.Diff([]string{
		"project_group_link_created: Project team/project1, Group guests", "project_group_link_deleted: Project team/project1, Group guests",
	}, w.taken()); diff != "" {
		t.Error(diff)
	}
	w.exec(t, `update namespaces set settings = '{"share_with_group_lock": true}' where id = $1`, g.ID)
	share(guests.ID, 20).Want(t, 400, `{"message":"The project sharing with group is disabled"}`)
	w.exec(t, `update namespaces set settings = '{"prevent_sharing_groups_outside_hierarchy": true}' where id = $1`, g.ID)
	share(guests.ID, 20).Want(t, 404, `{"message":"Not Found"}`)
	w.exec(t, `update namespaces set settings = '{"membership_lock": true}' where id = $1`, g.ID)
	as.Do(t, "POST", pathOf(p, "members"), h{"user_id": ada.ID, "access_level": 20}).Want(t, 405, `{"message":"405 Method Not Allowed"}`)
	as.Do(t, "POST", pathOf(p, "invitations"), h{"email": "new@example.com", "access_level": 20}).
		Want(t, 201, `{"status":"error","message":{"new@example.com":"405 Method Not Allowed"}}`)
}

func TestAGroupIsLetIntoAnother(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	g := grouptest.New(t, w.db, grouptest.Named("team"))
	p := w.project(t, g, access.Private)
	guests := grouptest.New(t, w.db, grouptest.Named("guests"))
	owner, ada := w.person(t, "owner"), w.person(t, "ada")
	w.join(t, g, owner, access.Owner)
	w.join(t, guests, ada, access.Owner)
	as := w.as(owner)
	body := h{"group_id": guests.ID, "group_access": 50}
	as.Do(t, "POST", pathOf(g, "share"), body).Want(t, 404, `{"message":"404 Group Not Found"}`)
	w.join(t, guests, owner, access.Guest)
	as.Do(t, "POST", pathOf(g, "share"), h{"group_id": g.ID, "group_access": 50}).Want(t, 409, `{"message":"Group cannot be shared with itself"}`)
	got := httpapitest.JSON[struct {
		ID     int64 `json:"id"`
		Shared []struct {
			ID    int64       `json:"group_id"`
			Level access.Role `json:"group_access_level"`
		} `json:"shared_with_groups"`
	}](t, as.Do(t, "POST", pathOf(g, "share"), body).WantStatus(t, 201))
	if got.ID != g.ID || len(got.Shared) != 1 || got.Shared[0].ID != guests.ID || got.Shared[0].Level != access.Owner {
		t.Errorf("got %+v", got)
	}
	as.Do(t, "POST", pathOf(g, "share"), body).Want(t, 409, `{"message":"Shared group The group has already been shared with this group"}`)
	wantMembers(t, w.as(ada), pathOf(p, "members/all"), "ada 50", "owner 50")
	as.Do(t, "DELETE", pathOf(g, "share", guests.ID), nil).Want(t, 204, "")
	as.Do(t, "DELETE", pathOf(g, "share", guests.ID), nil).Want(t, 404, `{"message":"404 Group Link Not Found"}`)
	if diff := cmp.Diff([]string{
		"group_share_with_group_link_created: Group team, Group guests", "group_share_with_group_link_removed: Group team, Group guests",
	}, w.taken()); diff != "" {
		t.Error(diff)
	}
}

func TestTheMembershipsOfAPersonAreForAdministrators(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	g := grouptest.New(t, w.db, grouptest.Named("team"))
	p := w.project(t, g, access.Private)
	ada := w.person(t, "ada")
	w.join(t, g, ada, access.Owner)
	w.join(t, p, ada, access.Developer)
	w.exec(t, `insert into members (namespace_id, user_id, access_level, requested_at, created_at, updated_at) values ($1, $2, 50, now(), now(), now())`,
		grouptest.New(t, w.db).ID, ada.ID)
	w.exec(t, `insert into members (namespace_id, user_id, access_level, expires_at, created_at, updated_at) values ($1, $2, 50, '2024-05-02', now(), now())`,
		grouptest.New(t, w.db).ID, ada.ID)
	path := fmt.Sprintf("/users/%d/memberships", ada.ID)
	inGroup := fmt.Sprintf(`{"source_id":%d,"source_name":"team","source_type":"Namespace","access_level":"50"}`, g.ID)
	inProject := fmt.Sprintf(`{"source_id":%d,"source_name":"project1","source_type":"Project","access_level":"30"}`, p.ID)
	root := w.as(w.root)
	root.Do(t, "GET", path, nil).Want(t, 200, "["+inGroup+","+inProject+"]")
	root.Do(t, "GET", path+"?type=Project", nil).Want(t, 200, "["+inProject+"]")
	root.Do(t, "GET", path+"?type=Namespace", nil).Want(t, 200, "["+inGroup+"]")
	root.Do(t, "GET", path+"?type=Group", nil).Want(t, 400, `{"error":"type does not have a valid value"}`)
	root.Do(t, "GET", "/users/9999/memberships", nil).Want(t, 404, `{"message":"404 User Not Found"}`)
	w.as(ada).Do(t, "GET", path, nil).Want(t, 403, forbidden)
	w.as(ada).Do(t, "GET", "/users/9999/memberships", nil).Want(t, 403, forbidden)
	w.Do(t, "GET", path, nil).Want(t, 401, unauthorized)
}

func TestAPersonAndAdministratorsCountWhatSomeoneBelongsTo(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ada, bob := w.person(t, "ada"), w.person(t, "bob")
	g := grouptest.New(t, w.db)
	w.join(t, g, ada, access.Guest)
	w.join(t, w.project(t, g, access.Private), ada, access.Developer)
	w.join(t, w.project(t, g, access.Private), ada, access.Developer)
	w.exec(t, `insert into members (namespace_id, user_id, access_level, requested_at, created_at, updated_at) values ($1, $2, 50, now(), now(), now())`,
		grouptest.New(t, w.db).ID, ada.ID)
	path := fmt.Sprintf("/users/%d/associations_count", ada.ID)
	const counted = `{"groups_count":1,"projects_count":2,"issues_count":0,"merge_requests_count":0}`
	w.as(ada).Do(t, "GET", path, nil).Want(t, 200, counted)
	w.as(w.root).Do(t, "GET", path, nil).Want(t, 200, counted)
	w.as(bob).Do(t, "GET", path, nil).Want(t, 403, forbidden)
	w.Do(t, "GET", path, nil).Want(t, 401, unauthorized)
	w.as(bob).Do(t, "GET", "/users/9999/associations_count", nil).Want(t, 404, `{"message":"404 User Not Found"}`)
}

// grants are all ways to give somebody a role, or to change what was given.
var grants = []struct {
	name    string
	prepare func(t *testing.T, w *fixture, where any, target *user.User)
	send    func(t *testing.T, c *httpapitest.Client, where any, target *user.User, guests *group.Group, level access.Role) int
}{
	{"add", nil, func(t *testing.T, c *httpapitest.Client, where any, target *user.User, _ *group.Group, level access.Role) int {
		return c.Do(t, "POST", pathOf(where, "members"), h{"user_id": target.ID, "access_level": level}).Status
	}},
	{"add several", nil, func(t *testing.T, c *httpapitest.Client, where any, target *user.User, _ *group.Group, level access.Role) int {
		return c.Do(t, "POST", pathOf(where, "members"), h{"user_id": fmt.Sprintf("%d,", target.ID), "access_level": level}).Status
	}},
	{"change", func(t *testing.T, w *fixture, where any, target *user.User) { w.join(t, where, target, access.Guest) },
		func(t *testing.T, c *httpapitest.Client, where any, target *user.User, _ *group.Group, level access.Role) int {
			return c.Do(t, "PUT", pathOf(where, "members", target.ID), h{"access_level": level}).Status
		}},
	{"approve", func(t *testing.T, w *fixture, where any, target *user.User) {
		w.join(t, where, target, access.Guest)
		w.exec(t, `update members set requested_at = now() where user_id = $1`, target.ID)
	}, func(t *testing.T, c *httpapitest.Client, where any, target *user.User, _ *group.Group, level access.Role) int {
		return c.Do(t, "PUT", pathOf(where, "access_requests", target.ID, "approve"), h{"access_level": level}).Status
	}},
	{"invite", nil, func(t *testing.T, c *httpapitest.Client, where any, target *user.User, _ *group.Group, level access.Role) int {
		return c.Do(t, "POST", pathOf(where, "invitations"), h{"email": target.Email, "access_level": level}).Status
	}},
	{"invite a stranger", nil, func(t *testing.T, c *httpapitest.Client, where any, target *user.User, _ *group.Group, level access.Role) int {
		return c.Do(t, "POST", pathOf(where, "invitations"), h{"email": "x" + target.Email, "access_level": level}).Status
	}},
	{"change an invitation", func(t *testing.T, w *fixture, where any, target *user.User) {
		w.as(w.root).Do(t, "POST", pathOf(where, "invitations"), h{"email": "x" + target.Email, "access_level": 10}).WantStatus(t, 201)
	}, func(t *testing.T, c *httpapitest.Client, where any, target *user.User, _ *group.Group, level access.Role) int {
		return c.Do(t, "PUT", pathOf(where, "invitations", "x"+target.Email), h{"access_level": level}).Status
	}},
	{"share", nil, func(t *testing.T, c *httpapitest.Client, where any, _ *user.User, guests *group.Group, level access.Role) int {
		return c.Do(t, "POST", pathOf(where, "share"), h{"group_id": guests.ID, "group_access": level}).Status
	}},
}

func TestPE12_NobodyGrantsAboveTheirOwnLevel(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	roles := []access.Role{access.NoRole, access.MinimalAccess, access.Guest, access.Developer, access.Maintainer, access.Owner}
	levels := []access.Role{access.MinimalAccess, access.Guest, access.Reporter, access.Maintainer, access.Owner}
	least := map[bool]access.Role{true: access.Owner, false: access.Maintainer}
	granted := 0
	for _, inProject := range []bool{false, true} {
		g := grouptest.New(t, w.db, grouptest.Visible(access.Public))
		var where any = g
		if inProject {
			where = w.project(t, g, access.Public)
		}
		for _, role := range roles {
			actor := usertest.New(t, w.db)
			if role > access.NoRole {
				w.join(t, where, actor, role)
			}
			for _, grant := range grants {
				for _, level := range levels {
					target, guests := usertest.New(t, w.db), grouptest.New(t, w.db, grouptest.Visible(access.Public))
					w.join(t, guests, target, access.Owner)
					if grant.prepare != nil {
						grant.prepare(t, w, where, target)
					}
					status := grant.send(t, w.as(actor), where, target, guests, level)
					highest := w.insert(t, `select coalesce(max(access_level), 0) from (
						select access_level from members where (user_id = $1 or invite_email = $2) and namespace_id is distinct from $3 and requested_at is null
						union all select access_level from shares where group_id = $3) r`, target.ID, "x"+target.Email, guests.ID)
					if granted++; access.Role(highest) > max(role, access.Guest) {
						t.Errorf("%s by a %s: %d, and a %s came out", grant.name, role, status, access.Role(highest))
					}
					if may := role >= least[!inProject] && role >= level; !may && (status < 400) {
						t.Errorf("%s of %s by a %s in a project (%t): %d", grant.name, level, role, inProject, status)
					} else if valid := level >= access.Guest && (grant.name != "share" || !inProject || level < access.Owner); may && valid && status >= 400 {
						t.Errorf("%s of %s by a %s in a project (%t): %d", grant.name, level, role, inProject, status)
					}
				}
			}
		}
	}
	if granted < 400 {
		t.Errorf("only %d grants", granted)
	}
}

func TestPE12_WhoIsAboveIsNotTouched(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	p := w.project(t, grouptest.New(t, w.db), access.Private)
	maintainer, owner := w.person(t, "maintainer"), w.person(t, "owner")
	w.join(t, p, maintainer, access.Maintainer)
	w.join(t, p, owner, access.Owner)
	w.as(owner).Do(t, "POST", pathOf(p, "invitations"), h{"email": "new@example.com", "access_level": 50}).WantStatus(t, 201)
	as := w.as(maintainer)
	as.Do(t, "PUT", pathOf(p, "members", owner.ID), h{"access_level": 10}).Want(t, 403, forbidden)
	as.Do(t, "DELETE", pathOf(p, "members", owner.ID), nil).Want(t, 403, forbidden)
	as.Do(t, "PUT", pathOf(p, "invitations/new@example.com"), h{"access_level": 10}).Want(t, 403, forbidden)
	as.Do(t, "DELETE", pathOf(p, "invitations/new@example.com"), nil).Want(t, 403, forbidden)
	w.as(owner).Do(t, "DELETE", pathOf(p, "members", owner.ID), nil).Want(t, 204, "")
}

func TestPE01_AChildIsFoundOnlyWithItsParent(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	mine, other := grouptest.New(t, w.db), grouptest.New(t, w.db)
	guests := grouptest.New(t, w.db)
	owner, ada, asks := w.person(t, "owner"), w.person(t, "ada"), w.person(t, "asks")
	w.join(t, mine, owner, access.Owner)
	w.join(t, other, ada, access.Developer)
	w.join(t, other, asks, access.Developer)
	w.exec(t, `update members set requested_at = now() where user_id = $1`, asks.ID)
	grouptest.Share(t, w.db, other, guests, access.Developer)
	w.as(w.root).Do(t, "POST", pathOf(other, "invitations"), h{"email": "new@example.com", "access_level": 10}).WantStatus(t, 201)
	as := w.as(owner)
	as.Do(t, "GET", pathOf(mine, "members", ada.ID), nil).Want(t, 404, notFound)
	as.Do(t, "PUT", pathOf(mine, "members", ada.ID), h{"access_level": 10}).Want(t, 404, notFound)
	as.Do(t, "DELETE", pathOf(mine, "members", ada.ID), nil).Want(t, 404, notFound)
	as.Do(t, "PUT", pathOf(mine, "access_requests", asks.ID, "approve"), nil).Want(t, 404, notFound)
	as.Do(t, "DELETE", pathOf(mine, "access_requests", asks.ID), nil).Want(t, 404, notFound)
	as.Do(t, "PUT", pathOf(mine, "invitations/new@example.com"), h{"access_level": 10}).Want(t, 404, notFound)
	as.Do(t, "DELETE", pathOf(mine, "invitations/new@example.com"), nil).Want(t, 404, notFound)
	as.Do(t, "DELETE", pathOf(mine, "share", guests.ID), nil).Want(t, 404, `{"message":"404 Group Link Not Found"}`)
}
