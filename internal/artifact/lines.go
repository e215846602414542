package artifact

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"stithy/internal/joblog"
	"stithy/internal/platform/blob"
)

const (
	// indexed is the size from which on a log has an index beside it. A
	// smaller one is read whole.
	indexed = 256 << 10
	// maxIndex bounds an index: it has some dozen bytes for every 128 KB.
	maxIndex = 4 << 20
)

// indexKey is where the index of an archived log is.
func indexKey(jobID int64) string { return logKey(jobID) + ".lines" }

// LogIndex says where the lines of a log are, of all that can be seen now. That
// of an archived log is read, that of a live one goes on from where the last
// reader left it.
func (s *Service) LogIndex(ctx context.Context, jobID int64) (joblog.Index, error) {
	l, _, err := s.log(ctx, jobID)
	if err != nil || l.Size == 0 {
		return joblog.Index{}, err
	}
	if l.ArchivedAt != nil && l.Size >= indexed {
		index, err := s.readIndex(ctx, jobID)
		if !errors.Is(err, blob.ErrNotFound) {
			return index, err
		}
	}
	if l.Size < indexed {
		return s.index(ctx, jobID, 0, joblog.NewIndexer())
	}
	kept := s.indexes.of(jobID)
	kept.Lock()
	defer kept.Unlock()
	if kept.indexer == nil {
		kept.indexer = joblog.NewIndexer()
	}
	return s.index(ctx, jobID, kept.indexer.Index().Size, kept.indexer)
}

func (s *Service) readIndex(ctx context.Context, jobID int64) (index joblog.Index, err error) {
	text, err := readAll(ctx, s.deps.Blobs, indexKey(jobID), maxIndex)
	if err != nil {
		return index, err
	}
	if err = json.Unmarshal(text, &index); err == nil && index.Version != joblog.Version {
		err = blob.ErrNotFound
	}
	return index, err
}

// index reads a log on from where an indexer is.
func (s *Service) index(ctx context.Context, jobID, from int64, to *joblog.Indexer) (joblog.Index, error) {
	body, _, err := s.OpenLog(ctx, jobID, from)
	if err != nil {
		return joblog.Index{}, err
	}
	_, err = io.Copy(to, body)
	_ = body.Close()
	return to.Index(), err
}

// ReadLines hands over the lines of a log from a state on, such as one of its
// index, until no more are wanted or so many bytes were read. more says that
// the bytes were not enough, and at is the beginning of the line that was read
// last: a live log goes on there.
func (s *Service) ReadLines(
	ctx context.Context, jobID int64, from joblog.State, most int64, take func(*joblog.Line) bool,
) (at joblog.State, more bool, err error) {
	body, size, err := s.OpenLog(ctx, jobID, from.Offset)
	if err != nil {
		return from, false, err
	}
	defer func() { _ = body.Close() }()
	p := joblog.NewParser(from, take)
	piece := make([]byte, 32<<10)
	left := io.LimitReader(body, most)
	for !p.Done() {
		if err := ctx.Err(); err != nil {
			return from, false, err
		}
		n, err := left.Read(piece)
		_, _ = p.Write(piece[:n])
		if errors.Is(err, io.EOF) {
			if more = size-from.Offset > most; !more {
				p.Finish()
			}
			break
		}
		if err != nil {
			return from, false, err
		}
	}
	return p.Begun(), more, nil
}

// putIndex stores the index of a log that is being archived.
func (s *Service) putIndex(ctx context.Context, jobID int64, index joblog.Index) error {
	text, err := json.Marshal(index)
	if err != nil {
		return err
	}
	if err := s.deps.Blobs.Put(ctx, indexKey(jobID), bytes.NewReader(text), int64(len(text))); err != nil {
		return fmt.Errorf("storing the index of a log: %w", err)
	}
	return nil
}

// indexes are those of live logs that somebody looks at on this node. One that
// is lost is made again.
type indexes struct {
	sync.Mutex
	byJob map[int64]*liveIndex
	turn  int64
}

type liveIndex struct {
	sync.Mutex
	indexer *joblog.Indexer
	used    int64 // guarded by indexes
}

// mostIndexes is how many logs are remembered, each with up to 100 KB.
const mostIndexes = 32

func (x *indexes) of(jobID int64) *liveIndex {
	x.Lock()
	defer x.Unlock()
	x.turn++
	kept := x.byJob[jobID]
	if kept == nil {
		if len(x.byJob) >= mostIndexes {
			oldest := jobID
			for id, other := range x.byJob {
				if oldest == jobID || other.used < x.byJob[oldest].used {
					oldest = id
				}
			}
			delete(x.byJob, oldest)
		}
		kept = &liveIndex{}
		if x.byJob == nil {
			x.byJob = map[int64]*liveIndex{}
		}
		x.byJob[jobID] = kept
	}
	kept.used = x.turn
	return kept
}
