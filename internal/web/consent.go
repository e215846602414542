package web

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"stithy/internal/kit/access"
	"stithy/internal/oauth"
)

func (d *Door) consentPages() []page {
	return []page{
		{route: "GET /oauth/authorize", who: anyone, do: (*visit).consent},
		{route: "POST /oauth/authorize", do: (*visit).answerConsent},
	}
}

// askFields are the parameters of a request for consent.
var askFields = []string{
	"client_id", "redirect_uri", "response_type", "response_mode", "scope", "state", "code_challenge", "code_challenge_method", "nonce", "prompt",
}

func (x *visit) ask() oauth.Ask {
	get := x.form.Get
	return oauth.Ask{
		ClientID: get("client_id"), RedirectURI: get("redirect_uri"), ResponseType: get("response_type"), ResponseMode: get("response_mode"),
		Scope: get("scope"), State: get("state"), CodeChallenge: get("code_challenge"), CodeChallengeMethod: get("code_challenge_method"),
		Nonce: get("nonce"), Prompt: get("prompt"),
	}
}

// consentBody is what a person is asked.
type consentBody struct {
	Application string
	Owner       string // empty: the instance vouches for it
	Host        string // where the answer goes
	Username    string
	Admin       bool
	Scopes      []scopeText
	Approve     *form
	Deny        *form
}

// scopeText is a scope in the words of the person who grants it.
type scopeText struct{ Name, Meaning string }

// consent asks a person whether an application may act for them. What is
// wrong with the request is shown here and never told the application: the
// page has not yet been answered.
func (x *visit) consent() error {
	ask := x.ask()
	quiet := slices.Contains(strings.Fields(ask.Prompt), "none")
	if !x.actor.SignedIn() {
		switch {
		case x.account != nil:
			x.redirect(expiredPath)
		case quiet:
			return x.answerQuietly(ask)
		default:
			x.askToSignIn()
		}
		return nil
	}
	req, _, err := x.OAuth.Check(x.r.Context(), x.account, ask)
	if err != nil {
		return x.refusedConsent(err)
	}
	if x.OAuth.KeptFrom(x.account, req.Application) {
		return x.showProblem("Administrators may not authorize this application. Ask for it to be trusted, or use another account.")
	}
	agreed, err := x.OAuth.Agreed(x.r.Context(), x.account, req)
	if err != nil {
		return err
	}
	stale, err := x.mustSignInAgain()
	if err != nil {
		return x.showProblem("The max_age is not a number of seconds.")
	}
	switch prompts := strings.Fields(ask.Prompt); {
	case stale && quiet:
		x.leave(x.OAuth.Answer(req, oauth.Silent(false)))
		return nil
	case stale:
		x.signInAgain()
		return nil
	case agreed && !slices.Contains(prompts, "consent"):
		to, err := x.OAuth.Approve(x.r.Context(), x.actor, x.account, req)
		if err != nil {
			return err
		}
		return x.pass(req, to)
	case quiet:
		x.leave(x.OAuth.Answer(req, oauth.Silent(true)))
		return nil
	}
	return x.showConsent(req)
}

// mustSignInAgain reports whether the application wants a sign-in that is newer
// than this session.
func (x *visit) mustSignInAgain() (bool, error) {
	prompts := strings.Fields(x.form.Get("prompt"))
	stale := slices.Contains(prompts, "login") || slices.Contains(prompts, "select_account")
	if text := x.form.Get("max_age"); text != "" {
		most, err := strconv.ParseUint(text, 10, 31)
		if err != nil {
			return false, err
		}
		stale = stale || x.Clock.Now().Sub(x.since) > time.Duration(most)*time.Second
	}
	return stale, nil
}

// signInAgain shows the sign-in form to who is signed in, and comes back
// without what asked for it. The application finds the time of the sign-in in
// the ID token.
func (x *visit) signInAgain() {
	query := x.r.URL.Query()
	prompts := slices.DeleteFunc(strings.Fields(query.Get("prompt")), func(p string) bool { return p == "login" || p == "select_account" })
	query.Del("max_age")
	if query.Del("prompt"); len(prompts) > 0 {
		query.Set("prompt", strings.Join(prompts, " "))
	}
	x.redirect(signInPath + "?" + url.Values{returnField: {x.r.URL.Path + "?" + query.Encode()}, againField: {"1"}}.Encode())
}

// answerQuietly tells an application that nobody is signed in, if it is one
// that may be told.
func (x *visit) answerQuietly(ask oauth.Ask) error {
	req, answerable, err := x.OAuth.Check(x.r.Context(), nil, ask)
	if !answerable {
		return x.refusedConsent(err)
	}
	x.leave(x.OAuth.Answer(req, oauth.Silent(false)))
	return nil
}

func (x *visit) showConsent(req *oauth.Request) error {
	to, err := url.Parse(req.Ask.RedirectURI)
	if err != nil {
		return err
	}
	x.policy.formTo = to.Scheme + ":"
	if to.Host != "" {
		x.policy.formTo = to.Scheme + "://" + to.Host
	}
	body := consentBody{
		Application: req.Application.Name, Host: to.Host, Username: x.account.Username, Admin: x.actor.Admin(),
		Approve: x.newForm("/oauth/authorize", "Authorize"), Deny: x.button("/oauth/authorize", "Deny", "", "").with("_method", "delete"),
	}
	if body.Host == "" {
		body.Host = to.Scheme
	}
	if id := req.Application.OwnerID; id != nil {
		owners, err := x.Users.Briefs(x.r.Context(), *id)
		if err != nil {
			return err
		}
		body.Owner = owners[*id].Username
	}
	for _, name := range askFields {
		if value := x.form.Get(name); value != "" {
			body.Approve.with(name, value)
			body.Deny.with(name, value)
		}
	}
	for _, s := range req.Scopes {
		body.Scopes = append(body.Scopes, scopeText{string(s), scopeMeanings[s]})
	}
	return x.show(http.StatusOK, "consent", "Authorize "+req.Application.Name+"?", body, narrow)
}

// answerConsent takes the person's answer to the application.
func (x *visit) answerConsent() error {
	req, answerable, err := x.OAuth.Check(x.r.Context(), x.account, x.ask())
	if r, refused := oauth.Refused(err); refused && answerable {
		x.leave(x.OAuth.Answer(req, r))
		return nil
	}
	switch {
	case err != nil:
		return x.refusedConsent(err)
	case x.form.Get("_method") == "delete":
		x.leave(x.OAuth.Answer(req, oauth.Denied()))
		return nil
	case x.OAuth.KeptFrom(x.account, req.Application):
		return x.showProblem("Administrators may not authorize this application. Ask for it to be trusted, or use another account.")
	}
	to, err := x.OAuth.Approve(x.r.Context(), x.actor, x.account, req)
	if err != nil {
		return err
	}
	x.leave(to)
	return nil
}

// pass sends a browser on that was not asked anything. One that comes from our
// sign-in form is shown a page in between: that form may lead to this instance
// only, and browsers hold all redirects after it to that.
func (x *visit) pass(req *oauth.Request, to string) error {
	if !strings.HasPrefix(x.r.Referer(), x.ExternalURL.String()+"/") {
		x.leave(to)
		return nil
	}
	x.w.Header().Set("Refresh", "0; url="+to)
	return x.show(http.StatusOK, "pass", "Back to "+req.Application.Name, to, narrow)
}

// leave sends the browser to an application, at an address that was checked.
// What the browser sent here is not sent there (303).
func (x *visit) leave(to string) {
	x.headers()
	x.w.Header().Set("Location", to)
	x.w.WriteHeader(http.StatusSeeOther)
}

// refusedConsent shows what is wrong with a request for consent. Clients know
// such pages as answered.
func (x *visit) refusedConsent(err error) error {
	r, refused := oauth.Refused(err)
	if !refused {
		return err
	}
	return x.showProblem(r.Text)
}

func (x *visit) showProblem(text string) error {
	return x.show(http.StatusOK, "error", "This application cannot be authorized", failureBody{
		Text: text, Next: "Go back to the application, and tell those who run it what stands here.",
	}, narrow)
}

// scopeMeanings say what a scope lets an application do.
var scopeMeanings = map[access.Scope]string{
	access.ScopeAPI:             "Do everything that you can do over the API, reading and writing",
	access.ScopeReadAPI:         "Read everything that you can read over the API",
	access.ScopeReadUser:        "Read your profile and those that you can see",
	access.ScopeCreateRunner:    "Create runners",
	access.ScopeK8sProxy:        "Reach Kubernetes clusters through their agents",
	access.ScopeReadRepository:  "Read repositories that you can read",
	access.ScopeWriteRepository: "Read and write repositories that you can write to",
	access.ScopeReadRegistry:    "Read container images that you can read",
	access.ScopeWriteRegistry:   "Write container images where you can",
	access.ScopeAIFeatures:      "Use the assistant's features",
	access.ScopeSudo:            "Act as any other person of this instance",
	access.ScopeAdminMode:       "Administer this instance while admin mode is on",
	access.ScopeReadServicePing: "Download what the instance reports about its use",
	access.ScopeOpenID:          "Know who you are",
	access.ScopeProfile:         "Read your name, your picture and the groups that you belong to",
	access.ScopeEmail:           "Read your email address",
}
