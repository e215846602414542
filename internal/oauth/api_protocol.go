package oauth

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi"
	"stithy/internal/platform/secretbox"
)

// protocol is what programs ask the provider. What else is below /oauth are
// pages for people.
func (s *Service) protocol() []httpapi.Endpoint {
	client, bearer := []string{"basic"}, []string{"bearer"}
	return s.dialect.In(
		httpapi.Do(httpapi.Spec{
			Route: "POST /oauth/token", Needs: access.BySecret, AnyScope: true, Scripts: true, Credentials: client,
			Summary: "Exchange a grant for a token.",
		}, s.handleToken),
		httpapi.Do(httpapi.Spec{
			Route: "POST /oauth/revoke", Needs: access.BySecret, AnyScope: true, Scripts: true, Credentials: client,
			Summary: "End a token with its pair.", ExtraRefusals: "403 for the token of another application that keeps a secret",
		}, s.handleRevoke),
		httpapi.Do(httpapi.Spec{
			Route: "POST /oauth/introspect", Needs: access.BySecret, AnyScope: true, Credentials: []string{"basic", "bearer"},
			Summary: "Show a token of one's own application.",
		}, s.handleIntrospect),
		httpapi.Do(httpapi.Spec{
			Route: "GET /oauth/token/info", Needs: access.BySecret, AnyScope: true, Credentials: bearer,
			Summary: "Show the token that is presented.", ExtraRefusals: "401 without an access token that works",
		}, s.handleInfo),
		httpapi.Do(httpapi.Spec{
			Route: "GET /oauth/userinfo", Needs: access.BySecret, Scopes: openID, Scripts: true, Credentials: bearer,
			Summary: "Show the person that a token acts for.", ExtraRefusals: noUserInfo,
		}, s.handleUserInfo),
		httpapi.Do(httpapi.Spec{
			Route: "POST /oauth/userinfo", Needs: access.BySecret, Scopes: openID, Scripts: true, Credentials: bearer,
			Summary: "Show the person that a token acts for.", ExtraRefusals: noUserInfo,
		}, s.handleUserInfo),
		httpapi.Do(httpapi.Spec{
			Route: "GET /oauth/discovery/keys", Needs: access.Anyone, AnyScope: true, Scripts: true,
			Summary: "List the public keys that ID tokens are signed with.",
		}, s.handleKeys),
		httpapi.Do(httpapi.Spec{
			Route: "GET /.well-known/openid-configuration", Needs: access.Anyone, AnyScope: true, Scripts: true,
			Summary: "Describe the provider to OpenID Connect clients.",
		}, s.handleDiscovery),
		httpapi.Do(httpapi.Spec{
			Route: "GET /.well-known/oauth-authorization-server", Needs: access.Anyone, AnyScope: true, Scripts: true,
			Summary: "Describe the provider to OAuth clients.",
		}, s.handleDiscovery),
		httpapi.Do(httpapi.Spec{
			Route: "GET /.well-known/webfinger", Needs: access.Anyone, AnyScope: true, Scripts: true,
			Summary: "Name the provider of an account.",
		}, s.handleWebfinger),
	)
}

var openID = []access.Scope{access.ScopeOpenID}

const noUserInfo = "401 without an access token that works, 403 if it lacks the scope openid"

type call[P any] = httpapi.Call[httpapi.None, P]

// clientParams are how the caller says which application it is, without HTTP
// Basic.
type clientParams struct {
	ClientID     string `param:"client_id" doc:"ID of the application, without HTTP Basic"`
	ClientSecret string `param:"client_secret" doc:"Its secret, without HTTP Basic"`
	State        string `param:"state" doc:"Returned with an error"`
}

// clientOf is the application that a caller says it is: HTTP Basic, or
// parameters.
func clientOf[P any](c call[P], given clientParams) Client {
	if id, secret, ok := c.BasicAuth(); ok {
		return Client{ID: unescaped(id), Secret: secretbox.Secret(unescaped(secret))}
	}
	return Client{ID: given.ClientID, Secret: secretbox.Secret(given.ClientSecret)}
}

// unescaped undoes the form encoding that careful clients apply inside Basic.
func unescaped(s string) string {
	if plain, err := url.QueryUnescape(s); err == nil && utf8.ValidString(plain) && strings.IndexByte(plain, 0) < 0 {
		return plain
	}
	return ""
}

func bearerOf[P any](c call[P]) string {
	if scheme, token, ok := strings.Cut(c.Header("Authorization"), " "); ok && strings.EqualFold(scheme, "Bearer") {
		return token
	}
	return ""
}

type bearerParams struct {
	AccessToken string `param:"access_token" doc:"The token, where headers cannot be set"`
	State       string `param:"state" doc:"Returned with an error"`
}

// presented is the access token of the caller, wherever it stands.
func presented(c call[bearerParams]) string {
	if token := bearerOf(c); token != "" {
		return token
	}
	return c.Params.AccessToken
}

type tokenParams struct {
	clientParams
	GrantType    string `param:"grant_type" required:"true" doc:"What is exchanged: authorization_code, refresh_token, or password where the operator allows it"`
	Code         string `param:"code" doc:"The authorization code"`
	RedirectURI  string `param:"redirect_uri" doc:"The address that the code was sent to"`
	CodeVerifier string `param:"code_verifier" doc:"What the code challenge was made from"`
	RefreshToken string `param:"refresh_token" doc:"The refresh token"`
	Scope        string `param:"scope" doc:"Scopes, separated by spaces; those that were granted when empty"`
	Username     string `param:"username" doc:"Login of the person, with the grant type password"`
	Password     string `param:"password" doc:"Their password"`
}

type tokenForm struct {
	AccessToken  string `json:"access_token"`
	TokenType    string `json:"token_type"`
	ExpiresIn    int    `json:"expires_in"`
	RefreshToken string `json:"refresh_token,omitempty"`
	Scope        string `json:"scope"`
	CreatedAt    int64  `json:"created_at"`
	IDToken      string `json:"id_token,omitempty"`
}

func (s *Service) handleToken(ctx context.Context, c call[tokenParams]) (tokenForm, error) {
	p := c.Params
	i, err := s.Exchange(ctx, Exchange{
		Client: clientOf(c, p.clientParams), Type: p.GrantType, Code: p.Code, RedirectURI: p.RedirectURI, Verifier: p.CodeVerifier,
		RefreshToken: p.RefreshToken, Scope: p.Scope, Username: p.Username, Password: secretbox.Secret(p.Password), From: c.Actor.Address,
	})
	if err != nil {
		return tokenForm{}, err
	}
	return tokenForm{
		AccessToken: i.Access.Reveal(), TokenType: "bearer", ExpiresIn: int(TokenLife.Seconds()), RefreshToken: i.Refresh.Reveal(),
		Scope: joined(i.Scopes), CreatedAt: i.CreatedAt.Unix(), IDToken: i.IDToken,
	}, nil
}

type secretParams struct {
	clientParams
	Token string `param:"token" doc:"An access token or a refresh token"`
	Hint  string `param:"token_type_hint" doc:"Which of the two it is: access_token or refresh_token"`
}

// revokedForm says nothing: what is unknown is revoked as well.
type revokedForm struct{}

func (s *Service) handleRevoke(ctx context.Context, c call[secretParams]) (revokedForm, error) {
	err := s.Revoke(ctx, clientOf(c, c.Params.clientParams), c.Params.Token, c.Params.Hint)
	r, refused := Refused(err)
	switch {
	case refused && r.Code == UnauthorizedClient:
		err = &answerError{why: r, status: http.StatusForbidden}
	case err != nil && !refused: // it may not be done; the client has to ask again (RFC 7009)
		err = errors.Join(refuse(Unavailable), err)
	}
	return revokedForm{}, err
}

type introspectionForm struct {
	Active    bool   `json:"active"`
	Scope     string `json:"scope,omitempty"`
	ClientID  string `json:"client_id,omitempty"`
	TokenType string `json:"token_type,omitempty"`
	ExpiresAt int64  `json:"exp,omitempty"`
	IssuedAt  int64  `json:"iat,omitempty"`
}

func (s *Service) handleIntrospect(ctx context.Context, c call[secretParams]) (form introspectionForm, err error) {
	i, err := s.Introspect(ctx, clientOf(c, c.Params.clientParams), bearerOf(c), c.Params.Token, c.Params.Hint)
	if err != nil || i == nil {
		return form, err
	}
	form = introspectionForm{Active: true, Scope: joined(i.Scopes), ClientID: i.ClientID, TokenType: "Bearer", IssuedAt: i.CreatedAt.Unix()}
	if !i.Refresh {
		form.ExpiresAt = i.ExpiresAt.Unix()
	}
	return form, nil
}

type infoForm struct {
	ResourceOwnerID int64         `json:"resource_owner_id"`
	Scope           access.Scopes `json:"scope"`
	ExpiresIn       int64         `json:"expires_in"`
	Application     clientForm    `json:"application"`
	CreatedAt       int64         `json:"created_at"`

	// Deprecated names of scope and expires_in.
	Scopes           access.Scopes `json:"scopes"`
	ExpiresInSeconds int64         `json:"expires_in_seconds"`
}

type clientForm struct {
	UID *string `json:"uid"`
}

func (s *Service) handleInfo(ctx context.Context, c call[bearerParams]) (infoForm, error) {
	i, err := s.Info(ctx, presented(c))
	if r, refused := Refused(err); refused {
		return infoForm{}, &answerError{why: r, status: http.StatusUnauthorized, state: "unauthorized"}
	}
	if err != nil {
		return infoForm{}, err
	}
	left := int64(i.ExpiresAt.Sub(s.deps.Clock.Now()).Seconds())
	return infoForm{
		ResourceOwnerID: i.UserID, Scope: i.Scopes, ExpiresIn: left, Application: clientForm{UID: i.ApplicationUID},
		CreatedAt: i.CreatedAt.Unix(), Scopes: i.Scopes, ExpiresInSeconds: left,
	}, nil
}

func (s *Service) handleUserInfo(ctx context.Context, c call[bearerParams]) (reply httpapi.Extended[Claims], _ error) {
	claims, ok, err := s.UserInfo(ctx, presented(c))
	if r, refused := Refused(err); refused {
		return reply, &answerError{why: r, status: http.StatusUnauthorized, bare: true}
	}
	if err != nil {
		return reply, err
	}
	if !ok {
		return reply, &answerError{why: &Error{Code: InvalidScope}, status: http.StatusForbidden, bare: true}
	}
	reply.Body = claims
	// The names of these members hold the service's own name.
	for _, role := range []access.Role{access.Owner, access.Maintainer, access.Developer} {
		if paths := claims.ByRole[role]; len(paths) > 0 {
			reply.More = append(reply.More, httpapi.Member{Name: s.roleClaim(role), Value: paths})
		}
	}
	return reply, nil
}

type keysForm struct {
	Keys []PublicKey `json:"keys"`
}

func (s *Service) handleKeys(ctx context.Context, _ call[httpapi.None]) (httpapi.WithHeaders[keysForm], error) {
	keys, err := s.PublicKeys(ctx)
	if err != nil {
		return httpapi.WithHeaders[keysForm]{}, err
	}
	return cached("max-age=86400, public, must-revalidate, no-transform", keysForm{keys}), nil
}

// cached is a reply that others may keep for a while.
func cached[T any](control string, body T) httpapi.WithHeaders[T] {
	return httpapi.WithHeaders[T]{Body: body, Header: map[string]string{"Cache-Control": control}}
}

// configuration is what clients find out about the provider by themselves.
type configuration struct {
	Issuer                string        `json:"issuer"`
	AuthorizationEndpoint string        `json:"authorization_endpoint"`
	TokenEndpoint         string        `json:"token_endpoint"`
	RevocationEndpoint    string        `json:"revocation_endpoint"`
	IntrospectionEndpoint string        `json:"introspection_endpoint"`
	UserInfoEndpoint      string        `json:"userinfo_endpoint"`
	KeysURI               string        `json:"jwks_uri"`
	Scopes                access.Scopes `json:"scopes_supported"`
	ResponseTypes         []string      `json:"response_types_supported"`
	ResponseModes         []string      `json:"response_modes_supported"`
	GrantTypes            []string      `json:"grant_types_supported"`
	AuthMethods           []string      `json:"token_endpoint_auth_methods_supported"`
	SubjectTypes          []string      `json:"subject_types_supported"`
	SigningAlgorithms     []string      `json:"id_token_signing_alg_values_supported"`
	ClaimTypes            []string      `json:"claim_types_supported"`
	Claims                []string      `json:"claims_supported"`
	ChallengeMethods      []string      `json:"code_challenge_methods_supported"`
	SaysIssuer            bool          `json:"authorization_response_iss_parameter_supported"`
}

func (s *Service) handleDiscovery(context.Context, call[httpapi.None]) (httpapi.WithHeaders[configuration], error) {
	grants := []string{"authorization_code", "refresh_token"}
	if s.deps.PasswordGrant {
		grants = append(grants, "password")
	}
	claims := []string{
		"iss", "sub", "aud", "exp", "iat", "auth_time", "nonce", "name", "nickname", "preferred_username", "email", "email_verified",
		"website", "profile", "picture", "groups", "groups_direct",
	}
	for _, role := range []access.Role{access.Owner, access.Maintainer, access.Developer} {
		claims = append(claims, s.roleClaim(role))
	}
	base := s.deps.ExternalURL
	return cached("max-age=3600, public", configuration{
		Issuer: base, AuthorizationEndpoint: base + "/oauth/authorize", TokenEndpoint: base + "/oauth/token",
		RevocationEndpoint: base + "/oauth/revoke", IntrospectionEndpoint: base + "/oauth/introspect",
		UserInfoEndpoint: base + "/oauth/userinfo", KeysURI: base + "/oauth/discovery/keys",
		Scopes: Scopes(), ResponseTypes: []string{"code"}, ResponseModes: []string{"query", "fragment"}, GrantTypes: grants,
		AuthMethods: []string{"client_secret_basic", "client_secret_post", "none"}, SubjectTypes: []string{"public"},
		SigningAlgorithms: []string{rs256}, ClaimTypes: []string{"normal"}, Claims: claims, ChallengeMethods: []string{"S256"},
		SaysIssuer: true,
	}), nil
}

type webfingerParams struct {
	Resource string `param:"resource" required:"true" doc:"The account, as an address"`
}

type webfingerForm struct {
	Links   []linkForm `json:"links"`
	Subject string     `json:"subject"`
}

type linkForm struct {
	Href string `json:"href"`
	Rel  string `json:"rel"`
}

func (s *Service) handleWebfinger(_ context.Context, c call[webfingerParams]) (webfingerForm, error) {
	return webfingerForm{
		Subject: c.Params.Resource,
		Links:   []linkForm{{Rel: "http://openid.net/specs/connect/1.0/issuer", Href: s.deps.ExternalURL + "/"}},
	}, nil
}
