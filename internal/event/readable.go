package event

import (
	"context"
	"slices"
	"time"

	"stithy/internal/issue"
	"stithy/internal/kit/access"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
	"stithy/internal/snippet"
	"stithy/internal/user"
)

// Shown is an event with what it is about, for a reader who may read that.
type Shown struct {
	Event
	Author      user.Brief
	Project     *project.Project // that it happened in
	TargetIID   *int64
	TargetTitle *string
	In          *project.Project // where that is now, nil if there is nothing to look at any more
	Note        *Note            // of a comment
}

// Note is a comment, with who made it and what it is about.
type Note struct {
	targetNote
	Author    *user.Brief
	AboutIID  *int64  // the number of the issue
	aboutName *string // its title, or that of the snippet
	in        *project.Project
}

// targetNote, targetIssue, targetSnippet and targetMilestone are what is known of things that events are about.
type targetNote struct {
	ID              int64
	IssueID         *int64
	SnippetID       *int64
	CommitProjectID *int64
	CommitSHA       []byte
	AuthorID        *int64
	Thread          bool
	System          bool
	Internal        bool
	Body            string // the beginning of it
	CreatedAt       time.Time
	UpdatedAt       time.Time
}

type targetIssue struct {
	ID, ProjectID, IID          int64
	AuthorID                    *int64
	Title                       string
	Confidential, Hidden, Given bool
}

type targetSnippet struct {
	ID, ProjectID int64
	AuthorID      *int64
	Title         string
	Visibility    access.Visibility
	Hidden        bool
}

type targetMilestone struct {
	ID, IID int64
	Title   string
}

// around is all that a page of events is about, as it is now. It takes a query for each kind of thing, however many events there are.
type around struct {
	by         access.Actor
	people     map[int64]user.Brief
	projects   map[int64]*project.Project // that the reader sees
	notes      map[int64]targetNote
	issues     map[int64]targetIssue
	snippets   map[int64]targetSnippet
	milestones map[int64]targetMilestone
}

// ids collects some, each once.
type ids []int64

func (all *ids) add(more ...*int64) {
	for _, id := range more {
		if id != nil && !slices.Contains(*all, *id) {
			*all = append(*all, *id)
		}
	}
}

// find reads rows by their ids.
func find[T any](ctx context.Context, s *Service, sql string, of ids, key func(T) int64, more ...any) (map[int64]T, error) {
	found := make(map[int64]T, len(of))
	if len(of) == 0 {
		return found, nil
	}
	rows, err := postgres.All[T](ctx, s.deps.DB, sql, append([]any{[]int64(of)}, more...)...)
	for _, row := range rows {
		found[key(row)] = row
	}
	return found, err
}

// gather reads what some events are about.
func (s *Service) gather(ctx context.Context, by access.Actor, events []Event) (x around, err error) {
	x.by = by
	var people, projects, notes, issues, snippets, milestones ids
	for n := range events {
		e := &events[n]
		people.add(&e.AuthorID)
		projects.add(&e.ProjectID)
		switch e.TargetType {
		case ofNote, ofDiscussionNote, ofDiffNote:
			notes.add(e.TargetID)
		case OfIssue:
			issues.add(e.TargetID)
		case OfMilestone:
			milestones.add(e.TargetID)
		}
	}
	if x.notes, err = find(ctx, s, sqlNotes, notes, func(n targetNote) int64 { return n.ID }); err != nil {
		return x, err
	}
	for _, n := range x.notes {
		people.add(n.AuthorID)
		projects.add(n.CommitProjectID)
		issues.add(n.IssueID)
		snippets.add(n.SnippetID)
	}
	if x.issues, err = find(ctx, s, sqlIssues, issues, func(i targetIssue) int64 { return i.ID }, by.ID()); err != nil {
		return x, err
	}
	if x.snippets, err = find(ctx, s, sqlSnippets, snippets, func(t targetSnippet) int64 { return t.ID }); err != nil {
		return x, err
	}
	if x.milestones, err = find(ctx, s, sqlMilestones, milestones, func(m targetMilestone) int64 { return m.ID }); err != nil {
		return x, err
	}
	// What was said about an issue goes with it to another project.
	for _, i := range x.issues {
		projects.add(&i.ProjectID)
	}
	for _, t := range x.snippets {
		projects.add(&t.ProjectID)
	}
	if x.people, err = s.deps.Users.Briefs(ctx, people...); err != nil {
		return x, err
	}
	x.projects, err = s.deps.Projects.Among(ctx, by, projects)
	return x, err
}

// readable are those of some events that an actor may read now.
func (s *Service) readable(ctx context.Context, by access.Actor, events []Event) ([]Shown, error) {
	shown := []Shown{}
	if len(events) == 0 {
		return shown, nil
	}
	x, err := s.gather(ctx, by, events)
	if err != nil {
		return nil, err
	}
	for _, e := range events {
		if one, ok := x.show(e); ok {
			shown = append(shown, one)
		}
	}
	return shown, nil
}

// show decides. What is done by people who are banned is known to administrators alone.
func (x around) show(e Event) (Shown, bool) {
	author, known := x.people[e.AuthorID]
	p := x.projects[e.ProjectID]
	if !known || p == nil || (author.State == user.Banned && !x.by.Admin()) {
		return Shown{}, false
	}
	one := Shown{Event: e, Author: author, Project: p, TargetIID: e.TargetID}
	ok := false
	switch e.TargetType {
	case "":
		ok = e.Action != Pushed || access.Holds(x.by, access.ReadCode, p.Target())
	case OfIssue:
		i, there := x.readsIssue(e.TargetID)
		one.TargetIID, one.TargetTitle, one.In, ok = &i.IID, &i.Title, x.projects[i.ProjectID], there
	case ofNote, ofDiscussionNote, ofDiffNote:
		if one.Note, ok = x.note(e.TargetID); ok {
			one.TargetTitle, one.In = one.Note.aboutName, one.Note.in
		}
	case OfMilestone:
		if ok = access.Holds(x.by, access.ReadProjectMilestones, p.Target()); e.Title != "" {
			one.TargetTitle = &e.Title
		}
		if m, there := x.milestones[*e.TargetID]; there {
			one.TargetIID, one.TargetTitle, one.In = &m.IID, &m.Title, p
		}
	case OfWikiPage:
		if one.TargetTitle, ok = &e.Title, access.Holds(x.by, access.ReadProjectWiki, p.Target()); e.Action != Destroyed {
			one.In = p
		}
	}
	return one, ok
}

// readsIssue finds an issue that the reader may read. One that is gone says no more who might.
func (x around) readsIssue(id *int64) (i targetIssue, ok bool) {
	if i, ok = x.issues[*id]; !ok {
		return i, false
	}
	p := x.projects[i.ProjectID]
	as := issue.Issue{AuthorID: i.AuthorID, Confidential: i.Confidential, Hidden: i.Hidden}
	if i.Given {
		as.AssigneeIDs = []int64{x.by.ID()}
	}
	return i, p != nil && issue.RightsOf(x.by, p, &as).Read
}

// note finds a comment that the reader may read, wherever it is now.
func (x around) note(id *int64) (*Note, bool) {
	row, ok := x.notes[*id]
	if !ok || row.System {
		return nil, false
	}
	n := Note{targetNote: row}
	if n.AuthorID != nil {
		if b, known := x.people[*n.AuthorID]; known {
			n.Author = &b
		}
		if n.Author != nil && n.Author.State == user.Banned && !x.by.Admin() {
			return nil, false
		}
	}
	switch {
	case n.IssueID != nil:
		i, reads := x.readsIssue(n.IssueID)
		if !reads {
			return nil, false
		}
		n.AboutIID, n.aboutName = &i.IID, &i.Title
		n.in = x.projects[i.ProjectID]
		target := n.in.Target()
		return &n, access.Holds(x.by, access.ReadNotes, target) && (!n.Internal || access.Holds(x.by, access.ReadInternalNotes, target))
	case n.SnippetID != nil:
		t, there := x.snippets[*n.SnippetID]
		p := x.projects[t.ProjectID]
		if !there || p == nil {
			return nil, false
		}
		n.aboutName, n.in = &t.Title, p
		as := snippet.Snippet{ID: t.ID, AuthorID: t.AuthorID, ProjectID: &t.ProjectID, Visibility: t.Visibility, Hidden: t.Hidden}
		return &n, snippet.MayRead(x.by, p, &as) && access.Holds(x.by, access.ReadSnippetNotes, p.Target())
	case n.CommitProjectID != nil:
		p := x.projects[*n.CommitProjectID]
		n.in = p
		return &n, p != nil && access.Holds(x.by, access.ReadCodeNotes, p.Target())
	}
	return nil, false
}
