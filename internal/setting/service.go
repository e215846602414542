package setting

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/fault"
	"stithy/internal/platform/clock"
	"stithy/internal/platform/deps"
	"stithy/internal/platform/postgres"
)

// maxFeatures bounds what every node keeps in memory.
const maxFeatures = 1000

// Deps is what the room needs.
type Deps struct {
	DB       *postgres.DB
	Bus      *bus.Bus
	Clock    clock.Clock
	Log      *slog.Logger
	Instance Instance
	Actors   Actors
}

// Actors is the rooms above that flags can be set for single inhabitants of.
type Actors interface {
	// FindActor finds an actor by its kind and its name or path. It answers
	// NotFound for one that does not exist.
	FindActor(ctx context.Context, kind, ref string) (Actor, error)
}

// Service keeps the settings and flags of the instance. What it answers comes
// from memory; Load and Watch keep that fresh.
type Service struct {
	deps    Deps
	loading sync.Mutex // a load that started later never loses to an earlier one
	state   atomic.Pointer[state]
}

// state is what the database said at one moment. Nobody changes it.
type state struct {
	settings  *Settings
	features  map[string]Gates
	version   int64
	updatedAt time.Time
}

// New makes a Service that knows the defaults until it is told to Load.
func New(d Deps) *Service {
	d.Instance.Version = cmp.Or(d.Instance.Version, Version)
	d.Instance.Revision = cmp.Or(d.Instance.Revision, buildRevision())
	s := &Service{deps: deps.Complete(d)}
	s.state.Store(&state{settings: Defaults(d.Instance.Names), version: -1})
	return s
}

// Instance is what the operator configured.
func (s *Service) Instance() Instance { return s.deps.Instance }

// Current is the settings as they are now. It reads no database; the caller
// may keep what it gets, and must not change it.
func (s *Service) Current() *Settings { return s.state.Load().settings }

// Enabled reports whether a flag is open, for one of these actors if it
// distinguishes them. It reads no database.
func (s *Service) Enabled(name string, actors ...Actor) bool {
	if gates, set := s.state.Load().features[name]; set {
		return gates.open(name, actors)
	}
	d, _ := definition(name)
	return d.DefaultEnabled
}

// Features are the flags that were set, by name.
func (s *Service) Features() []Feature {
	set := s.state.Load().features
	all := make([]Feature, 0, len(set))
	for _, name := range slices.Sorted(maps.Keys(set)) {
		all = append(all, Feature{Name: name, Gates: set[name]})
	}
	return all
}

// Load reads what the database says now.
func (s *Service) Load(ctx context.Context) error {
	s.loading.Lock()
	defer s.loading.Unlock()
	row, err := postgres.One[struct {
		Changed   []byte
		Version   int64
		UpdatedAt time.Time
		Features  map[string]Gates
	}](ctx, s.deps.DB, sqlState)
	if err != nil {
		return fmt.Errorf("reading settings: %w", err)
	}
	if row.Version == s.state.Load().version {
		return nil
	}
	settings, err := s.decode(row.Changed)
	if err != nil {
		return err
	}
	s.state.Store(&state{settings: settings, features: row.Features, version: row.Version, updatedAt: row.UpdatedAt})
	s.deps.Log.Info("settings loaded", "version", row.Version)
	return nil
}

func (s *Service) decode(changed []byte) (*Settings, error) {
	settings := Defaults(s.deps.Instance.Names)
	if err := json.Unmarshal(changed, settings); err != nil {
		return nil, fmt.Errorf("decoding settings: %w", err)
	}
	return settings, nil
}

// Update changes settings for everybody. What change leaves alone, and what is
// stored under names that this release does not know, stays as it is. Current
// shows the new settings when Update returns.
func (s *Service) Update(ctx context.Context, by access.Actor, change func(*Settings)) error {
	err := s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		stored, err := postgres.Value[[]byte](ctx, tx, sqlLock)
		if err != nil {
			return fmt.Errorf("locking settings: %w", err)
		}
		old, err := s.decode(stored)
		if err != nil {
			return err
		}
		next, err := s.decode(stored) // shares no list with old
		if err != nil {
			return err
		}
		change(next)
		edits := compare(old, next)
		if err := check(edits); err != nil || len(edits) == 0 {
			return err
		}
		changed := map[string]any{}
		for _, e := range edits {
			changed[e.name] = e.to
		}
		if _, err := tx.Exec(ctx, sqlUpdate, changed, s.deps.Clock.Now()); err != nil {
			return settingFaults.Translate(err)
		}
		for _, e := range edits {
			if err := s.deps.Bus.Publish(ctx, tx, Changed{By: by, Change: e.change()}); err != nil {
				return err
			}
		}
		return notify(ctx, tx)
	})
	if err != nil {
		return err
	}
	return s.Load(ctx)
}

var settingFaults = postgres.Faults{
	"settings_changed_length": fault.Field("base", "settings take up too much room"),
}

// SetFeature opens or shuts a flag. Enabled follows it when SetFeature returns.
func (s *Service) SetFeature(ctx context.Context, by access.Actor, name string, change FeatureChange) (Feature, error) {
	feature := Feature{Name: name}
	actors, err := s.findActors(ctx, change.Actors)
	if err != nil {
		return feature, err
	}
	move, err := change.move(name, actors)
	if err != nil {
		return feature, err
	}
	err = s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlTouch); err != nil {
			return fmt.Errorf("locking settings: %w", err)
		}
		old, err := postgres.Value[Gates](ctx, tx, sqlFeature, name)
		from := old.describe()
		if errors.Is(err, postgres.ErrNoRows) {
			from = ""
		} else if err != nil {
			return fmt.Errorf("reading a feature: %w", err)
		}
		feature.Gates = old.after(move)
		done, err := tx.Exec(ctx, sqlSetFeature, name, feature.Gates, s.deps.Clock.Now(), maxFeatures)
		if err != nil {
			return featureFaults.Translate(err)
		}
		if done.RowsAffected() == 0 {
			return fault.Field("base", "Maximum number of features (%d) exceeded", maxFeatures)
		}
		e := FeatureChanged{By: by, Change: bus.Change{What: name, From: from, To: feature.Gates.describe()}}
		if err := s.deps.Bus.Publish(ctx, tx, e); err != nil {
			return err
		}
		return notify(ctx, tx)
	})
	if err != nil {
		return feature, err
	}
	return feature, s.Load(ctx)
}

var featureFaults = postgres.Faults{
	"features_name_length":  fault.Field("name", "is too long (maximum is 255 characters)"),
	"features_gates_length": fault.Field("base", "Maximum number of actors exceeded"),
}

func (s *Service) findActors(ctx context.Context, refs []ActorRef) (actors []Actor, err error) {
	for _, ref := range refs {
		unknown := fault.WithReason(fault.Rejected, "%s is not found!", ref.Ref)
		actor, err := s.deps.Actors.FindActor(ctx, ref.Kind, ref.Ref)
		if fault.Is(err, fault.NotFound) {
			return nil, unknown
		}
		if err != nil {
			return nil, fmt.Errorf("finding the actor of a feature: %w", err)
		}
		actors = append(actors, actor)
	}
	return actors, nil
}

// RemoveFeature gives a flag back to its default. It does not mind one that
// was never set.
func (s *Service) RemoveFeature(ctx context.Context, by access.Actor, name string) error {
	err := s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlTouch); err != nil {
			return fmt.Errorf("locking settings: %w", err)
		}
		old, err := postgres.Value[Gates](ctx, tx, sqlRemoveFeature, name)
		if errors.Is(err, postgres.ErrNoRows) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("removing a feature: %w", err)
		}
		e := FeatureChanged{By: by, Removed: true, Change: bus.Change{What: name, From: old.describe()}}
		if err := s.deps.Bus.Publish(ctx, tx, e); err != nil {
			return err
		}
		return notify(ctx, tx)
	})
	if err != nil {
		return err
	}
	return s.Load(ctx)
}

// notify tells every node that listens, when the transaction commits.
func notify(ctx context.Context, tx pgx.Tx) error {
	if _, err := tx.Exec(ctx, sqlNotify); err != nil {
		return fmt.Errorf("telling other nodes of new settings: %w", err)
	}
	return nil
}
