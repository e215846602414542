package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"stithy/internal/kit/access"
)

func TestRepliesAreWrittenAsTheyAreDeclared(t *testing.T) {
	t.Parallel()
	created := Do(Spec{Route: "POST /things", Needs: access.Anyone, Status: http.StatusCreated},
		func(context.Context, Call[None, struct{}]) (map[string]int, error) {
			return map[string]int{"id": 1}, nil
		})
	accepted := Do(Spec{Route: "POST /export", Needs: access.Anyone, Status: http.StatusAccepted},
		func(context.Context, Call[None, struct{}]) (Accepted, error) { return WorkAccepted(), nil })
	quiet := Do(Spec{Route: "POST /quiet", Needs: access.Anyone, Status: http.StatusCreated},
		func(context.Context, Call[None, struct{}]) (NoContent, error) { return NoContent{}, nil })
	d := open(t, created, accepted, quiet, answer("DELETE /things", NoContent{}), answer("GET /html", "<a & b>"))

	wantJSON(t, d.do("POST", "/things"), http.StatusCreated, `{"id":1}`)
	wantJSON(t, d.do("POST", "/export"), http.StatusAccepted, `{"message":"202 Accepted"}`)
	wantJSON(t, d.do("GET", "/html"), http.StatusOK, `"\u003ca \u0026 b\u003e"`)
	for _, c := range []struct {
		method, path string
		status       int
	}{{"DELETE", "/things", http.StatusNoContent}, {"POST", "/quiet", http.StatusCreated}} {
		w := d.do(c.method, c.path)
		wantStatus(t, w, c.status)
		if w.Body.Len() > 0 || w.Header().Get("Content-Type") != "" {
			t.Errorf("%s: got %q of type %q", c.path, w.Body, w.Header().Get("Content-Type"))
		}
	}
	if d.do("POST", "/things").Header().Get("Etag") != "" {
		t.Error("an answer to a POST has a tag")
	}
}

func TestAnUnchangedAnswerIs304(t *testing.T) {
	t.Parallel()
	d := open(t, answer("GET /things", map[string]int{"id": 1}), answer("GET /others", map[string]int{"id": 2}))
	first := d.do("GET", "/things")
	tag := first.Header().Get("Etag")
	if tag == "" || tag[:3] != `W/"` {
		t.Fatalf("got tag %q", tag)
	}
	if got := first.Header().Get("Cache-Control"); got != "max-age=0, private, must-revalidate" {
		t.Errorf("got %q", got)
	}
	if other := d.do("GET", "/others").Header().Get("Etag"); other == tag {
		t.Error("two answers share a tag")
	}
	for _, candidates := range []string{tag, `W/"x", ` + tag, "*", tag + `,"y"`} {
		w := d.do("GET", "/things", header("If-None-Match", candidates))
		wantStatus(t, w, http.StatusNotModified)
		if w.Body.Len() > 0 || w.Header().Get("Etag") != tag {
			t.Errorf("%s: got %q, tag %q", candidates, w.Body, w.Header().Get("Etag"))
		}
	}
	for _, candidates := range []string{`W/"x"`, "", tag[2:]} {
		wantStatus(t, d.do("GET", "/things", header("If-None-Match", candidates)), http.StatusOK)
	}
}

func TestMomentsAndDaysAreWrittenAsV4WritesThem(t *testing.T) {
	t.Parallel()
	moment := time.Date(2024, 2, 3, 4, 5, 6, 789_999_999, time.FixedZone("east", 3600))
	type reply struct {
		At     Time  `json:"at"`
		On     Date  `json:"on"`
		Maybe  *Time `json:"maybe"`
		Absent *Time `json:"absent"`
		Day    *Date `json:"day"`
		Never  *Date `json:"never"`
	}
	d := open(t, answer("GET /things", reply{At: Time(moment), On: Date(moment), Maybe: At(&moment), Absent: At(nil), Day: Day(&moment), Never: Day(nil)}))
	wantJSON(t, d.do("GET", "/things"), http.StatusOK,
		`{"at":"2024-02-03T03:05:06.789Z","on":"2024-02-03","maybe":"2024-02-03T03:05:06.789Z","absent":null,"day":"2024-02-03","never":null}`)
}

// stalled is a client that reads nothing until it is let go on.
type stalled struct {
	*httptest.ResponseRecorder
	begun, goOn chan struct{}
}

func (s *stalled) Write(b []byte) (int, error) {
	s.begun <- struct{}{}
	<-s.goOn
	return s.ResponseRecorder.Write(b)
}

// DO-08: an answer is held until it is read, so one caller has few of those that are large.
func TestOneCallerReadsAFewLargeAnswersAtATime(t *testing.T) {
	t.Parallel()
	d := open(t, answer("GET /large", strings.Repeat("x", largeAnswer)))
	begun, goOn := make(chan struct{}), make(chan struct{})
	var readers sync.WaitGroup
	const most = largeAnswers / 4 // of a stranger
	for range most {
		w := &stalled{httptest.NewRecorder(), begun, goOn}
		readers.Go(func() {
			d.handler.ServeHTTP(w, entered(httptest.NewRequest(http.MethodGet, "/api/v4/large", nil)))
			wantStatus(t, w.ResponseRecorder, http.StatusOK)
		})
	}
	for range most {
		<-begun
	}
	w := d.do("GET", "/large")
	wantStatus(t, w, http.StatusTooManyRequests)
	if w.Header().Get("Retry-After") == "" {
		t.Error("a refused client is not told when to come again")
	}
	wantStatus(t, d.do("GET", "/large", token("member")), http.StatusOK)
	close(goOn)
	readers.Wait()
	wantStatus(t, d.do("GET", "/large"), http.StatusOK)
}

// DO-08: a body is held until it is answered, so one caller has few of those that are large.
func TestOneCallerSendsAFewLargeBodiesAtATime(t *testing.T) {
	t.Parallel()
	begun, goOn := make(chan struct{}), make(chan struct{})
	type params struct {
		Text string `param:"text" bytes:"8388608" doc:"A text"`
		Wait bool   `param:"wait" doc:"Wait for the others"`
	}
	d := open(t, Do(Spec{Route: "POST /large", Needs: access.SignIn, MaxBody: 2 * largeBody, Summary: "Send something large."},
		func(_ context.Context, call Call[None, params]) (int, error) {
			if call.Params.Wait {
				begun <- struct{}{}
				<-goOn
			}
			return len(call.Params.Text), nil
		}))
	send := func(who string, size int, wait bool, changes ...option) *httptest.ResponseRecorder {
		body := fmt.Sprintf(`{"wait":%t,"text":"%s"}`, wait, strings.Repeat("x", size))
		r := httptest.NewRequest(http.MethodPost, "/api/v4/large", strings.NewReader(body))
		for _, change := range changes {
			change(r)
		}
		r.Header.Set("Content-Type", "application/json")
		token(who)(r)
		w := httptest.NewRecorder()
		d.handler.ServeHTTP(w, entered(r))
		return w
	}
	var senders sync.WaitGroup
	for range largeBodies / 2 {
		senders.Go(func() { wantStatus(t, send("member", largeBody, true), http.StatusOK) })
	}
	for range largeBodies / 2 {
		<-begun
	}
	w := send("member", largeBody, false)
	wantStatus(t, w, http.StatusTooManyRequests)
	if w.Header().Get("Retry-After") == "" {
		t.Error("a refused client is not told when to come again")
	}
	wantStatus(t, send("member", 1000, false), http.StatusOK)
	inPieces := func(r *http.Request) { r.ContentLength = UnknownSize } // how large it is shows at its end
	wantStatus(t, send("member", 1000, false, inPieces), http.StatusTooManyRequests)
	wantStatus(t, send("admin", largeBody, false), http.StatusOK)
	close(goOn)
	senders.Wait()
	wantStatus(t, send("member", largeBody, false), http.StatusOK)
}
