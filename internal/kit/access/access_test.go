package access_test

import (
	"testing"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
)

var (
	anonymous = access.Actor{}
	member    = access.Actor{Person: &access.Person{ID: 2, Username: "mia"}}
	admin     = access.Actor{Person: &access.Person{ID: 1, Username: "ada", Admin: true}}
)

func TestAnActorIsWhoeverSignedIn(t *testing.T) {
	t.Parallel()
	if anonymous.SignedIn() || anonymous.Admin() || anonymous.ID() != 0 || anonymous.Is(0) {
		t.Error("nobody passes for somebody")
	}
	if !member.SignedIn() || member.Admin() || member.ID() != 2 || !member.Is(2) || member.Is(1) {
		t.Error("a member is not who they are")
	}
	if !admin.Admin() {
		t.Error("an administrator is none")
	}
	// Acting as another person gives that person's rights, not one's own.
	if sudo := (access.Actor{Person: member.Person, Sudoer: admin.Person}); sudo.Admin() {
		t.Error("sudo keeps the administrator's rights")
	}
}

func TestTheMatrixOfAbilities(t *testing.T) {
	t.Parallel()
	const ok = fault.Internal // no fault at all
	for _, c := range []struct {
		can                      access.Ability
		anonymous, member, admin fault.Kind
	}{
		{access.Public, ok, ok, ok},
		{access.ReadProfiles, fault.Forbidden, ok, ok},
		{access.SignIn, fault.Unauthenticated, ok, ok},
		{access.Administer, fault.Unauthenticated, fault.Forbidden, ok},
		{"", fault.Forbidden, fault.Forbidden, fault.Forbidden},
		{"no_such_ability", fault.Forbidden, fault.Forbidden, fault.Forbidden},
	} {
		for actor, want := range map[*access.Actor]fault.Kind{&anonymous: c.anonymous, &member: c.member, &admin: c.admin} {
			err := access.Check(*actor, c.can)
			if (want == ok && err != nil) || (want != ok && !fault.Is(err, want)) {
				t.Errorf("%s to %q: got %v, want kind %d", access.RankOf(*actor), c.can, err, want)
			}
		}
	}
}

func TestEveryRuleIsWhole(t *testing.T) {
	t.Parallel()
	seen := map[access.Ability]bool{}
	for _, r := range access.Policy {
		if r.Ability == "" || r.Meaning == "" || seen[r.Ability] {
			t.Errorf("rule %+v is empty, unexplained or there twice", r)
		}
		seen[r.Ability] = true
		if r.From == access.Anonymous && r.Ability != access.Public && (!r.Read || !r.Seen) {
			t.Errorf("%s is open without being called public", r.Ability)
		}
	}
}

func TestCheckSignedInLooksNoFurther(t *testing.T) {
	t.Parallel()
	if err := access.CheckSignedIn(member, access.Administer); err != nil {
		t.Errorf("a member was refused before the parameters: %v", err)
	}
	if err := access.CheckSignedIn(anonymous, access.Administer); !fault.Is(err, fault.Unauthenticated) {
		t.Errorf("got %v", err)
	}
	if err := access.CheckSignedIn(admin, ""); !fault.Is(err, fault.Forbidden) {
		t.Errorf("the zero ability was granted: %v", err)
	}
}

func TestRanksHaveNames(t *testing.T) {
	t.Parallel()
	for rank, want := range map[access.Rank]string{access.Anonymous: "anonymous", access.Member: "signed in", access.Administrator: "administrator"} {
		if rank.String() != want {
			t.Errorf("got %q, want %q", rank, want)
		}
	}
}
