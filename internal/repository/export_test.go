package repository

import (
	"context"

	"stithy/internal/gitstore"
	"stithy/internal/kit/access"
)

// Fill works the job that fills a fork.
func (s *Service) Fill(ctx context.Context, projectID int64) error {
	return s.fill(ctx, CopyArgs{ProjectID: projectID})
}

// Pointer is the digest that a blob stands for.
func Pointer(text []byte) string { return pointer(text) }

// WorkMerged works the job that removes merged branches.
func (s *Service) WorkMerged(ctx context.Context, projectID, userID int64) error {
	return s.deleteMerged(ctx, MergedArgs{ProjectID: projectID, UserID: userID})
}

// CheckText asks whether a repository of texts may be pushed to.
func (s *Service) CheckText(ctx context.Context, by access.Actor, id int64, updates ...gitstore.RefUpdate) error {
	t, repo, err := s.openText(ctx, id)
	if err != nil {
		return err
	}
	a, err := s.begin(ctx, by, repo, texts{s: s, row: t}, ViaHTTP)
	if err != nil {
		return err
	}
	defer a.Close()
	return a.of.check(ctx, a, gitstore.Quarantine{}, updates)
}

// CheckTextWithin is CheckText where files have a limit.
func (s *Service) CheckTextWithin(ctx context.Context, by access.Actor, id int64, maxFile func(string) int64, updates ...gitstore.RefUpdate) error {
	t, repo, err := s.openText(ctx, id)
	if err != nil {
		return err
	}
	a, err := s.begin(ctx, by, repo, texts{s, t, maxFile}, ViaHTTP)
	if err != nil {
		return err
	}
	defer a.Close()
	return a.of.check(ctx, a, gitstore.Quarantine{}, updates)
}

// MaintainText works the job that keeps a repository of texts quick.
func (s *Service) MaintainText(ctx context.Context, id int64) error {
	return s.maintain(ctx, MaintainArgs{TextID: id})
}

// PushText moves refs of a repository of texts.
func (s *Service) PushText(ctx context.Context, by access.Actor, id int64, updates ...gitstore.RefUpdate) error {
	t, repo, err := s.openText(ctx, id)
	if err != nil {
		return err
	}
	a, err := s.begin(ctx, by, repo, texts{s: s, row: t}, ViaHTTP)
	if err != nil {
		return err
	}
	defer a.Close()
	return a.Move(ctx, gitstore.Quarantine{}, updates...)
}
