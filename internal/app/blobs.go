package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"stithy/internal/platform/blob"
	"stithy/internal/platform/clock"
	"stithy/internal/platform/config"
	"stithy/internal/platform/postgres"
)

// OpenBlobs opens the folder or bucket of logs, artifacts and large files that
// the database knows. One that nobody knows yet becomes it, as a disk becomes a
// storage.
func OpenBlobs(ctx context.Context, cfg *config.Config, db *postgres.DB, now clock.Clock) (blob.Store, error) {
	store, err := blob.Open(cfg.BlobURL.Reveal(), cfg.DataDir)
	if err != nil {
		return nil, err
	}
	known, err := blobMark(ctx, db)
	if err != nil {
		return nil, err
	}
	if known != "" {
		return store, checkBlobs(ctx, db, store, known)
	}
	return store, db.InTx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlLockBlobStore); err != nil {
			return fmt.Errorf("waiting for other nodes that start: %w", err)
		}
		if known, err = blobMark(ctx, tx); err != nil {
			return err
		}
		if err := checkBlobs(ctx, tx, store, known); known != "" || err != nil {
			return err
		}
		mark, err := store.Mark(ctx)
		if err == nil && mark == "" {
			mark = rand.Text()
			err = store.SetMark(ctx, mark)
		}
		if err != nil {
			return refusedBlobs(store, err.Error())
		}
		_, err = tx.Exec(ctx, sqlPutBlobStore, mark, now.Now())
		return err
	})
}

// blobMark is the mark that the database knows the blobs by, "" for none.
func blobMark(ctx context.Context, db postgres.Querier) (string, error) {
	mark, err := postgres.Value[string](ctx, db, sqlBlobStoreMark)
	if errors.Is(err, postgres.ErrNoRows) {
		return "", nil
	}
	return mark, err
}

// checkBlobs refuses a folder or bucket that does not show the mark of the
// blobs. Where none is known, it refuses an empty one if there should be blobs.
func checkBlobs(ctx context.Context, db postgres.Querier, store blob.Store, known string) error {
	shown, err := store.Mark(ctx)
	switch {
	case err != nil:
		return refusedBlobs(store, err.Error())
	case shown != "" && (shown == known || known == ""):
		return nil
	case shown != "":
		return refusedBlobs(store, fmt.Sprintf("it shows the mark %s, and the database knows the blobs by %s: mount the disk or name the bucket that they are in, "+
			"the same on all nodes", shown, known))
	case known != "":
		return refusedBlobs(store, fmt.Sprintf("it shows no mark, and the database knows the blobs by %s: mount the disk or name the bucket that they are in, "+
			"the same on all nodes; if it is the right one, copied without its mark, or they are lost for good, write %s to .mark in it", known, known))
	}
	some, err := store.List(ctx, "", "", 1)
	if err != nil {
		return refusedBlobs(store, err.Error())
	}
	if len(some) > 0 {
		return nil
	}
	used, err := postgres.Value[bool](ctx, db, sqlBlobsKnown)
	if err == nil && used {
		err = refusedBlobs(store, "the database knows logs, artifacts, uploads or large files, and it is empty: mount the disk or name the bucket that they are in; "+
			"if they are lost for good, write any word to .mark in it")
	}
	return err
}

func refusedBlobs(store blob.Store, why string) error {
	return fmt.Errorf("%s is refused as the store of blobs: %s: %w", store.Place(), why, blob.ErrUnavailable)
}
