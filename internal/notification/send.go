package notification

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/platform/jobqueue"
	"stithy/internal/platform/mail"
	"stithy/internal/platform/postgres"
)

const (
	mostInMail  = 50                 // things that one mail tells of
	lease       = 3 * time.Minute    // how long whoever sends a mail has its rows; longer than sendTimeout
	mostUnknown = 2                  // attempts of which nobody knows how they ended
	patience    = 2 * 24 * time.Hour // how long a mail is tried
	mostAnHour  = 60                 // mails that one person causes another to get
)

// item is one thing that a person is to be mailed about.
type item struct {
	ID           int64
	ProjectID    int64  // 0: of none
	SubjectID    *int64 // what else it is about
	Event        string
	NoteID       *int64
	ByID         *int64
	Participates bool
	Mentioned    bool
	Detail       *string
	HappenedAt   time.Time
	CreatedAt    time.Time
	MailID       *int64
	ClaimedUntil *time.Time
	Attempts     int16
}

// mailing is the rows of one mail, in the hands of who sends it.
type mailing struct {
	MailArgs
	id    int64 // the first of them
	items []item
	first bool // nobody tried before
}

func (m *mailing) ids() []int64 {
	all := make([]int64, len(m.items))
	for n := range m.items {
		all[n] = m.items[n].ID
	}
	return all
}

// Send sends a person what waits for them of a thread, in as few mails as it takes. It may run any number of times, also at once.
//
// A mail is handed to the server once. If the process dies, or the connection does, after the last byte and before the server's answer is
// written down, it is handed over once more, under the same Message-ID, and then never again: it counts as failed.
func (s *Service) Send(ctx context.Context, args MailArgs) error {
	for {
		m, err := s.claim(ctx, args)
		if err != nil || m == nil {
			return err
		}
		if err := s.send(ctx, m); err != nil {
			return err
		}
	}
}

// claim takes the rows of the next mail. There is none if nothing waits, or another process sends it now.
func (s *Service) claim(ctx context.Context, args MailArgs) (m *mailing, err error) {
	err = s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		now := s.deps.Clock.Now()
		waiting, err := postgres.All[item](ctx, tx, sqlWaiting, args.UserID, args.Thread, args.ThreadID, 2*mostInMail)
		if err != nil || len(waiting) == 0 {
			return err
		}
		next := mailing{MailArgs: args, id: waiting[0].ID, first: true}
		if begun := slices.IndexFunc(waiting, func(i item) bool { return i.MailID != nil }); begun >= 0 {
			next.id, next.first = *waiting[begun].MailID, false
			if until := waiting[begun].ClaimedUntil; until != nil && until.After(now) {
				return s.deps.Queue.Insert(ctx, tx, args, jobqueue.At(*until), jobqueue.Unique())
			}
		}
		for _, i := range waiting {
			if (next.first || (i.MailID != nil && *i.MailID == next.id)) && len(next.items) < mostInMail {
				next.items = append(next.items, i)
			}
		}
		m = &next
		_, err = tx.Exec(ctx, sqlClaim, m.ids(), m.id, now.Add(lease))
		return err
	})
	return m, err
}

func (s *Service) send(ctx context.Context, m *mailing) error {
	now := s.deps.Clock.Now()
	switch oldest := m.items[0]; {
	case !s.deps.Mail.Configured():
		return s.fail(ctx, m, "the instance sends no mail any more")
	case oldest.Attempts >= mostUnknown:
		return s.fail(ctx, m, "the server was sent it twice and did not answer; it may have arrived")
	case oldest.CreatedAt.Add(patience).Before(now):
		return s.fail(ctx, m, "the server did not take it for two days")
	}
	l, err := s.letter(ctx, m)
	if err != nil {
		return err
	}
	if l == nil {
		_, err := s.deps.DB.Exec(ctx, sqlSent, m.ids())
		return err
	}
	begun, err := s.deps.DB.Exec(ctx, sqlBegin, m.ids(), m.id)
	if err != nil || begun.RowsAffected() != int64(len(m.items)) {
		return err // it was given up meanwhile
	}
	err = s.deps.Mail.Send(ctx, l.message())
	if err == nil {
		_, err = s.deps.DB.Exec(ctx, sqlSent, m.ids())
		return err
	}
	return s.unsent(ctx, m, l, err)
}

// unsent says what follows from an answer of the server.
func (s *Service) unsent(ctx context.Context, m *mailing, l *letter, why error) error {
	switch mail.VerdictOf(why) {
	case mail.Later:
		if _, err := s.deps.DB.Exec(ctx, sqlRelease, m.ids(), m.id); err != nil {
			return errors.Join(why, err)
		}
		return why // the job is tried again
	case mail.Unknown:
		return why
	case mail.NoSuch:
		if _, err := s.deps.DB.Exec(ctx, sqlRefuse, l.normal, cut(why.Error(), maxDetail), s.deps.Clock.Now()); err != nil {
			return errors.Join(why, err)
		}
	}
	return s.fail(ctx, m, why.Error())
}

// fail keeps a mail as one that was not sent, for its reader and for the log.
func (s *Service) fail(ctx context.Context, m *mailing, why string) error {
	s.deps.Log.WarnContext(ctx, "mail was not sent", "user_id", m.UserID, "thread", m.Thread, "thread_id", m.ThreadID, "mail_id", m.id, "reason", why)
	_, err := s.deps.DB.Exec(ctx, sqlFail, m.ids(), s.deps.Clock.Now(), cut(why, maxDetail))
	return err
}

// within are those of some things that are told to their reader, by the number of mails that those who did them caused within the hour.
func (s *Service) within(ctx context.Context, m *mailing, all []item) ([]item, error) {
	if !m.first {
		return all, nil
	}
	var by []int64
	for _, i := range all {
		if i.ByID != nil && !slices.Contains(by, *i.ByID) {
			by = append(by, *i.ByID)
		}
	}
	if len(by) == 0 {
		return all, nil
	}
	slices.Sort(by)
	counts, err := postgres.All[struct {
		ByID  int64
		Mails int
	}](ctx, s.deps.DB, sqlCount, m.UserID, by, s.deps.Clock.Now().UTC().Truncate(time.Hour))
	if err != nil {
		return nil, err
	}
	var over []int64
	for _, c := range counts {
		if c.Mails > mostAnHour {
			over = append(over, c.ByID)
		}
	}
	var left []item
	var dropped []int64
	for _, i := range all {
		if i.ByID != nil && slices.Contains(over, *i.ByID) {
			dropped = append(dropped, i.ID)
		} else {
			left = append(left, i)
		}
	}
	if len(dropped) > 0 {
		why := fmt.Sprintf("one person caused more than %d mails within an hour", mostAnHour)
		if _, err := s.deps.DB.Exec(ctx, sqlFail, dropped, s.deps.Clock.Now(), why); err != nil {
			return nil, err
		}
		m.items = slices.DeleteFunc(m.items, func(i item) bool { return slices.Contains(dropped, i.ID) })
	}
	return left, nil
}
