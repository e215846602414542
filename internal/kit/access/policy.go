package access

import "stithy/internal/kit/fault"

// Ability is one thing that an actor may do. The zero Ability is held by
// nobody: an open endpoint says Public out loud.
type Ability string

const (
	Public       Ability = "public"        // anyone
	ReadProfiles Ability = "read_profiles" // look at other people
	SignIn       Ability = "sign_in"       // act as oneself
	Administer   Ability = "administer"    // run the instance
)

// Rank orders people by what they may do on the whole instance.
type Rank uint8

const (
	Anonymous Rank = iota
	Member
	Administrator
)

func (r Rank) String() string { return [...]string{"anonymous", "signed in", "administrator"}[r] }

// Rule says who holds an ability, and how those who do not are told.
type Rule struct {
	Ability Ability
	From    Rank
	Meaning string
	Refusal error // for anonymous callers; nil asks them to sign in
}

// Policy is the whole table; docs/api/permissions.md is made from it.
var Policy = []Rule{
	{Ability: Public, From: Anonymous, Meaning: "anyone, signed in or not"},
	{Ability: ReadProfiles, From: Member, Meaning: "look at other people's profiles",
		Refusal: fault.Because(fault.Forbidden, "Not authorized!")},
	{Ability: SignIn, From: Member, Meaning: "act as oneself"},
	{Ability: Administer, From: Administrator, Meaning: "administer the instance"},
}

// RuleOf finds the rule of an ability.
func RuleOf(can Ability) (Rule, bool) {
	for _, r := range Policy {
		if r.Ability == can {
			return r, true
		}
	}
	return Rule{}, false
}

// RankOf places an actor.
func RankOf(a Actor) Rank {
	switch {
	case a.Admin():
		return Administrator
	case a.SignedIn():
		return Member
	}
	return Anonymous
}

// CheckSignedIn refuses anonymous callers of an ability that needs a person.
func CheckSignedIn(a Actor, can Ability) error {
	r, ok := RuleOf(can)
	if !ok {
		return fault.New(fault.Forbidden)
	}
	if r.From > Anonymous && !a.SignedIn() {
		if r.Refusal != nil {
			return r.Refusal
		}
		return fault.New(fault.Unauthenticated)
	}
	return nil
}

// Check refuses an actor who does not hold an ability.
func Check(a Actor, can Ability) error {
	if err := CheckSignedIn(a, can); err != nil {
		return err
	}
	if r, _ := RuleOf(can); RankOf(a) < r.From {
		return fault.New(fault.Forbidden)
	}
	return nil
}
