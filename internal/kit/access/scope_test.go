package access_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
)

func TestScopesOpenRoutes(t *testing.T) {
	t.Parallel()
	readUser := access.Demand{Extra: []access.Scope{access.ScopeReadUser}}
	createRunner := access.Demand{Extra: []access.Scope{access.ScopeCreateRunner}}
	files := access.Demand{Extra: []access.Scope{access.ScopeReadRepository}}
	for _, c := range []struct {
		name    string
		demand  access.Demand
		has     string
		reading bool
		missing string // what the refusal asks for
	}{
		{"api opens all", access.Demand{}, "api", false, ""},
		{"read_api reads", access.Demand{}, "read_api", true, ""},
		{"read_api does not write", access.Demand{}, "read_api", false, "api read_api"},
		{"no scope opens nothing", access.Demand{}, "", true, "api read_api"},
		{"sudo alone opens nothing", access.Demand{}, "sudo", true, "api read_api"},
		{"write_repository is not for REST", access.Demand{}, "write_repository", false, "api read_api"},
		{"read_user reads where it is listed", readUser, "read_user", true, ""},
		{"read_user does not write", readUser, "read_user", false, "read_user api read_api"},
		{"read_user does not read elsewhere", access.Demand{}, "read_user", true, "api read_api"},
		{"create_runner writes where it is listed", createRunner, "create_runner", false, ""},
		{"create_runner is worth nothing elsewhere", access.Demand{}, "create_runner", false, "api read_api"},
		{"read_repository reads files", files, "read_repository", true, ""},
		{"read_repository does not write files", files, "read_repository", false, "read_repository api read_api"},
		{"several small ones do not add up", readUser, "read_user read_api ai_features", false, "read_user api read_api"},
		{"any token will do", access.Demand{Any: true}, "", false, ""},
	} {
		for _, kind := range []access.Kind{access.PersonalToken, access.OAuthToken} {
			err := access.CheckScope(access.Credential{Kind: kind, Scopes: scopes(c.has)}, c.demand, c.reading)
			if c.missing == "" {
				if err != nil {
					t.Errorf("%s: %v", c.name, err)
				}
				continue
			}
			e, _ := fault.Of(err)
			if e == nil || e.Kind != fault.InsufficientScope || strings.Join(e.Scopes, " ") != c.missing {
				t.Errorf("%s: got %+v, want %q", c.name, e, c.missing)
			}
		}
	}
	if got := readUser.Extra; !slices.Equal(got, []access.Scope{access.ScopeReadUser}) {
		t.Errorf("a check changed what a route demands: %v", got)
	}
}

func scopes(names string) access.Scopes {
	var all access.Scopes
	for _, name := range strings.Fields(names) {
		all = append(all, access.Scope(name))
	}
	return all
}

func TestCredentialsWithoutScopesPass(t *testing.T) {
	t.Parallel()
	for _, kind := range []access.Kind{access.NoCredential, access.Session, access.JobToken} {
		if err := access.CheckScope(access.Credential{Kind: kind}, access.Demand{}, false); err != nil {
			t.Errorf("%q: %v", kind, err)
		}
	}
}

// A token with fewer scopes never opens more, and what may write may read.
func TestScopesAreMonotonous(t *testing.T) {
	t.Parallel()
	all := access.PersonalScopes(true)
	rapid.Check(t, func(t *rapid.T) {
		some := rapid.SliceOfDistinct(rapid.SampledFrom(all), rapid.ID[access.Scope])
		has, extra := access.Scopes(some.Draw(t, "has")), some.Draw(t, "extra")
		fewer := has[:rapid.IntRange(0, len(has)).Draw(t, "fewer")]
		open := func(s access.Scopes, reading bool) bool {
			return access.CheckScope(access.Credential{Kind: access.PersonalToken, Scopes: s}, access.Demand{Extra: extra}, reading) == nil
		}
		for _, reading := range []bool{true, false} {
			if open(fewer, reading) && !open(has, reading) {
				t.Fatalf("%v opens what %v does not", fewer, has)
			}
		}
		if open(has, false) && !open(has, true) {
			t.Fatalf("%v writes what it may not read", has)
		}
	})
}

func TestSomeScopesAreForAdministratorsOnly(t *testing.T) {
	t.Parallel()
	everybody, administrators := access.PersonalScopes(false), access.PersonalScopes(true)
	for _, s := range everybody {
		if !administrators.Has(s) || !access.KnownScope(s) {
			t.Errorf("%s is not for administrators, or not known", s)
		}
	}
	for _, s := range []access.Scope{access.ScopeSudo, access.ScopeAdminMode, access.ScopeReadServicePing} {
		if everybody.Has(s) || !administrators.Has(s) || !access.KnownScope(s) {
			t.Errorf("%s is for others, or not known", s)
		}
	}
	for _, s := range []access.Scope{access.ScopeOpenID, access.ScopeProfile, access.ScopeEmail, access.ScopeReadObservability, "", "nope"} {
		if administrators.Has(s) || access.KnownScope(s) {
			t.Errorf("%q may stand on a person's token", s)
		}
	}
	everybody[0] = "changed"
	if access.PersonalScopes(false)[0] == "changed" {
		t.Error("a caller can change the list for all")
	}
}
