// Package protection owns the rules that protect branches and tags: which names
// they fit, who may push, merge, create and unprotect, and the verdict on every
// change of a ref. It does not own the repositories nor the pushes that ask for
// it (repository), nor the settings of groups about new default branches
// (group).
//
// Tables: protected_branches, protected_tags, protection_grants.
package protection

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"stithy/internal/gitstore"
	"stithy/internal/kit/access"
)

// Writer is whoever wants to change refs, as the rules see them.
type Writer struct {
	UserID    int64 // 0 for a deploy key
	DeployKey int64 // 0 for a person
	Role      access.Role
	Admin     bool
	May       bool    // holds PushCode, or is a deploy key that may write here
	Groups    []int64 // of the groups that rules name, those the person is in
	Web       bool    // through the API or a page, not by git
}

func (w Writer) maintains() bool { return w.Admin || w.Role >= access.Maintainer }

// Grant is one line of a rule: to a role, a person, a group or a deploy key.
type Grant struct {
	ID        int64
	Role      access.Role // one of the levels below, for everyone of that role
	UserID    *int64
	GroupID   *int64
	DeployKey *int64
	Name      string // of the person or group
}

// Levels that a grant may name beside roles.
const (
	Nobody         access.Role = 0
	Administrators access.Role = 60
)

// gives reports whether the writer is meant. Nobody is nobody, administrators
// included.
func (g Grant) gives(w Writer) bool {
	switch {
	case !w.May:
		return false
	case g.DeployKey != nil:
		return w.DeployKey == *g.DeployKey
	case g.UserID != nil:
		return w.UserID == *g.UserID
	case g.GroupID != nil:
		return slices.Contains(w.Groups, *g.GroupID)
	case g.Role == Nobody:
		return false
	}
	return w.Admin || w.Role >= g.Role
}

// BranchRule protects the branches that its name fits.
type BranchRule struct {
	ID          int64
	Name        string // * stands for any run of characters
	ForcePush   bool
	CodeOwners  bool // kept for clients; there are no approvals yet
	Push, Merge []Grant
	Unprotect   []Grant // who else may change the rule
}

// TagRule protects the tags that its name fits.
type TagRule struct {
	ID     int64
	Name   string
	Create []Grant
}

// Rules are all that decides about the refs of one repository.
type Rules struct {
	Branches []BranchRule
	Tags     []TagRule
	Default  string      // the default branch
	Empty    bool        // nothing was ever pushed
	First    access.Role // who may push to the empty repository
}

// Move is one change of a ref, with what git knows about it.
type Move struct {
	gitstore.RefUpdate
	Forced bool // commits of the ref are lost; asked for by AsksForced
	Known  bool // the new commit is on a protected branch; asked for by AsksKnown
	Merge  bool // it merges a merge request
}

// Matches reports whether a name fits a pattern, in which * stands for any run of
// characters. It takes time in proportion
// to both lengths at the worst.
func Matches(pattern, name string) bool {
	star, mark, p, n := -1, 0, 0, 0
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, n
			p++
		case p < len(pattern) && pattern[p] == name[n]:
			p++
			n++
		case star >= 0:
			mark++
			p, n = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// branch are the rules that a branch falls under.
func (r *Rules) branch(name string) []*BranchRule {
	var found []*BranchRule
	for i := range r.Branches {
		if Matches(r.Branches[i].Name, name) {
			found = append(found, &r.Branches[i])
		}
	}
	return found
}

// ProtectsBranch reports whether rules speak about a branch. Before the first
// push they speak about all, unless developers may make it.
func (r *Rules) ProtectsBranch(name string) bool {
	return (r.Empty && r.First > access.Developer) || r.HasRule(name)
}

// HasRule reports whether a rule fits a branch, empty repository or not.
func (r *Rules) HasRule(branch string) bool { return len(r.branch(branch)) > 0 }

// ProtectsTag reports whether rules speak about a tag.
func (r *Rules) ProtectsTag(name string) bool {
	return slices.ContainsFunc(r.Tags, func(t TagRule) bool { return Matches(t.Name, name) })
}

// MayPush reports whether a writer may add commits to a branch. Of several
// rules one that lets them is enough. Maintainers may always make the first
// commit.
func (r *Rules) MayPush(w Writer, branch string) bool {
	if !w.May || (r.Empty && w.maintains()) {
		return w.May
	}
	rules := r.branch(branch)
	return (!r.Empty || r.First <= access.Developer) && (len(rules) == 0 || given(w, rules, pushing))
}

// MayMerge reports whether a writer may merge into a branch.
func (r *Rules) MayMerge(w Writer, branch string) bool {
	rules := r.branch(branch)
	return w.May && (len(rules) == 0 || given(w, rules, merging))
}

// MayUpdate reports whether a writer may bring new commits to a branch in one
// way or the other; what runs on protected refs asks it.
func (r *Rules) MayUpdate(w Writer, branch string) bool {
	return r.MayPush(w, branch) || r.MayMerge(w, branch)
}

// MayCreateTag reports whether a writer may make a tag.
func (r *Rules) MayCreateTag(w Writer, name string) bool {
	if !w.May {
		return false
	}
	free := true
	for _, t := range r.Tags {
		if Matches(t.Name, name) {
			free = false
			if slices.ContainsFunc(t.Create, func(g Grant) bool { return g.gives(w) }) {
				return true
			}
		}
	}
	return free
}

func pushing(r *BranchRule) []Grant { return r.Push }
func merging(r *BranchRule) []Grant { return r.Merge }

func given(w Writer, rules []*BranchRule, of func(*BranchRule) []Grant) bool {
	for _, r := range rules {
		if slices.ContainsFunc(of(r), func(g Grant) bool { return g.gives(w) }) {
			return true
		}
	}
	return false
}

// DevelopersMayPush reports whether a rule about a branch lets all developers
// push.
func (r *Rules) DevelopersMayPush(branch string) bool { return r.developers(branch, pushing) }

// DevelopersMayMerge reports whether a rule about a branch lets all developers
// merge.
func (r *Rules) DevelopersMayMerge(branch string) bool { return r.developers(branch, merging) }

func (r *Rules) developers(branch string, of func(*BranchRule) []Grant) bool {
	return slices.ContainsFunc(r.branch(branch), func(b *BranchRule) bool {
		return slices.ContainsFunc(of(b), func(g Grant) bool {
			return g.Role == access.Developer && g.UserID == nil && g.GroupID == nil && g.DeployKey == nil
		})
	})
}

// AsksForced reports whether the verdict hangs on Move.Forced.
func (r *Rules) AsksForced(u gitstore.RefUpdate) bool {
	name := gitstore.Ref{Name: u.Name}.Branch()
	return name != "" && u.Old != gitstore.Zero && u.New != gitstore.Zero && r.HasRule(name)
}

// AsksKnown reports whether the verdict hangs on Move.Known.
func (r *Rules) AsksKnown(w Writer, u gitstore.RefUpdate) bool {
	name := gitstore.Ref{Name: u.Name}.Branch()
	return name != "" && u.Old == gitstore.Zero && u.New != gitstore.Zero && r.HasRule(name) &&
		!r.MayPush(w, name) && r.MayMerge(w, name)
}

// Check says whether a writer may move a ref. A refusal is a
// *gitstore.RefusedError with the text that git and API show.
func (r *Rules) Check(w Writer, m Move) error {
	if text := r.refusal(w, m); text != "" {
		return &gitstore.RefusedError{Text: text}
	}
	return nil
}

func (r *Rules) refusal(w Writer, m Move) string {
	ref := gitstore.Ref{Name: m.Name}
	switch {
	case !w.May:
		return "You are not allowed to push code to this project."
	case !utf8.ValidString(m.Name): // what names a ref is text, also where it is deleted
		return "The name of a ref must be UTF-8."
	case ref.Branch() != "":
		return r.onBranch(w, ref.Branch(), m)
	case ref.TagName() != "":
		return r.onTag(w, ref.TagName(), m)
	case strings.HasPrefix(m.Name, gitstore.Notes) && gitstore.CheckRefName(m.Name) == nil:
		return "" // what tools of releases write beside their tags
	}
	return "You can only push branches and tags."
}

// likeID are names that could be taken for the id of an object.
var likeID = regexp.MustCompile(`^(?:[0-9a-fA-F]{40}|[0-9a-fA-F]{64})(?:-?/|$)`)

func (r *Rules) onBranch(w Writer, name string, m Move) string {
	create, remove := m.Old == gitstore.Zero, m.New == gitstore.Zero
	rules := r.branch(name)
	switch {
	case remove && name == r.Default:
		return "The default branch of a project cannot be deleted."
	case !remove && likeID.MatchString(name):
		return "You cannot create a branch with a 40-character hexadecimal branch name."
	case create && errors.Is(gitstore.CheckRefName(m.Name), gitstore.ErrInvalid):
		return "You cannot create a branch with an invalid name."
	case !r.ProtectsBranch(name):
		return ""
	case m.Forced && slices.ContainsFunc(rules, func(b *BranchRule) bool { return !b.ForcePush }):
		return "You are not allowed to force push code to a protected branch on this project."
	case remove && !w.maintains():
		return "You are not allowed to delete protected branches from this project. Only a project maintainer or owner can delete a protected branch."
	case remove && !w.Web:
		return "You can only delete protected branches using the web interface."
	case remove:
		return ""
	case m.Merge && !r.MayUpdate(w, name):
		return "You are not allowed to merge code into protected branches on this project."
	case m.Merge, r.MayPush(w, name):
		return ""
	case !create, r.Empty:
		return "You are not allowed to push code to protected branches on this project."
	case !r.MayMerge(w, name):
		return "You are not allowed to create protected branches on this project."
	case !m.Known:
		return "You can only use an existing protected branch ref as the basis of a new protected branch."
	case !w.Web:
		return "You can only create protected branches using the web interface and API."
	}
	return ""
}

func (r *Rules) onTag(w Writer, name string, m Move) string {
	create, remove := m.Old == gitstore.Zero, m.New == gitstore.Zero
	protected := r.ProtectsTag(name)
	switch {
	case create && name == r.Default:
		return "You cannot use default branch name to create a tag"
	case !remove && likeID.MatchString(name):
		return "You cannot create a tag with a 40-character hexadecimal tag name."
	case create && errors.Is(gitstore.CheckRefName(m.Name), gitstore.ErrInvalid):
		return "You cannot create a tag with an invalid name."
	case !create && !w.Admin && w.DeployKey == 0 && w.Role < access.Developer:
		return "You are not allowed to change existing tags on this project."
	case !protected:
		return ""
	case !create && !remove:
		return "Protected tags cannot be updated."
	case remove && !w.maintains():
		return "You are not allowed to delete protected tags from this project. Only a project maintainer or owner can delete a protected tag."
	case remove && !w.Web:
		return "You can only delete protected tags using the web interface."
	case remove, r.MayCreateTag(w, name):
		return ""
	}
	return "You are not allowed to create this tag as it is protected."
}
