package user_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"stithy/internal/audit"
	"stithy/internal/core"
	"stithy/internal/core/coretest"
	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/platform/clock"
	"stithy/internal/platform/jobqueue"
	"stithy/internal/platform/postgres"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
)

// fixture is an instance with one administrator.
type fixture struct {
	db     *postgres.DB
	users  *user.Service
	queue  *jobqueue.Queue
	client *httpapitest.Client
	root   *user.User
	log    *bytes.Buffer
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	w := &fixture{log: &bytes.Buffer{}}
	c := coretest.New(t, coretest.Clock(clock.System()), func(d *core.Deps) { d.Log = slog.New(slog.NewTextHandler(w.log, nil)) })
	w.db, w.users, w.queue = c.DB, c.Users, c.Queue
	w.users.Register(c.Registry)
	c.Bus.OnAny(audit.New(audit.Deps{
		DB: w.db, Bus: c.Bus, Queue: c.Queue, Box: c.Box, Outbound: c.Outbound, Settings: c.Settings, Owners: c.Owners, Clock: c.Clock, Log: c.Log,
	}).Record)
	w.client = httpapitest.Serve(t, w.users.Endpoints()...)
	w.root = usertest.New(t, w.db, usertest.Named("root"), usertest.Admin())
	return w
}

// as calls with the account behind the actor, as authentication would.
func (w *fixture) as(u *user.User) *httpapitest.Client { return w.client.AsAccount(*u.Person(), u) }

func (w *fixture) audited(t *testing.T, entity int64) []string {
	t.Helper()
	types, err := postgres.Values[string](t.Context(), w.db,
		`select event_type from audit_events where entity_type = 'User' and entity_id = $1 order by id`, entity)
	if err != nil {
		t.Fatal(err)
	}
	return types
}

func TestAnAdministratorCreatesAUser(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	reply := w.as(w.root).Do(t, "POST", "/users", map[string]any{
		"email": "Ann@Example.com", "username": "ann", "name": "Ann Lee", "password": "horse battery 9", "skip_confirmation": true,
		"admin": true, "bio": "Smith", "projects_limit": 7, "provider": "saml", "extern_uid": "42", "external": true,
		"note": "first", "website_url": "https://ann.example", "public_email": "ann@example.com", "shared_runners_minutes_limit": nil,
	}).WantStatus(t, http.StatusCreated)
	var got struct {
		ID             int64
		Email          string
		Username       string
		State          string
		IsAdmin        bool    `json:"is_admin"`
		ConfirmedAt    *string `json:"confirmed_at"`
		PublicEmail    string  `json:"public_email"`
		ProjectsLimit  int     `json:"projects_limit"`
		WebURL         string  `json:"web_url"`
		External, Bot  bool
		CommitEmail    string `json:"commit_email"`
		NamespaceID    int64  `json:"namespace_id"`
		Identities     []struct{ Provider, ExternUID string }
		CreatedBy      struct{ Username string } `json:"created_by"`
		LastActivityOn *string                   `json:"last_activity_on"`
	}
	reply.Decode(t, &got)
	if got.Email != "Ann@example.com" || got.Username != "ann" || got.State != "active" || !got.IsAdmin || got.ConfirmedAt == nil ||
		got.PublicEmail != "ann@example.com" || got.ProjectsLimit != 7 || got.WebURL != "https://forge.example/ann" || !got.External ||
		got.CommitEmail != got.Email || got.NamespaceID == 0 || len(got.Identities) != 1 || got.CreatedBy.Username != "root" {
		t.Errorf("got %+v", got)
	}
	if types := w.audited(t, got.ID); len(types) != 1 || types[0] != "user_created" {
		t.Errorf("audited %v", types)
	}
	if strings.Contains(reply.Body, "horse") {
		t.Error("the password came back")
	}
}

func TestCreatingAUserIsRefused(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	usertest.New(t, w.db, usertest.Named("taken"))
	complete := func(changes map[string]any) map[string]any {
		body := map[string]any{"email": "new@example.com", "username": "new", "name": "New", "force_random_password": true}
		for k, v := range changes {
			if body[k] = v; v == nil {
				delete(body, k)
			}
		}
		return body
	}
	for name, tc := range map[string]struct {
		body map[string]any
		want string
	}{
		"without anything": {map[string]any{}, `400 {"error":"email is missing, name is missing, username is missing, password, reset_password, force_random_password are missing, at least one parameter must be provided"}`},
		"without a password": {complete(map[string]any{"force_random_password": nil}),
			`400 {"error":"password, reset_password, force_random_password are missing, at least one parameter must be provided"}`},
		"half an identity": {complete(map[string]any{"provider": "saml"}),
			`400 {"error":"extern_uid, provider provide all or none of parameters"}`},
		"a taken email":          {complete(map[string]any{"email": "TAKEN@example.com"}), `409 {"message":"Email has already been taken"}`},
		"a taken username":       {complete(map[string]any{"username": "Taken"}), `409 {"message":"Username has already been taken"}`},
		"both taken, email said": {complete(map[string]any{"username": "taken", "email": "taken@example.com"}), `409 {"message":"Email has already been taken"}`},
		"a bad email":            {complete(map[string]any{"email": "nobody"}), `400 {"message":{"email":["is invalid"]}}`},
		"a short password": {complete(map[string]any{"password": "short", "force_random_password": nil}),
			`400 {"message":{"password":["is too short (minimum is 8 characters)"]}}`},
		"a weak password": {complete(map[string]any{"password": "password1234", "force_random_password": nil}),
			`400 {"message":{"password":["must not contain commonly used combinations of words and letters"]}}`},
		"a long bio":         {complete(map[string]any{"bio": strings.Repeat("x", 256)}), `400 {"message":{"bio":["is too long (maximum is 255 characters)"]}}`},
		"negative minutes":   {complete(map[string]any{"shared_runners_minutes_limit": -1}), `400 {"message":{"shared_runners_minutes_limit":["must be greater than or equal to 0"]}}`},
		"a boundless limit":  {complete(map[string]any{"projects_limit": 1 << 31}), `400 {"message":{"projects_limit":["must be less than or equal to 2147483647"]}}`},
		"a negative limit":   {complete(map[string]any{"projects_limit": -1}), `400 {"message":{"projects_limit":["must be greater than or equal to 0"]}}`},
		"a reserved name":    {complete(map[string]any{"username": "admin"}), `400 {"message":{"username":["admin is a reserved name"]}}`},
		"a file's name":      {complete(map[string]any{"username": "a.json"}), `400 {"message":{"username":["ending with a reserved file extension is not allowed."]}}`},
		"a blank name":       {complete(map[string]any{"name": ""}), `400 {"message":{"name":["can't be blank"]}}`},
		"an unknown theme":   {complete(map[string]any{"theme_id": 11}), `400 {"message":{"theme_id":["11 is not a valid theme"]}}`},
		"an unproved email":  {complete(map[string]any{"public_email": "other@example.com"}), `400 {"message":{"public_email":["must be an email you have verified"]}}`},
		"a broken boolean":   {complete(map[string]any{"admin": "maybe"}), `400 {"error":"admin is invalid"}`},
		"a scripted website": {complete(map[string]any{"website_url": "javascript:alert(1)"}), `400 {"message":{"website_url":["is not a valid URL"]}}`},
	} {
		t.Run(name, func(t *testing.T) {
			reply := w.as(w.root).Do(t, "POST", "/users", tc.body)
			if got := fmt.Sprint(reply.Status, " ", reply.Body); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

// The users group checks the administrator after the parameters.
func TestTheOrderOfRefusalsWhenCreatingAUser(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ann := usertest.New(t, w.db)
	full := map[string]any{"email": "n@example.com", "username": "n", "name": "N", "force_random_password": true}
	w.client.Do(t, "POST", "/users", map[string]any{}).Want(t, 401, `{"message":"401 Unauthorized"}`)
	w.as(ann).Do(t, "POST", "/users", map[string]any{}).WantStatus(t, 400)
	w.as(ann).Do(t, "POST", "/users", full).Want(t, 403, `{"message":"403 Forbidden"}`)
	w.as(ann).Do(t, "PUT", "/users/99999", map[string]any{}).Want(t, 403, `{"message":"403 Forbidden"}`)
	w.as(w.root).Do(t, "PUT", "/users/99999", map[string]any{}).Want(t, 404, `{"message":"404 User Not Found"}`)
	w.as(w.root).Do(t, "GET", "/users/abc", nil).Want(t, 404, `{"error":"404 Not Found"}`)
}

func TestTheThreeFormsOfAUser(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ann := usertest.New(t, w.db, usertest.Named("ann"), usertest.With("job_title", "Smith"), usertest.With("organization", "Forge"))
	bob := usertest.New(t, w.db, usertest.Named("bob"), usertest.With("private_profile", true))
	keys := func(r *httpapitest.Reply) map[string]any {
		got := map[string]any{}
		r.WantStatus(t, 200).Decode(t, &got)
		return got
	}
	seen := keys(w.as(bob).Do(t, "GET", fmt.Sprintf("/users/%d", ann.ID), nil))
	for _, name := range []string{"id", "username", "name", "state", "locked", "avatar_url", "web_url", "created_at", "bio", "bot", "location",
		"public_email", "skype", "linkedin", "twitter", "discord", "website_url", "organization", "job_title", "pronouns", "work_information",
		"followers", "following", "local_time", "is_followed"} {
		if _, ok := seen[name]; !ok {
			t.Errorf("the single form lacks %s", name)
		}
	}
	if seen["work_information"] != "Smith at Forge" || seen["email"] != nil {
		t.Errorf("got %v", seen)
	}
	private := keys(w.as(ann).Do(t, "GET", fmt.Sprintf("/users/%d", bob.ID), nil))
	for _, name := range []string{"created_at", "followers", "following", "is_followed"} {
		if _, ok := private[name]; ok {
			t.Errorf("a private profile shows %s", name)
		}
	}
	all := keys(w.as(w.root).Do(t, "GET", fmt.Sprintf("/users/%d", bob.ID), nil))
	for _, name := range []string{"email", "is_admin", "last_sign_in_at", "current_sign_in_at", "confirmed_at", "theme_id", "color_scheme_id",
		"last_activity_on", "projects_limit", "note", "identities", "can_create_group", "can_create_project", "two_factor_enabled", "external",
		"private_profile", "commit_email", "current_sign_in_ip", "last_sign_in_ip", "plan", "trial", "sign_in_count", "namespace_id", "created_by",
		"email_reset_offered_at", "shared_runners_minutes_limit", "extra_shared_runners_minutes_limit", "is_auditor", "using_license_seat",
		"provisioned_by_group_id", "scim_identities", "highest_role", "created_at"} {
		if _, ok := all[name]; !ok {
			t.Errorf("the administrator's form lacks %s", name)
		}
	}
	own := keys(w.as(bob).Do(t, "GET", "/user", nil))
	for _, name := range []string{"email", "confirmed_at", "identities", "commit_email", "two_factor_enabled", "created_at"} {
		if _, ok := own[name]; !ok {
			t.Errorf("one's own form lacks %s", name)
		}
	}
	for _, name := range []string{"is_admin", "note", "namespace_id"} {
		if _, ok := own[name]; ok {
			t.Errorf("one's own form shows %s", name)
		}
	}
	w.client.Do(t, "GET", fmt.Sprintf("/users/%d", ann.ID), nil).Want(t, 403, `{"message":"403 Forbidden - Not authorized!"}`)
	w.client.Do(t, "GET", "/user", nil).Want(t, 401, `{"message":"401 Unauthorized"}`)
	w.as(ann).Do(t, "GET", "/users/999999", nil).Want(t, 404, `{"message":"404 User Not Found"}`)
}

func TestStrangersMayOnlyLookAUsernameUp(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ann := usertest.New(t, w.db, usertest.Named("ann"))
	usertest.New(t, w.db, usertest.Named("gone"), usertest.In(user.Blocked))
	refused := `{"message":"403 Forbidden - Not authorized to access /api/v4/users"}`
	w.client.Do(t, "GET", "/users", nil).Want(t, 403, refused)
	w.client.Do(t, "GET", "/users?username=", nil).Want(t, 403, refused)
	w.client.Do(t, "GET", "/users?search=ann", nil).Want(t, 403, refused)
	w.client.Do(t, "GET", "/users?username=ANN", nil).Want(t, 200, fmt.Sprintf(
		`[{"id":%d,"username":"ann","name":"Ann","state":"active","locked":false,"avatar_url":null,"web_url":"https://forge.example/ann"}]`, ann.ID))
	w.client.Do(t, "GET", "/users?username=gone", nil).Want(t, 200, `[]`)
	w.client.Do(t, "GET", "/users?extern_uid=1&provider=x&username=ann", nil).Want(t, 401, `{"message":"401 Unauthorized"}`)
	w.as(ann).Do(t, "GET", "/users?extern_uid=1&provider=x", nil).Want(t, 403, `{"message":"403 Forbidden"}`)
	w.as(ann).Do(t, "GET", "/users?extern_uid=1", nil).Want(t, 400, `{"error":"extern_uid, provider provide all or none of parameters"}`)
	w.as(ann).Do(t, "GET", "/users?order_by=email", nil).Want(t, 400, `{"error":"order_by does not have a valid value"}`)
}

func usernames(t *testing.T, r *httpapitest.Reply) string {
	t.Helper()
	var rows []struct{ Username string }
	r.WantStatus(t, 200).Decode(t, &rows)
	var names []string
	for _, row := range rows {
		names = append(names, row.Username)
	}
	return strings.Join(names, " ")
}

func TestTheListIsFiltered(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ann := usertest.New(t, w.db, usertest.Named("ann"), usertest.With("name", "Ann Lee"), usertest.With("public_email", "ann@example.com"))
	usertest.New(t, w.db, usertest.Named("anna"), usertest.With("name", "Anna"), usertest.With("external", true))
	usertest.New(t, w.db, usertest.Named("bob"), usertest.With("name", "Hannah"), usertest.In(user.Blocked))
	usertest.New(t, w.db, usertest.Named("bot"), usertest.With("kind", "project_bot"), usertest.With("two_factor_enabled", true))
	usertest.New(t, w.db, usertest.Named("alert"), usertest.With("kind", "alert_bot"), usertest.With("auditor", true))
	usertest.New(t, w.db, usertest.Named("old"), usertest.With("created_at", "2001-01-01"), usertest.In(user.Deactivated))
	usertest.New(t, w.db, usertest.Named("leaving"), usertest.With("removal", "soft"), usertest.In(user.Blocked))
	if _, err := w.db.Exec(t.Context(), `
		insert into identities (user_id, provider, extern_uid, saml_provider_id, created_at, updated_at)
		select id, 'ldapmain', 'ann-1', null::bigint, now(), now() from users where username = 'ann'
		union all select id, 'group_saml', 'bob-1', 7, now(), now() from users where username = 'bob'`); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string][2]string{ // administrator, anyone
		"":                             {"old alert bot bob anna ann root", "old alert bot anna ann root"},
		"active=true":                  {"alert bot anna ann root", "alert bot anna ann root"},
		"active=false":                 {"old alert bot bob anna ann root", "old alert bot anna ann root"},
		"blocked=true":                 {"bob", ""},
		"external=true":                {"anna", "anna"},
		"exclude_external=true":        {"old alert bot bob ann root", "old alert bot ann root"},
		"exclude_internal=true":        {"old bot bob anna ann root", "old bot anna ann root"},
		"without_project_bots=true":    {"old alert bob anna ann root", "old alert anna ann root"},
		"created_before=2002-01-01":    {"old", "old"},
		"created_after=2030-01-01":     {"", ""},
		"created_after=2020-01-01":     {"alert bot bob anna ann root", "alert bot anna ann root"},
		"username=ANN":                 {"ann", "ann"},
		"search=ann":                   {"ann anna bob", "ann anna"},
		"search=@ann":                  {"ann anna bob", "ann anna"},
		"search=an":                    {"", ""},
		"search=ann%40example.com":     {"ann", "ann"},
		"search=bob%40example.com":     {"bob", ""},
		"search=%25%25%25":             {"", ""},
		"search=a_n":                   {"", ""},
		"search=Hannah":                {"bob", ""},
		"order_by=username&sort=asc":   {"alert ann anna bob bot old root", "old alert bot anna ann root"},
		"order_by=name&sort=desc":      {"root old bob bot anna ann alert", "old alert bot anna ann root"},
		"admins=true":                  {"root", "old alert bot anna ann root"},
		"auditors=true":                {"alert", "old alert bot anna ann root"},
		"two_factor=enabled":           {"bot", "old alert bot anna ann root"},
		"two_factor=disabled":          {"old alert bob anna ann root", "old alert bot anna ann root"},
		"order_by=created_at&sort=asc": {"root ann anna bob bot alert old", "old alert bot anna ann root"},
		"order_by=updated_at&sort=asc": {"root ann anna bob bot alert old", "old alert bot anna ann root"},
		"skip_ldap=true":               {"old alert bot bob anna root", "old alert bot anna ann root"},
		"saml_provider_id=7":           {"bob", "old alert bot anna ann root"},
		"without_projects=true":        {"old alert bot bob anna ann root", "old alert bot anna ann root"}, // nobody has any yet
		"custom_attributes[team]=red":  {"", "old alert bot anna ann root"},
	} {
		if got := usernames(t, w.as(w.root).Do(t, "GET", "/users?"+query, nil)); got != want[0] {
			t.Errorf("%s: an administrator sees %q, want %q", query, got, want[0])
		}
		if got := usernames(t, w.as(ann).Do(t, "GET", "/users?"+query, nil)); got != want[1] {
			t.Errorf("%s: anyone sees %q, want %q", query, got, want[1])
		}
	}
	for _, by := range []*user.User{w.root, ann} {
		w.as(by).Do(t, "GET", "/users?two_factor=maybe", nil).Want(t, 400, `{"error":"two_factor does not have a valid value"}`)
	}
}

func TestKeysetPagesWalkTheWholeListOnce(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for i := range 7 {
		usertest.New(t, w.db, usertest.With("name", "Twin"), usertest.Named(fmt.Sprintf("u%d", i)))
	}
	for _, query := range []string{
		"order_by=id&sort=asc", "order_by=id&sort=desc", "order_by=name&sort=asc", "order_by=name&sort=desc",
		"order_by=username&sort=asc", "order_by=username&sort=desc", "",
	} {
		var walked []string
		next := "/users?pagination=keyset&per_page=3&" + query
		for next != "" && len(walked) < 20 {
			reply := w.as(w.root).Do(t, "GET", next, nil)
			walked = append(walked, strings.Fields(usernames(t, reply))...)
			if next = ""; reply.Header.Get("Link") != "" {
				link, _, _ := strings.Cut(strings.TrimPrefix(reply.Header.Get("Link"), "<"), ">")
				next = strings.TrimPrefix(link, "https://forge.example/api/v4")
			}
			if reply.Header.Get("X-Total") != "" {
				t.Error("a keyset page has a total")
			}
		}
		whole := strings.Fields(usernames(t, w.as(w.root).Do(t, "GET", "/users?per_page=100&"+query, nil)))
		if strings.Join(walked, " ") != strings.Join(whole, " ") {
			t.Errorf("%s: walked %v, the list is %v", query, walked, whole)
		}
	}
	w.as(w.root).Do(t, "GET", "/users?pagination=keyset&cursor=nonsense", nil).Want(t, 400, `{"error":"cursor is invalid"}`)
	for _, order := range []string{"created_at", "updated_at"} {
		w.as(w.root).Do(t, "GET", "/users?pagination=keyset&sort=asc&order_by="+order, nil).
			Want(t, 405, `{"error":"Keyset pagination is not yet available for this type of request"}`)
	}
	// Strangers, who may look a username up, may do so this way, too.
	if got := usernames(t, w.client.Do(t, "GET", "/users?pagination=keyset&order_by=username&sort=asc&username=u3", nil)); got != "u3" {
		t.Errorf("strangers see %q", got)
	}
}

func TestAKeysetPageHasTwentyAccountsUnlessMoreAreAskedFor(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	if _, err := w.db.Exec(t.Context(), `
		insert into users (username, name, email, projects_limit, created_at, updated_at)
		select 'n' || n, 'N', 'n' || n || '@example.com', 1, now(), now() from generate_series(1, 110) n`); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]int{"": 20, "&per_page=3": 3, "&per_page=100": 100, "&per_page=101": 100} {
		reply := w.as(w.root).Do(t, "GET", "/users?pagination=keyset&order_by=id&sort=asc"+query, nil)
		if got := len(strings.Fields(usernames(t, reply))); got != want || !strings.Contains(reply.Header.Get("Link"), `rel="next"`) {
			t.Errorf("%q: %d accounts, Link %s", query, got, reply.Header.Get("Link"))
		}
	}
	reply := w.as(w.root).Do(t, "GET", "/users?pagination=keyset&order_by=id&sort=asc&username=nobody", nil)
	if reply.Want(t, 200, "[]"); reply.Header.Get("Link") != "" {
		t.Errorf("nothing to see, and Link is %s", reply.Header.Get("Link"))
	}
}

func TestTheListStillTurnsPagesByOffsetAndSaysThatThisEnds(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for range 4 {
		usertest.New(t, w.db)
	}
	reply := w.as(w.root).Do(t, "GET", "/users?per_page=2&page=2", nil).WantStatus(t, 200)
	for name, want := range map[string]string{"X-Total": "5", "X-Page": "2", "X-Next-Page": "3", "X-Prev-Page": "1"} {
		if got := reply.Header.Get(name); got != want {
			t.Errorf("%s: got %q, want %s", name, got, want)
		}
	}
	for _, e := range w.users.Endpoints() {
		if e.Route == "GET /users" && !strings.Contains(e.Note, "deprecated") {
			t.Errorf("its note is %q", e.Note)
		}
	}
}

func TestCustomAttributesNarrowTheListAndAreShownWhenAskedFor(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ann, bob := usertest.New(t, w.db, usertest.Named("ann")), usertest.New(t, w.db, usertest.Named("bob"))
	for _, a := range []struct {
		id         int64
		key, value string
	}{{ann.ID, "team", "red"}, {ann.ID, "floor", "3"}, {bob.ID, "team", "blue"}, {bob.ID, "floor", "3"}} {
		if err := w.users.Attributes().Set(t.Context(), access.Actor{Person: w.root.Person()}, a.id, a.key, a.value); err != nil {
			t.Fatal(err)
		}
	}
	for query, want := range map[string]string{
		"custom_attributes[team]=red":                             "ann",
		"custom_attributes[floor]=3":                              "bob ann",
		"custom_attributes[floor]=3&custom_attributes[team]=blue": "bob",
		"custom_attributes[team]=green":                           "",
	} {
		if got := usernames(t, w.as(w.root).Do(t, "GET", "/users?"+query, nil)); got != want {
			t.Errorf("%s: got %q, want %q", query, got, want)
		}
	}
	const shown = `"custom_attributes":[{"key":"floor","value":"3"},{"key":"team","value":"red"}]`
	for _, path := range []string{"/users?username=ann", fmt.Sprintf("/users/%d?", ann.ID)} {
		for query, want := range map[string]bool{"&with_custom_attributes=true": true, "&with_custom_attributes=false": false, "": false} {
			if body := w.as(w.root).Do(t, "GET", path+query, nil).Body; strings.Contains(body, shown) != want {
				t.Errorf("%s%s: %s", path, query, body)
			}
			if body := w.as(ann).Do(t, "GET", path+query, nil).Body; strings.Contains(body, "custom_attributes") {
				t.Errorf("%s%s for anyone: %s", path, query, body)
			}
		}
	}
}

func TestAUserIsModified(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ann := usertest.New(t, w.db, usertest.Named("ann"))
	usertest.New(t, w.db, usertest.Named("bob"))
	path := fmt.Sprintf("/users/%d", ann.ID)
	var got map[string]any
	w.as(w.root).Do(t, "PUT", path, map[string]any{"name": "Ann B.", "username": "annb", "admin": true, "bio": nil, "commit_email": "_private"}).
		WantStatus(t, 200).Decode(t, &got)
	if got["name"] != "Ann B." || got["username"] != "annb" || got["is_admin"] != true ||
		got["commit_email"] != fmt.Sprintf("%d-annb@users.noreply.forge.example", ann.ID) {
		t.Errorf("got %v", got)
	}
	if types := strings.Join(w.audited(t, ann.ID), " "); types != "user_username_updated user_admin_status_updated" {
		t.Errorf("audited %s", types)
	}
	missing := `{"message":"404 User Not Found"}`
	w.as(w.root).Do(t, "PUT", path, map[string]any{"username": "BOB"}).Want(t, 404, missing)
	w.as(w.root).Do(t, "PUT", path, map[string]any{"email": "bob@example.com"}).Want(t, 404, missing)
	w.as(w.root).Do(t, "PUT", path, map[string]any{"bio": strings.Repeat("x", 256)}).WantStatus(t, 400)
	w.as(w.root).Do(t, "PUT", path, map[string]any{"public_email": "who@example.com"}).
		Want(t, 400, `{"message":{"public_email":["must be an email you have verified"]}}`)
}

func TestThePrimaryAddressChangesToASecondaryOneOnly(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ann := usertest.New(t, w.db, usertest.Named("ann"))
	path := fmt.Sprintf("/users/%d", ann.ID)
	put := func(body map[string]any) *httpapitest.Reply { return w.as(w.root).Do(t, "PUT", path, body) }
	put(map[string]any{"email": "new@example.com"}).Want(t, 400, `{"message":{"email":["must be one of the user's secondary email addresses"]}}`)

	w.as(w.root).Do(t, "POST", path+"/emails", map[string]any{"email": "second@example.com"}).WantStatus(t, 201)
	var got struct{ Email string }
	put(map[string]any{"email": "second@example.com"}).WantStatus(t, 200).Decode(t, &got)
	if got.Email != "ann@example.com" {
		t.Errorf("an unconfirmed address became the primary one: %s", got.Email)
	}
	put(map[string]any{"email": "second@example.com", "skip_reconfirmation": true}).WantStatus(t, 200).Decode(t, &got)
	if got.Email != "second@example.com" {
		t.Errorf("got %s", got.Email)
	}
	if body := w.as(w.root).Do(t, "GET", path+"/emails", nil).Body; !strings.Contains(body, `"email":"ann@example.com"`) {
		t.Errorf("the old address is lost: %s", body)
	}
	if types := strings.Join(w.audited(t, ann.ID), " "); !strings.Contains(types, "user_email_address_updated") {
		t.Errorf("audited %s", types)
	}
}

func TestAPasswordThatSomeoneElseChoseMustBeChanged(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ann := usertest.New(t, w.db)
	w.as(w.root).Do(t, "PUT", fmt.Sprintf("/users/%d", ann.ID), map[string]any{"password": "correct horse 1"}).WantStatus(t, 200)
	w.as(w.root).Do(t, "PUT", fmt.Sprintf("/users/%d", w.root.ID), map[string]any{"password": "correct horse 1"}).WantStatus(t, 200)
	w.as(w.root).Do(t, "PUT", fmt.Sprintf("/users/%d", ann.ID), map[string]any{"password": strings.Repeat("h0rse ", 30)}).
		Want(t, 400, `{"message":{"password":["is too long (maximum is 128 characters)"]}}`)
	for id, want := range map[int64]bool{ann.ID: true, w.root.ID: false} {
		expired, err := postgres.Value[bool](t.Context(), w.db, `select password_expires_at is not null from users where id = $1 and password_hash is not null`, id)
		if err != nil || expired != want {
			t.Errorf("user %d: expired %v, %v", id, expired, err)
		}
	}
}

func TestStatesAreMovedOverTheAPI(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ann := usertest.New(t, w.db)
	pending := usertest.New(t, w.db, usertest.In(user.Pending))
	post := func(id int64, verb string) *httpapitest.Reply {
		return w.as(w.root).Do(t, "POST", fmt.Sprintf("/users/%d/%s", id, verb), nil)
	}
	post(ann.ID, "block").Want(t, 201, `true`)
	post(ann.ID, "block").Want(t, 201, `null`)
	post(ann.ID, "deactivate").Want(t, 403, `{"message":"Error occurred. A blocked user cannot be deactivated"}`)
	post(ann.ID, "activate").Want(t, 403, `{"message":"Error occurred. A blocked user must be unblocked to be activated"}`)
	post(ann.ID, "ban").Want(t, 403, `{"message":"You cannot ban blocked users."}`)
	post(ann.ID, "unblock").Want(t, 201, `true`)
	post(ann.ID, "unblock").Want(t, 201, `false`)
	post(ann.ID, "ban").Want(t, 201, `true`)
	post(ann.ID, "unban").Want(t, 201, `true`)
	post(ann.ID, "unban").Want(t, 403, `{"message":"You cannot unban active users."}`)
	post(ann.ID, "deactivate").Want(t, 201, `true`)
	post(ann.ID, "deactivate").Want(t, 201, `null`)
	post(ann.ID, "unblock").Want(t, 403, `{"message":"403 Forbidden - Deactivated users cannot be unblocked by the API"}`)
	post(ann.ID, "activate").Want(t, 201, `true`)
	post(w.root.ID, "block").Want(t, 403, `{"message":"403 Forbidden - The API initiating user cannot be blocked by the API"}`)
	post(ann.ID, "approve").Want(t, 409, `{"message":"The user you are trying to approve is not pending approval"}`)
	post(ann.ID, "reject").Want(t, 409, `{"message":"User does not have a pending request"}`)
	post(pending.ID, "approve").Want(t, 201, `{"message":"Success"}`)
	post(999999, "block").Want(t, 404, `{"message":"404 User Not Found"}`)
	w.as(ann).Do(t, "POST", fmt.Sprintf("/users/%d/block", pending.ID), nil).Want(t, 403, `{"message":"403 Forbidden"}`)
	w.as(ann).Do(t, "POST", fmt.Sprintf("/users/%d/approve", pending.ID), nil).Want(t, 403, `{"message":"You are not allowed to approve a user"}`)
	w.client.Do(t, "POST", fmt.Sprintf("/users/%d/block", ann.ID), nil).Want(t, 401, `{"message":"401 Unauthorized"}`)
	want := "user_blocked unblock_user ban_user unban_user user_deactivate user_activate"
	if got := strings.Join(w.audited(t, ann.ID), " "); got != want {
		t.Errorf("audited %q, want %q", got, want)
	}
}

func TestTheSecondFactorIsTakenOff(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ann := usertest.New(t, w.db, usertest.With("two_factor_enabled", true))
	path := fmt.Sprintf("/users/%d/disable_two_factor", ann.ID)
	w.as(ann).Do(t, "PATCH", path, nil).Want(t, 403, `{"message":"403 Forbidden"}`)
	w.as(w.root).Do(t, "PATCH", path, nil).Want(t, 204, "")
	w.as(w.root).Do(t, "PATCH", path, nil).Want(t, 400, `{"message":"400 Bad request - Two-factor authentication is not enabled for this user"}`)
	other := usertest.New(t, w.db, usertest.Admin(), usertest.With("two_factor_enabled", true))
	for _, admin := range []*user.User{w.root, other} {
		w.as(w.root).Do(t, "PATCH", fmt.Sprintf("/users/%d/disable_two_factor", admin.ID), nil).
			Want(t, 403, `{"message":"403 Forbidden - Two-factor authentication for admins cannot be disabled via the API"}`)
	}
	w.as(w.root).Do(t, "PATCH", "/users/999999/disable_two_factor", nil).Want(t, 404, `{"message":"404 User Not Found"}`)
	w.client.Do(t, "PATCH", path, nil).Want(t, 401, `{"message":"401 Unauthorized"}`)
}

func TestADeletedUserIsGoneAtOnceAndTakenApartLater(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ann, bob := usertest.New(t, w.db, usertest.Named("ann")), usertest.New(t, w.db)
	path := fmt.Sprintf("/users/%d", ann.ID)
	w.as(bob).Do(t, "DELETE", path, nil).Want(t, 403, `{"message":"403 Forbidden"}`)
	w.as(w.root).With("If-Unmodified-Since", "Mon, 01 Jan 2001 00:00:00 GMT").Do(t, "DELETE", path, nil).
		Want(t, 412, `{"message":"412 Precondition Failed"}`)
	w.as(w.root).With("If-Unmodified-Since", "yesterday").Do(t, "DELETE", path, nil).Want(t, 204, "")
	w.as(w.root).Do(t, "GET", path, nil).WantStatus(t, 404)
	w.as(w.root).Do(t, "DELETE", path, nil).Want(t, 404, `{"message":"404 User Not Found"}`)

	if err := w.queue.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.queue.Stop(t.Context()) })
	eventually(t, func() bool {
		gone, err := postgres.Value[bool](t.Context(), w.db, `select not exists (select 1 from users where id = $1) and not exists (select 1 from email_claims where user_id = $1)`, ann.ID)
		return err == nil && gone
	})
	w.as(w.root).Do(t, "POST", "/users", map[string]any{"email": "ann@example.com", "username": "ann", "name": "Ann", "force_random_password": true}).
		WantStatus(t, 201)
	var ghosts []struct {
		ID  int64
		Bot bool
	}
	w.as(w.root).Do(t, "GET", "/users?username=ghost", nil).Decode(t, &ghosts)
	if len(ghosts) != 1 || ghosts[0].Bot {
		t.Fatalf("got %+v", ghosts)
	}
	w.as(w.root).Do(t, "DELETE", fmt.Sprintf("/users/%d", ghosts[0].ID), nil).WantStatus(t, 403)
	w.as(w.root).Do(t, "POST", fmt.Sprintf("/users/%d/block", ghosts[0].ID), nil).Want(t, 403, `{"message":"An internal user cannot be blocked"}`)
	w.as(w.root).Do(t, "POST", fmt.Sprintf("/users/%d/ban", ghosts[0].ID), nil).Want(t, 403, `{"message":"An internal user cannot be banned"}`)
	w.as(w.root).Do(t, "PUT", fmt.Sprintf("/users/%d", ghosts[0].ID), map[string]any{"name": "x"}).WantStatus(t, 403)
}

func TestAHardDeletionIsMarkedAsSuch(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for query, want := range map[string]string{"": "soft", "?hard_delete=false": "soft", "?hard_delete=true": "hard"} {
		u := usertest.New(t, w.db)
		w.as(w.root).Do(t, "DELETE", fmt.Sprintf("/users/%d%s", u.ID, query), nil).Want(t, 204, "")
		if got, err := postgres.Value[string](t.Context(), w.db, `select removal from users where id = $1`, u.ID); err != nil || got != want {
			t.Errorf("%q: %s, %v", query, got, err)
		}
	}
}

// eventually waits for what another goroutine is about to do.
func eventually(t *testing.T, ok func() bool) {
	t.Helper()
	tick, deadline := time.NewTicker(20*time.Millisecond), time.After(20*time.Second)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("it never came to pass")
		}
	}
}

func TestIdentitiesAreUnlinked(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ann := usertest.New(t, w.db)
	path := fmt.Sprintf("/users/%d", ann.ID)
	w.as(w.root).Do(t, "PUT", path, map[string]any{"provider": "saml", "extern_uid": "1"}).WantStatus(t, 200)
	body := w.as(w.root).Do(t, "PUT", path, map[string]any{"provider": "saml", "extern_uid": "2"}).WantStatus(t, 200).Body
	if want := `"identities":[{"provider":"saml","extern_uid":"2","saml_provider_id":null}]`; !strings.Contains(body, want) {
		t.Errorf("got %s, want %s", body, want)
	}
	if got := usernames(t, w.as(w.root).Do(t, "GET", "/users?provider=saml&extern_uid=2", nil)); got != ann.Username {
		t.Errorf("found %q", got)
	}
	w.as(w.root).Do(t, "PUT", fmt.Sprintf("/users/%d", w.root.ID), map[string]any{"provider": "saml", "extern_uid": "2"}).
		Want(t, 400, `{"message":{"identities.extern_uid":["has already been taken"]}}`)
	w.as(w.root).Do(t, "DELETE", path+"/identities/saml", nil).Want(t, 204, "")
	w.as(w.root).Do(t, "DELETE", path+"/identities/saml", nil).Want(t, 404, `{"message":"404 Identity Not Found"}`)
	w.as(w.root).Do(t, "DELETE", "/users/999999/identities/saml", nil).Want(t, 404, `{"message":"404 User Not Found"}`)
}

func TestActivitiesAreListedOldestFirst(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	today := time.Now().UTC().Truncate(24 * time.Hour)
	usertest.New(t, w.db, usertest.Named("recent"), usertest.With("last_activity_on", today))
	usertest.New(t, w.db, usertest.Named("lately"), usertest.With("last_activity_on", today.AddDate(0, -1, 0)))
	ann := usertest.New(t, w.db, usertest.Named("longago"), usertest.With("last_activity_on", today.AddDate(-1, 0, 0)))
	if got := usernames(t, w.as(w.root).Do(t, "GET", "/user/activities", nil)); got != "lately recent" {
		t.Errorf("got %q", got)
	}
	if got := usernames(t, w.as(w.root).Do(t, "GET", "/user/activities?from=2000-01-01", nil)); got != "longago lately recent" {
		t.Errorf("got %q", got)
	}
	body := w.as(w.root).Do(t, "GET", "/user/activities?from="+today.Format(time.DateOnly), nil).Body
	if want := fmt.Sprintf(`[{"username":"recent","last_activity_on":"%[1]s","last_activity_at":"%[1]s"}]`, today.Format(time.DateOnly)); body != want {
		t.Errorf("got %s, want %s", body, want)
	}
	w.as(ann).Do(t, "GET", "/user/activities", nil).Want(t, 403, `{"message":"403 Forbidden"}`)
	w.client.Do(t, "GET", "/user/activities", nil).WantStatus(t, 401)
}

// PE-03's rule for accounts: only administrators reach the fields that matter.
func TestAMemberCannotRaiseThemselves(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ann := usertest.New(t, w.db)
	w.as(ann).Do(t, "PUT", fmt.Sprintf("/users/%d", ann.ID), map[string]any{"admin": true}).Want(t, 403, `{"message":"403 Forbidden"}`)
	w.as(ann).Do(t, "PUT", "/user/preferences", map[string]any{"show_whitespace_in_diffs": true, "admin": true}).WantStatus(t, 200)
	u, err := w.users.Find(t.Context(), ann.ID)
	if err != nil || u.Admin {
		t.Errorf("got %v, %v", u.Admin, err)
	}
}

func TestARemovalThatWasInterruptedIsFinished(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ann := usertest.New(t, w.db)
	if err := w.users.Remove(t.Context(), access.Actor{Person: w.root.Person()}, ann.ID, true); err != nil {
		t.Fatal(err)
	}
	for range 2 { // a job may run any number of times
		if err := user.RemoveMarked(w.users, t.Context(), ann.ID); err != nil {
			t.Fatal(err)
		}
	}
}
