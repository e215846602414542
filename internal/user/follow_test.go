package user_test

import (
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"stithy/internal/kit/fault"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/platform/postgres"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
)

func (b *topicFixture) wantCounts(t *testing.T, u *user.User, followers, following int) {
	t.Helper()
	if u = b.reload(t, u); u.Followers != followers || u.Following != following {
		t.Errorf("%s has %d followers and follows %d, want %d and %d", u.Username, u.Followers, u.Following, followers, following)
	}
}

func TestFollowingIsBegunOnceAndEndedOnce(t *testing.T) {
	t.Parallel()
	b := newTopicFixture(t)
	ada := b.as(b.ada)
	bob := `{"id":` + path(b.bob)[1:] + `,"username":"bob","name":"Bob","state":"active","locked":false,"avatar_url":null,"web_url":"https://forge.example/bob"}`
	ada.Do(t, "POST", path("users", b.bob, "follow"), nil).Want(t, http.StatusCreated, bob)
	ada.Do(t, "POST", path("users", b.bob, "follow"), nil).Want(t, http.StatusNotModified, "")
	b.wantCounts(t, b.ada, 0, 1)
	b.wantCounts(t, b.bob, 1, 0)
	ada.Do(t, "GET", path("users", b.ada, "following"), nil).Want(t, http.StatusOK, "["+bob+"]")
	ada.Do(t, "GET", path("users", b.bob, "following"), nil).Want(t, http.StatusOK, "[]")
	if got := httpapitest.JSON[[]withID](t, ada.Do(t, "GET", path("users", b.bob, "followers"), nil)); len(got) != 1 || got[0].ID != b.ada.ID {
		t.Errorf("followers: %v", got)
	}
	ada.Do(t, "POST", path("users", b.bob, "unfollow"), nil).Want(t, http.StatusCreated, bob)
	ada.Do(t, "POST", path("users", b.bob, "unfollow"), nil).Want(t, http.StatusNotModified, "")
	b.wantCounts(t, b.ada, 0, 0)
	b.wantCounts(t, b.bob, 0, 0)

	for _, verb := range []string{"follow", "unfollow"} {
		ada.Do(t, "POST", path("users", b.ada, verb), nil).Want(t, http.StatusNotModified, "")
		ada.Do(t, "POST", path("users", int64(987654), verb), nil).Want(t, http.StatusNotFound, `{"message":"404 User Not Found"}`)
		b.anyone.Do(t, "POST", path("users", b.ada, verb), nil).Want(t, http.StatusUnauthorized, `{"message":"401 Unauthorized"}`)
	}
}

func TestWhoFollowsWhomIsHiddenWithTheProfile(t *testing.T) {
	t.Parallel()
	b := newTopicFixture(t)
	shy := usertest.New(t, b.db, usertest.With("private_profile", true))
	for _, list := range []string{"followers", "following"} {
		at := path("users", shy, list)
		b.anyone.Do(t, "GET", at, nil).Want(t, http.StatusForbidden, `{"message":"403 Forbidden - Not authorized!"}`)
		b.as(b.ada).Do(t, "GET", at, nil).Want(t, http.StatusNotFound, `{"message":"404 User Not Found"}`)
		b.as(shy).Do(t, "GET", at, nil).Want(t, http.StatusOK, "[]")
		b.as(b.root).Do(t, "GET", at, nil).Want(t, http.StatusOK, "[]")
	}
}

func TestThoseShutOutAreNotListed(t *testing.T) {
	t.Parallel()
	b := newTopicFixture(t)
	gone := usertest.New(t, b.db, usertest.In(user.Banned))
	for _, pair := range [][2]*user.User{{gone, b.ada}, {b.ada, gone}, {b.bob, b.ada}, {b.ada, b.bob}} {
		if err := b.Follow(t.Context(), pair[0].ID, pair[1].ID); err != nil {
			t.Fatal(err)
		}
	}
	for _, list := range []string{"followers", "following"} {
		got := httpapitest.JSON[[]withID](t, b.as(b.bob).Do(t, "GET", path("users", b.ada, list), nil))
		if len(got) != 1 || got[0].ID != b.bob.ID {
			t.Errorf("%s: %v", list, got)
		}
	}
}

func TestNobodyFollowsMoreThanThreeHundred(t *testing.T) {
	t.Parallel()
	b := newTopicFixture(t)
	if _, err := b.db.Exec(t.Context(), `
		with made as (
			insert into users (username, name, email, projects_limit, created_at, updated_at)
			select 'many' || n, 'Many', 'many' || n || '@example.com', 0, now(), now() from generate_series(1, 299) n returning id),
		followed as (insert into follows (follower_id, followed_id, created_at) select $1, id, now() from made)
		update users set following = 299 where id = $1`, b.ada.ID); err != nil {
		t.Fatal(err)
	}
	ada := b.as(b.ada)
	ada.Do(t, "POST", path("users", b.bob, "follow"), nil).WantStatus(t, http.StatusCreated)
	ada.Do(t, "POST", path("users", b.bob, "follow"), nil).Want(t, http.StatusNotModified, "")
	ada.Do(t, "POST", path("users", b.root, "follow"), nil).Want(t, http.StatusBadRequest,
		`{"message":"You can't follow more than 300 users. To follow more users, unfollow some others."}`)
	r := ada.Do(t, "GET", path("users", b.ada, "following")+"?per_page=100&page=3", nil).WantStatus(t, http.StatusOK)
	if n := len(httpapitest.JSON[[]withID](t, r)); n != 100 || r.Header.Get("X-Total") != "300" || r.Header.Get("X-Next-Page") != "" {
		t.Errorf("%d, %v", n, r.Header)
	}
}

func TestCountersKeepUpWithManyWhoFollowAtOnce(t *testing.T) {
	t.Parallel()
	b := newTopicFixture(t)
	crowd := make([]*user.User, 50)
	for i := range crowd {
		crowd[i] = usertest.New(t, b.db)
	}
	atOnce(func(i int) {
		if err := b.Follow(t.Context(), crowd[i].ID, b.ada.ID); err != nil {
			t.Error(err)
		}
		// And back: two who follow each other must not wait for each other.
		if err := b.Follow(t.Context(), b.ada.ID, crowd[i].ID); err != nil {
			t.Error(err)
		}
	})
	b.wantCounts(t, b.ada, 50, 50)
	atOnce(func(i int) {
		if i%2 == 0 {
			if err := b.StopFollowing(t.Context(), crowd[i].ID, b.ada.ID); err != nil {
				t.Error(err)
			}
		}
	})
	b.wantCounts(t, b.ada, 25, 50)
	b.wantCounts(t, crowd[0], 1, 0)
	b.wantCounts(t, crowd[1], 1, 1)

	// One pair, many times: one success each way.
	var begun, ended atomic.Int32
	atOnce(func(int) { count(t, &begun, b.Follow(t.Context(), b.bob.ID, b.root.ID)) })
	b.wantCounts(t, b.root, 1, 0)
	atOnce(func(int) { count(t, &ended, b.StopFollowing(t.Context(), b.bob.ID, b.root.ID)) })
	b.wantCounts(t, b.root, 0, 0)
	if begun.Load() != 1 || ended.Load() != 1 {
		t.Errorf("begun %d times, ended %d times", begun.Load(), ended.Load())
	}
	wrong, err := postgres.Value[int](t.Context(), b.db, `select count(*) from users u
		where following <> (select count(*) from follows where follower_id = u.id)
		or followers <> (select count(*) from follows where followed_id = u.id)`)
	if err != nil || wrong != 0 {
		t.Errorf("%d counters are wrong, %v", wrong, err)
	}
}

func count(t *testing.T, won *atomic.Int32, err error) {
	switch {
	case err == nil:
		won.Add(1)
	case !fault.Is(err, fault.NotModified):
		t.Error(err)
	}
}

func atOnce(do func(i int)) {
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() { do(i) })
	}
	wg.Wait()
}
