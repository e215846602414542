package oauth

import (
	"bytes"
	"encoding/json"
	"net/http"

	"stithy/internal/kit/access"
	"stithy/internal/platform/secretbox"
)

type tokenForm struct {
	AccessToken  string `json:"access_token"`
	TokenType    string `json:"token_type"`
	ExpiresIn    int    `json:"expires_in"`
	RefreshToken string `json:"refresh_token,omitempty"`
	Scope        string `json:"scope"`
	CreatedAt    int64  `json:"created_at"`
	IDToken      string `json:"id_token,omitempty"`
}

func (d *Door) handleToken(x *exchange) error {
	p := x.params
	i, err := d.Exchange(x.r.Context(), Exchange{
		Client: x.client(), Type: p["grant_type"], Code: p["code"], RedirectURI: p["redirect_uri"], Verifier: p["code_verifier"],
		RefreshToken: p["refresh_token"], Scope: p["scope"], Username: p["username"], Password: secretbox.Secret(p["password"]), From: x.address,
	})
	if err != nil {
		return err
	}
	x.json(http.StatusOK, tokenForm{
		AccessToken: i.Access.Reveal(), TokenType: "bearer", ExpiresIn: int(TokenLife.Seconds()), RefreshToken: i.Refresh.Reveal(),
		Scope: joined(i.Scopes), CreatedAt: i.CreatedAt.Unix(), IDToken: i.IDToken,
	})
	return nil
}

func (d *Door) handleRevoke(x *exchange) error {
	if err := d.Revoke(x.r.Context(), x.client(), x.params["token"], x.params["token_type_hint"]); err != nil {
		return err
	}
	x.json(http.StatusOK, struct{}{})
	return nil
}

type introspectionForm struct {
	Active    bool   `json:"active"`
	Scope     string `json:"scope,omitempty"`
	ClientID  string `json:"client_id,omitempty"`
	TokenType string `json:"token_type,omitempty"`
	ExpiresAt int64  `json:"exp,omitempty"`
	IssuedAt  int64  `json:"iat,omitempty"`
}

func (d *Door) handleIntrospect(x *exchange) error {
	i, err := d.Introspect(x.r.Context(), x.client(), x.bearer(), x.params["token"], x.params["token_type_hint"])
	if err != nil {
		return err
	}
	form := introspectionForm{}
	if i != nil {
		form = introspectionForm{Active: true, Scope: joined(i.Scopes), ClientID: i.ClientID, TokenType: "Bearer", IssuedAt: i.CreatedAt.Unix()}
		if !i.Refresh {
			form.ExpiresAt = i.ExpiresAt.Unix()
		}
	}
	x.json(http.StatusOK, form)
	return nil
}

type infoForm struct {
	ResourceOwnerID int64           `json:"resource_owner_id"`
	Scope           access.Scopes   `json:"scope"`
	ExpiresIn       int64           `json:"expires_in"`
	Application     applicationForm `json:"application"`
	CreatedAt       int64           `json:"created_at"`

	// Deprecated names of scope and expires_in.
	Scopes           access.Scopes `json:"scopes"`
	ExpiresInSeconds int64         `json:"expires_in_seconds"`
}

type applicationForm struct {
	UID *string `json:"uid"`
}

func (d *Door) handleInfo(x *exchange) error {
	i, err := d.Info(x.r.Context(), x.token())
	if r, refused := Refused(err); refused {
		x.challenge(r)
		x.json(http.StatusUnauthorized, errorForm{Error: r.Code, Description: r.Text, State: "unauthorized"})
		return nil
	}
	if err != nil {
		return err
	}
	left := int64(i.ExpiresAt.Sub(d.deps.Clock.Now()).Seconds())
	x.json(http.StatusOK, infoForm{
		ResourceOwnerID: i.UserID, Scope: i.Scopes, ExpiresIn: left, Application: applicationForm{UID: i.ApplicationUID},
		CreatedAt: i.CreatedAt.Unix(), Scopes: i.Scopes, ExpiresInSeconds: left,
	})
	return nil
}

func (d *Door) handleUserInfo(x *exchange) error {
	c, ok, err := d.UserInfo(x.r.Context(), x.token())
	if r, refused := Refused(err); refused {
		x.challenge(r)
		x.w.WriteHeader(http.StatusUnauthorized)
		return nil
	}
	if err != nil {
		return err
	}
	if !ok {
		x.w.WriteHeader(http.StatusForbidden)
		return nil
	}
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	// The names of these members hold the service's own name.
	var b bytes.Buffer
	b.Write(bytes.TrimSuffix(text, []byte("}")))
	for _, role := range []access.Role{access.Owner, access.Maintainer, access.Developer} {
		if paths := c.ByRole[role]; len(paths) > 0 {
			name, _ := json.Marshal(d.roleClaim(role))
			list, _ := json.Marshal(paths)
			b.WriteString("," + string(name) + ":" + string(list))
		}
	}
	b.WriteByte('}')
	x.json(http.StatusOK, json.RawMessage(b.Bytes()))
	return nil
}

func (d *Door) handleKeys(x *exchange) error {
	keys, err := d.PublicKeys(x.r.Context())
	if err != nil {
		return err
	}
	x.w.Header().Set("Cache-Control", "max-age=86400, public, must-revalidate, no-transform")
	x.json(http.StatusOK, map[string]any{"keys": keys})
	return nil
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

func (d *Door) handleDiscovery(x *exchange) error {
	grants := []string{"authorization_code", "refresh_token"}
	if d.deps.PasswordGrant {
		grants = append(grants, "password")
	}
	claims := []string{
		"iss", "sub", "aud", "exp", "iat", "auth_time", "nonce", "name", "nickname", "preferred_username", "email", "email_verified",
		"website", "profile", "picture", "groups", "groups_direct",
	}
	for _, role := range []access.Role{access.Owner, access.Maintainer, access.Developer} {
		claims = append(claims, d.roleClaim(role))
	}
	base := d.deps.ExternalURL
	x.w.Header().Set("Cache-Control", "max-age=3600, public")
	x.json(http.StatusOK, configuration{
		Issuer: base, AuthorizationEndpoint: base + "/oauth/authorize", TokenEndpoint: base + "/oauth/token",
		RevocationEndpoint: base + "/oauth/revoke", IntrospectionEndpoint: base + "/oauth/introspect",
		UserInfoEndpoint: base + "/oauth/userinfo", KeysURI: base + "/oauth/discovery/keys",
		Scopes: Scopes(), ResponseTypes: []string{"code"}, ResponseModes: []string{"query", "fragment"}, GrantTypes: grants,
		AuthMethods: []string{"client_secret_basic", "client_secret_post", "none"}, SubjectTypes: []string{"public"},
		SigningAlgorithms: []string{rs256}, ClaimTypes: []string{"normal"}, Claims: claims, ChallengeMethods: []string{"S256"},
		SaysIssuer: true,
	})
	return nil
}

func (d *Door) handleWebfinger(x *exchange) error {
	if x.params["resource"] == "" {
		return missing("resource")
	}
	x.json(http.StatusOK, map[string]any{
		"subject": x.params["resource"],
		"links":   []map[string]string{{"rel": "http://openid.net/specs/connect/1.0/issuer", "href": d.deps.ExternalURL + "/"}},
	})
	return nil
}
