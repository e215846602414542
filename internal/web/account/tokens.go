package account

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/paging"
	"stithy/internal/platform/secretbox"
	"stithy/internal/token"
	"stithy/internal/web/page"
)

// scopeHints say what a token may do with a scope.
var scopeHints = map[access.Scope]string{
	access.ScopeAPI: "Everything, over the API and over git.", access.ScopeReadAPI: "Read everything over the API.",
	access.ScopeReadUser: "Read your profile and those of others.", access.ScopeCreateRunner: "Register runners.",
	access.ScopeK8sProxy: "Call clusters through their agent.", access.ScopeReadRepository: "Pull from repositories.",
	access.ScopeWriteRepository: "Pull from and push to repositories.", access.ScopeReadRegistry: "Pull container images.",
	access.ScopeWriteRegistry: "Push container images.", access.ScopeAIFeatures: "Use assistants.",
	access.ScopeSudo: "Act as anybody.", access.ScopeAdminMode: "Act as an administrator in admin mode.",
	access.ScopeReadServicePing: "Read the usage report.",
}

func tokenForm(x *request) *page.Form {
	scopes := page.Field{Name: "scopes", Label: "Scopes", Type: page.Checkboxes}
	for _, s := range access.PersonalScopes(x.account.Admin) {
		scopes.Options = append(scopes.Options, page.Choice{Value: string(s), Label: string(s), Hint: scopeHints[s]})
	}
	return x.NewForm(tokensPath, "Create token",
		page.Field{Name: "name", Label: "Name", Type: page.Text, Required: true, Length: 255, Hint: "What the token is for."},
		expiryField(x, "Optional. Without a date it expires as late as this instance allows."),
		scopes,
	)
}

// firstExpiry is the first day on which something that is made now may expire: it ends as the day begins, in UTC.
func firstExpiry(x *request) time.Time {
	now := x.Clock.Now().UTC()
	return time.Date(now.Year(), now.Month(), now.Day()+1, 0, 0, 0, 0, time.UTC)
}

// expiryField asks on which day something expires.
func expiryField(x *request, hint string) page.Field {
	return page.Field{Name: "expires_at", Label: "Expires", Type: page.Date, Hint: hint, Min: firstExpiry(x).Format(time.DateOnly)}
}

// expiry is the day that was filled in, nil for none. What would be dead at once is not made.
func expiry(x *request) (*time.Time, error) {
	text := x.Form.Get("expires_at")
	if text == "" {
		return nil, nil
	}
	day, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return nil, fault.Field("expires_at", "is not a date")
	}
	if first := firstExpiry(x); day.Before(first) {
		return nil, fault.Field("expires_at", "must be %s or later", first.Format("2 January 2006"))
	}
	return &day, nil
}

// tokensBody is the access tokens of a person.
type tokensBody struct {
	Tokens []tokenRow
	More   bool
	Form   *page.Form
	Secret string // of the token that was just made
}

type tokenRow struct {
	Name, Scopes           string
	Created, Used, Expires *page.DisplayTime
	Revoke                 *page.Form
}

// ownRows is how many of a person's things a page shows.
const ownRows = 100

func showTokens(x *request) error { return tokens(x, http.StatusOK, tokenForm(x)) }

func tokens(x *request, status int, f *page.Form) error {
	found, err := x.deps.Tokens.List(x.Context(), token.Filter{UserID: &x.account.ID, Impersonation: new(false), Active: new(true)},
		paging.Request{Page: 1, PerPage: ownRows})
	if err != nil {
		return err
	}
	body := tokensBody{More: found.More, Form: f}
	for _, t := range found.Items {
		scopes := make([]string, len(t.Scopes))
		for i, s := range t.Scopes {
			scopes[i] = string(s)
		}
		body.Tokens = append(body.Tokens, tokenRow{
			Name: t.Name, Scopes: strings.Join(scopes,
				", "), Created: x.Time(&t.CreatedAt), Used: x.Time(t.LastUsedAt), Expires: x.Time(t.ExpiresAt),
			Revoke: x.Button(tokensPath+"/"+strconv.FormatInt(t.ID, 10)+"/revoke", "Revoke", page.Danger, "the token "+t.Name).
				AskFirst("Programs that use the token “" + t.Name + "” are let in no more. This cannot be undone."),
		})
	}
	if said := x.Flash(); said != nil {
		body.Secret = said.Secret
	}
	return x.Show(status, settings(x, "Access tokens", tokensPath), tokensPage(body))
}

func createToken(x *request) error {
	d := token.Draft{Name: strings.TrimSpace(x.Form.Get("name"))}
	for _, s := range x.Form["scopes"] {
		d.Scopes = append(d.Scopes, access.Scope(s))
	}
	var err error
	if d.ExpiresAt, err = expiry(x); err == nil {
		var secret secretbox.Secret
		if _, secret, err = x.deps.Tokens.Create(x.Context(), x.Actor, x.account.ID, d); err == nil {
			if err := x.Say(page.Flash{Good: true, Text: "Token created. Copy it now: it is not shown again.",
				Secret: secret.Reveal()}); err != nil {
				return err
			}
			x.Redirect(tokensPath)
			return nil
		}
	}
	f := tokenForm(x)
	if err := x.Refuse(f, err); err != nil {
		return err
	}
	return tokens(x, http.StatusUnprocessableEntity, f)
}

func revokeToken(x *request) error {
	id, err := x.ID()
	if err != nil {
		return err
	}
	t, err := x.deps.Tokens.Find(x.Context(), id)
	if err != nil {
		return err
	}
	if t.UserID != x.account.ID || t.Impersonation {
		return fault.New(fault.NotFound)
	}
	if err := x.deps.Tokens.Revoke(x.Context(), x.Actor, id); err != nil {
		return err
	}
	return x.Done(tokensPath, "The token is revoked.")
}
