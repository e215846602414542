package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"stithy/internal/gitstore"
	"stithy/internal/platform/config"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/ratelimit"
	"stithy/internal/platform/secretbox"
)

// Finding is what the doctor has to say of one thing.
type Finding struct {
	Subject string
	Fine    string // what is well
	Problem string // what is not, and what to do about it
}

// Said is the finding in words.
func (f Finding) Said() string {
	if f.Problem != "" {
		return f.Problem
	}
	return f.Fine
}

// Examine looks at everything that the forge stands on. It changes nothing
// but for a probe file in the data directory, which it takes away again.
func Examine(ctx context.Context, cfg *config.Config) []Finding {
	findings := []Finding{
		{Subject: "configuration", Fine: "valid; answers at " + cfg.ExternalURL.String()},
		examineDataDir(cfg),
	}
	box, key := examineKey(cfg)
	findings = append(findings, key)
	findings = append(findings, examineGit(ctx, cfg))
	findings = append(findings, examineStorages(cfg)...)
	findings = append(findings, examineDatabase(ctx, cfg, box)...)
	return append(findings, examineRedis(ctx, cfg))
}

func examineDataDir(cfg *config.Config) Finding {
	f := Finding{Subject: "data directory"}
	info, err := os.Stat(cfg.DataDir)
	if err != nil || !info.IsDir() {
		f.Problem = fmt.Sprintf("%s is not a directory: create it and give it to the user that runs stithy", cfg.DataDir)
		return f
	}
	if info.Mode().Perm()&0o007 != 0 {
		f.Problem = fmt.Sprintf("%s is open to every user of the machine: chmod o-rwx %s", cfg.DataDir, cfg.DataDir)
		return f
	}
	probe := filepath.Join(cfg.DataDir, ".doctor")
	if err := os.WriteFile(probe, nil, 0o600); err != nil {
		f.Problem = fmt.Sprintf("%s cannot be written to: give it to the user that runs stithy", cfg.DataDir)
		return f
	}
	_ = os.Remove(probe)
	f.Fine = cfg.DataDir + " can be written to"
	return f
}

func examineGit(ctx context.Context, cfg *config.Config) Finding {
	version, err := gitstore.Version(ctx, cfg.Git.Program)
	if err != nil {
		return Finding{Subject: "git", Problem: err.Error() + ": install a newer git, or name one in git.program"}
	}
	return Finding{Subject: "git", Fine: version}
}

func examineStorages(cfg *config.Config) []Finding {
	var findings []Finding
	for _, s := range cfg.Storages {
		f := Finding{Subject: "storage", Fine: s.Name + " is at " + s.Path}
		switch there, err := gitstore.IsStorage(s.Path); {
		case err != nil:
			f.Problem = fmt.Sprintf("%s at %s cannot be read: %s", s.Name, s.Path, err)
		case !there:
			f.Fine = s.Name + " will be made at " + s.Path + " by the first start; if repositories are there already, mount their disk first"
		}
		findings = append(findings, f)
	}
	return findings
}

func examineKey(cfg *config.Config) (*secretbox.Box, Finding) {
	box, err := secretbox.Load(cfg.SecretKeyFile)
	if errors.Is(err, os.ErrNotExist) {
		return nil, Finding{Subject: "key file", Problem: cfg.SecretKeyFile + " is missing: `stithy migrate` makes it for a new instance, otherwise restore it"}
	}
	if err != nil {
		return nil, Finding{Subject: "key file", Problem: err.Error()}
	}
	return box, Finding{Subject: "key file", Fine: "fingerprint " + box.Fingerprint()}
}

func examineDatabase(ctx context.Context, cfg *config.Config, box *secretbox.Box) []Finding {
	if err := cfg.RequireDatabase(); err != nil {
		return []Finding{{Subject: "database", Problem: err.Error()}}
	}
	db, err := postgres.Open(ctx, cfg.DatabaseURL.Reveal(), 1)
	if err != nil {
		return []Finding{{Subject: "database", Problem: "STITHY_DATABASE_URL cannot be read: " + err.Error()}}
	}
	defer db.Close()
	version, err := postgres.Value[string](ctx, db, sqlServerVersion)
	if err != nil {
		return []Finding{{Subject: "database", Problem: "no answer: check that PostgreSQL runs and that the URL is right (" + err.Error() + ")"}}
	}
	findings := []Finding{{Subject: "database", Fine: "PostgreSQL " + version}}
	pending, err := postgres.Pending(ctx, db)
	switch {
	case err != nil:
		return append(findings, Finding{Subject: "schema", Problem: err.Error()})
	case pending > 0:
		return append(findings, Finding{Subject: "schema", Problem: fmt.Sprintf("%d migrations are missing: run `stithy migrate`", pending)})
	}
	findings = append(findings, Finding{Subject: "schema", Fine: "up to date"})
	if box != nil {
		f := Finding{Subject: "key and data", Fine: "the key file fits the database"}
		if err := checkKey(ctx, db, box); err != nil {
			f.Problem = err.Error()
		}
		findings = append(findings, f)
	}
	return findings
}

func examineRedis(ctx context.Context, cfg *config.Config) Finding {
	f := Finding{Subject: "redis", Fine: "not configured; one node needs none"}
	if cfg.RedisURL == "" {
		return f
	}
	r, err := ratelimit.NewRedis(cfg.RedisURL.Reveal())
	if err == nil {
		defer func() { _ = r.Close() }()
		err = r.Ping(ctx)
	}
	if err != nil {
		f.Problem = "no answer: check STITHY_REDIS_URL, or leave it out on a single node (" + err.Error() + ")"
		return f
	}
	f.Fine = "answers"
	return f
}
