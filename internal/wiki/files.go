package wiki

import (
	"cmp"
	"context"
	"io"
	"strings"

	"stithy/internal/gitstore"
	"stithy/internal/kit/bus"
	"stithy/internal/platform/sorting"
	"stithy/internal/repository"
	"stithy/internal/upload"
)

// maxLooked is how many files and folders a table of contents looks at.
const maxLooked = 1_000

// Contents lists pages of a wiki by their paths, as many as are asked for, without what they say. It costs little however large the wiki
// is: files that are attached are left out, of which there may be many more than pages.
func (s *Service) Contents(ctx context.Context, of bus.Entity, most int) (pages []Page, more bool, err error) {
	repo, commit, err := s.tip(ctx, of)
	if err != nil || commit == gitstore.EmptyTree {
		return nil, false, err
	}
	top, err := repo.Tree(ctx, commit, "")
	if err != nil {
		return nil, false, repository.Found(err, "Wiki Page")
	}
	left := maxLooked
	for _, e := range top {
		files := []gitstore.Entry{e}
		switch {
		case left <= 0:
			more = true
			continue
		case e.Mode.Kind() == gitstore.TreeKind && e.Path == uploads:
			continue
		case e.Mode.Kind() == gitstore.TreeKind:
			var cut bool
			if files, cut, err = repo.Walk(ctx, commit, e.Path, "", left); err != nil {
				return nil, false, repository.Found(err, "Wiki Page")
			}
			more = more || cut
		}
		left -= len(files)
		for _, f := range files {
			if p, ok := pageAt(f); ok {
				p.Commit = commit
				pages = append(pages, p)
			}
		}
	}
	sorting.Stably(pages, func(a, b Page) int {
		return cmp.Or(cmp.Compare(strings.ToLower(a.Slug), strings.ToLower(b.Slug)), cmp.Compare(a.Slug, b.Slug))
	})
	if len(pages) > most {
		return pages[:most], true, nil
	}
	return pages, more, nil
}

// Open reads a file of a wiki that is no page: one that was attached to it, or pushed. Like other files that people add to texts, browsers are
// shown pictures alone.
func (s *Service) Open(ctx context.Context, of bus.Entity, file string) (upload.Upload, io.ReadCloser, error) {
	none := upload.Upload{}
	repo, commit, err := s.tip(ctx, of)
	if err != nil {
		return none, nil, err
	}
	if commit == gitstore.EmptyTree || gitstore.CheckPath(file) != nil {
		return none, nil, errMissing
	}
	entry, err := repo.Find(ctx, commit, file)
	if err == nil && entry.Mode.Kind() != gitstore.BlobKind {
		err = gitstore.ErrNotFound
	}
	if err != nil {
		return none, nil, repository.Found(err, "Wiki Page")
	}
	size, body, err := repo.OpenBlob(ctx, entry.ID)
	return upload.Upload{Filename: entry.Name(), Size: size}, body, repository.Found(err, "Wiki Page")
}
