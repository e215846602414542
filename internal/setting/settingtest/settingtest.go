// Package settingtest makes settings for the tests of other rooms.
package settingtest

import (
	"log/slog"
	"testing"

	"stithy/internal/kit/bus"
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

// New is the settings of a database, loaded. Nobody listens to its events.
func New(t testing.TB, db *postgres.DB) *setting.Service {
	t.Helper()
	s := setting.New(db, bus.New(), clock.System(), slog.New(slog.NewTextHandler(t.Output(), nil)), Instance())
	if err := s.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}
