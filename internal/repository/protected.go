package repository

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"stithy/internal/gitstore"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
)

// Act is what a grant lets someone do.
type Act string

const (
	ToPush      Act = "push"
	ToMerge     Act = "merge"
	ToUnprotect Act = "unprotect"
	ToCreate    Act = "create"
)

// grants is a document of grants as a query gives it.
type grants []struct {
	ID        int64       `json:"id"`
	Act       Act         `json:"act"`
	Role      access.Role `json:"role"`
	UserID    *int64      `json:"user_id"`
	GroupID   *int64      `json:"group_id"`
	DeployKey *int64      `json:"deploy_key"`
	Name      string      `json:"name"`
}

// Scan reads the document.
func (g *grants) Scan(src any) error {
	text, ok := src.(string)
	if !ok {
		return fmt.Errorf("repository: grants come as %T", src)
	}
	return json.Unmarshal([]byte(text), g)
}

func (g grants) of(act Act) []Grant {
	found := []Grant{}
	for _, one := range g {
		if one.Act == act {
			found = append(found, Grant{
				ID: one.ID, Role: one.Role, UserID: one.UserID, GroupID: one.GroupID, DeployKey: one.DeployKey, Name: one.Name,
			})
		}
	}
	return found
}

type branchRow struct {
	ID         int64
	Name       string
	ForcePush  bool
	CodeOwners bool
	Grants     grants
}

func (r branchRow) rule() BranchRule {
	return BranchRule{
		ID: r.ID, Name: r.Name, ForcePush: r.ForcePush, CodeOwners: r.CodeOwners, Push: r.Grants.of(ToPush), Merge: r.Grants.of(ToMerge),
		Unprotect: r.Grants.of(ToUnprotect),
	}
}

type tagRow struct {
	ID     int64
	Name   string
	Grants grants
}

func (r tagRow) rule() TagRule { return TagRule{ID: r.ID, Name: r.Name, Create: r.Grants.of(ToCreate)} }

// rulesOf reads all that decides about the refs of a project's repository.
func (s *Service) rulesOf(ctx context.Context, p *project.Project, empty bool) (*Rules, error) {
	rules := &Rules{Default: s.deps.Projects.BranchOf(p), Empty: empty}
	branches, err := postgres.All[branchRow](ctx, s.deps.DB, sqlBranchRules, p.ID)
	if err != nil {
		return nil, err
	}
	tags, err := postgres.All[tagRow](ctx, s.deps.DB, sqlTagRules, p.ID)
	if err != nil {
		return nil, err
	}
	for _, r := range branches {
		rules.Branches = append(rules.Branches, r.rule())
	}
	for _, r := range tags {
		rules.Tags = append(rules.Tags, r.rule())
	}
	if empty {
		level, err := s.protectionLevel(ctx, s.deps.DB, p)
		if err != nil {
			return nil, err
		}
		rules.First = access.Maintainer
		if level == unprotected || level == developersPush || level == developersBegin {
			rules.First = access.Developer
		}
	}
	return rules, nil
}

// ProtectedRef reports whether a rule speaks about a branch or a tag. It asks
// through q, so that who holds a transaction needs no second connection.
func (s *Service) ProtectedRef(ctx context.Context, q postgres.Querier, projectID int64, name string, tag bool) (bool, error) {
	sql := sqlBranchRuleNames
	if tag {
		sql = sqlTagRuleNames
	}
	rules, err := postgres.Values[string](ctx, q, sql, projectID)
	return slices.ContainsFunc(rules, func(rule string) bool { return matches(rule, name) }), err
}

// MayUpdateRef reports whether an actor may bring new commits to a branch or
// make a tag, as the rules that protect it have it. What runs on protected refs
// asks it; a ref without rules is open to all who may write at all.
func (s *Service) MayUpdateRef(ctx context.Context, by access.Actor, p *project.Project, name string, tag bool) (bool, error) {
	rules, w, err := s.standing(ctx, by, p)
	if err != nil {
		return false, err
	}
	if tag {
		return !rules.ProtectsTag(name) || rules.MayCreateTag(w, name), nil
	}
	return !rules.ProtectsBranch(name) || rules.MayUpdate(w, name), nil
}

// What a group, or the instance, wants for new default branches.
const (
	unprotected     = 0
	developersPush  = 1
	protected       = 2
	developersMerge = 3
	developersBegin = 4 // they make the first commit, and are kept out after it
)

// protectionLevel is that of the group that a project stands in, if the
// owners of groups may decide, or of the instance.
func (s *Service) protectionLevel(ctx context.Context, q postgres.Querier, p *project.Project) (int, error) {
	set := s.deps.Settings.Current()
	if !set.GroupOwnersCanManageDefaultBranchProtection {
		return set.DefaultBranchProtection, nil
	}
	level, err := postgres.Value[*int](ctx, q, sqlLevelOf, p.NamespaceID)
	if errors.Is(err, postgres.ErrNoRows) || (err == nil && level == nil) {
		return set.DefaultBranchProtection, nil
	}
	if err != nil {
		return 0, err
	}
	return *level, nil
}

// protectFirst gives the first default branch of a repository the rule that
// its group asks for. A rule that is there stays.
func (s *Service) protectFirst(ctx context.Context, tx pgx.Tx, p *project.Project, branch string) error {
	level, err := s.protectionLevel(ctx, tx, p)
	if err != nil || level == unprotected {
		return err
	}
	_, err = postgres.Value[int64](ctx, tx, sqlLockBranchRule, p.ID, branch)
	if !errors.Is(err, postgres.ErrNoRows) {
		return err
	}
	rule := BranchRule{Name: branch, Push: []Grant{{Role: access.Maintainer}}, Merge: []Grant{{Role: access.Maintainer}}}
	switch level {
	case developersPush:
		rule.Push[0].Role = access.Developer
	case developersMerge:
		rule.Merge[0].Role = access.Developer
	}
	return s.insertRule(ctx, tx, p.ID, &rule)
}

// writer is the actor as the rules see them.
func (s *Service) writer(ctx context.Context, by access.Actor, p *project.Project, via Via, rules *Rules) (Writer, error) {
	if via == ViaJob { // the instance itself, which keeps to names and kinds of refs alone
		return Writer{UserID: by.ID(), Role: access.Owner, Admin: true, May: true, Web: true}, nil
	}
	w := Writer{
		UserID: by.ID(), Role: p.Role, Admin: by.Admin(), May: access.Holds(by, access.PushCode, p.Target()), Web: via == ViaAPI,
	}
	if by.Credential.Kind == access.DeployKey {
		// It pushes where whoever made it may, and to protected refs where it
		// is named itself.
		w.UserID, w.DeployKey, w.Role, w.Admin = 0, by.Credential.ID, access.NoRole, false
		return w, nil
	}
	var named []int64
	for _, r := range rules.Branches {
		for _, g := range slices.Concat(r.Push, r.Merge) {
			if g.GroupID != nil {
				named = append(named, *g.GroupID)
			}
		}
	}
	for _, r := range rules.Tags {
		for _, g := range r.Create {
			if g.GroupID != nil {
				named = append(named, *g.GroupID)
			}
		}
	}
	if len(named) == 0 || !by.SignedIn() {
		return w, nil
	}
	var err error
	w.Groups, err = postgres.Values[int64](ctx, s.deps.DB, sqlMemberOf, by.ID(), s.today(), named)
	return w, err
}

func (s *Service) today() time.Time { return s.deps.Clock.Now().UTC() }

// standing is the actor before the rules of a project.
func (s *Service) standing(ctx context.Context, by access.Actor, p *project.Project) (*Rules, Writer, error) {
	row, err := s.Find(ctx, p)
	if err != nil {
		return nil, Writer{}, err
	}
	rules, err := s.rulesOf(ctx, p, row.Empty)
	if err != nil {
		return nil, Writer{}, err
	}
	w, err := s.writer(ctx, by, p, ViaAPI, rules)
	return rules, w, err
}

// checkRules asks the rules about every ref. One refusal refuses all.
func (s *Service) checkRules(
	ctx context.Context, by access.Actor, p *project.Project, row *Repository, repo *gitstore.Repo, via Via, updates []gitstore.RefUpdate,
) error {
	rules, err := s.rulesOf(ctx, p, row.Empty)
	if err != nil {
		return err
	}
	w, err := s.writer(ctx, by, p, via, rules)
	if err != nil {
		return err
	}
	for _, u := range updates {
		m := Move{RefUpdate: u}
		if rules.AsksForced(u) {
			kept, err := repo.IsAncestor(ctx, u.Old, u.New)
			if err != nil {
				return err
			}
			m.Forced = !kept
		}
		if rules.AsksKnown(w, u) {
			if m.Known, err = onProtected(ctx, repo, rules, u.New); err != nil {
				return err
			}
		}
		if err := rules.Check(w, m); err != nil {
			return err
		}
	}
	return nil
}

// onProtected reports whether a commit is on a branch that is protected.
func onProtected(ctx context.Context, repo *gitstore.Repo, rules *Rules, commit gitstore.OID) (bool, error) {
	refs, _, err := repo.Refs(ctx, gitstore.RefQuery{Prefix: gitstore.Branches, Match: rules.ProtectsBranch})
	if err != nil {
		return false, err
	}
	for _, ref := range refs {
		if on, err := repo.IsAncestor(ctx, commit, ref.Target); on || err != nil {
			return on, err
		}
	}
	return false, nil
}

// ---- the life of rules

// BranchRule reads the rule of exactly this name.
func (s *Service) BranchRule(ctx context.Context, p *project.Project, name string) (*BranchRule, error) {
	row, err := postgres.One[branchRow](ctx, s.deps.DB, sqlBranchRule, p.ID, name)
	if err != nil {
		return nil, noRule(err)
	}
	return new(row.rule()), nil
}

// TagRule reads the rule of exactly this name.
func (s *Service) TagRule(ctx context.Context, p *project.Project, name string) (*TagRule, error) {
	row, err := postgres.One[tagRow](ctx, s.deps.DB, sqlTagRule, p.ID, name)
	if err != nil {
		return nil, noRule(err)
	}
	return new(row.rule()), nil
}

func noRule(err error) error {
	if errors.Is(err, postgres.ErrNoRows) {
		return fault.WithMessage(fault.NotFound, "404 Not found")
	}
	return err
}

// ProtectBranch makes a rule.
func (s *Service) ProtectBranch(ctx context.Context, by access.Actor, p *project.Project, rule BranchRule) (*BranchRule, error) {
	if text := checkRuleName(rule.Name); text != "" {
		return nil, unprocessable(text)
	}
	err := s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		if err := s.checkCount(ctx, tx, sqlCountBranchRules, p.ID); err != nil {
			return err
		}
		if err := s.checkGrants(ctx, tx, p, rule); err != nil {
			return err
		}
		if err := s.insertRule(ctx, tx, p.ID, &rule); err != nil {
			return err
		}
		return s.deps.Bus.Publish(ctx, tx, RuleEvent{Action: BranchProtected, By: by, Project: p, ID: rule.ID, Name: rule.Name})
	})
	if err != nil {
		return nil, err
	}
	return s.BranchRule(ctx, p, rule.Name)
}

// checkRuleName says what is wrong with the name of a rule.
func checkRuleName(name string) string {
	switch {
	case strings.TrimSpace(name) == "":
		return "Name can't be blank"
	case utf8.RuneCountInString(name) > 255:
		return "Name is too long (maximum is 255 characters)"
	}
	return ""
}

func unprocessable(texts ...string) error {
	return &fault.Error{Kind: fault.Unprocessable, Texts: texts}
}

func (s *Service) checkCount(ctx context.Context, tx pgx.Tx, sql string, projectID int64) error {
	count, err := postgres.Value[int](ctx, tx, sql, projectID)
	if err == nil && count >= maxRules {
		return unprocessable(fmt.Sprintf("A project has %d rules at the most", maxRules))
	}
	return err
}

// checkGrants refuses those who could not make use of what a rule gives them.
func (s *Service) checkGrants(ctx context.Context, tx pgx.Tx, p *project.Project, rule BranchRule) error {
	var texts []string
	for _, list := range []struct {
		act    string
		grants []Grant
	}{{"Push", rule.Push}, {"Merge", rule.Merge}, {"Unprotect", rule.Unprotect}} {
		for _, g := range list.grants {
			switch {
			case g.UserID != nil:
				role, err := postgres.Value[access.Role](ctx, tx, sqlStanding, *g.UserID, s.today(), p.ID)
				if err != nil {
					return err
				}
				if role < access.Developer {
					texts = append(texts, list.act+" access levels user is not a member of the project")
				}
			case g.GroupID != nil:
				in, err := postgres.Value[bool](ctx, tx, sqlLetIn, p.ID, *g.GroupID)
				if err != nil {
					return err
				}
				if !in {
					texts = append(texts, list.act+" access levels group does not have access to the project")
				}
			}
		}
	}
	if len(texts) > 0 {
		return unprocessable(slices.Compact(texts)...)
	}
	return nil
}

func (s *Service) insertRule(ctx context.Context, tx pgx.Tx, projectID int64, rule *BranchRule) (err error) {
	rule.ID, err = postgres.Value[int64](ctx, tx, sqlInsertBranchRule,
		projectID, rule.Name, rule.ForcePush, rule.CodeOwners, s.deps.Clock.Now())
	if err != nil {
		return postgres.Faults{
			"protected_branches_name_key":        fault.WithMessage(fault.Conflict, "Protected branch '%s' already exists", rule.Name),
			"protected_branches_project_id_fkey": fault.NotFoundf("Project"),
		}.Translate(err)
	}
	return s.insertGrants(ctx, tx, &rule.ID, nil, map[Act][]Grant{ToPush: rule.Push, ToMerge: rule.Merge, ToUnprotect: rule.Unprotect})
}

func (s *Service) insertGrants(ctx context.Context, tx pgx.Tx, branchRule, tagRule *int64, given map[Act][]Grant) error {
	for _, act := range []Act{ToPush, ToMerge, ToUnprotect, ToCreate} {
		for _, g := range given[act] {
			if _, err := tx.Exec(ctx, sqlInsertGrant, branchRule, tagRule, act, g.Role, g.UserID, g.GroupID, g.DeployKey); err != nil {
				return postgres.Faults{
					"protection_grants_user_id_fkey":  unprocessable("Access levels user must exist"),
					"protection_grants_group_id_fkey": unprocessable("Access levels group must exist"),
				}.Translate(err)
			}
		}
	}
	return nil
}

// RuleChange is what is to change about a rule. Nil leaves things as they are.
type RuleChange struct {
	ForcePush, CodeOwners *bool
	Add                   map[Act][]Grant
	Cut                   map[Act][]int64 // ids of grants
	Only                  map[Act]Grant   // in place of all of that act
}

// ChangeRule changes the rule of exactly this name.
func (s *Service) ChangeRule(ctx context.Context, by access.Actor, p *project.Project, name string, c RuleChange) (*BranchRule, error) {
	err := s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		rule, err := s.lockRule(ctx, tx, by, p, name)
		if err != nil {
			return err
		}
		if c.ForcePush != nil {
			rule.ForcePush = *c.ForcePush
		}
		if c.CodeOwners != nil {
			rule.CodeOwners = *c.CodeOwners
		}
		if _, err := tx.Exec(ctx, sqlUpdateBranchRule, p.ID, rule.ID, rule.ForcePush, rule.CodeOwners, s.deps.Clock.Now()); err != nil {
			return err
		}
		if err := s.checkGrants(ctx, tx, p, BranchRule{Push: c.Add[ToPush], Merge: c.Add[ToMerge], Unprotect: c.Add[ToUnprotect]}); err != nil {
			return err
		}
		for act, ids := range c.Cut {
			for _, id := range ids {
				if _, err := tx.Exec(ctx, sqlCutGrant, rule.ID, act, id); err != nil {
					return err
				}
			}
		}
		for act, g := range c.Only {
			if _, err := tx.Exec(ctx, sqlCutGrants, rule.ID, act); err != nil {
				return err
			}
			if err := s.insertGrants(ctx, tx, &rule.ID, nil, map[Act][]Grant{act: {g}}); err != nil {
				return err
			}
		}
		if err := s.insertGrants(ctx, tx, &rule.ID, nil, c.Add); err != nil {
			return err
		}
		return s.deps.Bus.Publish(ctx, tx, RuleEvent{Action: BranchRuleChanged, By: by, Project: p, ID: rule.ID, Name: name})
	})
	if err != nil {
		return nil, err
	}
	return s.BranchRule(ctx, p, name)
}

// lockRule keeps a rule for an actor who may change it: a rule can say who.
func (s *Service) lockRule(ctx context.Context, tx pgx.Tx, by access.Actor, p *project.Project, name string) (*BranchRule, error) {
	if _, err := postgres.Value[int64](ctx, tx, sqlLockBranchRule, p.ID, name); err != nil {
		return nil, noRule(err)
	}
	row, err := postgres.One[branchRow](ctx, tx, sqlBranchRule, p.ID, name)
	if err != nil {
		return nil, noRule(err)
	}
	rule := row.rule()
	if len(rule.Unprotect) == 0 || by.Admin() {
		return &rule, nil
	}
	w, err := s.writer(ctx, by, p, ViaAPI, &Rules{Branches: []BranchRule{{Push: rule.Unprotect}}})
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(rule.Unprotect, func(g Grant) bool { return g.gives(w) }) {
		return nil, fault.New(fault.Forbidden)
	}
	return &rule, nil
}

// UnprotectBranch ends the rule of exactly this name.
func (s *Service) UnprotectBranch(ctx context.Context, by access.Actor, p *project.Project, name string) error {
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		rule, err := s.lockRule(ctx, tx, by, p, name)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, sqlDeleteBranchRule, p.ID, rule.ID); err != nil {
			return err
		}
		return s.deps.Bus.Publish(ctx, tx, RuleEvent{Action: BranchUnprotected, By: by, Project: p, ID: rule.ID, Name: name})
	})
}

// ProtectTag makes a rule.
func (s *Service) ProtectTag(ctx context.Context, by access.Actor, p *project.Project, rule TagRule) (*TagRule, error) {
	if text := checkRuleName(rule.Name); text != "" {
		return nil, unprocessable(text)
	}
	err := s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		if err := s.checkCount(ctx, tx, sqlCountTagRules, p.ID); err != nil {
			return err
		}
		if err := s.checkGrants(ctx, tx, p, BranchRule{Push: rule.Create}); err != nil {
			return err
		}
		id, err := postgres.Value[int64](ctx, tx, sqlInsertTagRule, p.ID, rule.Name, s.deps.Clock.Now())
		if err != nil {
			return postgres.Faults{
				"protected_tags_name_key": unprocessable("Name has already been taken"), "protected_tags_project_id_fkey": fault.NotFoundf("Project"),
			}.Translate(err)
		}
		if err := s.insertGrants(ctx, tx, nil, &id, map[Act][]Grant{ToCreate: rule.Create}); err != nil {
			return err
		}
		return s.deps.Bus.Publish(ctx, tx, RuleEvent{Action: TagProtected, By: by, Project: p, ID: id, Name: rule.Name})
	})
	if err != nil {
		return nil, err
	}
	return s.TagRule(ctx, p, rule.Name)
}

// UnprotectTag ends the rule of exactly this name.
func (s *Service) UnprotectTag(ctx context.Context, by access.Actor, p *project.Project, name string) error {
	rule, err := s.TagRule(ctx, p, name)
	if err != nil {
		return err
	}
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		gone, err := tx.Exec(ctx, sqlDeleteTagRule, p.ID, rule.ID)
		if err != nil || gone.RowsAffected() == 0 {
			return err
		}
		return s.deps.Bus.Publish(ctx, tx, RuleEvent{Action: TagUnprotected, By: by, Project: p, ID: rule.ID, Name: name})
	})
}
