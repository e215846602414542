package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"stithy/internal/platform/config"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/secretbox"
)

const (
	canaryPlace = "key_canary.canary:1"
	canaryText  = "stithy"
)

// checkKey makes sure that the key file is the one this database was written
// with. With another, every token would be unknown and every secret unreadable.
func checkKey(ctx context.Context, db *postgres.DB, box *secretbox.Box) error {
	var fingerprint string
	var sealed []byte
	err := db.QueryRow(ctx, sqlCanary).Scan(&fingerprint, &sealed)
	if errors.Is(err, postgres.ErrNoRows) {
		return errors.New("the database has not met a key file yet: run `stithy migrate`")
	}
	if err != nil {
		return fmt.Errorf("reading the canary: %w", err)
	}
	opened, err := box.Open(sealed, canaryPlace)
	if fingerprint != box.Fingerprint() || err != nil || string(opened) != canaryText {
		return errors.New("the key file is not the one that this database was written with: " +
			"restore the key file with the fingerprint " + fingerprint + " (this one has " + box.Fingerprint() + ")")
	}
	return nil
}

// storeKeyCanary introduces a new database to its key file, for good.
func storeKeyCanary(ctx context.Context, db *postgres.DB, box *secretbox.Box) error {
	sealed, err := box.Seal([]byte(canaryText), canaryPlace)
	if err != nil {
		return err
	}
	if _, err := db.Exec(ctx, sqlPutCanary, box.Fingerprint(), sealed); err != nil {
		return fmt.Errorf("leaving a canary: %w", err)
	}
	return checkKey(ctx, db, box)
}

// EnsureDataDir makes the folder of a new instance, before anything is written that would need it.
func EnsureDataDir(cfg *config.Config) error {
	if err := os.MkdirAll(cfg.DataDir, 0o750); err != nil {
		return fmt.Errorf("making the data directory %s: %w; set data_dir to a folder that this user may write to", cfg.DataDir, err)
	}
	return nil
}

// EnsureKey makes the key file of a new instance. A database that was written
// with a key needs that one, so none is made for it.
func EnsureKey(ctx context.Context, cfg *config.Config, log *slog.Logger) error {
	if _, err := os.Stat(cfg.SecretKeyFile); err == nil {
		return nil
	}
	db, err := postgres.Open(ctx, cfg.DatabaseURL.Reveal(), 1)
	if err != nil {
		return err
	}
	defer db.Close()
	switch fingerprint, err := postgres.Value[string](ctx, db, sqlKeyMet); {
	case err == nil:
		return fmt.Errorf("there is no key file at %s: restore the one with the fingerprint %s", cfg.SecretKeyFile, fingerprint)
	case !errors.Is(err, postgres.ErrNoRows):
		return fmt.Errorf("asking the database for its key: %w", err)
	}
	if err := secretbox.Generate(cfg.SecretKeyFile); err != nil {
		return err
	}
	log.Info("made a new key file: back it up apart from the database", "path", cfg.SecretKeyFile)
	return nil
}
