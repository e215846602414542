package githttp

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"strings"
	"unicode/utf8"

	"stithy/internal/deploytoken"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/httpapi"
	"stithy/internal/platform/secretbox"
	"stithy/internal/user"
)

// caller is who makes a request, as far as they proved who they are.
type caller struct {
	access.Actor
	token *deploytoken.Bearer // a deploy token, which is nobody
}

// known reports whether anything was proved.
func (v caller) known() bool { return v.SignedIn() || v.token != nil }

var (
	// errUnknown asks for credentials, or for better ones.
	errUnknown = fault.New(fault.Unauthenticated)
	// errPassword says that no password will do, so git need not ask for one.
	errPassword = &fault.Error{Kind: fault.Unauthenticated, Reason: "password"}
	errBanned   = fault.WithMessage(fault.Forbidden, "Forbidden")
)

// authenticate finds out who sends a request. Credentials are not needed
// everywhere, but those that come must be good.
func (s *Server) authenticate(r *http.Request) (caller, error) {
	from := httpapi.RecorderOf(r.Context()).Address
	if r.Header.Get("Authorization") == "" {
		return caller{Actor: access.Actor{Address: from}}, nil
	}
	if s.bans.banned(from) {
		return caller{}, errBanned
	}
	name, secret, ok := r.BasicAuth()
	if !ok || !isText(name) || !isText(secret) {
		return caller{}, errUnknown
	}
	v, err := s.prove(r.Context(), name, secret, from, r.Method == http.MethodGet)
	if fault.Is(err, fault.Unauthenticated) || fault.Is(err, fault.TokenUnusable) {
		if name != jobUser {
			s.bans.failed(from)
		}
		if !errors.Is(err, errPassword) {
			err = errUnknown
		}
		return caller{}, err
	}
	if f, ok := fault.Of(err); ok {
		return caller{}, fault.WithMessage(fault.Forbidden, "%s", f.Error()) // an account that may not be used, and why
	}
	if err == nil {
		s.bans.forgive(from)
	}
	v.Address = from
	return v, err
}

// isText reports whether the database would take it, and at a sane length.
func isText(s string) bool {
	return len(s) <= 1000 && utf8.ValidString(s) && !strings.ContainsRune(s, 0)
}

// jobUser is the user name of jobs, whatever the service is called.
const jobUser = "gitlab-ci-token"

// prove goes through what a user name and a secret may be, in the order that
// clients rely on. The kind of a secret is never guessed from its name alone:
// each kind has digests of its own.
func (s *Server) prove(ctx context.Context, name, secret string, from netip.Addr, reading bool) (caller, error) {
	kinds := []access.Kind{access.PersonalToken}
	switch name {
	case jobUser, s.deps.Names.Service + "-ci-token":
		kinds = []access.Kind{access.JobToken, access.PersonalToken}
	case "oauth2":
		kinds = []access.Kind{access.OAuthToken, access.PersonalToken}
	}
	actor, err := s.deps.Tokens.Authenticate(ctx, access.Presented{Secret: secret, Kinds: kinds, Address: from, Reading: reading})
	if !fault.Is(err, fault.Unauthenticated) {
		return caller{Actor: actor}, err
	}
	bearer, err := s.deps.DeployTokens.Authenticate(ctx, name, secret)
	if err != nil {
		return caller{}, err
	}
	if bearer != nil {
		return caller{Actor: access.Actor{Credential: bearer.Credential()}, token: bearer}, nil
	}
	return s.byPassword(ctx, name, secret, from)
}

// byPassword is the last way in, and the only one that a second factor closes.
func (s *Server) byPassword(ctx context.Context, name, secret string, from netip.Addr) (caller, error) {
	settings := s.deps.Settings.Current()
	if name == "" || secret == "" {
		return caller{}, errUnknown
	}
	if !settings.PasswordAuthenticationEnabledForGit {
		return caller{}, errPassword
	}
	u, err := s.deps.Password(ctx, name, secretbox.Secret(secret), from)
	switch f, shown := fault.Of(err); {
	case shown && f.Kind != fault.Forbidden:
		return caller{}, errUnknown
	case err != nil:
		return caller{}, err
	case u.TwoFactorEnabled || needsFactor(u, settings.RequireTwoFactorAuthentication, settings.RequireAdminTwoFactorAuthentication):
		return caller{}, errPassword
	}
	actor, err := s.deps.Tokens.Admit(u, access.Credential{Kind: access.Password})
	return caller{Actor: actor}, err
}

func needsFactor(u *user.User, all, administrators bool) bool {
	return all || (administrators && u.Admin)
}
