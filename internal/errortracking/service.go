package errortracking

import (
	"stithy/internal/kit/bus"
	"stithy/internal/kit/wire"
	"stithy/internal/platform/batch"
	"stithy/internal/platform/clock"
	"stithy/internal/platform/deps"
	"stithy/internal/platform/fairshare"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/ratelimit"
	"stithy/internal/platform/secretbox"
	"stithy/internal/project"
	"stithy/internal/setting"
)

// Deps is what the room needs from below.
type Deps struct {
	DB          *postgres.DB
	Bus         *bus.Bus
	Box         *secretbox.Box
	Settings    *setting.Service
	Projects    *project.Service
	Limiter     *ratelimit.Limiter
	Clock       clock.Clock
	ExternalURL string
	Names       wire.Names
}

// Service is the use cases of error tracking.
type Service struct {
	deps      Deps
	dialect   dialect
	unpacking *fairshare.Slots
	finding   *batch.Batcher[shownKey, struct{}, Intake]
	writes    *batch.Batcher[int64, Occurrence, struct{}] // by project
}

// New puts the room together.
func New(d Deps) *Service {
	s := &Service{deps: deps.Complete(d), unpacking: fairshare.New(unpackers, unpackersEach)}
	s.dialect = s.newDialect()
	s.finding = batch.New(findLimits, s.find)
	s.writes = batch.New(writeLimits, s.write)
	return s
}
