package errortracking_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"stithy/internal/errortracking"
	"stithy/internal/kit/httpapi"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/ratelimit"
)

// node is the door of another process of the same instance: they share nothing but the database.
func (w *fixture) node() http.Handler {
	c := w.core
	s := errortracking.New(errortracking.Deps{
		DB: c.DB, Bus: c.Bus, Box: c.Box, Settings: c.Settings, Projects: c.Projects, Limiter: ratelimit.New(c.Clock, nil), Clock: c.Clock,
		ExternalURL: c.ExternalURL.String(), Names: c.Instance.Names,
	})
	door := &httpapi.Server{
		Dialect: s.Dialect(), Endpoints: s.Endpoints(), Limits: c.Settings, Limiter: ratelimit.New(c.Clock, nil), Clock: c.Clock, Log: c.Log,
	}
	return door.Handler()
}

// Groups and counts follow from the events that were sent, not from the order that they came in, the nodes that took them, how many came together, and
// how often each was sent.
func TestOrderNodesAndRetriesChangeNeitherGroupsNorCounts(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	k := w.enable(t)
	// Nobody but the test of quotas spends one.
	if _, err := w.core.DB.Exec(t.Context(), `update error_tracking_settings set events_per_minute = 1000000`); err != nil {
		t.Fatal(err)
	}
	nodes := []http.Handler{w.door, w.node()}
	send := func(node int, events []string) error {
		body := "{}\n{\"type\":\"event\"}\n" + strings.Join(events, "\n{\"type\":\"event\"}\n")
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, w.intake("envelope"), strings.NewReader(body))
		auth(k)(r)
		rec := httptest.NewRecorder()
		nodes[node].ServeHTTP(rec, r.WithContext(httpapi.WithRecorder(r.Context(), &httpapi.Recorder{Address: httpapitest.Address, RequestID: "test"})))
		if rec.Code != http.StatusOK {
			return fmt.Errorf("%d %s", rec.Code, rec.Body)
		}
		return nil
	}
	// counted is all that is counted. It is removed for the next try.
	counted := func() ([]string, error) {
		rows, err := postgres.Values[string](t.Context(), w.core.DB, `select concat_ws(' ', encode(e.fingerprint, 'hex'), e.name, e.message, e.level, e.events, e.people, e.first_seen,
			e.last_seen, e.status, (select string_agg(concat_ws(' ', hour, events), ',' order by hour) from error_hours where error_id = e.id),
			(select string_agg(concat_ws(' ', kind, value, events, first_seen, last_seen), ',' order by kind, value) from error_places where error_id = e.id),
			(select errors from error_tracking_settings)) from tracked_errors e order by fingerprint`)
		if err == nil {
			_, err = w.core.DB.Exec(t.Context(), `with a as (delete from tracked_errors), b as (update error_tracking_settings set errors = 0) delete from error_event_ids`)
		}
		return rows, err
	}
	rapid.Check(t, func(t *rapid.T) {
		var events []string
		for n := range rapid.IntRange(1, 10).Draw(t, "events") {
			kind := rapid.SampledFrom([]string{`"message":"disk of host 7 is full"`, `"message":"disk of host 12 is full"`, `"message":"no route"`,
				`"message":"x","fingerprint":["own"]`, `"exception":[{"type":"E","stacktrace":{"frames":[{"function":"f","lineno":5}]}}]`,
				`"exception":[{"type":"E","stacktrace":{"frames":[{"function":"f","lineno":9}]}}]`}).Draw(t, "kind")
			// No two of one time: which of them is the latest would be a matter of their ids.
			at := w.time().Add(-time.Duration(n)*time.Second - time.Duration(rapid.IntRange(0, 3).Draw(t, "hours"))*time.Hour)
			events = append(events, fmt.Sprintf(`{"event_id":"%032x",%s,"timestamp":%q,"level":%q,"user":{"id":%d},"release":"r%d","environment":"e%d"}`, n+1, kind,
				at.Format(time.RFC3339), rapid.SampledFrom([]string{"error", "fatal", "warning"}).Draw(t, "level"), rapid.IntRange(0, 2).Draw(t, "person"),
				rapid.IntRange(0, 2).Draw(t, "release"), rapid.IntRange(0, 1).Draw(t, "environment")))
		}
		if err := send(0, events); err != nil {
			t.Fatal(err)
		}
		want, err := counted()
		if err != nil {
			t.Fatal(err)
		}
		sent := append([]string{}, events...)
		for _, again := range rapid.SliceOfN(rapid.IntRange(0, len(events)-1), 0, 6).Draw(t, "again") {
			sent = append(sent, events[again])
		}
		sent = rapid.Permutation(sent).Draw(t, "order")
		var group sync.WaitGroup
		failures := make(chan error, len(sent))
		for len(sent) > 0 {
			n := rapid.IntRange(1, min(4, len(sent))).Draw(t, "together")
			node, part := rapid.IntRange(0, 1).Draw(t, "node"), sent[:n]
			sent = sent[n:]
			group.Go(func() {
				if err := send(node, part); err != nil {
					failures <- err
				}
			})
		}
		group.Wait()
		close(failures)
		for err := range failures {
			t.Error(err)
		}
		got, err := counted()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%s", diff)
		}
	})
}
