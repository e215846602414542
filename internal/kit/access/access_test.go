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
		{access.Anyone, ok, ok, ok},
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
		if r.From == access.Anonymous && r.Ability != access.Anyone && r.Ability != access.BySecret && (!r.Read || !r.PublicToo) {
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

// What is closed is closed to all, what is for members is for those whose role
// would do on a private target, and what is frozen can be read.
func TestPE07_AFeatureIsPartOfEveryAbilityAboutIt(t *testing.T) {
	t.Parallel()
	auditor := access.Actor{Person: &access.Person{ID: 3, Auditor: true}}
	code := []access.Feature{access.Code}
	open := access.Target{Visibility: access.Public}
	as := func(role access.Role, change func(*access.Target)) access.Target {
		p := open
		p.Role = role
		change(&p)
		return p
	}
	off := func(p *access.Target) { p.Off = code }
	private := func(p *access.Target) { p.Private = code }
	frozen := func(p *access.Target) { p.Frozen = true }
	for _, c := range []struct {
		fact  string
		actor access.Actor
		can   access.Ability
		in    access.Target
		want  bool
	}{
		{"a stranger reads", anonymous, access.ReadCode, open, true},
		{"a stranger, members only", anonymous, access.ReadCode, as(0, private), false},
		{"a guest, members only", member, access.ReadCode, as(access.Guest, private), false},
		{"a reporter, members only", member, access.ReadCode, as(access.Reporter, private), true},
		{"an auditor, members only", auditor, access.ReadCode, as(0, private), true},
		{"a stranger comments, members only", member, access.CommentCode, as(0, private), false},
		{"an owner, closed", member, access.ReadCode, as(access.Owner, off), false},
		{"an administrator, closed", admin, access.ReadCode, as(0, off), false},
		{"an auditor, closed", auditor, access.ReadCode, as(0, off), false},
		{"an owner writes, closed", member, access.PushCode, as(access.Owner, off), false},
		{"what is no part of it stays", member, access.UpdateProject, as(access.Owner, off), true},
		{"reading what is frozen", anonymous, access.ReadCode, as(0, frozen), true},
		{"writing what is frozen", member, access.PushCode, as(access.Owner, frozen), false},
		{"an administrator writes what is frozen", admin, access.PushCode, as(0, frozen), false},
		{"adding files to what is frozen", member, access.UploadFiles, as(access.Owner, frozen), false},
		{"adding files to what is not", member, access.UploadFiles, open, true},
		{"thawing it", member, access.ArchiveProject, as(access.Owner, frozen), true},
	} {
		if got := access.Holds(c.actor, c.can, c.in); got != c.want {
			t.Errorf("%s: got %v", c.fact, got)
		}
	}
}
