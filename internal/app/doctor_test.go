package app

import (
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stithy/internal/gitstore/gitstoretest"
	"stithy/internal/platform/config"
	"stithy/internal/platform/mail/mailtest"
	"stithy/internal/platform/postgres/postgrestest"
	"stithy/internal/platform/secretbox"
)

// patient is an installation that the doctor finds nothing wrong with.
func patient(t *testing.T, environ ...string) *config.Config {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o750); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load("", append([]string{"STITHY_DATA_DIR=" + dir, "STITHY_DATABASE_URL=" + postgrestest.Address(t), "STITHY_LISTEN=127.0.0.1:0"}, environ...))
	if err != nil {
		t.Fatal(err)
	}
	if err := secretbox.Generate(cfg.SecretKeyFile); err != nil {
		t.Fatal(err)
	}
	a, err := New(t.Context(), cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if err := a.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	return cfg
}

// problems are the findings that are none, by subject, and fine the others.
func problems(t *testing.T, cfg *config.Config) (problems, fine map[string]string) {
	t.Helper()
	problems, fine = map[string]string{}, map[string]string{}
	for _, f := range Examine(t.Context(), cfg) {
		if f.Problem != "" {
			problems[f.Subject] = f.Problem
		} else {
			fine[f.Subject] = f.Fine
		}
	}
	return problems, fine
}

func TestTheDoctorFindsNothingWrongWithASoundForge(t *testing.T) {
	t.Parallel()
	sink := mailtest.New(t)
	cfg := patient(t, "STITHY_SMTP_URL="+sink.URL.Reveal(), "STITHY_SSH_LISTEN=127.0.0.1:0", "STITHY_SSH_PORT=22")
	ill, fine := problems(t, cfg)
	if len(ill) > 0 {
		t.Errorf("problems: %v", ill)
	}
	for subject, words := range map[string]string{
		"data directory": "can be written to; ", "cache": " free", "storage": "default at ", "database": "PostgreSQL", "connections": "a node opens up to 20",
		"clock": "agree", "schema": "up to date at version ", "blobs": "stored, read and removed", "mail": "the server answers", "web": "free to listen on",
		"ssh": "makes 3 host keys", "git": "git version", "key and data": "fits", "redis": "not configured",
	} {
		if !strings.Contains(fine[subject], words) {
			t.Errorf("%s: %q, wanted %q", subject, fine[subject], words)
		}
	}
	if sent := sink.All(); len(sent) > 0 {
		t.Errorf("mail was sent: %v", sent)
	}
	err := filepath.WalkDir(cfg.DataDir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.Contains(path, "doctor") {
			t.Errorf("left behind: %s", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// Each way to break what serving needs, and the words that name it with what to
// do next.
func TestTheDoctorNamesEachThingThatServingNeeds(t *testing.T) {
	t.Parallel()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := closed.Addr().String()
	_ = closed.Close()
	for name, tt := range map[string]struct {
		env     []string
		harm    func(*config.Config) error
		subject string
		says    string
	}{
		"the storage cannot be written to": {nil, func(c *config.Config) error { return tooDeep(&c.Storages[0]) }, "storage", "cannot be written to"},
		"the cache cannot be written to":   {nil, func(c *config.Config) error { return fileInstead(c.CacheDir) }, "cache", "cannot be written to"},
		"blobs cannot be written to":       {nil, func(c *config.Config) error { return fileInstead(filepath.Join(c.DataDir, "blobs")) }, "blobs", "cannot be kept"},
		"the storage is another disk": {nil, func(c *config.Config) error {
			return os.WriteFile(filepath.Join(c.Storages[0].Path, ".stithy-storage"), []byte(`{"id":"other"}`), 0o600)
		}, "storage", "shows the mark other"},
		"the storage is not mounted": {nil, func(c *config.Config) error { return os.RemoveAll(c.Storages[0].Path) }, "storage", "mount the disk"},
		"the blobs are other ones": {nil, func(c *config.Config) error {
			return os.WriteFile(filepath.Join(c.DataDir, "blobs", ".mark"), []byte("other\n"), 0o600)
		}, "blobs", "shows the mark other"},
		"the blobs are not mounted": {nil, func(c *config.Config) error { return os.RemoveAll(filepath.Join(c.DataDir, "blobs")) }, "blobs", "mount the disk"},
		"the disk is full":          {nil, func(c *config.Config) error { c.MinFreeSpace = 1 << 60; return nil }, "storage", "make room, or lower min_free_space"},
		"the bucket is away": {nil, func(c *config.Config) error {
			c.BlobURL = secretbox.Secret("s3://key:secret@" + nobody + "/bucket?region=r&tls=false")
			return nil
		}, "blobs", "check blob_url"},
		"the mail server is away": {[]string{"STITHY_SMTP_URL=smtp://" + nobody}, nil, "mail", "check smtp_url"},
		"a host key is open to others": {[]string{"STITHY_SSH_LISTEN=127.0.0.1:0", "STITHY_SSH_PORT=22"}, func(c *config.Config) error {
			return errors.Join(os.MkdirAll(c.SSH.HostKeys, 0o700), os.WriteFile(filepath.Join(c.SSH.HostKeys, "ssh_host_rsa_key"), nil, 0o644),
				os.Chmod(filepath.Join(c.SSH.HostKeys, "ssh_host_rsa_key"), 0o644))
		}, "ssh", "chmod 600"},
		"the address of SSH is not of this machine": {[]string{"STITHY_SSH_LISTEN=192.0.2.1:22"}, nil, "ssh", "check ssh.listen"},
		"the address is not of this machine":        {nil, func(c *config.Config) error { c.Listen = "192.0.2.1:80"; return nil }, "web", "check listen"},
		"git is too old": {nil, func(c *config.Config) error {
			c.Git.Program = filepath.Join(c.DataDir, "git")
			return gitstoretest.WriteProgram(c.Git.Program, "#!/bin/sh\necho git version 2.38.1\n")
		}, "git", "install a newer git"},
		"there is no data directory":         {nil, func(c *config.Config) error { c.DataDir = filepath.Join(c.DataDir, "missing"); return nil }, "blobs", "no data directory"},
		"the server has too few connections": {nil, func(c *config.Config) error { c.DatabaseMaxConns = 1000; return nil }, "connections", "raise max_connections"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := patient(t, tt.env...)
			if tt.harm != nil {
				if err := tt.harm(cfg); err != nil {
					t.Fatal(err)
				}
			}
			ill, fine := problems(t, cfg)
			if !strings.Contains(ill[tt.subject], tt.says) {
				t.Errorf("got %q, fine %q", ill, fine[tt.subject])
			}
			if strings.Contains(ill[tt.subject], "secret@") {
				t.Errorf("a password shows: %q", ill[tt.subject])
			}
		})
	}
}

// fileInstead puts a file in the place of a folder.
func fileInstead(dir string) error {
	return errors.Join(os.RemoveAll(dir), os.WriteFile(dir, nil, 0o600))
}

// tooDeep moves a storage to where its mark can be read and no file can be made,
// not even by the superuser who runs tests: the path of a probe is too long.
func tooDeep(s *config.Storage) error {
	deep := s.Path + ".deep"
	for len(deep) < 4050 {
		deep += "/" + strings.Repeat("d", min(200, 4070-len(deep)))
	}
	if err := os.MkdirAll(filepath.Dir(deep), 0o700); err != nil {
		return err
	}
	from := s.Path
	s.Path = deep
	return os.Rename(from, deep)
}

func TestTheClocksMayDifferByTheTimeOfTheQuestion(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 15, 0, 0, 0, 0, time.UTC)
	for theirs, wrong := range map[time.Duration]bool{0: false, time.Second: false, 6 * time.Second: false, 8 * time.Second: true, -4 * time.Second: false, -6 * time.Second: true} {
		if f := judgeClock(now.Add(theirs), now, now.Add(2*time.Second), 5*time.Second); (f.Problem != "") != wrong {
			t.Errorf("%s: %q", theirs, f.Problem)
		}
	}
}
