package app

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/jackc/pgx/v5"

	"stithy/internal/gitstore"
	"stithy/internal/platform/clock"
	"stithy/internal/platform/config"
	"stithy/internal/platform/postgres"
)

// OpenStore opens the storages that the configuration names, on the disks that
// the database knows them by. Git calls this very program back when somebody
// pushes.
func OpenStore(ctx context.Context, cfg *config.Config, db *postgres.DB, now clock.Clock, log *slog.Logger) (*gitstore.Store, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program: %w", err)
	}
	c := gitstore.Config{Git: cfg.Git.Program, Hook: program, Clock: now, Log: log, MaxPush: cfg.Git.MaxPush}
	if c.CacheDir, err = filepath.Abs(cfg.CacheDir); err != nil {
		return nil, err
	}
	for _, s := range cfg.Storages {
		if s.Path, err = filepath.Abs(s.Path); err != nil {
			return nil, err
		}
		mark, err := ensureMark(ctx, cfg, db, s, now)
		if err != nil {
			return nil, err
		}
		c.Storages = append(c.Storages, gitstore.Storage{Name: s.Name, Root: s.Path, Identity: mark})
	}
	return gitstore.Open(ctx, c)
}

// ensureMark is the mark of a storage, which its disk shows. A storage that the
// database does not know yet is the disk that is there, if nothing speaks
// against it.
//
// All of it is one transaction that holds the table: of two nodes with two
// disks one becomes the storage, and the other is refused. The mark is on the
// disk before the commit. Who dies between the two leaves a marked disk that
// no row names, and that is taken at the next start like one of an earlier
// release.
func ensureMark(ctx context.Context, cfg *config.Config, db *postgres.DB, s config.Storage, now clock.Clock) (mark string, err error) {
	if known, err := knownMark(ctx, db, s.Name); known != "" || err != nil {
		return known, errors.Join(err, checkMark(s, known))
	}
	err = db.InTx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlLockStorages); err != nil {
			return fmt.Errorf("waiting for other nodes that start: %w", err)
		}
		if mark, err = knownMark(ctx, tx, s.Name); mark != "" || err != nil {
			return errors.Join(err, checkMark(s, mark))
		}
		if err := checkUnknown(ctx, cfg, tx, s); err != nil {
			return err
		}
		if mark, err = gitstore.ReadMark(s.Path); mark == "" && err == nil {
			mark = rand.Text()
			err = gitstore.WriteMark(s.Path, mark)
		}
		if err != nil {
			return refused(s, err.Error())
		}
		_, err = tx.Exec(ctx, sqlPutStorage, s.Name, mark, now.Now())
		return err
	})
	return mark, err
}

// knownMark is the mark that the database knows a storage by, "" for none.
func knownMark(ctx context.Context, db postgres.Querier, name string) (string, error) {
	mark, err := postgres.Value[string](ctx, db, sqlStorageMark, name)
	if errors.Is(err, postgres.ErrNoRows) {
		return "", nil
	}
	return mark, err
}

// checkMark refuses a disk that does not show the mark of its storage.
func checkMark(s config.Storage, known string) error {
	if known == "" {
		return nil
	}
	shown, err := gitstore.ReadMark(s.Path)
	switch {
	case err != nil:
		return refused(s, err.Error())
	case shown == known:
		return nil
	case shown != "":
		return refused(s, fmt.Sprintf("the disk shows the mark %s, and the database knows the storage by %s: mount the disk of this storage, the same on all nodes", shown, known))
	}
	path, text := gitstore.MarkFile(s.Path, known)
	return refused(s, fmt.Sprintf("the disk shows no mark, and the database knows the storage by %s: mount the disk of this storage, the same on all nodes; "+
		"if it is the right one, copied without its mark, or lost for good and begun anew, write %s to %s", known, text, path))
}

// checkUnknown refuses a disk for a storage that the database does not know by a
// mark, where it cannot be the right one: repositories are known to be there and
// the disk was never marked, or this node's folder remembers another mark from
// an earlier release.
func checkUnknown(ctx context.Context, cfg *config.Config, db postgres.Querier, s config.Storage) error {
	remembered, err := rememberedStorageIDs(cfg)
	if err != nil {
		return err
	}
	if mark := remembered[s.Name]; mark != "" {
		return checkMark(s, mark)
	}
	shown, err := gitstore.ReadMark(s.Path)
	if err != nil {
		return refused(s, err.Error())
	}
	used, err := postgres.Value[bool](ctx, db, sqlStorageUsed, s.Name)
	if err == nil && used && shown == "" {
		err = refused(s, "the database knows repositories on it, and the disk shows no mark: mount their disk")
	}
	return err
}

func refused(s config.Storage, why string) error {
	return fmt.Errorf("storage %q at %s is refused: %s: %w", s.Name, s.Path, why, gitstore.ErrUnavailable)
}

// rememberedStorageIDs are the marks, by storage, that an earlier release kept in a file of the
// data directory. Nobody writes it any more.
func rememberedStorageIDs(cfg *config.Config) (map[string]string, error) {
	path := filepath.Join(cfg.DataDir, "storages.json")
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var ids map[string]string
	if err == nil {
		err = json.Unmarshal(text, &ids)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the ids of the storages from %s: %w", path, err)
	}
	return ids, nil
}
