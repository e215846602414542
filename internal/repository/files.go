package repository

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"

	"stithy/internal/gitstore"
	"stithy/internal/kit/fault"
	"stithy/internal/project"
)

// File is a file of a commit.
type File struct {
	Repo     *gitstore.Repo
	Entry    gitstore.Entry
	Revision string
	Commit   gitstore.OID
	Size     int64
}

// FindFile finds a file and its size.
func (s *Service) FindFile(ctx context.Context, p *project.Project, revision, path string) (*File, error) {
	f, err := s.locate(ctx, p, revision, path)
	if err == nil {
		err = f.measure(ctx)
	}
	return f, err
}

// locate finds a file. The revision becomes an id once; all that is shown
// follows from that id. Of what was shown before git need not be asked.
func (s *Service) locate(ctx context.Context, p *project.Project, revision, path string) (*File, error) {
	if gitstore.CheckPath(path) != nil {
		return nil, errFilePath
	}
	repo, err := s.Open(ctx, p)
	if err != nil {
		return nil, err
	}
	f := &File{Repo: repo, Revision: revision}
	if f.Commit, err = s.Revision(ctx, repo, p, revision); err != nil {
		return nil, found(err, "Commit")
	}
	if f.Entry, err = repo.Find(ctx, f.Commit, path); err != nil {
		return nil, found(err, "File")
	}
	if f.Entry.Mode.Kind() != gitstore.BlobKind {
		return nil, fault.NotFoundf("File")
	}
	return f, nil
}

func (f *File) measure(ctx context.Context) error {
	object, err := f.Repo.StatEntry(ctx, f.Entry)
	f.Size = object.Size
	return found(err, "File")
}

var errFilePath = fault.WithMessage(fault.BadParams, "file_path should be a valid file path")

// last is the newest commit that touched the file.
func (f *File) last(ctx context.Context) (gitstore.OID, error) {
	last, err := f.Repo.LastCommits(ctx, f.Commit, []string{f.Entry.Path})
	return last[f.Entry.Path], found(err, "Commit")
}

// digest is the SHA-256 of the content.
func (f *File) digest(ctx context.Context) (string, error) {
	_, body, err := f.Repo.OpenBlob(ctx, f.Entry.ID)
	if err != nil {
		return "", found(err, "File")
	}
	hash := sha256.New()
	_, err = io.Copy(hash, body)
	return hex.EncodeToString(hash.Sum(nil)), errors.Join(err, body.Close())
}
