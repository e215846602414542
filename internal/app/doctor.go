package app

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"stithy/internal/gitssh"
	"stithy/internal/gitstore"
	"stithy/internal/platform/blob"
	"stithy/internal/platform/config"
	"stithy/internal/platform/mail"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/ratelimit"
	"stithy/internal/platform/schema"
	"stithy/internal/platform/secretbox"
	"stithy/internal/repository"
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

// examineTime bounds what is asked of one thing.
const examineTime = 10 * time.Second

// Examine looks at everything that the forge stands on. It changes nothing but
// for probes, which it takes away again.
func Examine(ctx context.Context, cfg *config.Config) []Finding {
	findings := []Finding{{Subject: "configuration", Fine: "valid; answers at " + cfg.ExternalURL.String()}}
	box, key := examineKey(cfg)
	findings = append(findings, examineDataDir(cfg), examineCache(cfg), key, bounded(ctx, cfg, examineGit))
	db, database := openDatabase(ctx, cfg, box)
	findings = append(findings, database...)
	for _, s := range cfg.Storages {
		findings = append(findings, examineStorage(ctx, cfg, db, s))
	}
	findings = append(findings, examineBlobs(ctx, cfg, db))
	if db != nil {
		db.Close()
	}
	findings = append(findings, bounded(ctx, cfg, examineRedis), bounded(ctx, cfg, examineMail))
	return append(findings, examineListener(ctx, "web", "listen", cfg.Listen), examineSSH(ctx, cfg))
}

func bounded(ctx context.Context, cfg *config.Config, examine func(context.Context, *config.Config) Finding) Finding {
	ctx, stop := context.WithTimeout(ctx, examineTime)
	defer stop()
	return examine(ctx, cfg)
}

// probe writes, syncs and removes a file.
func probe(dir string) error {
	path := filepath.Join(dir, ".doctor-"+rand.Text())
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, 4096))
	return errors.Join(err, f.Sync(), f.Close(), os.Remove(path))
}

// examineFolder says whether a folder can be written to and has room.
func examineFolder(cfg *config.Config, what, path string) (fine, problem string) {
	if err := probe(path); err != nil {
		return "", fmt.Sprintf("%s cannot be written to: %s", what, advice(err, path))
	}
	free, total, err := space(path)
	switch {
	case err != nil:
		return "", fmt.Sprintf("%s does not tell how much room it has: %s", what, err)
	case free < cfg.MinFreeSpace:
		return "", fmt.Sprintf("%s has %s of %s left: make room, or lower min_free_space", what, bytesInWords(free), bytesInWords(total))
	}
	return fmt.Sprintf("%s can be written to; %s of %s free", what, bytesInWords(free), bytesInWords(total)), ""
}

// advice is what to do about an error of the file system.
func advice(err error, path string) string {
	switch {
	case errors.Is(err, os.ErrPermission):
		return fmt.Sprintf("give it to the user that runs stithy: chown -R stithy %s", path)
	case errors.Is(err, syscall.EROFS):
		return "it is mounted read-only: mount it for writing, or add it to ReadWritePaths of the service"
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return "it is full: make room"
	}
	return err.Error()
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
	f.Fine, f.Problem = examineFolder(cfg, cfg.DataDir, cfg.DataDir)
	return f
}

func examineCache(cfg *config.Config) Finding {
	f := Finding{Subject: "cache"}
	if _, err := os.Stat(cfg.CacheDir); errors.Is(err, os.ErrNotExist) {
		f.Fine = cfg.CacheDir + " will be made by the first start"
		return f
	}
	f.Fine, f.Problem = examineFolder(cfg, cfg.CacheDir, cfg.CacheDir)
	return f
}

func examineGit(ctx context.Context, cfg *config.Config) Finding {
	version, err := gitstore.Version(ctx, cfg.Git.Program)
	if err != nil {
		return Finding{Subject: "git", Problem: err.Error() + ": install a newer git, or name one in git.program"}
	}
	return Finding{Subject: "git", Fine: version}
}

// examineStorage asks whether the disk is the one that the database knows, and
// whether repositories can be written there. Without a database it looks at the
// disk alone.
func examineStorage(ctx context.Context, cfg *config.Config, db *postgres.DB, s config.Storage) Finding {
	ctx, stop := context.WithTimeout(ctx, examineTime)
	defer stop()
	f := Finding{Subject: "storage"}
	if db != nil {
		known, err := knownMark(ctx, db, s.Name)
		if err == nil && known != "" {
			err = checkMark(s, known)
		} else if err == nil {
			err = checkUnknown(ctx, cfg, db, s)
		}
		if err != nil {
			f.Problem = err.Error()
			return f
		}
	}
	switch shown, err := gitstore.ReadMark(s.Path); {
	case err != nil:
		f.Problem = fmt.Sprintf("%s at %s cannot be read: %s", s.Name, s.Path, err)
	case shown == "":
		f.Fine = s.Name + " will be made at " + s.Path + " by the first start; if repositories are there already, mount their disk first"
	default:
		f.Fine, f.Problem = examineFolder(cfg, s.Name+" at "+s.Path, s.Path)
	}
	return f
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

// openDatabase examines the database. It is open when its schema can be used.
func openDatabase(ctx context.Context, cfg *config.Config, box *secretbox.Box) (open *postgres.DB, findings []Finding) {
	ctx, stop := context.WithTimeout(ctx, examineTime)
	defer stop()
	if err := cfg.RequireDatabase(); err != nil {
		return nil, []Finding{{Subject: "database", Problem: err.Error()}}
	}
	db, err := postgres.Open(context.WithoutCancel(ctx), cfg.DatabaseURL.Reveal(), 1)
	if err != nil {
		return nil, []Finding{{Subject: "database", Problem: "STITHY_DATABASE_URL cannot be read: " + err.Error()}}
	}
	defer func() {
		if open == nil {
			db.Close()
		}
	}()
	version, err := postgres.Value[string](ctx, db, sqlServerVersion)
	if err != nil {
		return nil, []Finding{{Subject: "database", Problem: "no answer: check that PostgreSQL runs and that the URL is right (" + err.Error() + ")"}}
	}
	findings = []Finding{{Subject: "database", Fine: "PostgreSQL " + version}, examineConnections(ctx, cfg, db), examineClock(ctx, db)}
	status, err := schema.Versions(ctx, db)
	switch {
	case err != nil:
		return nil, append(findings, Finding{Subject: "schema", Problem: err.Error()})
	case status.Pending() > 0:
		return nil, append(findings, Finding{Subject: "schema", Problem: fmt.Sprintf("%d migrations are missing: run `stithy migrate`", status.Pending())})
	}
	findings = append(findings, Finding{Subject: "schema", Fine: fmt.Sprintf("up to date at version %d", status.Newest())})
	if box != nil {
		f := Finding{Subject: "key and data", Fine: "the key file fits the database"}
		if err := checkKey(ctx, db, box); err != nil {
			f.Problem = err.Error()
		}
		findings = append(findings, f)
	}
	return db, findings
}

// connections is how many one process opens at most: those of its pool, one
// that hears of changed settings, one that hears of runners and jobs, and as a
// worker one that hears of jobs to work and one that shows that it lives.
func connections(cfg *config.Config) int { return int(cfg.DatabaseMaxConns) + 4 }

// examineConnections compares what a node wants with what the server has left.
// Those of a node that runs beside the doctor are in use already, so only what
// the server has in all is a problem.
func examineConnections(ctx context.Context, cfg *config.Config, db *postgres.DB) Finding {
	f := Finding{Subject: "connections"}
	var most, used int
	if err := db.QueryRow(ctx, sqlConnections).Scan(&most, &used); err != nil {
		f.Problem = err.Error()
		return f
	}
	wanted := connections(cfg)
	if most < wanted {
		f.Problem = fmt.Sprintf("the server gives %d to this role, and a node opens up to %d: raise max_connections, or lower database_max_conns", most, wanted)
		return f
	}
	f.Fine = fmt.Sprintf("%d of %d are in use; a node opens up to %d", used, most, wanted)
	return f
}

// examineClock compares the clocks of this machine and of the database, which
// both write times into rows.
func examineClock(ctx context.Context, db *postgres.DB) Finding {
	const most = 5 * time.Second
	before := time.Now()
	theirs, err := postgres.Value[time.Time](ctx, db, sqlServerTime)
	if err != nil {
		return Finding{Subject: "clock", Problem: err.Error()}
	}
	return judgeClock(theirs, before, time.Now(), most)
}

func judgeClock(theirs, before, after time.Time, most time.Duration) Finding {
	f := Finding{Subject: "clock", Fine: "the clocks of this machine and of the database agree"}
	apart := max(before.Sub(theirs), theirs.Sub(after), 0)
	if apart > most {
		f.Problem = fmt.Sprintf("the clocks of this machine and of the database are %s apart: run NTP on both", apart.Round(time.Second))
	}
	return f
}

// examineBlobs stores a blob, reads it and removes it, and asks whether the store
// is the one that the database knows.
func examineBlobs(ctx context.Context, cfg *config.Config, db *postgres.DB) Finding {
	ctx, stop := context.WithTimeout(ctx, examineTime)
	defer stop()
	f := Finding{Subject: "blobs", Fine: "can be stored, read and removed"}
	if _, err := os.Stat(cfg.DataDir); cfg.BlobURL == "" && err != nil {
		f.Problem = "logs, artifacts and large files cannot be kept: there is no data directory" // nor should a look at it make one
		return f
	}
	store, err := blob.Open(cfg.BlobURL.Reveal(), cfg.DataDir)
	if err == nil {
		err = tryBlobs(ctx, store)
	}
	if err != nil {
		f.Problem = "logs, artifacts and large files cannot be kept: " + err.Error() + "; check blob_url, and that its key may read, write, list and remove"
		if cfg.BlobURL == "" {
			f.Problem = "logs, artifacts and large files cannot be kept: " + advice(err, filepath.Join(cfg.DataDir, "blobs"))
		}
		return f
	}
	if db == nil {
		return f
	}
	known, err := blobMark(ctx, db)
	if err == nil {
		err = checkBlobs(ctx, db, store, known)
	}
	if err != nil {
		f.Problem = err.Error()
	}
	return f
}

func tryBlobs(ctx context.Context, store blob.Store) error {
	key, text := "doctor/"+fmt.Sprintf("%x", rand.Text()), []byte("a probe of `stithy doctor`\n")
	if err := store.Put(ctx, key, bytes.NewReader(text), int64(len(text))); err != nil {
		return fmt.Errorf("storing: %w", err)
	}
	body, err := store.Open(ctx, key, 0, -1)
	if err != nil {
		return fmt.Errorf("reading: %w", err)
	}
	got, err := io.ReadAll(body)
	err = errors.Join(err, body.Close())
	if err == nil && !bytes.Equal(got, text) {
		err = errors.New("what was read is not what was stored")
	}
	if err != nil {
		return fmt.Errorf("reading: %w", err)
	}
	if _, err := store.List(ctx, "doctor/", "", 1); err != nil {
		return fmt.Errorf("listing: %w", err)
	}
	if err := store.Delete(ctx, key); err != nil {
		return fmt.Errorf("removing: %w", err)
	}
	return nil
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

func examineMail(ctx context.Context, cfg *config.Config) Finding {
	f := Finding{Subject: "mail", Fine: "not configured; nobody can reset a password or confirm an address alone"}
	sender, err := mail.New(cfg.SMTPURL, cfg.MailFrom)
	if err == nil && !sender.Configured() {
		return f
	}
	if err == nil {
		err = sender.Ping(ctx)
	}
	if err != nil {
		f.Problem = "no mail can be sent: " + err.Error() + "; check smtp_url and mail_from"
		return f
	}
	f.Fine = "the server answers; mail comes from " + cfg.MailFrom
	return f
}

// examineListener asks whether somebody answers at an address already, or
// whether this user could listen there.
func examineListener(ctx context.Context, subject, setting, address string) Finding {
	ctx, stop := context.WithTimeout(ctx, examineTime)
	defer stop()
	f := Finding{Subject: subject}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	switch {
	case err == nil:
		_ = listener.Close()
		f.Fine = address + " is free to listen on"
	case errors.Is(err, syscall.EADDRINUSE):
		f.Fine = fmt.Sprintf("%s is in use, as it is while stithy serves; if it does not, end the program that listens there or change %s", address, setting)
	case errors.Is(err, os.ErrPermission):
		f.Problem = fmt.Sprintf("%s may not be listened on by this user: give the service AmbientCapabilities=CAP_NET_BIND_SERVICE, or set %s to a port above 1023", address, setting)
	default:
		f.Problem = fmt.Sprintf("%s cannot be listened on: %s; check %s", address, err, setting)
	}
	return f
}

func examineSSH(ctx context.Context, cfg *config.Config) Finding {
	if cfg.SSH.Listen == "" {
		return Finding{Subject: "ssh", Fine: "not configured; set ssh.listen to serve git over SSH"}
	}
	missing, err := gitssh.CheckHostKeys(cfg.SSH.HostKeys)
	if err != nil {
		return Finding{Subject: "ssh", Problem: err.Error()}
	}
	f := examineListener(ctx, "ssh", "ssh.listen", cfg.SSH.Listen)
	if f.Problem == "" && missing > 0 {
		f.Fine += fmt.Sprintf("; the first start makes %d host keys in %s", missing, cfg.SSH.HostKeys)
	}
	return f
}

// CheckRepositories reads every repository from end to end, and reports each.
// all is how many there are.
func (a *App) CheckRepositories(ctx context.Context, report func(f Finding, all int64)) error {
	return a.Repositories.CheckAll(ctx, func(c repository.Checked, all int64) {
		f := Finding{Subject: "repository", Fine: c.Path}
		if c.Damage != nil {
			f.Problem = fmt.Sprintf("%s (%s in storage %s): %s; restore this folder from a backup, or push from a clone that has everything",
				c.Path, c.Key.Path, c.Key.Storage, strings.Join(strings.Fields(c.Damage.Error()), " "))
		}
		report(f, all)
	})
}
