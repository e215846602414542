// Package settingtest makes settings for the tests of other rooms.
package settingtest

import (
	"context"
	"log/slog"
	"testing"

	"stithy/internal/kit/bus"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/wire"
	"stithy/internal/platform/clock"
	"stithy/internal/platform/postgres"
	"stithy/internal/setting"
)

// Instance is a self-managed instance with every feature.
func Instance() setting.Instance {
	return setting.Instance{
		Tier: setting.Ultimate, Revision: "0123456789a", Names: wire.Names{Service: "svc", Errors: "errsvc"},
	}
}

// Deps is what the settings of a database need. Nobody listens to their events,
// and no feature flag knows single actors.
func Deps(t testing.TB, db *postgres.DB) setting.Deps {
	return setting.Deps{
		DB: db, Bus: bus.New(), Clock: clock.System(), Log: slog.New(slog.NewTextHandler(t.Output(), nil)), Instance: Instance(), Actors: noActors{},
	}
}

type noActors struct{}

func (noActors) FindActor(_ context.Context, kind, _ string) (setting.Actor, error) {
	return "", fault.NotFoundf("%s", kind)
}

// Unread is the settings of an instance that has read none: the defaults.
func Unread(t testing.TB, db *postgres.DB, instance setting.Instance) *setting.Service {
	d := Deps(t, db)
	d.Instance = instance
	return setting.New(d)
}

// New is the settings of a database, loaded.
func New(t testing.TB, db *postgres.DB) *setting.Service {
	t.Helper()
	s := setting.New(Deps(t, db))
	if err := s.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}
