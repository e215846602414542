package protection

import (
	"context"
	"slices"
	"time"

	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/platform/clock"
	"stithy/internal/platform/deps"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
	"stithy/internal/setting"
)

// Deps is what the room needs from below.
type Deps struct {
	DB           *postgres.DB
	Bus          *bus.Bus
	Settings     *setting.Service
	Projects     *project.Service
	Clock        clock.Clock
	Repositories Repositories
}

// Repositories is the room above that has what is protected.
type Repositories interface {
	// Empty reports whether nothing was ever pushed to a project's repository.
	Empty(ctx context.Context, p *project.Project) (bool, error)
}

// Service is the use cases of protection.
type Service struct{ deps Deps }

// New puts the room together.
func New(d Deps) *Service { return &Service{deps: deps.Complete(d)} }

func (s *Service) today() time.Time { return s.deps.Clock.Now().UTC() }

// Rules reads all that decides about the refs of a project's repository. Who
// writes to it knows whether it was empty; Standing asks.
func (s *Service) Rules(ctx context.Context, p *project.Project, empty bool) (*Rules, error) {
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
		if rules.First, err = s.firstRole(ctx, p); err != nil {
			return nil, err
		}
	}
	return rules, nil
}

// Instance is the instance itself on behalf of an actor. It keeps to names and
// kinds of refs alone.
func Instance(by access.Actor) Writer {
	return Writer{UserID: by.ID(), Role: access.Owner, Admin: true, May: true, Web: true}
}

// Writer is an actor as the rules see them. Web is left to the caller, who knows
// which way the actor came.
func (s *Service) Writer(ctx context.Context, by access.Actor, p *project.Project, rules *Rules) (Writer, error) {
	w := Writer{UserID: by.ID(), Role: p.Role, Admin: by.Admin(), May: access.Holds(by, access.PushCode, p.Target())}
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

// Standing is an actor who uses the API or a page, and the rules of a project.
func (s *Service) Standing(ctx context.Context, by access.Actor, p *project.Project) (*Rules, Writer, error) {
	empty, err := s.deps.Repositories.Empty(ctx, p)
	if err != nil {
		return nil, Writer{}, err
	}
	rules, err := s.Rules(ctx, p, empty)
	if err != nil {
		return nil, Writer{}, err
	}
	w, err := s.Writer(ctx, by, p, rules)
	w.Web = true
	return rules, w, err
}

// ProtectedRef reports whether a rule speaks about a branch or a tag. It asks
// through q, so that who holds a transaction needs no second connection.
func (s *Service) ProtectedRef(ctx context.Context, q postgres.Querier, projectID int64, name string, tag bool) (bool, error) {
	sql := sqlBranchRuleNames
	if tag {
		sql = sqlTagRuleNames
	}
	rules, err := postgres.Values[string](ctx, q, sql, projectID)
	return slices.ContainsFunc(rules, func(rule string) bool { return Matches(rule, name) }), err
}

// MayUpdateRef reports whether an actor may bring new commits to a branch or
// make a tag, as the rules that protect it have it. What runs on protected refs
// asks it; a ref without rules is open to all who may write at all.
func (s *Service) MayUpdateRef(ctx context.Context, by access.Actor, p *project.Project, name string, tag bool) (bool, error) {
	rules, w, err := s.Standing(ctx, by, p)
	if err != nil {
		return false, err
	}
	if tag {
		return !rules.ProtectsTag(name) || rules.MayCreateTag(w, name), nil
	}
	return !rules.ProtectsBranch(name) || rules.MayUpdate(w, name), nil
}

// MayPushTo reports whether the rules let an actor add commits to a branch.
func (s *Service) MayPushTo(ctx context.Context, by access.Actor, p *project.Project, branch string) (bool, error) {
	rules, w, err := s.Standing(ctx, by, p)
	return err == nil && rules.MayPush(w, branch), err
}
