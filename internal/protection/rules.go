package protection

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

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
		return fmt.Errorf("protection: grants come as %T", src)
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
		return s.deps.Bus.Publish(ctx, tx, Event{Action: BranchProtected, By: by, Project: p, ID: rule.ID, Name: rule.Name})
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
		return s.deps.Bus.Publish(ctx, tx, Event{Action: BranchRuleChanged, By: by, Project: p, ID: rule.ID, Name: name})
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
	w, err := s.Writer(ctx, by, p, &Rules{Branches: []BranchRule{{Push: rule.Unprotect}}})
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
		return s.deps.Bus.Publish(ctx, tx, Event{Action: BranchUnprotected, By: by, Project: p, ID: rule.ID, Name: name})
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
		return s.deps.Bus.Publish(ctx, tx, Event{Action: TagProtected, By: by, Project: p, ID: id, Name: rule.Name})
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
		return s.deps.Bus.Publish(ctx, tx, Event{Action: TagUnprotected, By: by, Project: p, ID: rule.ID, Name: name})
	})
}
