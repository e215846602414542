package snippet

import (
	"bytes"
	"context"
	"errors"
	"io"
	"unicode/utf8"

	"stithy/internal/gitstore"
	"stithy/internal/kit/fault"
	"stithy/internal/repository"
)

// Content is a file of a snippet.
type Content struct {
	Entry gitstore.Entry
	Size  int64

	repo *gitstore.Repo
}

// Open finds a file of a snippet in a revision; "" is the first file, and the newest revision.
func (s *Service) Open(ctx context.Context, at *Snippet, revision, path string) (*Content, error) {
	if path == "" && len(at.Files) > 0 {
		path = at.Files[0]
	}
	if gitstore.CheckPath(path) != nil {
		return nil, fault.NotFoundf("File")
	}
	repo, commit, err := s.deps.Repositories.Tip(ctx, at.RepositoryID)
	if err != nil {
		return nil, err
	}
	if revision != "" {
		if commit, err = repo.Resolve(ctx, revision); err != nil {
			return nil, repository.Found(err, "Reference")
		}
	}
	c := &Content{repo: repo}
	if c.Entry, err = repo.Find(ctx, commit, path); err == nil && c.Entry.Mode.Kind() != gitstore.BlobKind {
		err = gitstore.ErrNotFound
	}
	if err != nil {
		return nil, repository.Found(err, "File")
	}
	object, err := repo.StatEntry(ctx, c.Entry)
	c.Size = object.Size
	return c, repository.Found(err, "File")
}

// Read opens what the file holds.
func (c *Content) Read(ctx context.Context) (io.ReadCloser, error) {
	_, body, err := c.repo.OpenBlob(ctx, c.Entry.ID)
	return body, repository.Found(err, "File")
}

// Text is a file of a snippet as people read it.
type Text struct {
	Path    string
	Size    int64
	Content string
	Whole   bool // Content is what the file holds; if not, it is no text, or too large
}

// Texts reads the files of a snippet, as many bytes of them as are asked for.
func (s *Service) Texts(ctx context.Context, at *Snippet, most int64) ([]Text, error) {
	repo, commit, err := s.deps.Repositories.Tip(ctx, at.RepositoryID)
	if err != nil {
		return nil, err
	}
	all := make([]Text, 0, len(at.Files))
	for _, path := range at.Files {
		entry, err := repo.Find(ctx, commit, path)
		if errors.Is(err, gitstore.ErrNotFound) {
			continue // it went since the list of files was read
		}
		if err != nil {
			return nil, repository.Found(err, "File")
		}
		object, err := repo.StatEntry(ctx, entry)
		if err != nil {
			return nil, repository.Found(err, "File")
		}
		one := Text{Path: path, Size: object.Size}
		if object.Size <= most {
			most -= object.Size
			text, err := repo.Blob(ctx, entry.ID, object.Size)
			if err != nil {
				return nil, repository.Found(err, "File")
			}
			if one.Whole = utf8.Valid(text) && bytes.IndexByte(text, 0) < 0; one.Whole {
				one.Content = string(text)
			}
		}
		all = append(all, one)
	}
	return all, nil
}
