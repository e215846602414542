package note

import (
	"context"
	"net/http"

	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi"
	"stithy/internal/user"
)

// awardForm is an emoji on the wire.
type awardForm struct {
	ID            int64        `json:"id"`
	Name          string       `json:"name"`
	User          *user.Public `json:"user"`
	CreatedAt     httpapi.Time `json:"created_at"`
	UpdatedAt     httpapi.Time `json:"updated_at"`
	AwardableID   int64        `json:"awardable_id"`
	AwardableType string       `json:"awardable_type"`
	URL           *string      `json:"url"` // of a picture that is no emoji of all
}

// awardEndpoints are the same for a thing and for a note about it.
func awardEndpoints[Ref any](s *Service, of parent[Ref]) []httpapi.Endpoint {
	const (
		things = "/award_emoji"
		notes  = "/notes/{note_id:digits}/award_emoji"
		one    = "/{award_id:digits}"
	)
	return []httpapi.Endpoint{
		below(of, httpapi.Spec{Route: "GET " + things, Needs: of.see, Summary: "List the emoji of {thing}."}, s.handleAwards),
		below(of, httpapi.Spec{Route: "GET " + things + one, Needs: of.see, Summary: "Show an emoji of {thing}."}, s.handleAward),
		below(of, httpapi.Spec{
			Route: "POST " + things, Needs: of.award, Status: http.StatusCreated, Summary: "Give an emoji to {thing}.", Limit: "notes_create",
		}, s.handleGive),
		below(of, httpapi.Spec{
			Route: "DELETE " + things + one, Needs: of.award, Summary: "Take an emoji of {thing} back.", ExtraRefusals: "401 to who did not give it",
		}, s.handleTake),
		below(of, httpapi.Spec{Route: "GET " + notes, Needs: of.read, Summary: "List the emoji of a note about {thing}."}, s.handleNoteAwards),
		below(of, httpapi.Spec{Route: "GET " + notes + one, Needs: of.read, Summary: "Show an emoji of a note about {thing}."}, s.handleNoteAward),
		below(of, httpapi.Spec{
			Route: "POST " + notes, Needs: of.award, Status: http.StatusCreated, Summary: "Give an emoji to a note about {thing}.", Limit: "notes_create",
		}, s.handleGiveNote),
		below(of, httpapi.Spec{
			Route: "DELETE " + notes + one, Needs: of.award, Summary: "Take an emoji of a note about {thing} back.", ExtraRefusals: "401 to who did not give it",
		}, s.handleTakeNote),
	}
}

// subject is what an emoji belongs to: a thing, or one of its notes that the actor may read.
func (s *Service) subject(ctx context.Context, a access.Actor, at Place, noteID int64) (Subject, error) {
	if noteID == 0 {
		return Subject{Place: at}, nil
	}
	n, err := s.Find(ctx, a, at, noteID)
	return Subject{Place: at, Note: n}, err
}

func (s *Service) showAward(ctx context.Context, a *Award, err error) (awardForm, error) {
	if err != nil {
		return awardForm{}, err
	}
	person, err := s.deps.Users.PublicForms(ctx, &a.UserID)
	return presentAward(*a, person), err
}

func presentAward(a Award, person func(*int64) *user.Public) awardForm {
	form := awardForm{
		ID: a.ID, Name: a.Name, User: person(&a.UserID), CreatedAt: httpapi.Time(a.CreatedAt), UpdatedAt: httpapi.Time(a.CreatedAt),
	}
	switch {
	case a.NoteID != nil:
		form.AwardableID, form.AwardableType = *a.NoteID, "Note"
	case a.SnippetID != nil:
		form.AwardableID, form.AwardableType = *a.SnippetID, AtSnippet{}.kind().name
	default:
		form.AwardableID, form.AwardableType = *a.IssueID, AtIssue{}.kind().name
	}
	return form
}

func (s *Service) listAwards(ctx context.Context, a access.Actor, at Place, noteID int64, page httpapi.Paging) (none httpapi.List[awardForm], err error) {
	req, err := page.Request()
	if err != nil {
		return none, err
	}
	of, err := s.subject(ctx, a, at, noteID)
	if err != nil {
		return none, err
	}
	awards, err := s.Awards(ctx, of, req)
	if err != nil {
		return none, err
	}
	givers := make([]*int64, len(awards.Items))
	for n := range awards.Items {
		givers[n] = &awards.Items[n].UserID
	}
	person, err := s.deps.Users.PublicForms(ctx, givers...)
	return httpapi.ListOf(req, awards, func(a Award) awardForm { return presentAward(a, person) }), err
}

func (s *Service) getAward(ctx context.Context, a access.Actor, at Place, noteID, id int64) (awardForm, error) {
	of, err := s.subject(ctx, a, at, noteID)
	if err != nil {
		return awardForm{}, err
	}
	award, err := s.FindAward(ctx, of, id)
	return s.showAward(ctx, award, err)
}

func (s *Service) giveTo(ctx context.Context, a access.Actor, at Place, noteID int64, name string) (awardForm, error) {
	to, err := s.subject(ctx, a, at, noteID)
	if err != nil {
		return awardForm{}, err
	}
	award, err := s.Give(ctx, a, to, name)
	return s.showAward(ctx, award, err)
}

func (s *Service) take(ctx context.Context, a access.Actor, at Place, noteID, id int64) (httpapi.NoContent, error) {
	of, err := s.subject(ctx, a, at, noteID)
	if err == nil {
		err = s.Take(ctx, a, of, id)
	}
	return httpapi.NoContent{}, err
}

type awardRef struct {
	AwardID int64 `param:"award_id" doc:"ID of the emoji that was given"`
}

type nameParam struct {
	Name string `param:"name" required:"true" doc:"Name of the emoji, without colons"`
}

type noteAwardsParams struct {
	noteRef
	httpapi.Paging
}

type noteAwardRef struct {
	noteRef
	AwardID int64 `param:"award_id" doc:"ID of the emoji that was given"`
}

type giveNoteParams struct {
	noteRef
	nameParam
}

func (s *Service) handleAwards(ctx context.Context, call httpapi.Call[Place, discussionsParams]) (httpapi.List[awardForm], error) {
	return s.listAwards(ctx, call.Actor, call.Subject, 0, call.Params.Paging)
}

func (s *Service) handleAward(ctx context.Context, call httpapi.Call[Place, awardRef]) (awardForm, error) {
	return s.getAward(ctx, call.Actor, call.Subject, 0, call.Params.AwardID)
}

func (s *Service) handleGive(ctx context.Context, call httpapi.Call[Place, nameParam]) (awardForm, error) {
	return s.giveTo(ctx, call.Actor, call.Subject, 0, call.Params.Name)
}

func (s *Service) handleTake(ctx context.Context, call httpapi.Call[Place, awardRef]) (httpapi.NoContent, error) {
	return s.take(ctx, call.Actor, call.Subject, 0, call.Params.AwardID)
}

func (s *Service) handleNoteAwards(ctx context.Context, call httpapi.Call[Place, noteAwardsParams]) (httpapi.List[awardForm], error) {
	return s.listAwards(ctx, call.Actor, call.Subject, call.Params.NoteID, call.Params.Paging)
}

func (s *Service) handleNoteAward(ctx context.Context, call httpapi.Call[Place, noteAwardRef]) (awardForm, error) {
	return s.getAward(ctx, call.Actor, call.Subject, call.Params.NoteID, call.Params.AwardID)
}

func (s *Service) handleGiveNote(ctx context.Context, call httpapi.Call[Place, giveNoteParams]) (awardForm, error) {
	return s.giveTo(ctx, call.Actor, call.Subject, call.Params.NoteID, call.Params.Name)
}

func (s *Service) handleTakeNote(ctx context.Context, call httpapi.Call[Place, noteAwardRef]) (httpapi.NoContent, error) {
	return s.take(ctx, call.Actor, call.Subject, call.Params.NoteID, call.Params.AwardID)
}
