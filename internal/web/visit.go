package web

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"runtime/debug"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/httpapi"
	"stithy/internal/platform/fairshare"
	"stithy/internal/platform/ratelimit"
	"stithy/internal/project"
	"stithy/internal/token"
	"stithy/internal/user"
)

// visit is one request for a page.
type visit struct {
	*Door
	w       http.ResponseWriter
	r       *http.Request
	actor   access.Actor // who may act; anonymous when nobody is signed in
	account *user.User   // nil when nobody is signed in
	session string       // the cookie of the session, "" when there is none
	since   time.Time    // when the person signed in
	form    url.Values   // the body of a POST, else the query
	address netip.Addr
	policy  policy
	flashed *flash           // what the last page left to say
	project *project.Project // that the page is about, with the reader's role in it
}

const (
	maxBody    = 1 << 20
	maxStrange = 32 << 10 // of a form that somebody sends who is not signed in
	maxQuery   = 16 << 10
)

// route finds the page. What the mux would clean and redirect is not found:
// nothing on this instance links to such a path.
func (d *Door) route(w http.ResponseWriter, r *http.Request) {
	if file, ok := d.assets[r.URL.Path]; ok && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
		policy{}.write(w.Header(), d.secure)
		saw(w, "/assets", access.Actor{})
		file.ServeHTTP(w, r)
		return
	}
	none := page{route: "GET (none)", who: anyone, do: func(*visit) error { return fault.New(fault.NotFound) }}
	if path.Clean(r.URL.Path) == r.URL.Path {
		mux, at := d.mux, r
		if short := belowProject(r); short != nil && !known(mux, r) {
			mux, at = d.below, short
		}
		if _, pattern := mux.Handler(at); pattern != "" {
			mux.ServeHTTP(w, at)
			return
		}
		if known(mux, at) {
			none.do = func(*visit) error { return fault.New(fault.NotAllowed) }
		}
	}
	d.serve(w, r, none)
}

// known reports whether the path has a page, for whatever method.
func known(mux *http.ServeMux, r *http.Request) bool {
	other := *r
	for _, other.Method = range []string{http.MethodGet, http.MethodPost} {
		if _, pattern := mux.Handler(&other); pattern != "" {
			return true
		}
	}
	return false
}

func saw(w http.ResponseWriter, route string, a access.Actor) {
	if wit, ok := w.(httpapi.Witness); ok {
		wit.Saw(route, a)
	}
}

func (d *Door) serve(w http.ResponseWriter, r *http.Request, p page) {
	x := &visit{Door: d, w: w, r: r}
	defer x.recover()
	if wit, ok := w.(httpapi.Witness); ok {
		x.address = wit.Address()
	}
	x.actor.Address = x.address
	err := x.enter(p)
	saw(w, p.title(), x.actor)
	x.r = x.r.WithContext(fairshare.With(x.r.Context(), x.actor.Caller()))
	if err == nil && p.needs != "" {
		err = x.enterProject(p.needs)
	}
	if err == nil {
		err = p.do(x)
	}
	if err != nil {
		x.fail(err)
	}
}

// errSent ends a visit that was answered already.
var errSent = errors.New("answered")

// enter holds a visit against everything that all pages share.
func (x *visit) enter(p page) error {
	v, err := x.recognize()
	if err != nil {
		return err
	}
	if err := x.read(p); err != nil {
		return err
	}
	if err := x.origins.Check(x.r); err != nil {
		return fault.Because(fault.Forbidden, "This form was sent from another site. Open the page here and try again.")
	}
	if x.throttled() {
		return errSent
	}
	if err := x.admit(p, v); err != nil {
		return err
	}
	if !x.reading() && x.account != nil && !x.Tokens.CheckCSRF(x.session, x.form.Get(csrfField)) {
		return fault.Because(fault.Forbidden, "This form is older than your session. Go back, reload the page and try again.")
	}
	return nil
}

// throttled counts the visit against the throttles of the instance, and answers
// it when there were too many. What applications send people to counts as
// their own traffic does.
func (x *visit) throttled() bool {
	var userID int64
	if x.account != nil {
		userID = x.account.ID
	}
	over := func(rule ratelimit.Rule, active bool) bool {
		if active {
			x.headers()
		}
		return active && x.Throttle.Over(x.r.Context(), x.w, rule, userID, x.address)
	}
	if !x.reading() && over(x.Settings.ProtectedPath(x.r.URL.Path, userID != 0)) {
		return true
	}
	if strings.HasPrefix(x.r.URL.Path, "/oauth/") {
		return over(x.Settings.Throttle(userID != 0))
	}
	return over(x.Settings.PageThrottle(userID != 0))
}

// read takes the form in. A field that was sent twice is refused, for nobody
// could say which one counts.
func (x *visit) read(p page) error {
	x.form = x.r.URL.Query()
	if len(x.r.URL.RawQuery) > maxQuery {
		return fault.New(fault.TooLarge)
	}
	if !x.reading() {
		most := int64(maxStrange)
		if x.account != nil {
			most = maxBody
		}
		x.r.Body = http.MaxBytesReader(x.w, x.r.Body, most)
		if err := x.r.ParseForm(); err != nil {
			if _, much := errors.AsType[*http.MaxBytesError](err); much {
				return fault.New(fault.TooLarge)
			}
			return fault.Say(fault.BadParams, "The form could not be read.")
		}
		x.form = x.r.PostForm
	}
	for name, values := range x.form {
		if len(values) > 1 && !slices.Contains(p.many, name) {
			return fault.Say(fault.BadParams, "A field was sent more than once.")
		}
		for _, value := range append(values, name) {
			if !utf8.ValidString(value) || strings.IndexByte(value, 0) >= 0 {
				return fault.Say(fault.BadParams, "The form holds something that is not text.")
			}
		}
	}
	return nil
}

func (x *visit) reading() bool {
	return x.r.Method == http.MethodGet || x.r.Method == http.MethodHead
}

// recognize looks up whose browser it is.
func (x *visit) recognize() (token.Visitor, error) {
	cookie, err := x.r.Cookie(x.Names.SessionCookie())
	if err != nil || cookie.Value == "" {
		return token.Visitor{}, nil
	}
	v, err := x.Tokens.Visitor(x.r.Context(), cookie.Value)
	if err != nil || v.Account == nil {
		return v, err
	}
	x.session, x.account, x.since = cookie.Value, v.Account, v.Since
	x.actor = v.Actor
	x.actor.Address = x.address
	return v, nil
}

// admit lets in who may see the page, and sends the others where they should
// go first.
func (x *visit) admit(p page, v token.Visitor) error {
	expired := x.account != nil && x.account.PasswordExpired(x.Clock.Now())
	switch {
	case x.account == nil && (p.who == anyone || p.who == readers):
		return nil
	case x.account == nil:
		x.askToSignIn()
		return errSent
	case v.Refusal != nil && !expired:
		// The account was kept out while its session lived.
		if p.who == anyone {
			x.account, x.session = nil, ""
			return nil
		}
		return v.Refusal
	case expired && p.who != anyone && p.who != mustChange:
		x.redirect(expiredPath)
		return errSent
	case !expired && p.who != anyone && p.who != mustEnroll && x.Tokens.OwesFactor(x.account):
		x.redirect(factorsPath)
		return errSent
	case p.who == administrators && !x.actor.Admin():
		return fault.New(fault.NotFound)
	}
	return nil
}

// expiredPath is the page where a password that someone else chose is replaced.
const expiredPath = "/-/user_settings/password/new"

// signInPath is the page where people sign in.
const signInPath = "/users/sign_in"

// askToSignIn sends a stranger to sign in, and back to where they wanted to go.
func (x *visit) askToSignIn() { x.redirect(x.signInAndBack()) }

func (x *visit) signInAndBack() string {
	if x.reading() && x.r.URL.Path != "/" {
		return signInPath + "?" + url.Values{"return_to": {x.r.URL.RequestURI()}}.Encode()
	}
	return signInPath
}

// redirect sends the browser to a path of this instance.
func (x *visit) redirect(path string) {
	x.headers()
	x.w.Header().Set("Location", x.link(path))
	x.w.WriteHeader(http.StatusSeeOther)
}

func (x *visit) headers() {
	x.policy.write(x.w.Header(), x.secure)
	x.w.Header().Set("Cache-Control", "no-store")
}

// fail shows what went wrong and what to do next.
func (x *visit) fail(err error) {
	if errors.Is(err, errSent) {
		return
	}
	err = httpapi.Away(err)
	f, shown := fault.Of(err)
	hidden := !shown || (f.Kind == fault.Unavailable && err != error(f)) //nolint:errorlint // whether it is that very value
	if hidden && x.r.Context().Err() == nil {
		x.log("page failed", err, nil)
	}
	if !shown {
		f = &fault.Error{Kind: fault.Internal}
	}
	status, body := failure(f)
	if status == http.StatusServiceUnavailable {
		x.w.Header().Set("Retry-After", httpapi.RetryAfter)
	}
	if err := x.show(status, "error", body.Title, body); err != nil {
		x.log("the page about a failure failed", err, nil)
		x.w.WriteHeader(http.StatusInternalServerError)
	}
}

// failureBody is what the page about a failure says.
type failureBody struct {
	Title, Text, Next string
}

func failure(f *fault.Error) (int, failureBody) {
	said := func(otherwise string) string {
		switch {
		case f.Text != "":
			return f.Text
		case f.Reason != "":
			return f.Reason
		case len(f.Fields) > 0:
			return inWords(f.Fields)
		}
		return otherwise
	}
	switch f.Kind {
	case fault.NotFound:
		return http.StatusNotFound, failureBody{"Page not found", "There is nothing here, or you may not see it.", "Check the address, or go back to where you came from."}
	case fault.Unauthenticated:
		return http.StatusUnauthorized, failureBody{"Sign in first", said("This needs an account."), "Sign in and try again."}
	case fault.Forbidden, fault.InsufficientScope, fault.LimitReached, fault.TokenUnusable:
		return http.StatusForbidden, failureBody{"Not allowed", said("You may not do this."), "If you think you should be able to, ask an administrator."}
	case fault.NotOffered, fault.NotAllowed:
		return http.StatusMethodNotAllowed, failureBody{"Not possible here", said("This page cannot be used this way."), "Go back and use the form on the page."}
	case fault.TooLarge:
		return http.StatusRequestEntityTooLarge, failureBody{"Too large", said("What was sent is larger than a page takes."), "Send less at a time."}
	case fault.TooMany:
		return http.StatusTooManyRequests, failureBody{"Too many tries", said("This was tried too often."), "Wait a few minutes and try again."}
	case fault.Conflict, fault.Precondition, fault.NotModified:
		return http.StatusConflict, failureBody{"Changed meanwhile", said("Something else stands in the way."), "Go back, reload the page and look again."}
	case fault.Unavailable:
		return http.StatusServiceUnavailable, failureBody{"Not available now", said("A part of this instance does not answer."), "Try again in a minute."}
	case fault.Internal:
		return http.StatusInternalServerError, failureBody{"Something went wrong on our side", "The error was logged.", "Try again. If it happens again, tell an administrator the request ID below."}
	}
	return http.StatusBadRequest, failureBody{"This could not be done", said("The values do not fit."), "Go back, correct them and try again."}
}

func (x *visit) recover() {
	what := recover()
	if what == nil {
		return
	}
	if what == http.ErrAbortHandler {
		panic(what)
	}
	x.log("page panicked", fmt.Errorf("%v", what), debug.Stack())
	x.fail(fault.New(fault.Internal))
}

func (x *visit) log(text string, err error, stack []byte) {
	attrs := []any{"error", err.Error(), "method", x.r.Method, "request_id", x.requestID(), httpapi.Cause(err)}
	if stack != nil {
		attrs = append(attrs, "stack", string(stack))
	}
	x.Log.Error(text, attrs...)
}

func (x *visit) requestID() string {
	if wit, ok := x.w.(httpapi.Witness); ok {
		return wit.RequestID()
	}
	return ""
}

// show answers with a page. The template is rendered whole before the first
// byte is sent, so that a failure is still a page.
func (x *visit) show(status int, name, title string, body any, options ...option) error {
	v := x.view(title, body)
	for _, o := range options {
		o(&v)
	}
	var out bytes.Buffer
	if err := x.templates.render(&out, name, v); err != nil {
		return err
	}
	x.headers()
	x.forgetFlash()
	x.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	x.w.WriteHeader(status)
	if x.r.Method != http.MethodHead {
		_, _ = x.w.Write(out.Bytes())
	}
	return nil
}
