package token_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"stithy/internal/core"
	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/secretbox"
	"stithy/internal/setting"
	"stithy/internal/token"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
)

type h = map[string]any

func (w *fixture) create(t testing.TB, c *httpapitest.Client, userID int64, body h) made {
	t.Helper()
	return httpapitest.JSON[made](t, c.Do(t, http.MethodPost, "/users/"+id(userID)+"/personal_access_tokens", body).WantStatus(t, http.StatusCreated))
}

func TestAnAdministratorCreatesATokenForSomeone(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	root := w.as(t, w.root)
	path := "/users/" + id(w.ada.ID) + "/personal_access_tokens"
	reply := root.Do(t, http.MethodPost, path, h{"name": "ci", "scopes": []string{"read_api", "api", "api"}, "expires_at": "2024-06-01"})
	got := httpapitest.JSON[made](t, reply.WantStatus(t, http.StatusCreated))
	reply.Want(t, http.StatusCreated, fmt.Sprintf(`{"id":%d,"name":"ci","revoked":false,"created_at":"2024-05-02T15:04:05.678Z",`+
		`"scopes":["read_api","api"],"user_id":%d,"last_used_at":null,"active":true,"expires_at":"2024-06-01","token":"%s"}`, got.ID, w.ada.ID, got.Token))
	if !regexp.MustCompile(`^svcpat-[A-Za-z0-9_-]{20}$`).MatchString(got.Token) {
		t.Errorf("token %s", got.Token)
	}
	wantIn(t, w.with(got.Token).Do(t, http.MethodPost, "/probe", nil), w.ada)
	want := bus.AuditRecord{
		Type: "personal_access_token_created", Entity: bus.Entity{Kind: bus.OfUser, ID: w.ada.ID, Path: "Ada", Name: w.ada.Name},
		Target:  bus.Target{Type: "PersonalAccessToken", ID: got.ID, Details: "ci"},
		Message: fmt.Sprintf("Created personal access token with id %d", got.ID),
	}
	records := w.taken()
	if len(records) != 1 || records[0].By.ID() != w.root.ID {
		t.Fatalf("%+v", records)
	}
	records[0].By = access.Actor{}
	if !reflect.DeepEqual(records[0], want) {
		t.Errorf("%+v", records[0])
	}

	for name, c := range map[string]struct {
		body any
		want string
	}{
		"comma list":      {h{"name": "a", "scopes": "api, read_user"}, `"scopes":["api","read_user"]`},
		"form":            {url.Values{"name": {"a"}, "scopes[]": {"api", "read_user"}}, `"scopes":["api","read_user"]`},
		"as late as can":  {h{"name": "a", "scopes": []string{"api"}}, `"expires_at":"2025-05-02"`},
		"null is absent":  {h{"name": "a", "scopes": []string{"api"}, "expires_at": nil}, `"expires_at":"2025-05-02"`},
		"the last day":    {h{"name": "a", "scopes": []string{"api"}, "expires_at": "2025-05-02"}, `"active":true,"expires_at":"2025-05-02"`},
		"a past day":      {h{"name": "a", "scopes": []string{"api"}, "expires_at": "2020-01-01"}, `"active":false,"expires_at":"2020-01-01"`},
		"dated today":     {h{"name": "a", "scopes": []string{"api"}, "expires_at": "2024-05-02"}, `"active":false,"expires_at":"2024-05-02"`},
		"dated tomorrow":  {h{"name": "a", "scopes": []string{"api"}, "expires_at": "2024-05-03"}, `"active":true,"expires_at":"2024-05-03"`},
		"255 characters":  {h{"name": strings.Repeat("é", 255), "scopes": []string{"api"}}, `"active":true`},
		"a moment's date": {h{"name": "a", "scopes": []string{"api"}, "expires_at": "2024-05-03T23:59:59+02:00"}, `"expires_at":"2024-05-03"`},
	} {
		t.Run(name, func(t *testing.T) {
			if reply := root.Do(t, http.MethodPost, path, c.body); reply.Status != http.StatusCreated || !strings.Contains(reply.Body, c.want) {
				t.Errorf("%d %s", reply.Status, reply.Body)
			}
		})
	}
}

func TestCreationIsRefusedInOrder(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	root, ada := w.as(t, w.root, access.ScopeAPI, access.ScopeSudo), w.as(t, w.ada)
	blocked, pending := usertest.New(t, w.db, usertest.In(user.Blocked)), usertest.New(t, w.db, usertest.In(user.Pending))
	ghost := usertest.New(t, w.db, usertest.With("kind", "ghost"))
	gone := usertest.New(t, w.db, usertest.With("removal", "soft"))
	good := h{"name": "a", "scopes": []string{"api"}}
	for name, c := range map[string]struct {
		client *httpapitest.Client
		userID int64
		body   h
		status int
		want   string
	}{
		"anonymous":                {w.Client, w.ada.ID, h{}, 401, unauthorized},
		"anonymous, all good":      {w.Client, w.ada.ID, good, 401, unauthorized},
		"no admin, bad parameters": {ada, w.ada.ID, h{}, 400, `{"error":"name is missing, scopes is missing"}`},
		"no admin":                 {ada, w.ada.ID, good, 403, forbidden},
		"no admin, unknown person": {ada, 99999, good, 403, forbidden},
		"no admin, no scope":       {w.as(t, w.ada, access.ScopeReadUser), w.ada.ID, good, 403, tooSmall("read_user api read_api")},
		"missing name":             {root, w.ada.ID, h{"scopes": []string{"api"}}, 400, `{"error":"name is missing"}`},
		"unknown scope":            {root, w.ada.ID, h{"name": "a", "scopes": []string{"api", "all"}}, 400, `{"error":"scopes does not have a valid value"}`},
		"scope of applications":    {root, w.ada.ID, h{"name": "a", "scopes": []string{"openid"}}, 400, `{"error":"scopes does not have a valid value"}`},
		"no date":                  {root, w.ada.ID, h{"name": "a", "scopes": []string{"api"}, "expires_at": "soon"}, 400, `{"error":"expires_at is invalid"}`},
		"unknown person":           {root, 99999, good, 404, `{"message":"404 User Not Found"}`},
		"removed person":           {root, gone.ID, good, 404, `{"message":"404 User Not Found"}`},
		"no scopes":                {root, w.ada.ID, h{"name": "a", "scopes": []string{}}, 422, `{"message":"Scopes can't be blank"}`},
		"blank name":               {root, w.ada.ID, h{"name": " ", "scopes": []string{"api"}}, 422, `{"message":"Name can't be blank"}`},
		"blank name and no scopes": {root, w.ada.ID, h{"name": "", "scopes": ""}, 422, `{"message":"Name can't be blank and Scopes can't be blank"}`},
		"everything":               {root, w.ada.ID, h{"name": "", "scopes": "", "expires_at": "2030-01-01"}, 422, `{"message":"Name can't be blank, Scopes can't be blank, and Expires at must be before 2025-05-02"}`},
		"long name":                {root, w.ada.ID, h{"name": strings.Repeat("a", 256), "scopes": []string{"api"}}, 422, `{"message":"Name is too long (maximum is 255 characters)"}`},
		"too late":                 {root, w.ada.ID, h{"name": "a", "scopes": []string{"api"}, "expires_at": "2025-05-03"}, 422, `{"message":"Expires at must be before 2025-05-02"}`},
		"admin's scope on another": {root, w.ada.ID, h{"name": "a", "scopes": []string{"sudo"}}, 422, `{"message":"Scopes can only contain available scopes"}`},
		"blocked person":           {root, blocked.ID, good, 422, `{"message":"Not permitted to create"}`},
		"person who waits":         {root, pending.ID, good, 422, `{"message":"Not permitted to create"}`},
		"ghost":                    {root, ghost.ID, good, 422, `{"message":"Not permitted to create"}`},
	} {
		t.Run(name, func(t *testing.T) {
			c.client.Do(t, http.MethodPost, "/users/"+id(c.userID)+"/personal_access_tokens", c.body).Want(t, c.status, c.want)
		})
	}
	root.Do(t, http.MethodPost, "/users/ada/personal_access_tokens", good).Want(t, 404, `{"error":"404 Not Found"}`)
	if records := w.taken(); len(records) != 0 {
		t.Errorf("%+v", records)
	}
	w.set(t, func(s *setting.Settings) { s.MaxPersonalAccessTokenLifetime = new(30) })
	root.Do(t, http.MethodPost, "/users/"+id(w.ada.ID)+"/personal_access_tokens", h{"name": "a", "scopes": "api", "expires_at": "2024-06-02"}).
		Want(t, 422, `{"message":"Expires at must be before 2024-06-01"}`)
	if got := w.create(t, root, w.ada.ID, good); *got.ExpiresAt != "2024-06-01" {
		t.Errorf("%+v", got)
	}
}

func TestTheScopesOnOfferAreThoseOfAccess(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for _, e := range w.tokens.Endpoints() {
		for _, p := range e.Params {
			if e.Route == "POST /users/{user_id:digits}/personal_access_tokens" && p.Name == "scopes" {
				var want []string
				for _, s := range access.PersonalScopes(true) {
					want = append(want, string(s))
				}
				if diff := cmp.Diff(want, p.Enum); diff != "" {
					t.Error(diff)
				}
			}
		}
	}
}

func TestThePrefixFollowsTheSetting(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	root := w.as(t, w.root)
	old := w.create(t, root, w.ada.ID, h{"name": "a", "scopes": "api"})
	for _, prefix := range []string{"", "acme_"} {
		w.set(t, func(s *setting.Settings) { s.PersonalAccessTokenPrefix = prefix })
		got := w.create(t, root, w.ada.ID, h{"name": "a", "scopes": "api"})
		if !strings.HasPrefix(got.Token, prefix) || len(got.Token) != len(prefix)+20 {
			t.Errorf("%q: %s", prefix, got.Token)
		}
		wantIn(t, w.with(got.Token).Do(t, http.MethodGet, "/probe", nil), w.ada)
		wantIn(t, w.with(old.Token).Do(t, http.MethodGet, "/probe", nil), w.ada)
	}
}

func TestPeopleCreateTokensOfLimitedScope(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ada := w.as(t, w.ada)
	bot := usertest.New(t, w.db, usertest.With("kind", "project_bot"))
	const path = "/user/personal_access_tokens"
	got := httpapitest.JSON[made](t, ada.Do(t, http.MethodPost, path, h{"name": "k", "scopes": []string{"k8s_proxy"}}).WantStatus(t, 201))
	if *got.ExpiresAt != "2024-05-03" || !got.Active || got.UserID != w.ada.ID || got.Token == "" {
		t.Errorf("%+v", got)
	}
	for name, c := range map[string]struct {
		client *httpapitest.Client
		body   h
		status int
		want   string
	}{
		"anonymous":     {w.Client, h{}, 401, unauthorized},
		"other scope":   {ada, h{"name": "k", "scopes": []string{"k8s_proxy", "api"}}, 400, `{"error":"scopes does not have a valid value"}`},
		"nothing given": {ada, h{}, 400, `{"error":"name is missing, scopes is missing"}`},
		"no scope":      {ada, h{"name": "k", "scopes": []string{}}, 422, `{"message":"Scopes can't be blank"}`},
		"too late":      {ada, h{"name": "k", "scopes": "k8s_proxy", "expires_at": "2025-05-03"}, 422, `{"message":"Expires at must be before 2025-05-02"}`},
		"small token":   {w.as(t, w.ada, access.ScopeReadAPI), h{"name": "k", "scopes": "k8s_proxy"}, 403, tooSmall("read_user api read_api")},
		"bot":           {w.as(t, bot), h{"name": "k", "scopes": "k8s_proxy"}, 422, `{"message":"Not permitted to create"}`},
	} {
		t.Run(name, func(t *testing.T) { c.client.Do(t, http.MethodPost, path, c.body).Want(t, c.status, c.want) })
	}
}

func TestAHostedInstanceMakesNoTokensOfLimitedScope(t *testing.T) {
	t.Parallel()
	w := newFixture(t, func(d *core.Deps) { d.Instance.Hosted = true })
	for _, body := range []h{{}, {"name": "k", "scopes": "k8s_proxy"}} {
		w.as(t, w.ada).Do(t, http.MethodPost, "/user/personal_access_tokens", body).Want(t, 404, `{"message":"404 Not Found"}`)
	}
}

// Administrators issue tokens to others for as long as the settings allow:
// that is provisioning. What holds the maker's own power, on its own or on
// another administrator's account, ends with the maker at the latest. Rotation
// renews, by design, and revokes what it replaces.
func TestTK03_ATokenMakesNoStrongerOrLongerOne(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	other := usertest.New(t, w.db, usertest.Named("boss"), usertest.Admin())
	short := w.secret(t, w.root)
	w.ofSecret(t, short, "expires_at = '2024-05-09'")
	full := w.secret(t, w.root, access.ScopeAPI, access.ScopeSudo, access.ScopeAdminMode)
	oauth := strings.Repeat("0123456789abcdef", 4)
	stub(w, access.OAuthToken, oauth, w.root)
	cookie, csrf, err := w.tokens.StartSession(t.Context(), w.root.ID, address, "")
	if err != nil {
		t.Fatal(err)
	}
	browser := w.With("Cookie", "_svc_session="+cookie.Reveal()).With("X-Csrf-Token", csrf)
	app := w.With("Authorization", "Bearer "+oauth)

	for name, c := range map[string]struct {
		client *httpapitest.Client
		owner  *user.User
		body   h
		status int
		want   string // the day of expiry, where it is made
	}{
		"own, later":               {w.with(short), w.root, h{"expires_at": "2024-05-10"}, 422, `{"message":"Expires at must be before 2024-05-09"}`},
		"own, default":             {w.with(short), w.root, h{}, 201, "2024-05-09"},
		"other admin, later":       {w.with(short), other, h{"expires_at": "2024-05-10"}, 422, `{"message":"Expires at must be before 2024-05-09"}`},
		"other admin, default":     {w.with(short), other, h{}, 201, "2024-05-09"},
		"someone else's":           {w.with(short), w.ada, h{}, 201, "2025-05-02"},
		"own, of a long maker":     {w.with(full), w.root, h{}, 201, "2025-05-02"},
		"sudo by api":              {w.with(short), w.root, h{"scopes": "api,sudo"}, 403, tooSmall("sudo")},
		"admin_mode by api":        {w.with(short), other, h{"scopes": "admin_mode"}, 403, tooSmall("admin_mode")},
		"sudo by sudo":             {w.with(full), w.root, h{"scopes": "sudo,admin_mode"}, 201, "2025-05-02"},
		"sudo by session":          {browser, w.root, h{"scopes": "sudo"}, 201, "2025-05-02"},
		"own by application":       {app, w.root, h{}, 422, `{"message":"Not permitted to create"}`},
		"admin's by application":   {app, other, h{}, 422, `{"message":"Not permitted to create"}`},
		"someone's by application": {app, w.ada, h{}, 201, "2025-05-02"},
	} {
		t.Run(name, func(t *testing.T) {
			body := h{"name": "child", "scopes": "api"}
			for k, v := range c.body {
				body[k] = v
			}
			reply := c.client.Do(t, http.MethodPost, "/users/"+id(c.owner.ID)+"/personal_access_tokens", body)
			if c.status != 201 {
				reply.Want(t, c.status, c.want)
				return
			}
			if got := httpapitest.JSON[made](t, reply.WantStatus(t, 201)); *got.ExpiresAt != c.want {
				t.Errorf("expires %s", *got.ExpiresAt)
			}
		})
	}

	impersonate := func(owner *user.User, scopes, expires string) *httpapitest.Reply {
		return w.with(short).Do(t, http.MethodPost, "/users/"+id(owner.ID)+"/impersonation_tokens",
			h{"name": "i", "scopes": scopes, "expires_at": expires})
	}
	impersonate(other, "api", "2024-05-10").Want(t, 400, `{"message":{"expires_at":["must be before 2024-05-09"]}}`)
	impersonate(other, "api,sudo", "2024-05-09").Want(t, 403, tooSmall("sudo"))
	impersonate(w.ada, "api", "2024-12-01").WantStatus(t, 201)

	// Rotation does not hand out a stronger token than the one that asks.
	strong := w.secret(t, w.root, access.ScopeAPI, access.ScopeSudo)
	w.with(short).Do(t, http.MethodPost, "/personal_access_tokens/"+id(w.idOf(t, strong))+"/rotate", nil).Want(t, 403, tooSmall("sudo"))
	w.with(strong).Do(t, http.MethodGet, "/probe", nil).WantStatus(t, 200)
	got := httpapitest.JSON[made](t, w.with(strong).Do(t, http.MethodPost, "/personal_access_tokens/self/rotate", h{"scopes": "api,sudo,admin_mode"}).WantStatus(t, 200))
	if !slices.Equal(got.Scopes, []string{"api", "sudo"}) {
		t.Errorf("%+v", got)
	}
}

func TestTheShellCreatesTokensOfAnyScope(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	at := time.Date(2024, 6, 1, 17, 0, 0, 0, time.UTC)
	got, secret, err := w.tokens.Create(t.Context(), access.Actor{}, w.root.ID,
		token.Draft{Name: "shell", Scopes: access.Scopes{access.ScopeAPI, access.ScopeSudo}, ExpiresAt: &at})
	if err != nil {
		t.Fatal(err)
	}
	if got.ExpiresAt.Format(time.RFC3339) != "2024-06-01T00:00:00Z" {
		t.Errorf("%+v", got)
	}
	wantIn(t, w.with(secret.Reveal()).With("Sudo", "ada").Do(t, http.MethodGet, "/probe", nil), w.ada)
	if _, _, err := w.tokens.Create(t.Context(), access.Actor{}, w.ada.ID, token.Draft{Name: "x", Scopes: access.Scopes{access.ScopeSudo}}); !fault.Is(err, fault.Rejected) {
		t.Errorf("sudo for someone who does not administer: %v", err)
	}
	if records := w.taken(); len(records) != 1 || records[0].By.SignedIn() {
		t.Errorf("%+v", records)
	}
}

func TestTK08_ASecretIsShownOnce(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	root := w.as(t, w.root)
	one := w.create(t, root, w.ada.ID, h{"name": "a", "scopes": "api"})
	two := httpapitest.JSON[made](t, root.Do(t, http.MethodPost, "/users/"+id(w.ada.ID)+"/impersonation_tokens",
		h{"name": "b", "scopes": "api", "expires_at": "2024-06-01"}).WantStatus(t, 201))
	three := httpapitest.JSON[made](t, root.Do(t, http.MethodPost, "/personal_access_tokens/"+id(one.ID)+"/rotate", nil).WantStatus(t, 200))
	secrets := []string{one.Token, two.Token, three.Token}
	if slices.Contains(secrets, "") || len(slices.Compact(slices.Sorted(slices.Values(secrets)))) != 3 {
		t.Fatalf("%v", secrets)
	}
	ada := w.with(three.Token)
	for _, reply := range []*httpapitest.Reply{
		root.Do(t, http.MethodGet, "/personal_access_tokens", nil), ada.Do(t, http.MethodGet, "/personal_access_tokens", nil),
		root.Do(t, http.MethodGet, "/personal_access_tokens/"+id(three.ID), nil), ada.Do(t, http.MethodGet, "/personal_access_tokens/self", nil),
		root.Do(t, http.MethodGet, "/users/"+id(w.ada.ID)+"/impersonation_tokens", nil),
		root.Do(t, http.MethodGet, "/users/"+id(w.ada.ID)+"/impersonation_tokens/"+id(two.ID), nil),
		root.Do(t, http.MethodPost, "/personal_access_tokens/"+id(one.ID)+"/rotate", nil),
	} {
		for _, secret := range secrets {
			if strings.Contains(reply.Body, secret) || strings.Contains(reply.Body, `"token"`) {
				t.Errorf("%d %s", reply.Status, reply.Body)
			}
		}
	}
	said := fmt.Sprintf("%+v", w.taken())
	rows, err := postgres.Values[string](t.Context(), w.db, "select row_to_json(t)::text from personal_access_tokens t")
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range secrets {
		if strings.Contains(said+strings.Join(rows, "\n"), secret) {
			t.Error("a secret was kept")
		}
	}
	for _, typ := range []reflect.Type{reflect.TypeFor[token.Token](), reflect.TypeFor[token.Event]()} {
		for _, f := range reflect.VisibleFields(typ) {
			if f.Type == reflect.TypeFor[secretbox.Secret]() || strings.Contains(strings.ToLower(f.Name), "secret") {
				t.Errorf("%v has %s", typ, f.Name)
			}
		}
	}
}

func TestTokensAreListed(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	root, ada := w.secret(t, w.root), w.secret(t, w.ada)
	seed := func(u *user.User, name, set string) int64 {
		secret := w.secret(t, u)
		w.ofSecret(t, secret, "name = $2, "+set, name)
		return w.idOf(t, secret)
	}
	rootID, adaID := w.idOf(t, root), w.idOf(t, ada)
	plain := seed(w.ada, "Plain", "created_at = '2024-02-01', last_used_at = '2024-04-01'")
	revoked := seed(w.ada, "gone 100%", "revoked_at = '2024-03-01', created_at = '2024-03-01'")
	expired := seed(w.ada, "old_one", "expires_at = '2024-05-02'")
	lasting := seed(w.ada, "long", "expires_at = '2024-05-03', last_used_at = '2024-05-01T10:00:00Z'")
	acting := seed(w.ada, "plain acting", "impersonation = true")
	for query, want := range map[string][2][]int64{ // as administrator, as Ada
		"":                                   {{rootID, adaID, plain, revoked, expired, lasting, acting}, {adaID, plain, revoked, expired, lasting}},
		"user_id=" + id(w.ada.ID):            {{adaID, plain, revoked, expired, lasting, acting}, {adaID, plain, revoked, expired, lasting}},
		"user_id=":                           {{rootID, adaID, plain, revoked, expired, lasting, acting}, {adaID, plain, revoked, expired, lasting}},
		"revoked=true":                       {{revoked}, {revoked}},
		"revoked=false":                      {{rootID, adaID, plain, expired, lasting, acting}, {adaID, plain, expired, lasting}},
		"state=active":                       {{rootID, adaID, plain, lasting, acting}, {adaID, plain, lasting}},
		"state=inactive":                     {{revoked, expired}, {revoked, expired}},
		"state=inactive&revoked=false":       {{expired}, {expired}},
		"created_after=2024-02-01":           {{plain, revoked}, {plain, revoked}},
		"created_after=2024-02-01T00:00:01Z": {{revoked}, {revoked}},
		"created_before=2024-01-31":          {{rootID, adaID, expired, lasting, acting}, {adaID, expired, lasting}},
		"last_used_after=2024-04-15":         {{lasting}, {lasting}},
		"last_used_before=2024-04-15":        {{plain}, {plain}},
		"search=PLAIN":                       {{plain, acting}, {plain}},
		"search=0%25":                        {{revoked}, {revoked}},
		"search=d_o":                         {{expired}, {expired}},
		"search=x%27%3B--":                   {{}, {}},
		"page=2&per_page=2&state=active":     {{plain, lasting}, {lasting}},
	} {
		for i, secret := range []string{root, ada} {
			reply := w.with(secret).Do(t, http.MethodGet, "/personal_access_tokens?"+query, nil).WantStatus(t, 200)
			got := []int64{}
			for _, m := range httpapitest.JSON[[]made](t, reply) {
				got = append(got, m.ID)
			}
			if diff := cmp.Diff(want[i], got); diff != "" {
				t.Errorf("%q: %s", query, diff)
			}
		}
	}
	reply := w.with(ada).Do(t, http.MethodGet, "/personal_access_tokens?per_page=2", nil)
	if reply.Header.Get("X-Total") != "5" || reply.Header.Get("X-Total-Pages") != "3" || reply.Header.Get("X-Next-Page") != "2" {
		t.Errorf("%v", reply.Header)
	}
	for query, want := range map[string]struct {
		status int
		body   string
	}{
		"user_id=" + id(w.root.ID): {401, unauthorized},
		"user_id=99999":            {401, unauthorized},
		"state=all":                {400, `{"error":"state does not have a valid value"}`},
		"revoked=maybe":            {400, `{"error":"revoked is invalid"}`},
		"created_after=then":       {400, `{"error":"created_after is invalid"}`},
	} {
		w.with(ada).Do(t, http.MethodGet, "/personal_access_tokens?"+query, nil).Want(t, want.status, want.body)
	}
	w.with(root).Do(t, http.MethodGet, "/personal_access_tokens?user_id=99999", nil).Want(t, 200, "[]")
	w.Do(t, http.MethodGet, "/personal_access_tokens?state=all", nil).Want(t, 401, unauthorized)
}

func TestATokenIsShownToItsOwnerAndAdministrators(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	root, ada, acting := w.secret(t, w.root), w.secret(t, w.ada), w.secret(t, w.ada)
	w.ofSecret(t, acting, "impersonation = true")
	for name, c := range map[string]struct {
		client *httpapitest.Client
		id     string
		status int
		want   string
	}{
		"owner":                    {w.with(ada), id(w.idOf(t, ada)), 200, ""},
		"admin":                    {w.with(root), id(w.idOf(t, ada)), 200, ""},
		"admin, impersonation":     {w.with(root), id(w.idOf(t, acting)), 200, ""},
		"owner, impersonation":     {w.with(ada), id(w.idOf(t, acting)), 401, unauthorized},
		"foreign":                  {w.with(ada), id(w.idOf(t, root)), 401, unauthorized},
		"missing":                  {w.with(ada), "99999", 401, unauthorized},
		"missing, admin":           {w.with(root), "99999", 404, `{"message":"404 Not Found"}`},
		"no number":                {w.with(root), "first", 400, `{"error":"id is invalid"}`},
		"anonymous":                {w.Client, "first", 401, unauthorized},
		"token of a smaller scope": {w.as(t, w.ada, access.ScopeReadUser), id(w.idOf(t, ada)), 403, tooSmall("api read_api")},
	} {
		t.Run(name, func(t *testing.T) {
			reply := c.client.Do(t, http.MethodGet, "/personal_access_tokens/"+c.id, nil)
			if c.status != 200 {
				reply.Want(t, c.status, c.want)
			} else if got := httpapitest.JSON[made](t, reply.WantStatus(t, 200)); id(got.ID) != c.id {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestEveryTokenMaySeeAndRevokeItself(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for _, scope := range access.PersonalScopes(true) {
		secret := w.secret(t, w.root, scope)
		got := httpapitest.JSON[made](t, w.with(secret).Do(t, http.MethodGet, "/personal_access_tokens/self", nil).WantStatus(t, 200))
		if got.ID != w.idOf(t, secret) || got.Scopes[0] != string(scope) {
			t.Errorf("%s: %+v", scope, got)
		}
		w.with(secret).Do(t, http.MethodDelete, "/personal_access_tokens/self", nil).Want(t, 204, "")
		wantUnusable(t, w.with(secret).Do(t, http.MethodGet, "/personal_access_tokens/self", nil), wasRevoked)
	}
	acting := w.secret(t, w.ada, access.ScopeReadUser)
	w.ofSecret(t, acting, "impersonation = true")
	w.with(acting).Do(t, http.MethodDelete, "/personal_access_tokens/self", nil).Want(t, 204, "")

	cookie, csrf, err := w.tokens.StartSession(t.Context(), w.ada.ID, address, "")
	if err != nil {
		t.Fatal(err)
	}
	browser := w.With("Cookie", "_svc_session="+cookie.Reveal()).With("X-Csrf-Token", csrf)
	browser.Do(t, http.MethodGet, "/personal_access_tokens/self", nil).Want(t, 404, `{"message":"404 Not Found"}`)
	browser.Do(t, http.MethodDelete, "/personal_access_tokens/self", nil).Want(t, 400, `{"message":"400 Bad request"}`)
	browser.Do(t, http.MethodPost, "/personal_access_tokens/self/rotate", nil).Want(t, 405, `{"message":"405 Method Not Allowed"}`)
	w.as(t, w.root, access.ScopeSudo).With("Sudo", "ada").Do(t, http.MethodDelete, "/personal_access_tokens/self", nil).
		Want(t, 400, `{"message":"400 Bad request"}`)
	w.Do(t, http.MethodGet, "/personal_access_tokens/self", nil).Want(t, 401, unauthorized)
}

func TestATokenIsRevokedByItsOwnerAndAdministrators(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	root, ada := w.as(t, w.root), w.as(t, w.ada)
	own, acting, foreign := w.idOf(t, w.secret(t, w.ada)), w.secret(t, w.ada), w.idOf(t, w.secret(t, w.root))
	w.ofSecret(t, acting, "impersonation = true")
	del := func(c *httpapitest.Client, id string) *httpapitest.Reply {
		return c.Do(t, http.MethodDelete, "/personal_access_tokens/"+id, nil)
	}
	del(ada, id(foreign)).Want(t, 400, `{"message":"400 Bad request"}`)
	del(ada, id(w.idOf(t, acting))).Want(t, 400, `{"message":"400 Bad request"}`)
	del(ada, "99999").Want(t, 404, `{"message":"404 Not found"}`)
	del(root, "99999").Want(t, 404, `{"message":"404 Not found"}`)
	del(root, "x").Want(t, 400, `{"error":"id is invalid"}`)
	del(w.Client, id(own)).Want(t, 401, unauthorized)
	del(w.as(t, w.ada, access.ScopeReadAPI), id(own)).Want(t, 403, tooSmall("api read_api"))
	del(ada.With("If-Unmodified-Since", "Mon, 01 Jan 2018 00:00:00 GMT"), id(own)).Want(t, 412, `{"message":"412 Precondition Failed"}`)
	del(ada.With("If-Unmodified-Since", "Mon, 01 Jan 2018 00:00:00 GMT"), id(foreign)).Want(t, 400, `{"message":"400 Bad request"}`)
	if records := w.taken(); len(records) != 0 {
		t.Errorf("%+v", records)
	}

	del(ada.With("If-Unmodified-Since", "Thu, 02 May 2024 00:00:00 GMT"), id(own)).Want(t, 204, "")
	del(root, id(w.idOf(t, acting))).Want(t, 204, "")
	del(ada, id(own)).Want(t, 204, "") // and nothing happens
	records := w.taken()
	if len(records) != 2 {
		t.Fatalf("%+v", records)
	}
	for _, d := range records {
		if d.Type != "personal_access_token_revoked" || d.Entity.ID != w.ada.ID || d.Entity.Path != "Ada" || d.Target.Details != "seed" {
			t.Errorf("%+v", d)
		}
	}
	messages := []string{records[0].Message, records[1].Message}
	slices.Sort(messages)
	want := []string{fmt.Sprintf("Revoked impersonation token with id %d", w.idOf(t, acting)), fmt.Sprintf("Revoked personal access token with id %d", own)}
	if diff := cmp.Diff(want, messages); diff != "" {
		t.Error(diff)
	}
	if got := httpapitest.JSON[made](t, ada.Do(t, http.MethodGet, "/personal_access_tokens/"+id(own), nil)); !got.Revoked || got.Active {
		t.Errorf("%+v", got)
	}
}

func TestRotationReplacesAToken(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	secret := w.secret(t, w.ada, access.ScopeAPI, access.ScopeReadUser)
	w.ofSecret(t, secret, "name = 'mine'")
	old := w.idOf(t, secret)
	got := httpapitest.JSON[made](t, w.with(secret).Do(t, http.MethodPost, "/personal_access_tokens/"+id(old)+"/rotate", nil).WantStatus(t, 200))
	want := made{ID: got.ID, Name: "mine", CreatedAt: "2024-05-02T15:04:05.678Z", Scopes: []string{"api", "read_user"}, UserID: w.ada.ID,
		Active: true, ExpiresAt: new("2024-05-09"), Token: got.Token}
	if diff := cmp.Diff(want, got); diff != "" || got.ID == old {
		t.Error(diff)
	}
	wantIn(t, w.with(got.Token).Do(t, http.MethodGet, "/probe", nil), w.ada)
	wantUnusable(t, w.with(secret).Do(t, http.MethodGet, "/probe", nil), wasRevoked)
	records := w.taken()
	if len(records) != 2 || records[0].Type != "personal_access_token_revoked" || records[0].Target.ID != old ||
		records[1].Type != "personal_access_token_created" || records[1].Target.ID != got.ID {
		t.Errorf("%+v", records)
	}
	type line struct{ Replaces, Family int64 }
	again := httpapitest.JSON[made](t, w.with(got.Token).Do(t, http.MethodPost, "/personal_access_tokens/self/rotate", h{"expires_at": "2025-05-02"}).WantStatus(t, 200))
	if *again.ExpiresAt != "2025-05-02" {
		t.Errorf("%+v", again)
	}
	for child, parent := range map[int64]int64{got.ID: old, again.ID: got.ID} {
		l, err := postgres.One[line](t.Context(), w.db, "select replaces_id as replaces, family_id as family from personal_access_tokens where id = $1", child)
		if err != nil || l != (line{parent, old}) {
			t.Errorf("%+v %v", l, err)
		}
	}
}

func TestRotationIsRefused(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	root, ada := w.as(t, w.root), w.as(t, w.ada)
	bot := usertest.New(t, w.db, usertest.With("kind", "project_bot"))
	own, foreign := w.secret(t, w.ada), w.secret(t, w.root)
	revoked, acting, expired := w.secret(t, w.ada), w.secret(t, w.ada), w.secret(t, w.ada)
	w.ofSecret(t, revoked, "revoked_at = now()")
	w.ofSecret(t, acting, "impersonation = true")
	w.ofSecret(t, expired, "expires_at = '2024-01-01'")
	for name, c := range map[string]struct {
		client *httpapitest.Client
		id     string
		body   any
		status int
		want   string
	}{
		"anonymous":            {w.Client, id(w.idOf(t, own)), nil, 401, unauthorized},
		"foreign":              {ada, id(w.idOf(t, foreign)), nil, 401, unauthorized},
		"missing":              {ada, "99999", nil, 401, unauthorized},
		"missing, admin":       {root, "99999", nil, 404, `{"message":"404 Not Found"}`},
		"impersonation, owner": {ada, id(w.idOf(t, acting)), nil, 401, unauthorized},
		"revoked":              {ada, id(w.idOf(t, revoked)), nil, 400, `{"message":"400 Bad request - token already revoked"}`},
		"too late":             {ada, id(w.idOf(t, own)), h{"expires_at": "2025-05-03"}, 400, `{"message":"400 Bad request - Expires at must be before 2025-05-02"}`},
		"no date":              {ada, id(w.idOf(t, own)), h{"expires_at": "x"}, 400, `{"error":"expires_at is invalid"}`},
		"small token":          {w.as(t, w.ada, access.ScopeReadAPI), id(w.idOf(t, own)), nil, 403, tooSmall("api read_api")},
		"small token, self":    {w.as(t, w.ada, access.ScopeReadAPI), "self", nil, 403, tooSmall("api read_api")},
		"bot, self":            {w.as(t, bot), "self", nil, 403, forbidden},
		"impersonation, self":  {w.with(acting), "self", nil, 403, forbidden},
		"admin's under sudo":   {w.as(t, w.root, access.ScopeSudo).With("Sudo", "ada"), "self", nil, 403, forbidden},
		"no number":            {ada, "x", nil, 400, `{"error":"id is invalid"}`},
	} {
		t.Run(name, func(t *testing.T) {
			c.client.Do(t, http.MethodPost, "/personal_access_tokens/"+c.id+"/rotate", c.body).Want(t, c.status, c.want)
		})
	}
	wantIn(t, w.with(own).Do(t, http.MethodGet, "/probe", nil), w.ada)

	// An expired one may be renewed, and an administrator may renew any.
	ada.Do(t, http.MethodPost, "/personal_access_tokens/"+id(w.idOf(t, expired))+"/rotate", nil).WantStatus(t, 200)
	got := httpapitest.JSON[made](t, root.Do(t, http.MethodPost, "/personal_access_tokens/"+id(w.idOf(t, acting))+"/rotate", nil).WantStatus(t, 200))
	if still, err := w.tokens.Find(t.Context(), got.ID); err != nil || !still.Impersonation || still.UserID != w.ada.ID {
		t.Errorf("%+v %v", still, err)
	}
	w.set(t, func(s *setting.Settings) { s.MaxPersonalAccessTokenLifetime = new(3) })
	if got := httpapitest.JSON[made](t, ada.Do(t, http.MethodPost, "/personal_access_tokens/"+id(w.idOf(t, own))+"/rotate", nil)); *got.ExpiresAt != "2024-05-05" {
		t.Errorf("%+v", got)
	}
}

func TestOfManyRotationsOneWins(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	client, target := w.as(t, w.ada), w.idOf(t, w.secret(t, w.ada))
	replies := make([]*httpapitest.Reply, 12)
	var all sync.WaitGroup
	for i := range replies {
		all.Go(func() {
			replies[i] = client.Do(t, http.MethodPost, "/personal_access_tokens/"+id(target)+"/rotate", nil)
		})
	}
	all.Wait()
	won := 0
	for _, r := range replies {
		if r.Status == 200 {
			won++
		} else {
			r.Want(t, 400, `{"message":"400 Bad request - token already revoked"}`)
		}
	}
	active, err := postgres.Value[int](t.Context(), w.db, "select count(*) from personal_access_tokens where family_id = $1 and revoked_at is null", target)
	if won != 1 || active != 1 || err != nil {
		t.Errorf("%d won, %d active, %v", won, active, err)
	}
}

func TestATokenThatIsRotatedTwiceTakesItsFamilyDown(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	first := w.secret(t, w.ada)
	rotate := func(secret string) *httpapitest.Reply {
		return w.with(secret).Do(t, http.MethodPost, "/personal_access_tokens/self/rotate", nil)
	}
	second := httpapitest.JSON[made](t, rotate(first).WantStatus(t, 200))
	third := httpapitest.JSON[made](t, rotate(second.Token).WantStatus(t, 200))
	unrelated := w.secret(t, w.ada)
	w.taken()

	// Elsewhere, presenting it only fails.
	wantUnusable(t, w.with(first).Do(t, http.MethodPost, "/probe", nil), wasRevoked)
	wantIn(t, w.with(third.Token).Do(t, http.MethodGet, "/probe", nil), w.ada)

	for _, stolen := range []string{second.Token, first} {
		wantUnusable(t, w.with(stolen).Do(t, http.MethodPost, "/probe/access_tokens/1/rotate", nil), wasRevoked)
		wantUnusable(t, w.with(third.Token).Do(t, http.MethodGet, "/probe", nil), wasRevoked)
	}
	wantIn(t, w.with(unrelated).Do(t, http.MethodGet, "/probe", nil), w.ada)
	records := w.taken()
	if len(records) != 1 || records[0].Target.ID != third.ID || records[0].Type != "personal_access_token_revoked" || records[0].By.SignedIn() ||
		records[0].By.Address != httpapitest.Address || !strings.HasSuffix(records[0].Message, fmt.Sprintf(": its predecessor %d was presented again", second.ID)) {
		t.Errorf("%+v", records)
	}
}

func TestReuseIsFoundWhileTheFamilyRotates(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for range 5 {
		first := w.secret(t, w.ada)
		second := httpapitest.JSON[made](t, w.with(first).Do(t, http.MethodPost, "/personal_access_tokens/self/rotate", nil).WantStatus(t, 200))
		var all sync.WaitGroup
		all.Go(func() { w.with(second.Token).Do(t, http.MethodPost, "/personal_access_tokens/self/rotate", nil) })
		all.Go(func() {
			wantUnusable(t, w.with(first).Do(t, http.MethodPost, "/personal_access_tokens/self/rotate", nil), wasRevoked)
		})
		all.Wait()
		active, err := postgres.Value[int](t.Context(), w.db, "select count(*) from personal_access_tokens where family_id = $1 and revoked_at is null", w.idOf(t, first))
		if active != 0 || err != nil {
			t.Errorf("%d live on, %v", active, err)
		}
	}
}

func TestImpersonationTokens(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	root, ada := w.as(t, w.root), w.as(t, w.ada)
	path := "/users/" + id(w.ada.ID) + "/impersonation_tokens"
	reply := root.Do(t, http.MethodPost, path, h{"name": "support", "scopes": []string{"api"}, "expires_at": "2024-05-04"})
	got := httpapitest.JSON[made](t, reply.WantStatus(t, 201))
	record := fmt.Sprintf(`{"id":%d,"name":"support","revoked":false,"created_at":"2024-05-02T15:04:05.678Z","scopes":["api"],"user_id":%d,`+
		`"last_used_at":null,"active":true,"expires_at":"2024-05-04","impersonation":true`, got.ID, w.ada.ID)
	reply.Want(t, 201, record+`,"token":"`+got.Token+`"}`)
	if records := w.taken(); len(records) != 1 || records[0].Message != fmt.Sprintf("Created impersonation token with id %d", got.ID) ||
		records[0].Entity.ID != w.ada.ID || records[0].By.ID() != w.root.ID {
		t.Errorf("%+v", records)
	}
	wantIn(t, w.with(got.Token).Do(t, http.MethodPost, "/probe", nil), w.ada)

	w.secret(t, w.ada) // a personal one is not among them
	past := httpapitest.JSON[made](t, root.Do(t, http.MethodPost, path, h{"name": "past", "scopes": "api", "expires_at": "2024-05-01"}).WantStatus(t, 201))
	elsewhere := httpapitest.JSON[made](t, root.Do(t, http.MethodPost, "/users/"+id(w.root.ID)+"/impersonation_tokens",
		h{"name": "root", "scopes": "api", "expires_at": "2024-05-04"}).WantStatus(t, 201))
	for query, want := range map[string][]int64{"": {got.ID, past.ID}, "state=all": {got.ID, past.ID}, "state=active": {got.ID}, "state=inactive": {past.ID}, "per_page=1&page=2": {past.ID}} {
		var ids []int64
		for _, m := range httpapitest.JSON[[]made](t, root.Do(t, http.MethodGet, path+"?"+query, nil).WantStatus(t, 200)) {
			ids = append(ids, m.ID)
		}
		if !slices.Equal(ids, want) {
			t.Errorf("%q: %v, want %v", query, ids, want)
		}
	}
	root.Do(t, http.MethodGet, path+"/"+id(got.ID), nil).Want(t, 200, record+"}")

	const missing = `{"message":"404 Impersonation Token Not Found"}`
	const nobody = `{"message":"404 User Not Found"}`
	personal := id(w.idOf(t, w.secret(t, w.ada)))
	for name, c := range map[string]struct {
		client       *httpapitest.Client
		method, path string
		body         any
		status       int
		want         string
	}{
		"list, bad state":       {root, "GET", path + "?state=some", nil, 400, `{"error":"state does not have a valid value"}`},
		"list, nobody":          {root, "GET", "/users/99999/impersonation_tokens", nil, 404, nobody},
		"list, no number":       {root, "GET", "/users/ada/impersonation_tokens", nil, 404, `{"error":"404 Not Found"}`},
		"list, no admin":        {ada, "GET", path, nil, 403, forbidden},
		"list, anonymous":       {w.Client, "GET", path, nil, 401, unauthorized},
		"get, missing":          {root, "GET", path + "/99999", nil, 404, missing},
		"get, another's":        {root, "GET", path + "/" + id(elsewhere.ID), nil, 404, missing},
		"get, personal":         {root, "GET", path + "/" + personal, nil, 404, missing},
		"get, no number":        {root, "GET", path + "/x", nil, 400, `{"error":"impersonation_token_id is invalid"}`},
		"get, nobody":           {root, "GET", "/users/99999/impersonation_tokens/1", nil, 404, nobody},
		"get, no admin":         {ada, "GET", path + "/" + id(got.ID), nil, 403, forbidden},
		"delete, missing":       {root, "DELETE", path + "/99999", nil, 404, missing},
		"delete, personal":      {root, "DELETE", path + "/" + personal, nil, 404, missing},
		"delete, no admin":      {ada, "DELETE", path + "/99999", nil, 403, forbidden},
		"delete, anonymous":     {w.Client, "DELETE", path + "/99999", nil, 401, unauthorized},
		"create, anonymous":     {w.Client, "POST", path, nil, 401, unauthorized},
		"create, no admin":      {ada, "POST", path, h{"name": "x"}, 403, forbidden},
		"create, small token":   {w.as(t, w.root, access.ScopeReadUser), "POST", path, h{"name": "x"}, 403, tooSmall("read_user api read_api")},
		"create, no name":       {root, "POST", path, h{}, 400, `{"error":"name is missing"}`},
		"create, nobody":        {root, "POST", "/users/99999/impersonation_tokens", h{"name": "x"}, 404, nobody},
		"create, nothing":       {root, "POST", path, h{"name": "x"}, 400, `{"message":{"expires_at":["can't be blank"],"scopes":["can't be blank"]}}`},
		"create, no scopes":     {root, "POST", path, h{"name": "x", "expires_at": "2024-06-01"}, 400, `{"message":{"scopes":["can't be blank"]}}`},
		"create, no expiry":     {root, "POST", path, h{"name": "x", "scopes": "api"}, 400, `{"message":{"expires_at":["can't be blank"]}}`},
		"create, unknown scope": {root, "POST", path, h{"name": "x", "scopes": "all", "expires_at": "2024-06-01"}, 400, `{"message":{"scopes":["can only contain available scopes"]}}`},
		"create, admin's scope": {root, "POST", path, h{"name": "x", "scopes": "sudo", "expires_at": "2024-06-01"}, 400, `{"message":{"scopes":["can only contain available scopes"]}}`},
		"create, too late":      {root, "POST", path, h{"name": "x", "scopes": "api", "expires_at": "2030-06-01"}, 400, `{"message":{"expires_at":["must be before 2025-05-02"]}}`},
		"create, blank name":    {root, "POST", path, h{"name": "", "scopes": "api", "expires_at": "2024-06-01"}, 400, `{"message":{"name":["can't be blank"]}}`},
		"get, read_user token":  {w.as(t, w.root, access.ScopeReadUser), "GET", path + "/99999", nil, 404, missing},
	} {
		t.Run(name, func(t *testing.T) { c.client.Do(t, c.method, c.path, c.body).Want(t, c.status, c.want) })
	}

	w.taken()
	root.Do(t, http.MethodDelete, path+"/"+id(got.ID), nil).Want(t, 204, "")
	wantUnusable(t, w.with(got.Token).Do(t, http.MethodGet, "/probe", nil), wasRevoked)
	if still := httpapitest.JSON[made](t, root.Do(t, http.MethodGet, path+"/"+id(got.ID), nil)); !still.Revoked || still.Active {
		t.Errorf("%+v", still)
	}
	if records := w.taken(); len(records) != 1 || records[0].Type != "personal_access_token_revoked" {
		t.Errorf("%+v", records)
	}
}

func TestTokensGoWithTheirAccount(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.secret(t, w.ada)
	if _, _, err := w.tokens.StartSession(t.Context(), w.ada.ID, address, ""); err != nil {
		t.Fatal(err)
	}
	w.exec(t, "delete from users where id = $1", w.ada.ID)
	n, err := postgres.Value[int](t.Context(), w.db, "select (select count(*) from personal_access_tokens) + (select count(*) from sessions)")
	if n != 0 || err != nil {
		t.Errorf("%d rows stay, %v", n, err)
	}
}

func TestAnActIsUndoneWhenItCannotBeRecorded(t *testing.T) {
	t.Parallel()
	w := newFixture(t, func(d *core.Deps) {
		bus.On(d.Bus, func(context.Context, pgx.Tx, token.Event) error { return errors.New("no room in the trail") })
	})
	root, secret := w.as(t, w.root), w.secret(t, w.ada)
	root.Do(t, http.MethodPost, "/users/"+id(w.ada.ID)+"/personal_access_tokens", h{"name": "a", "scopes": "api"}).WantStatus(t, 500)
	root.Do(t, http.MethodPost, "/personal_access_tokens/"+id(w.idOf(t, secret))+"/rotate", nil).WantStatus(t, 500)
	root.Do(t, http.MethodDelete, "/personal_access_tokens/"+id(w.idOf(t, secret)), nil).WantStatus(t, 500)
	wantIn(t, w.with(secret).Do(t, http.MethodGet, "/probe", nil), w.ada)
	if n, err := postgres.Value[int](t.Context(), w.db, "select count(*) from personal_access_tokens"); n != 2 || err != nil {
		t.Errorf("%d tokens, %v", n, err)
	}
}
