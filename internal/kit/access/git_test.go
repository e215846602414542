package access_test

import (
	"testing"

	"stithy/internal/kit/access"
)

func TestWhatIsPresentedDecidesAboutGit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind        access.Kind
		has         string
		fetch, push bool
	}{
		{access.NoCredential, "", true, false},
		{access.JobToken, "", true, false},
		{access.Password, "", true, true},
		{access.SSHKey, "", true, true},
		{access.DeployKey, "", true, true},
		{access.PersonalToken, "api", true, true},
		{access.PersonalToken, "write_repository", true, true},
		{access.PersonalToken, "read_repository", true, false},
		{access.PersonalToken, "read_api", true, false},
		{access.PersonalToken, "read_user", false, false},
		{access.OAuthToken, "write_repository", true, true},
		{access.OAuthToken, "read_repository", true, false},
		{access.OAuthToken, "openid", false, false},
		{access.DeployToken, "read_repository", true, false},
		{access.DeployToken, "write_repository", false, false},
		{access.DeployToken, "api", false, false},
		{access.Session, "", false, false},
		{"unknown", "api", false, false},
	} {
		credential := access.Credential{Kind: c.kind, Scopes: scopes(c.has)}
		if got := access.MayGit(credential, false); got != c.fetch {
			t.Errorf("%s with %q fetches: %t", c.kind, c.has, got)
		}
		if got := access.MayGit(credential, true); got != c.push {
			t.Errorf("%s with %q pushs: %t", c.kind, c.has, got)
		}
	}
}

func TestAuditorsReadAndChangeNothing(t *testing.T) {
	t.Parallel()
	auditor := access.Actor{Person: &access.Person{ID: 1, Auditor: true}}
	for _, r := range access.Policy {
		if r.Level == access.OnInstance || r.PublicToo {
			continue // what anyone holds who sees the target is no question of auditing
		}
		if got := access.Holds(auditor, r.Ability, access.Target{Visibility: access.Private}); got != r.Read {
			t.Errorf("an auditor holds %s: %t", r.Ability, got)
		}
	}
	if !access.Holds(auditor, access.ReadCode, access.Target{Visibility: access.Private}) {
		t.Error("an auditor does not read the code of a private project")
	}
}

func TestWhoSeesATarget(t *testing.T) {
	t.Parallel()
	people := map[string]access.Actor{
		"a stranger": {}, "somebody": {Person: &access.Person{ID: 1}}, "somebody external": {Person: &access.Person{ID: 2, External: true}},
		"an auditor": {Person: &access.Person{ID: 3, Auditor: true}}, "an administrator": {Person: &access.Person{ID: 4, Admin: true}},
	}
	for visibility, seers := range map[access.Visibility][]string{
		access.Private:  {"an auditor", "an administrator"},
		access.Internal: {"somebody", "an auditor", "an administrator"},
		access.Public:   {"a stranger", "somebody", "somebody external", "an auditor", "an administrator"},
	} {
		sees := map[string]bool{}
		for _, name := range seers {
			sees[name] = true
		}
		for name, actor := range people {
			if got := access.Sees(actor, access.Target{Visibility: visibility}); got != sees[name] {
				t.Errorf("%s sees a target that is %s: %t", name, visibility, got)
			}
		}
		if !access.Sees(people["somebody external"], access.Target{Visibility: visibility, Role: access.Guest}) {
			t.Errorf("a member does not see a target that is %s", visibility)
		}
	}
}
