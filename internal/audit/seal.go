package audit

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/platform/postgres"
)

// sealBatch is how many events a block has at the most: each is one short transaction.
const sealBatch = 1000

// Seal links all events that wait to the chains of their entities, in the order of their ids, and signs what it did. It does so in steps that are
// whole: where one ends unfinished, the next begins with the same events. Then it signs the end of the day before.
func (s *Service) Seal(ctx context.Context) error {
	for {
		some, err := s.sealSome(ctx)
		if err != nil {
			return fmt.Errorf("sealing audit events: %w", err)
		}
		if !some {
			break
		}
	}
	return s.sealDay(ctx)
}

// sealSome seals one block, and reports whether there was something to do.
func (s *Service) sealSome(ctx context.Context) (some bool, err error) {
	err = s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		some = false
		if alone, err := postgres.Value[bool](ctx, tx, sqlAlone); err != nil || !alone {
			return err
		}
		moved, err := adopt(ctx, tx)
		if err != nil {
			return err
		}
		oldest, err := postgres.Value[time.Time](ctx, tx, sqlOldestUnsealed)
		if errors.Is(err, postgres.ErrNoRows) {
			some = moved
			return nil
		}
		if err != nil {
			return err
		}
		// A block is of one month, so that a month can go and take no part of a block along.
		of := month(oldest)
		events, err := postgres.All[Event](ctx, tx, sqlUnsealed, of, of.AddDate(0, 1, 0), sealBatch)
		if err != nil || len(events) == 0 {
			return err
		}
		some = true
		return s.sealAll(ctx, tx, of, events)
	})
	return some, err
}

// adopt lets some events of earlier releases wait for their seals.
func adopt(ctx context.Context, tx pgx.Tx) (some bool, err error) {
	at, err := postgres.One[struct{ Past, Upto int64 }](ctx, tx, sqlBacklog)
	if errors.Is(err, postgres.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	part, err := postgres.Value[*int64](ctx, tx, sqlBacklogPart, at.Past, at.Upto, sealBatch)
	if err != nil {
		return false, err
	}
	next := at.Upto
	if part != nil {
		next = *part
		if _, err := tx.Exec(ctx, sqlBacklogMove, at.Past, next); err != nil {
			return false, err
		}
	}
	if _, err := tx.Exec(ctx, sqlBacklogDone, at.Past, next); err != nil {
		return false, err
	}
	_, err = tx.Exec(ctx, sqlBacklogEnd)
	return true, err
}

// sealAll writes the seals of some events of a month, and the block of them.
func (s *Service) sealAll(ctx context.Context, tx pgx.Tx, of time.Time, events []Event) error {
	last, err := lastBlock(ctx, tx)
	if err != nil {
		return err
	}
	heads, err := headsOf(ctx, tx, events)
	if err != nil {
		return err
	}
	b := block{Number: last.Number + 1, Month: of, SealedAt: s.deps.Clock.Now().UTC().Truncate(time.Microsecond), Previous: last.Hash}
	seals := make([]seal, len(events))
	for i, e := range events {
		h := heads[entity{e.EntityType, e.EntityID}]
		link := seal{
			EventID: e.ID, CreatedAt: e.CreatedAt, EntityType: e.EntityType, EntityID: e.EntityID, Number: h.Number + 1, Block: b.Number,
			Content: e.content(), Previous: h.Hash,
		}
		link.Hash = link.sum()
		link.MAC = s.sign(ofSeal, link.Hash)
		h.Number, h.Hash = link.Number, link.Hash
		seals[i], b.EventIDs = link, append(b.EventIDs, e.ID)
	}
	b.Content = contentOf(seals)
	b.Hash = b.sum()
	b.MAC = s.sign(ofBlock, b.Hash)
	if err := putSeals(ctx, tx, seals); err != nil {
		return err
	}
	if err := putHeads(ctx, tx, heads); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, sqlPutBlock, b.Number, b.Month, b.SealedAt, b.EventIDs, b.Content, b.Previous, b.Hash, b.MAC)
	return err
}

// lastBlock is the end of the chain of all.
func lastBlock(ctx context.Context, q postgres.Querier) (block, error) {
	b, err := postgres.One[block](ctx, q, sqlLastBlock)
	if errors.Is(err, postgres.ErrNoRows) {
		return block{Hash: origin}, nil
	}
	return b, err
}

// SealedAt is when events were sealed last, or zero when none were.
func (s *Service) SealedAt(ctx context.Context) (time.Time, error) {
	at, err := postgres.Value[time.Time](ctx, s.deps.DB, sqlSealedAt)
	if errors.Is(err, postgres.ErrNoRows) {
		return time.Time{}, nil
	}
	return at, err
}

// headsOf are the ends of the chains that events belong to.
func headsOf(ctx context.Context, tx pgx.Tx, events []Event) (map[entity]*head, error) {
	heads := map[entity]*head{}
	var types []string
	var ids []int64
	for _, e := range events {
		of := entity{e.EntityType, e.EntityID}
		if heads[of] == nil {
			heads[of] = &head{EntityType: of.Type, EntityID: of.ID, Hash: origin}
			types, ids = append(types, string(of.Type)), append(ids, of.ID)
		}
	}
	found, err := postgres.All[head](ctx, tx, sqlHeads, types, ids)
	for _, h := range found {
		heads[entity{h.EntityType, h.EntityID}] = &h
	}
	return heads, err
}

func putSeals(ctx context.Context, tx pgx.Tx, seals []seal) error {
	n := len(seals)
	ids, times, types, entities := make([]int64, n), make([]time.Time, n), make([]string, n), make([]int64, n)
	numbers, blocks := make([]int64, n), make([]int64, n)
	contents, previous, hashes, macs := make([][]byte, n), make([][]byte, n), make([][]byte, n), make([][]byte, n)
	for i, l := range seals {
		ids[i], times[i], types[i], entities[i], numbers[i], blocks[i] = l.EventID, l.CreatedAt, string(l.EntityType), l.EntityID, l.Number, l.Block
		contents[i], previous[i], hashes[i], macs[i] = l.Content, l.Previous, l.Hash, l.MAC
	}
	if _, err := tx.Exec(ctx, sqlPutSeals, ids, times, types, entities, numbers, blocks, contents, previous, hashes, macs); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, sqlSealed, ids, times)
	return err
}

func putHeads(ctx context.Context, tx pgx.Tx, heads map[entity]*head) error {
	var types []string
	var ids, numbers []int64
	var hashes [][]byte
	for _, h := range heads {
		types, ids, numbers, hashes = append(types, string(h.EntityType)), append(ids, h.EntityID), append(numbers, h.Number), append(hashes, h.Hash)
	}
	_, err := tx.Exec(ctx, sqlPutHeads, types, ids, numbers, hashes)
	return err
}

// sealDay signs the end of all chains once a day. It is told to the log, too: who keeps that elsewhere can show that the end of the trail is missing.
func (s *Service) sealDay(ctx context.Context) error {
	last, err := lastBlock(ctx, s.deps.DB)
	if err != nil || last.Number == 0 {
		return err
	}
	d := day{Day: s.deps.Clock.Now().UTC().Truncate(24 * time.Hour), Block: last.Number, Hash: last.Hash}
	put, err := s.deps.DB.Exec(ctx, sqlPutDay, d.Day, d.Block, d.Hash, s.sign(ofDay, d.whole()))
	if err != nil {
		return fmt.Errorf("signing the audit trail of a day: %w", err)
	}
	if put.RowsAffected() > 0 {
		s.deps.Log.InfoContext(ctx, "the audit trail is signed up to here", "head", Head{Block: d.Block, Hash: d.Hash}.String())
	}
	return nil
}

// Head is a point that the trail has reached, for people to keep elsewhere.
type Head struct {
	Block int64
	Hash  []byte
}

func (h Head) String() string {
	return strconv.FormatInt(h.Block, 10) + ":" + hex.EncodeToString(h.Hash)
}

// ParseHead reads what String wrote.
func ParseHead(text string) (Head, error) {
	count, sum, _ := strings.Cut(text, ":")
	n, err := strconv.ParseInt(count, 10, 64)
	hash, hashErr := hex.DecodeString(sum)
	if err != nil || hashErr != nil || n < 1 || len(hash) != len(origin) {
		return Head{}, fmt.Errorf("%q is not a head of the audit trail: it looks like 42:0123…, as the log and verify-audit print it", text)
	}
	return Head{Block: n, Hash: hash}, nil
}

// Retire drops a month of the trail. That it was dropped is signed first, so that what is missing is not taken for the work of somebody else.
func (s *Service) Retire(ctx context.Context, of time.Time) error {
	of = month(of)
	if !of.AddDate(0, 1, 0).Before(month(s.deps.Clock.Now())) {
		return fmt.Errorf("%s is not over for a month: wait, or name an earlier one", of.Format("2006-01"))
	}
	for sql, why := range map[string]string{
		sqlWaiting:  "events of that month wait to be sealed: wait a minute, and look into the jobs when they still do",
		sqlInStrays: "events of that month are in the default partition, because no partition was made in time: they stay",
	} {
		if held, err := postgres.Value[bool](ctx, s.deps.DB, sql, of, of.AddDate(0, 1, 0)); err != nil || held {
			return errors.Join(err, fmt.Errorf("%s cannot be dropped: %s", of.Format("2006-01"), why))
		}
	}
	if past, err := postgres.Value[bool](ctx, s.deps.DB, sqlOfPast); err != nil || past {
		return errors.Join(err, errors.New("events of an earlier release are still being sealed: try again when that is done"))
	}
	r := retired{Month: of, RetiredAt: s.deps.Clock.Now().UTC().Truncate(time.Microsecond)}
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlWaitShortly); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, sqlRetire, r.Month, r.RetiredAt, s.sign(ofRetired, r.whole())); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, sqlDropMonth, of)
		return err
	})
}
