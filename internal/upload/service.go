package upload

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/owner"
	"stithy/internal/platform/blob"
	"stithy/internal/platform/clock"
	"stithy/internal/platform/deps"
	"stithy/internal/platform/jobqueue"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
	"stithy/internal/setting"
)

// Deps is what the room needs from below.
type Deps struct {
	DB       *postgres.DB
	Queue    *jobqueue.Queue
	Blobs    blob.Store
	Settings *setting.Service
	Projects *project.Service
	Clock    clock.Clock
}

// Service is the use cases of uploads.
type Service struct{ deps Deps }

// New puts the room together.
func New(d Deps) *Service { return &Service{deps: deps.Complete(d)} }

var (
	errTooLarge = fault.WithMessage(fault.TooLarge, "413 Request Entity Too Large")
	errMissing  = fault.NotFoundf("Upload")
	errStore    = fault.New(fault.Unavailable)
)

// MaxSize is how many bytes a file may have.
func (s *Service) MaxSize() int64 { return int64(s.deps.Settings.Current().MaxAttachmentSize) << 20 }

// giveUpTime is how long it may take to note that an upload failed.
const giveUpTime = 5 * time.Second

// Store takes a file in, as a person adds it to a project: a row that says so, the bytes, then the row that counts. What a
// refusal or a crash leaves, the sweep takes away. The secret is the word in its address.
func (s *Service) Store(ctx context.Context, by access.Actor, p *project.Project, name string, body io.Reader) (u Upload, secret string, err error) {
	secret = newSecret()
	id, key := int64(0), blob.NewKey("uploads")
	err = s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		if err := owner.Hold(ctx, tx, p.Entity()); err != nil {
			return err
		}
		id, err = postgres.Value[int64](ctx, tx, sqlStoring, p.ID, by.ID(), digest(secret), CleanName(name), key, s.deps.Clock.Now())
		return err
	})
	if err != nil {
		return Upload{}, "", err
	}
	meter := blob.NewMeter(body, s.MaxSize())
	if err := s.deps.Blobs.Put(ctx, key, meter, -1); err != nil {
		return Upload{}, "", errors.Join(told(err, meter), s.giveUp(ctx, id))
	}
	u, err = postgres.One[Upload](ctx, s.deps.DB, sqlStored, id, meter.Size(), meter.Sum(), s.deps.Clock.Now())
	if errors.Is(err, postgres.ErrNoRows) {
		err = fault.NotFoundf("Project") // it went while the bytes came
	}
	return u, secret, err
}

// told is why bytes could not be stored.
func told(err error, meter *blob.Meter) error {
	switch {
	case meter.Over():
		return errTooLarge
	case errors.Is(err, blob.ErrUnavailable):
		return errors.Join(errStore, err)
	}
	return fmt.Errorf("storing an upload: %w", err)
}

// giveUp ends an upload that failed. One whose process dies before is taken for abandoned later.
func (s *Service) giveUp(ctx context.Context, id int64) error {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), giveUpTime)
	defer stop()
	_, err := s.deps.DB.Exec(ctx, sqlGiveUp, id, s.deps.Clock.Now())
	return err
}

// Find reads the file that an address names, for somebody who sees its project. Where the project says so, who knows the
// address of a picture sees it without.
func (s *Service) Find(ctx context.Context, by access.Actor, projectID int64, secret, name string) (Upload, error) {
	u, err := postgres.One[Upload](ctx, s.deps.DB, sqlFind, projectID, digest(secret))
	if errors.Is(err, postgres.ErrNoRows) || err == nil && u.Filename != name {
		return Upload{}, errMissing
	}
	if err != nil {
		return Upload{}, err
	}
	_, err = s.deps.Projects.Find(ctx, by, projectID)
	if fault.Is(err, fault.NotFound) && u.Picture() {
		if open, openErr := postgres.Value[bool](ctx, s.deps.DB, sqlOpenPictures, projectID); openErr == nil && open {
			return u, nil
		}
	}
	if fault.Is(err, fault.NotFound) {
		err = errMissing
	}
	return u, err
}

// Open reads the bytes of a file.
func (s *Service) Open(ctx context.Context, u Upload) (io.ReadCloser, error) {
	body, err := s.deps.Blobs.Open(ctx, u.BlobKey, 0, -1)
	if errors.Is(err, blob.ErrUnavailable) {
		err = errors.Join(errStore, err)
	}
	return body, err
}

// digest is what is kept of the word in an address.
func digest(secret string) []byte {
	sum := sha256.Sum256([]byte("upload " + secret))
	return sum[:]
}
