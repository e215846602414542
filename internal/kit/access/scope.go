package access

import (
	"slices"

	"stithy/internal/kit/fault"
)

// Scope is one thing that a token may be used for.
type Scope string

const (
	ScopeAPI                Scope = "api"
	ScopeReadAPI            Scope = "read_api"
	ScopeReadUser           Scope = "read_user"
	ScopeCreateRunner       Scope = "create_runner"
	ScopeK8sProxy           Scope = "k8s_proxy"
	ScopeReadRepository     Scope = "read_repository"
	ScopeWriteRepository    Scope = "write_repository"
	ScopeReadRegistry       Scope = "read_registry"
	ScopeWriteRegistry      Scope = "write_registry"
	ScopeAIFeatures         Scope = "ai_features"
	ScopeSudo               Scope = "sudo"
	ScopeAdminMode          Scope = "admin_mode"
	ScopeReadServicePing    Scope = "read_service_ping"
	ScopeOpenID             Scope = "openid"
	ScopeProfile            Scope = "profile"
	ScopeEmail              Scope = "email"
	ScopeReadObservability  Scope = "read_observability"
	ScopeWriteObservability Scope = "write_observability"
)

// userScopes may stand on the token of any person.
var userScopes = Scopes{
	ScopeAPI, ScopeReadAPI, ScopeReadUser, ScopeCreateRunner, ScopeK8sProxy,
	ScopeReadRepository, ScopeWriteRepository, ScopeReadRegistry, ScopeWriteRegistry, ScopeAIFeatures,
}

// adminScopes may stand on the token of an administrator only.
var adminScopes = Scopes{ScopeSudo, ScopeAdminMode, ScopeReadServicePing}

// PersonalScopes lists what the token of a person may carry.
func PersonalScopes(admin bool) Scopes {
	if admin {
		return slices.Concat(userScopes, adminScopes)
	}
	return slices.Clone(userScopes)
}

// KnownScope reports whether some person's token could carry the scope.
func KnownScope(s Scope) bool { return userScopes.Has(s) || adminScopes.Has(s) }

// Demand is what a route asks of a token.
type Demand struct {
	Extra []Scope // accepted beside api and read_api
	Any   bool    // any token will do, whatever its scopes
}

// readOnly scopes open reading methods only, even where a route lists them.
var readOnly = Scopes{ScopeReadAPI, ScopeReadUser, ScopeReadRepository, ScopeAIFeatures}

// CheckScope refuses a token that does not carry enough for a route. A session
// has no scopes and passes: it acts with the whole of its person's rights.
func CheckScope(c Credential, d Demand, reading bool) error {
	if d.Any || c.Kind == NoCredential || c.Kind == Session || c.Kind == JobToken || c.Scopes.Has(ScopeAPI) {
		return nil
	}
	enough := append(slices.Clone(d.Extra), ScopeAPI, ScopeReadAPI)
	for _, s := range enough {
		if c.Scopes.Has(s) && (reading || !readOnly.Has(s)) {
			return nil
		}
	}
	return InsufficientScope(enough...)
}

// InsufficientScope says which scopes would have been enough.
func InsufficientScope(enough ...Scope) error {
	names := make([]string, len(enough))
	for i, s := range enough {
		names[i] = string(s)
	}
	return &fault.Error{Kind: fault.InsufficientScope, Scopes: names}
}

// MayGit reports whether a credential is good for git: scopes belong to what
// was presented, whichever way it came. Who has none acts with the whole of
// their rights, but for machines that may only read.
func MayGit(c Credential, push bool) bool {
	switch c.Kind {
	case NoCredential, JobToken:
		return !push
	case Password, SSHKey, DeployKey:
		return true
	case PersonalToken, OAuthToken:
		if c.Scopes.Has(ScopeAPI) || c.Scopes.Has(ScopeWriteRepository) {
			return true
		}
		return !push && (c.Scopes.Has(ScopeReadAPI) || c.Scopes.Has(ScopeReadRepository))
	case DeployToken:
		return !push && c.Scopes.Has(ScopeReadRepository)
	}
	return false
}
