package wiki

import (
	"context"
	"time"

	"stithy/internal/gitstore"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/paging"
	"stithy/internal/repository"
)

// Version is what a page was made at one time.
type Version struct {
	Commit  gitstore.OID
	Author  string // the name alone: addresses are not for every reader
	Message string
	When    time.Time
}

// History lists the versions of a page, the latest first, beginning with the one that was read. A page that was moved begins anew.
func (s *Service) History(ctx context.Context, of bus.Entity, p *Page, req paging.Request) (found paging.Result[Version], err error) {
	repo, commit, err := s.tip(ctx, of)
	if err == nil && commit == gitstore.EmptyTree {
		err = errMissing
	}
	if err != nil {
		return found, err
	}
	commits, more, err := repo.Log(ctx, gitstore.LogQuery{From: []gitstore.OID{p.Commit}, Path: p.path, Skip: req.Offset(), Limit: req.PerPage})
	if err != nil {
		return found, repository.Found(err, "Wiki Page")
	}
	found.More = more
	for _, c := range commits {
		found.Items = append(found.Items, Version{Commit: c.ID, Author: c.Author.Name, Message: c.Message, When: c.Author.When})
	}
	return found, nil
}
