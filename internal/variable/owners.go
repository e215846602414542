package variable

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/paging"
	"stithy/internal/owner"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/secretbox"
)

const (
	maxOwnedValue = 65_536
	maxScope      = 255
	everywhere    = "*"
	mostOfProject = 8_000
	mostOfGroup   = 30_000
)

var scopeForm = regexp.MustCompile(`^[A-Za-z0-9_/${}. *-]+$`)

// errMultiple asks for the scope of a key that there is several times.
var errMultiple = fault.WithMessage(fault.Conflict, "There are multiple variables with provided parameters. Please use 'filter[environment_scope]'")

// ownedRow is a variable of a group or project as it is stored.
type ownedRow struct {
	ID               int64
	NamespaceID      *int64
	ProjectID        *int64
	Key              string
	EnvironmentScope string
	SealedValue      []byte
	VariableType     Type
	Protected        bool
	Masked           bool
	Hidden           bool
	Raw              bool
	Description      *string
}

// placeOf binds a sealed value to its place, key and scope.
func placeOf(namespaceID, projectID *int64, key, scope string) string {
	if namespaceID != nil {
		return fmt.Sprintf("variables.sealed_value:group:%d:%s:%s", *namespaceID, key, scope)
	}
	return fmt.Sprintf("variables.sealed_value:project:%d:%s:%s", *projectID, key, scope)
}

func (s *Service) openIn(r ownedRow) (*Variable, error) {
	value, err := s.deps.Box.Open(r.SealedValue, placeOf(r.NamespaceID, r.ProjectID, r.Key, r.EnvironmentScope))
	if err != nil {
		return nil, err
	}
	return &Variable{
		ID: r.ID, Key: r.Key, Value: secretbox.Secret(value), Type: r.VariableType, Protected: r.Protected, Masked: r.Masked, Hidden: r.Hidden,
		Raw: r.Raw, Scope: r.EnvironmentScope, Description: r.Description,
	}, nil
}

func (s *Service) sealIn(of bus.Entity, v *Variable) ([]byte, error) {
	namespaceID, projectID := owner.Keys(of)
	return s.deps.Box.Seal([]byte(v.Value.Reveal()), placeOf(namespaceID, projectID, v.Key, v.Scope))
}

// checkIn refuses what a variable of a place cannot be.
func (v *Variable) checkIn() error {
	var fields fault.Fields
	if f, bad := fault.Of(v.checkUpTo(maxOwnedValue)); bad {
		fields = f.Fields
	}
	switch {
	case utf8.RuneCountInString(v.Scope) > maxScope:
		fields.Add("environment_scope", "is too long (maximum is %d characters)", maxScope)
	case !scopeForm.MatchString(v.Scope):
		fields.Add("environment_scope", "can contain only letters, digits, '-', '_', '/', '$', '{', '}', '.', '*' and spaces")
	}
	if v.Hidden && !v.Masked {
		fields.Add("masked", "must stay set where the value is hidden")
	}
	return fields.Err()
}

func missingIn(of bus.Entity) error {
	if of.Kind == bus.OfGroup {
		return fault.NotFoundf("GroupVariable")
	}
	return fault.NotFoundf("Variable")
}

// ListIn reads a page of the variables of a group or project, oldest first.
func (s *Service) ListIn(ctx context.Context, of bus.Entity, req paging.Request) (paging.Result[*Variable], error) {
	rows, err := paging.Fetch[ownedRow](ctx, s.deps.DB, listIn(of), req, nil)
	if err != nil {
		return paging.Result[*Variable]{}, fmt.Errorf("listing variables: %w", err)
	}
	page := paging.Map(rows, func(r ownedRow) (v *Variable) {
		if err == nil {
			v, err = s.openIn(r)
		}
		return v
	})
	return page, err
}

// FindIn reads the variable of a key in a group or project, of one scope where
// one is given. A key that is there several times needs it.
func (s *Service) FindIn(ctx context.Context, of bus.Entity, key string, scope *string) (*Variable, error) {
	namespaceID, projectID := owner.Keys(of)
	rows, err := postgres.All[ownedRow](ctx, s.deps.DB, sqlInOwner, namespaceID, projectID, key, scope)
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading a variable: %w", err)
	case len(rows) == 0:
		return nil, missingIn(of)
	case len(rows) > 1:
		return nil, errMultiple
	}
	return s.openIn(rows[0])
}

// taken says that a key is used in a scope.
func taken(v *Variable) postgres.Faults {
	used := fault.Field("key", "(%s) has already been taken", v.Key)
	return postgres.Faults{
		"variables_namespace_key": used, "variables_project_key": used,
		"variables_namespace_id_fkey": fault.NotFoundf("Group"), "variables_project_id_fkey": fault.NotFoundf("Project"),
	}
}

// CreateIn adds a variable to a group or project and gives it its id.
func (s *Service) CreateIn(ctx context.Context, by access.Actor, of bus.Entity, v *Variable) error {
	v.Key = strings.TrimSpace(v.Key)
	if v.Scope == "" {
		v.Scope = everywhere
	}
	if err := v.checkIn(); err != nil {
		return err
	}
	sealed, err := s.sealIn(of, v)
	if err != nil {
		return err
	}
	namespaceID, projectID := owner.Keys(of)
	most, noun := mostOfProject, "project"
	if namespaceID != nil {
		most, noun = mostOfGroup, "group"
	}
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		used, err := postgres.Value[int](ctx, tx, sqlCountIn, namespaceID, projectID, most)
		if err != nil {
			return fmt.Errorf("counting variables: %w", err)
		}
		if used >= most {
			return fault.Field("base", "Maximum number of %s ci variables (%d) exceeded", noun, most)
		}
		v.ID, err = postgres.Value[int64](ctx, tx, sqlCreateIn, namespaceID, projectID, v.Key, v.Scope, sealed, v.Type, v.Protected, v.Masked,
			v.Hidden, v.Raw, v.Description, s.deps.Clock.Now())
		if err != nil {
			return taken(v).Translate(err)
		}
		return s.deps.Bus.Publish(ctx, tx, Event{Action: Created, By: by, In: of, ID: v.ID, Key: v.Key})
	})
}

// UpdateIn changes a variable of a group or project. change must leave the key
// alone.
func (s *Service) UpdateIn(ctx context.Context, by access.Actor, of bus.Entity, id int64, change func(*Variable)) (v *Variable, err error) {
	namespaceID, projectID := owner.Keys(of)
	err = s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		r, err := postgres.One[ownedRow](ctx, tx, sqlLockInOwner, namespaceID, projectID, id)
		if errors.Is(err, postgres.ErrNoRows) {
			return missingIn(of)
		}
		if err != nil {
			return fmt.Errorf("reading a variable: %w", err)
		}
		if v, err = s.openIn(r); err != nil {
			return err
		}
		change(v)
		if err := v.checkIn(); err != nil {
			return err
		}
		sealed, err := s.sealIn(of, v)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, sqlUpdateIn, v.ID, v.Scope, sealed, v.Type, v.Protected, v.Masked, v.Raw, v.Description, s.deps.Clock.Now()); err != nil {
			return taken(v).Translate(err)
		}
		return s.deps.Bus.Publish(ctx, tx, Event{Action: Updated, By: by, In: of, ID: v.ID, Key: v.Key})
	})
	return v, err
}

// DeleteIn removes a variable of a group or project.
func (s *Service) DeleteIn(ctx context.Context, by access.Actor, of bus.Entity, v *Variable) error {
	namespaceID, projectID := owner.Keys(of)
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		done, err := tx.Exec(ctx, sqlDeleteIn, namespaceID, projectID, v.ID)
		if err != nil {
			return fmt.Errorf("deleting a variable: %w", err)
		}
		if done.RowsAffected() == 0 {
			return missingIn(of)
		}
		return s.deps.Bus.Publish(ctx, tx, Event{Action: Deleted, By: by, In: of, ID: v.ID, Key: v.Key})
	})
}
