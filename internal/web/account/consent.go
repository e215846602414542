package account

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"stithy/internal/kit/access"
	"stithy/internal/oauth"
	"stithy/internal/web/page"
)

// askFields are the parameters of a request for consent.
var askFields = []string{
	"client_id", "redirect_uri", "response_type", "response_mode", "scope", "state", "code_challenge", "code_challenge_method", "nonce",
	"prompt",
}

func ask(x *request) oauth.Ask {
	get := x.Form.Get
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
	Approve     *page.Form
	Deny        *page.Form
}

// registered says who registered the application.
func (b consentBody) registered() string {
	if b.Owner == "" {
		return ""
	}
	return ", registered by " + b.Owner + ","
}

// scopeText is a scope in the words of the person who grants it.
type scopeText struct{ Name, Meaning string }

// consent asks a person whether an application may act for them. What is
// wrong with the request is shown here and never told the application: the
// page has not yet been answered.
func consent(x *request) error {
	ask := ask(x)
	quiet := slices.Contains(strings.Fields(ask.Prompt), "none")
	if !x.Actor.SignedIn() {
		switch {
		case x.account != nil:
			x.Redirect(ExpiredPath)
		case quiet:
			return answerQuietly(x, ask)
		default:
			x.AskToSignIn()
		}
		return nil
	}
	req, _, err := x.deps.OAuth.Check(x.Context(), x.account, ask)
	if err != nil {
		return refusedConsent(x, err)
	}
	if x.deps.OAuth.KeptFrom(x.account, req.Application) {
		return showProblem(x, "Administrators may not authorize this application. Ask for it to be trusted, or use another account.")
	}
	agreed, err := x.deps.OAuth.Agreed(x.Context(), x.account, req)
	if err != nil {
		return err
	}
	stale, err := mustSignInAgain(x)
	if err != nil {
		return showProblem(x, "The max_age is not a number of seconds.")
	}
	switch prompts := strings.Fields(ask.Prompt); {
	case stale && quiet:
		x.Leave(x.deps.OAuth.Answer(req, oauth.Silent(false)))
		return nil
	case stale:
		signInAgain(x)
		return nil
	case agreed && !slices.Contains(prompts, "consent"):
		to, err := x.deps.OAuth.Approve(x.Context(), x.Actor, x.account, req)
		if err != nil {
			return err
		}
		return pass(x, req, to)
	case quiet:
		x.Leave(x.deps.OAuth.Answer(req, oauth.Silent(true)))
		return nil
	}
	return showConsent(x, req)
}

// mustSignInAgain reports whether the application wants a sign-in that is newer
// than this session.
func mustSignInAgain(x *request) (bool, error) {
	prompts := strings.Fields(x.Form.Get("prompt"))
	stale := slices.Contains(prompts, "login") || slices.Contains(prompts, "select_account")
	if text := x.Form.Get("max_age"); text != "" {
		most, err := strconv.ParseUint(text, 10, 31)
		if err != nil {
			return false, err
		}
		stale = stale || x.Clock.Now().Sub(x.Since) > time.Duration(most)*time.Second
	}
	return stale, nil
}

// signInAgain shows the sign-in form to who is signed in, and comes back
// without what asked for it. The application finds the time of the sign-in in
// the ID token.
func signInAgain(x *request) {
	query := x.R.URL.Query()
	prompts := slices.DeleteFunc(strings.Fields(query.Get("prompt")), func(p string) bool { return p == "login" || p == "select_account" })
	query.Del("max_age")
	if query.Del("prompt"); len(prompts) > 0 {
		query.Set("prompt", strings.Join(prompts, " "))
	}
	x.Redirect(page.SignInPath + "?" + url.Values{returnField: {x.R.URL.Path + "?" + query.Encode()}, againField: {"1"}}.Encode())
}

// answerQuietly tells an application that nobody is signed in, if it is one
// that may be told.
func answerQuietly(x *request, ask oauth.Ask) error {
	req, answerable, err := x.deps.OAuth.Check(x.Context(), nil, ask)
	if !answerable {
		return refusedConsent(x, err)
	}
	x.Leave(x.deps.OAuth.Answer(req, oauth.Silent(false)))
	return nil
}

func showConsent(x *request, req *oauth.Request) error {
	to, err := url.Parse(req.Ask.RedirectURI)
	if err != nil {
		return err
	}
	origin := to.Scheme + ":"
	if to.Host != "" {
		origin = to.Scheme + "://" + to.Host
	}
	x.FormsLeadTo(origin)
	body := consentBody{
		Application: req.Application.Name, Host: to.Host, Username: x.account.Username, Admin: x.Actor.Admin(),
		Approve: x.NewForm("/oauth/authorize", "Authorize"), Deny: x.Button("/oauth/authorize", "Deny", page.Secondary, "").With("_method",
			"delete"),
	}
	if body.Host == "" {
		body.Host = to.Scheme
	}
	if id := req.Application.OwnerID; id != nil {
		owners, err := x.deps.Users.Briefs(x.Context(), *id)
		if err != nil {
			return err
		}
		body.Owner = owners[*id].Username
	}
	for _, name := range askFields {
		if value := x.Form.Get(name); value != "" {
			body.Approve.With(name, value)
			body.Deny.With(name, value)
		}
	}
	for _, s := range req.Scopes {
		body.Scopes = append(body.Scopes, scopeText{string(s), scopeMeanings[s]})
	}
	return x.Show(http.StatusOK, page.Layout{Title: "Authorize " + req.Application.Name + "?", Narrow: true}, consentPage(body))
}

// answerConsent takes the person's answer to the application.
func answerConsent(x *request) error {
	req, answerable, err := x.deps.OAuth.Check(x.Context(), x.account, ask(x))
	if r, refused := oauth.Refused(err); refused && answerable {
		x.Leave(x.deps.OAuth.Answer(req, r))
		return nil
	}
	switch {
	case err != nil:
		return refusedConsent(x, err)
	case x.Form.Get("_method") == "delete":
		x.Leave(x.deps.OAuth.Answer(req, oauth.Denied()))
		return nil
	case x.deps.OAuth.KeptFrom(x.account, req.Application):
		return showProblem(x, "Administrators may not authorize this application. Ask for it to be trusted, or use another account.")
	}
	to, err := x.deps.OAuth.Approve(x.Context(), x.Actor, x.account, req)
	if err != nil {
		return err
	}
	x.Leave(to)
	return nil
}

// pass sends a browser on that was not asked anything. One that comes from our
// sign-in form is shown a page in between: that form may lead to this instance
// only, and browsers hold all redirects after it to that.
func pass(x *request, req *oauth.Request, to string) error {
	if !strings.HasPrefix(x.R.Referer(), x.ExternalURL.String()+"/") {
		x.Leave(to)
		return nil
	}
	x.W.Header().Set("Refresh", "0; url="+to)
	return x.Show(http.StatusOK, page.Layout{Title: "Back to " + req.Application.Name, Narrow: true}, continuePage(to))
}

// refusedConsent shows what is wrong with a request for consent. Clients know
// such pages as answered.
func refusedConsent(x *request, err error) error {
	r, refused := oauth.Refused(err)
	if !refused {
		return err
	}
	return showProblem(x, r.Text)
}

func showProblem(x *request, text string) error {
	return x.ShowFailure(http.StatusOK, page.Failure{
		Title: "This application cannot be authorized", Text: text,
		Next: "Go back to the application, and tell those who run it what stands here.",
	})
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
