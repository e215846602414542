package notification

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/platform/postgres"
)

const (
	remindBatch = 200 // things that one transaction reminds of
	expiresSoon = 7   // days
)

// Remind leaves mails about issues that are due tomorrow and tokens that expire within a week. Each is noted in the transaction that leaves its mail:
// however often it runs, and wherever it ends, people are reminded once of each thing and day.
func (s *Service) Remind(ctx context.Context) error {
	if !s.deps.Mail.Configured() {
		return nil
	}
	today := s.today().Truncate(24 * time.Hour)
	return errors.Join(s.remindDue(ctx, today.AddDate(0, 0, 1)), s.remindExpiring(ctx, today.AddDate(0, 0, expiresSoon)))
}

func (s *Service) remindDue(ctx context.Context, on time.Time) error {
	for past, n := int64(0), remindBatch; n == remindBatch; {
		due, err := postgres.All[struct {
			ID, ProjectID int64
			AuthorID      *int64
		}](ctx, s.deps.DB, sqlDueOn, on, past, remindBatch)
		if err != nil || len(due) == 0 {
			return err
		}
		n, past = len(due), due[len(due)-1].ID
		ids, days := make([]int64, n), make([]time.Time, n)
		for i := range due {
			ids[i], days[i] = due[i].ID, on
		}
		err = s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
			fresh, err := remind(ctx, tx, IssueDue.Name(), ids, days)
			if err != nil {
				return err
			}
			for _, i := range due {
				if !fresh[i.ID] {
					continue
				}
				err := s.record(ctx, tx, happening{
					Event: IssueDue.Name(), ProjectID: i.ProjectID, IssueID: &i.ID, ByID: i.AuthorID, Everyone: true, Detail: new(day(on)), HappenedAt: s.deps.Clock.Now(),
				})
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) remindExpiring(ctx context.Context, until time.Time) error {
	for at, past, n := s.deps.Clock.Now(), int64(0), remindBatch; n == remindBatch; {
		some, err := postgres.All[struct {
			ID, UserID int64
			ExpiresAt  time.Time
		}](ctx, s.deps.DB, sqlExpiring, until, at, past, remindBatch)
		if err != nil || len(some) == 0 {
			return err
		}
		n, at, past = len(some), some[len(some)-1].ExpiresAt, some[len(some)-1].ID
		ids, days := make([]int64, n), make([]time.Time, n)
		for i, t := range some {
			ids[i], days[i] = t.ID, t.ExpiresAt.UTC()
		}
		err = s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
			fresh, err := remind(ctx, tx, tokenExpiring, ids, days)
			if err != nil {
				return err
			}
			of, people := map[int64][]int64{}, []int64{}
			for _, t := range some {
				if fresh[t.ID] {
					of[t.UserID], people = append(of[t.UserID], t.ID), append(people, t.UserID)
				}
			}
			for _, id := range sorted(people) {
				var to []candidate
				for range of[id] {
					to = append(to, candidate{UserID: id, Participates: true})
				}
				h := &happening{Event: tokenExpiring, HappenedAt: s.deps.Clock.Now()}
				if err := s.put(ctx, tx, ofAccount, id, h, to, of[id]); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// remind notes that people are reminded of some things, each of a day, and returns those that they were not reminded of before.
func remind(ctx context.Context, tx pgx.Tx, kind string, ids []int64, days []time.Time) (map[int64]bool, error) {
	rows, err := postgres.Values[int64](ctx, tx, sqlRemind, kind, ids, days)
	fresh := make(map[int64]bool, len(rows))
	for _, id := range rows {
		fresh[id] = true
	}
	return fresh, err
}
