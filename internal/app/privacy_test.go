package app

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi"
	"stithy/internal/platform/postgres"
	"stithy/internal/project/projecttest"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
)

// answer is all that a caller can tell apart; no secret is anonymous.
func (i *instance) answer(method, target, secret string) string {
	w := i.do(method, target, nil, func(r *http.Request) {
		if secret != "" {
			r.Header.Set("PRIVATE-TOKEN", secret)
		}
	})
	w.Header().Del("X-Request-Id")
	return fmt.Sprintf("%d %v %s", w.Code, w.Header(), w.Body)
}

// AU-13: a stranger cannot ask whether an address or a hidden account exists, and where profiles are not public not
// even whether a username does.
func TestAU13_StrangersDoNotLearnWhoExists(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	usertest.New(t, i.DB, usertest.Named("gone"), usertest.In(user.Blocked))
	same := func(method, pattern, known, unknown string) {
		t.Helper()
		fill := func(value string) string {
			sent, _ := url.QueryUnescape(value) // some answers hold what was sent
			return strings.NewReplacer(value, "{}", sent, "{}").Replace(i.answer(method, strings.ReplaceAll(pattern, "{}", value), ""))
		}
		if a, b := fill(known), fill(unknown); a != b {
			t.Errorf("%s %s:\n%-9s %s\n%-9s %s", method, pattern, known, a, unknown, b)
		}
	}
	for _, e := range i.Endpoints() {
		for _, p := range e.Params {
			if !p.InPath {
				same(e.Method, i.path(t, e)+"?"+p.Name+"={}", "ann%40example.com", "nna%40example.com")
			}
		}
	}
	same("GET", "/api/v4/users?username={}", "gone", "none")
	same("GET", "/api/v4/users?username={}", "ann%40example.com", "nna%40example.com")

	restrict := map[string]any{"restricted_visibility_levels": []string{"public"}}
	secret := i.token(t, i.root, access.ScopeAPI)
	if w := i.do("PUT", "/api/v4/application/settings", restrict, func(r *http.Request) { r.Header.Set("PRIVATE-TOKEN", secret) }); w.Code != http.StatusOK {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	same("GET", "/api/v4/users?username={}", "ann", "nna")
	for _, e := range i.Endpoints() {
		for _, p := range e.Params {
			if p.InPath && strings.HasPrefix(e.Path, "/users/{"+p.Name+"}") {
				pattern := strings.Replace(i.path(t, e), "/users/999999", "/users/{}", 1)
				same(e.Method, pattern, fmt.Sprint(i.ann.ID), "987654321")
				same(e.Method, pattern, "ann", "nna")
			}
		}
	}
}

// PE-03: whatever members send along, and wherever, moves nothing on their account but what is theirs to choose.
func TestPE03_AMemberMovesNothingThatMatters(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	row := func() string {
		text, err := postgres.Value[string](t.Context(), i.DB, `
			select (to_jsonb(u) - array['updated_at', 'last_activity_on', 'current_sign_in_at', 'followers', 'following',
				'view_diffs_file_by_file', 'show_whitespace_in_diffs', 'pass_user_identities_to_ci_jwt'])::text
			from users u where id = $1`, i.ann.ID)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	everything := map[string]any{
		"admin": true, "is_admin": true, "auditor": true, "external": true, "state": "blocked", "kind": "ghost", "projects_limit": 9,
		"can_create_group": false, "two_factor_enabled": true, "confirmed_at": "2001-01-01", "note": "x", "username": "root2", "name": "X",
		"private_profile": true, "skip_reconfirmation": true, "skip_confirmation": true, "password": "correct horse 1", "provider": "saml",
		"extern_uid": "1", "shared_runners_minutes_limit": 0, "user_id": i.root.ID, "id": i.root.ID, "locked_at": nil, "namespace_id": 1,
		"email": "ann@example.org", "impersonation": true, "scopes": []string{"k8s_proxy"},
	}
	before, seen := row(), reached{}
	defer seen.check(t)
	for _, e := range i.Endpoints() {
		if e.Method == http.MethodGet {
			continue
		}
		secret := i.token(t, i.ann, access.ScopeAPI)
		g, p := i.place(t) // the endpoint before may have removed its own
		for name, value := range everything {
			// One at a time: a field that is refused must not hide the others.
			body := map[string]any{"show_whitespace_in_diffs": true}
			for _, p := range e.Params {
				if p.Required && !p.InPath {
					body[p.Name] = plain(p, 1)
				}
			}
			body[name] = value
			w := i.do(e.Method, about(e, g, p, i.ann.ID), body, by(e, secret))
			seen.note(e, w)
			if after := row(); after != before {
				t.Fatalf("%s with %s moved the account (%d %s):\nbefore %s\nafter  %s", e.Route, name, w.Code, w.Body, before, after)
			}
			if w.Code == http.StatusUnauthorized {
				break // it revoked its token
			}
		}
	}
	others, err := postgres.Value[int](t.Context(), i.DB, `
		select (select count(*) from identities)
			+ (select count(*) from personal_access_tokens t join users u on u.id = t.user_id where impersonation or u.kind = 'human' and u.id <> $1)
			+ (select count(*) from emails where user_id <> $1 or confirmed_at is not null)`, i.ann.ID)
	if err != nil || others != 0 {
		t.Errorf("%d rows were made for others, or with others' powers (%v)", others, err)
	}
}

// byHarm are the methods of endpoints, those that remove something last.
var byHarm = []string{http.MethodHead, http.MethodGet, http.MethodPatch, http.MethodPut, http.MethodPost, http.MethodDelete}

// PE-10: addresses are for their owner and for administrators, unless the owner made one public.
func TestPE10_PrivateAddressesAreShownToNobodyElse(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	eve := usertest.New(t, i.DB, usertest.Named("eve"), usertest.With("unconfirmed_email", "canary.pending@example.com"))
	if _, err := i.DB.Exec(t.Context(), `
		with claims as (insert into email_claims (address, user_id) values ('canary.second@example.com', $1), ('canary.third@example.com', $1) returning address)
		insert into emails (user_id, address, email, confirmed_at, created_at, updated_at)
		select $1, address, lower(address), case address when 'canary.second@example.com' then now() end, now(), now() from claims`, eve.ID); err != nil {
		t.Fatal(err)
	}
	addresses := []string{eve.Email, "canary.pending@example.com", "canary.second@example.com", "canary.third@example.com"}
	shows := func(body string) (found []string) {
		for _, address := range addresses {
			if strings.Contains(body, address) {
				found = append(found, address)
			}
		}
		return found
	}
	// What ann owns answers her, and eve is a member of it; what removes it comes last.
	g := grouptest.New(t, i.DB, grouptest.Visible(access.Public))
	p := projecttest.New(t, i.DB, g.ID, projecttest.Visible(access.Public))
	grouptest.Join(t, i.DB, g, i.ann, access.Owner)
	grouptest.Join(t, i.DB, g, eve, access.Developer)
	projecttest.Join(t, i.DB, p, eve, access.Developer)
	endpoints := slices.Clone(i.Endpoints())
	slices.SortStableFunc(endpoints, func(a, b httpapi.Endpoint) int {
		return cmp.Compare(slices.Index(byHarm, a.Method), slices.Index(byHarm, b.Method))
	})
	for _, anns := range []bool{false, true} {
		secret := ""
		for _, e := range endpoints {
			if anns {
				secret = i.token(t, i.ann, access.ScopeAPI) // the call before may have revoked its own
			}
			body := map[string]any{"user_id": eve.ID, "username": "eve", "access_level": 20}
			for _, param := range e.Params {
				if param.Required && !param.InPath && body[param.Name] == nil {
					body[param.Name] = plain(param, 1)
				}
			}
			own := about(e, g, p, eve.ID)
			for _, target := range []string{own, own + "?username=eve", strings.ReplaceAll(own, fmt.Sprint("/users/", eve.ID), "/users/eve")} {
				w := i.do(e.Method, target, body, func(r *http.Request) { r.Header.Set("PRIVATE-TOKEN", secret) })
				if found := shows(w.Body.String()); found != nil {
					t.Errorf("%s %s shows %v", e.Method, target, found)
				}
			}
		}
		secret = ""
		if anns {
			secret = i.token(t, i.ann, access.ScopeAPI)
		}
		for _, address := range addresses {
			w := i.do("GET", "/api/v4/users?search="+address, nil, func(r *http.Request) { r.Header.Set("PRIVATE-TOKEN", secret) })
			if strings.Contains(w.Body.String(), "eve") {
				t.Errorf("%s leads to its owner: %s", address, w.Body)
			}
		}
	}
	if found := shows(i.answer("GET", fmt.Sprintf("/api/v4/users/%d/emails", eve.ID), i.token(t, i.root, access.ScopeAPI))); len(found) != 2 {
		t.Errorf("an administrator sees %v", found)
	}
}

// Sessions begin in the pages where people sign in.
func TestNoEndpointSetsACookie(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	seen := reached{}
	defer seen.check(t)
	for _, e := range i.Endpoints() {
		g, p := i.place(t) // the endpoint before may have removed its own
		w := i.do(e.Method, about(e, g, p, i.ann.ID), map[string]any{}, by(e, i.token(t, i.root, access.ScopeAPI)))
		seen.note(e, w)
		if cookie := w.Header().Get("Set-Cookie"); cookie != "" {
			t.Errorf("%s sets %s", e.Route, cookie)
		}
	}
}

func TestTheOperatorCanSwitchImpersonationOff(t *testing.T) {
	t.Parallel()
	for environ, want := range map[string]int{"STITHY_INSTANCE_IMPERSONATION=true": http.StatusOK, "STITHY_INSTANCE_IMPERSONATION=false": http.StatusUnauthorized, "": http.StatusOK} {
		i := newInstance(t, environ)
		secret := i.token(t, i.ann, access.ScopeAPI)
		if _, err := i.DB.Exec(t.Context(), `update personal_access_tokens set impersonation = true`); err != nil {
			t.Fatal(err)
		}
		if w := i.get("/api/v4/user", secret); w.Code != want {
			t.Errorf("%s: %d %s", environ, w.Code, w.Body)
		}
	}
}
