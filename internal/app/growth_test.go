package app

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi"
	"stithy/internal/project/projecttest"
	"stithy/internal/web"
)

// repeated are texts that a careless reader reads more than once.
var repeated = []string{"a", "é", "(", "[", "{", ",", "/", "%", "\x1b[", " ", "\n", "&a=", "a[b]", "*a ", "\"", "..", "-", "0"}

// sizes are how much of them is sent, in bytes. The middle one is just below what a body of somebody unknown may have where
// the declaration says nothing else: it reaches the handler.
var sizes = []int{1_000, 10_000, screened, 100_000, 1_000_000}

const (
	screened  = 30_000               // bytes that are sent to every place
	costFloor = 5 * time.Millisecond // what takes less is no worry, and not measured further
	noise     = 50 * time.Microsecond
	slack     = 4 // caches and the collector: not in proportion, but never the square
)

// grew says whether reading the longer text took more than in proportion.
func grew(shorter, longer int, before, after time.Duration) bool {
	return after > costFloor && after > slack*time.Duration(longer/shorter)*max(before, noise)
}

// place is somewhere in a request where text is read.
type place struct {
	name    string
	header  bool // where control characters do not get through
	short   bool // where no more than 16 kB are taken, as they are escaped
	deep    bool // where all that is repeated is sent, up to a megabyte
	request func(text string) *http.Request
}

// cost is the CPU time of a thread while it answers. What other tests do meanwhile does not count.
func cost(handler http.Handler, r *http.Request) (time.Duration, int) {
	spent := func() time.Duration {
		const threadCPU = 3 // CLOCK_THREAD_CPUTIME_ID; what getrusage says of a thread is counted in ticks
		var now syscall.Timespec
		_, _, _ = syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, threadCPU, uintptr(unsafe.Pointer(&now)), 0)
		return time.Duration(now.Nano())
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	w := httptest.NewRecorder()
	before := spent()
	handler.ServeHTTP(w, r)
	return spent() - before, w.Code
}

// grows sends texts to one place, and says of the first that takes more than in proportion what it took. All sizes are
// measured, three times each, where the first look is above the floor.
func grows(handler http.Handler, at place, patterns ...string) string {
	for _, pattern := range patterns {
		if at.header && strings.ContainsFunc(pattern, func(r rune) bool { return r < ' ' }) {
			continue
		}
		measure := func(size, times int) (least time.Duration, refused bool) {
			text, least := strings.Repeat(pattern, size/len(pattern)), time.Hour
			for range times {
				took, status := cost(handler, at.request(text))
				least = min(least, took)
				refused = slices.Contains([]int{http.StatusRequestEntityTooLarge, http.StatusRequestURITooLong, http.StatusRequestHeaderFieldsTooLarge}, status)
			}
			return least, refused
		}
		first := screened
		if at.short {
			first = screened / 6
		}
		took, refused := measure(first, 1)
		if took <= costFloor && at.deep && !refused {
			took, _ = measure(sizes[len(sizes)-1], 1)
		}
		if took <= costFloor {
			continue
		}
		var all []time.Duration
		for n, size := range sizes {
			now, refused := measure(size, 3)
			for shorter, before := range all {
				if grew(sizes[shorter], size, before, now) {
					return fmt.Sprintf("%s: %d bytes of %q take %v, %d take %v", at.name, sizes[shorter], pattern, before, size, now)
				}
			}
			if all = append(all, now); refused && n > 0 {
				break // more is refused as well
			}
		}
	}
	return ""
}

// requests makes requests of nobody, each from another address: none is refused for those before.
type requests struct{ sent uint32 }

func (q *requests) make(method, path, escaped, query, contentType string, body io.Reader) *http.Request {
	q.sent++
	r := &http.Request{
		Method: method, URL: &url.URL{Path: path, RawPath: escaped, RawQuery: query}, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{},
		Body: http.NoBody, Host: "forge.example", RemoteAddr: fmt.Sprintf("10.%d.%d.%d:4711", q.sent>>16&255, q.sent>>8&255, q.sent&255),
	}
	if r.RequestURI = escaped; query != "" {
		r.RequestURI += "?" + query
	}
	if body != nil {
		r.Body, r.ContentLength = io.NopCloser(body), -1
		if sized, ok := body.(interface{ Len() int }); ok {
			r.ContentLength = int64(sized.Len())
		}
		r.Header.Set("Content-Type", contentType)
	}
	return r
}

// target is a method and a path that somebody answers, with the names of what it takes.
type target struct {
	method, path string
	inPath       []string
	names        [][]string // of members, each with those that it stands in
	required     map[string]any
	deep         bool // a door or a dialect of its own: it is looked at closely
}

func (g target) String() string { return g.method + " " + g.path }

// members are the names of parameters and of what is inside them.
func members(params []httpapi.Param) (names [][]string) {
	for _, p := range params {
		if p.InPath {
			continue
		}
		names = append(names, []string{p.Name})
		for _, child := range p.Children {
			names = append(names, []string{p.Name, child.Name})
		}
		if p.Type.Kind() == reflect.Struct {
			for field := range p.Type.Fields() {
				if inner, ok := field.Tag.Lookup("param"); ok {
					names = append(names, []string{p.Name, inner})
				}
			}
		}
	}
	return names
}

// targets are all endpoints, pages and other doors. What an address names exists as far as everybody may see it.
func (i *instance) targets(t testing.TB) []target {
	t.Helper()
	g := grouptest.New(t, i.DB, grouptest.Visible(access.Public))
	p := projecttest.New(t, i.DB, g.ID, projecttest.Visible(access.Public))
	var all []target
	for _, e := range i.Endpoints() {
		one := target{method: e.Method, path: e.Base() + e.Path, names: members(e.Params), required: map[string]any{}, deep: !e.V4()}
		one.path = strings.Replace(one.path, "/{project}.git", "/"+p.FullPath()+".git", 1)
		one.path = strings.Replace(one.path, "/groups/{id}", fmt.Sprintf("/groups/%d", g.ID), 1)
		one.path = strings.Replace(one.path, "/projects/{id}", fmt.Sprintf("/projects/%d", p.ID), 1)
		for _, param := range e.Params {
			if param.InPath && strings.Contains(one.path, "{"+param.Name+"}") {
				one.inPath = append(one.inPath, param.Name)
			} else if param.Required {
				one.required[param.Name] = plain(param, 1)
			}
		}
		all = append(all, one)
	}
	fields := func(names ...string) (out [][]string) {
		for _, name := range names {
			out = append(out, []string{name})
		}
		return out
	}
	for _, route := range slices.Concat(web.Routes(), web.ProjectRoutes()) {
		method, path, _ := strings.Cut(route, " ")
		path = strings.TrimSuffix(path, "{$}")
		if slices.Contains(web.ProjectRoutes(), route) {
			path = "/" + p.FullPath() + strings.TrimSuffix(path, "/")
		}
		one := target{method: method, path: path, names: fields("back", "content", "search", "token", "login", "email", "code")}
		for _, name := range placeholders.FindAllString(path, -1) {
			one.inPath = append(one.inPath, strings.Trim(name, "{.}"))
		}
		one.path = strings.ReplaceAll(one.path, "...}", "}")
		all = append(all, one)
	}
	repository := "/" + p.FullPath() + ".git"
	for _, one := range []target{
		{method: "GET", path: "/.well-known/{name}", inPath: []string{"name"}},
		{method: "GET", path: "/-/api/{name}", inPath: []string{"name"}}, {method: "GET", path: "/-/readiness", names: fields("all", "token")},
		{method: "GET", path: "/uploads/-/system/user/avatar/1/{name}", inPath: []string{"name"}}, {method: "GET", path: "/api/{name}", inPath: []string{"name"}},
		{method: "GET", path: "/{name}", inPath: []string{"name"}}, {method: "GET", path: "/{name}.git/info/refs", inPath: []string{"name"}, names: fields("service")},
		{method: "GET", path: repository + "/info/refs", names: fields("service")}, {method: "POST", path: repository + "/git-upload-pack", names: fields("service")},
		{method: "POST", path: repository + "/git-receive-pack"}, {method: "POST", path: repository + "/info/lfs/objects/batch", names: fields("operation", "ref", "objects")},
		{method: "GET", path: repository + "/info/lfs/locks", names: fields("path", "cursor")}, {method: "GET", path: repository + "/gitlab-lfs/objects/{oid}", inPath: []string{"oid"}},
	} {
		one.deep = true
		all = append(all, one)
	}
	return all
}

var placeholders = regexp.MustCompile(`\{[^}]*\}`)

// headers are those that are looked at before it is known who calls.
var headers = []string{
	"Authorization", "Private-Token", "Job-Token", "Runner-Token", "Deploy-Token", "Sudo", "Cookie", "X-Csrf-Token", "X-Request-Id", "X-Forwarded-For", "Forwarded", "Content-Type", "Content-Encoding",
	"Content-Range", "Range", "Accept", "Accept-Encoding", "Accept-Language", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since", "Origin", "Access-Control-Request-Headers", "Git-Protocol", "Referer",
	"Sec-Fetch-Mode", "User-Agent",
}

// counted reads a body and knows how much was taken of it.
type counted struct {
	io.Reader
	taken int
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	c.taken += n
	return n, err
}

// places are all where a target reads text of somebody unknown.
func (q *requests) places(handler http.Handler, g target) (all []place) {
	plainPath := placeholders.ReplaceAllString(g.path, "999999")
	request := func(path, query, contentType string, body []byte) *http.Request {
		var from io.Reader
		if body != nil {
			from = bytes.NewReader(body)
		}
		return q.make(g.method, path, (&url.URL{Path: path}).EscapedPath(), query, contentType, from)
	}
	for _, name := range g.inPath {
		all = append(all, place{name: g.String() + ", the path's " + name, request: func(text string) *http.Request {
			fill := func(text string) string {
				return placeholders.ReplaceAllStringFunc(g.path, func(found string) string {
					if strings.Trim(found, "{}") == name {
						return text
					}
					return "999999"
				})
			}
			return q.make(g.method, fill(text), fill(url.PathEscape(text)), "", "", nil)
		}})
	}
	api := strings.HasPrefix(g.path, "/api/v4/")
	all = append(all, place{name: g.String() + ", the query", short: true, request: func(text string) *http.Request { return request(plainPath, text, "", nil) }})

	// Whether a body is read at all, and whether more is looked at than who calls.
	said, _ := json.Marshal(g.required)
	body := &counted{Reader: bytes.NewReader(said)}
	probe := httptest.NewRecorder()
	handler.ServeHTTP(probe, q.make(g.method, plainPath, plainPath, "", "application/json", body))
	if probe.Code != http.StatusUnauthorized {
		for _, name := range g.names {
			key := name[0]
			for _, inner := range name[1:] {
				key += "[" + inner + "]"
			}
			all = append(all, place{name: g.String() + ", the query's " + key, short: true, request: func(text string) *http.Request {
				return request(plainPath, url.QueryEscape(key)+"="+url.QueryEscape(text), "", nil)
			}})
		}
	}
	if body.taken == 0 || g.method == http.MethodGet {
		return all
	}
	for _, kind := range []string{"application/json", "application/x-www-form-urlencoded", "multipart/form-data; boundary=a", "application/octet-stream"} {
		all = append(all, place{name: g.String() + ", a body of " + kind, deep: g.deep, request: func(text string) *http.Request { return request(plainPath, "", kind, []byte(text)) }})
	}
	all = append(all,
		place{name: g.String() + ", an array of JSON", request: func(text string) *http.Request {
			return request(plainPath, "", "application/json", []byte(`{"a":[`+strings.Repeat("1,", len(text)/2)+`1]}`))
		}},
		place{name: g.String() + ", the name of a file", header: true, request: func(text string) *http.Request {
			return request(plainPath, "", "multipart/form-data; boundary=b", []byte("--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\""+strings.ReplaceAll(text, `"`, `\"`)+"\"\r\n\r\nx\r\n--b--\r\n"))
		}})
	for _, name := range g.names {
		all = append(all, place{name: g.String() + ", the member " + strings.Join(name, "."), request: func(text string) *http.Request {
			values := map[string]any{}
			for key, value := range g.required {
				values[key] = value
			}
			var inner any = text
			for _, key := range slices.Backward(name[1:]) {
				inner = map[string]any{key: inner}
			}
			values[name[0]] = inner
			said, _ := json.Marshal(values)
			return request(plainPath, "", "application/json", said)
		}})
		if len(name) > 1 || api {
			continue // a form becomes the same tree
		}
		all = append(all, place{name: g.String() + ", the field " + name[0], request: func(text string) *http.Request {
			form := url.Values{name[0]: {text}}
			for key, value := range g.required {
				if key != name[0] {
					form.Set(key, fmt.Sprint(value))
				}
			}
			return request(plainPath, "", "application/x-www-form-urlencoded", []byte(form.Encode()))
		}})
	}
	return all
}

// DO-02: whoever it is that calls, what they say is read in time that grows with its length.
func TestDO02_WhatNobodyKnownSaysIsReadInProportion(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	q := &requests{}
	read := 0
	for n, g := range i.targets(t) {
		places := q.places(i.handler, g)
		if n == 0 || g.deep {
			for _, name := range headers {
				places = append(places, place{name: g.String() + ", the header " + name, header: true, request: func(text string) *http.Request {
					path := placeholders.ReplaceAllString(g.path, "999999")
					r := q.make(g.method, path, path, "", "", nil)
					r.Header.Set(name, text)
					return r
				}})
			}
		}
		for _, at := range places {
			patterns := repeated
			if !at.deep {
				patterns = []string{"a", repeated[1+read%(len(repeated)-1)], repeated[1+(read+len(repeated)/2)%(len(repeated)-1)]}
			}
			if said := grows(i.handler, at, patterns...); said != "" {
				t.Error(said)
			}
			read++
		}
	}
	if read < 500 {
		t.Errorf("%d places are not all", read)
	}
	t.Logf("%d places, %d requests", read, q.sent)
}

// hanging is a body whose sender hangs up in the middle.
type hanging struct {
	said   io.Reader
	hangUp context.CancelFunc
}

func (h *hanging) Read(b []byte) (int, error) {
	n, err := h.said.Read(b)
	if err == nil {
		return n, nil
	}
	h.hangUp()
	return n, context.Canceled
}

// DO-02: nobody works on for a client that hung up.
func TestDO02_WorkEndsWhenTheClientHangsUp(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	q := &requests{}
	for _, g := range i.targets(t) {
		path := placeholders.ReplaceAllString(g.path, "999999")
		for _, kind := range []string{"application/json", "application/x-www-form-urlencoded", "multipart/form-data; boundary=b", "application/x-git-upload-pack-request"} {
			ctx, hangUp := context.WithCancel(t.Context())
			r := q.make(g.method, path, path, "", kind, &hanging{strings.NewReader(`{"a":"` + strings.Repeat("a", 5000)), hangUp}).WithContext(ctx)
			done := make(chan struct{})
			go func() {
				defer close(done)
				defer func() { _ = recover() }() // a door that gives up in the middle of its answer
				i.handler.ServeHTTP(httptest.NewRecorder(), r)
			}()
			select {
			case <-done:
			case <-time.After(time.Minute):
				t.Fatalf("%s works on for a client that hung up", g)
			}
			hangUp()
		}
	}
	for line := range strings.Lines(i.log.text()) {
		if strings.Contains(line, `"level":"ERROR"`) || strings.Contains(line, `"level":"WARN"`) {
			t.Errorf("%.500s", line)
		}
	}
}

// The guard itself: it notices what grows faster than its input, and nothing else.
func TestDO02_ReadingThatGrowsWithTheSquareIsNoticed(t *testing.T) {
	t.Parallel()
	q := &requests{}
	at := place{name: "a reader", deep: true, request: func(text string) *http.Request {
		return q.make("POST", "/", "/", "", "text/plain", strings.NewReader(text))
	}}
	reader := func(read func(text []byte) int) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			text, _ := io.ReadAll(r.Body)
			w.Header().Set("X-Read", fmt.Sprint(read(text)))
		})
	}
	quadratic := reader(func(text []byte) (n int) {
		for len(text) > 0 {
			n += bytes.IndexByte(text, 'b')
			text = text[1:]
		}
		return n
	})
	if grows(quadratic, at, "a") == "" {
		t.Error("a reader that begins anew at every byte is not noticed")
	}
	linear := reader(func(text []byte) (n int) {
		for range 3 {
			n += len(strings.ToValidUTF8(strings.ToUpper(string(text)), "?"))
		}
		return n
	})
	if said := grows(linear, at, "a", "é"); said != "" {
		t.Error(said)
	}
}
