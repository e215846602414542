package user_test

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/platform/postgres"
	"stithy/internal/setting"
	"stithy/internal/user/usertest"
)

type object = map[string]any

// newcomer is a complete request for an account, with some changes.
func newcomer(username string, changes object) object {
	body := object{"email": username + "@example.com", "username": username, "name": "New", "force_random_password": true}
	maps.Copy(body, changes)
	return body
}

// Every field of POST and PUT /users, by the name under which it is shown.
func TestEveryFieldIsSetAtCreationAndChangedLater(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	fields := []struct {
		param, shown string
		first, later any
	}{
		{"admin", "is_admin", true, false},
		{"auditor", "is_auditor", true, false},
		{"bio", "bio", "Smith", "Founder"},
		{"can_create_group", "can_create_group", false, true},
		{"color_scheme_id", "color_scheme_id", 2.0, 6.0},
		{"commit_email", "commit_email", "new@example.com", ""}, // the private one, which holds the id
		{"discord", "discord", "d1", "d2"},
		{"external", "external", true, false},
		{"extra_shared_runners_minutes_limit", "extra_shared_runners_minutes_limit", 10.0, nil},
		{"job_title", "job_title", "Smith", "Master"},
		{"linkedin", "linkedin", "l1", "l2"},
		{"location", "location", "Here", "There"},
		{"note", "note", "n1", "n2"},
		{"organization", "organization", "o1", "o2"},
		{"private_profile", "private_profile", true, false},
		{"projects_limit", "projects_limit", 7.0, 0.0},
		{"pronouns", "pronouns", "p1", "p2"},
		{"public_email", "public_email", "new@example.com", ""},
		{"shared_runners_minutes_limit", "shared_runners_minutes_limit", 0.0, nil}, // unlimited, inherited
		{"skype", "skype", "s1", "s2"},
		{"theme_id", "theme_id", 3.0, 10.0},
		{"twitter", "twitter", "t1", "t2"},
		{"website_url", "website_url", "https://a.example", "http://b.example"},
		{"name", "name", "New", "Newer"},
		{"username", "username", "new", "newer"},
	}
	create, change := newcomer("new", object{"skip_confirmation": true, "view_diffs_file_by_file": true, "group_id_for_saml": 5}), object{"view_diffs_file_by_file": false}
	for _, f := range fields {
		create[f.param], change[f.param] = f.first, f.later
	}
	change["commit_email"] = "_private"
	got := httpapitest.JSON[object](t, w.as(w.root).Do(t, "POST", "/users", create).WantStatus(t, 201))
	for _, f := range fields {
		if got[f.shown] != f.first {
			t.Errorf("%s is %v at creation, want %v", f.shown, got[f.shown], f.first)
		}
	}
	byFile := func() (on bool) {
		on, err := postgres.Value[bool](t.Context(), w.db, `select view_diffs_file_by_file from users where id = $1`, int64(got["id"].(float64)))
		if err != nil {
			t.Fatal(err)
		}
		return on
	}
	if !byFile() {
		t.Error("view_diffs_file_by_file is off at creation")
	}
	path := fmt.Sprintf("/users/%v", got["id"])
	w.as(w.root).Do(t, "PUT", path, object{}).WantStatus(t, 200) // all of them may be left out
	for _, f := range fields {
		if still := httpapitest.JSON[object](t, w.as(w.root).Do(t, "GET", path, nil)); still[f.shown] != f.first {
			t.Fatalf("%s is %v after a change of nothing, want %v", f.shown, still[f.shown], f.first)
		}
	}
	got = httpapitest.JSON[object](t, w.as(w.root).Do(t, "PUT", path, change).WantStatus(t, 200))
	for _, f := range fields {
		if f.param == "commit_email" {
			f.later = fmt.Sprintf("%v-newer@users.noreply.forge.example", got["id"])
		}
		if got[f.shown] != f.later {
			t.Errorf("%s is %v later, want %v", f.shown, got[f.shown], f.later)
		}
	}
	if byFile() {
		t.Error("view_diffs_file_by_file is still on")
	}
}

func TestANewAccountHasTheDefaultsOfTheInstance(t *testing.T) {
	t.Parallel()
	b := newTopicFixture(t)
	create := func(username string, changes object) object {
		return httpapitest.JSON[object](t, b.as(b.root).Do(t, "POST", "/users", newcomer(username, changes)).WantStatus(t, 201))
	}
	want := object{
		"is_admin": false, "external": false, "bio": "", "private_profile": false, "confirmed_at": nil, "state": "active", "locked": false,
		"bot": false, "note": "", "identities": []any{}, "two_factor_enabled": false, "avatar_url": nil, "location": nil,
		"work_information": nil, "followers": 0.0, "last_activity_on": nil, "last_sign_in_at": nil, "current_sign_in_at": nil,
		"projects_limit": 100000.0, "can_create_group": true, "can_create_project": true, "email_reset_offered_at": nil, "local_time": b.now.UTC().Format("3:04 PM"),
	}
	got := create("plain", nil)
	for name, value := range want {
		if diff := cmp.Diff(value, got[name]); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if by, _ := got["created_by"].(object); by["username"] != "root" {
		t.Errorf("created by %v", got["created_by"])
	}
	if alone := httpapitest.JSON[object](t, b.as(b.root).Do(t, "GET", path("users", b.ada), nil)); alone["created_by"] != nil {
		t.Errorf("who was made by nobody is created by %v", alone["created_by"])
	}
	if err := b.settings.Update(t.Context(), actor(b.root), func(s *setting.Settings) { s.UserDefaultsToPrivateProfile = true }); err != nil {
		t.Fatal(err)
	}
	// null stands for the default; from version 5 of the API it is refused.
	for username, given := range map[string]object{"absent": nil, "null": {"private_profile": nil}} {
		if got := create(username, given); got["private_profile"] != true {
			t.Errorf("%s: private_profile is %v", username, got["private_profile"])
		}
	}
	if got := create("given", object{"private_profile": false}); got["private_profile"] != false {
		t.Errorf("given: private_profile is %v", got["private_profile"])
	}
	b.as(b.root).Do(t, "PUT", path("users", b.ada), object{"private_profile": nil}).WantStatus(t, 200)
	if !b.reload(t, b.ada).PrivateProfile {
		t.Error("null does not bring the default back")
	}
}

func TestAPictureMayComeWithANewAccount(t *testing.T) {
	t.Parallel()
	b := newTopicFixture(t)
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for name, value := range newcomer("new", nil) {
		if err := w.WriteField(name, fmt.Sprint(value)); err != nil {
			t.Fatal(err)
		}
	}
	part, err := w.CreateFormFile("avatar", "me.png")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = part.Write(pngBytes(t))
	_ = w.Close()
	reply := b.as(b.root).With("Content-Type", w.FormDataContentType()).Do(t, "POST", "/users", io.Reader(&body)).WantStatus(t, 201)
	if url, _ := httpapitest.JSON[object](t, reply)["avatar_url"].(string); !strings.HasSuffix(url, "/me.png") {
		t.Errorf("got %s", reply.Body)
	}
}

// AU-11: an account that signs in elsewhere, or that asks for a password of its own, has none before that.
func TestAU11_WhoWasGivenNoPasswordHasNone(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for username, c := range map[string]struct {
		given object
		hash  bool
	}{
		"random":        {object{}, false},
		"reset":         {object{"force_random_password": false, "reset_password": true}, false},
		"both":          {object{"reset_password": true}, false},
		"elsewhere":     {object{"provider": "saml", "extern_uid": "1"}, false},
		"overridden":    {object{"password": "correct horse 1"}, false},
		"weak-but-moot": {object{"password": "password"}, false},
		"chosen":        {object{"force_random_password": false, "password": "correct horse 1"}, true},
	} {
		w.as(w.root).Do(t, "POST", "/users", newcomer(username, c.given)).WantStatus(t, 201)
		has, err := postgres.Value[bool](t.Context(), w.db, `select password_hash is not null from users where username = $1`, username)
		if err != nil || has != c.hash {
			t.Errorf("%s: has a password: %v, %v", username, has, err)
		}
	}
	w.as(w.root).Do(t, "POST", "/users", newcomer("none", object{"force_random_password": false, "reset_password": false})).WantStatus(t, 400)
}

// What is marked premium exists from that tier on.
func TestTheFreeTierHasNoPaidFields(t *testing.T) {
	t.Parallel()
	paid, free := newFixture(t), newTopicFixture(t) // of which one is paid for
	names := []string{"shared_runners_minutes_limit", "extra_shared_runners_minutes_limit", "is_auditor", "using_license_seat",
		"provisioned_by_group_id", "scim_identities", "plan", "trial"}
	given := object{"auditor": true, "shared_runners_minutes_limit": 5, "extra_shared_runners_minutes_limit": 6}
	for _, c := range []struct {
		client *httpapitest.Client
		want   bool
	}{{paid.as(paid.root), true}, {free.as(free.root), false}} {
		shown := httpapitest.JSON[object](t, c.client.Do(t, "POST", "/users", newcomer("auditor", given)).WantStatus(t, 201))
		for _, name := range names {
			if _, ok := shown[name]; ok != c.want {
				t.Errorf("%s is shown: %v, want %v", name, ok, c.want)
			}
		}
	}
	set, err := postgres.Value[bool](t.Context(), free.db, `
		select auditor or shared_runners_minutes_limit is not null or extra_shared_runners_minutes_limit is not null
		from users where username = 'auditor'`)
	if err != nil || set {
		t.Errorf("a paid field was set: %v, %v", set, err)
	}
	usertest.New(t, free.db, usertest.Named("seer"), usertest.With("auditor", true))
	for _, query := range []string{"auditors=true", "saml_provider_id=7", "skip_ldap=true"} {
		if got := usernames(t, free.as(free.root).Do(t, "GET", "/users?"+query, nil)); len(strings.Fields(got)) != 5 {
			t.Errorf("%s narrows the list to %q", query, got)
		}
	}
}

func TestAnAdministratorSeesWhereFromPeopleSignedIn(t *testing.T) {
	t.Parallel()
	b := newTopicFixture(t)
	usertest.New(t, b.db, usertest.Named("seen"), usertest.With("current_sign_in_ip", "192.0.2.1"), usertest.With("last_sign_in_ip", "192.0.2.2"),
		usertest.With("sign_in_count", 9))
	const shown = `"current_sign_in_ip":"192.0.2.1","last_sign_in_ip":"192.0.2.2","sign_in_count":9`
	if body := b.as(b.root).Do(t, "GET", "/users?username=seen", nil).Body; !strings.Contains(body, shown) {
		t.Errorf("the list lacks it: %s", body)
	}
	if body := b.as(b.bob).Do(t, "GET", "/users?username=seen", nil).Body; strings.Contains(body, "sign_in") {
		t.Errorf("anyone sees it: %s", body)
	}
}

func TestAnAccountWithoutRightsOfAnAdministratorHasThePublicFormInLists(t *testing.T) {
	t.Parallel()
	b := newTopicFixture(t)
	usertest.New(t, b.db, usertest.Named("locked"), usertest.With("locked_at", "2024-01-01"), usertest.With("avatar", "me.png"))
	reply := b.as(b.bob).Do(t, "GET", "/users?username=locked", nil).WantStatus(t, http.StatusOK)
	id := httpapitest.JSON[[]withID](t, reply)[0].ID
	reply.Want(t, http.StatusOK, fmt.Sprintf(`[{"id":%d,"username":"locked","name":"Locked","state":"active","locked":true,`+
		`"avatar_url":"https://forge.example/uploads/-/system/user/avatar/%d/me.png","web_url":"https://forge.example/locked"}]`, id, id))
}
