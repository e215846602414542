package oauth

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/secretbox"
	"stithy/internal/user"
)

// Ask is what an application asks a person for, as it came in the query of
// the consent page.
type Ask struct {
	ClientID            string
	RedirectURI         string
	ResponseType        string
	ResponseMode        string
	Scope               string
	State               string
	CodeChallenge       string
	CodeChallengeMethod string
	Nonce               string
	Prompt              string
}

// Request is an Ask that may be put to the person.
type Request struct {
	Application *Application
	Scopes      access.Scopes
	Ask         Ask
}

// Check looks at what an application asks for. The error is an Error.
// answerable is whether client and address are valid, so that the refusal may
// be told the application; before that nothing is redirected. Nobody need be
// signed in.
func (s *Service) Check(ctx context.Context, u *user.User, ask Ask) (req *Request, answerable bool, err error) {
	if ask.ClientID == "" {
		return nil, false, missing("client_id")
	}
	app, err := s.application(ctx, ask.ClientID)
	if err != nil {
		return nil, false, err
	}
	req = &Request{Application: app, Ask: ask}
	if !app.Redirects(ask.RedirectURI) {
		return req, false, refuse(InvalidRedirectURI)
	}
	req.Scopes, err = askedScopes(app, ask, u != nil && u.Admin)
	return req, true, err
}

// application finds a client by the id that it is known by.
func (s *Service) application(ctx context.Context, uid string) (*Application, error) {
	if !wellFormed(uid) {
		return nil, refuse(InvalidClient)
	}
	app, err := found(postgres.One[Application](ctx, s.deps.DB, sqlApplicationByUID, uid))
	if fault.Is(err, fault.NotFound) {
		return nil, refuse(InvalidClient)
	}
	return app, err
}

// askedScopes is what remains to be checked of an ask whose client and address
// are valid, in the order that clients know.
func askedScopes(app *Application, ask Ask, admin bool) (access.Scopes, error) {
	switch {
	case ask.ResponseType == "":
		return nil, missing("response_type")
	case ask.ResponseType != "code":
		return nil, refuse(UnsupportedResponseType)
	case !slices.Contains([]string{"", "query", "fragment"}, ask.ResponseMode):
		return nil, refuse(UnsupportedResponseMode)
	}
	asked := parseScopes(ask.Scope)
	if len(asked) == 0 {
		return nil, missing("scope")
	}
	granted := holdable(asked, admin)
	if !within(asked, app.Scopes) || len(granted) == 0 {
		return nil, refuse(InvalidScope)
	}
	switch {
	case ask.CodeChallenge == "" && !app.Confidential:
		return nil, missing("code_challenge")
	case ask.CodeChallenge == "" && ask.CodeChallengeMethod == "":
	case ask.CodeChallengeMethod != "S256":
		return nil, refuse(InvalidChallenge)
	case !challengePattern.MatchString(ask.CodeChallenge):
		return nil, &Error{Code: InvalidRequest, Text: "The code challenge is not an S256 one."}
	}
	if len(ask.Nonce) > maxNonce {
		return nil, &Error{Code: InvalidRequest, Text: "The nonce is too long."}
	}
	return granted, nil
}

// powerful scopes are those that administrators may keep from applications
// that nobody vouches for.
var powerful = access.Scopes{
	access.ScopeAPI, access.ScopeReadAPI, access.ScopeSudo, access.ScopeAdminMode, access.ScopeReadRepository,
	access.ScopeWriteRepository, access.ScopeReadRegistry, access.ScopeWriteRegistry,
}

// KeptFrom reports whether the instance keeps its administrators from this
// application.
func (s *Service) KeptFrom(u *user.User, app *Application) bool {
	return u.Admin && s.deps.Settings.Current().DisableAdminOAuthScopes && !app.Trusted &&
		slices.ContainsFunc(app.Scopes, powerful.Has)
}

// Agreed reports whether the person need not be asked: somebody vouches for
// the application, or it can prove who it is and was granted the same before.
func (s *Service) Agreed(ctx context.Context, u *user.User, req *Request) (bool, error) {
	if req.Application.Trusted {
		return true, nil
	}
	if !req.Application.Confidential {
		return false, nil
	}
	return postgres.Value[bool](ctx, s.deps.DB, sqlConsented, u.ID, req.Application.ID, req.Ask.RedirectURI, req.Scopes)
}

// Approve gives the application a code for the consent of a person who is
// signed in, and returns the address to send that person to.
func (s *Service) Approve(ctx context.Context, by access.Actor, u *user.User, req *Request) (string, error) {
	code, now := newSecret(), s.deps.Clock.Now()
	err := s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, sqlInsertCode, req.Application.ID, u.ID, s.digest(codeKind, code.Reveal()), req.Ask.RedirectURI,
			req.Scopes, optional(req.Ask.CodeChallenge), optional(req.Ask.Nonce), by.Credential.ID, now, now.Add(codeLife))
		if err != nil {
			return err
		}
		return s.deps.Bus.Publish(ctx, tx, Event{Action: Authorized, By: by, Application: *req.Application, For: u})
	})
	if err != nil {
		return "", err
	}
	return s.answer(req.Ask, "code", code.Reveal()), nil
}

// Answer is the address that tells the application of a refusal. It is for
// requests whose client and address are valid.
func (s *Service) Answer(req *Request, r *Error) string {
	return s.answer(req.Ask, "error", string(r.Code), "error_description", r.Text)
}

// Denied is the refusal of a person.
func Denied() *Error { return &Error{Code: AccessDenied, Text: texts[AccessDenied]} }

// Silent is the refusal to a request that forbids to ask the person.
func Silent(signedIn bool) *Error {
	code := LoginRequired
	if signedIn {
		code = ConsentRequired
	}
	return &Error{Code: code, Text: texts[code]}
}

// answer adds parameters to the address as it was given: the state comes back
// unchanged, and who answers is said, so that no other server's answer passes
// for ours (RFC 9207).
func (s *Service) answer(ask Ask, pairs ...string) string {
	if ask.State != "" {
		pairs = append(pairs, "state", ask.State)
	}
	pairs = append(pairs, "iss", s.deps.ExternalURL)
	var b strings.Builder
	b.WriteString(ask.RedirectURI)
	separator := "?"
	switch {
	case ask.ResponseMode == "fragment":
		separator = "#"
	case strings.Contains(ask.RedirectURI, "?"):
		separator = "&"
	}
	for i := 0; i < len(pairs); i += 2 {
		b.WriteString(separator + pairs[i] + "=" + url.QueryEscape(pairs[i+1]))
		separator = "&"
	}
	return b.String()
}

func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// code is a person's consent on its way to the application.
type code struct {
	ID              int64
	ApplicationID   int64
	UserID          int64
	RedirectURI     string `db:"redirect_uri"`
	Scopes          access.Scopes
	CodeChallenge   *string
	Nonce           *string
	AuthenticatedAt time.Time
	ExpiresAt       time.Time
	UsedAt          *time.Time
	FamilyID        *int64
}

// Token is an access token with its refresh token. The secrets are not in it.
type Token struct {
	ID              int64
	ApplicationID   *int64
	UserID          int64
	Scopes          access.Scopes
	RedirectURI     *string `db:"redirect_uri"`
	AuthenticatedAt *time.Time
	FamilyID        int64
	CreatedAt       time.Time
	ExpiresAt       time.Time
	RevokedAt       *time.Time
}

// Issued is what an application gets for a grant, once.
type Issued struct {
	Token
	Access  secretbox.Secret
	Refresh secretbox.Secret // empty where there is none
	IDToken string           // empty where the person's identity was not asked for
}
