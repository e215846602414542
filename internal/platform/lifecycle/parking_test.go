package lifecycle_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"stithy/internal/platform/lifecycle"
)

// waiting is a handler that parks every request once, and what came of it.
type waiting struct {
	hold  time.Duration
	wakes chan func()
	gone  chan struct{}
	again atomic.Int64
}

func newWaiting(hold time.Duration) *waiting {
	return &waiting{hold: hold, wakes: make(chan func(), 8), gone: make(chan struct{}, 8)}
}

func (h *waiting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if note := lifecycle.Resumed(r.Context()); note != nil {
		h.again.Add(1)
		body, _ := io.ReadAll(r.Body)
		_, _ = fmt.Fprintf(w, "%s %s %s %s, left %v, body %q", r.Method, r.URL, r.Host, r.Header.Get("X-Own"), note, body)
		return
	}
	body, _ := io.ReadAll(r.Body)
	err := lifecycle.Park(w, r, lifecycle.ParkOptions{
		Hold: h.hold, Note: string(body), Begin: func(wake func()) { h.wakes <- wake }, Gone: func() { h.gone <- struct{}{} },
	})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

// parked waits for a request to be parked, and returns what wakes it.
func (h *waiting) parked(t *testing.T) (wake func()) {
	t.Helper()
	select {
	case wake = <-h.wakes:
	case <-time.After(10 * time.Second):
		t.Fatal("no request was parked")
	}
	return wake
}

// meet starts a server of such requests and connects to it.
func meet(t *testing.T, hold time.Duration) (*waiting, net.Conn, *bufio.Reader) {
	t.Helper()
	h := newWaiting(hold)
	addr, _, _ := serve(t, h, lifecycle.HTTPOptions{})
	c, r := dial(t, addr)
	return h, c, r
}

func dial(t *testing.T, addr string) (net.Conn, *bufio.Reader) {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return c, bufio.NewReader(c)
}

func send(t *testing.T, c net.Conn, body string) {
	t.Helper()
	_, err := fmt.Fprintf(c, "POST /wait?for=it HTTP/1.1\r\nHost: here\r\nX-Own: mine\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	if err != nil {
		t.Fatal(err)
	}
}

func receive(t *testing.T, r *bufio.Reader) string {
	t.Helper()
	response, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func TestAParkedRequestComesInAgainOnItsConnection(t *testing.T) {
	t.Parallel()
	h, c, r := meet(t, time.Hour)
	for i := range 3 {
		send(t, c, fmt.Sprint("note ", i))
		wake := h.parked(t)
		wake()
		want := fmt.Sprintf(`POST /wait?for=it here mine, left note %d, body ""`, i)
		if got := receive(t, r); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		wake() // too late, and harmless to the next request
	}
}

func TestAParkedRequestIsAnsweredWhenItsTimeIsOver(t *testing.T) {
	t.Parallel()
	_, c, r := meet(t, 20*time.Millisecond)
	send(t, c, "n")
	if got := receive(t, r); got != `POST /wait?for=it here mine, left n, body ""` {
		t.Errorf("got %s", got)
	}
}

func TestWhoSendsMoreWhileWaitingIsAnsweredAndHeard(t *testing.T) {
	t.Parallel()
	h, c, r := meet(t, time.Hour)
	send(t, c, "first")
	h.parked(t)
	send(t, c, "second")
	if got := receive(t, r); got != `POST /wait?for=it here mine, left first, body ""` {
		t.Errorf("got %s", got)
	}
	h.parked(t)()
	if got := receive(t, r); got != `POST /wait?for=it here mine, left second, body ""` {
		t.Errorf("got %s", got)
	}
}

// More than the server reads at a time, so that some of it is held at each place that a connection has for it.
func TestRequestsThatCameBeforeOneIsParkedAreHeardInTheirOrder(t *testing.T) {
	t.Parallel()
	h, c, r := meet(t, time.Hour)
	var all strings.Builder
	const requests = 200
	for n := range requests {
		body := fmt.Sprint("note ", n)
		fmt.Fprintf(&all, "POST /wait?for=it HTTP/1.1\r\nHost: here\r\nX-Own: mine\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	}
	if _, err := io.WriteString(c, all.String()); err != nil {
		t.Fatal(err)
	}
	for n := range requests {
		h.parked(t)()
		want := fmt.Sprintf(`POST /wait?for=it here mine, left note %d, body ""`, n)
		if got := receive(t, r); got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
	}
}

// Written once more it might be more than the server reads, and nobody would
// hear that it never came in again.
func TestARequestWithAVastHeaderIsNotParked(t *testing.T) {
	t.Parallel()
	h, c, r := meet(t, time.Hour)
	if _, err := fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: here\r\nX-Vast: %s\r\n\r\n", strings.Repeat("a", 200<<10)); err != nil {
		t.Fatal(err)
	}
	if got := receive(t, r); !strings.Contains(got, lifecycle.ErrShare.Error()) || len(h.wakes) > 0 {
		t.Errorf("got %.100s", got)
	}
}

func TestAClientThatGoesIsNoticed(t *testing.T) {
	t.Parallel()
	h, c, _ := meet(t, time.Hour)
	send(t, c, "")
	wake := h.parked(t)
	c.Close()
	<-h.gone
	wake()
	if n := h.again.Load(); n != 0 {
		t.Errorf("came in again %d times", n)
	}
}

func TestAServerThatStopsAnswersWhoWaits(t *testing.T) {
	t.Parallel()
	h := newWaiting(time.Hour)
	addr, stop, ended := serve(t, h, lifecycle.HTTPOptions{})
	c, r := dial(t, addr)
	send(t, c, "")
	wake := h.parked(t)
	stop()
	wake()
	if got := receive(t, r); got != `POST /wait?for=it here mine, left , body ""` {
		t.Errorf("got %s", got)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestWhatIsNotAnHTTPServersIsNotParked(t *testing.T) {
	t.Parallel()
	r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "/", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := lifecycle.Park(nil, r, lifecycle.ParkOptions{}); err == nil {
		t.Error("parked")
	}
	if note := lifecycle.Resumed(t.Context()); note != nil {
		t.Errorf("resumed with %v", note)
	}
}
