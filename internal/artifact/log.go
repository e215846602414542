package artifact

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/joblog"
	"stithy/internal/kit/fault"
	"stithy/internal/platform/blob"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/secretbox"
)

const (
	// MaxLog is how long a log may become.
	MaxLog = 100 << 20
	// piece is how much of a log one row holds at the most. A row is what a
	// reader of some lines has to load.
	piece = 128 << 10
	// piecesAtOnce is how many rows a reader has in memory.
	piecesAtOnce = 8
)

// OffsetError says that a piece does not begin where the log ends.
type OffsetError struct{ Size int64 }

func (e *OffsetError) Error() string {
	return fmt.Sprintf("artifact: a piece of a log begins elsewhere than at %d", e.Size)
}

var (
	errClosed  = fault.WithReason(fault.Forbidden, "Job is not running")
	errErased  = fault.WithReason(fault.Forbidden, "Job has been erased!")
	errLogSize = fault.WithMessage(fault.TooLarge, "The log of the job has reached its limit.")
)

// logRow is what is known of a log.
type logRow struct {
	ProjectID   int64
	Size        int64
	HeldSecret  int
	HeldBytes   int
	HeldMasked  int
	SealedMasks []byte
	ClosedAt    *time.Time
	ArchivedAt  *time.Time
	ErasedAt    *time.Time
}

func (l logRow) held() held {
	return held{secret: l.HeldSecret, bytes: l.HeldBytes, masked: l.HeldMasked}
}

// masksOf binds sealed masks to the log that they belong to.
func masksOf(jobID int64) string { return fmt.Sprintf("job_logs.sealed_masks:%d", jobID) }

// logKey is where an archived log is. It follows from the job, so that an
// archiving that was cut off leaves nothing that the next does not replace.
func logKey(jobID int64) string { return fmt.Sprintf("logs/%03d/%d", jobID%1000, jobID) }

// BeginLog opens the log of a job, in a batch of the transaction that hands it
// out. The secrets, such as the tokens of job and runner, will not be seen in it. A log
// that is open already stays as it is.
func (s *Service) BeginLog(b *pgx.Batch, projectID, jobID int64, secrets ...secretbox.Secret) error {
	text, err := json.Marshal(spellings(secrets))
	if err != nil {
		return err
	}
	sealed, err := s.deps.Box.Seal(text, masksOf(jobID))
	if err != nil {
		return err
	}
	b.Queue(sqlBeginLog, jobID, projectID, sealed, s.deps.Clock.Now())
	return nil
}

func (s *Service) log(ctx context.Context, jobID int64) (l logRow, found bool, err error) {
	l, err = postgres.One[logRow](ctx, s.deps.DB, sqlLog, jobID)
	if errors.Is(err, postgres.ErrNoRows) {
		return logRow{}, false, nil
	}
	return l, err == nil, err
}

// masks are what must not be seen in a log. They are gone once it is archived.
func (s *Service) masks(l logRow, jobID int64) (masks [][]byte, err error) {
	if l.SealedMasks == nil {
		return nil, nil
	}
	text, err := s.deps.Box.Open(l.SealedMasks, masksOf(jobID))
	if err != nil {
		return nil, err
	}
	return masks, json.Unmarshal(text, &masks)
}

// AppendLog adds a piece that begins at an offset, which must be the size that
// the log has: it is durable when this returns. Another offset is an
// OffsetError with the size. A log that is closed or erased is Forbidden, one
// that grows beyond MaxLog TooLarge.
func (s *Service) AppendLog(ctx context.Context, jobID, offset int64, chunk []byte) (size int64, err error) {
	l, found, err := s.log(ctx, jobID)
	switch {
	case err != nil:
		return 0, err
	case !found:
		return 0, fault.NotFoundf("Log")
	case l.ErasedAt != nil:
		return l.Size, errErased
	case l.ClosedAt != nil:
		return l.Size, errClosed
	case offset != l.Size:
		return l.Size, &OffsetError{Size: l.Size}
	case l.Size+int64(len(chunk)) > MaxLog:
		return l.Size, errLogSize
	case len(chunk) == 0:
		return l.Size, nil
	}
	masks, err := s.masks(l, jobID)
	if err != nil {
		return l.Size, err
	}
	text, next := hide(masks, l.held(), chunk)
	var starts []int64
	var contents [][]byte
	for at := l.Size - int64(l.HeldBytes); len(text) > 0; {
		n := min(piece, len(text))
		starts, contents = append(starts, at), append(contents, text[:n])
		at, text = at+int64(n), text[n:]
	}
	size = l.Size + int64(len(chunk))
	grown, err := postgres.Value[int64](ctx, s.deps.DB, sqlAppend,
		jobID, l.Size, size, next.secret, next.bytes, next.masked, s.deps.Clock.Now(), starts, contents)
	if err != nil {
		return l.Size, err
	}
	if grown == 0 {
		// Somebody else was here in between; whoever sends again learns more.
		now, err := s.LogSize(ctx, jobID)
		if err != nil {
			return 0, err
		}
		return now, &OffsetError{Size: now}
	}
	return size, nil
}

// LogSize is how many bytes of a log were acknowledged; 0 when there is none.
func (s *Service) LogSize(ctx context.Context, jobID int64) (int64, error) {
	l, _, err := s.log(ctx, jobID)
	return l.Size, err
}

// OpenLog reads a log as people may see it from an offset on, live or
// archived. size is all that can be seen now. A job without a log, or whose
// log is erased, has an empty one.
func (s *Service) OpenLog(ctx context.Context, jobID, from int64) (body io.ReadCloser, size int64, err error) {
	l, _, err := s.log(ctx, jobID)
	if err != nil {
		return nil, 0, err
	}
	from = max(from, 0)
	if l.ArchivedAt != nil && l.ErasedAt == nil && from < l.Size {
		body, err := s.deps.Blobs.Open(ctx, logKey(jobID), from, -1)
		return body, l.Size, told(err)
	}
	r := &logReader{ctx: ctx, s: s, jobID: jobID, at: from, end: l.Size - int64(l.HeldBytes)}
	size = r.end
	if l.ClosedAt != nil && l.HeldBytes > 0 {
		masks, err := s.masks(l, jobID)
		if err != nil {
			return nil, 0, err
		}
		r.tail, size = l.held().last(masks), l.Size
	}
	return r, size, nil
}

// logReader reads a log from its rows, and goes on in the blob when it is
// archived meanwhile.
type logReader struct {
	ctx   context.Context
	s     *Service
	jobID int64
	at    int64 // of the next byte
	end   int64 // of what is in rows
	tail  []byte
	ready []byte
	blob  io.ReadCloser
}

func (r *logReader) Read(p []byte) (int, error) {
	if r.blob != nil {
		return r.blob.Read(p)
	}
	if len(r.ready) == 0 {
		if err := r.more(); err != nil {
			return 0, err
		}
		if r.blob != nil {
			return r.blob.Read(p)
		}
	}
	n := copy(p, r.ready)
	r.ready, r.at = r.ready[n:], r.at+int64(n)
	return n, nil
}

// more loads the next pieces.
func (r *logReader) more() error {
	if r.at >= r.end {
		skip := r.at - r.end
		if skip >= int64(len(r.tail)) {
			return io.EOF
		}
		r.ready = r.tail[skip:]
		return nil
	}
	type row struct {
		Start   int64
		Content []byte
	}
	rows, err := postgres.All[row](r.ctx, r.s.deps.DB, sqlChunks, r.jobID, r.at, r.end, piecesAtOnce)
	if err != nil {
		return err
	}
	at := r.at
	for _, c := range rows {
		skip := at - c.Start
		if skip < 0 || skip > int64(len(c.Content)) {
			break
		}
		r.ready = append(r.ready, c.Content[skip:]...)
		at = c.Start + int64(len(c.Content))
	}
	if len(r.ready) > 0 {
		return nil
	}
	l, _, err := r.s.log(r.ctx, r.jobID)
	switch {
	case err != nil:
		return err
	case l.ErasedAt != nil:
		return io.EOF
	case l.ArchivedAt == nil:
		return fmt.Errorf("artifact: the log of job %d has a gap at %d", r.jobID, r.at)
	}
	r.blob, err = r.s.deps.Blobs.Open(r.ctx, logKey(r.jobID), r.at, -1)
	return err
}

func (r *logReader) Close() error {
	if r.blob != nil {
		return r.blob.Close()
	}
	return nil
}

// CloseLog ends a log in the transaction that ends its job, and asks for it to
// be archived.
func (s *Service) CloseLog(ctx context.Context, tx pgx.Tx, jobID int64) error {
	closed, err := tx.Exec(ctx, sqlCloseLog, jobID, s.deps.Clock.Now())
	if err != nil || closed.RowsAffected() == 0 {
		return err
	}
	return s.deps.Queue.Insert(ctx, tx, ArchiveArgs{JobID: jobID}, uniqueJob())
}

// ArchiveLog makes one blob of a closed log and then drops its rows. It may
// run any number of times.
func (s *Service) ArchiveLog(ctx context.Context, jobID int64) error {
	l, found, err := s.log(ctx, jobID)
	switch {
	case err != nil:
		return err
	case !found:
		return nil
	case l.ErasedAt != nil:
		// An archiving that was cut off may have left blobs. An index holds words of the log.
		for _, key := range []string{logKey(jobID), indexKey(jobID)} {
			if err := s.deps.Blobs.Delete(ctx, key); err != nil {
				return err
			}
		}
		return s.dropChunks(ctx, jobID)
	case l.ArchivedAt != nil:
		return s.dropChunks(ctx, jobID)
	case l.ClosedAt == nil:
		return nil
	}
	sum := sha256.New()
	if l.Size > 0 {
		body, size, err := s.OpenLog(ctx, jobID, 0)
		if err != nil {
			return err
		}
		lines := joblog.NewIndexer()
		err = s.deps.Blobs.Put(ctx, logKey(jobID), io.TeeReader(body, io.MultiWriter(sum, lines)), size)
		_ = body.Close()
		if err != nil {
			return fmt.Errorf("archiving a log: %w", err)
		}
		if size >= indexed {
			if err := s.putIndex(ctx, jobID, lines.Index()); err != nil {
				return err
			}
		}
	}
	done, err := s.deps.DB.Exec(ctx, sqlArchived, jobID, s.deps.Clock.Now(), sum.Sum(nil))
	if err != nil {
		return err
	}
	if done.RowsAffected() == 0 {
		return s.ArchiveLog(ctx, jobID) // erased, or archived by another
	}
	return s.dropChunks(ctx, jobID)
}

// dropBatch keeps each statement short.
const dropBatch = 200

func (s *Service) dropChunks(ctx context.Context, jobID int64) error {
	return s.deps.DB.InBatches(ctx, dropBatch, sqlDropChunks, jobID)
}

// EraseAll takes log and files of a job out of sight; the bytes go afterwards.
func (s *Service) EraseAll(ctx context.Context, tx pgx.Tx, jobID int64) error {
	if _, err := tx.Exec(ctx, sqlEraseLog, jobID, s.deps.Clock.Now()); err != nil {
		return err
	}
	return s.RemoveFiles(ctx, tx, jobID)
}

// readAll reads a whole blob that is known to be small.
func readAll(ctx context.Context, store blob.Store, key string, most int64) ([]byte, error) {
	body, err := store.Open(ctx, key, 0, -1)
	if err != nil {
		return nil, told(err)
	}
	defer func() { _ = body.Close() }()
	var text bytes.Buffer
	_, err = io.Copy(&text, io.LimitReader(body, most))
	return text.Bytes(), told(err)
}
