package httpapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stithy/internal/kit/access"
)

func TestNamesWithBracketsGrowATree(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]values{
		"":                            {},
		"&&a=1&":                      {"a": "1"},
		"a":                           {"a": ""},
		"a=1=2":                       {"a": "1=2"},
		"a=1;b=2":                     {"a": "1;b=2"},
		"a%5B%5D=1":                   {"a": []any{"1"}},
		"a]=1":                        {"a]": "1"},
		"[a]=1":                       {"": map[string]any{"a": "1"}},
		"a=1&a=2&a=3":                 {"a": repeated{"1", "2", "3"}},
		"a[]=1&a[]=2":                 {"a": []any{"1", "2"}},
		"a[k]=1&a[l][]=2":             {"a": map[string]any{"k": "1", "l": []any{"2"}}},
		"a[][k]=1&a[][l]=2":           {"a": []any{map[string]any{"k": "1", "l": "2"}}},
		"a[][k]=1&a[][k]=2":           {"a": []any{map[string]any{"k": "1"}, map[string]any{"k": "2"}}},
		"a[][k][]=1&a[][k][]=2":       {"a": []any{map[string]any{"k": []any{"1", "2"}}}},
		"a[][k][l]=1&a[][k][m]=2":     {"a": []any{map[string]any{"k": map[string]any{"l": "1", "m": "2"}}}},
		"a[][k][l]=1&a[][k][l]=2":     {"a": []any{map[string]any{"k": map[string]any{"l": "1"}}, map[string]any{"k": map[string]any{"l": "2"}}}},
		"a[][]=1&a[][]=2":             {"a": []any{[]any{"1"}, []any{"2"}}},
		"a[0][k]=1&a[1][k]=2":         {"a": map[string]any{"0": map[string]any{"k": "1"}, "1": map[string]any{"k": "2"}}},
		"a[b c]=%E2%82%AC&a%26b=%3D+": {"a": map[string]any{"b c": "€"}, "a&b": "= "},
	} {
		got := values{}
		if err := got.readQuery(query); err != nil {
			t.Errorf("%s: %v", query, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", query, diff)
		}
	}
}

func TestNamesThatContradictThemselvesAreInvalid(t *testing.T) {
	t.Parallel()
	for _, query := range []string{
		"a[=1", "a[b=1", "a[b]c=1", "a=1&a[]=2", "a=1&a[b]=2", "a[]=1&a[b]=2", "a[b]=1&a[]=2", "a[b]=1&a[b]=2", "a[b]=1&a[b][c]=2",
	} {
		if err := (values{}).readQuery(query); err == nil || err.Error() != "a is invalid" {
			t.Errorf("%s: got %v", query, err)
		}
	}
	deep := "a" + strings.Repeat("[b]", maxDepth+1) + "=1"
	if err := (values{}).readQuery(deep); err == nil || err.Error() != "a is nested too deeply" {
		t.Errorf("got %v", err)
	}
}

func TestBrokenTextIsABadRequestInPlainText(t *testing.T) {
	t.Parallel()
	type params struct {
		ID   string `param:"id" doc:"ID"`
		Text any    `param:"text" doc:"Text"`
	}
	endpoint, _ := capture[params]("POST /things/{id}")
	d := open(t, endpoint)
	for _, target := range []string{
		"/things/a%00b", "/things/%ff", "/things/a?text=%00", "/things/a?text=%FF", "/things/a?%00=1", "/things/a?unknown=%C3%28",
		"/things/a?text=%", "/things/a?text=%zz", "/things/a?%q=1", "/nowhere/%00", "/nowhere?x=%00",
	} {
		wantText(t, d.do("POST", target), http.StatusBadRequest, "Bad Request")
	}
	for contentType, bodies := range map[string][]string{
		"application/x-www-form-urlencoded": {"text=%00", "text=\x00", "text=\xff", "text=%ff", "te%00xt=1"},
		"application/json": {
			`{"text":"\u0000"}`, `{"\u0000":1}`, `{"text":["\u0000"]}`, `{"text":{"a":"\u0000"}}`, `{"text":{"\u0000":1}}`,
			`{"text":"x","text":"\u0000"}`, "{\"text\":\"\xff\"}",
		},
	} {
		for _, body := range bodies {
			wantText(t, d.post("/things/a", contentType, body), http.StatusBadRequest, "Bad Request")
		}
	}
	for _, part := range [][3]string{{"te\x00xt", "", "x"}, {"text", "", "\x00"}, {"text", "", "\xff"}, {"text", "a\xff.txt", "x"}} {
		contentType, body := multipartBody(t, func(w *multipart.Writer) {
			p, err := w.CreatePart(map[string][]string{"Content-Disposition": {fmt.Sprintf(`form-data; name="%s"%s`, part[0], filename(part[1]))}})
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.WriteString(p, part[2])
		})
		w := d.post("/things/a", contentType, body)
		if w.Code != http.StatusBadRequest { // what the MIME parser refuses has another text
			t.Errorf("%q: got %d %s", part, w.Code, w.Body)
		}
	}
}

func filename(name string) string {
	if name == "" {
		return ""
	}
	return `; filename="` + name + `"`
}

const unparsableText = "\nProblem:\n  message body does not match declared format\nResolution:\n  when specifying application/json as content-type, you must pass a JSON object in the request's body\n"

func TestABodyThatDoesNotParseIsRefused(t *testing.T) {
	t.Parallel()
	endpoint, _ := capture[rich]("POST /things")
	d := open(t, endpoint)
	for _, body := range []string{
		"{", "x", `{"a":1}}`, `{"a":1} {}`, `{"a":1,}`, `{a:1}`, `[]`, `[{"text":"x"}]`, `"text"`, `7`, `{"a":01}`, `{"a":"` + "\n" + `"}`,
	} {
		wantRefusal(t, d.post("/things", "application/json", body), unparsableText)
	}
	for _, body := range []string{"", " \n", "{}", "null"} {
		wantStatus(t, d.post("/things", "application/json", body), http.StatusNoContent)
	}
	wantRefusal(t, d.post("/things", "multipart/form-data", "x"), unparsableText)
	wantRefusal(t, d.post("/things", "multipart/form-data; boundary=b", "--b\r\n\r\nno end"), unparsableText)
}

func TestABodyThatBreaksOffIsTheClientsFault(t *testing.T) {
	t.Parallel()
	endpoint, _ := capture[rich]("POST /things")
	d := open(t, endpoint)
	for _, contentType := range []string{"application/json", "application/x-www-form-urlencoded", "multipart/form-data; boundary=b"} {
		r := httptest.NewRequest("POST", "/api/v4/things", io.MultiReader(strings.NewReader("{"), brokenReader{}))
		r.Header.Set("Content-Type", contentType)
		wantStatus(t, d.send(r), http.StatusBadRequest)
	}
	if d.log.Len() > 0 {
		t.Errorf("logged %s", d.log)
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errors.New("connection reset") }

func TestOnlyKnownContentTypesAreRead(t *testing.T) {
	t.Parallel()
	endpoint, _ := capture[rich]("POST /things")
	d := open(t, endpoint)
	for contentType, shown := range map[string]string{
		"text/plain": "text/plain", "text/plain; charset=utf-8": "text/plain", "application/xml": "application/xml", "": "", ";;": "",
	} {
		wantJSON(t, d.post("/things", contentType, "x"), http.StatusUnsupportedMediaType,
			`{"error":"The provided content-type '`+shown+`' is not supported."}`)
		wantStatus(t, d.post("/things", contentType, ""), http.StatusNoContent)
	}
}

func TestBodiesBeyondTheirSizeAreTooLarge(t *testing.T) {
	t.Parallel()
	usual, _ := capture[rich]("POST /things")
	roomy := Do(Spec{Route: "POST /roomy", Needs: access.Anyone, MaxBody: 3 << 20},
		func(context.Context, Call[None, rich]) (NoContent, error) { return NoContent{}, nil })
	d := open(t, usual, roomy)
	const tooLarge = `{"message":"413 Request Entity Too Large"}`
	body := func(size int) string { return "unknown=" + strings.Repeat("x", size-len("unknown=")) }
	const form = "application/x-www-form-urlencoded"
	known := token("member")

	wantStatus(t, d.post("/things", form, body(maxBody), known), http.StatusNoContent)
	wantJSON(t, d.post("/things", form, body(maxBody+1), known), http.StatusRequestEntityTooLarge, tooLarge)
	wantJSON(t, d.post("/things", "application/json", `{"text":"`+strings.Repeat("x", maxBody)+`"}`, known), http.StatusRequestEntityTooLarge, tooLarge)

	wantStatus(t, d.post("/roomy", form, body(3<<20), known), http.StatusNoContent)
	wantJSON(t, d.post("/roomy", form, body(3<<20+1), known), http.StatusRequestEntityTooLarge, tooLarge)

	file := func(size int) (contentType, body string) {
		return multipartBody(t, func(w *multipart.Writer) {
			part, _ := w.CreateFormFile("unknown", "f")
			_, _ = io.WriteString(part, strings.Repeat("x", size))
		})
	}
	multi, parts := file(maxBody + 1)
	wantStatus(t, d.post("/things", multi, parts, known), http.StatusNoContent)
	multi, parts = multipartBody(t, func(w *multipart.Writer) { _ = w.WriteField("unknown", strings.Repeat("x", maxBody+1)) })
	wantJSON(t, d.post("/things", multi, parts, known), http.StatusRequestEntityTooLarge, tooLarge)
	multi, parts = file(maxMultipart)
	wantJSON(t, d.post("/things", multi, parts, known), http.StatusRequestEntityTooLarge, tooLarge)

	unknownLength := func(r *http.Request) { r.ContentLength = -1 }
	wantJSON(t, d.post("/things", form, body(maxBody+1), known, unknownLength), http.StatusRequestEntityTooLarge, tooLarge)
	wantJSON(t, d.post("/things", multi, parts, known, unknownLength), http.StatusRequestEntityTooLarge, tooLarge)
}

func TestDO08_AStrangersBodyIsSmall(t *testing.T) {
	t.Parallel()
	endpoint, _ := capture[rich]("POST /things")
	d := open(t, endpoint)
	form := "unknown=" + strings.Repeat("x", maxStrange-len("unknown="))
	field, fieldBody := multipartBody(t, func(w *multipart.Writer) { _ = w.WriteField("unknown", strings.Repeat("x", maxStrange)) })
	file, fileBody := multipartBody(t, func(w *multipart.Writer) {
		part, _ := w.CreateFormFile("unknown", "f")
		_, _ = io.WriteString(part, strings.Repeat("x", maxStrange))
	})
	wantStatus(t, d.post("/things", "application/x-www-form-urlencoded", form), http.StatusNoContent)
	for contentType, body := range map[string]string{
		"application/x-www-form-urlencoded": form + "x", "application/json": `{"unknown":"` + strings.Repeat("x", maxStrange) + `"}`,
		field: fieldBody, file: fileBody,
	} {
		for _, known := range []bool{true, false} {
			read := &countingReader{from: strings.NewReader(body)}
			r := httptest.NewRequest("POST", "/api/v4/things", read)
			r.Header.Set("Content-Type", contentType)
			want := http.StatusRequestEntityTooLarge
			if known {
				r.Header.Set("PRIVATE-TOKEN", "member")
				want = http.StatusNoContent
			}
			wantStatus(t, d.send(r), want)
			if !known && read.n > maxStrange+1 {
				t.Errorf("%s: %d bytes were read", contentType, read.n)
			}
		}
	}
}

type countingReader struct {
	from io.Reader
	n    int
}

func (r *countingReader) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	r.n += n
	return n, err
}

func TestAFileThatDoesNotFitInMemoryIsOnlyMeasured(t *testing.T) {
	t.Parallel()
	endpoint, got := capture[struct {
		File *File `param:"file"`
	}]("POST /things")
	texts, _ := capture[struct {
		Text string `param:"file" bytes:"10485760"`
	}]("POST /texts")
	d := open(t, endpoint, texts)
	contentType, body := multipartBody(t, func(w *multipart.Writer) {
		part, _ := w.CreateFormFile("file", "big.png")
		_, _ = io.WriteString(part, strings.Repeat("x", maxBody+5))
	})
	wantStatus(t, d.post("/things", contentType, body, token("member")), http.StatusNoContent)
	if got.File == nil || got.File.Name != "big.png" || got.File.Size != maxBody+5 || got.File.Data != nil {
		t.Errorf("got %+v", got.File)
	}
	wantRefusal(t, d.post("/texts", contentType, body, token("member")), "file is invalid") // and never a part of it
	contentType, body = multipartBody(t, func(w *multipart.Writer) {
		for n := range 3 {
			part, _ := w.CreateFormFile(fmt.Sprint("file", n), "f")
			_, _ = io.WriteString(part, strings.Repeat("x", maxBody/2))
		}
		part, _ := w.CreateFormFile("file", "last.png")
		_, _ = io.WriteString(part, "x")
	})
	wantStatus(t, d.post("/things", contentType, body, token("member")), http.StatusNoContent)
	if got.File == nil || got.File.Size != 1 || got.File.Data != nil { // those before it took all there is
		t.Errorf("got %+v", got.File)
	}
}

func TestATextHasAMostBytes(t *testing.T) {
	t.Parallel()
	endpoint, _ := capture[struct {
		Text  string      `param:"text"`
		Given Opt[string] `param:"given"`
		List  []string    `param:"list"`
		Short string      `param:"short" bytes:"10"`
		Long  string      `param:"long" bytes:"100000"`
	}]("POST /things")
	d := open(t, endpoint)
	for name, most := range map[string]int{"text": 65536, "given": 65536, "list": 65536, "short": 10, "long": 100000} {
		for over, want := range []int{http.StatusNoContent, http.StatusBadRequest} {
			w := d.post("/things", "application/x-www-form-urlencoded", name+"="+strings.Repeat("x", most+over), token("member"))
			if w.Code != want {
				t.Errorf("%s of %d bytes: %d %s", name, most+over, w.Code, w.Body)
			}
		}
	}
}

func TestAnOverlongQueryIs414(t *testing.T) {
	t.Parallel()
	d := open(t, answer("GET /things", 1))
	const tooLong = `{"message":"414 Request-URI Too Large"}`
	wantJSON(t, d.do("GET", "/things?x="+strings.Repeat("y", 256<<10)), http.StatusRequestURITooLong, tooLong)
	wantJSON(t, d.do("GET", "/nowhere?"+strings.Repeat("&", maxQuery+1)), http.StatusRequestURITooLong, tooLong)
	wantStatus(t, d.do("GET", "/things?x="+strings.Repeat("y", maxQuery-2)), http.StatusOK)
}

func TestARequestHasAThousandParametersAtTheMost(t *testing.T) {
	t.Parallel()
	endpoint, _ := capture[struct {
		List []string `param:"list" doc:"A list"`
	}]("POST /things")
	d := open(t, endpoint)
	for over, want := range []int{http.StatusNoContent, http.StatusBadRequest} {
		form := strings.Repeat("list[]=1&", maxNames+over)
		wantStatus(t, d.post("/things", "application/x-www-form-urlencoded", form, token("member")), want)
		wantStatus(t, d.do("POST", "/things?"+form), want)
		contentType, parts := multipartBody(t, func(w *multipart.Writer) {
			for range maxNames + over {
				_ = w.WriteField("list[]", "1")
			}
		})
		wantStatus(t, d.post("/things", contentType, parts, token("member")), want)
	}
}

func TestCookiesHaveAMostBytes(t *testing.T) {
	t.Parallel()
	d := open(t, answer("GET /things", 1))
	for over, want := range []int{http.StatusOK, http.StatusRequestHeaderFieldsTooLarge} {
		lines := []option{header("Cookie", "a="+strings.Repeat("b", maxCookies/2-2)), header("Cookie", "c="+strings.Repeat("d", maxCookies/2-2+over))}
		wantStatus(t, d.do("GET", "/things", lines...), want)
	}
}

// A quote that stands in a text neither begins nor ends one: what follows it would pass uncounted, and what it holds would be counted.
func TestDO07_AQuoteWithinATextHidesNoElements(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", maxDepth+1) + strings.Repeat("]", maxDepth+1)
	for _, text := range []string{`{"a":"\"","b":` + deep + `}`, `{"a":"\\","b":` + deep + `}`, `{"a\"":` + deep + `,"b":"\""}`} {
		if ModestJSON([]byte(text)) {
			t.Errorf("%s is modest", text)
		}
	}
	for _, text := range []string{`{"a":"\"` + deep + `"}`, `{"a":"` + strings.Repeat(`\",`, maxJSONElements+1) + `"}`} {
		if !ModestJSON([]byte(text)) {
			t.Errorf("%.60s is not modest", text)
		}
	}
}

func TestDO07_HugeRequestsAreRefusedCheaply(t *testing.T) {
	endpoint, _ := capture[rich]("POST /things")
	d := open(t, endpoint)
	const many = 100_000
	times := func(s string) string { return strings.Repeat(s, many) }
	multi, parts := multipartBody(t, func(w *multipart.Writer) {
		_ = w.SetBoundary("b") // short, or the size alone is too large
		for range many {
			_ = w.WriteField("a", "")
		}
	})
	const form, js = "application/x-www-form-urlencoded", "application/json"
	for name, c := range map[string]struct {
		contentType, body string
		target            string
		options           []option
		status            int
	}{
		"query parameters":        {target: "/things?" + times("a=1&"), status: http.StatusRequestURITooLong},
		"form parameters":         {contentType: form, body: times("a=1&"), status: http.StatusBadRequest},
		"form list elements":      {contentType: form, body: times("a[]=1&"), status: http.StatusBadRequest},
		"form list hashes":        {contentType: form, body: times("a[][k]=&"), status: http.StatusBadRequest},
		"brackets in a name":      {contentType: form, body: "a" + times("[b]") + "=1", status: http.StatusBadRequest},
		"JSON members":            {contentType: js, body: `{"a":1` + times(`,"b":1`) + `}`, status: http.StatusBadRequest},
		"JSON elements":           {contentType: js, body: `{"a":[1` + times(`,1`) + `]}`, status: http.StatusBadRequest},
		"JSON arrays deep":        {contentType: js, body: `{"a":` + times("[") + times("]") + `}`, status: http.StatusBadRequest},
		"JSON objects deep":       {contentType: js, body: times(`{"a":`) + "1" + times("}"), status: http.StatusBadRequest},
		"JSON arrays never ended": {contentType: js, body: times("["), status: http.StatusBadRequest},
		"multipart parts":         {contentType: multi, body: parts, status: http.StatusBadRequest},
		"cookies":                 {options: []option{header("Cookie", times("a=b; "))}, status: http.StatusRequestHeaderFieldsTooLarge},
		"cookie lines": {status: http.StatusRequestHeaderFieldsTooLarge, options: []option{func(r *http.Request) {
			r.Header["Cookie"] = strings.Split(strings.TrimSuffix(times("a=b "), " "), " ")
		}}},
		"bytes of body": {contentType: form, body: "a=" + times(strings.Repeat("x", 20)), status: http.StatusRequestEntityTooLarge},
	} {
		took := cheapest(t, 5, func() func() {
			target := c.target
			if target == "" {
				target = "/things"
			}
			r := httptest.NewRequest("POST", "/api/v4"+target, strings.NewReader(c.body))
			r.Header.Set("Content-Type", c.contentType)
			r.Header.Set("PRIVATE-TOKEN", "member") // strangers send less than this to begin with
			for _, change := range c.options {
				change(r)
			}
			return func() {
				w := httptest.NewRecorder()
				d.handler.ServeHTTP(w, r)
				if w.Code != c.status {
					t.Errorf("%s: got %d %.100s, want %d", name, w.Code, w.Body, c.status)
				}
			}
		})
		if took > 50*time.Millisecond {
			t.Errorf("%s took %v", name, took)
		}
	}
}

// cheapest is the least time of a processor that one of several runs took, which other work on the machine hardly changes. Each run is prepared
// outside of what is measured.
func cheapest(t testing.TB, runs int, prepare func() func()) time.Duration {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	used := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(thisThread, &u); err != nil {
			t.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	least := time.Duration(1 << 62)
	for range runs {
		run := prepare()
		before := used()
		run()
		least = min(least, used()-before)
	}
	return least
}

const thisThread = 1 // RUSAGE_THREAD of Linux
