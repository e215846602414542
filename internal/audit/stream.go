package audit

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/platform/jobqueue"
	"stithy/internal/platform/outbound"
	"stithy/internal/platform/postgres"
)

const (
	streamBatch   = 100     // events of one request
	streamBody    = 1 << 20 // bytes of it, unless one event is larger
	streamTimeout = 15 * time.Second
	streamLease   = 2 * time.Minute  // more than one request and its note take
	streamTurn    = 30 * time.Second // of one job; then others have theirs
	streamTries   = 8                // until an event is given up
	mostLetters   = 1_000            // of one destination
)

// pause is how long to wait after so many failures in a row: a minute, then twice as long each time, up to an hour.
func pause(failures int) time.Duration { return min(time.Minute<<min(failures-1, 10), time.Hour) }

// errLeaseLost ends a job whose destination somebody else sends to by now, or that is gone.
var errLeaseLost = errors.New("somebody else sends to this destination")

// Stream has what is due sent. It is called after events were sealed: their blocks are an order that only grows at its end, which ids are not.
func (s *Service) Stream(ctx context.Context) error {
	if !s.Kept() {
		return nil
	}
	due, err := postgres.All[struct {
		ID          int64
		NamespaceID *int64
		Failures    int
	}](ctx, s.deps.DB, sqlDue, s.deps.Clock.Now())
	if err != nil || len(due) == 0 {
		return err
	}
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		for _, d := range due {
			options := []jobqueue.Option{jobqueue.Unique()}
			if d.Failures > 0 {
				options = append(options, jobqueue.Bulk()) // those that answer go first
			}
			if err := s.deps.Queue.Insert(ctx, tx, DeliverArgs{DestinationID: d.ID, Group: d.NamespaceID != nil}, options...); err != nil {
				return err
			}
		}
		return nil
	})
}

// delivery is a job at work on a destination.
type delivery struct {
	*Service
	Destination
	lease  string
	token  []byte
	client caller
}

// Deliver sends a destination what it has not been sent yet, in the order of the blocks, until there is no more, something fails or its turn is over:
// then the next job waits behind those of other destinations. One at a time does so. What was sent and not noted, because the process ended in between, is sent again, under the same ids.
func (s *Service) Deliver(ctx context.Context, id int64) error {
	now := s.deps.Clock.Now()
	d := &delivery{Service: s, lease: rand.Text(), client: s.deps.Outbound.Client(streamTimeout)}
	defer d.client.CloseIdleConnections()
	var err error
	d.Destination, err = postgres.One[Destination](ctx, s.deps.DB, sqlTakeLease, id, d.lease, now, now.Add(streamLease))
	if errors.Is(err, postgres.ErrNoRows) {
		return nil // it is gone, paused, waits, or somebody else is at it
	}
	if err != nil {
		return fmt.Errorf("delivering audit events: %w", err)
	}
	defer func() { _, _ = s.deps.DB.Exec(context.WithoutCancel(ctx), sqlEndLease, id, d.lease) }()
	if d.token, err = s.deps.Box.Open(d.SealedToken, tokenPlace(id)); err != nil {
		return err
	}
	for more := true; more && err == nil; {
		if !s.deps.Clock.Now().Before(now.Add(streamTurn)) {
			err = d.yield(ctx)
			break
		}
		more, err = d.round(ctx)
	}
	if err != nil && !errors.Is(err, errLeaseLost) && ctx.Err() == nil {
		return fmt.Errorf("delivering audit events: %w", err)
	}
	return nil
}

// round sends some dead letters that somebody asked for, and the next events, and reports whether to go on at once.
func (d *delivery) round(ctx context.Context) (more bool, err error) {
	if err := d.note(ctx, sqlKeepLease, d.ID, d.lease, d.deps.Clock.Now().Add(streamLease)); err != nil {
		return false, err
	}
	letters, err := d.sendLetters(ctx)
	if err != nil {
		return false, err
	}
	more, err = d.sendSome(ctx)
	return more || letters, err
}

// yield ends a turn: the destination is free, and the next job for it goes after those of destinations that are quick.
func (d *delivery) yield(ctx context.Context) error {
	return d.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlEndLease, d.ID, d.lease); err != nil {
			return err
		}
		return d.deps.Queue.Insert(ctx, tx, d.deliver(), jobqueue.Unique(), jobqueue.Bulk())
	})
}

// sendSome sends the next events, notes what became of it, and reports whether to go on at once.
func (d *delivery) sendSome(ctx context.Context) (more bool, err error) {
	b, err := postgres.One[struct {
		Number   int64
		Month    time.Time
		EventIDs []int64 `db:"event_ids"`
	}](ctx, d.deps.DB, sqlBlock, d.Block)
	if err != nil && !errors.Is(err, postgres.ErrNoRows) {
		return false, err
	}
	if d.Position >= len(b.EventIDs) {
		next, err := postgres.Value[bool](ctx, d.deps.DB, sqlHasBlock, d.Block+1)
		if err != nil || !next {
			return false, err
		}
		return true, d.noteSent(ctx, d.Block+1, 0, false)
	}
	ids := b.EventIDs[d.Position:]
	events, err := postgres.All[Event](ctx, d.deps.DB, sqlStreamEvents, d.NamespaceID, ids, b.Month, b.Month.AddDate(0, 1, 0), texts(d.EventTypes))
	if err != nil {
		return false, err
	}
	byID := make(map[int64]Event, len(events))
	for _, e := range events {
		byID[e.ID] = e
	}
	most := streamBatch
	if d.Failures > 0 {
		most = 1 // so that one event that is not taken keeps no others back for good
	}
	var bodies []json.RawMessage
	size, end := 0, d.Position
	var first, last int64
	for _, id := range ids {
		e, wanted := byID[id]
		if wanted {
			body, err := json.Marshal(d.wholeForm(e))
			if err != nil {
				return false, err
			}
			if len(bodies) == most || (len(bodies) > 0 && size+len(body) > streamBody) {
				break
			}
			if bodies, size, last = append(bodies, body), size+len(body), id; first == 0 {
				first = id
			}
		}
		end++
	}
	if len(bodies) == 0 {
		return true, d.noteSent(ctx, d.Block, end, false)
	}
	failed := d.post(ctx, bodies, first, last)
	switch {
	case failed == nil:
		return true, d.noteSent(ctx, d.Block, end, true)
	case ctx.Err() != nil:
		return false, ctx.Err() // we stop; nothing is wrong with the receiver
	case d.Failures+1 >= streamTries:
		return true, d.giveUp(ctx, first, end, inWords(failed))
	}
	now := d.deps.Clock.Now()
	return false, d.note(ctx, sqlFailed, d.ID, d.lease, now, inWords(failed), now.Add(pause(d.Failures+1)), now.Add(streamLease))
}

// note writes down what became of something, if the destination is still ours.
func (d *delivery) note(ctx context.Context, sql string, args ...any) error {
	done, err := d.deps.DB.Exec(ctx, sql, args...)
	if err == nil && done.RowsAffected() == 0 {
		err = errLeaseLost
	}
	return err
}

// noteSent moves on.
func (d *delivery) noteSent(ctx context.Context, block int64, position int, sent bool) error {
	now := d.deps.Clock.Now()
	if err := d.note(ctx, sqlSent, d.ID, d.lease, block, position, sent, now, now.Add(streamLease)); err != nil {
		return err
	}
	d.Block, d.Position = block, position
	if sent {
		d.Failures = 0
	}
	return nil
}

// giveUp makes a dead letter of an event that was tried too often, and moves on.
func (d *delivery) giveUp(ctx context.Context, event int64, position int, reason string) error {
	now := d.deps.Clock.Now()
	err := d.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		done, err := tx.Exec(ctx, sqlGiveUp, d.ID, d.lease, d.Block, position, now, reason, now.Add(streamLease))
		if err != nil {
			return err
		}
		if done.RowsAffected() == 0 {
			return errLeaseLost
		}
		if _, err := tx.Exec(ctx, sqlPutLetter, d.ID, event, now, reason); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, sqlDropLetters, d.ID, mostLetters)
		return err
	})
	if err == nil {
		d.Position, d.Failures = position, 0
	}
	return err
}

// sendLetters sends some dead letters once more that somebody asked for, and reports whether there may be more of them.
func (d *delivery) sendLetters(ctx context.Context) (more bool, err error) {
	ids, err := postgres.Values[int64](ctx, d.deps.DB, sqlLettersAgain, d.ID, streamBatch)
	if err != nil || len(ids) == 0 {
		return false, err
	}
	events, err := postgres.All[Event](ctx, d.deps.DB, sqlEventsOf, ids)
	if err != nil {
		return false, err
	}
	var bodies []json.RawMessage
	for _, e := range events {
		body, err := json.Marshal(d.wholeForm(e))
		if err != nil {
			return false, err
		}
		bodies = append(bodies, body)
	}
	if len(bodies) > 0 { // else their month is gone
		if failed := d.post(ctx, bodies, ids[0], ids[len(ids)-1]); failed != nil {
			if ctx.Err() != nil {
				return false, ctx.Err()
			}
			_, err := d.deps.DB.Exec(ctx, sqlLettersFailed, d.ID, ids, d.deps.Clock.Now(), inWords(failed))
			return false, err
		}
	}
	_, err = d.deps.DB.Exec(ctx, sqlLettersSent, d.ID, ids)
	return true, err
}

// inWords is why a request failed, as those read it who chose the address. It does not tell what a name resolves to.
func inWords(err error) string {
	var status statusError
	var blocked *outbound.BlockedError
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.As(err, &status):
		return fmt.Sprintf("The receiver answered with status %d.", int(status))
	case errors.As(err, &blocked):
		return blocked.Reason + "."
	case errors.As(err, &certificate):
		return "The certificate of the receiver is not valid."
	case os.IsTimeout(err) || errors.Is(err, context.DeadlineExceeded):
		return "The receiver did not answer in time."
	}
	return "The receiver could not be reached, or it ended the connection."
}
