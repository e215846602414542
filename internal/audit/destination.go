package audit

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/fault"
	"stithy/internal/owner"
	"stithy/internal/platform/jobqueue"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/secretbox"
)

// Destination is where the events of the instance, or of a top-level group with everything in it, are sent to.
type Destination struct {
	ID          int64
	NamespaceID *int64 // nil: of the instance
	Name        string
	URL         string
	SealedToken []byte
	EventTypes  []string // none: all
	Active      bool
	CreatedAt   time.Time
	UpdatedAt   time.Time
	Block       int64 // all events of earlier blocks were sent
	Position    int   // and so many of this one
	SentAt      *time.Time
	Failures    int // in a row
	FailedAt    *time.Time
	Reason      string // of the last failure, in words
	RetryAt     *time.Time
	Dropped     int64 // dead letters that there was no room for
	RetriedAt   *time.Time
}

// Draft is what people say of a destination.
type Draft struct {
	Name       string
	URL        string
	EventTypes []string
	Active     bool
}

// Letter is an event that was given up for a destination.
type Letter struct {
	EventID  int64
	FailedAt time.Time
	Reason   string
	Again    bool // it is about to be sent once more
}

// Behind is what a destination has not been sent of what is sealed.
type Behind struct {
	Count int
	More  bool       // it is only what was counted
	Since *time.Time // of the oldest
}

const (
	mostDestinations = 5 // of one owner
	mostTypes        = 100
	tokenBytes       = 32
	behindBlocks     = 10
	retryPause       = time.Minute // between two wishes that a destination be tried again
)

// MayStream says whether somebody manages the destinations of a group, or of the instance when of is nil. It is what endpoints and pages are admitted
// by; a group that stands below another has none.
func (s *Service) MayStream(by access.Actor, of *owner.Owner) bool {
	switch {
	case !s.Kept():
		return false
	case of == nil:
		return by.Admin()
	}
	return of.Group != nil && of.Group.ParentID == nil && access.Holds(by, toStream, of.Target())
}

// toStream is held by the owners of a group, and by no auditor.
const toStream = access.UpdateGroup

// streamOf is whose destinations are asked for, for somebody who manages them.
func (s *Service) streamOf(by access.Actor, of *owner.Owner) (*int64, bus.Entity, error) {
	if !s.MayStream(by, of) {
		return nil, bus.Entity{}, fault.New(fault.NotFound)
	}
	if of == nil {
		return nil, bus.Instance(), nil
	}
	return &of.ID, of.Entity, nil
}

// Destinations are those of a group, or of the instance when of is nil.
func (s *Service) Destinations(ctx context.Context, by access.Actor, of *owner.Owner) ([]Destination, error) {
	namespace, _, err := s.streamOf(by, of)
	if err != nil {
		return nil, err
	}
	return postgres.All[Destination](ctx, s.deps.DB, sqlDestinationsOf, namespace)
}

// Destination is one of them.
func (s *Service) Destination(ctx context.Context, by access.Actor, of *owner.Owner, id int64) (Destination, error) {
	namespace, _, err := s.streamOf(by, of)
	if err != nil {
		return Destination{}, err
	}
	return foundDestination(postgres.One[Destination](ctx, s.deps.DB, sqlDestination, id, namespace))
}

func foundDestination(d Destination, err error) (Destination, error) {
	if errors.Is(err, postgres.ErrNoRows) {
		err = fault.NotFoundf("Audit Event Destination")
	}
	return d, err
}

// check looks at a draft, and asks whether its address may be called now, unless it is the one that was there before: a destination that cannot be
// reached any more can still be paused.
func (s *Service) check(ctx context.Context, d *Draft, before string) error {
	d.Name, d.URL = strings.TrimSpace(d.Name), strings.TrimSpace(d.URL)
	var types []string
	for _, t := range d.EventTypes {
		if t = strings.TrimSpace(t); t != "" && !slices.Contains(types, t) {
			types = append(types, t)
		}
	}
	d.EventTypes = types
	var fields fault.Fields
	switch n := len([]rune(d.Name)); {
	case n == 0:
		fields.Add("name", "can't be blank")
	case n > 72:
		fields.Add("name", "is too long (maximum is 72 characters)")
	}
	if len(types) > mostTypes || len(strings.Join(types, ",")) > 8192 {
		fields.Add("event_types", "are too many (maximum is %d)", mostTypes)
	}
	switch {
	case d.URL == before && before != "":
	case len(d.URL) > 2048:
		fields.Add("destination_url", "is too long (maximum is 2048 characters)")
	default:
		if err := s.deps.Outbound.Check(ctx, d.URL); err != nil {
			fields.Add("destination_url", "is blocked: %s", strings.TrimSuffix(inWords(err), "."))
		}
	}
	return fields.Err()
}

// tokenPlace binds a sealed token to its row.
func tokenPlace(id int64) string {
	return "audit_event_destinations.sealed_token:" + strconv.FormatInt(id, 10)
}

// AddDestination makes a destination of a group, or of the instance when of is nil, and the secret that it knows what is sent by. The secret is
// told this once.
func (s *Service) AddDestination(ctx context.Context, by access.Actor, of *owner.Owner, draft Draft) (d Destination, token secretbox.Secret, err error) {
	namespace, in, err := s.streamOf(by, of)
	if err != nil {
		return d, "", err
	}
	if err := s.check(ctx, &draft, ""); err != nil {
		return d, "", err
	}
	token = secretbox.Secret(secretbox.RandomToken(tokenBytes))
	err = s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlLockDestinations, namespace); err != nil {
			return err
		}
		have, err := postgres.Value[int](ctx, tx, sqlCountDestinations, namespace)
		if err != nil {
			return err
		}
		if have >= mostDestinations {
			var fields fault.Fields
			fields.Add("base", "There are %d destinations already, which is as many as there may be", mostDestinations)
			return fields.Err()
		}
		id, err := postgres.Value[int64](ctx, tx, sqlDestinationID)
		if err != nil {
			return err
		}
		sealed, err := s.deps.Box.Seal([]byte(token.Reveal()), tokenPlace(id))
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, sqlPutDestination, id, namespace, draft.Name, draft.URL, sealed, texts(draft.EventTypes), draft.Active, s.deps.Clock.Now())
		if err := owner.Gone("audit_event_destinations").Translate(err); err != nil {
			return err
		}
		if d, err = postgres.One[Destination](ctx, tx, sqlDestination, id, namespace); err != nil {
			return err
		}
		return s.deps.Bus.Publish(ctx, tx, DestinationEvent{Action: DestinationCreated, By: by, In: in, ID: id, Name: d.Name, What: "to " + d.URL})
	})
	return d, token, err
}

// texts is a list that the database takes for empty and not for missing.
func texts(all []string) []string { return append([]string{}, all...) }

// ChangeDestination changes a destination. With a new secret, the old one is used no more; it is told this once.
func (s *Service) ChangeDestination(
	ctx context.Context, by access.Actor, of *owner.Owner, id int64, newToken bool, change func(*Draft),
) (d Destination, token secretbox.Secret, err error) {
	namespace, in, err := s.streamOf(by, of)
	if err != nil {
		return d, "", err
	}
	before, err := s.Destination(ctx, by, of, id)
	if err != nil {
		return d, "", err
	}
	draft := Draft{Name: before.Name, URL: before.URL, EventTypes: before.EventTypes, Active: before.Active}
	change(&draft)
	if err := s.check(ctx, &draft, before.URL); err != nil {
		return d, "", err
	}
	err = s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		old, err := foundDestination(postgres.One[Destination](ctx, tx, sqlLockDestination, id, namespace))
		if err != nil {
			return err
		}
		sealed := old.SealedToken
		if newToken {
			token = secretbox.Secret(secretbox.RandomToken(tokenBytes))
			if sealed, err = s.deps.Box.Seal([]byte(token.Reveal()), tokenPlace(id)); err != nil {
				return err
			}
		}
		_, err = tx.Exec(ctx, sqlChangeDestination, id, draft.Name, draft.URL, sealed, texts(draft.EventTypes), draft.Active, s.deps.Clock.Now())
		if err != nil {
			return err
		}
		if d, err = postgres.One[Destination](ctx, tx, sqlDestination, id, namespace); err != nil {
			return err
		}
		if err := s.deps.Queue.Insert(ctx, tx, d.deliver(), jobqueue.Unique()); err != nil {
			return err
		}
		return s.deps.Bus.Publish(ctx, tx, DestinationEvent{
			Action: DestinationUpdated, By: by, In: in, ID: id, Name: d.Name, What: changes(old, d, newToken),
		})
	})
	return d, token, err
}

// changes says what is different.
func changes(old, d Destination, newToken bool) string {
	var all []string
	if old.Name != d.Name {
		all = append(all, "name from "+old.Name+" to "+d.Name)
	}
	if old.URL != d.URL {
		all = append(all, "URL from "+old.URL+" to "+d.URL)
	}
	if !slices.Equal(old.EventTypes, d.EventTypes) {
		all = append(all, "event types to "+strings.Join(d.EventTypes, ", "))
	}
	if old.Active != d.Active {
		state := "inactive"
		if d.Active {
			state = "active"
		}
		all = append(all, "it to "+state)
	}
	if newToken {
		all = append(all, "the secret token")
	}
	return strings.Join(all, "; ")
}

// RemoveDestination removes a destination with its dead letters.
func (s *Service) RemoveDestination(ctx context.Context, by access.Actor, of *owner.Owner, id int64) error {
	namespace, in, err := s.streamOf(by, of)
	if err != nil {
		return err
	}
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		d, err := foundDestination(postgres.One[Destination](ctx, tx, sqlLockDestination, id, namespace))
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, sqlRemoveDestination, id); err != nil {
			return err
		}
		return s.deps.Bus.Publish(ctx, tx, DestinationEvent{Action: DestinationRemoved, By: by, In: in, ID: id, Name: d.Name, What: "to " + d.URL})
	})
}

// RetryDestination has all dead letters of a destination sent once more, and what is behind sent at once. It may be asked for once a minute: each
// wish is a row of the trail and a call to the receiver.
func (s *Service) RetryDestination(ctx context.Context, by access.Actor, of *owner.Owner, id int64) error {
	namespace, in, err := s.streamOf(by, of)
	if err != nil {
		return err
	}
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		d, err := foundDestination(postgres.One[Destination](ctx, tx, sqlLockDestination, id, namespace))
		if err != nil {
			return err
		}
		now := s.deps.Clock.Now()
		if d.RetriedAt != nil && now.Before(d.RetriedAt.Add(retryPause)) {
			return &fault.Error{Kind: fault.TooMany, Subject: "retry of a destination"}
		}
		if _, err := tx.Exec(ctx, sqlTryAtOnce, id, now); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, sqlSendAgain, id); err != nil {
			return err
		}
		if err := s.deps.Queue.Insert(ctx, tx, d.deliver(), jobqueue.Unique()); err != nil {
			return err
		}
		return s.deps.Bus.Publish(ctx, tx, DestinationEvent{Action: DestinationRetried, By: by, In: in, ID: id, Name: d.Name})
	})
}

// Letters are the dead letters of a destination, the newest events first, and how many there are.
func (s *Service) Letters(ctx context.Context, d Destination, most int) (letters []Letter, count int, err error) {
	if count, err = postgres.Value[int](ctx, s.deps.DB, sqlCountLetters, d.ID); err != nil || count == 0 {
		return nil, count, err
	}
	letters, err = postgres.All[Letter](ctx, s.deps.DB, sqlLetters, d.ID, most)
	return letters, count, err
}

// BehindOf is what a destination has not been sent yet, as far as it is counted.
func (s *Service) BehindOf(ctx context.Context, d Destination) (Behind, error) {
	return postgres.One[Behind](ctx, s.deps.DB, sqlBehind, d.NamespaceID, texts(d.EventTypes), d.Block, d.Position, behindBlocks)
}

// deliver is the job of a destination.
func (d Destination) deliver() DeliverArgs {
	return DeliverArgs{DestinationID: d.ID, Group: d.NamespaceID != nil}
}
