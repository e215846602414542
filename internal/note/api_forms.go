package note

import (
	"context"

	"stithy/internal/issue"
	"stithy/internal/kit/httpapi"
	"stithy/internal/user"
)

// noteForm is a note on the wire.
type noteForm struct {
	ID              int64              `json:"id"`
	Type            *string            `json:"type"`
	Body            string             `json:"body"`
	Attachment      *string            `json:"attachment"`
	Author          *user.Public       `json:"author"`
	CreatedAt       httpapi.Time       `json:"created_at"`
	UpdatedAt       httpapi.Time       `json:"updated_at"`
	System          bool               `json:"system"`
	NoteableID      *int64             `json:"noteable_id"` // null of a commit
	NoteableType    string             `json:"noteable_type"`
	ProjectID       int64              `json:"project_id"`
	Position        *positionForm      `json:"position,omitempty"` // of what is said about a part of a diff
	Resolvable      bool               `json:"resolvable"`
	Confidential    bool               `json:"confidential"`
	Internal        bool               `json:"internal"`
	NoteableIID     *int               `json:"noteable_iid"` // of an issue
	CommandsChanges issue.CommandsForm `json:"commands_changes"`
}

// commandsForm is what commands did that were all that was said.
type commandsForm struct {
	CommandsChanges issue.CommandsForm `json:"commands_changes"`
	Summary         []string           `json:"summary"`
}

type (
	noteReply       = httpapi.Either[noteForm, httpapi.NothingCreated[commandsForm]]
	discussionReply = httpapi.Either[discussionForm, httpapi.NothingCreated[commandsForm]]
)

func obeyed(said *Said) httpapi.NothingCreated[commandsForm] {
	return httpapi.NothingCreated[commandsForm]{Body: commandsForm{CommandsChanges: said.Commands.Changes, Summary: said.Commands.Summary}}
}

// discussionForm is a discussion on the wire.
type discussionForm struct {
	ID             string     `json:"id"`
	IndividualNote bool       `json:"individual_note"`
	Notes          []noteForm `json:"notes"`
}

// presenter presents notes about a thing, of which it is told before.
func (s *Service) presenter(ctx context.Context, at Place, notes ...Note) (func(Note) noteForm, error) {
	authors := make([]*int64, len(notes))
	for n := range notes {
		authors[n] = notes[n].AuthorID
	}
	person, err := s.deps.Users.PublicForms(ctx, authors...)
	return func(n Note) noteForm {
		form := noteForm{
			ID: n.ID, Body: n.Body, Author: person(n.AuthorID), CreatedAt: httpapi.Time(n.CreatedAt), UpdatedAt: httpapi.Time(n.UpdatedAt), System: n.System,
			NoteableID: at.id(), NoteableType: at.kind().name, ProjectID: at.In().ID, Confidential: n.Internal, Internal: n.Internal, NoteableIID: at.number(),
		}
		switch commit, of := at.(AtCommit); {
		case of && n.Thread && n.Position != nil:
			form.Type, form.Position = new("DiffNote"), newPositionForm(commit.refs(), n.Position)
		case n.Thread:
			form.Type = new("DiscussionNote")
		}
		return form
	}, err
}

// showSaid presents what came of something that was said.
func (s *Service) showSaid(ctx context.Context, at Place, said *Said, err error) (reply noteReply, _ error) {
	switch {
	case err != nil:
		return reply, err
	case said.Note == nil:
		return reply.Other(obeyed(said)), nil
	}
	form, err := s.show(ctx, at, said.Note, nil)
	form.CommandsChanges = said.Commands.Changes
	return reply.One(form), err
}

// show presents one note.
func (s *Service) show(ctx context.Context, at Place, n *Note, err error) (noteForm, error) {
	if err != nil {
		return noteForm{}, err
	}
	present, err := s.presenter(ctx, at, *n)
	return present(*n), err
}

func formOf(d Discussion, present func(Note) noteForm) discussionForm {
	form := discussionForm{Notes: make([]noteForm, len(d))}
	for i, n := range d {
		form.Notes[i] = present(n)
	}
	if len(d) > 0 {
		form.ID, form.IndividualNote = d[0].Discussion(), !d[0].Thread
	}
	return form
}

// showDiscussion presents one discussion.
func (s *Service) showDiscussion(ctx context.Context, at Place, d Discussion, err error) (discussionForm, error) {
	if err != nil {
		return discussionForm{}, err
	}
	present, err := s.presenter(ctx, at, d...)
	return formOf(d, present), err
}

// showBegun presents a discussion that begins with something that was said.
func (s *Service) showBegun(ctx context.Context, at Place, said *Said, err error) (discussionForm, error) {
	if err != nil {
		return discussionForm{}, err
	}
	form, err := s.showDiscussion(ctx, at, Discussion{*said.Note}, nil)
	if err == nil {
		form.Notes[0].CommandsChanges = said.Commands.Changes
	}
	return form, err
}
