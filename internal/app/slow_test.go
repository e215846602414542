package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/platform/lifecycle"
	"stithy/internal/project/projecttest"
)

// watchedBodies notes which requests have ended, and which wait for more of their bodies.
type watchedBodies struct {
	next    http.Handler
	ended   atomic.Int64
	waiting atomic.Int64 // requests that want more than was sent
}

func (h *watchedBodies) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	size, _ := strconv.Atoi(r.Header.Get("X-Sent"))
	body := &watchedBody{ReadCloser: r.Body, of: h, left: size}
	defer func() {
		if body.waits {
			h.waiting.Add(-1)
		}
		h.ended.Add(1)
	}()
	r.Body = body
	h.next.ServeHTTP(w, r)
}

type watchedBody struct {
	io.ReadCloser
	of    *watchedBodies
	left  int
	waits bool
}

func (b *watchedBody) Read(p []byte) (int, error) {
	if !b.waits && b.left < len(p) { // a read of a chunked body returns when p is full
		b.waits = true
		b.of.waiting.Add(1)
	}
	n, err := b.ReadCloser.Read(p)
	b.left -= n
	return n, err
}

// listen serves the instance on a port.
func (i *instance) listen(t testing.TB, handler http.Handler, options lifecycle.HTTPOptions) string {
	t.Helper()
	server := lifecycle.HTTP("web", "127.0.0.1:0", handler, slog.New(slog.DiscardHandler), options)
	ctx, cancel := context.WithCancel(context.Background())
	ready, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- lifecycle.Run(ctx, slog.New(slog.DiscardHandler), time.Second, server.Component(),
			lifecycle.Component{Name: "ready", Start: func(context.Context) error { close(ready); return nil }})
	}()
	t.Cleanup(func() { cancel(); <-ended })
	select {
	case <-ready:
	case err := <-ended:
		t.Fatal(err)
	}
	return server.Addr().String()
}

// strangers are the places where a body is taken from somebody who has shown nothing: every endpoint that anyone may
// call, and one path of every other door. A new endpoint is among them without being named.
func (i *instance) strangers(t testing.TB) []string {
	t.Helper()
	g := grouptest.New(t, i.DB, grouptest.Visible(access.Public))
	p := projecttest.New(t, i.DB, g.ID, projecttest.Visible(access.Public))
	var places []string
	for _, e := range i.Endpoints() {
		if rule, _ := access.RuleOf(e.Needs); rule.From == access.Anonymous {
			places = append(places, e.Method+" "+i.below(e, g, p))
		}
	}
	path := "/" + p.FullPath()
	return append(places,
		"POST /users/sign_in", "POST /users/sign_up", "POST /users/password/new", "POST /oauth/authorize", "POST "+path+"/-/pipelines/new",
		"POST "+path+".git/git-upload-pack", "POST "+path+".git/git-receive-pack",
		"POST "+path+".git/info/lfs/locks", "POST "+path+".git/info/lfs/locks/verify",
		"PUT "+path+".git/svc-lfs/objects/"+strings.Repeat("a", 64)+"/1000000", "POST /api/v4/nowhere", "POST /-/health", "POST /uploads/-/system/user/avatar/1/x")
}

// kindsOfBodies are beginnings of bodies that never end.
var kindsOfBodies = []struct{ media, begin string }{
	{"application/json", `{"token":"`},
	{"application/x-www-form-urlencoded", "token="},
	{"multipart/form-data; boundary=b", "--b\r\nContent-Disposition: form-data; name=\"token\"\r\n\r\n"},
	{"multipart/form-data; boundary=b", "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"f\"\r\n\r\n"},
}

// stalling is a request with the first bytes of its body, so many of them.
func stalling(place string, kind, size int) []byte {
	media, begin, header, fill := kindsOfBodies[kind].media, kindsOfBodies[kind].begin, "", "a"
	switch {
	case strings.Contains(place, "git-upload-pack"):
		media, fill = "application/x-git-upload-pack-request", "0032have "+strings.Repeat("0", 40)+"\n"
		if kind%2 == 0 {
			header, begin = "Git-Protocol: version=2\r\n", "0012command=fetch0001"
		} else {
			begin = "0032want " + strings.Repeat("0", 40) + "\n0000"
		}
	case strings.Contains(place, "/info/lfs/"):
		media, begin = "application/vnd.git-lfs+json", `{"operation":"`
	}
	body := (begin + strings.Repeat(fill, size/len(fill)+1))[:size]
	return fmt.Appendf(nil, "%s HTTP/1.1\r\nHost: forge.example\r\nContent-Type: %s\r\n%sX-Sent: %d\r\nTransfer-Encoding: chunked\r\n\r\n7fffffff\r\n%s",
		place, media, header, size, body)
}

// dialling connects to an address and sends.
func dialling(t testing.TB, addr string, text []byte) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	go func() { _, _ = c.Write(text) }() // which is not all taken where it is too much
	return c
}

// DO-08: strangers send the beginning of a body and no more, to every place that takes one: what is taken, and what
// is too much. None of them holds more memory than a request may.
func TestDO08_StalledBodiesOfStrangersHoldLittle(t *testing.T) { //nolint:paralleltest // it measures the memory of the process
	const most = 64 << 10
	i := newInstance(t)
	handler := &watchedBodies{next: i.handler}
	addr := i.listen(t, handler, i.httpOptions())
	settle := func(what string, reached func() bool) {
		for deadline := time.Now().Add(time.Minute); !reached(); time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s: %d requests have ended, and %d wait", what, handler.ended.Load(), handler.waiting.Load())
			}
		}
	}
	memory := func() int64 {
		runtime.GC()
		var now runtime.MemStats
		runtime.ReadMemStats(&now)
		return int64(now.HeapAlloc + now.StackInuse)
	}
	texts := func(place string) (all [][]byte) {
		for kind := range kindsOfBodies {
			for _, size := range []int{30 << 10, 300 << 10} {
				all = append(all, stalling(place, kind, size))
			}
		}
		return all
	}
	waited := 0
	// held is what each connection to a place holds, whether its request waits for more or was refused.
	held := func(place string) int64 {
		handler.ended.Store(0)
		said := texts(place)
		before := memory()
		var open []net.Conn
		for range 2 {
			for _, text := range said {
				open = append(open, dialling(t, addr, text))
			}
		}
		all := int64(len(open))
		settle(place, func() bool { return handler.ended.Load()+handler.waiting.Load() >= all })
		if handler.waiting.Load() > 0 {
			waited++
		}
		used := memory() - before
		for _, c := range open {
			_ = c.Close()
		}
		settle(place, func() bool { return handler.ended.Load() >= all })
		runtime.KeepAlive(said)
		return used / all
	}
	places := i.strangers(t)
	held(places[0]) // fills what is kept between requests
	for _, place := range places {
		if got := held(place); got > most {
			if got = held(place); got > most { // once more, if something else came in between
				t.Errorf("%s holds %d kB for a stalled body", place, got>>10)
			}
		}
	}
	if waited < len(places)/2 {
		t.Errorf("%d places of %d take a body; this shows nothing", waited, len(places))
	}
}

// DO-08: two hundred who stall or trickle are cut, wherever they do it.
func TestDO08_StalledAndTricklingBodiesOfStrangersAreCut(t *testing.T) {
	t.Parallel()
	i := newInstance(t, "STITHY_HTTP_STALL=1s")
	addr := i.listen(t, i.handler, i.httpOptions())
	places := i.strangers(t)
	var cut sync.WaitGroup
	for n := range 200 {
		place := places[n%len(places)]
		c := dialling(t, addr, stalling(place, n%len(kindsOfBodies), 30<<10))
		ended := make(chan struct{})
		if n%2 == 0 {
			cut.Go(func() {
				for {
					select {
					case <-ended:
						return
					case <-time.After(50 * time.Millisecond):
						_, _ = c.Write([]byte("a"))
					}
				}
			})
		}
		cut.Go(func() {
			defer close(ended)
			_ = c.SetReadDeadline(time.Now().Add(5 * time.Minute))
			if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("%s is not cut", place)
			}
		})
	}
	cut.Wait()
}

// Whoever sends a body that is no HTTP made a mistake, and the forge none, wherever it is read.
func TestABodyThatCannotBeReadIsTheMistakeOfItsSender(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	g, p := i.place(t)
	tried := 0
	for _, e := range i.Endpoints() {
		if e.Method == http.MethodGet || e.Method == http.MethodDelete {
			continue
		}
		for _, kind := range kindsOfBodies {
			for _, stranger := range []bool{true, false} {
				body := io.MultiReader(strings.NewReader(kind.begin), iotest.ErrReader(errors.New("header line too long")))
				r := httptest.NewRequest(e.Method, i.below(e, g, p), body)
				r.Header.Set("Content-Type", kind.media)
				if !stranger {
					by(e, i.token(t, i.root, access.ScopeAPI))(r)
				}
				w := httptest.NewRecorder()
				i.handler.ServeHTTP(w, r)
				if tried++; w.Code >= http.StatusInternalServerError {
					t.Errorf("%s %s answers %d: %s", e.Method, e.Path, w.Code, w.Body)
				}
			}
		}
	}
	if tried < 1000 {
		t.Errorf("%d requests were tried; this shows little", tried)
	}
}
