package errortracking_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi/httpapitest"
)

func TestErrorsAreFilteredAndOrdered(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	k := w.enable(t)
	for n, e := range []string{
		`"message":"disk full","environment":"production","release":"1"`, `"message":"disk full","environment":"staging","release":"2"`,
		`"message":"no route","environment":"staging","release":"1"`, `"message":"too hot","environment":"production","release":"1","transaction":"GET /disk"`,
	} {
		w.turn(time.Minute)
		w.report(t, k, fmt.Sprintf(`{"event_id":"%032x",%s}`, n+1, e))
	}
	names := func(query string) (all []string) {
		t.Helper()
		for _, e := range w.errorsOf(t, query) {
			all = append(all, e.Name)
		}
		return all
	}
	w.as(access.Developer).Do(t, "PUT", w.at("errors/%d", w.errorsOf(t, "?query=route")[0].ID), object{"status": "resolved"}).WantStatus(t, http.StatusOK)
	for query, want := range map[string][]string{
		"":                                       {"too hot", "no route", "disk full"},
		"?sort=first_seen":                       {"too hot", "no route", "disk full"},
		"?sort=frequency":                        {"disk full", "too hot", "no route"},
		"?status=unresolved":                     {"too hot", "disk full"},
		"?status=resolved":                       {"no route"},
		"?status=ignored":                        nil,
		"?environment=staging":                   {"no route", "disk full"},
		"?environment=staging&status=unresolved": {"disk full"},
		"?release=2":                             {"disk full"},
		"?query=DISK":                            {"too hot", "disk full"},
		"?query=%25":                             nil,
		"?per_page=1&page=2":                     {"no route"},
	} {
		if got := names(query); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", query, got, want)
		}
	}
	w.as(access.Reporter).Do(t, "GET", w.at("errors?sort=x"), nil).Want(t, http.StatusBadRequest, `{"error":"sort does not have a valid value"}`)
}

func TestAnErrorIsShownWithWhereAndWhenItHappened(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	k := w.enable(t)
	for n := range 3 {
		w.report(t, k, fmt.Sprintf(`{"event_id":"%032x","message":"a","release":"r%d","environment":"e","timestamp":%q}`,
			n+1, n%2, w.time().Add(-time.Duration(n)*time.Hour).Format(time.RFC3339)))
	}
	e := w.errorsOf(t, "")[0]
	r := w.as(access.Reporter).Do(t, "GET", w.at("errors/%d", e.ID), nil).WantStatus(t, http.StatusOK)
	const places = `"releases":[{"name":"r0","events_count":2,"first_seen":"2024-05-02T13:04:05.000Z","last_seen":"2024-05-02T15:04:05.000Z"},` +
		`{"name":"r1","events_count":1,"first_seen":"2024-05-02T14:04:05.000Z","last_seen":"2024-05-02T14:04:05.000Z"}],` +
		`"environments":[{"name":"e","events_count":3,"first_seen":"2024-05-02T13:04:05.000Z","last_seen":"2024-05-02T15:04:05.000Z"}],` +
		`"hours":[{"hour":"2024-05-02T13:00:00.000Z","events_count":1},{"hour":"2024-05-02T14:00:00.000Z","events_count":1},{"hour":"2024-05-02T15:00:00.000Z","events_count":1}]}`
	if !strings.HasSuffix(r.Body, places) {
		t.Errorf("got %s", r.Body)
	}
	events := w.as(access.Reporter).Do(t, "GET", w.at("errors/%d/events?per_page=2", e.ID), nil).WantStatus(t, http.StatusOK)
	if got := httpapitest.JSON[[]struct {
		EventID string `json:"event_id"`
		Report  struct{ Message string }
	}](t, events); len(got) != 2 || got[0].EventID != fmt.Sprintf("%032x", 3) || got[0].Report.Message != "a" || events.Header.Get("X-Total") != "3" {
		t.Errorf("got %s", events.Body)
	}
}

func TestReportersReadErrorsAndDevelopersResolveThem(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	k := w.enable(t)
	w.report(t, k, `{"message":"a"}`)
	one := w.at("errors/%d", w.errorsOf(t, "")[0].ID)
	for _, path := range []string{w.at("errors"), one, one + "/events"} {
		w.Do(t, "GET", path, nil).Want(t, http.StatusUnauthorized, unsigned)
		w.asPerson(w.stranger).Do(t, "GET", path, nil).Want(t, http.StatusForbidden, refused)
		w.as(access.Guest).Do(t, "GET", path, nil).Want(t, http.StatusForbidden, refused)
		w.as(access.Reporter).Do(t, "GET", path, nil).WantStatus(t, http.StatusOK)
	}
	w.as(access.Reporter).Do(t, "PUT", one, object{"status": "resolved"}).Want(t, http.StatusForbidden, refused)
	w.as(access.Developer).Do(t, "PUT", one, object{"status": "gone"}).Want(t, http.StatusBadRequest, `{"error":"status does not have a valid value"}`)
	w.as(access.Developer).Do(t, "PUT", one, object{}).Want(t, http.StatusBadRequest, `{"error":"status is missing"}`)
	w.as(access.Developer).Do(t, "PUT", one, object{"status": "resolved"}).WantStatus(t, http.StatusOK)
	w.as(access.Developer).Do(t, "PUT", w.at("errors/987654321"), object{"status": "resolved"}).Want(t, http.StatusNotFound, `{"message":"404 Error Not Found"}`)
	w.as(access.Reporter).Do(t, "GET", w.at("errors/987654321/events"), nil).Want(t, http.StatusNotFound, `{"message":"404 Error Not Found"}`)
}

func TestAnErrorThatIsResolvedInAReleaseComesBackInThatReleaseAndLaterOnes(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	k := w.enable(t)
	n := 0
	happens := func(release, want string) {
		t.Helper()
		n++
		w.turn(time.Minute)
		w.report(t, k, fmt.Sprintf(`{"event_id":"%032x","message":"a","release":%q}`, n, release))
		if got := w.errorsOf(t, ""); len(got) != 1 || got[0].Status != want || got[0].Events != n {
			t.Errorf("after %s: %+v", release, got)
		}
	}
	happens("shop@1.4.0", "unresolved")
	one, dev := w.at("errors/%d", w.errorsOf(t, "")[0].ID), w.as(access.Developer)
	for _, again := range []string{"shop@1.5.0", "shop@1.6.0", "main"} {
		r := dev.Do(t, "PUT", one, object{"status": "resolved", "release": "shop@1.5.0"}).WantStatus(t, http.StatusOK)
		if !strings.Contains(r.Body, `"resolved_release":"shop@1.5.0"`) {
			t.Error(r.Body)
		}
		happens("shop@1.4.9", "resolved")
		happens(again, "unresolved")
	}
	dev.Do(t, "PUT", one, object{"status": "ignored", "release": "1"}).Want(t, http.StatusBadRequest, `{"message":{"release":["is for errors that are resolved"]}}`)
	dev.Do(t, "PUT", one, object{"status": "resolved", "release": strings.Repeat("é", 256)}).
		Want(t, http.StatusBadRequest, `{"message":{"release":["is too long (maximum is 255 characters)"]}}`)
	dev.Do(t, "PUT", one, object{"status": "resolved"}).WantStatus(t, http.StatusOK)
	happens("shop@1.0", "unresolved")
}
