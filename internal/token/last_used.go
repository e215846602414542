package token

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"stithy/internal/platform/lifecycle"
)

// lastUsed gathers who was seen when, so that reading costs no write. What a
// crash loses is seen again.
type lastUsed struct {
	mu       sync.Mutex
	tokens   map[int64]time.Time
	sessions map[int64]time.Time
	people   map[int64]time.Time
}

func (t *lastUsed) token(id int64, at time.Time)   { t.put(&t.tokens, id, at) }
func (t *lastUsed) session(id int64, at time.Time) { t.put(&t.sessions, id, at) }
func (t *lastUsed) person(id int64, at time.Time)  { t.put(&t.people, id, at) }

func (t *lastUsed) put(in *map[int64]time.Time, id int64, at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if *in == nil {
		*in = map[int64]time.Time{}
	}
	(*in)[id] = at
}

func (t *lastUsed) take() (tokens, sessions, people map[int64]time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	tokens, sessions, people = t.tokens, t.sessions, t.people
	t.tokens, t.sessions, t.people = nil, nil, nil
	return tokens, sessions, people
}

// Flush writes down what was seen since the last time.
func (s *Service) Flush(ctx context.Context) error {
	tokens, sessions, people := s.lastUsed.take()
	for _, batch := range []struct {
		name string
		sql  string
		seen map[int64]time.Time
		more []any
	}{
		{name: "tokens", sql: sqlTouchTokens, seen: tokens},
		{name: "sessions", sql: sqlTouchSessions, seen: sessions, more: []any{s.sessionLife()}},
		{name: "people", sql: sqlTouchPeople, seen: people},
	} {
		if len(batch.seen) == 0 {
			continue
		}
		ids := slices.Collect(maps.Keys(batch.seen))
		times := make([]time.Time, len(ids))
		for i, id := range ids {
			times[i] = batch.seen[id]
		}
		if _, err := s.deps.DB.Exec(ctx, batch.sql, append([]any{ids, times}, batch.more...)...); err != nil {
			return fmt.Errorf("writing down which %s were seen: %w", batch.name, err)
		}
	}
	return nil
}

const (
	flushEvery   = 3 * time.Second
	flushTimeout = 10 * time.Second
)

// Part flushes now and then, and once more when the process stops.
func (s *Service) Part() lifecycle.Component {
	return lifecycle.Repeat("last use of tokens", s.deps.Log, flushEvery, flushTimeout, s.Flush)
}
