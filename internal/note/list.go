package note

import (
	"context"
	"encoding/hex"

	"stithy/internal/kit/access"
	"stithy/internal/kit/paging"
	"stithy/internal/platform/postgres"
)

// Which says what of the notes about a thing is listed.
type Which string

const (
	All      Which = "all_notes"
	Comments Which = "only_comments"
	Activity Which = "only_activity" // what the instance noted
)

// List reads one page of the notes about a thing that an actor may read, by when they were made or changed.
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

// readable is the notes about a thing that an actor may read, who reads the thing: not the internal ones of those who report, nor those that name an
// issue or a commit which is hidden from the actor.
func (s *Service) readable(ctx context.Context, a access.Actor, at Place) (*postgres.List, error) {
	l := at.notes()
	if !readsInternal(a, at) {
		l.Where("not n.internal")
	}
	if !a.Admin() {
		l.Where(notBanned)
	}
	return l, at.hide(ctx, s, a, l)
}

// hide leaves out what the instance noted of issues and commits that an actor may not read.
func (at AtIssue) hide(ctx context.Context, s *Service, a access.Actor, l *postgres.List) error {
	named, err := postgres.Values[int64](ctx, s.deps.DB, sqlReferences, at.Issue.ID)
	if err != nil {
		return err
	}
	if len(named) > 0 {
		read, err := s.deps.Issues.ReadableAmong(ctx, a, named)
		if err != nil {
			return err
		}
		l.Where("n.refers_to_id is null or n.refers_to_id = any(?::bigint[])", read)
	}
	in, err := postgres.Values[int64](ctx, s.deps.DB, sqlCommitProjects, at.Issue.ID)
	if err != nil {
		return err
	}
	code, err := s.readsCode(ctx, a, in)
	if hidden := without(in, code); len(hidden) > 0 {
		l.Where("not exists (select 1 from issue_commits c where c.note_id = n.id and c.project_id = any(?::bigint[]))", hidden)
	}
	return err
}

// readsNamed reports whether an actor who reads a thing may read what a note about it names.
func (s *Service) readsNamed(ctx context.Context, a access.Actor, n *Note) (bool, error) {
	if n.RefersToID != nil {
		read, err := s.deps.Issues.ReadableAmong(ctx, a, []int64{*n.RefersToID})
		return len(read) > 0, err
	}
	if !n.System {
		return true, nil
	}
	in, err := postgres.Values[int64](ctx, s.deps.DB, sqlCommitProject, n.ID)
	if err != nil || len(in) == 0 {
		return err == nil, err
	}
	code, err := s.readsCode(ctx, a, in)
	return len(code) > 0, err
}

// readsCode are those of some projects whose code an actor may read, by their ids.
func (s *Service) readsCode(ctx context.Context, a access.Actor, ids []int64) (read []int64, err error) {
	if len(ids) == 0 {
		return nil, nil
	}
	projects, err := s.deps.Projects.Among(ctx, a, ids)
	for _, id := range ids {
		if p := projects[id]; p != nil && access.Holds(a, access.ReadCode, p.Target()) {
			read = append(read, id)
		}
	}
	return read, err
}

// Discussion is what was said to each other: one note that stands alone, or one and its replies.
type Discussion []Note

// begun is the note that a discussion begins with.
type begun struct {
	ID           int64
	DiscussionID []byte
}

// Discussions reads one page of the discussions about a thing that an actor may read, the oldest first.
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

// said are the notes of some discussions about a thing, by the id of the discussion.
func (s *Service) said(ctx context.Context, a access.Actor, at Place, discussions ...[]byte) (map[string]Discussion, error) {
	notes, err := postgres.All[Note](ctx, s.deps.DB, sqlDiscussions, at.key().with(discussions, a.Admin())...)
	said := map[string]Discussion{}
	for _, n := range notes {
		said[n.Discussion()] = append(said[n.Discussion()], n)
	}
	return said, err
}

// FindDiscussion reads a discussion about a thing, by its id as it is written, for an actor who reads the thing.
func (s *Service) FindDiscussion(ctx context.Context, a access.Actor, at Place, text string) (Discussion, error) {
	id, ok := parseDiscussion(text)
	if !ok {
		return nil, errNoDiscussion
	}
	first, err := s.first(ctx, s.deps.DB, a, at, id)
	if err != nil {
		return nil, err
	}
	if read, err := s.readsNamed(ctx, a, first); err != nil {
		return nil, err
	} else if !read {
		return nil, errNoDiscussion
	}
	said, err := s.said(ctx, a, at, id)
	return said[first.Discussion()], err
}
