package httpapi

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/platform/ratelimit"
)

// bytesOf is a stream of a text, which counts how often it was opened.
func bytesOf(text string, opened *int) Stream {
	return Stream{Size: int64(len(text)), Name: "file", Open: func(context.Context) (io.ReadCloser, error) {
		*opened++
		return io.NopCloser(strings.NewReader(text)), nil
	}}
}

func TestAStreamIsSentAsItIs(t *testing.T) {
	t.Parallel()
	var opened int
	known := bytesOf("PK\x03\x04", &opened)
	known.Type, known.Size, known.Header = "application/zip", UnknownSize, map[string]string{"Content-Transfer-Encoding": "binary"}
	d := open(t, answer("GET /text", bytesOf("grüß\n", &opened)), answer("GET /archive", known), answer("GET /empty", bytesOf("", &opened)),
		answer("GET /archive.{format}", known))

	w := d.do("GET", "/text")
	wantText(t, w, http.StatusOK, "grüß\n")
	for name, want := range map[string]string{
		"Content-Type": "text/plain; charset=utf-8", "Content-Length": "7", "Content-Disposition": `inline; filename="file"`,
		"Cache-Control": "max-age=0, private, must-revalidate, no-store, no-cache", "Pragma": "no-cache",
		"Expires": "Fri, 01 Jan 1990 00:00:00 GMT", "X-Content-Type-Options": "nosniff",
		"Content-Security-Policy": "default-src 'none'; sandbox", "Etag": "",
	} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	w = d.do("GET", "/archive")
	if w.Body.String() != "PK\x03\x04" || w.Header().Get("Content-Length") != "" || w.Header().Get("Content-Type") != "application/zip" ||
		w.Header().Get("Content-Transfer-Encoding") != "binary" || w.Header().Get("Content-Disposition") != `attachment; filename="file"` {
		t.Errorf("got %q %v", w.Body, w.Header())
	}
	if w = d.do("GET", "/empty"); w.Code != http.StatusOK || w.Header().Get("Content-Length") != "0" {
		t.Errorf("got %d %v", w.Code, w.Header())
	}
	opened = 0
	for path, want := range map[string]int{"/archive": 0, "/text": 1} { // only the bytes tell that it is text
		opened = 0
		w = d.do("HEAD", path)
		if wantStatus(t, w, http.StatusOK); w.Body.Len() > 0 || opened != want || w.Header().Get("Content-Type") == "" {
			t.Errorf("HEAD %s: %d bytes, opened %d times, %v", path, w.Body.Len(), opened, w.Header())
		}
	}
}

// RE-03: bytes that others wrote are never a page, a picture or a program to a browser.
func TestRE03_NoBytesMakeABrowserRunAnything(t *testing.T) {
	t.Parallel()
	var opened int
	for name, c := range map[string]struct{ body, mediaType, disposition string }{
		"html":      {"<html><script>alert(1)</script>", "text/plain; charset=utf-8", "inline"},
		"svg":       {`<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>`, "text/plain; charset=utf-8", "inline"},
		"xml":       {`<?xml version="1.0"?><?xml-stylesheet href="x.xsl"?><a/>`, "text/plain; charset=utf-8", "inline"},
		"pdf":       {"%PDF-1.7\n1 0 obj << /JS (app.alert(1)) >>", "text/plain; charset=utf-8", "inline"},
		"pdf bytes": {"%PDF-1.7\n\x00\x01", "application/octet-stream", "attachment"},
		"notebook":  {`{"cells":[{"outputs":["<script>"]}]}`, "text/plain; charset=utf-8", "inline"},
		"polyglot":  {"GIF89a/*\x00*/=1;alert(1)", "application/octet-stream", "attachment"},
		"latin":     {"gr\xfc\xdf", "text/plain", "inline"},
		"utf-16":    {"\xff\xfe<\x00s\x00", "application/octet-stream", "attachment"},
		"cut":       {strings.Repeat("x", 7999) + "ü", "text/plain; charset=utf-8", "inline"},
	} {
		w := open(t, answer("GET /raw", bytesOf(c.body, &opened))).do("GET", "/raw")
		if w.Body.String() != c.body {
			t.Errorf("%s: the bytes changed", name)
		}
		if got := w.Header().Get("Content-Type"); got != c.mediaType {
			t.Errorf("%s: got type %q", name, got)
		}
		if got := w.Header().Get("Content-Disposition"); !strings.HasPrefix(got, c.disposition) {
			t.Errorf("%s: got %q", name, got)
		}
		if w.Header().Get("X-Content-Type-Options") != "nosniff" || !strings.Contains(w.Header().Get("Content-Security-Policy"), "sandbox") {
			t.Errorf("%s: got %v", name, w.Header())
		}
	}
	claimed := bytesOf("<script>", &opened)
	claimed.Type = "text/html"
	if w := open(t, answer("GET /raw", claimed)).do("GET", "/raw"); !strings.HasPrefix(w.Header().Get("Content-Disposition"), "attachment") {
		t.Error("a page is shown")
	}
}

func TestAClientThatHasTheBytesIsNotSentThemAgain(t *testing.T) {
	t.Parallel()
	var opened, worked int
	tagged := bytesOf("text", &opened)
	tagged.Tag = "abc"
	early := Do(Spec{Route: "GET /early", Needs: access.Anyone}, func(_ context.Context, call Call[None, struct{}]) (Stream, error) {
		if call.Has("abc") {
			return Unchanged("abc"), nil
		}
		worked++
		return tagged, nil
	})
	d := open(t, answer("GET /late", tagged), early, answer("POST /late", tagged))
	wantStatus(t, d.do("POST", "/late", header("If-None-Match", `"abc"`)), http.StatusOK) // whoever changes something is told of it
	for _, path := range []string{"/late", "/early"} {
		if got := d.do("GET", path).Header().Get("Etag"); got != `"abc"` {
			t.Errorf("got tag %q", got)
		}
		opened, worked = 0, 0
		for _, candidates := range []string{`"abc"`, `W/"abc"`, `"x", "abc"`, "*"} {
			for _, method := range []string{"GET", "HEAD"} {
				w := d.do(method, path, header("If-None-Match", candidates))
				if wantStatus(t, w, http.StatusNotModified); w.Body.Len() > 0 || w.Header().Get("Etag") != `"abc"` {
					t.Errorf("%s: got %q, %v", candidates, w.Body, w.Header())
				}
			}
		}
		if opened+worked != 0 {
			t.Errorf("%s worked for nothing", path)
		}
		for _, candidates := range []string{`"abcd"`, "abc", ""} {
			wantStatus(t, d.do("GET", path, header("If-None-Match", candidates)), http.StatusOK)
		}
	}
	if (Call[None, struct{}]{}).Has("abc") {
		t.Error("a call without a request has something")
	}
}

func TestAStreamThatCannotBeginIsAnOrdinaryError(t *testing.T) {
	t.Parallel()
	gone := Stream{Type: "application/zip", Name: "x", Open: func(context.Context) (io.ReadCloser, error) { return nil, fault.NotFoundf("File") }}
	d := open(t, answer("GET /archive", gone))
	w := d.do("GET", "/archive")
	wantJSON(t, w, http.StatusNotFound, `{"message":"404 File Not Found"}`)
	if w.Header().Get("Content-Disposition") != "" {
		t.Error("an error has a file name")
	}
}

type breaking struct{ first string }

func (b *breaking) Read(into []byte) (int, error) {
	if b.first == "" {
		return 0, errors.New("the disk is gone")
	}
	n := copy(into, b.first)
	b.first = b.first[n:]
	return n, nil
}

func (*breaking) Close() error { return nil }

func TestAStreamThatBreaksOffBreaksTheConnection(t *testing.T) {
	t.Parallel()
	broken := Stream{Type: "application/zip", Size: UnknownSize, Open: func(context.Context) (io.ReadCloser, error) {
		return &breaking{first: strings.Repeat("x", 100_000)}, nil
	}}
	short := Stream{Type: "application/zip", Size: 10, Open: func(context.Context) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader("short")), nil
	}}
	d := open(t, answer("GET /broken", broken), answer("GET /short", short))
	server := httptest.NewServer(d.handler)
	for _, path := range []string{"/broken", "/short"} {
		res, err := http.Get(server.URL + "/api/v4" + path)
		if err == nil {
			_, err = io.ReadAll(res.Body)
			_ = res.Body.Close()
		}
		if err == nil {
			t.Errorf("%s: the client takes a part for the whole", path)
		}
	}
	server.Close() // waits for the handlers, which write the log
	if strings.Count(d.log.String(), "answer broke off") != 2 {
		t.Errorf("got log %s", d.log)
	}
}

func TestAReplyMayHaveHeadersOfItsOwn(t *testing.T) {
	t.Parallel()
	e := answer("GET /file", WithHeaders[shownPerson]{Body: shownPerson{ID: 1, Name: "a"}, Header: map[string]string{"X-Svc-Size": "7", "X-Svc-File-Name": "a\r\nb: c"}})
	d := open(t, e)
	server := httptest.NewServer(d.handler)
	defer server.Close()
	res, err := http.Get(server.URL + "/api/v4/file")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, _ := io.ReadAll(res.Body)
	if string(body) != `{"id":1,"name":"a"}` || res.Header.Get("X-Svc-Size") != "7" || res.Header.Get("B") != "" {
		t.Errorf("got %s %v", body, res.Header)
	}
	if len(e.ReplyFields()) != 2 {
		t.Errorf("documents show %v", e.ReplyFields())
	}
}

type album struct{ key string }

func (a album) LimitKey() string { return a.key }

func TestALimitMayCountForEachSubjectApart(t *testing.T) {
	t.Parallel()
	e := On(Spec{Route: "GET /albums/{id}", Needs: access.Anyone, Limit: "albums", LimitOf: "archive", NoEmbed: true},
		func(_ context.Context, _ access.Actor, p thingRef) (album, error) { return album{p.ID}, nil },
		func(context.Context, Call[album, thingRef]) (NoContent, error) { return NoContent{}, nil })
	d := open(t, e)
	d.limits.endpoints["albums"] = ratelimit.Rule{Name: "albums", Limit: 2, Period: time.Minute}
	for range 2 {
		wantStatus(t, d.do("GET", "/albums/1"), http.StatusNoContent)
	}
	wantJSON(t, d.do("GET", "/albums/1"), http.StatusTooManyRequests,
		`{"message":{"error":"This archive has been requested too many times. Try again later."}}`)
	wantStatus(t, d.do("GET", "/albums/2"), http.StatusNoContent)
	wantStatus(t, d.do("GET", "/albums/1", token("member")), http.StatusNoContent)
}

func TestPagesOfOthersMayNotEmbedWhatIsUnlinked(t *testing.T) {
	t.Parallel()
	e := Do(Spec{Route: "GET /archive", Needs: access.Anyone, NoEmbed: true},
		func(context.Context, Call[None, struct{}]) (NoContent, error) { return NoContent{}, nil })
	d := open(t, e)
	for _, h := range [][2]string{{"Sec-Fetch-Mode", "no-cors"}, {"Sec-Fetch-Mode", "cors"}, {"Accept", "image/webp,*/*"}, {"Accept", "video/mp4"}} {
		wantJSON(t, d.do("GET", "/archive", header(h[0], h[1])), http.StatusNotAcceptable, `{"message":"406 Not Acceptable"}`)
	}
	for _, h := range [][2]string{{"Sec-Fetch-Mode", "navigate"}, {"Accept", "*/*"}, {"Accept", "text/html,image/webp"}, {"Accept", ""}} {
		wantStatus(t, d.do("GET", "/archive", header(h[0], h[1])), http.StatusNoContent)
	}
}

func TestASuffixIsAParameter(t *testing.T) {
	t.Parallel()
	type params struct {
		ID     string `param:"id" doc:"ID"`
		Format string `param:"format" doc:"Format"`
	}
	suffixed, last := capture[params]("GET /projects/{id}/archive.{format}")
	d := open(t, suffixed, answer("GET /projects/{id}/archive", Stream{Type: "application/zip", Open: func(context.Context) (io.ReadCloser, error) {
		return http.NoBody, nil
	}}))
	for path, want := range map[string]string{"/projects/1/archive.tar.gz": "tar.gz", "/projects/a%2Fb/archive.zip": "zip"} {
		wantStatus(t, d.do("GET", path), http.StatusNoContent)
		if last.Format != want {
			t.Errorf("%s: got %q", path, last.Format)
		}
	}
	wantStatus(t, d.do("GET", "/projects/1/archive"), http.StatusOK)
	for _, path := range []string{"/projects/1/archive.", "/projects/1/archivezip", "/projects/1/archive.zip/x"} {
		wantStatus(t, d.do("GET", path), http.StatusNotFound)
	}
	_, doc := openAPI(t, d.Endpoints)
	for path, content := range map[string]bool{"/projects/{id}/archive.{format}": false, "/projects/{id}/archive": true} {
		item := doc.Paths.Value(path)
		if item == nil {
			t.Fatalf("%s is not documented", path)
		}
		if got := item.Get.Responses.Value("200"); content && got.Value.Content.Get("*/*").Schema.Value.Format != "binary" {
			t.Errorf("%s: documented as %v", path, got)
		}
	}
	if breaches := Check([]Endpoint{suffixed}); len(breaches) != 0 && strings.Contains(strings.Join(breaches, "\n"), "format") {
		t.Error(breaches)
	}
}

// RE-06: a file name cannot add a header, end the quotes, or name a directory.
func TestRE06_AFileNameStaysAFileName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"a.txt":             `attachment; filename="a.txt"`,
		"a b.txt":           `attachment; filename="a b.txt"`,
		`a".txt`:            `attachment; filename="a_.txt"; filename*=UTF-8''a%22.txt`,
		"a\r\nSet-Cookie:b": `attachment; filename="a__Set-Cookie:b"`,
		"../../etc/passwd":  `attachment; filename=".._.._etc_passwd"`,
		`..\x`:              `attachment; filename=".._x"`,
		"grüß.txt":          `attachment; filename="gr__.txt"; filename*=UTF-8''gr%C3%BC%C3%9F.txt`,
		"100%.txt":          `attachment; filename="100_.txt"; filename*=UTF-8''100%25.txt`,
		"a\u202Egpj.exe":    `attachment; filename="a_gpj.exe"`,
		"\xff\x00":          `attachment; filename="__"`,
	} {
		if got := disposition(true, name); got != want {
			t.Errorf("%q: got %s", name, got)
		}
	}
}

func FuzzFileNames(f *testing.F) {
	for _, seed := range []string{"a.txt", "a\"\r\n", "ü*'%", "..\\..", "\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		header := disposition(true, name)
		for _, r := range header {
			if r > '~' || r < ' ' {
				t.Fatalf("%q: %q is not text of a header", name, header)
			}
		}
		kind, params, err := mime.ParseMediaType(header)
		if err != nil || kind != "attachment" || len(params) != 1 {
			t.Fatalf("%q: %s reads as %s %v: %v", name, header, kind, params, err)
		}
		if got := params["filename"]; strings.ContainsAny(got, `/\`) || strings.ContainsFunc(got, unicode.IsControl) {
			t.Fatalf("%q: becomes %q", name, got)
		}
	})
}
