package note

import (
	"context"

	"stithy/internal/kit/access"
	"stithy/internal/kit/emoji"
	"stithy/internal/platform/postgres"
)

// Reaction is how many people gave the same emoji to something.
type Reaction struct {
	NoteID int64 // 0 of the issue itself
	Name   string
	Count  int
	Mine   bool
}

// Reactions are the emoji of an issue and of some of its notes, by the id of the note, in the order in which they came.
func (s *Service) Reactions(ctx context.Context, a access.Actor, at AtIssue, noteIDs []int64) (map[int64][]Reaction, error) {
	found, err := postgres.All[Reaction](ctx, s.deps.DB, sqlReactions, at.Issue.ID, noteIDs, a.ID())
	all := map[int64][]Reaction{}
	for _, r := range found {
		all[r.NoteID] = append(all[r.NoteID], r)
	}
	return all, err
}

// Toggle takes an emoji back that the actor gave, or gives it.
func (s *Service) Toggle(ctx context.Context, by access.Actor, to Subject, name string) error {
	taken, err := s.deps.DB.Exec(ctx, sqlTakeOwn, to.keys(by.ID(), emoji.Plain(name))...)
	if err != nil || taken.RowsAffected() > 0 {
		return err
	}
	_, err = s.Give(ctx, by, to, name)
	return err
}
