package project

import (
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"

	"stithy/internal/group"
	"stithy/internal/kit/access"
	"stithy/internal/kit/avatar"
	"stithy/internal/kit/fault"
	"stithy/internal/platform/postgres"
)

// Attributes are what a maintainer may change. Nil, and an empty level, leave
// things as they are, or give a new project its defaults.
type Attributes struct {
	Name, Path, Description, DefaultBranch *string
	Visibility                             *access.Visibility
	Topics                                 *[]string
	Avatar                                 *avatar.Upload
	Features                               Features
	Change                                 func(*Settings)
}

func (a Attributes) apply(p *Project) {
	set(&p.Name, a.Name)
	set(&p.Path, a.Path)
	set(&p.Description, a.Description)
	if a.DefaultBranch != nil {
		if p.DefaultBranch = a.DefaultBranch; *a.DefaultBranch == "" {
			p.DefaultBranch = nil
		}
	}
	if a.Topics != nil {
		p.Topics = cleanTopics(*a.Topics)
	}
	asked := a.Features.levels()
	for i, level := range p.Features.levels() {
		if *asked[i].level != "" {
			*level.level = *asked[i].level
		}
	}
	if a.Change != nil {
		a.Change(&p.Settings)
	}
}

func set[T any](dst *T, src *T) {
	if src != nil {
		*dst = *src
	}
}

// Draft is what a new project is made of.
type Draft struct {
	NamespaceID int64
	CreatorID   int64   // the actor when zero
	Import      *Import // nil begins with nothing
	Attributes
}

var (
	errNamespace = fault.Field("namespace", "is not valid")
	errNameTaken = fault.Field("name", "has already been taken")
)

// personal is the namespace of an account, 0 when it has none.
func (s *Service) personal(ctx context.Context, userID int64) (int64, error) {
	id, err := postgres.Value[int64](ctx, s.deps.DB, sqlPersonal, userID)
	if errors.Is(err, postgres.ErrNoRows) {
		return 0, nil
	}
	return id, err
}

// Create makes a project in a namespace where the actor may. In a group it is
// no more open than the group.
func (s *Service) Create(ctx context.Context, by access.Actor, d Draft) (*Project, error) {
	home, err := s.deps.Groups.Find(ctx, by, d.NamespaceID)
	if fault.Is(err, fault.NotFound) || (err == nil && !access.Holds(by, access.CreateProject, home.Target())) {
		return nil, errNamespace
	}
	if err != nil {
		return nil, err
	}
	p := &Project{
		NamespaceID: home.ID, CreatorID: new(by.ID()), Topics: []string{}, Features: defaultFeatures(), Settings: defaultSettings(),
		ImportStatus: "none", CreatedAt: s.deps.Clock.Now(),
	}
	if d.CreatorID != 0 {
		p.CreatorID = &d.CreatorID
	}
	d.apply(p)
	if d.Name == nil {
		p.Name = p.Path
	}
	if d.Path == nil || p.Path == "" {
		p.Path = pathFrom(p.Name)
	}
	if p.Visibility, err = access.ParseVisibility(s.deps.Settings.Current().DefaultProjectVisibility); err != nil {
		return nil, err
	}
	set(&p.Visibility, d.Visibility)
	if d.Import != nil {
		p.ImportStatus = "scheduled"
		if err := s.deps.Outbound.Check(ctx, d.Import.URL); err != nil {
			return nil, fault.Field("import_url", "is blocked: %v", err)
		}
	}
	err = s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		if err := s.insert(ctx, tx, by, p, d.Features); err != nil {
			return err
		}
		if err := setAvatar(ctx, tx, p, d.Avatar); err != nil {
			return err
		}
		if d.Import != nil {
			if err := s.deps.Bus.Publish(ctx, tx, ImportAsked{Project: p, Import: *d.Import}); err != nil {
				return err
			}
		}
		return s.deps.Bus.Publish(ctx, tx, Event{Action: Created, By: by, Project: p})
	})
	if err != nil {
		return nil, err
	}
	s.begin(ctx, p)
	return s.Find(ctx, by, p.ID)
}

// insert writes a new project that obeys the rules, no more open than where
// it stands.
func (s *Service) insert(ctx context.Context, tx pgx.Tx, by access.Actor, p *Project, asked Features) error {
	home, err := s.deps.Groups.Parent(ctx, tx, p.NamespaceID)
	if fault.Is(err, fault.NotFound) {
		return errNamespace
	}
	if err != nil {
		return err
	}
	p.stand(home)
	p.Visibility = min(p.Visibility, home.Visibility)
	var f fault.Fields
	checkNames(p, &f)
	checkSettings(p, &f)
	checkFeatures(p, asked, &f)
	s.checkRestricted(by, p.Visibility, &f)
	if err := f.Err(); err != nil {
		return err
	}
	if err := s.checkLimit(ctx, tx, home); err != nil {
		return err
	}
	if err := s.checkTaken(ctx, tx, home, p); err != nil {
		return err
	}
	p.ID, err = postgres.Value[int64](ctx, tx, sqlInsert, p.NamespaceID, p.CreatorID, p.Name, p.Path, p.Description, p.Visibility,
		p.DefaultBranch, p.Topics, p.Features, p.Settings, p.ForkedFromID, p.ImportStatus, p.CreatedAt)
	if err != nil {
		return postgres.Faults{"projects_name_key": errNameTaken}.Translate(err)
	}
	return s.deps.Groups.Claim(ctx, tx, by, p.NamespaceID, p.Path, nil, &p.ID)
}

// stand puts the project into a namespace.
func (p *Project) stand(home *group.Group) {
	p.NamespaceID, p.NamespaceKind, p.NamespaceName, p.NamespacePath = home.ID, string(home.Kind), home.Name, home.Path
	p.NamespaceFullName, p.NamespaceFullPath, p.NamespaceParentID = home.FullName, home.FullPath, home.ParentID
	p.NamespaceOwnerID, p.NamespaceVisibility, p.NamespaceAvatar = home.OwnerID, home.Visibility, home.Avatar
}

func (s *Service) restricted(by access.Actor, v access.Visibility) bool {
	return !by.Admin() && slices.Contains(s.deps.Settings.Current().RestrictedVisibilityLevels, v.String())
}

func (s *Service) checkRestricted(by access.Actor, v access.Visibility, f *fault.Fields) {
	if s.restricted(by, v) {
		f.Add("visibility_level", "%s has been restricted by your %s administrator", v, s.deps.Names.Text())
	}
}

// checkLimit holds a personal namespace against what its owner may have.
func (s *Service) checkLimit(ctx context.Context, tx pgx.Tx, home *group.Group) error {
	if home.Kind != group.Personal {
		return nil
	}
	owner, err := s.deps.Users.FindIn(ctx, tx, *home.OwnerID)
	if err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, sqlLockCount, home.ID); err != nil {
		return err
	}
	count, err := postgres.Value[int](ctx, tx, sqlCountIn, home.ID)
	switch {
	case err != nil || count < owner.ProjectsLimit:
		return err
	case owner.ProjectsLimit == 0:
		return fault.WithMessage(fault.LimitReached, "Personal project creation is not allowed. Please contact your administrator with questions")
	}
	return fault.WithMessage(fault.LimitReached, "Your project limit is %d projects! Please contact your administrator to increase it", owner.ProjectsLimit)
}

// checkTaken names both what is taken of name and path. Two who take one at
// the same time are told apart by the constraints.
func (s *Service) checkTaken(ctx context.Context, tx pgx.Tx, home *group.Group, p *Project) error {
	var f fault.Fields
	taken, err := postgres.Value[bool](ctx, tx, sqlNameTaken, home.ID, p.Name, p.ID)
	if err != nil {
		return err
	}
	if taken {
		f.Add("name", "has already been taken")
	}
	route, err := group.Walk(ctx, tx, home.FullPath+"/"+p.Path)
	if err != nil {
		return err
	}
	if route != (group.Route{}) && !route.Former && (route.ProjectID != p.ID || p.ID == 0) {
		f.Add("path", "has already been taken")
	}
	return f.Err()
}
