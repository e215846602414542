package user

import (
	"slices"
	"testing"
	"time"

	"stithy/internal/kit/emoji"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/postgres/postgrestest"
)

func TestThoseWhoStayNoLongerCountTheOneWhoGoes(t *testing.T) {
	t.Parallel()
	tx := postgrestest.Tx(t)
	ids, err := postgres.Values[int64](t.Context(), tx, `insert into users (username, name, email, projects_limit, created_at, updated_at)
		select 'leaving' || n, 'x', 'leaving' || n || '@example.com', 0, now(), now() from generate_series(1, 3) n returning id`)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(ids)
	leaves, stays, other := ids[0], ids[1], ids[2]
	for _, pair := range [][2]int64{{leaves, stays}, {stays, leaves}, {other, leaves}, {stays, other}} {
		if _, err := tx.Exec(t.Context(), sqlFollow, pair[0], pair[1], time.Now()); err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec(t.Context(), sqlCountFollow, pair[0], pair[1], 1); err != nil {
			t.Fatal(err)
		}
	}
	if err := (&Service{}).unfollow(t.Context(), tx, leaves); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[int64][2]int{stays: {0, 1}, other: {1, 0}} {
		var got [2]int
		if err := tx.QueryRow(t.Context(), `select followers, following from users where id = $1`, id).Scan(&got[0], &got[1]); err != nil || got != want {
			t.Errorf("got %v, %v, want %v", got, err, want)
		}
	}
}

func TestTheDefaultOfAStatusIsAnEmoji(t *testing.T) {
	t.Parallel()
	if !emoji.Known(defaultEmoji) {
		t.Errorf("%s is none", defaultEmoji)
	}
}
