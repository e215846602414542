package notification_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/notification"
	"stithy/internal/project/projecttest"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
)

func TestWhoChoseNothingHasTheDefaultsAndReadingThemStoresNothing(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ada := w.As(t, w.ada)
	ada.Do(t, "GET", everywhere, nil).Want(t, http.StatusOK, `{"level":"participating","notification_email":"ada@example.com"}`)
	for _, path := range []string{ofGroup(w.top), ofGroup(w.hidden), ofProject(w.tool), ofProject(w.secret), "/projects/top%2Fsub%2Ftool" + everywhere, "/groups/top%2Fsub" + everywhere} {
		ada.Do(t, "GET", path, nil).Want(t, http.StatusOK, `{"level":"global"}`)
		ada.Do(t, "PUT", path, nil).Want(t, http.StatusOK, `{"level":"global"}`)
	}
	ada.Do(t, "PUT", everywhere, map[string]any{"level": nil, "unheard_of": true}).
		Want(t, http.StatusOK, `{"level":"participating","notification_email":"ada@example.com"}`)
	if n := w.rows(t); n != 0 {
		t.Errorf("%d settings are stored", n)
	}
}

func TestEveryLevelIsKeptInItsPlace(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	places := []string{everywhere, ofGroup(w.top), ofGroup(w.sub), ofProject(w.tool)}
	for i, level := range notification.Levels() {
		for n, path := range places {
			level := string(notification.Levels()[(i+n)%len(notification.Levels())])
			if got := w.put(t, w.stranger, path, map[string]any{"level": level}); got.Level != level || (got.Events != nil) != (level == "custom") {
				t.Errorf("%s is given %s: %+v", path, level, got)
			}
		}
		for n, path := range places {
			if got, want := w.read(t, w.stranger, path).Level, string(notification.Levels()[(i+n)%len(notification.Levels())]); got != want {
				t.Errorf("%d: %s has %s, not %s", i, path, got, want)
			}
		}
		if got := w.read(t, w.ada, everywhere).Level; got != "participating" {
			t.Errorf("somebody else's becomes %s with %s", got, level)
		}
	}
	if n := w.rows(t); n != len(places) {
		t.Errorf("%d settings are stored", n)
	}
}

func TestEachEventIsSetByItsNameAlone(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ada := w.As(t, w.ada)
	for _, path := range []string{everywhere, ofGroup(w.top), ofProject(w.tool)} {
		first := w.put(t, w.ada, path, map[string]any{"level": "custom"})
		if len(first.Events) != len(notification.Events()) {
			t.Fatalf("%s shows %d events", path, len(first.Events))
		}
		want := map[string]bool{}
		for _, e := range notification.Events() {
			want[e.Name()] = e == notification.FailedPipeline || e == notification.FixedPipeline
			if on, known := first.Events[e.Name()]; !known || on != want[e.Name()] {
				t.Errorf("%s of %s is %t at first", e.Name(), path, on)
			}
		}
		for _, e := range notification.Events() {
			for _, on := range []bool{true, false, e.Name() > "new"} {
				want[e.Name()] = on
				got := w.put(t, w.ada, path, map[string]any{e.Name(): strconv.FormatBool(on)})
				if fmt.Sprint(got.Events) != fmt.Sprint(want) || fmt.Sprint(w.read(t, w.ada, path).Events) != fmt.Sprint(want) {
					t.Fatalf("%s of %s becomes %t: %v", e.Name(), path, on, got.Events)
				}
			}
		}
		ada.Do(t, "PUT", path, map[string]any{"level": "custom", "new_note": "maybe"}).Want(t, http.StatusBadRequest, `{"error":"new_note is invalid"}`)
	}
}

func TestEventsAreKeptUnderAnyLevelAndShownWithCustom(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	path := ofProject(w.tool)
	w.As(t, w.ada).Do(t, "PUT", path, map[string]any{"level": "watch", "new_note": true}).Want(t, http.StatusOK, `{"level":"watch"}`)
	if got := w.put(t, w.ada, path, map[string]any{"level": "custom"}); !got.Events["new_note"] || got.Events["new_issue"] {
		t.Errorf("got %v", got.Events)
	}
	global := w.put(t, w.ada, everywhere, map[string]any{"level": "custom", "failed_pipeline": false})
	if global.Events["failed_pipeline"] || !global.Events["fixed_pipeline"] || global.NotificationEmail != "ada@example.com" {
		t.Errorf("got %+v", global)
	}
}

func TestAnUnknownLevelChangesNothing(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for _, path := range []string{everywhere, ofGroup(w.top), ofProject(w.tool)} {
		w.put(t, w.ada, path, map[string]any{"level": "watch"})
		w.As(t, w.ada).Do(t, "PUT", path, map[string]any{"level": "invalid", "new_note": true}).
			Want(t, http.StatusBadRequest, `{"message":"'invalid' is not a valid level"}`)
		w.As(t, w.ada).Do(t, "PUT", path, map[string]any{"level": ""}).Want(t, http.StatusBadRequest, `{"message":"'' is not a valid level"}`)
		if got := w.put(t, w.ada, path, map[string]any{"level": "custom"}); got.Events["new_note"] {
			t.Errorf("%s: %v", path, got.Events)
		}
	}
}

func TestMailsGoToAnAddressThatIsVerified(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.add(t, w.ada, "Ada@Work.example", true)
	w.add(t, w.ada, "later@example.com", false)
	w.add(t, w.stranger, "other@example.com", true)
	ada := w.As(t, w.ada)
	for _, address := range []string{"later@example.com", "other@example.com", "stranger@example.com", "nobody@example.com", "no address", strings.Repeat("a", 300)} {
		ada.Do(t, "PUT", everywhere, map[string]any{"level": "watch", "notification_email": address}).
			Want(t, http.StatusBadRequest, `{"message":{"notification_email":["must be an email you have verified"]}}`)
	}
	if got := w.read(t, w.ada, everywhere); got.Level != "participating" || w.rows(t) != 0 {
		t.Errorf("a refused address leaves %+v", got)
	}
	for _, c := range []struct{ given, want string }{
		{"ADA@work.example", "Ada@work.example"}, {"ada@example.com", "ada@example.com"}, {"Ada@work.example", "Ada@work.example"}, {"", "ada@example.com"},
	} {
		if got := w.put(t, w.ada, everywhere, map[string]any{"notification_email": c.given}); got.NotificationEmail != c.want || got.Level != "participating" {
			t.Errorf("%q: %+v", c.given, got)
		}
		if got := w.put(t, w.ada, everywhere, map[string]any{"level": "participating"}); got.NotificationEmail != c.want {
			t.Errorf("%q does not stay: %+v", c.given, got)
		}
	}
	w.put(t, w.ada, everywhere, map[string]any{"notification_email": "ada@work.example"})
	ada.Do(t, "PUT", everywhere, map[string]any{"notification_email": nil}).
		Want(t, http.StatusOK, `{"level":"participating","notification_email":"ada@example.com"}`)
	// The forms of groups and projects know no address.
	for _, path := range []string{ofGroup(w.top), ofProject(w.tool)} {
		ada.Do(t, "PUT", path, map[string]any{"notification_email": "nobody@example.com"}).Want(t, http.StatusOK, `{"level":"global"}`)
	}
}

func TestAnAddressThatIsGivenUpIsMailedNoMore(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	id := w.add(t, w.ada, "ada@work.example", true)
	work, top := "ada@work.example", bus.Entity{Kind: bus.OfGroup, ID: w.top.ID}
	w.put(t, w.ada, everywhere, map[string]any{"level": "watch", "notification_email": work})
	if _, err := w.Notifications.Update(t.Context(), w.ada.ID, top, notification.Change{Email: &work}); err != nil {
		t.Fatal(err)
	}
	if err := w.Users.RemoveEmail(t.Context(), access.Actor{}, w.ada.ID, id); err != nil {
		t.Fatal(err)
	}
	if got := w.read(t, w.ada, everywhere); got.NotificationEmail != "ada@example.com" || got.Level != "watch" {
		t.Errorf("got %+v", got)
	}
	// Nor when it is claimed again, by the same person or another one.
	w.add(t, w.ada, work, true)
	if got := w.read(t, w.ada, everywhere); got.NotificationEmail != "ada@example.com" {
		t.Errorf("got %+v", got)
	}
	if got, err := w.Notifications.Find(t.Context(), w.ada.ID, top); err != nil || got.Email != nil {
		t.Errorf("the group has %+v, %v", got, err)
	}
}

// The two addresses trade rows: a setting must follow the address and not the row.
func TestTheChosenAddressStaysWhenThePrimaryOneChanges(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	work := "ada@work.example"
	w.add(t, w.ada, work, true)
	w.put(t, w.ada, everywhere, map[string]any{"notification_email": work})
	w.put(t, w.stranger, everywhere, map[string]any{"notification_email": "stranger@example.com"})
	if _, err := w.Users.Update(t.Context(), access.Actor{}, w.ada.ID, user.Attributes{Email: &work}); err != nil {
		t.Fatal(err)
	}
	if got := w.read(t, w.ada, everywhere).NotificationEmail; got != work {
		t.Errorf("got %s", got)
	}
	old := "ada@example.com"
	w.put(t, w.ada, everywhere, map[string]any{"notification_email": old})
	if _, err := w.Users.Update(t.Context(), access.Actor{}, w.ada.ID, user.Attributes{Email: &old}); err != nil {
		t.Fatal(err)
	}
	if got := w.read(t, w.ada, everywhere).NotificationEmail; got != old {
		t.Errorf("got %s", got)
	}
}

func TestSettingsAreForWhoeverIsSignedInAndSeesThePlace(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	change := map[string]any{"level": "watch"}
	blocked := usertest.New(t, w.DB, usertest.Named("blocked"), usertest.In(user.Blocked))
	for _, path := range []string{everywhere, ofGroup(w.top), ofProject(w.tool), ofGroup(w.hidden), ofProject(w.secret)} {
		for _, method := range []string{"GET", "PUT"} {
			w.Do(t, method, path, change).Want(t, http.StatusUnauthorized, `{"message":"401 Unauthorized"}`)
			w.As(t, blocked).Do(t, method, path, change).WantStatus(t, http.StatusForbidden)
		}
	}
	stranger := w.As(t, w.stranger)
	for path, want := range map[string]string{
		ofGroup(w.hidden): "Group", "/groups/987654" + everywhere: "Group", "/groups/ada" + everywhere: "Group",
		ofProject(w.secret): "Project", "/projects/987654" + everywhere: "Project",
	} {
		for _, method := range []string{"GET", "PUT"} {
			stranger.Do(t, method, path, change).Want(t, http.StatusNotFound, `{"message":"404 `+want+` Not Found"}`)
		}
	}
	if n := w.rows(t); n != 0 {
		t.Errorf("%d settings are stored", n)
	}
	// Who is in something below sees the way there, and may choose for it.
	below := projecttest.New(t, w.DB, w.hidden.ID, projecttest.Named("below"))
	projecttest.Join(t, w.DB, below, w.stranger, access.Guest)
	w.put(t, w.stranger, ofGroup(w.hidden), change)
	w.put(t, w.root, ofProject(w.secret), change)
}

func TestSettingsGoWithThePersonAndThePlace(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for _, u := range []*user.User{w.ada, w.stranger} {
		for _, path := range []string{everywhere, ofGroup(w.top), ofGroup(w.sub), ofProject(w.tool)} {
			w.put(t, u, path, map[string]any{"level": "watch"})
		}
	}
	w.put(t, w.ada, ofGroup(w.hidden), map[string]any{"level": "mention"})
	for _, step := range []struct {
		sql  string
		id   int64
		left int
	}{
		{`delete from projects where id = $1`, w.tool.ID, 7},
		{`delete from namespaces where id = $1`, w.sub.ID, 5},
		{`delete from users where id = $1`, w.stranger.ID, 3},
		{`delete from users where id = $1`, w.ada.ID, 0},
	} {
		if w.exec(t, step.sql, step.id); w.rows(t) != step.left {
			t.Errorf("%s leaves %d settings", step.sql, w.rows(t))
		}
	}
}

func TestTwoThatAreTheFirstAtTheSameTimeMakeOneSetting(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for _, in := range []bus.Entity{bus.Instance(), {Kind: bus.OfGroup, ID: w.top.ID}, {Kind: bus.OfProject, ID: w.tool.ID}} {
		before := w.rows(t)
		var all sync.WaitGroup
		for _, e := range notification.Events() {
			all.Go(func() {
				c := notification.Change{Level: new(notification.Custom), Flags: notification.Flags{}.With(e, true)}
				if _, err := w.Notifications.Update(t.Context(), w.ada.ID, in, c); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		got, err := w.Notifications.Find(t.Context(), w.ada.ID, in)
		if err != nil || w.rows(t) != before+1 {
			t.Errorf("%v: %d settings, %v", in, w.rows(t)-before, err)
		}
		for _, e := range notification.Events() {
			if !got.Has(e) {
				t.Errorf("%v: %s is lost", in, e.Name())
			}
		}
	}
}

func TestAPlaceThatWentMeanwhileIsNotFound(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	watch := notification.Change{Level: new(notification.Watch)}
	for _, in := range []bus.Entity{{Kind: bus.OfGroup, ID: 987654}, {Kind: bus.OfProject, ID: 987654}} {
		if _, err := w.Notifications.Update(t.Context(), w.ada.ID, in, watch); err == nil || !strings.Contains(err.Error(), "not found") {
			t.Errorf("%v: %v", in, err)
		}
	}
	if _, err := w.Notifications.Update(t.Context(), 987654, bus.Instance(), watch); err == nil || !strings.Contains(err.Error(), "not found") {
		t.Error(err)
	}
}

func TestWhatHoldsForPeopleInAProjectIsReadForAllOfThem(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	people := map[string]*user.User{}
	for _, name := range []string{"silent", "globally", "by-top", "by-sub", "in-project", "picky"} {
		people[name] = usertest.New(t, w.DB, usertest.Named(name))
	}
	set := func(name, path string, change map[string]any) { t.Helper(); w.put(t, people[name], path, change) }
	level := func(l string) map[string]any { return map[string]any{"level": l} }
	set("globally", everywhere, level("watch"))
	for _, name := range []string{"by-top", "by-sub", "in-project"} {
		set(name, everywhere, level("disabled"))
		set(name, ofGroup(w.top), level("mention"))
	}
	set("by-top", ofGroup(w.sub), level("global"))
	set("by-top", ofProject(w.tool), level("global"))
	set("by-sub", ofGroup(w.sub), level("watch"))
	set("in-project", ofGroup(w.sub), level("watch"))
	set("in-project", ofProject(w.tool), level("participating"))
	set("picky", ofGroup(w.sub), map[string]any{"level": "custom", "new_issue": true, "failed_pipeline": false})
	// Elsewhere they chose otherwise.
	other := grouptest.New(t, w.DB, grouptest.Named("other"), grouptest.Visible(access.Public))
	for name := range people {
		set(name, ofGroup(other), level("disabled"))
	}
	work := "by-top@work.example"
	w.add(t, people["by-top"], work, true)
	top, sub := bus.Entity{Kind: bus.OfGroup, ID: w.top.ID}, bus.Entity{Kind: bus.OfGroup, ID: w.sub.ID}
	if _, err := w.Notifications.Update(t.Context(), people["by-top"].ID, top, notification.Change{Email: &work}); err != nil {
		t.Fatal(err)
	}
	// The primary address is a choice, too, below a place with another one.
	home := "by-sub@example.com"
	w.add(t, people["by-sub"], "by-sub@work.example", true)
	for in, address := range map[bus.Entity]string{top: "by-sub@work.example", sub: home} {
		if _, err := w.Notifications.Update(t.Context(), people["by-sub"].ID, in, notification.Change{Email: &address}); err != nil {
			t.Fatal(err)
		}
	}

	ids := []int64{987654}
	for _, u := range people {
		ids = append(ids, u.ID)
	}
	got, err := w.Notifications.Resolve(t.Context(), w.tool.ID, ids)
	if err != nil || len(got) != len(people) {
		t.Fatal(got, err)
	}
	for name, want := range map[string]notification.Resolved{
		"silent": {Level: notification.Participating}, "globally": {Level: notification.Watch}, "by-top": {Level: notification.Mention, Email: work},
		"by-sub": {Level: notification.Watch}, "in-project": {Level: notification.Participating},
		"picky": {Level: notification.Custom, Flags: notification.Flags{}.With(notification.NewIssue, true).With(notification.FailedPipeline, false)},
	} {
		if want.Email == "" {
			want.Email = name + "@example.com"
		}
		if got := got[people[name].ID]; got != want {
			t.Errorf("%s: %+v, not %+v", name, got, want)
		}
	}
	if got, err := w.Notifications.Resolve(t.Context(), 987654, ids); err != nil || len(got) != 0 {
		t.Errorf("in no project: %v, %v", got, err)
	}
	if got, err := w.Notifications.Resolve(t.Context(), w.tool.ID, nil); err != nil || len(got) != 0 {
		t.Errorf("of nobody: %v, %v", got, err)
	}
}

// What holds is found by the people who are asked about, and not by passing what everybody chose.
func TestWhatHoldsCostsWhatThePeopleAre(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.exec(t, `
with people as (
	insert into users (username, name, email, projects_limit, created_at, updated_at)
	select 'many' || i, 'x', 'many' || i || '@example.com', 0, now(), now() from generate_series(1, 5000) i returning id)
insert into notification_settings (user_id, namespace_id, project_id, level, created_at, updated_at)
select id, place.namespace_id, place.project_id, 'watch', now(), now() from people
cross join (values (null::bigint, null::bigint), ($1, null), ($2, null), (null, $3)) as place(namespace_id, project_id)`, w.top.ID, w.sub.ID, w.tool.ID)
	w.exec(t, `analyze notification_settings, users, emails, namespaces, projects`)
	plan := strings.Join(values(t, w.DB, "explain (analyze, costs off, timing off) "+notification.SQLResolve, []int64{w.ada.ID, w.root.ID, w.stranger.ID}, w.tool.ID), "\n")
	if strings.Contains(plan, "Seq Scan on notification_settings") || strings.Contains(plan, "Seq Scan on users") {
		t.Error(plan)
	}
}

func TestOnesOwnPlacesAreThoseWithALevelOrAnAddress(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	actor := func(u *user.User) access.Actor { return access.Actor{Person: &access.Person{ID: u.ID}} }
	ada := "ada@example.com"
	w.put(t, w.ada, everywhere, map[string]any{"level": "watch"})
	w.put(t, w.ada, ofGroup(w.hidden), map[string]any{"level": "mention"})
	w.put(t, w.ada, ofProject(w.secret), map[string]any{"level": "watch"})
	w.put(t, w.ada, ofProject(w.tool), map[string]any{"level": "global", "new_note": true})
	w.put(t, w.stranger, ofProject(w.tool), map[string]any{"level": "watch"})
	if _, err := w.Notifications.Update(t.Context(), w.ada.ID, bus.Entity{Kind: bus.OfGroup, ID: w.sub.ID}, notification.Change{Email: &ada}); err != nil {
		t.Fatal(err)
	}
	list := func(most int) string {
		t.Helper()
		all, err := w.Notifications.Own(t.Context(), actor(w.ada), most)
		if err != nil {
			t.Fatal(err)
		}
		var text []string
		for _, p := range all {
			text = append(text, p.Owner.Path+" "+string(p.Level))
		}
		return strings.Join(text, ", ")
	}
	if got := list(10); got != "top/sub global, hidden/secret watch, hidden mention" {
		t.Errorf("got %s", got)
	}
	if got := list(1); got != "top/sub global" {
		t.Errorf("the latest is %s", got)
	}
	w.exec(t, `delete from members where user_id = $1`, w.ada.ID)
	if got := list(10); got != "top/sub global" {
		t.Errorf("without a role: %s", got)
	}
	// The way to something below is seen.
	projecttest.Join(t, w.DB, w.secret, w.ada, access.Guest)
	if got := list(10); got != "top/sub global, hidden/secret watch, hidden mention" {
		t.Errorf("below: %s", got)
	}
}
