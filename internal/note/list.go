package note

import (
	"context"
	"encoding/hex"

	"stithy/internal/kit/access"
	"stithy/internal/kit/paging"
	"stithy/internal/platform/postgres"
)

// Which says what of an issue's notes is listed.
type Which string

const (
	All      Which = "all_notes"
	Comments Which = "only_comments"
	Activity Which = "only_activity" // what the instance noted
)

// List reads one page of the notes about an issue that an actor may read, by when they were made or changed.
func (s *Service) List(ctx context.Context, a access.Actor, at Place, which Which, req paging.Request) (paging.Result[Note], error) {
	l, err := s.readable(ctx, a, at)
	if err != nil {
		return paging.Result[Note]{}, err
	}
	switch which {
	case Comments:
		l.Where("not n.system")
	case Activity:
		l.Where("n.system")
	}
	key := postgres.Key{Expr: "n.created_at", Desc: req.Desc}
	if req.OrderBy == "updated_at" {
		key.Expr = "n.updated_at"
	}
	l.Columns("n.id").Order(key, postgres.Key{Expr: "n.id", Desc: req.Desc}).Details("join notes n on n.id = page.id", listColumns)
	return paging.Fetch[Note](ctx, s.deps.DB, l, req, nil)
}

// readable is the notes about an issue that an actor may read, who reads the issue: not the internal ones of those who report, nor those that name an
// issue which is hidden from the actor.
func (s *Service) readable(ctx context.Context, a access.Actor, at Place) (*postgres.List, error) {
	l := postgres.From("notes n").Where("n.issue_id = ?", at.Issue.ID)
	if !readsInternal(a, at.Project) {
		l.Where("not n.internal")
	}
	if !a.Admin() {
		l.Where(notBanned)
	}
	named, err := postgres.Values[int64](ctx, s.deps.DB, sqlReferences, at.Issue.ID)
	if err != nil || len(named) == 0 {
		return l, err
	}
	read, err := s.deps.Issues.ReadableAmong(ctx, a, named)
	return l.Where("n.refers_to_id is null or n.refers_to_id = any(?::bigint[])", read), err
}

// Discussion is what was said to each other: one note that stands alone, or one and its replies.
type Discussion []Note

// begun is the note that a discussion begins with.
type begun struct {
	ID           int64
	DiscussionID []byte
}

// Discussions reads one page of the discussions about an issue that an actor may read, the oldest first.
func (s *Service) Discussions(ctx context.Context, a access.Actor, at Place, req paging.Request) (paging.Result[Discussion], error) {
	l, err := s.readable(ctx, a, at)
	if err != nil {
		return paging.Result[Discussion]{}, err
	}
	l.Where("n.first").Columns("n.id, n.discussion_id").Order(postgres.Key{Expr: "n.created_at"}, postgres.Key{Expr: "n.id"})
	page, err := paging.Fetch[begun](ctx, s.deps.DB, l, req, nil)
	if err != nil {
		return paging.Result[Discussion]{}, err
	}
	ids := make([][]byte, len(page.Items))
	for n := range page.Items {
		ids[n] = page.Items[n].DiscussionID
	}
	said, err := s.said(ctx, a, at, ids...)
	return paging.Map(page, func(b begun) Discussion { return said[hex.EncodeToString(b.DiscussionID)] }), err
}

// said are the notes of some discussions about an issue, by the id of the discussion.
func (s *Service) said(ctx context.Context, a access.Actor, at Place, discussions ...[]byte) (map[string]Discussion, error) {
	notes, err := postgres.All[Note](ctx, s.deps.DB, sqlDiscussions, discussions, at.Issue.ID, a.Admin())
	said := map[string]Discussion{}
	for _, n := range notes {
		said[n.Discussion()] = append(said[n.Discussion()], n)
	}
	return said, err
}

// FindDiscussion reads a discussion about an issue, by its id as it is written, for an actor who reads the issue.
func (s *Service) FindDiscussion(ctx context.Context, a access.Actor, at Place, text string) (Discussion, error) {
	id, ok := parseDiscussion(text)
	if !ok {
		return nil, errNoDiscussion
	}
	first, err := s.first(ctx, s.deps.DB, a, at, id)
	if err != nil {
		return nil, err
	}
	if first.RefersToID != nil {
		if read, err := s.deps.Issues.ReadableAmong(ctx, a, []int64{*first.RefersToID}); err != nil {
			return nil, err
		} else if len(read) == 0 {
			return nil, errNoDiscussion
		}
	}
	said, err := s.said(ctx, a, at, id)
	return said[text], err
}
