package user

import (
	"context"
	"errors"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/emoji"
	"stithy/internal/kit/fault"
	"stithy/internal/platform/postgres"
)

const (
	defaultEmoji = "speech_balloon"
	notSet       = "not_set"
	maxMessage   = 100
)

// clearAfter is how long a status may last.
var clearAfter = map[string]time.Duration{
	"30_minutes": 30 * time.Minute,
	"3_hours":    3 * time.Hour,
	"8_hours":    8 * time.Hour,
	"1_day":      24 * time.Hour,
	"3_days":     3 * 24 * time.Hour,
	"7_days":     7 * 24 * time.Hour,
	"30_days":    30 * 24 * time.Hour,
}

// Status is what a person says they are doing. The zero Status says nothing.
type Status struct {
	Emoji         string
	Message       string
	Availability  string
	ClearStatusAt *time.Time
}

// Empty reports whether nothing is said.
func (st Status) Empty() bool {
	return st.Emoji == "" && st.Message == "" && (st.Availability == "" || st.Availability == notSet)
}

// StatusChange is what is said anew. Nil keeps what was said before.
type StatusChange struct {
	Emoji, Message, Availability *string
	ClearAfter                   *string // a key of clearAfter, or empty for a status that lasts
}

func (c StatusChange) apply(st *Status, now time.Time) error {
	set(&st.Emoji, c.Emoji)
	set(&st.Message, c.Message)
	set(&st.Availability, c.Availability)
	if c.ClearAfter != nil {
		st.ClearStatusAt = nil
		if d, ok := clearAfter[*c.ClearAfter]; ok {
			st.ClearStatusAt = new(now.Add(d))
		}
	}
	if st.Empty() {
		return nil
	}
	if st.Emoji == "" {
		st.Emoji = defaultEmoji
	}
	if st.Availability == "" {
		st.Availability = notSet
	}
	var f fault.Fields
	if !emoji.Known(st.Emoji) {
		f.Add("emoji", "is not a valid emoji name")
	}
	if utf8.RuneCountInString(st.Message) > maxMessage {
		f.Add("message", "is too long (maximum is %d characters)", maxMessage)
	}
	return f.Err()
}

// Status reads what a person says at present.
func (s *Service) Status(ctx context.Context, userID int64) (Status, error) {
	return s.status(ctx, s.deps.DB, userID)
}

func (s *Service) status(ctx context.Context, q postgres.Querier, userID int64) (Status, error) {
	st, err := postgres.One[Status](ctx, q, sqlStatus, userID, s.deps.Clock.Now())
	if errors.Is(err, postgres.ErrNoRows) {
		return Status{}, nil
	}
	return st, err
}

// ChangeStatus says something new. A status that says nothing is removed.
func (s *Service) ChangeStatus(ctx context.Context, userID int64, c StatusChange) (st Status, err error) {
	err = s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		if _, err := s.lock(ctx, tx, userID); err != nil {
			return err
		}
		if st, err = s.status(ctx, tx, userID); err != nil {
			return err
		}
		if err := c.apply(&st, s.deps.Clock.Now()); err != nil {
			return err
		}
		if st.Empty() {
			st = Status{}
			_, err = tx.Exec(ctx, sqlDeleteStatus, userID)
			return err
		}
		_, err = tx.Exec(ctx, sqlPutStatus, userID, st.Emoji, st.Message, st.Availability, st.ClearStatusAt)
		return err
	})
	return st, err
}
