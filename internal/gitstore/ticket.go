package gitstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"stithy/internal/platform/secretbox"
)

// Ticket stands for a push, from before anything is written until it is known
// what became of it. It is a locked file whose descriptor every git process of
// the push inherits, so that it is held as long as one of them lives, even when
// this process has been killed.
type Ticket struct {
	repo *Repo
	file *os.File
	dir  string
	name string
}

// unnumbered begins the names of tickets whose push was not approved yet.
const unnumbered = "new-"

// Ticket starts a push. Whoever takes one gives it back with Close.
func (r *Repo) Ticket(ctx context.Context) (*Ticket, error) {
	dir, err := r.ticketDir()
	if err != nil {
		return nil, err
	}
	sweepQuarantines(dir)
	sweepTickets(dir)
	for {
		t, err := takeTicket(dir)
		if err != nil {
			return nil, fmt.Errorf("taking a ticket: %w", r.missing(ctx, err))
		}
		t.repo = r
		if _, err := os.Stat(filepath.Join(dir, t.name)); err == nil {
			return t, nil
		}
		_ = t.file.Close() // it was swept before it was locked
	}
}

func takeTicket(dir string) (*Ticket, error) {
	name := unnumbered + secretbox.RandomToken(20)
	file, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	t := &Ticket{file: file, dir: dir, name: name}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

// sweepTickets removes tickets that nobody holds: their processes were killed.
// To Held, a ticket that is gone is one that nobody holds.
func sweepTickets(dir string) {
	left, _ := os.ReadDir(dir)
	for _, ticket := range left {
		path := filepath.Join(dir, ticket.Name())
		if file, err := os.Open(path); err == nil {
			if syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
				_ = os.Remove(path)
			}
			_ = file.Close()
		}
	}
}

// sweepQuarantines removes the quarantines of killed pushes: git leaves them
// behind when a signal ends it. A push takes its ticket before it has a
// quarantine. So if no ticket is held after the quarantines were listed, none of
// those listed is in use.
func sweepQuarantines(tickets string) {
	left, _ := filepath.Glob(filepath.Join(filepath.Dir(tickets), "objects", "tmp_objdir-incoming-*")) // the pattern is ours
	if len(left) == 0 {
		return
	}
	all, err := os.ReadDir(tickets)
	if err != nil {
		return
	}
	for _, ticket := range all {
		file, err := os.Open(filepath.Join(tickets, ticket.Name()))
		if err != nil {
			continue // given back meanwhile
		}
		err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		_ = file.Close()
		if err != nil {
			return
		}
	}
	for _, path := range left {
		_ = os.RemoveAll(path)
	}
}

// Number names the ticket after the id of its push, by which Held looks for it.
// It must be called before that id is committed: whoever reads the id asks Held.
func (t *Ticket) Number(ctx context.Context, id int64) error {
	name := strconv.FormatInt(id, 10)
	if err := os.Rename(filepath.Join(t.dir, t.name), filepath.Join(t.dir, name)); err != nil {
		return fmt.Errorf("numbering a ticket: %w", t.repo.missing(ctx, err))
	}
	t.name = name
	return nil
}

// Close gives the ticket back: the push is settled, or was given up. If the repository was removed meanwhile, its file
// is gone already.
func (t *Ticket) Close() error {
	err := os.Remove(filepath.Join(t.dir, t.name))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, t.file.Close())
}

// Held reports whether some process may still work on the push of that number.
// A ticket that nobody holds any more is thrown away.
func (r *Repo) Held(id int64) (bool, error) {
	dir, err := r.ticketDir()
	if err != nil {
		return false, err
	}
	path := filepath.Join(dir, strconv.FormatInt(id, 10))
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("looking for a ticket: %w", err)
	}
	defer func() { _ = file.Close() }()
	switch err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("trying a ticket: %w", err)
	}
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) { // a push may have swept it meanwhile
		return false, err
	}
	return false, nil
}

// Holding is the repository, for work on behalf of a push: the processes that
// change it hold the ticket.
func (r *Repo) Holding(t *Ticket) *Repo {
	held := *r
	held.ticket = t
	return &held
}

func (r *Repo) ticketDir() (string, error) {
	_, home, err := r.writable()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(home, "pushes")
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return dir, nil
}
