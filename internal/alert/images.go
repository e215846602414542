package alert

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/platform/blob"
	"stithy/internal/platform/postgres"
	"stithy/internal/upload"
)

// MetricImage is a picture that somebody added to an alert: how it looked while it went wrong.
type MetricImage struct {
	ID        int64
	AlertID   int64
	Filename  string
	Media     string // type of the content, as the content says
	BlobKey   string
	Size      int64
	URL       string // where the picture is from
	URLText   string
	CreatedAt time.Time
}

const (
	MaxImage     = 1 << 20 // bytes of a picture
	maxImages    = 100     // of an alert
	maxURL       = 255
	maxURLText   = 128
	giveUpTime   = 5 * time.Second
	abandonImage = 24 * time.Hour // no upload lasts as long
)

var (
	errNoAlert     = fault.WithMessage(fault.NotFound, "Alert not found")
	errNoImage     = fault.WithMessage(fault.NotFound, "Metric image not found")
	errImageTooBig = fault.WithMessage(fault.Rejected, "400 Bad request - File is too large")
	errNoPicture   = fault.WithMessage(fault.Rejected, "400 Bad request - File is not a picture. Supported are png, jpg, gif, bmp, webp and ico.")
	errNotChanged  = fault.WithMessage(fault.Unprocessable, "Metric image could not be updated")
	errManyImages  = fault.WithMessage(fault.Rejected, "An alert has %d metric images at the most. Delete one first.", maxImages)
	errStore       = fault.New(fault.Unavailable)
)

// Source says where a picture is from.
type Source struct{ URL, Text string }

func (s Source) fits() bool {
	if len([]rune(s.URL)) > maxURL || len([]rune(s.Text)) > maxURLText || strings.ContainsRune(s.URL+s.Text, 0) {
		return false
	}
	return s.URL == "" || webAddress(s.URL) != ""
}

// webAddress is an address that a browser may open, "" of anything else.
func webAddress(text string) string {
	u, err := url.Parse(text)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || strings.ContainsAny(text, " <>\"\\`") {
		return ""
	}
	return u.String()
}

// Images are the pictures of an alert, oldest first.
func (s *Service) Images(ctx context.Context, a *Alert) ([]MetricImage, error) {
	return postgres.All[MetricImage](ctx, s.deps.DB, sqlImages, a.ID, maxImages)
}

// Image reads a picture of an alert.
func (s *Service) Image(ctx context.Context, a *Alert, id int64) (*MetricImage, error) {
	return image(postgres.One[MetricImage](ctx, s.deps.DB, sqlImage, a.ID, id))
}

func image(i MetricImage, err error) (*MetricImage, error) {
	found, err := found(i, err)
	if fault.Is(err, fault.NotFound) {
		err = errNoImage
	}
	return found, err
}

// OpenImage reads the bytes of a picture.
func (s *Service) OpenImage(ctx context.Context, i *MetricImage) (io.ReadCloser, error) {
	body, err := s.deps.Blobs.Open(ctx, i.BlobKey, 0, -1)
	if errors.Is(err, blob.ErrUnavailable) {
		err = errors.Join(errStore, err)
	}
	return body, err
}

// AddImage takes a picture in: a row that says so, the bytes, then the row that counts. What a refusal or a crash leaves, the sweep takes away.
func (s *Service) AddImage(ctx context.Context, by access.Actor, a *Alert, name string, content []byte, from Source) (*MetricImage, error) {
	media := mediaOf(content)
	switch {
	case len(content) > MaxImage:
		return nil, errImageTooBig
	case media == "":
		return nil, errNoPicture
	case !from.fits():
		return nil, fault.Field("url", "must be a web address of at most %d characters, with a text of at most %d", maxURL, maxURLText)
	}
	id, key := int64(0), blob.NewKey("alerts")
	err := s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		// The alert is locked, so that its pictures are counted by one at a time.
		if _, err := postgres.Value[int64](ctx, tx, sqlHoldAlert, a.ID); err != nil {
			return missing(err, errNoAlert)
		}
		count, err := postgres.Value[int](ctx, tx, sqlCountImages, a.ID)
		if err != nil {
			return err
		}
		if count >= maxImages {
			return errManyImages
		}
		id, err = postgres.Value[int64](ctx, tx, sqlAddImage, a.ID, by.ID(), upload.CleanName(name), media, key, len(content), from.URL, from.Text, s.deps.Clock.Now())
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := s.deps.Blobs.Put(ctx, key, bytes.NewReader(content), int64(len(content))); err != nil {
		if errors.Is(err, blob.ErrUnavailable) {
			err = errors.Join(errStore, err)
		}
		return nil, errors.Join(err, s.giveUp(ctx, id))
	}
	return image(postgres.One[MetricImage](ctx, s.deps.DB, sqlImageStored, id, s.deps.Clock.Now()))
}

func missing(err, said error) error {
	if errors.Is(err, postgres.ErrNoRows) {
		return said
	}
	return err
}

// giveUp ends an upload that failed. One whose process dies before is taken for abandoned later.
func (s *Service) giveUp(ctx context.Context, id int64) error {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), giveUpTime)
	defer stop()
	_, err := s.deps.DB.Exec(ctx, sqlDropImage, id, s.deps.Clock.Now())
	return err
}

// ChangeImage says anew where a picture is from. What is nil stays.
func (s *Service) ChangeImage(ctx context.Context, a *Alert, id int64, address, text *string) (changed *MetricImage, err error) {
	err = s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		i, err := image(postgres.One[MetricImage](ctx, tx, sqlLockImage, a.ID, id))
		if err != nil {
			return err
		}
		to := Source{URL: i.URL, Text: i.URLText}
		if address != nil {
			to.URL = *address
		}
		if text != nil {
			to.Text = *text
		}
		if !to.fits() {
			return errNotChanged
		}
		changed, err = image(postgres.One[MetricImage](ctx, tx, sqlSetImage, id, to.URL, to.Text, s.deps.Clock.Now()))
		return err
	})
	return changed, err
}

// RemoveImage takes a picture away. Its bytes go with the next sweep.
func (s *Service) RemoveImage(ctx context.Context, a *Alert, id int64) error {
	_, err := postgres.Value[int64](ctx, s.deps.DB, sqlRemoveImage, a.ID, id, s.deps.Clock.Now())
	return missing(err, errNoImage)
}

// sweepImages removes the bytes that nobody is shown any more before the rows that name them: of pictures that were taken away or whose alert went, and what
// uploads left that failed or were cut off.
func (s *Service) sweepImages(ctx context.Context) error {
	now := s.deps.Clock.Now()
	if err := s.deps.DB.InBatches(ctx, sweepBatch, sqlDoomImages, now, now.Add(-abandonImage)); err != nil {
		return err
	}
	for {
		gone, err := postgres.All[struct {
			ID      int64
			BlobKey string
		}](ctx, s.deps.DB, sqlDoomedImages, sweepBatch)
		if err != nil {
			return err
		}
		ids := make([]int64, 0, len(gone))
		for _, g := range gone {
			if err := s.deps.Blobs.Delete(ctx, g.BlobKey); err != nil {
				return err
			}
			ids = append(ids, g.ID)
		}
		if _, err := s.deps.DB.Exec(ctx, sqlForgetImages, ids); err != nil {
			return err
		}
		if len(gone) < sweepBatch {
			return nil
		}
	}
}
