package oauth

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/platform/postgres"
	"stithy/internal/user"
)

// bearer is an access token as authentication reads it, with its account.
type bearer struct {
	user.User
	TokenID   int64
	Scopes    access.Scopes
	ExpiresAt time.Time
	RevokedAt *time.Time
}

// Bearer resolves access tokens for token.Authenticate, with one query.
// Nothing is remembered between requests, so a revoked token is refused by
// every node at its next use.
func (s *Service) Bearer(ctx context.Context, p access.Presented) (*user.User, access.Credential, error) {
	if !wellFormed(p.Secret) {
		return nil, access.Credential{}, nil
	}
	b, err := postgres.One[bearer](ctx, s.deps.DB, sqlBearer, s.digest(access.OAuthToken, p.Secret))
	if errors.Is(err, postgres.ErrNoRows) {
		return nil, access.Credential{}, nil
	}
	switch {
	case err != nil:
		return nil, access.Credential{}, err
	case !s.deps.Clock.Now().Before(b.ExpiresAt):
		return nil, access.Credential{}, fault.WithMessage(fault.TokenUnusable, "Token is expired. You can either do re-authorization or token refresh.")
	case b.RevokedAt != nil:
		return nil, access.Credential{}, fault.WithMessage(fault.TokenUnusable, "Token was revoked. You have to re-authorize from the user.")
	}
	return &b.User, access.Credential{Kind: access.OAuthToken, ID: b.TokenID, Scopes: b.Scopes}, nil
}

// present finds who a bearer token speaks for, in the words of the protocol.
func (s *Service) present(ctx context.Context, secret string) (access.Actor, error) {
	actor, err := s.deps.Tokens.Authenticate(ctx, access.Presented{Secret: secret, Kinds: []access.Kind{access.OAuthToken}})
	if _, shown := fault.Of(err); shown {
		return actor, refuse(InvalidToken)
	}
	return actor, err
}

// Info is what the holder of a token may know of it.
type Info struct {
	Token
	ApplicationUID *string
}

// Info tells the holder of a token about it.
func (s *Service) Info(ctx context.Context, secret string) (*Info, error) {
	actor, err := s.present(ctx, secret)
	if err != nil {
		return nil, err
	}
	t, err := postgres.One[Token](ctx, s.deps.DB, sqlToken, actor.Credential.ID)
	if err != nil {
		return nil, err
	}
	i := &Info{Token: t}
	if t.ApplicationID != nil {
		app, err := postgres.One[Application](ctx, s.deps.DB, sqlApplication, *t.ApplicationID)
		if err != nil {
			return nil, err
		}
		i.ApplicationUID = &app.UID
	}
	return i, nil
}

// lookup finds a token by either of its secrets. A hint that is known narrows
// the search.
func (s *Service) lookup(ctx context.Context, q postgres.Querier, secret, hint string) (t Token, isRefresh bool, err error) {
	err = postgres.ErrNoRows
	if !wellFormed(secret) {
		return t, false, err
	}
	if hint != "refresh_token" {
		t, err = postgres.One[Token](ctx, q, sqlByDigest, s.digest(access.OAuthToken, secret))
	}
	if errors.Is(err, postgres.ErrNoRows) {
		t, err = postgres.One[Token](ctx, q, sqlByRefresh, s.digest(refreshKind, secret))
		return t, true, err
	}
	return t, false, err
}

// Revoke ends a token with its pair and all of its line. What is unknown or
// dead is revoked already. Only the application itself ends the token of one
// that can keep a secret; any other token is ended by whoever holds it.
func (s *Service) Revoke(ctx context.Context, c Client, secret, hint string) error {
	t, _, err := s.lookup(ctx, s.deps.DB, secret, hint)
	if errors.Is(err, postgres.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	if t.ApplicationID != nil {
		app, err := postgres.One[Application](ctx, s.deps.DB, sqlApplication, *t.ApplicationID)
		if err != nil {
			return err
		}
		caller, err := s.authenticate(ctx, c)
		if _, refused := Refused(err); err != nil && !refused {
			return err
		}
		if app.Confidential && (caller == nil || caller.ID != app.ID) {
			return &Error{Code: UnauthorizedClient, Text: "You are not authorized to revoke this token"}
		}
	}
	err = s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		if err := s.lock(ctx, tx, t.UserID, t.ApplicationID); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, sqlRevokeFamily, t.FamilyID, s.deps.Clock.Now())
		return err
	})
	if fault.Is(err, fault.NotFound) {
		return nil // it went with its application
	}
	return err
}

// Introspection is what an application may know of a token.
type Introspection struct {
	Token
	ClientID string
	Refresh  bool
}

// errUnproven is told a caller who does not say which application it is.
var errUnproven = &Error{
	Code: InvalidRequest,
	Text: "Request need to be authorized. Required parameter for authorizing request is missing or invalid.",
}

// Introspect tells an application about a token of its own; nil is one that
// does not work, or is none of its business. The caller proves to be an
// application as a client, or with another token of that application.
func (s *Service) Introspect(ctx context.Context, c Client, bearer, secret, hint string) (*Introspection, error) {
	var app *Application
	var err error
	switch {
	case bearer != "":
		app, err = s.holder(ctx, bearer)
	case c != (Client{}):
		if app, err = s.authenticate(ctx, c); err == nil && c.Secret == "" {
			err = refuse(InvalidClient) // anyone can say the name of a public client
		}
	default:
		err = errUnproven
	}
	if err != nil {
		return nil, err
	}
	t, isRefresh, err := s.lookup(ctx, s.deps.DB, secret, hint)
	if errors.Is(err, postgres.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if t.ApplicationID == nil || *t.ApplicationID != app.ID || t.RevokedAt != nil || !isRefresh && !s.deps.Clock.Now().Before(t.ExpiresAt) {
		return nil, nil
	}
	u, err := s.deps.Users.Find(ctx, t.UserID)
	if err == nil {
		err = s.deps.Tokens.Admits(u)
	}
	if _, shown := fault.Of(err); shown {
		return nil, nil
	}
	return &Introspection{Token: t, ClientID: app.UID, Refresh: isRefresh}, err
}

// holder is the application that a bearer token was issued to.
func (s *Service) holder(ctx context.Context, secret string) (*Application, error) {
	actor, err := s.present(ctx, secret)
	if err != nil {
		return nil, err
	}
	t, err := postgres.One[Token](ctx, s.deps.DB, sqlToken, actor.Credential.ID)
	if err != nil {
		return nil, err
	}
	if t.ApplicationID == nil {
		return nil, refuse(InvalidToken)
	}
	return found(postgres.One[Application](ctx, s.deps.DB, sqlApplication, *t.ApplicationID))
}
