package app

import (
	"fmt"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"

	"stithy/internal/kit/access"
	"stithy/internal/platform/secretbox"
	"stithy/internal/user/usertest"
)

// AU-08: whatever takes trust from an account ends its sessions.
func TestAU08_SessionsEndWithTheTrustTheyStoodOn(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	secret := i.token(t, i.root, access.ScopeAPI)
	for name, act := range map[string]struct {
		method, path string
		body         any
	}{
		"block":      {"POST", "/block", nil},
		"ban":        {"POST", "/ban", nil},
		"deactivate": {"POST", "/deactivate", nil},
		"password":   {"PUT", "", map[string]any{"password": "correct horse 7"}},
		"delete":     {"DELETE", "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			u := usertest.New(t, i.DB)
			cookie, _, err := i.Tokens.StartSession(t.Context(), u.ID, netip.MustParseAddr("192.0.2.1"), "test")
			if err != nil {
				t.Fatal(err)
			}
			read := func() int {
				return i.do("GET", "/api/v4/user", nil, func(r *http.Request) {
					r.AddCookie(&http.Cookie{Name: "_svc_session", Value: cookie.Reveal()})
				}).Code
			}
			if code := read(); code != http.StatusOK {
				t.Fatalf("the session does not work: %d", code)
			}
			w := i.do(act.method, fmt.Sprintf("/api/v4/users/%d%s", u.ID, act.path), act.body, func(r *http.Request) {
				r.Header.Set("PRIVATE-TOKEN", secret)
			})
			if w.Code >= 300 {
				t.Fatalf("%d %s", w.Code, w.Body)
			}
			if code := read(); code != http.StatusUnauthorized {
				t.Errorf("the session lives on: %d", code)
			}
		})
	}
}

// AU-03: an address that nobody confirmed lets nobody in and is shown nowhere.
func TestAU03_AnUnconfirmedAddressGrantsNothing(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	u := usertest.New(t, i.DB, usertest.Unconfirmed())
	secret, root := i.token(t, u, access.ScopeAPI), i.token(t, i.root, access.ScopeAPI)
	if w := i.do("GET", "/api/v4/user", nil, func(r *http.Request) { r.Header.Set("PRIVATE-TOKEN", secret) }); w.Code != http.StatusForbidden {
		t.Errorf("let in: %d %s", w.Code, w.Body)
	}
	put := func(body map[string]any) int {
		return i.do("PUT", fmt.Sprintf("/api/v4/users/%d", u.ID), body, func(r *http.Request) { r.Header.Set("PRIVATE-TOKEN", root) }).Code
	}
	for _, name := range []string{"public_email", "commit_email"} {
		if code := put(map[string]any{name: u.Email}); code != http.StatusBadRequest {
			t.Errorf("%s took an unconfirmed address: %d", name, code)
		}
	}
}

// MN-02 within one database: what one node revokes, the next request on any
// other finds revoked, for nothing is kept between requests.
func TestMN02_ARevokedTokenIsRefusedByEveryNodeAtOnce(t *testing.T) {
	t.Parallel()
	a := newInstance(t)
	other, err := Assemble(a.Parts)
	if err != nil {
		t.Fatal(err)
	}
	b := &instance{App: other, handler: other.Handler(), log: a.log}
	secret := a.token(t, a.ann, access.ScopeAPI)
	show := func(r *http.Request) { r.Header.Set("PRIVATE-TOKEN", secret) }
	if w := b.do("GET", "/api/v4/user", nil, show); w.Code != http.StatusOK {
		t.Fatalf("made on one node, refused on the other: %d %s", w.Code, w.Body)
	}
	if w := a.do("DELETE", "/api/v4/personal_access_tokens/self", nil, show); w.Code != http.StatusNoContent {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	if w := b.do("GET", "/api/v4/user", nil, show); w.Code != http.StatusUnauthorized {
		t.Errorf("revoked on one node, taken on the other: %d", w.Code)
	}
}

// Many ask for the same name at once: one gets it, the others are told.
func TestConcurrentCreationsOfOneNameHaveOneWinner(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	secret := i.token(t, i.root, access.ScopeAPI)
	var created, refused atomic.Int32
	var wg sync.WaitGroup
	for n := range 12 {
		wg.Go(func() {
			body := map[string]any{"email": fmt.Sprintf("same%d@example.com", n%2), "username": "same", "name": "Same", "force_random_password": true}
			switch w := i.do("POST", "/api/v4/users", body, func(r *http.Request) { r.Header.Set("PRIVATE-TOKEN", secret) }); w.Code {
			case http.StatusCreated:
				created.Add(1)
			case http.StatusConflict:
				refused.Add(1)
			default:
				t.Errorf("%d %s", w.Code, w.Body)
			}
		})
	}
	wg.Wait()
	if created.Load() != 1 || refused.Load() != 11 {
		t.Errorf("%d created, %d refused", created.Load(), refused.Load())
	}
}

func TestAnotherKeyFileIsRefused(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	if err := checkKey(t.Context(), i.DB, i.Box); err != nil {
		t.Fatal(err)
	}
	if err := checkKey(t.Context(), i.DB, secretbox.Random()); err == nil {
		t.Error("a key that opens nothing was taken")
	}
}
