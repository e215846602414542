package postgres_test

import (
	"context"
	"testing"
	"time"

	"stithy/internal/platform/postgres/postgrestest"
)

func TestWhoListensIsToldAgainAfterALostConnection(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	ctx, cancel := context.WithCancel(t.Context())
	messages, losses, ended := make(chan string), make(chan error, 9), make(chan struct{})
	go func() {
		defer close(ended)
		db.Listen(ctx, `odd "name`, func(m string) { messages <- m }, func(err error, _ time.Duration) { losses <- err })
	}()
	heard := func(want string) {
		t.Helper()
		if got := <-messages; got != want {
			t.Fatalf("heard %q, want %q", got, want)
		}
	}
	exec := func(sql string) {
		t.Helper()
		if _, err := db.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		heard("") // from here on
		exec(`select pg_notify('odd "name', 'news')`)
		heard("news")
		exec(`select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and query like 'listen %'`)
		if err := <-losses; err == nil {
			t.Error("lost without a reason")
		}
	}
	heard("")
	cancel()
	<-ended
}
