package variable

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/paging"
	"stithy/internal/owner"
	"stithy/internal/platform/clock"
	"stithy/internal/platform/deps"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/secretbox"
	"stithy/internal/setting"
)

// Deps is what the room needs.
type Deps struct {
	DB       *postgres.DB
	Bus      *bus.Bus
	Box      *secretbox.Box
	Clock    clock.Clock
	Settings *setting.Service
	Owners   *owner.Service
}

// Service is the use cases of variables.
type Service struct{ deps Deps }

// New puts the room together.
func New(d Deps) *Service { return &Service{deps: deps.Complete(d)} }

// row is a variable as it is stored.
type row struct {
	ID           int64
	Key          string
	SealedValue  []byte
	VariableType Type
	Protected    bool
	Masked       bool
	Raw          bool
	Description  *string
}

// place binds a sealed value to its row; a key never changes.
func place(key string) string { return "instance_variables.sealed_value:" + key }

func (s *Service) open(r row) (*Variable, error) {
	value, err := s.deps.Box.Open(r.SealedValue, place(r.Key))
	if err != nil {
		return nil, err
	}
	return &Variable{
		ID: r.ID, Key: r.Key, Value: secretbox.Secret(value), Type: r.VariableType,
		Protected: r.Protected, Masked: r.Masked, Raw: r.Raw, Description: r.Description,
	}, nil
}

func (s *Service) seal(v *Variable) ([]byte, error) {
	return s.deps.Box.Seal([]byte(v.Value.Reveal()), place(v.Key))
}

// List reads a page of the instance's variables, oldest first.
func (s *Service) List(ctx context.Context, req paging.Request) (paging.Result[*Variable], error) {
	list := postgres.From("instance_variables v").Columns(columns).Order(postgres.Key{Expr: "v.id"})
	rows, err := paging.Fetch[row](ctx, s.deps.DB, list, req, nil)
	if err != nil {
		return paging.Result[*Variable]{}, fmt.Errorf("listing variables: %w", err)
	}
	page := paging.Map(rows, func(r row) (v *Variable) {
		if err == nil {
			v, err = s.open(r)
		}
		return v
	})
	return page, err
}

// Find reads a variable by its exact key.
func (s *Service) Find(ctx context.Context, key string) (*Variable, error) {
	return s.find(ctx, s.deps.DB, sqlByKey, key)
}

func (s *Service) find(ctx context.Context, q postgres.Querier, sql, key string) (*Variable, error) {
	r, err := postgres.One[row](ctx, q, sql, key)
	if errors.Is(err, postgres.ErrNoRows) {
		return nil, missing()
	}
	if err != nil {
		return nil, fmt.Errorf("reading a variable: %w", err)
	}
	return s.open(r)
}

func missing() error { return fault.NotFoundf("InstanceVariable") }

// Create adds a variable to the instance and gives it its id.
func (s *Service) Create(ctx context.Context, by access.Actor, v *Variable) error {
	v.Key = strings.TrimSpace(v.Key)
	if err := v.check(); err != nil {
		return err
	}
	sealed, err := s.seal(v)
	if err != nil {
		return err
	}
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		if err := room(ctx, tx, v.Key, s.deps.Settings.Current().CIInstanceLevelVariables); err != nil {
			return err
		}
		v.ID, err = postgres.Value[int64](ctx, tx, sqlCreate,
			v.Key, sealed, v.Type, v.Protected, v.Masked, v.Raw, v.Description, s.deps.Clock.Now())
		if err != nil {
			return fmt.Errorf("creating a variable: %w", err)
		}
		return s.deps.Bus.Publish(ctx, tx, Event{Action: Created, By: by, ID: v.ID, Key: v.Key})
	})
}

// room refuses a variable that is one too many or has another's key, and keeps
// the place for it until the transaction ends. most is 0 where any number may be.
func room(ctx context.Context, tx pgx.Tx, key string, most int) error {
	if _, err := tx.Exec(ctx, sqlLockAll); err != nil {
		return fmt.Errorf("locking variables: %w", err)
	}
	have, err := postgres.One[struct {
		Used  int
		Taken bool
	}](ctx, tx, sqlRoom, key)
	if err != nil {
		return fmt.Errorf("counting variables: %w", err)
	}
	var fields fault.Fields
	if have.Taken {
		fields.Add("key", "(%s) has already been taken", key)
	}
	if most > 0 && have.Used >= most {
		fields.Add("base", "Maximum number of ci instance level variables (%d) exceeded", most)
	}
	return fields.Err()
}

// Update changes a variable. change must leave the key alone.
func (s *Service) Update(ctx context.Context, by access.Actor, key string, change func(*Variable)) (v *Variable, err error) {
	err = s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		if v, err = s.find(ctx, tx, sqlLock, key); err != nil {
			return err
		}
		change(v)
		if err := v.check(); err != nil {
			return err
		}
		sealed, err := s.seal(v)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, sqlUpdate,
			v.ID, sealed, v.Type, v.Protected, v.Masked, v.Raw, v.Description, s.deps.Clock.Now()); err != nil {
			return fmt.Errorf("updating a variable: %w", err)
		}
		return s.deps.Bus.Publish(ctx, tx, Event{Action: Updated, By: by, ID: v.ID, Key: v.Key})
	})
	return v, err
}

// Delete removes a variable from the instance.
func (s *Service) Delete(ctx context.Context, by access.Actor, key string) error {
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		id, err := postgres.Value[int64](ctx, tx, sqlDelete, key)
		if errors.Is(err, postgres.ErrNoRows) {
			return missing()
		}
		if err != nil {
			return fmt.Errorf("deleting a variable: %w", err)
		}
		return s.deps.Bus.Publish(ctx, tx, Event{Action: Deleted, By: by, ID: id, Key: key})
	})
}
