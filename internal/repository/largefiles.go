package repository

import (
	"context"
	"io"
	"regexp"
	"slices"

	"stithy/internal/gitstore"
	"stithy/internal/kit/fault"
	"stithy/internal/project"
)

// LargeFiles is the room that keeps what pointers stand for.
type LargeFiles interface {
	// Missing are those of the digests that a project does not have.
	Missing(ctx context.Context, projectID int64, oids []string) ([]string, error)
	// Has reports whether a project has any.
	Has(ctx context.Context, projectID int64) (bool, error)
	// Size is how large a file of a project is; fault.NotFound where it has it not.
	Size(ctx context.Context, projectID int64, oid string) (int64, error)
	// Open reads what a project has.
	Open(ctx context.Context, projectID int64, oid string) (int64, io.ReadCloser, error)
}

// maxPointer is how long a pointer may be. Clients write about 130 bytes.
const maxPointer = 200

var pointerPattern = regexp.MustCompile(`\Aversion https://git-lfs\.github\.com/spec/v1\n(?:[a-z0-9.-]+ [^\n]*\n)*?oid sha256:([0-9a-f]{64})\nsize \d{1,19}\n?\z`)

// pointer is the digest of the large file that a blob stands for, or "".
func pointer(text []byte) string {
	if len(text) > maxPointer {
		return ""
	}
	if m := pointerPattern.FindSubmatch(text); m != nil {
		return string(m[1])
	}
	return ""
}

// missingText is what clients look for.
const missingText = `LFS objects are missing. Ensure LFS is properly set up or try a manual "git lfs push --all".`

// pointerBatch is how many digests are asked for at a time.
const pointerBatch = 1000

// checkPointers refuses commits that point to large files nobody sent: whoever
// fetches them later would get nothing.
func (s *Service) checkPointers(ctx context.Context, p *project.Project, repo *gitstore.Repo, updates []gitstore.RefUpdate) error {
	if !p.Settings.LFSEnabled {
		return nil
	}
	var tips []gitstore.OID
	for _, u := range updates {
		if u.New != gitstore.Zero {
			tips = append(tips, u.New)
		}
	}
	var named []string
	ask := func() error {
		slices.Sort(named)
		missing, err := s.deps.LargeFiles.Missing(ctx, p.ID, slices.Compact(named))
		if err == nil && len(missing) > 0 {
			err = &gitstore.RefusedError{Text: missingText}
		}
		named = named[:0]
		return err
	}
	err := repo.SmallBlobs(ctx, tips, maxPointer, func(_ gitstore.OID, text []byte) error {
		oid := pointer(text)
		if oid == "" {
			return nil
		}
		if named = append(named, oid); len(named) < pointerBatch {
			return nil
		}
		return ask()
	})
	if err != nil || len(named) == 0 {
		return err
	}
	return ask()
}

// LargeFile is what a file stands for.
type LargeFile struct {
	OID  string
	Size int64
	Open func(context.Context) (io.ReadCloser, error)
}

// LargeFile finds the large file that a file stands for; nil for a file that
// stands for itself.
func (s *Service) LargeFile(ctx context.Context, p *project.Project, f *File) (*LargeFile, error) {
	if !p.Settings.LFSEnabled || f.Size > maxPointer {
		return nil, nil //nolint:nilnil // there is none
	}
	text, err := f.Repo.Blob(ctx, f.Entry.ID, maxPointer)
	if err != nil {
		return nil, found(err, "File")
	}
	oid := pointer(text)
	if oid == "" {
		return nil, nil //nolint:nilnil // there is none
	}
	size, err := s.deps.LargeFiles.Size(ctx, p.ID, oid)
	if fault.Is(err, fault.NotFound) {
		err = fault.NotFoundf("File")
	}
	return &LargeFile{OID: oid, Size: size, Open: func(ctx context.Context) (io.ReadCloser, error) {
		_, body, err := s.deps.LargeFiles.Open(ctx, p.ID, oid)
		return body, err
	}}, err
}

// swap puts large files in the place of their pointers while an archive is
// made; nil where a project has none. A pointer to what is not here stays.
func (s *Service) swap(ctx context.Context, p *project.Project) (*gitstore.Swap, error) {
	if !p.Settings.LFSEnabled {
		return nil, nil //nolint:nilnil // there is nothing to swap
	}
	if has, err := s.deps.LargeFiles.Has(ctx, p.ID); err != nil || !has {
		return nil, err
	}
	return &gitstore.Swap{Name: "lfs", Limit: maxPointer, For: func(ctx context.Context, content []byte) (int64, io.ReadCloser, error) {
		oid := pointer(content)
		if oid == "" {
			return 0, nil, nil
		}
		size, body, err := s.deps.LargeFiles.Open(ctx, p.ID, oid)
		if fault.Is(err, fault.NotFound) {
			return 0, nil, nil
		}
		return size, body, err
	}}, nil
}
