package errortracking

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/fault"
	"stithy/internal/kit/paging"
	"stithy/internal/platform/postgres"
)

// Error is an error of a program: all events with one fingerprint.
type Error struct {
	ID          int64
	ProjectID   int64
	Name        string
	Message     string
	Culprit     string
	Platform    string
	Level       string
	Status      Status
	ResolvedAt  *time.Time
	RegressedAt *time.Time
	Events      int64
	People      int
	FirstSeen   time.Time
	LastSeen    time.Time

	ResolvedRelease string // "" where nobody said which
}

// Place is a release or an environment that an error was seen in.
type Place struct {
	Kind      string
	Value     string
	Events    int64
	FirstSeen time.Time
	LastSeen  time.Time
}

// Hour is how many events there were in one.
type Hour struct {
	Hour   time.Time
	Events int64
}

// Stored is an event that was kept, with what it says.
type Stored struct {
	ID          int64
	EventID     [16]byte
	HappenedAt  time.Time
	ReceivedAt  time.Time
	Level       string
	Environment string
	Release     string
	Payload     []byte
}

// Report is what the event says.
func (s *Stored) Report() (r Report, err error) {
	from := json.NewDecoder(bytes.NewReader(s.Payload))
	from.UseNumber() // some that programs send fit no other
	err = from.Decode(&r)
	return r, err
}

var errNoError = fault.NotFoundf("Error")

// Find reads an error of a project.
func (s *Service) Find(ctx context.Context, projectID, id int64) (*Error, error) {
	return found(postgres.One[Error](ctx, s.deps.DB, sqlError, projectID, id))
}

func found(e Error, err error) (*Error, error) {
	if errors.Is(err, postgres.ErrNoRows) {
		return nil, errNoError
	}
	return &e, err
}

// SetStatus says what became of an error, and if it is resolved, perhaps in which release.
func (s *Service) SetStatus(ctx context.Context, projectID, id int64, status Status, release string) (e *Error, err error) {
	if release != "" && status != Resolved {
		return nil, fault.Field("release", "is for errors that are resolved")
	}
	if utf8.RuneCountInString(release) > maxName {
		return nil, fault.Field("release", "is too long (maximum is %d characters)", maxName)
	}
	err = s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		if e, err = found(postgres.One[Error](ctx, tx, sqlLockError, projectID, id)); err != nil {
			return err
		}
		now := s.deps.Clock.Now()
		e.ResolvedAt, e.ResolvedRelease = nil, release
		if status == Resolved {
			e.ResolvedAt = &now
		}
		if e.Status = status; status != Unresolved {
			e.RegressedAt = nil
		}
		_, err := tx.Exec(ctx, sqlSetStatus, e.ID, e.Status, e.ResolvedAt, e.RegressedAt, now, e.ResolvedRelease)
		return err
	})
	return e, err
}

// Places reads the releases and environments that an error was seen in, the latest first.
func (s *Service) Places(ctx context.Context, id int64) ([]Place, error) {
	return postgres.All[Place](ctx, s.deps.DB, sqlPlaces, id, 2*maxPlaces)
}

// Hours reads how many events of some errors there were since a moment, by error: hours in which there were none are left out.
func (s *Service) Hours(ctx context.Context, since time.Time, ids ...int64) (map[int64][]Hour, error) {
	type row struct {
		ErrorID int64
		Hour    time.Time
		Events  int64
	}
	rows, err := postgres.All[row](ctx, s.deps.DB, sqlHours, ids, since, len(ids)*int(retention/time.Hour+1))
	all := make(map[int64][]Hour, len(ids))
	for _, r := range rows {
		all[r.ErrorID] = append(all[r.ErrorID], Hour{r.Hour, r.Events})
	}
	return all, err
}

// Since is the beginning of the hour that many hours ago, for the present one to be the last of them.
func (s *Service) Since(hours int) time.Time {
	return s.deps.Clock.Now().UTC().Truncate(time.Hour).Add(-time.Duration(hours-1) * time.Hour)
}

// Stored reads one page of the events of an error that were kept, the latest first.
func (s *Service) Stored(ctx context.Context, id int64, req paging.Request) (paging.Result[Stored], error) {
	return paging.Fetch[Stored](ctx, s.deps.DB, listStored(id), req, nil)
}

// Filter says which errors of a project are listed, and in which order. What is empty is any.
type Filter struct {
	Status      Status
	Environment string
	Release     string
	Query       string // in name, message or culprit
	Sort        Sort
}

// Sort is an order of errors, the greatest first.
type Sort string

const (
	ByLastSeen  Sort = "last_seen"
	ByFirstSeen Sort = "first_seen"
	ByFrequency Sort = "frequency"
)

// List reads one page of the errors of a project.
func (s *Service) List(ctx context.Context, projectID int64, f Filter, req paging.Request) (paging.Result[Error], error) {
	return paging.Fetch[Error](ctx, s.deps.DB, listErrors(projectID, f), req, nil)
}
