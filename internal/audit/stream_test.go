package audit_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stithy/internal/audit"
	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/platform/postgres"
	"stithy/internal/project/projecttest"
	"stithy/internal/user"
)

// receiver is a destination: it keeps the types of the events of each request that it takes.
type receiver struct {
	*httptest.Server
	mu       sync.Mutex
	token    string
	batches  [][]string
	ids      []int64
	calls    int
	problems []string
	answer   func(w http.ResponseWriter, r *http.Request) bool // reports whether it took the events; nil: it does
}

func newReceiver(t testing.TB) *receiver {
	r := &receiver{}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, err := io.ReadAll(q.Body)
	if err != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls++
	timestamp := q.Header.Get("X-Svc-Event-Streaming-Timestamp")
	if got, want := q.Header.Get("X-Svc-Event-Streaming-Signature"), audit.Signature([]byte(r.token), timestamp, body); got != want || q.Method != "POST" {
		r.problems = append(r.problems, fmt.Sprintf("%s signed %q, not %q", q.Method, got, want))
	}
	if strings.Contains(fmt.Sprint(q.Header, string(body)), r.token) {
		r.problems = append(r.problems, "the token is sent along")
	}
	var sent struct {
		Events []struct {
			ID        int64  `json:"id"`
			EventType string `json:"event_type"`
		} `json:"events"`
	}
	if err := json.Unmarshal(body, &sent); err != nil || len(sent.Events) == 0 {
		r.problems = append(r.problems, fmt.Sprint("a body that is none: ", err))
		return
	}
	first, last := sent.Events[0].ID, sent.Events[len(sent.Events)-1].ID
	if got := q.Header.Get("X-Svc-Event-Streaming-Delivery"); !strings.HasSuffix(got, fmt.Sprintf("-%d-%d", first, last)) {
		r.problems = append(r.problems, "the delivery is called "+got)
	}
	if r.answer != nil && !r.answer(w, q) {
		return
	}
	var types []string
	for _, e := range sent.Events {
		types, r.ids = append(types, e.EventType), append(r.ids, e.ID)
	}
	r.batches = append(r.batches, types)
}

// answering changes how the receiver answers.
func (r *receiver) answering(answer func(http.ResponseWriter, *http.Request) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = answer
}

func refuse(status int) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(status); return false }
}

// took are the types of all events that were taken, in their order.
func (r *receiver) took() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Concat(r.batches...)
}

func (r *receiver) check(t testing.TB) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.problems {
		t.Error(p)
	}
}

// streamed is a destination as the API shows it.
type streamed struct {
	ID          int64      `json:"id"`
	Name        string     `json:"name"`
	URL         string     `json:"destination_url"`
	EventTypes  []string   `json:"event_types"`
	Active      bool       `json:"active"`
	Behind      int        `json:"behind"`
	BehindSince *time.Time `json:"behind_since"`
	Failures    int        `json:"failures"`
	LastFailure *string    `json:"last_failure"`
	DeadLetters int        `json:"dead_letters"`
	Token       string     `json:"verification_token"`
}

const ofInstance = "/admin/audit_event_destinations"

func (w *fixture) ofHouse() string {
	return fmt.Sprintf("/groups/%d/audit_event_destinations", w.house.ID)
}

// stream makes a destination that leads to a receiver.
func (w *fixture) stream(t testing.TB, as *user.User, path string, r *receiver, more object) streamed {
	t.Helper()
	w.As(t, w.root).Do(t, "PUT", "/application/settings", object{"allow_local_requests_from_web_hooks_and_services": true}).WantStatus(t, http.StatusOK)
	body := object{"name": "siem", "destination_url": r.URL + "/in"}
	for name, value := range more {
		body[name] = value
	}
	d := httpapitest.JSON[streamed](t, w.As(t, as).Do(t, "POST", path, body).WantStatus(t, http.StatusCreated))
	r.token = d.Token
	// What was written until now is sent, too, as soon as it is sealed: it goes first, so that tests see their own events.
	w.seal(t)
	w.deliver(t, d.ID)
	r.mu.Lock()
	r.batches, r.ids, r.calls = nil, nil, 0
	r.mu.Unlock()
	return d
}

func (w *fixture) deliver(t testing.TB, id int64) {
	t.Helper()
	if err := w.Audit.Deliver(t.Context(), id); err != nil {
		t.Fatal(err)
	}
}

// shownAs is how a destination stands.
func (w *fixture) shownAs(t testing.TB, path string, id int64) streamed {
	t.Helper()
	all := httpapitest.JSON[[]streamed](t, w.As(t, w.root).Do(t, "GET", path, nil).WantStatus(t, http.StatusOK))
	at := slices.IndexFunc(all, func(d streamed) bool { return d.ID == id })
	if at < 0 || all[at].Token != "" {
		t.Fatalf("%d is not among %+v, or its secret is told again", id, all)
	}
	return all[at]
}

func TestEventsAreSentInTheOrderOfTheirSeals(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	r := newReceiver(t)
	d := w.stream(t, w.root, ofInstance, r, nil)
	var want []string
	for n := range 230 {
		want = append(want, fmt.Sprintf("event_%d", n))
	}
	w.record(t, w.root, w.ofGroup(), want[:120]...)
	w.seal(t)
	w.record(t, w.root, w.ofProject(), want[120:]...)
	w.seal(t)
	if s := w.shownAs(t, ofInstance, d.ID); s.Behind != 230 || s.BehindSince == nil {
		t.Errorf("behind by %d since %v", s.Behind, s.BehindSince)
	}
	w.deliver(t, d.ID)
	w.deliver(t, d.ID) // there is nothing more
	if diff := cmp.Diff(want, r.took()); diff != "" {
		t.Error(diff)
	}
	for _, b := range r.batches {
		if len(b) > 100 {
			t.Errorf("%d events at once", len(b))
		}
	}
	if s := w.shownAs(t, ofInstance, d.ID); s.Behind != 0 || s.BehindSince != nil || s.LastFailure != nil {
		t.Errorf("got %+v", s)
	}
	r.check(t)
}

func TestARowThatCommitsLateIsSentAsWell(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	r := newReceiver(t)
	d := w.stream(t, w.root, ofInstance, r, nil)
	tx, err := w.DB.Pool().Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Audit.Record(t.Context(), tx, event(bus.AuditRecord{Type: "late", Entity: w.ofGroup()})); err != nil {
		t.Fatal(err)
	}
	w.record(t, w.root, w.ofGroup(), "early")
	w.seal(t)
	w.deliver(t, d.ID)
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.seal(t)
	w.deliver(t, d.ID)
	if diff := cmp.Diff([]string{"early", "late"}, r.took()); diff != "" {
		t.Error(diff)
	}
}

func TestAReceiverThatRefusesIsTriedAgainUntilTheEventIsGivenUp(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	r := newReceiver(t)
	d := w.stream(t, w.root, ofInstance, r, nil)
	w.record(t, w.root, w.ofGroup(), "first", "second", "third")
	w.seal(t)
	r.answering(refuse(http.StatusServiceUnavailable))
	for n := range 7 {
		w.deliver(t, d.ID)
		w.deliver(t, d.ID) // it waits first
		if s := w.shownAs(t, ofInstance, d.ID); r.calls != n+1 || s.Failures != n+1 || s.Behind != 3 || s.LastFailure == nil ||
			*s.LastFailure != "The receiver answered with status 503." {
			t.Fatalf("after %d calls: %+v", r.calls, s)
		}
		w.Turn(time.Hour)
	}
	w.deliver(t, d.ID) // the last try, and the next event
	if s := w.shownAs(t, ofInstance, d.ID); s.DeadLetters != 1 || s.Failures != 1 || s.Behind != 2 {
		t.Fatalf("got %+v", s)
	}
	r.answering(nil)
	w.Turn(time.Hour)
	w.deliver(t, d.ID)
	if diff := cmp.Diff([]string{"second", "third"}, r.took()); diff != "" {
		t.Error(diff)
	}
	s := httpapitest.JSON[streamed](t, w.As(t, w.root).Do(t, "POST", fmt.Sprintf("%s/%d/retry", ofInstance, d.ID), nil).WantStatus(t, http.StatusAccepted))
	if s.DeadLetters != 1 {
		t.Errorf("got %+v", s)
	}
	w.deliver(t, d.ID)
	if s := w.shownAs(t, ofInstance, d.ID); !slices.Equal(r.took(), []string{"second", "third", "first"}) || s.DeadLetters != 0 || s.LastFailure != nil {
		t.Errorf("got %q, %+v", r.took(), s)
	}
	r.check(t)
}

func TestADeadLetterThatIsRefusedAgainStaysAndHoldsNothingUp(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	r := newReceiver(t)
	d := w.stream(t, w.root, ofInstance, r, nil)
	w.record(t, w.root, w.ofGroup(), "poison", "good")
	w.seal(t)
	r.answering(func(rw http.ResponseWriter, q *http.Request) bool { return refuse(http.StatusBadRequest)(rw, q) })
	for range 7 {
		w.deliver(t, d.ID)
		w.Turn(time.Hour)
	}
	calls := 0
	r.answering(func(rw http.ResponseWriter, _ *http.Request) bool { // the poison is the first of two calls
		if calls++; calls == 1 {
			rw.WriteHeader(http.StatusBadRequest)
			return false
		}
		return true
	})
	w.deliver(t, d.ID)
	calls = 0
	w.As(t, w.root).Do(t, "POST", fmt.Sprintf("%s/%d/retry", ofInstance, d.ID), nil).WantStatus(t, http.StatusAccepted)
	w.record(t, w.root, w.ofGroup(), "later")
	w.seal(t)
	w.deliver(t, d.ID)
	if got := slices.DeleteFunc(r.took(), func(s string) bool { return strings.HasPrefix(s, "retry_") }); !slices.Equal(got, []string{"good", "later"}) {
		t.Errorf("got %q", got)
	}
	if s := w.shownAs(t, ofInstance, d.ID); s.DeadLetters != 1 || s.Behind != 0 {
		t.Errorf("got %+v", s)
	}
}

// What was taken and not noted is sent again, under the same ids; what was not taken is not lost.
func TestNothingIsLostWhenASenderOrAReceiverDiesInTheMiddle(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	r := newReceiver(t)
	d := w.stream(t, w.root, ofInstance, r, nil)
	w.record(t, w.root, w.ofGroup(), "first", "second")
	w.seal(t)

	// The receiver dies while it answers.
	r.answering(func(rw http.ResponseWriter, _ *http.Request) bool {
		if conn, _, err := rw.(http.Hijacker).Hijack(); err == nil {
			_ = conn.Close()
		}
		return false
	})
	w.deliver(t, d.ID)
	if s := w.shownAs(t, ofInstance, d.ID); s.Failures != 1 || s.Behind != 2 || *s.LastFailure != "The receiver could not be reached, or it ended the connection." {
		t.Errorf("got %+v", s)
	}
	w.Turn(time.Hour)

	// The sender stops after the receiver took the events, before it could note it.
	stopped, stop := context.WithCancel(t.Context())
	r.answering(func(http.ResponseWriter, *http.Request) bool { stop(); return true })
	if err := w.Audit.Deliver(stopped, d.ID); err != nil {
		t.Errorf("a sender that stops: %v", err)
	}
	if s := w.shownAs(t, ofInstance, d.ID); s.Behind != 2 || s.Failures != 1 {
		t.Errorf("got %+v", s)
	}
	r.answering(nil)
	w.deliver(t, d.ID)
	if diff := cmp.Diff([]string{"first", "first", "second"}, r.took()); diff != "" || r.ids[0] != r.ids[1] {
		t.Error(r.ids, diff)
	}

	// A sender that died keeps its lease, and nobody else sends until it is over.
	w.record(t, w.root, w.ofGroup(), "third")
	w.seal(t)
	w.exec(t, `update audit_event_destinations set lease = 'dead', leased_until = $1`, w.Now().Add(time.Minute))
	w.deliver(t, d.ID)
	if len(r.took()) != 3 {
		t.Errorf("two send at once: %q", r.took())
	}
	w.Turn(2 * time.Minute)
	w.deliver(t, d.ID)
	if diff := cmp.Diff([]string{"first", "first", "second", "third"}, r.took()); diff != "" {
		t.Error(diff)
	}
	r.check(t)
}

func TestSendersAtOnceSendEachEventOnce(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	r := newReceiver(t)
	d := w.stream(t, w.root, ofInstance, r, nil)
	w.record(t, w.root, w.ofGroup(), "first", "second")
	w.seal(t)
	arrived, hold := make(chan struct{}, 4), make(chan struct{})
	r.answering(func(http.ResponseWriter, *http.Request) bool { arrived <- struct{}{}; <-hold; return true })
	var first sync.WaitGroup
	first.Go(func() {
		if err := w.Audit.Deliver(t.Context(), d.ID); err != nil {
			t.Error(err)
		}
	})
	<-arrived
	for range 3 { // while the first one sends
		if err := w.Audit.Deliver(t.Context(), d.ID); err != nil {
			t.Error(err)
		}
	}
	close(hold)
	first.Wait()
	if diff := cmp.Diff([]string{"first", "second"}, r.took()); diff != "" {
		t.Error(diff)
	}
}

func TestADestinationOfAGroupIsSentWhatIsInItAndOfItsTypes(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	all, some := newReceiver(t), newReceiver(t)
	owner := w.people[access.Owner]
	below := grouptest.New(t, w.DB, grouptest.Under(w.house), grouptest.Named("below"))
	deep := projecttest.New(t, w.DB, below.ID, projecttest.Named("deep"))
	other := grouptest.New(t, w.DB, grouptest.Named("other"))
	whole := w.stream(t, owner, w.ofHouse(), all, nil)
	part := w.stream(t, owner, w.ofHouse(), some, object{"event_types": []string{"kept", "kept"}})
	all.mu.Lock()
	all.batches = nil
	all.mu.Unlock()
	w.record(t, w.root, w.ofGroup(), "kept")
	w.record(t, w.root, other.Entity(), "kept", "of_others")
	w.record(t, w.root, bus.Instance(), "of_instance")
	w.record(t, w.root, bus.Entity{Kind: bus.OfUser, ID: w.house.ID, Path: "house/x"}, "of_user")
	w.record(t, w.root, deep.Entity(), "deep")
	w.record(t, w.root, below.Entity(), "below", "kept")
	w.record(t, w.root, bus.Entity{Kind: bus.OfGroup, ID: 987654, Path: "house/gone"}, "gone")
	w.record(t, w.root, bus.Entity{Kind: bus.OfGroup, ID: 987655, Path: "house-of-others/gone"}, "gone_elsewhere")
	w.seal(t)
	if s := w.shownAs(t, w.ofHouse(), part.ID); s.Behind != 2 {
		t.Errorf("behind by %d", s.Behind)
	}
	w.deliver(t, whole.ID)
	w.deliver(t, part.ID)
	mine := slices.DeleteFunc(all.took(), func(s string) bool { return strings.HasSuffix(s, "destination") })
	if diff := cmp.Diff([]string{"kept", "deep", "below", "kept", "gone"}, mine); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"kept", "kept"}, some.took()); diff != "" {
		t.Error(diff)
	}
	all.check(t)
	some.check(t)
}

func TestDestinationsAreManagedByOwnersOfTopLevelGroupsAndAdministrators(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	below := grouptest.New(t, w.DB, grouptest.Under(w.house), grouptest.Named("below"))
	hidden := grouptest.New(t, w.DB, grouptest.Named("hidden"))
	good := object{"name": "siem", "destination_url": "https://1.1.1.1/x"}
	made := httpapitest.JSON[streamed](t, w.As(t, w.people[access.Owner]).Do(t, "POST", w.ofHouse(), good).WantStatus(t, http.StatusCreated))
	if len(made.Token) < 32 || !made.Active {
		t.Errorf("got %+v", made)
	}
	one := fmt.Sprintf("%s/%d", w.ofHouse(), made.ID)
	for _, c := range []struct {
		as     *user.User
		path   string
		status int
	}{
		{w.people[access.Owner], ofInstance, 403}, {w.auditor, ofInstance, 403}, {w.auditor, w.ofHouse(), 403}, {w.people[access.Maintainer], w.ofHouse(), 403},
		{w.stranger, fmt.Sprintf("/groups/%d/audit_event_destinations", hidden.ID), 404},
		{w.people[access.Owner], fmt.Sprintf("/groups/%d/audit_event_destinations", below.ID), 404},
	} {
		w.As(t, c.as).Do(t, "GET", c.path, nil).WantStatus(t, c.status)
		w.As(t, c.as).Do(t, "POST", c.path, good).WantStatus(t, c.status)
		w.As(t, c.as).Do(t, "PUT", fmt.Sprintf("%s/%d", c.path, made.ID), good).WantStatus(t, c.status)
		w.As(t, c.as).Do(t, "DELETE", fmt.Sprintf("%s/%d", c.path, made.ID), nil).WantStatus(t, c.status)
	}
	// One of a group is none of the instance.
	w.As(t, w.root).Do(t, "PUT", fmt.Sprintf("%s/%d", ofInstance, made.ID), good).WantStatus(t, http.StatusNotFound)

	as := w.As(t, w.people[access.Owner])
	for _, url := range []string{"http://127.0.0.1/x", "http://10.0.0.1/x", "http://[::1]/x", "ftp://1.1.1.1/x", "https://u:p@1.1.1.1/x", "nonsense", ""} {
		as.Do(t, "POST", w.ofHouse(), object{"name": "x", "destination_url": url}).WantStatus(t, http.StatusBadRequest)
		if url != "" {
			as.Do(t, "PUT", one, object{"destination_url": url}).WantStatus(t, http.StatusBadRequest)
		}
	}
	as.Do(t, "PUT", one, object{"name": strings.Repeat("x", 73)}).WantStatus(t, http.StatusBadRequest)
	changed := httpapitest.JSON[streamed](t, as.Do(t, "PUT", one, object{"name": "other", "active": false, "event_types": []string{"a", "b"}, "rotate_token": true}).
		WantStatus(t, http.StatusOK))
	if changed.Name != "other" || changed.Active || !slices.Equal(changed.EventTypes, []string{"a", "b"}) || changed.Token == made.Token || changed.Token == "" {
		t.Errorf("got %+v", changed)
	}
	sealed, err := postgres.Value[[]byte](t.Context(), w.DB, `select sealed_token from audit_event_destinations`)
	if err != nil || strings.Contains(string(sealed), changed.Token) {
		t.Errorf("the token is kept as it is: %v", err)
	}
	for range 4 {
		as.Do(t, "POST", w.ofHouse(), good).WantStatus(t, http.StatusCreated)
	}
	as.Do(t, "POST", w.ofHouse(), good).WantStatus(t, http.StatusBadRequest)
	as.Do(t, "DELETE", one, nil).WantStatus(t, http.StatusNoContent)
	as.Do(t, "DELETE", one, nil).WantStatus(t, http.StatusNotFound)

	free := newFixture(t, "STITHY_INSTANCE_TIER=free")
	free.As(t, free.root).Do(t, "GET", ofInstance, nil).WantStatus(t, http.StatusNotFound)
}

func TestTheLocalNetworkIsNotCalledOnceItIsClosedAgain(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	r := newReceiver(t)
	d := w.stream(t, w.root, ofInstance, r, nil)
	w.As(t, w.root).Do(t, "PUT", "/application/settings", object{"allow_local_requests_from_web_hooks_and_services": false}).WantStatus(t, http.StatusOK)
	w.seal(t)
	w.deliver(t, d.ID)
	if s := w.shownAs(t, ofInstance, d.ID); r.calls != 0 || s.LastFailure == nil || *s.LastFailure != "Requests to localhost are not allowed." {
		t.Errorf("%d calls, %+v", r.calls, s)
	}
	// It can still be paused.
	w.As(t, w.root).Do(t, "PUT", fmt.Sprintf("%s/%d", ofInstance, d.ID), object{"active": false}).WantStatus(t, http.StatusOK)
}

func TestAReceiverThatLeadsElsewhereIsNotFollowed(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	r, other := newReceiver(t), newReceiver(t)
	d := w.stream(t, w.root, ofInstance, r, nil)
	w.record(t, w.root, w.ofGroup(), "first")
	w.seal(t)
	r.answering(func(rw http.ResponseWriter, q *http.Request) bool {
		http.Redirect(rw, q, other.URL, http.StatusTemporaryRedirect)
		return false
	})
	w.deliver(t, d.ID)
	if s := w.shownAs(t, ofInstance, d.ID); other.calls != 0 || s.Failures != 1 {
		t.Errorf("%d calls, %+v", other.calls, s)
	}
}

func TestDeadLettersAreBounded(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	r := newReceiver(t)
	d := w.stream(t, w.root, ofInstance, r, nil)
	w.exec(t, `insert into audit_event_dead_letters (destination_id, event_id, failed_at, reason) select $1, -n, now(), 'old' from generate_series(1, 1000) n`, d.ID)
	w.record(t, w.root, w.ofGroup(), "first")
	w.seal(t)
	r.answering(refuse(http.StatusGone))
	for range 8 {
		w.deliver(t, d.ID)
		w.Turn(time.Hour)
	}
	kept, err := postgres.Value[int](t.Context(), w.DB, `select count(*) from audit_event_dead_letters`)
	dropped, droppedErr := postgres.Value[int](t.Context(), w.DB, `select dropped from audit_event_destinations`)
	if kept != 1000 || dropped != 1 || err != nil || droppedErr != nil {
		t.Errorf("%d kept, %d dropped, %v %v", kept, dropped, err, droppedErr)
	}
}

func TestSealingHasWhatIsDueSent(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	r := newReceiver(t)
	d := w.stream(t, w.root, ofInstance, r, nil)
	jobs := func() int {
		n, err := postgres.Value[int](t.Context(), w.DB, `select count(*) from river_job where kind = 'audit_deliver' and state = 'available'`)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := jobs()
	for range 2 {
		if err := w.Audit.Stream(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if jobs() != before {
		t.Error("a job for nothing")
	}
	w.record(t, w.root, w.ofGroup(), "first")
	w.seal(t)
	for range 2 {
		if err := w.Audit.Stream(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if got := jobs(); got != before+1 {
		t.Errorf("%d jobs for destination %d", got-before, d.ID)
	}
}

// What happened in a group is known by the group that it happened in, whatever is moved, renamed or taken over later.
func TestPE14_AGroupIsSentWhatHappenedInItAndNothingOfOthers(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	r := newReceiver(t)
	d := w.stream(t, w.people[access.Owner], w.ofHouse(), r, nil)
	mine := func() []string {
		return slices.DeleteFunc(r.took(), func(s string) bool { return !strings.HasPrefix(s, "own_") && !strings.HasPrefix(s, "other_") })
	}
	sent := func(what string, want ...string) {
		t.Helper()
		w.seal(t)
		if err := w.Audit.Stream(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.deliver(t, d.ID)
		if diff := cmp.Diff(want, mine()); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
	}
	other := grouptest.New(t, w.DB, grouptest.Named("other"), grouptest.Visible(access.Public))
	do := func(path string, body object) {
		t.Helper()
		w.As(t, w.root).Do(t, "PUT", path, body).WantStatus(t, http.StatusOK)
	}

	// A project is transferred away: what happened before is the group's, what happens then is not.
	w.record(t, w.root, w.ofProject(), "own_before_transfer")
	do(fmt.Sprintf("/projects/%d/transfer", w.project.ID), object{"namespace": "other"})
	moved := w.project.Entity()
	w.record(t, w.root, bus.Entity{Kind: moved.Kind, ID: moved.ID, Path: "other/tool", Name: moved.Name}, "other_after_transfer")
	w.record(t, w.root, moved, "other_under_the_old_path")
	sent("transferred", "own_before_transfer")

	// The group is renamed, and others come to stand where it was.
	w.record(t, w.root, w.ofGroup(), "own_before_renaming")
	do(fmt.Sprintf("/groups/%d", w.house.ID), object{"path": "home"})
	do(fmt.Sprintf("/groups/%d", other.ID), object{"path": "house"})
	w.record(t, w.root, bus.Entity{Kind: bus.OfGroup, ID: other.ID, Path: "house", Name: "other"}, "other_under_our_path")
	w.record(t, w.root, bus.Entity{Kind: bus.OfGroup, ID: 987654, Path: "house/gone"}, "other_gone")
	w.record(t, w.root, bus.Entity{Kind: bus.OfGroup, ID: 987655, Path: "home/gone"}, "own_gone")
	sent("renamed", "own_before_transfer", "own_before_renaming", "own_gone")

	// The group is moved below another: it is sent nothing, neither of itself nor of what it is part of now.
	w.record(t, w.root, bus.Entity{Kind: bus.OfGroup, ID: w.house.ID, Path: "home"}, "own_before_moving")
	w.exec(t, `update namespaces set parent_id = $2, lineage = array[$2, $1]::bigint[], full_path = 'house/home' where id = $1`, w.house.ID, other.ID)
	w.record(t, w.root, bus.Entity{Kind: bus.OfGroup, ID: w.house.ID, Path: "house/home"}, "other_while_below")
	w.exec(t, `delete from river_job`)
	before := r.calls
	sent("below another", "own_before_transfer", "own_before_renaming", "own_gone")
	if r.calls != before {
		t.Error("the receiver is called")
	}
	jobs, err := postgres.Value[int](t.Context(), w.DB, `select count(*) from river_job where kind = 'audit_deliver'`)
	if err != nil || jobs > 0 {
		t.Errorf("%d jobs, %v", jobs, err)
	}

	// It stands at the top again, and goes on where it was. What happened below another group is that group's.
	w.exec(t, `update namespaces set parent_id = null, lineage = array[$1]::bigint[], full_path = 'home' where id = $1`, w.house.ID)
	w.record(t, w.root, bus.Entity{Kind: bus.OfGroup, ID: w.house.ID, Path: "home"}, "own_again")
	sent("at the top again", "own_before_transfer", "own_before_renaming", "own_gone", "own_before_moving", "own_again")
	r.check(t)
}

func TestAnEventOfAnEarlierReleaseIsSentWhereItsEntityIs(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	r := newReceiver(t)
	d := w.stream(t, w.people[access.Owner], w.ofHouse(), r, nil)
	w.exec(t, `insert into audit_events (created_at, event_type, author_id, author_name, entity_type, entity_id, entity_path, target_type, target_details, details)
		values ($1, 'old', 1, 'x', 'Project', $2, 'anywhere/tool', 'Project', 'tool', '{}')`, w.Now(), w.project.ID)
	w.seal(t)
	w.deliver(t, d.ID)
	if got := r.took(); !slices.Contains(got, "old") {
		t.Errorf("got %q", got)
	}
}

// A slow receiver has its turn, and then others have theirs.
func TestASlowDestinationYieldsToOthers(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	r := newReceiver(t)
	d := w.stream(t, w.people[access.Owner], w.ofHouse(), r, nil)
	for n := range 5 {
		w.record(t, w.root, w.ofGroup(), fmt.Sprintf("event_%d", n))
		w.seal(t) // a block of its own
	}
	w.exec(t, `delete from river_job`)
	r.answering(func(http.ResponseWriter, *http.Request) bool { w.Turn(14 * time.Second); return true })
	w.deliver(t, d.ID)
	if got := r.took(); len(got) != 3 {
		t.Errorf("it was sent %q in a turn of thirty seconds", got)
	}
	type waiting struct {
		Queue    string
		Priority int
		Args     string
	}
	jobs, err := postgres.All[waiting](t.Context(), w.DB, `select queue, priority::int as priority, args::text as args from river_job where kind = 'audit_deliver'`)
	if err != nil || len(jobs) != 1 || jobs[0].Queue != "streams" || jobs[0].Priority != 2 {
		t.Fatalf("%+v, %v", jobs, err)
	}
	var args audit.DeliverArgs
	if err := json.Unmarshal([]byte(jobs[0].Args), &args); err != nil {
		t.Fatal(err)
	}
	if args != (audit.DeliverArgs{DestinationID: d.ID, Group: true}) {
		t.Errorf("the next turn is %+v", args)
	}
	w.deliver(t, d.ID) // nobody holds it
	if diff := cmp.Diff([]string{"event_0", "event_1", "event_2", "event_3", "event_4"}, r.took()); diff != "" {
		t.Error(diff)
	}
	r.check(t)
}

func TestGroupsLeaveWorkersToTheInstance(t *testing.T) {
	t.Parallel()
	queue, ofGroups := audit.DeliverArgs{DestinationID: 1, Group: true}.Apart()
	_, ofOtherGroups := audit.DeliverArgs{DestinationID: 2, Group: true}.Apart()
	same, ofInstance := audit.DeliverArgs{DestinationID: 3}.Apart()
	if queue != "streams" || same != queue || ofGroups != ofOtherGroups || ofGroups == ofInstance || ofGroups == 0 || ofInstance == 0 {
		t.Errorf("%s %d, %s %d", queue, ofGroups, same, ofInstance)
	}
}

func TestThoseThatFailGoAfterThoseThatAnswer(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	good, bad := newReceiver(t), newReceiver(t)
	fine := w.stream(t, w.root, ofInstance, good, nil)
	fails := w.stream(t, w.root, ofInstance, bad, nil)
	w.record(t, w.root, w.ofGroup(), "first")
	w.seal(t)
	bad.answering(refuse(http.StatusGone))
	w.deliver(t, fails.ID)
	w.Turn(time.Hour)
	w.exec(t, `delete from river_job`)
	if err := w.Audit.Stream(t.Context()); err != nil {
		t.Fatal(err)
	}
	order, err := postgres.Values[int64](t.Context(), w.DB, `select (args->>'destination_id')::bigint from river_job where kind = 'audit_deliver' order by priority`)
	if diff := cmp.Diff([]int64{fine.ID, fails.ID}, order); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

func TestADestinationIsRetriedOnceAMinute(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	r := newReceiver(t)
	d := w.stream(t, w.root, ofInstance, r, nil)
	again := fmt.Sprintf("%s/%d/retry", ofInstance, d.ID)
	trail := func() int {
		n, err := postgres.Value[int](t.Context(), w.DB, `select count(*) from audit_events where event_type = 'retry_instance_event_streaming_destination'`)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	w.As(t, w.root).Do(t, "POST", again, nil).WantStatus(t, http.StatusAccepted)
	for range 3 {
		w.As(t, w.root).Do(t, "POST", again, nil).WantStatus(t, http.StatusTooManyRequests)
	}
	if n := trail(); n != 1 {
		t.Errorf("%d rows of the trail", n)
	}
	w.Turn(time.Minute)
	w.As(t, w.root).Do(t, "POST", again, nil).WantStatus(t, http.StatusAccepted)
	if n := trail(); n != 2 {
		t.Errorf("%d rows of the trail", n)
	}
}

// Letters that somebody asked for are sent in parts, and the destination stays in the hands of who sends them.
func TestManyDeadLettersAreSentInPartsUnderTheLease(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	r := newReceiver(t)
	d := w.stream(t, w.root, ofInstance, r, nil)
	var names []string
	for n := range 250 {
		names = append(names, fmt.Sprintf("event_%d", n))
	}
	w.record(t, w.root, w.ofGroup(), names...)
	w.seal(t)
	w.exec(t, `insert into audit_event_dead_letters (destination_id, event_id, failed_at, reason, again)
		select $1, id, now(), 'x', true from audit_events where event_type like 'event_%'`, d.ID)
	w.exec(t, `update audit_event_destinations set block = (select max(number) from audit_blocks), position = 1000`)
	var held []bool
	r.answering(func(http.ResponseWriter, *http.Request) bool {
		w.Turn(9 * time.Second)
		until, err := postgres.Value[*time.Time](context.Background(), w.DB, `select leased_until from audit_event_destinations where id = $1`, d.ID)
		held = append(held, err == nil && until != nil && until.After(w.Now().Add(time.Minute)))
		return true
	})
	w.deliver(t, d.ID)
	if diff := cmp.Diff(names, r.took()); diff != "" || !slices.Equal(held, []bool{true, true, true}) {
		t.Error(diff, held)
	}
	if s := w.shownAs(t, ofInstance, d.ID); s.DeadLetters != 0 {
		t.Errorf("got %+v", s)
	}
}
