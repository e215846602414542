package pages

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/bus"
	"stithy/internal/platform/postgres"
)

const (
	lookupTimeout = 15 * time.Second
	// mostRecords is how many texts of an answer are looked at.
	mostRecords = 100
)

// Reasons why a claim is not verified, in words that its owner is shown.
const (
	reasonMissing = "there is no TXT record with the code"
	reasonOther   = "there are TXT records, but none holds the code of this claim"
	reasonNoName  = "the name is not known to DNS"
	reasonTimeout = "DNS did not answer in time"
	reasonFailed  = "DNS answered with an error"
)

// look asks DNS for the record of a claim. It stands at the name of its own, or at the host itself.
func (s *Service) look(ctx context.Context, d *Domain) (found bool, reason string) {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	name, value := s.Record(d)
	reason = reasonMissing
	for _, at := range []string{name, d.Domain} {
		texts, err := s.deps.Resolver.LookupTXT(ctx, at+".") // no domain of this machine is appended
		if err != nil {
			if at == d.Domain && reason == reasonMissing {
				reason = failure(err)
			}
			continue
		}
		texts = texts[:min(len(texts), mostRecords)]
		if slices.ContainsFunc(texts, func(text string) bool { text = strings.TrimSpace(text); return text == value || text == d.Code }) {
			return true, ""
		}
		if len(texts) > 0 {
			reason = reasonOther
		}
	}
	return false, reason
}

func failure(err error) string {
	e, ok := errors.AsType[*net.DNSError](err)
	switch {
	case ok && e.IsNotFound:
		return reasonNoName
	case ok && e.IsTimeout, errors.Is(err, context.DeadlineExceeded):
		return reasonTimeout
	}
	return reasonFailed
}

// Verify looks for the record of a claim and notes what follows from it.
func (s *Service) Verify(ctx context.Context, id int64) error {
	d, err := postgres.One[Domain](ctx, s.deps.DB, sqlDomainByID, id)
	if errors.Is(err, postgres.ErrNoRows) || err == nil && !s.required() {
		return nil
	}
	if err != nil {
		return err
	}
	seen, reason := s.look(ctx, &d)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		before, err := postgres.One[Domain](ctx, tx, sqlLockByID, id)
		if errors.Is(err, postgres.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		now := s.deps.Clock.Now()
		next := before.after(seen, before.CreatedAt, now)
		after, err := postgres.One[Domain](ctx, tx, sqlSetStanding, id, next.VerifiedAt, next.Proven, next.EnabledUntil, next.RemoveAt, next.CheckAt, now, reason)
		if err != nil {
			return err
		}
		switch {
		case !before.Verified() && after.Verified():
			return s.tell(ctx, tx, DomainVerified, &after)
		case before.EnabledUntil != nil && after.EnabledUntil == nil:
			return s.tell(ctx, tx, DomainDisabled, &after)
		}
		return nil
	})
}

// tell publishes what the instance did by itself.
func (s *Service) tell(ctx context.Context, tx pgx.Tx, what Action, d *Domain) error {
	in, err := s.entity(ctx, tx, d.ProjectID)
	if err != nil {
		return err
	}
	return s.deps.Bus.Publish(ctx, tx, Event{Action: what, In: in, Domain: d})
}

func (s *Service) entity(ctx context.Context, tx pgx.Tx, projectID int64) (bus.Entity, error) {
	e, err := postgres.One[bus.Entity](ctx, tx, sqlEntity, projectID)
	e.Kind = bus.OfProject
	return e, err
}
