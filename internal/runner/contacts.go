package runner

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"stithy/internal/platform/lifecycle"
	"stithy/internal/platform/postgres"
)

const (
	// contactEvery is how often it is written down that a machine was seen.
	contactEvery = 5 * time.Minute
	flushEvery   = 3 * time.Second
	flushTimeout = 10 * time.Second
	// maxMachines is how many machines of one runner are told apart.
	maxMachines = 10_000
)

// bearer is a runner with the machine that presents its token.
type bearer struct {
	row
	ManagerID          int64
	Version            string
	Revision           string
	Platform           string
	Architecture       string
	Executor           string
	Address            string
	ManagerContactedAt time.Time
	ManagerCreatedAt   time.Time
}

// Authenticate finds the runner of a token, and the machine that presents it.
// It is one digest and one query; that the machine was seen is written down
// later. A token that is unknown or has expired is Forbidden. Who a runner is
// follows from the token alone.
func (s *Service) Authenticate(ctx context.Context, token, systemID string, info Info) (Runner, Manager, error) {
	if systemID = cut(systemID, 64); systemID == "" {
		systemID = legacy
	}
	info = info.cut()
	now := s.deps.Clock.Now()
	b, err := postgres.One[bearer](ctx, s.deps.DB, sqlBearer, s.digest(token), systemID, now)
	if errors.Is(err, postgres.ErrNoRows) {
		return Runner{}, Manager{}, errUnknown
	}
	if err != nil {
		return Runner{}, Manager{}, err
	}
	r := b.runner()
	m := Manager{
		ID: b.ManagerID, RunnerID: r.ID, SystemID: systemID, ContactedAt: b.ManagerContactedAt, CreatedAt: b.ManagerCreatedAt,
		Info: Info{
			Name: r.Name, Version: b.Version, Revision: b.Revision, Platform: b.Platform, Architecture: b.Architecture, Executor: b.Executor,
			Address: b.Address,
		},
	}
	if m.ID == 0 {
		// A new machine, once in its life.
		m.ContactedAt, m.CreatedAt = now, now
		if m.ID, err = postgres.Value[int64](ctx, s.deps.DB, sqlMeet, r.ID, systemID, legacy, info.Version, info.Revision, info.Platform,
			info.Architecture, info.Address, now, maxMachines); err != nil {
			return Runner{}, Manager{}, fmt.Errorf("meeting a machine: %w", err)
		}
		s.contacts.put(contact{manager: m.ID, runner: r.ID, at: now, info: said(info, m.Info)})
	} else if news := said(info, m.Info); now.Sub(m.ContactedAt) >= contactEvery || r.ContactedAt == nil || news != m.Info {
		s.contacts.put(contact{manager: m.ID, runner: r.ID, at: now, info: news})
		m.Info = news
	}
	return r, m, nil
}

// said is what is known of a machine after it spoke; some calls say nothing.
func said(now, before Info) Info {
	for _, f := range []struct{ now, before *string }{
		{&now.Name, &before.Name}, {&now.Version, &before.Version}, {&now.Revision, &before.Revision}, {&now.Platform, &before.Platform},
		{&now.Architecture, &before.Architecture}, {&now.Executor, &before.Executor}, {&now.Address, &before.Address},
	} {
		if *f.now == "" {
			*f.now = *f.before
		}
	}
	return now
}

type contact struct {
	manager, runner int64
	at              time.Time
	info            Info
}

// contacts gathers which machines were seen, so that a call costs no write.
// What a crash loses is seen again.
type contacts struct {
	mu   sync.Mutex
	seen map[int64]contact
}

func (c *contacts) put(one contact) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.seen == nil {
		c.seen = map[int64]contact{}
	}
	c.seen[one.manager] = one
}

func (c *contacts) take() map[int64]contact {
	c.mu.Lock()
	defer c.mu.Unlock()
	seen := c.seen
	c.seen = nil
	return seen
}

// Flush writes down which machines were seen since the last time.
func (s *Service) Flush(ctx context.Context) error {
	seen := s.contacts.take()
	if len(seen) == 0 {
		return nil
	}
	var ids, runners []int64
	var times []time.Time
	var names, versions, revisions, platforms, architectures, executors, addresses []string
	for _, c := range seen {
		ids, runners, times = append(ids, c.manager), append(runners, c.runner), append(times, c.at)
		names, versions, revisions = append(names, c.info.Name), append(versions, c.info.Version), append(revisions, c.info.Revision)
		platforms, architectures = append(platforms, c.info.Platform), append(architectures, c.info.Architecture)
		executors, addresses = append(executors, c.info.Executor), append(addresses, c.info.Address)
	}
	if _, err := s.deps.DB.Exec(ctx, sqlSeen, ids, times, versions, revisions, platforms, architectures, executors, addresses); err != nil {
		return fmt.Errorf("writing down which machines were seen: %w", err)
	}
	if _, err := s.deps.DB.Exec(ctx, sqlSeenRunners, runners, times, names); err != nil {
		return fmt.Errorf("writing down which runners were seen: %w", err)
	}
	return nil
}

// Part flushes now and then, and once more when the process stops.
func (s *Service) Part() lifecycle.Component {
	return lifecycle.Repeat("contacts of runners", s.deps.Log, flushEvery, flushTimeout, s.Flush)
}

// ForgetMachine removes a machine of the runner whose token it presents.
func (s *Service) ForgetMachine(ctx context.Context, token, systemID string) error {
	b, err := postgres.One[bearer](ctx, s.deps.DB, sqlBearer, s.digest(token), systemID, s.deps.Clock.Now())
	switch {
	case errors.Is(err, postgres.ErrNoRows):
		return errUnknown
	case err != nil:
		return err
	case b.ManagerID == 0:
		return errMissing
	}
	_, err = s.deps.DB.Exec(ctx, sqlForgetMachine, b.ID, systemID)
	return err
}
