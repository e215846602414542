package gitstore

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// die lets go of a ticket as death does. While another test starts a process, that process may have the file open for a
// moment, and its lock with it; so nothing is started meanwhile.
func die(t *testing.T, ticket *Ticket) {
	t.Helper()
	syscall.ForkLock.Lock()
	defer syscall.ForkLock.Unlock()
	if err := ticket.file.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestQuarantinesGoWhenNoPushIsAlive(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tickets, left := filepath.Join(dir, "pushes"), filepath.Join(dir, "objects", "tmp_objdir-incoming-x")
	for _, d := range []string{tickets, left} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	there := func() bool { _, err := os.Stat(left); return err == nil }
	held, err := takeTicket(tickets)
	if err != nil {
		t.Fatal(err)
	}
	if sweepQuarantines(tickets); !there() {
		t.Fatal("that of a push that is alive is gone")
	}
	die(t, held)
	if sweepQuarantines(tickets); there() {
		t.Error("that of a dead push is still there")
	}
}

func TestTicketsOfDeadPushesGoAndThoseOfLivePushesStay(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	take := func(number int64) *Ticket {
		t.Helper()
		ticket, err := takeTicket(dir)
		if err == nil && number > 0 {
			err = ticket.Number(t.Context(), number)
		}
		if err != nil {
			t.Fatal(err)
		}
		return ticket
	}
	live := []*Ticket{take(0), take(1)}
	for _, dead := range []*Ticket{take(0), take(2)} {
		die(t, dead)
	}
	sweepTickets(dir)
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != len(live) {
		t.Fatalf("%v are left, %v", left, err)
	}
	for _, ticket := range live {
		if err := ticket.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestAPushToARepositoryThatIsRemovedMeanwhileFindsNone(t *testing.T) {
	t.Parallel()
	r := newRepo(t, openAt(t, nil), 1)
	ticket, err := r.Ticket(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Remove(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := ticket.Number(t.Context(), 1); !errors.Is(err, ErrNoRepo) {
		t.Errorf("numbering its ticket gives %v", err)
	}
	if err := ticket.Close(); err != nil {
		t.Errorf("giving its ticket back gives %v", err)
	}
}
