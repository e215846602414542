package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"

	"stithy/internal/gitstore"
	"stithy/internal/platform/clock"
	"stithy/internal/platform/config"
)

// openStore opens the storages that the configuration names. Git calls this
// very program back when somebody pushes.
func openStore(ctx context.Context, cfg *config.Config, now clock.Clock, log *slog.Logger) (*gitstore.Store, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program: %w", err)
	}
	c := gitstore.Config{Git: cfg.Git.Program, Hook: program, Clock: now, Log: log, MaxPush: cfg.Git.MaxPush}
	if c.CacheDir, err = filepath.Abs(cfg.CacheDir); err != nil {
		return nil, err
	}
	known, err := readMarks(cfg)
	if err != nil {
		return nil, err
	}
	for _, s := range cfg.Storages {
		root, err := filepath.Abs(s.Path)
		if err != nil {
			return nil, err
		}
		c.Storages = append(c.Storages, gitstore.Storage{Name: s.Name, Root: root, Identity: known[s.Name]})
	}
	store, err := gitstore.Open(ctx, c)
	if err != nil {
		return nil, err
	}
	return store, keepMarks(cfg, store, known)
}

// marksFile lies in the data directory, beside the key. It remembers the marks
// of the storages, so that one that is not mounted is not taken for a new one:
// an empty folder would be marked and filled.
const marksFile = "storages.json"

func readMarks(cfg *config.Config) (map[string]string, error) {
	path := filepath.Join(cfg.DataDir, marksFile)
	text, err := os.ReadFile(path)
	known := map[string]string{}
	if errors.Is(err, fs.ErrNotExist) {
		return known, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &known)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the marks of the storages from %s: %w", path, err)
	}
	return known, nil
}

// keepMarks writes down the marks of storages that were not known. Those that
// the configuration does not name any more stay known.
func keepMarks(cfg *config.Config, store *gitstore.Store, known map[string]string) error {
	all := maps.Clone(known)
	for _, s := range cfg.Storages {
		mark, err := store.Identity(s.Name)
		if err != nil {
			return err
		}
		all[s.Name] = mark
	}
	if maps.Equal(all, known) {
		return nil
	}
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	fresh, err := os.CreateTemp(cfg.DataDir, marksFile+"-*")
	if err != nil {
		return fmt.Errorf("remembering the marks of the storages: %w", err)
	}
	defer func() { _ = os.Remove(fresh.Name()) }() // nothing is left of it when all went well
	_, err = fresh.Write(append(text, '\n'))
	if err := errors.Join(err, fresh.Sync(), fresh.Close()); err != nil {
		return fmt.Errorf("remembering the marks of the storages: %w", err)
	}
	if err := os.Rename(fresh.Name(), filepath.Join(cfg.DataDir, marksFile)); err != nil {
		return fmt.Errorf("remembering the marks of the storages: %w", err)
	}
	return nil
}
