package artifact

import (
	"context"

	"stithy/internal/platform/blob"
	"stithy/internal/platform/clock"
	"stithy/internal/platform/deps"
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
}

// Service is the use cases of logs and files.
type Service struct {
	deps    Deps
	indexes indexes
	turns   [unpackers]chan struct{} // each is held by who unpacks something whole at present
}

// unpackers is how many things are unpacked whole at once on a node, each with
// some dozen megabytes.
const unpackers = 2

// New puts the room together.
func New(d Deps) *Service {
	s := &Service{deps: deps.Complete(d)}
	for i := range s.turns {
		s.turns[i] = make(chan struct{}, 1)
	}
	return s
}

// enter waits for a turn to unpack a file whole. Nobody else unpacks the same
// file meanwhile. Whoever enters leaves.
func (s *Service) enter(ctx context.Context, f File) (leave func(), err error) {
	turn := s.turns[f.ID%unpackers]
	select {
	case turn <- struct{}{}:
		return func() { <-turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
