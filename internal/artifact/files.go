package artifact

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/fault"
	"stithy/internal/platform/blob"
	"stithy/internal/platform/jobqueue"
	"stithy/internal/platform/postgres"
)

var (
	errTooLarge = fault.WithMessage(fault.TooLarge, "file size has reached maximum size limit")
	errType     = fault.WithMessage(fault.BadParams, "artifact_type does not have a valid value")
	errBusy     = fault.WithReason(fault.Rejected, "too many uploads of the same type have not ended")
	errTwice    = fault.WithReason(fault.Rejected, "another artifact of the same type already exists")
	errNoFile   = fault.NotFoundf("File")
	errStore    = fault.WithMessage(fault.Unavailable, "The store of files cannot be reached. Try again in a minute; if this stays, tell an administrator.")
)

// told is a failure of the store in words for those who wait; what the store
// said is for the log.
func told(err error) error {
	if errors.Is(err, blob.ErrUnavailable) {
		return errors.Join(errStore, err)
	}
	return err
}

// megabytes that a file of some types may have, where the instance lets others
// have more.
var megabytes = map[string]int{"lsif": 100, "terraform": 5, "cyclonedx": 1, Dotenv: 1}

// MaxSize is how many bytes a file of a type may have.
func (s *Service) MaxSize(kind string) int64 {
	most := s.deps.Settings.Current().MaxArtifactsSize
	if own, ok := megabytes[kind]; ok {
		most = min(most, own)
	}
	return int64(most) << 20
}

// fileRow is a file as it is stored.
type fileRow struct {
	ID         int64
	ProjectID  int64
	JobID      int64
	FileType   string
	FileFormat Format
	Filename   string
	BlobKey    string
	Size       int64
	SHA256     []byte `db:"sha256"`
	Public     bool
	Access     Audience
	Kept       bool
	ExpireAt   *time.Time
	CreatedAt  time.Time
}

func (r fileRow) file() File {
	if !r.Public { // all that the release before this one says
		r.Access = Smaller(r.Access, Developers)
	}
	return File{
		ID: r.ID, ProjectID: r.ProjectID, JobID: r.JobID, Type: r.FileType, Format: r.FileFormat, Filename: r.Filename, Size: r.Size,
		SHA256: r.SHA256, Access: r.Access, Kept: r.Kept, ExpireAt: r.ExpireAt, CreatedAt: r.CreatedAt, key: r.BlobKey,
	}
}

// maxName is how many characters of a file's name are kept.
const maxName = 255

// fileName makes a name of what a client called its file: the last part of the
// path, without what could steer a header or a terminal. It is one pass that
// ends with the last character that is kept.
func fileName(given string, kind string) string {
	last := strings.TrimRight(given, `/\`)
	last = last[strings.LastIndexAny(last, `/\`)+1:]
	var name strings.Builder
	kept := 0
	for _, r := range last {
		if kept++; kept > maxName {
			break
		}
		if unicode.IsControl(r) || r == '"' || r == utf8.RuneError {
			r = '_'
		}
		name.WriteRune(r)
	}
	if n := name.String(); n != "" && n != "." && n != ".." && n != "_" {
		return n
	}
	return kind
}

// Store takes a file in: a row that says so, the bytes, then the row that
// counts. The same type with the same content is accepted a second time; with
// another it is Rejected, and too many bytes are TooLarge. What a refusal or a
// crash leaves, the sweep takes away.
func (s *Service) Store(ctx context.Context, f File, body io.Reader) (File, error) {
	if err := CheckType(f.Type); err != nil {
		return File{}, err
	}
	if f.Type == Dotenv {
		text, err := io.ReadAll(io.LimitReader(body, s.MaxSize(Dotenv)+1))
		if err != nil {
			return File{}, err
		}
		if _, err := dotenvOf(f.Format, text); err != nil {
			return File{}, err
		}
		body = bytes.NewReader(text)
	}
	key, to := blob.NewKey("artifacts"), Smaller(f.Access, Everyone)
	id, err := postgres.Value[int64](ctx, s.deps.DB, sqlStoring,
		f.ProjectID, f.JobID, f.Type, f.Format, fileName(f.Filename, f.Type), key, to == Everyone, to, f.Locked, s.deps.Clock.Now(), mostUploads)
	if errors.Is(err, postgres.ErrNoRows) {
		return File{}, errBusy
	}
	if err != nil {
		return File{}, fmt.Errorf("noting an upload: %w", err)
	}
	seen := blob.NewMeter(body, s.MaxSize(f.Type))
	if err = s.deps.Blobs.Put(ctx, key, seen, -1); err != nil {
		err = fmt.Errorf("storing a file of a job: %w", told(err))
		if seen.Over() {
			err = errTooLarge
		}
		return File{}, errors.Join(err, s.giveUp(ctx, id))
	}
	now := s.deps.Clock.Now()
	var until *time.Time
	if f.ExpireIn != nil {
		at := now.Add(*f.ExpireIn)
		until = &at
	}
	digest := seen.Sum()
	var row fileRow
	err = s.deps.DB.InTx(ctx, func(tx pgx.Tx) (err error) {
		row, err = postgres.One[fileRow](ctx, tx, sqlStored, id, seen.Size(), digest, until, now)
		if err == nil && f.Type == JUnit {
			err = s.deps.Queue.Insert(ctx, tx, ReportArgs{FileID: id}, jobqueue.Unique())
		}
		return err
	})
	if name, violated := postgres.Constraint(err); violated && name == "job_artifacts_type" {
		known, err := postgres.One[fileRow](ctx, s.deps.DB, sqlFileOfType, f.JobID, f.Type)
		if err == nil && bytes.Equal(known.SHA256, digest) {
			return known.file(), nil
		}
		if err != nil && !errors.Is(err, postgres.ErrNoRows) {
			return File{}, err
		}
		return File{}, errTwice
	}
	if errors.Is(err, postgres.ErrNoRows) {
		return File{}, errErased // while the bytes came
	}
	return row.file(), err
}

// giveUp ends an upload that failed, so that the next one has its place. One
// whose process dies before is taken for abandoned a day later.
func (s *Service) giveUp(ctx context.Context, id int64) error {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), giveUpTime)
	defer stop()
	_, err := s.deps.DB.Exec(ctx, sqlGiveUp, id, s.deps.Clock.Now())
	return err
}

const giveUpTime = 5 * time.Second

// mostUploads is how many files of one type of a job may be on their way: one,
// and what attempts left that were cut off.
const mostUploads = 10

// filesAtOnce bounds how many files of some jobs are read.
const filesAtOnce = 10_000

// Files are what the jobs handed in and has not expired, by job and id.
func (s *Service) Files(ctx context.Context, jobIDs ...int64) ([]File, error) {
	rows, err := postgres.All[fileRow](ctx, s.deps.DB, sqlFiles, jobIDs, s.deps.Clock.Now(), filesAtOnce)
	files := make([]File, 0, len(rows))
	for _, r := range rows {
		files = append(files, r.file())
	}
	return files, err
}

// fileOf finds the file of one type of a job, if there is one.
func (s *Service) fileOf(ctx context.Context, jobID int64, kind string) (File, bool, error) {
	r, err := postgres.One[fileRow](ctx, s.deps.DB, sqlFileOfType, jobID, kind)
	if errors.Is(err, postgres.ErrNoRows) {
		return File{}, false, nil
	}
	return r.file(), err == nil, err
}

// Keep lets the files of a job stay for ever.
func (s *Service) Keep(ctx context.Context, tx pgx.Tx, jobID int64) error {
	_, err := tx.Exec(ctx, sqlKeep, jobID, s.deps.Clock.Now())
	return err
}

// Unlock lets the files of jobs go in their time.
func (s *Service) Unlock(ctx context.Context, tx pgx.Tx, jobIDs ...int64) error {
	_, err := tx.Exec(ctx, sqlUnlock, jobIDs, s.deps.Clock.Now())
	return err
}

// Expired are those of the jobs that left an archive whose time is over.
func (s *Service) Expired(ctx context.Context, jobIDs ...int64) ([]int64, error) {
	return postgres.Values[int64](ctx, s.deps.DB, sqlExpired, jobIDs, s.deps.Clock.Now())
}

// RemoveFiles takes the files of a job out of sight, but not its log; the
// bytes go afterwards.
func (s *Service) RemoveFiles(ctx context.Context, tx pgx.Tx, jobID int64) error {
	if _, err := tx.Exec(ctx, sqlRemoveFiles, jobID, s.deps.Clock.Now()); err != nil {
		return err
	}
	return s.deps.Queue.Insert(ctx, tx, EraseArgs{JobID: jobID}, uniqueJob())
}

// Content is the bytes of a file, of which any part can be read.
type Content interface {
	io.ReadSeekCloser
	io.ReaderAt
	Size() int64
}

// Open reads a file. The store is asked only for the parts that are read.
func (s *Service) Open(ctx context.Context, f File) (Content, error) {
	if _, err := s.deps.Blobs.Stat(ctx, f.key); err != nil {
		return nil, s.lost(ctx, f, err)
	}
	return &content{ctx: ctx, blobs: s.deps.Blobs, key: f.key, size: f.Size}, nil
}

// lost is why the bytes of a file cannot be read. That they are gone while the
// file is there is an error of ours, not an answer to whoever asks.
func (s *Service) lost(ctx context.Context, f File, err error) error {
	if !errors.Is(err, blob.ErrNotFound) {
		return told(err)
	}
	there, asked := postgres.Value[bool](ctx, s.deps.DB, sqlStillThere, f.ID)
	if asked == nil && !there {
		return errNoFile // it went meanwhile
	}
	return fmt.Errorf("the bytes of file %d of job %d are gone: %w", f.ID, f.JobID, err)
}

// beside is for whoever stored something beside a file: if the file went
// meanwhile, that goes too.
func (s *Service) beside(ctx context.Context, f File) error {
	there, err := postgres.Value[bool](ctx, s.deps.DB, sqlStillThere, f.ID)
	if err != nil || there {
		return err
	}
	return s.removeBeside(ctx, f.Type, f.key)
}

type content struct {
	ctx   context.Context
	blobs blob.Store
	key   string
	size  int64
	at    int64
	from  io.ReadCloser // a stream at at, if one is open
}

func (c *content) Size() int64 { return c.size }

func (c *content) Read(p []byte) (int, error) {
	if c.at >= c.size {
		return 0, io.EOF
	}
	if c.from == nil {
		body, err := c.blobs.Open(c.ctx, c.key, c.at, c.size-c.at)
		if err != nil {
			return 0, err
		}
		c.from = body
	}
	n, err := c.from.Read(p)
	c.at += int64(n)
	if errors.Is(err, io.EOF) && c.at < c.size {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

func (c *content) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += c.at
	case io.SeekEnd:
		offset += c.size
	}
	if offset < 0 {
		return 0, errors.New("artifact: seeking before the beginning")
	}
	if offset != c.at {
		if err := c.Close(); err != nil {
			return 0, err
		}
		c.at = offset
	}
	return offset, nil
}

func (c *content) ReadAt(p []byte, offset int64) (int, error) {
	if offset < 0 || offset >= c.size {
		return 0, io.EOF
	}
	want := min(int64(len(p)), c.size-offset)
	body, err := c.blobs.Open(c.ctx, c.key, offset, want)
	if err != nil {
		return 0, err
	}
	defer func() { _ = body.Close() }()
	n, err := io.ReadFull(body, p[:want])
	if err == nil && n < len(p) {
		err = io.EOF
	}
	return n, err
}

func (c *content) Close() error {
	if c.from == nil {
		return nil
	}
	from := c.from
	c.from = nil
	return from.Close()
}
