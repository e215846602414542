package artifact

import (
	"log/slog"

	"stithy/internal/platform/blob"
	"stithy/internal/platform/clock"
	"stithy/internal/platform/jobqueue"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/secretbox"
	"stithy/internal/setting"
)

// Deps is what the room needs from below.
type Deps struct {
	DB       *postgres.DB
	Queue    *jobqueue.Queue
	Blobs    blob.Store
	Box      *secretbox.Box
	Settings *setting.Service
	Clock    clock.Clock
	Log      *slog.Logger
}

// Service is the use cases of logs and files.
type Service struct {
	Deps
	indexes indexes
}

// New puts the room together.
func New(d Deps) *Service { return &Service{Deps: d} }
