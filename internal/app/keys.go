package app

import (
	"context"
	"errors"
	"fmt"

	"stithy/internal/platform/postgres"
	"stithy/internal/platform/secretbox"
)

const (
	canaryPlace = "key_canary.canary:1"
	canaryText  = "stithy"
)

// checkKey makes sure that the key file is the one this database was written
// with. The first start leaves a canary; a later one with another key would
// find every token unknown and every secret unreadable, so it is refused.
func checkKey(ctx context.Context, db *postgres.DB, box *secretbox.Box) error {
	sealed, err := box.Seal([]byte(canaryText), canaryPlace)
	if err != nil {
		return err
	}
	if _, err := db.Exec(ctx, sqlPutCanary, box.Fingerprint(), sealed); err != nil {
		return fmt.Errorf("leaving a canary: %w", err)
	}
	var fingerprint string
	if err := db.QueryRow(ctx, sqlCanary).Scan(&fingerprint, &sealed); err != nil {
		return fmt.Errorf("reading the canary: %w", err)
	}
	opened, err := box.Open(sealed, canaryPlace)
	if fingerprint != box.Fingerprint() || err != nil || string(opened) != canaryText {
		return errors.New("the key file is not the one that this database was written with: " +
			"restore the key file with the fingerprint " + fingerprint + " (this one has " + box.Fingerprint() + ")")
	}
	return nil
}
