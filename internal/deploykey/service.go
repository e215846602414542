package deploykey

import (
	"bytes"
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"golang.org/x/crypto/ssh"

	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/fault"
	"stithy/internal/platform/clock"
	"stithy/internal/platform/deps"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
	"stithy/internal/user"
)

// Deps is what the room needs from below.
type Deps struct {
	DB       *postgres.DB
	Bus      *bus.Bus
	Projects *project.Service
	Clock    clock.Clock
}

// Service is the use cases of deploy keys.
type Service struct{ deps Deps }

// New puts the room together.
func New(d Deps) *Service { return &Service{deps: deps.Complete(d)} }

var errMissing = fault.NotFoundf("Deploy Key")

func found(k Key, err error) (*Key, error) {
	if errors.Is(err, postgres.ErrNoRows) {
		err = errMissing
	}
	return &k, err
}

// Find reads a key of a project.
func (s *Service) Find(ctx context.Context, projectID, id int64) (*Key, error) {
	return found(postgres.One[Key](ctx, s.deps.DB, sqlFind, projectID, id))
}

// FindByFingerprint reads the key that an SSH client proved to have.
func (s *Service) FindByFingerprint(ctx context.Context, sha256 string) (*Key, error) {
	return found(postgres.One[Key](ctx, s.deps.DB, sqlByFingerprint, sha256))
}

// Add gives a project a key that proves nothing else yet.
func (s *Service) Add(ctx context.Context, by access.Actor, p *project.Project, d Draft) (k Key, err error) {
	now := s.deps.Clock.Now()
	key, err := d.check(now)
	if err != nil {
		return k, err
	}
	line := string(bytes.TrimSpace(ssh.MarshalAuthorizedKey(key)))
	err = s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		k, err = postgres.One[Key](ctx, tx, sqlInsert, p.ID, d.Title, line, ssh.FingerprintLegacyMD5(key), ssh.FingerprintSHA256(key),
			by.ID(), d.ExpiresAt, now, d.CanPush)
		if err != nil {
			return user.FingerprintFaults.Translate(err)
		}
		return s.deps.Bus.Publish(ctx, tx, Event{Action: Added, By: by, In: p.Entity(), Key: k})
	})
	return k, err
}

// Enable gives a project a key that another one has, where the actor may know
// of it: it is for all, or they maintain such a project.
func (s *Service) Enable(ctx context.Context, by access.Actor, p *project.Project, id int64) (*Key, error) {
	known, err := s.knows(ctx, by, id)
	if err != nil {
		return nil, err
	}
	if !known {
		return nil, errMissing
	}
	var k *Key
	err = s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, sqlEnable, p.ID, id, s.deps.Clock.Now())
		if err != nil {
			return postgres.Faults{"deploy_key_projects_deploy_key_id_fkey": errMissing}.Translate(err)
		}
		if k, err = found(postgres.One[Key](ctx, tx, sqlFind, p.ID, id)); err != nil || tag.RowsAffected() == 0 {
			return err
		}
		return s.deps.Bus.Publish(ctx, tx, Event{Action: Added, By: by, In: p.Entity(), Key: *k})
	})
	return k, err
}

func (s *Service) knows(ctx context.Context, by access.Actor, id int64) (bool, error) {
	open, err := postgres.Value[bool](ctx, s.deps.DB, sqlOpen, id)
	if err != nil || open {
		return open, err
	}
	homes, err := postgres.Values[int64](ctx, s.deps.DB, sqlHomes, id)
	if err != nil {
		return false, err
	}
	for _, home := range homes {
		p, err := s.deps.Projects.Find(ctx, by, home)
		if err == nil && access.Holds(by, access.AdminDeployKeys, p.Target()) {
			return true, nil
		}
		if err != nil && !fault.Is(err, fault.NotFound) {
			return false, err
		}
	}
	return false, nil
}

// Change sets what a key is called and whether it may push to the project. A
// key that other projects have too keeps its name, unless an administrator
// changes it.
func (s *Service) Change(ctx context.Context, by access.Actor, p *project.Project, id int64, title *string, canPush *bool) (k *Key, err error) {
	if title != nil {
		var f fault.Fields
		checkTitle(*title, &f)
		if err := f.Err(); err != nil {
			return nil, err
		}
	}
	err = s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		if k, err = found(postgres.One[Key](ctx, tx, sqlFind, p.ID, id)); err != nil {
			return err
		}
		if title != nil && *title != k.Title {
			shared, err := postgres.Value[bool](ctx, tx, sqlShared, id, p.ID)
			if err != nil {
				return err
			}
			if shared && !by.Admin() {
				return fault.New(fault.Forbidden)
			}
			if _, err := tx.Exec(ctx, sqlRename, id, *title); err != nil {
				return err
			}
		}
		if canPush != nil {
			if _, err := tx.Exec(ctx, sqlAllow, p.ID, id, *canPush); err != nil {
				return err
			}
		}
		if k, err = found(postgres.One[Key](ctx, tx, sqlFind, p.ID, id)); err != nil {
			return err
		}
		return s.deps.Bus.Publish(ctx, tx, Event{Action: Updated, By: by, In: p.Entity(), Key: *k})
	})
	return k, err
}

// Remove takes a key from a project. The last project takes the key along.
func (s *Service) Remove(ctx context.Context, by access.Actor, p *project.Project, id int64) error {
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		k, err := found(postgres.One[Key](ctx, tx, sqlFind, p.ID, id))
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, sqlDisable, p.ID, id); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, sqlForget, id); err != nil {
			return err
		}
		return s.deps.Bus.Publish(ctx, tx, Event{Action: Removed, By: by, In: p.Entity(), Key: *k})
	})
}
