package protection

import (
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"stithy/internal/gitstore"
	"stithy/internal/kit/access"
	"stithy/internal/project"
)

const (
	one gitstore.OID = "1111111111111111111111111111111111111111"
	two gitstore.OID = "2222222222222222222222222222222222222222"
)

// The texts as clients know them.
const (
	noPush        = "You are not allowed to push code to this project."
	noDefault     = "The default branch of a project cannot be deleted."
	noForce       = "You are not allowed to force push code to a protected branch on this project."
	noProtected   = "You are not allowed to push code to protected branches on this project."
	noCreate      = "You are not allowed to create protected branches on this project."
	noDelete      = "You are not allowed to delete protected branches from this project. Only a project maintainer or owner can delete a protected branch."
	noGitDelete   = "You can only delete protected branches using the web interface."
	noMerge       = "You are not allowed to merge code into protected branches on this project."
	noHex         = "You cannot create a branch with a 40-character hexadecimal branch name."
	noName        = "You cannot create a branch with an invalid name."
	noTag         = "You are not allowed to create this tag as it is protected."
	noTagUpdate   = "Protected tags cannot be updated."
	noTagDelete   = "You are not allowed to delete protected tags from this project. Only a project maintainer or owner can delete a protected tag."
	noGitTag      = "You can only delete protected tags using the web interface."
	noTagChange   = "You are not allowed to change existing tags on this project."
	noDefaultTag  = "You cannot use default branch name to create a tag"
	noInternal    = "You can only push branches and tags."
	notFromHidden = "You can only use an existing protected branch ref as the basis of a new protected branch."
	notByGit      = "You can only create protected branches using the web interface and API."
)

func roles(levels ...access.Role) (all []Grant) {
	for _, l := range levels {
		all = append(all, Grant{Role: l})
	}
	return all
}

func TestOneRefUpdateIsJudgedByTheRulesThatFitIt(t *testing.T) {
	t.Parallel()
	dev := Writer{UserID: 3, Role: access.Developer, May: true}
	boss := Writer{UserID: 4, Role: access.Maintainer, May: true}
	admin := Writer{UserID: 1, Admin: true, May: true}
	key := Writer{DeployKey: 9, May: true}
	web := func(w Writer) Writer { w.Web = true; return w }
	rules := Rules{
		Default: "main",
		Branches: []BranchRule{
			{Name: "main", Push: roles(access.Maintainer), Merge: roles(access.Developer)},
			{Name: "release/*", Push: roles(Nobody), Merge: roles(access.Maintainer)},
			{Name: "release/1.*", Push: roles(access.Developer), ForcePush: true},
			{Name: "wild*", Push: roles(access.Developer), ForcePush: true},
			{Name: "root", Push: roles(Administrators)},
			{Name: "named", Push: []Grant{{UserID: new(int64(3))}, {GroupID: new(int64(7))}, {DeployKey: new(int64(9))}}},
			{Name: "merge-only", Merge: roles(access.Developer)},
		},
		Tags: []TagRule{
			{Name: "v*", Create: roles(access.Maintainer)},
			{Name: "v0.*", Create: roles(access.Developer)},
			{Name: "frozen", Create: roles(Nobody)},
		},
	}
	empty := Rules{Default: "main", Empty: true, First: access.Maintainer}
	emptyForAll := Rules{Default: "main", Empty: true, First: access.Developer, Branches: rules.Branches}
	create, update, remove := [2]gitstore.OID{gitstore.Zero, one}, [2]gitstore.OID{one, two}, [2]gitstore.OID{one, gitstore.Zero}
	forced, known, merge := Move{Forced: true}, Move{Known: true}, Move{Merge: true}
	for _, c := range []struct {
		fact  string
		rules *Rules
		who   Writer
		ref   string
		move  [2]gitstore.OID
		git   Move
		want  string
	}{
		{"nobody without the right", &rules, Writer{Role: access.Reporter}, "heads/free", update, Move{}, noPush},
		{"an administrator without it", &rules, Writer{Admin: true}, "heads/free", update, Move{}, noPush},
		{"a free branch is open", &rules, dev, "heads/free", update, Move{}, ""},
		{"a free branch may be forced", &rules, dev, "heads/free", update, forced, ""},
		{"a free branch may go", &rules, dev, "heads/free", remove, Move{}, ""},
		{"a key writes to free branches", &rules, key, "heads/free", create, Move{}, ""},

		{"a developer on main", &rules, dev, "heads/main", update, Move{}, noProtected},
		{"a maintainer on main", &rules, boss, "heads/main", update, Move{}, ""},
		{"an administrator on main", &rules, admin, "heads/main", update, Move{}, ""},
		{"a key on main", &rules, key, "heads/main", update, Move{}, noProtected},
		{"a developer merges", &rules, dev, "heads/main", update, merge, ""},
		{"a developer merges where maintainers do", &rules, dev, "heads/release/2", update, merge, noMerge},
		{"a maintainer forces main", &rules, boss, "heads/main", update, forced, noForce},
		{"an administrator forces main", &rules, admin, "heads/main", update, forced, noForce},
		{"force with leave", &rules, dev, "heads/wilder", update, forced, ""},
		{"force where one of two rules forbids it", &rules, dev, "heads/release/1.x", update, forced, noForce},
		{"push where one of two rules allows it", &rules, dev, "heads/release/1.x", update, Move{}, ""},
		{"no one is no maintainer", &rules, boss, "heads/release/2", update, Move{}, noProtected},
		{"no one is no administrator", &rules, admin, "heads/release/2/deep", update, Move{}, noProtected},
		{"administrators only, maintainer", &rules, boss, "heads/root", update, Move{}, noProtected},
		{"administrators only, administrator", &rules, admin, "heads/root", update, Move{}, ""},

		{"a person who is named", &rules, dev, "heads/named", update, Move{}, ""},
		{"a higher role that is not", &rules, boss, "heads/named", update, Move{}, noProtected},
		{"a person of a group that is named", &rules, Writer{UserID: 5, Role: access.Developer, May: true, Groups: []int64{7}}, "heads/named", update, Move{}, ""},
		{"a person of a group that lost the right", &rules, Writer{UserID: 5, Groups: []int64{7}}, "heads/named", update, Move{}, noPush},
		{"a key that is named", &rules, key, "heads/named", update, Move{}, ""},
		{"another key", &rules, Writer{DeployKey: 8, May: true}, "heads/named", update, Move{}, noProtected},
		{"nobody's id is not a key's", &rules, Writer{May: true}, "heads/named", update, Move{}, noProtected},

		{"a developer creates a protected one", &rules, dev, "heads/release/9", create, Move{}, noCreate},
		{"who may only merge, from anywhere", &rules, web(dev), "heads/merge-only", create, Move{}, notFromHidden},
		{"who may only merge, by git", &rules, dev, "heads/merge-only", create, known, notByGit},
		{"who may only merge, by the API", &rules, web(dev), "heads/merge-only", create, known, ""},

		{"the default branch stays", &rules, web(admin), "heads/main", remove, Move{}, noDefault},
		{"a developer deletes a protected one", &rules, web(dev), "heads/wild", remove, Move{}, noDelete},
		{"a key deletes a protected one", &rules, key, "heads/named", remove, Move{}, noDelete},
		{"a maintainer deletes by git", &rules, boss, "heads/wild", remove, Move{}, noGitDelete},
		{"a maintainer deletes by the API", &rules, web(boss), "heads/wild", remove, Move{}, ""},

		{"forty digits", &rules, boss, "heads/" + string(one), create, Move{}, noHex},
		{"forty digits, shouted", &rules, boss, "heads/" + strings.Repeat("aB", 20), create, Move{}, noHex},
		{"sixty-four digits", &rules, boss, "heads/" + strings.Repeat("a", 64), create, Move{}, noHex},
		{"forty digits and more behind", &rules, boss, "heads/" + string(one) + "/x", create, Move{}, noHex},
		{"forty digits that are there may go", &rules, boss, "heads/" + string(one), remove, Move{}, ""},
		{"forty-one digits", &rules, boss, "heads/" + string(one) + "1", create, Move{}, ""},
		{"forty digits as a tag", &rules, boss, "tags/" + string(one), create, Move{}, "You cannot create a tag with a 40-character hexadecimal tag name."},

		{"a name that reads backwards", &rules, boss, "heads/a\u202eb", create, Move{}, noName},
		{"a name with an escape code", &rules, boss, "heads/a\x1b[31m", create, Move{}, noName},
		{"a name like an option", &rules, boss, "heads/--upload-pack=x", create, Move{}, noName},
		{"HEAD", &rules, boss, "heads/HEAD", create, Move{}, noName},
		{"a ref inside of a ref", &rules, boss, "heads/refs/heads/main", create, Move{}, noName},
		{"a name that is no text", &rules, boss, "heads/\xed\xa0\x80", create, Move{}, "The name of a ref must be UTF-8."},
		{"a name that is no text goes", &rules, boss, "heads/\xed\xa0\x80", remove, Move{}, "The name of a ref must be UTF-8."},
		{"a tag that is no text goes", &rules, boss, "tags/\xff", remove, Move{}, "The name of a ref must be UTF-8."},
		{"a bad name that is there may go", &rules, boss, "heads/HEAD", remove, Move{}, ""},
		{"a tag that reads backwards", &rules, boss, "tags/a\u202eb", create, Move{}, "You cannot create a tag with an invalid name."},

		{"a free tag", &rules, dev, "tags/nightly", create, Move{}, ""},
		{"a free tag moves", &rules, dev, "tags/nightly", update, Move{}, ""},
		{"a free tag goes", &rules, dev, "tags/nightly", remove, Move{}, ""},
		{"a tag that is changed below developer", &rules, Writer{UserID: 6, Role: access.Reporter, May: true}, "tags/nightly", update, Move{}, noTagChange},
		{"a tag of the default branch's name", &rules, boss, "tags/main", create, Move{}, noDefaultTag},
		{"a developer makes a protected tag", &rules, dev, "tags/v1", create, Move{}, noTag},
		{"a developer makes one that another rule gives", &rules, dev, "tags/v0.1", create, Move{}, ""},
		{"a maintainer makes a protected tag", &rules, boss, "tags/v1", create, Move{}, ""},
		{"a key makes a protected tag", &rules, key, "tags/v1", create, Move{}, noTag},
		{"no one makes a frozen tag", &rules, admin, "tags/frozen", create, Move{}, noTag},
		{"a protected tag stays where it is", &rules, admin, "tags/v1", update, Move{}, noTagUpdate},
		{"a developer deletes a protected tag", &rules, web(dev), "tags/v1", remove, Move{}, noTagDelete},
		{"a maintainer deletes a protected tag by git", &rules, boss, "tags/v1", remove, Move{}, noGitTag},
		{"a maintainer deletes a protected tag by the API", &rules, web(boss), "tags/v1", remove, Move{}, ""},

		{"a developer makes the first commit", &empty, dev, "heads/main", create, Move{}, noProtected},
		{"of another branch", &empty, dev, "heads/other", create, Move{}, noProtected},
		{"a key makes the first commit", &empty, key, "heads/main", create, Move{}, noProtected},
		{"a maintainer makes the first commit", &empty, boss, "heads/main", create, Move{}, ""},
		{"an administrator makes the first commit", &empty, admin, "heads/other", create, Move{}, ""},
		{"a developer makes it where they may", &emptyForAll, dev, "heads/other", create, Move{}, ""},
		{"but not against a rule", &emptyForAll, dev, "heads/main", create, Move{}, noProtected},
		{"a maintainer makes it against any rule", &emptyForAll, boss, "heads/release/1", create, Move{}, ""},

		{"internal refs", &rules, admin, "merge-requests/1/head", create, Move{}, noInternal},
		{"keep-around", &rules, admin, "keep-around/" + string(one), remove, Move{}, noInternal},
		{"replace refs", &rules, admin, "replace/" + string(one), create, Move{}, noInternal},
		{"notes", &rules, admin, "notes/commits", update, Move{}, ""},
		{"a prefix alone", &rules, admin, "heads/", create, Move{}, noInternal},
	} {
		m := c.git
		m.RefUpdate = gitstore.RefUpdate{Name: "refs/" + c.ref, Old: c.move[0], New: c.move[1]}
		got := ""
		if err := c.rules.Check(c.who, m); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", c.fact, got, c.want)
		}
	}
}

// What the rules ask git for is exactly what can change their verdict.
func TestTheRulesAskGitForWhatTheVerdictHangsOn(t *testing.T) {
	t.Parallel()
	oid := rapid.SampledFrom([]gitstore.OID{gitstore.Zero, one, two})
	grants := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Grant {
		return Grant{Role: rapid.SampledFrom([]access.Role{Nobody, access.Developer, access.Maintainer, Administrators}).Draw(t, "level")}
	}), 0, 2)
	rapid.Check(t, func(t *rapid.T) {
		r := Rules{Default: "main", Empty: rapid.Bool().Draw(t, "empty"), First: rapid.SampledFrom(access.Roles).Draw(t, "first")}
		for _, name := range rapid.SliceOfN(rapid.SampledFrom([]string{"main", "m*", "*", "x"}), 0, 3).Draw(t, "rules") {
			r.Branches = append(r.Branches, BranchRule{
				Name: name, ForcePush: rapid.Bool().Draw(t, "force"), Push: grants.Draw(t, "push"), Merge: grants.Draw(t, "merge"),
			})
		}
		w := Writer{
			UserID: 2, Role: rapid.SampledFrom(access.Roles).Draw(t, "role"), Admin: rapid.Bool().Draw(t, "admin"),
			May: rapid.Bool().Draw(t, "may"), Web: rapid.Bool().Draw(t, "web"),
		}
		u := gitstore.RefUpdate{
			Name: rapid.SampledFrom([]string{"refs/heads/main", "refs/heads/y", "refs/tags/main"}).Draw(t, "ref"),
			Old:  oid.Draw(t, "old"), New: oid.Draw(t, "new"),
		}
		verdict := func(forced, known bool) bool {
			return r.Check(w, Move{RefUpdate: u, Forced: forced, Known: known}) == nil
		}
		move := u.Old != gitstore.Zero && u.New != gitstore.Zero // nothing else can be forced
		if move && verdict(false, false) != verdict(true, false) && !r.AsksForced(u) {
			t.Fatal("force decided and was not asked for")
		}
		if verdict(false, false) != verdict(false, true) && !r.AsksKnown(w, u) {
			t.Fatal("the place of the commit decided and was not asked for")
		}
		if w.May && move && verdict(true, false) && !verdict(false, false) {
			t.Fatal("force gave a right")
		}
	})
}

func TestStarsStandForAnyRunOfCharacters(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"main", "main", true}, {"main", "Main", false}, {"main", "main2", false}, {"*", "", true}, {"*", "a/b", true},
		{"release/*", "release/1/2", true}, {"release/*", "release", false}, {"*-stable", "1-2-stable", true},
		{"*-stable", "stable", false}, {"a*b*c", "aXbYc", true}, {"a*b*c", "acb", false}, {"**", "x", true},
		{"a?c", "abc", false}, {"a[b]c", "abc", false}, {"a.c", "abc", false}, {"", "", true}, {"", "x", false},
	} {
		if got := Matches(c.pattern, c.name); got != c.want {
			t.Errorf("%q on %q: got %v", c.pattern, c.name, got)
		}
	}
	// A pattern that would make a backtracking matcher run for years.
	if Matches(strings.Repeat("*a", 100)+"*b", strings.Repeat("a", 255)) {
		t.Error("what does not fit was found to")
	}
}

// It pushes where whoever made it may, and is nobody to the rules unless one names it.
func TestADeployKeyHasNoPowerOfWhoMadeIt(t *testing.T) {
	t.Parallel()
	by := access.Actor{Person: &access.Person{ID: 3, Admin: true}, Credential: access.Credential{Kind: access.DeployKey, ID: 9}}
	p := &project.Project{ID: 7, Role: access.Owner}
	p.Features.Repository = project.Everyone
	rules := &Rules{Default: "main", Branches: []BranchRule{
		{Name: "main", Push: roles(access.Developer)}, {Name: "named", Push: []Grant{{DeployKey: new(int64(9))}}},
	}}
	w, err := (&Service{}).Writer(t.Context(), by, p, rules)
	if want := (Writer{DeployKey: 9, May: true}); err != nil || !reflect.DeepEqual(w, want) {
		t.Errorf("%+v %v, want %+v", w, err, want)
	}
	for name, allowed := range map[string]bool{"main": false, "named": true, "other": true} {
		m := Move{RefUpdate: gitstore.RefUpdate{Name: "refs/heads/" + name, Old: one, New: two}}
		if err := rules.Check(w, m); (err == nil) != allowed {
			t.Errorf("%s: %v", name, err)
		}
	}
}
