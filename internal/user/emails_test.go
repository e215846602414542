package user_test

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"stithy/internal/kit/fault"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/platform/postgres"
)

func TestASecondaryAddressIsAddedShownAndRemoved(t *testing.T) {
	t.Parallel()
	b := newTopicFixture(t)
	ada := b.as(b.ada)
	ada.Do(t, "GET", "/user/emails", nil).Want(t, http.StatusOK, `[]`) // the primary one is not among them

	added := ada.Do(t, "POST", "/user/emails", form("email", "Ada@Work.Example")).WantStatus(t, http.StatusCreated)
	id := httpapitest.JSON[withID](t, added).ID
	one := `{"id":` + path(id)[1:] + `,"email":"Ada@work.example","confirmed_at":null}`
	added.Want(t, http.StatusCreated, one)
	ada.Do(t, "GET", path("user", "emails", id), nil).Want(t, http.StatusOK, one)
	ada.Do(t, "GET", "/user/emails", nil).Want(t, http.StatusOK, "["+one+"]")
	b.as(b.root).Do(t, "GET", path("users", b.ada, "emails"), nil).Want(t, http.StatusOK, "["+one+"]")

	b.as(b.bob).Do(t, "GET", path("user", "emails", id), nil).Want(t, http.StatusNotFound, `{"message":"404 Email Not Found"}`)
	b.as(b.bob).Do(t, "DELETE", path("user", "emails", id), nil).Want(t, http.StatusNotFound, `{"message":"404 Email Not Found"}`)
	b.as(b.root).Do(t, "DELETE", path("users", b.bob, "emails", id), nil).Want(t, http.StatusNotFound, `{"message":"404 Email Not Found"}`)

	ada.Do(t, "DELETE", path("user", "emails", id), nil).Want(t, http.StatusNoContent, "")
	ada.Do(t, "DELETE", path("user", "emails", id), nil).Want(t, http.StatusNotFound, `{"message":"404 Email Not Found"}`)
	b.wantDeeds(t, "email_created by ada on ada: Added email address Ada@work.example",
		"email_destroyed by ada on ada: Removed email address Ada@work.example")

	// What was given up is free for someone else.
	b.as(b.bob).Do(t, "POST", "/user/emails", form("email", "ada@work.example")).WantStatus(t, http.StatusCreated)
}

func TestAnAdministratorMayTakeAnAddressAsConfirmed(t *testing.T) {
	t.Parallel()
	b := newTopicFixture(t)
	r := b.as(b.root).Do(t, "POST", path("users", b.ada, "emails"), form("email", "a@b.example", "skip_confirmation", "true"))
	if !strings.Contains(r.Body, `"confirmed_at":"2026-03-01T12:00:00.000Z"`) {
		t.Error(r.Body)
	}
	// The owner may not.
	r = b.as(b.ada).Do(t, "POST", "/user/emails", form("email", "c@b.example", "skip_confirmation", "true"))
	if !strings.Contains(r.Body, `"confirmed_at":null`) {
		t.Error(r.Body)
	}
	b.as(b.root).Do(t, "DELETE", path("users", b.ada, "emails", httpapitest.JSON[withID](t, r).ID), nil).Want(t, http.StatusNoContent, "")
	b.wantDeeds(t, "email_created by root on ada: Added email address a@b.example",
		"email_created by ada on ada: Added email address c@b.example",
		"email_destroyed by root on ada: Removed email address c@b.example")
}

func TestAnAddressThatIsBadOrInUseIsRefused(t *testing.T) {
	t.Parallel()
	b := newTopicFixture(t)
	b.as(b.bob).Do(t, "POST", "/user/emails", form("email", "x@bücher.example")).WantStatus(t, http.StatusCreated)
	for email, text := range map[string]string{
		"":                              "is invalid",
		"nobody":                        "is invalid",
		"a b@example.com":               "is invalid",
		"adа@example.com":               "is invalid", // Cyrillic а
		"ada@example.com":               "has already been taken",
		"ADA@EXAMPLE.COM":               "has already been taken",
		"bob@example.com":               "has already been taken",
		"X@xn--bcher-kva.example":       "has already been taken",
		strings.Repeat("a", 250) + "@b": "is invalid",
	} {
		b.as(b.ada).Do(t, "POST", "/user/emails", form("email", email)).Want(t, http.StatusBadRequest, `{"message":{"email":["`+text+`"]}}`)
	}
	b.as(b.ada).Do(t, "POST", "/user/emails", nil).Want(t, http.StatusBadRequest, `{"error":"email is missing"}`)
}

func TestAnAddressClaimedByManyAtOnceIsOnes(t *testing.T) {
	t.Parallel()
	b := newTopicFixture(t)
	ada, bob := b.ada.ID, b.bob.ID
	var won atomic.Int32
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			id := ada
			if i%2 == 0 {
				id = bob
			}
			_, err := b.AddEmail(t.Context(), actor(b.root), id, "one@example.org", false)
			switch {
			case err == nil:
				won.Add(1)
			case !fault.Is(err, fault.Rejected):
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := won.Load(); n != 1 {
		t.Errorf("%d claims succeeded", n)
	}
}

func TestARemovedAddressIsNoLongerShownNorCommittedWith(t *testing.T) {
	t.Parallel()
	b := newTopicFixture(t)
	e, err := b.AddEmail(t.Context(), actor(b.root), b.ada.ID, "ada@work.example", true)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.db.Exec(t.Context(), `update users set public_email = 'ADA@work.example', commit_email = $2,
		unconfirmed_email = $2 where id = $1`, b.ada.ID, e.Email); err != nil {
		t.Fatal(err)
	}
	b.pass(time.Hour)
	if err := b.RemoveEmail(t.Context(), actor(b.ada), b.ada.ID, e.ID); err != nil {
		t.Fatal(err)
	}
	u := b.reload(t, b.ada)
	if u.PublicEmail != "" || u.CommitEmail != "" || u.UnconfirmedEmail != nil || !u.UpdatedAt.Equal(b.now) {
		t.Errorf("got %q, %q, %v, %v", u.PublicEmail, u.CommitEmail, u.UnconfirmedEmail, u.UpdatedAt)
	}
	// Addresses that stay are left alone.
	e, err = b.AddEmail(t.Context(), actor(b.root), b.ada.ID, "other@work.example", true)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.db.Exec(t.Context(), `update users set public_email = email, commit_email = '_private' where id = $1`, b.ada.ID); err != nil {
		t.Fatal(err)
	}
	if err := b.RemoveEmail(t.Context(), actor(b.ada), b.ada.ID, e.ID); err != nil {
		t.Fatal(err)
	}
	if u := b.reload(t, b.ada); u.PublicEmail != u.Email || u.CommitEmail != "_private" {
		t.Errorf("got %q, %q", u.PublicEmail, u.CommitEmail)
	}
}

func TestARowThatEqualsThePrimaryAddressStays(t *testing.T) {
	t.Parallel()
	b := newTopicFixture(t)
	id, err := postgres.Value[int64](t.Context(), b.db, `insert into emails (user_id, email, address, created_at, updated_at)
		values ($1, 'Ada@example.com', 'ada@example.com', now(), now()) returning id`, b.ada.ID)
	if err != nil {
		t.Fatal(err)
	}
	b.as(b.ada).Do(t, "DELETE", path("user", "emails", id), nil).Want(t, http.StatusBadRequest,
		`{"message":"400 Bad request - The primary email address cannot be deleted"}`)
}

func TestWhatChangedSinceTheClientSawItIsNotDeleted(t *testing.T) {
	t.Parallel()
	b := newTopicFixture(t)
	e, err := b.AddEmail(t.Context(), actor(b.root), b.ada.ID, "ada@work.example", true)
	if err != nil {
		t.Fatal(err)
	}
	k, err := b.AddSSHKey(t.Context(), actor(b.root), b.ada.ID, newSSHKey(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Attributes().Set(t.Context(), actor(b.root), b.ada.ID, "team", "x"); err != nil {
		t.Fatal(err)
	}
	before := b.clock().Add(-time.Second).Format(http.TimeFormat)
	for _, p := range []string{path("users", b.ada, "emails", e.ID), path("users", b.ada, "keys", k.ID), path("users", b.ada, "custom_attributes", "team")} {
		b.as(b.root).With("If-Unmodified-Since", before).Do(t, "DELETE", p, nil).Want(t, http.StatusPreconditionFailed,
			`{"message":"412 Precondition Failed"}`)
		b.as(b.root).With("If-Unmodified-Since", b.clock().Format(http.TimeFormat)).Do(t, "DELETE", p, nil).Want(t, http.StatusNoContent, "")
	}
}
