package page

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"

	"stithy/internal/kit/fault"
	"stithy/internal/kit/paging"
	"stithy/internal/kit/wire"
	"stithy/internal/platform/secretbox"
)

// sent is a form, or a look at a page where it is nil, from somebody whose session has a CSRF value.
func sent(form url.Values) (*Request, *httptest.ResponseRecorder) {
	now := time.Date(2026, 11, 15, 22, 10, 0, 0, time.UTC)
	kit := New(Deps{
		Box: secretbox.Random(), ExternalURL: &url.URL{Scheme: "https", Host: "forge.example"}, Names: wire.Names{Service: "svc"},
		Clock: func() time.Time { return now },
	})
	r := httptest.NewRequest(http.MethodGet, "/page", nil)
	if form != nil {
		r = httptest.NewRequest(http.MethodPost, "/page", strings.NewReader(form.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	w := httptest.NewRecorder()
	x := kit.NewRequest(w, r)
	x.Session, x.CSRF = "one", "the-value-of-the-session"
	return x, w
}

func html(t *testing.T, c templ.Component) string {
	t.Helper()
	var out strings.Builder
	if err := c.Render(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestWB05_EveryFormCarriesWhatTiesItToItsSession(t *testing.T) {
	t.Parallel()
	x, _ := sent(nil)
	const carried = `<input type="hidden" name="authenticity_token" value="the-value-of-the-session">`
	for name, c := range map[string]templ.Component{
		"form": FormOf(x.NewForm("/a", "Save")), "button": ButtonOf(x.Button("/a", "Save", Danger, "")), "row": RowButton(x.Button("/a", "Save", Quiet, "it")),
	} {
		if got := html(t, c); !strings.Contains(got, carried) {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestARefusedFormShowsWhatWasSentAndAllThatIsWrong(t *testing.T) {
	t.Parallel()
	x, _ := sent(url.Values{"name": {"ada"}, "password": {"canary"}})
	if err := x.Read(Page{}); err != nil {
		t.Fatal(err)
	}
	f := x.NewForm("/a", "Save", Field{Name: "name", Label: "Name", Type: Text}, Field{Name: "password", Label: "Password", Type: Password})
	wrong := &fault.Error{Kind: fault.Rejected, Fields: fault.Fields{"name": {"is taken"}, "key_id": {"is gone"}, "base": {"Too many."}}}
	if err := x.Refuse(f, wrong); err != nil {
		t.Fatal(err)
	}
	got := html(t, FormOf(f))
	if !strings.Contains(got, `value="ada"`) || !strings.Contains(got, "Is taken") || f.Problem != "Too many. Key id is gone." {
		t.Errorf("%q in %s", f.Problem, got)
	}
	if strings.Contains(got, "canary") {
		t.Errorf("a password is shown again: %s", got)
	}
	for _, kind := range []fault.Kind{fault.NotFound, fault.Internal} {
		if err := x.Refuse(f, fault.New(kind)); !fault.Is(err, kind) {
			t.Errorf("a form hides %v", kind)
		}
	}
}

func TestAFormIsTextEachFieldOnceAndBounded(t *testing.T) {
	t.Parallel()
	const taken = fault.Internal // which no form is answered with
	large := strings.Repeat("x", 100<<10)
	for name, c := range map[string]struct {
		form   url.Values
		member bool
		want   fault.Kind
	}{
		"plain":                 {url.Values{"a": {"1"}, "b": {"2"}}, false, taken},
		"a field twice":         {url.Values{"a": {"1", "2"}}, false, fault.BadParams},
		"a field that may be":   {url.Values{"many": {"1", "2"}}, false, taken},
		"a zero byte":           {url.Values{"a": {"1\x00"}}, false, fault.BadParams},
		"a name with one":       {url.Values{"a\x00": {"1"}}, false, fault.BadParams},
		"no text":               {url.Values{"a": {"\xff"}}, false, fault.BadParams},
		"much, by a stranger":   {url.Values{"a": {large}}, false, fault.TooLarge},
		"much, by a member":     {url.Values{"a": {large}}, true, taken},
		"too much, by a member": {url.Values{"a": {strings.Repeat(large, 11)}}, true, fault.TooLarge},
	} {
		x, _ := sent(c.form)
		if c.member {
			x.Account = &Account{ID: 1}
		}
		err := x.Read(Page{Many: []string{"many"}})
		if f, refused := fault.Of(err); refused != (c.want != taken) || (refused && f.Kind != c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAFormThatHoldsTextsOfARepositoryMayBeLarger(t *testing.T) {
	t.Parallel()
	for size, taken := range map[int]bool{3 << 20: true, 4<<20 + 1: false} {
		x, _ := sent(url.Values{"a": {strings.Repeat("x", size)}})
		x.Account = &Account{ID: 1}
		if err := x.Read(Page{Large: true}); (err == nil) != taken {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
	x, _ := sent(url.Values{"a": {strings.Repeat("x", 100<<10)}})
	if err := x.Read(Page{Large: true}); !fault.Is(err, fault.TooLarge) {
		t.Errorf("of a stranger: %v", err)
	}
}

// parted is a form that is sent as parts, by somebody who is signed in.
func parted(t *testing.T, fields ...string) *Request {
	t.Helper()
	var body bytes.Buffer
	parts := multipart.NewWriter(&body)
	for i := 0; i < len(fields); i += 2 {
		if err := parts.WriteField(fields[i], fields[i+1]); err != nil {
			t.Fatal(err)
		}
	}
	file, err := parts.CreateFormFile("file", "a.txt")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(file, "text")
	_ = parts.Close()
	x, _ := sent(url.Values{})
	x.R = httptest.NewRequest(http.MethodPost, "/page", &body)
	x.R.Header.Set("Content-Type", parts.FormDataContentType())
	x.Account = &Account{ID: 1}
	return x
}

func TestTheFieldsBeforeAFileAreBoundedTogether(t *testing.T) {
	t.Parallel()
	half := strings.Repeat("x", maxBody/2)
	x := parted(t, "a", half, "b", "c")
	if err := x.Read(Page{File: true}); err != nil || x.Form.Get("a") != half || x.Form.Get("b") != "c" || x.File == nil {
		t.Errorf("half of what may be: %v", err)
	}
	for name, fields := range map[string][]string{
		"one field": {"a", half + half + "x"}, "two fields": {"a", half, "b", half}, "names": {strings.Repeat("n", maxBody/2), "", strings.Repeat("o", maxBody/2+1), ""},
	} {
		if err := parted(t, fields...).Read(Page{File: true}); !fault.Is(err, fault.TooLarge) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheQueryOfAPageIsBounded(t *testing.T) {
	t.Parallel()
	for over, taken := range []bool{true, false} {
		x, _ := sent(nil)
		x.R.URL.RawQuery = "a=" + strings.Repeat("b", maxQuery-2+over)
		if err := x.Read(Page{}); (err == nil) != taken || (!taken && !fault.Is(err, fault.TooLarge)) {
			t.Errorf("%d bytes: %v", len(x.R.URL.RawQuery), err)
		}
	}
}

func TestAPageThatNoListHasIsTheFirst(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"": 1, "0": 1, "-1": 1, "x": 1, "2": 2, strconv.Itoa(paging.MaxTotal): paging.MaxTotal, strconv.Itoa(paging.MaxTotal + 1): 1, "9223372036854775807": 1} {
		x, _ := sent(nil)
		x.Form = url.Values{"page": {text}}
		if got := x.Numbered("page", 20); got.Page != want || got.PerPage != 20 {
			t.Errorf("%q is %+v, want page %d", text, got, want)
		}
	}
}

func TestWhyAPageFailedIsLoggedAndNotShown(t *testing.T) {
	t.Parallel()
	const canary = "canary-5d2e"
	for name, c := range map[string]struct {
		err    error
		status int
		logged bool
	}{
		"an error of the program": {errors.New(canary), http.StatusInternalServerError, true},
		"what is away, and why":   {errors.Join(fault.New(fault.Unavailable), errors.New(canary)), http.StatusServiceUnavailable, true},
		"what is away":            {fault.New(fault.Unavailable), http.StatusServiceUnavailable, false},
		"what is not there":       {fault.New(fault.NotFound), http.StatusNotFound, false},
	} {
		x, w := sent(nil)
		var log bytes.Buffer
		x.log = slog.New(slog.NewJSONHandler(&log, nil))
		x.Fail(c.err)
		if w.Code != c.status || strings.Contains(w.Body.String(), canary) || (w.Code == http.StatusServiceUnavailable) != (w.Header().Get("Retry-After") != "") {
			t.Errorf("%s: %d %v", name, w.Code, w.Header())
		}
		if strings.Contains(log.String(), canary) != c.logged || (log.Len() > 0) != c.logged {
			t.Errorf("%s: the log says %s", name, &log)
		}
	}
}

func TestAFileActsNowhere(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct{ media, how string }{
		"<script>evil()</script>": {"text/plain; charset=utf-8", "inline"}, "": {"text/plain; charset=utf-8", "inline"},
		"\xff": {"text/plain", "inline"}, "PK\x00": {"application/octet-stream", "attachment"},
	} {
		x, w := sent(nil)
		if err := x.Send(io.NopCloser(strings.NewReader(text)), int64(len(text)), "", "a.html", false); err != nil {
			t.Fatal(err)
		}
		h := w.Header()
		if w.Body.String() != text || h.Get("Content-Type") != want.media || h.Get("Content-Disposition") != want.how+"; filename=a.html" ||
			h.Get("X-Content-Type-Options") != "nosniff" || !strings.HasPrefix(h.Get("Content-Security-Policy"), "default-src 'none'; ") ||
			!strings.HasSuffix(h.Get("Content-Security-Policy"), "; sandbox") {
			t.Errorf("%q: %q %v", text, w.Body, h)
		}
	}
}

func TestAnAnswerIsClosedKeptByNobodyAndSendsNoFormOn(t *testing.T) {
	t.Parallel()
	x, w := sent(url.Values{})
	if err := x.Done("/next", "made"); err != nil {
		t.Fatal(err)
	}
	if w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/next" {
		t.Errorf("%d to %s", w.Code, w.Header().Get("Location"))
	}
	h := w.Header()
	const csp = "default-src 'none'; style-src 'self'; img-src 'self' data:; base-uri 'none'; frame-ancestors 'none'; form-action 'self'"
	if h.Get("Content-Security-Policy") != csp || h.Get("Cache-Control") != "no-store" || h.Get("X-Frame-Options") != "DENY" {
		t.Errorf("%v", h)
	}
	if h.Get("Cross-Origin-Opener-Policy") != "same-origin" || h.Get("Cross-Origin-Resource-Policy") != "same-origin" ||
		h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Referrer-Policy") != "same-origin" {
		t.Errorf("%v", h)
	}
	if h.Get("Strict-Transport-Security") != "max-age=31536000" {
		t.Errorf("browsers may come back without encryption: %v", h)
	}
	plain := http.Header{}
	policy{}.write(plain, false)
	if plain.Get("Strict-Transport-Security") != "" {
		t.Errorf("browsers are sent to where nobody listens: %v", plain)
	}
	for _, c := range w.Result().Cookies() {
		if !c.HttpOnly || !c.Secure || c.SameSite != http.SameSiteLaxMode {
			t.Errorf("%v", c)
		}
	}
}

func TestAMessageIsShownOnOnePage(t *testing.T) {
	t.Parallel()
	x, w := sent(nil)
	if err := x.Say(Flash{Text: "made"}); err != nil {
		t.Fatal(err)
	}
	x.R.AddCookie(w.Result().Cookies()[0])
	next := httptest.NewRecorder()
	x.W = next
	if err := x.Show(http.StatusOK, Layout{Title: "Next"}, templ.NopComponent); err != nil {
		t.Fatal(err)
	}
	cookies := next.Result().Cookies()
	if !strings.Contains(next.Body.String(), "made") || len(cookies) != 1 || cookies[0].MaxAge != -1 {
		t.Errorf("%v after %s", cookies, next.Body)
	}
}

func TestTheNextPartOfAListKeepsTheFiltersThatAreThere(t *testing.T) {
	t.Parallel()
	x, _ := sent(nil)
	next := &paging.Cursor{}
	p := x.CursorPager("/list", url.Values{"ref": {"main"}, "status": {""}}, paging.Request{Cursor: next}, next)
	if p.Back != "/list?ref=main" || !strings.HasPrefix(string(p.Onward), "/list?cursor=") || !strings.HasSuffix(string(p.Onward), "&ref=main") {
		t.Errorf("%+v", p)
	}
}

// A large page is in memory until its reader has it: somebody who does not read leaves room for others.
func TestDO08_FewLargePagesAreSentAtOnce(t *testing.T) {
	t.Parallel()
	x, _ := sent(nil)
	show := func(body string) (int, error) {
		w := httptest.NewRecorder()
		y := x.NewRequest(w, httptest.NewRequest(http.MethodGet, "/page", nil))
		err := y.Show(http.StatusOK, Layout{Title: "Large"}, templ.Raw(body))
		return w.Body.Len(), err
	}
	large := strings.Repeat("a", largePage)
	if n, err := show(large); n < largePage || err != nil {
		t.Fatalf("%d %v", n, err)
	}
	for range largePages {
		if _, err := x.large.Take(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := show(large); n > 0 || !fault.Is(err, fault.TooMany) {
		t.Errorf("one more: %d %v", n, err)
	}
	if n, err := show("small"); n == 0 || err != nil {
		t.Errorf("a small one: %d %v", n, err)
	}
}
