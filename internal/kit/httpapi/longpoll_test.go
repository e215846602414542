package httpapi

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/platform/lifecycle"
)

// patient is an endpoint that waits as often as its queue of replies says.
type patient struct {
	hold    time.Duration
	wakes   chan func()
	replies chan any
	gone    chan struct{}
}

func newPatient(hold time.Duration, replies ...any) *patient {
	p := &patient{hold: hold, wakes: make(chan func(), 4), replies: make(chan any, 4), gone: make(chan struct{}, 1)}
	for _, r := range replies {
		p.replies <- r
	}
	return p
}

func (p *patient) endpoint() Endpoint {
	return Do(Spec{Route: "POST /wait", Summary: "Wait.", Needs: access.Anyone, Status: http.StatusCreated},
		func(context.Context, Call[None, struct{}]) (Later[heard], error) { return p.wait(), nil })
}

// heard is what is said in the end, or nothing after all.
type heard = WithHeaders[Either[string, NothingAvailable]]

func (p *patient) wait() (reply Later[heard]) {
	return reply.Wait(Wait[heard]{
		Hold: p.hold, Begin: func(wake func()) { p.wakes <- wake },
		Then: func(ctx context.Context) (Later[heard], error) {
			if ctx.Err() != nil {
				close(p.gone)
				return reply, ctx.Err()
			}
			switch said := (<-p.replies).(type) {
			case error:
				return reply, said
			case string:
				return reply.Now(heard{Body: Either[string, NothingAvailable]{}.One(said)}), nil
			case NothingAvailable:
				return reply.Now(heard{Body: Either[string, NothingAvailable]{}.Other(said), Header: map[string]string{"X-Own": "1"}}), nil
			}
			return p.wait(), nil
		},
	})
}

// listen serves a door as the process does, where requests are parked.
func listen(t *testing.T, d *door) string {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	server := lifecycle.HTTP("web", "127.0.0.1:0", d.handler, quiet, lifecycle.HTTPOptions{})
	ready := make(chan struct{})
	ended := make(chan error, 1)
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		ended <- lifecycle.Run(ctx, quiet, time.Second, server.Component(),
			lifecycle.Component{Name: "ready", Start: func(context.Context) error { close(ready); return nil }})
	}()
	<-ready
	t.Cleanup(func() {
		stop()
		<-ended
	})
	return "http://" + server.Addr().String()
}

func TestARequestThatWaitsIsAnsweredWhenThereIsSomethingToSay(t *testing.T) {
	t.Parallel()
	for name, ways := range map[string]func(*testing.T, *door) string{
		"parked": listen,
		"on its stack": func(t *testing.T, d *door) string {
			s := httptest.NewServer(d.handler)
			t.Cleanup(s.Close)
			return s.URL
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPatient(time.Hour, nil, "here", fault.New(fault.Conflict), NothingAvailable{})
			url := ways(t, open(t, p.endpoint()))
			ask := func(wakes int) (*http.Response, string) {
				t.Helper()
				for range wakes {
					go func() { (<-p.wakes)() }()
				}
				answer, err := http.Post(url+"/api/v4/wait", "application/json", strings.NewReader(`{}`))
				if err != nil {
					t.Fatal(err)
				}
				defer answer.Body.Close()
				body, err := io.ReadAll(answer.Body)
				if err != nil {
					t.Fatal(err)
				}
				return answer, string(body)
			}
			if answer, body := ask(2); answer.StatusCode != http.StatusCreated || body != `"here"` || answer.Header.Get("X-Content-Type-Options") == "" {
				t.Errorf("woken twice: %d %s", answer.StatusCode, body)
			}
			if answer, body := ask(1); answer.StatusCode != http.StatusConflict {
				t.Errorf("a fault: %d %s", answer.StatusCode, body)
			}
			if answer, body := ask(1); answer.StatusCode != http.StatusNoContent || answer.Header.Get("X-Own") != "1" {
				t.Errorf("nothing after all: %d %s", answer.StatusCode, body)
			}
		})
	}
}

func TestARequestWaitsNoLongerThanItsTime(t *testing.T) {
	t.Parallel()
	p := newPatient(time.Millisecond, "over")
	if w := open(t, p.endpoint()).do(http.MethodPost, "/wait"); w.Code != http.StatusCreated || w.Body.String() != `"over"` {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
}

func TestWhoGoesWhileWaitingIsForgotten(t *testing.T) {
	t.Parallel()
	p := newPatient(time.Hour)
	url := listen(t, open(t, p.endpoint()))
	ctx, leave := context.WithCancel(t.Context())
	go func() {
		<-p.wakes
		leave()
	}()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/api/v4/wait", nil)
	if err != nil {
		t.Fatal(err)
	}
	if answer, err := http.DefaultClient.Do(request); !errors.Is(err, context.Canceled) {
		if err == nil {
			answer.Body.Close()
		}
		t.Errorf("got %v", err)
	}
	select {
	case <-p.gone:
	case <-time.After(time.Minute):
		t.Error("nobody was told")
	}
}

func TestAParkedRequestWaitsNoLongerThanItsTime(t *testing.T) {
	t.Parallel()
	p := newPatient(time.Millisecond, "over")
	url := listen(t, open(t, p.endpoint()))
	client := http.Client{Timeout: time.Minute}
	answer, err := client.Post(url+"/api/v4/wait", "application/json", strings.NewReader(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if body, err := io.ReadAll(answer.Body); err != nil || string(body) != `"over"` {
		t.Errorf("got %s, %v", body, err)
	}
}

func TestARequestThatWaitedIsWrittenDownUnderItsRoute(t *testing.T) {
	t.Parallel()
	p := newPatient(time.Hour, "here")
	d := open(t, p.endpoint())
	routes, inner := make(chan string, 2), d.handler
	d.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		about := &Recorder{Address: netip.MustParseAddr("192.0.2.1")}
		inner.ServeHTTP(w, r.WithContext(WithRecorder(r.Context(), about)))
		routes <- about.Route
	})
	go func() { (<-p.wakes)() }()
	answer, err := http.Post(listen(t, d)+"/api/v4/wait", "application/json", strings.NewReader(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if first, again := <-routes, <-routes; first == "" || again != first {
		t.Errorf("it came in as %q, and again as %q", first, again)
	}
}

// A request that waits holds a connection: one runner, and one address, let so many of them wait. The next is answered at once.
func TestDO08_OneRunnerAndOneAddressLetAFewRequestsWait(t *testing.T) {
	t.Parallel()
	type params struct {
		Of   string `param:"of" doc:"Whose request it is"`
		From string `param:"from" doc:"Where it comes from"`
	}
	waits := make(chan struct{}, 1)
	d := open(t, Do(Spec{Route: "POST /wait", Needs: access.Anyone}, func(_ context.Context, call Call[None, params]) (reply Later[string], _ error) {
		return reply.Wait(Wait[string]{
			Of: call.Params.Of, Hold: time.Hour, Begin: func(func()) { waits <- struct{}{} },
			Then: func(context.Context) (Later[string], error) { return reply.Now("nothing yet"), nil },
		}), nil
	}))
	server := lifecycle.HTTP("web", "127.0.0.1:0", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		about := &Recorder{Address: netip.MustParseAddr(r.URL.Query().Get("from"))}
		d.handler.ServeHTTP(w, r.WithContext(WithRecorder(r.Context(), about)))
	}), slog.New(slog.DiscardHandler), lifecycle.HTTPOptions{PerAddress: 4000})
	if err := server.Component().Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		over, cancel := context.WithCancel(context.Background())
		cancel()
		_ = server.Component().Stop(over)
	})
	// ask reports whether a request waits, or else is answered.
	ask := func(of, from string) bool {
		t.Helper()
		c, err := net.Dial("tcp", server.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		if _, err := fmt.Fprintf(c, "POST /api/v4/wait?of=%s&from=%s HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n", of, from); err != nil {
			t.Fatal(err)
		}
		answered := make(chan struct{})
		go func() {
			if answer, err := http.ReadResponse(bufio.NewReader(c), nil); err == nil {
				_ = answer.Body.Close()
				close(answered)
			}
		}()
		select {
		case <-waits:
			return true
		case <-answered:
			return false
		case <-time.After(time.Minute):
			t.Fatalf("a request of %s neither waits nor is answered", of)
			return false
		}
	}
	const one, other, here = "192.0.2.1", "192.0.2.2", "127.0.0.1"
	for n := range 2000 {
		if !ask(fmt.Sprint("runner-", n/200), one) {
			t.Fatalf("request %d did not wait", n)
		}
	}
	if ask("runner-0", other) {
		t.Error("201 requests of one runner wait")
	}
	if ask("runner-10", one) {
		t.Error("2001 requests from one address wait")
	}
	if !ask("runner-10", other) || !ask("runner-11", here) {
		t.Error("others wait no more")
	}
}
