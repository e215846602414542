package board

import (
	"context"
	"net/http"
	"slices"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/httpapi"
	"stithy/internal/kit/paging"
	"stithy/internal/owner"
)

var (
	toRead   = owner.Needs{Group: access.ReadGroupBoards, Project: access.ReadProjectBoards}
	toManage = owner.Needs{Group: access.AdminGroupBoards, Project: access.AdminProjectBoards}
)

const ofTier = "404 on the free tier, where a group has one board"

// Endpoints of the room.
func (s *Service) Endpoints() []httpapi.Endpoint {
	in := s.deps.Owners
	return slices.Concat(
		owner.On(in, httpapi.Spec{Route: "GET /boards", Summary: "List the issue boards of a {owner}."}, toRead, s.handleList),
		[]httpapi.Endpoint{
			owner.OnProject(in, httpapi.Spec{
				Route: "POST /boards", Status: http.StatusCreated, Summary: "Create an issue board of a {owner}.",
			}, toManage.Project, s.handleCreate),
			owner.OnGroup(in, httpapi.Spec{
				Route: "POST /boards", Status: http.StatusCreated, Summary: "Create an issue board of a {owner}.", ExtraRefusals: ofTier,
			}, toManage.Group, s.handleCreateOfGroup),
			owner.OnProject(in, httpapi.Spec{
				Route: "DELETE /boards/{board_id}", Summary: "Delete an issue board of a {owner}.",
			}, toManage.Project, s.handleDelete),
			owner.OnGroup(in, httpapi.Spec{
				Route: "DELETE /boards/{board_id}", Summary: "Delete an issue board of a {owner}.", ExtraRefusals: ofTier,
			}, toManage.Group, s.handleDeleteOfGroup),
		},
		owner.On(in, httpapi.Spec{Route: "GET /boards/{board_id}", Summary: "Show an issue board of a {owner}."}, toRead, s.handleGet),
		owner.On(in, httpapi.Spec{Route: "PUT /boards/{board_id}", Summary: "Change an issue board of a {owner}."}, toManage, s.handleUpdate),
		owner.On(in, httpapi.Spec{
			Route: "GET /boards/{board_id}/lists", Summary: "List the lists of an issue board of a {owner}.",
			Note: "Those of open and of closed issues, which every board has, are not among them.",
		}, toRead, s.handleLists),
		owner.On(in, httpapi.Spec{
			Route: "POST /boards/{board_id}/lists", Status: http.StatusCreated, Summary: "Add a list to an issue board of a {owner}.",
			Note: "It stands for a label, or where the tier has them for a milestone or a person.",
		}, toManage, s.handleAddList),
		owner.On(in, httpapi.Spec{
			Route: "GET /boards/{board_id}/lists/{list_id}", Summary: "Show a list of an issue board of a {owner}.",
		}, toRead, s.handleGetList),
		owner.On(in, httpapi.Spec{
			Route: "PUT /boards/{board_id}/lists/{list_id}", Summary: "Move a list of an issue board of a {owner}.",
		}, toManage, s.handleMoveList),
		owner.On(in, httpapi.Spec{
			Route: "DELETE /boards/{board_id}/lists/{list_id}", Summary: "Delete a list of an issue board of a {owner}.",
		}, toManage, s.handleRemoveList),
	)
}

type listParams struct {
	owner.Ref
	httpapi.Paging
}

func (s *Service) handleList(ctx context.Context, call httpapi.Call[*owner.Owner, listParams]) (none httpapi.List[boardForm], err error) {
	req, err := call.Params.Request()
	if err != nil {
		return none, err
	}
	page, err := s.List(ctx, call.Subject.Entity, req)
	if err != nil {
		return none, err
	}
	form, err := s.forms(ctx, call.Actor, call.Subject, page.Items...)
	return httpapi.ListOf(req, page, form), err
}

type createParams struct {
	owner.Ref
	Name string `param:"name" required:"true" doc:"Name of the board, 255 characters at the most"`
}

func (s *Service) handleCreate(ctx context.Context, call httpapi.Call[*owner.Owner, createParams]) (boardForm, error) {
	b, err := s.Create(ctx, call.Actor, call.Subject.Entity, call.Params.Name)
	return s.present(ctx, call.Actor, call.Subject, b, err)
}

func (s *Service) handleCreateOfGroup(ctx context.Context, call httpapi.Call[*owner.Owner, createParams]) (boardForm, error) {
	if !s.enterprise() {
		return boardForm{}, fault.New(fault.NotFound)
	}
	return s.handleCreate(ctx, call)
}

type boardRef struct {
	owner.Ref
	BoardID int64 `param:"board_id" doc:"ID of the board"`
}

func (s *Service) handleGet(ctx context.Context, call httpapi.Call[*owner.Owner, boardRef]) (boardForm, error) {
	b, err := s.Find(ctx, call.Subject.Entity, call.Params.BoardID)
	return s.present(ctx, call.Actor, call.Subject, b, err)
}

func (s *Service) handleDelete(ctx context.Context, call httpapi.Call[*owner.Owner, boardRef]) (httpapi.NoContent, error) {
	return httpapi.NoContent{}, s.Delete(ctx, call.Actor, call.Subject.Entity, call.Params.BoardID)
}

func (s *Service) handleDeleteOfGroup(ctx context.Context, call httpapi.Call[*owner.Owner, boardRef]) (httpapi.NoContent, error) {
	if !s.enterprise() {
		return httpapi.NoContent{}, fault.New(fault.NotFound)
	}
	return s.handleDelete(ctx, call)
}

type updateParams struct {
	boardRef
	Name            httpapi.Opt[string] `param:"name" doc:"Name of the board, 255 characters at the most"`
	HideBacklogList httpapi.Opt[bool]   `param:"hide_backlog_list" doc:"Whether pages leave the list of open issues out"`
	HideClosedList  httpapi.Opt[bool]   `param:"hide_closed_list" doc:"Whether pages leave the list of closed issues out"`
}

func (p updateParams) change() (c Change) {
	if p.Name.Given {
		c.Name = &p.Name.Value
	}
	c.HideBacklogList, c.HideClosedList = p.HideBacklogList.Ptr(), p.HideClosedList.Ptr()
	return c
}

func (s *Service) handleUpdate(ctx context.Context, call httpapi.Call[*owner.Owner, updateParams]) (boardForm, error) {
	b, err := s.Update(ctx, call.Actor, call.Subject.Entity, call.Params.BoardID, call.Params.change())
	return s.present(ctx, call.Actor, call.Subject, b, err)
}

type listsParams struct {
	boardRef
	httpapi.Paging
}

func (s *Service) handleLists(ctx context.Context, call httpapi.Call[*owner.Owner, listsParams]) (none httpapi.List[listForm], err error) {
	req, err := call.Params.Request()
	if err != nil {
		return none, err
	}
	b, err := s.Find(ctx, call.Subject.Entity, call.Params.BoardID)
	if err != nil {
		return none, err
	}
	lists, err := s.Lists(ctx, b.ID)
	if err != nil {
		return none, err
	}
	page := paging.Cut(lists[b.ID], req)
	form, err := s.listForms(ctx, call.Subject, page.Items...)
	return httpapi.ListOf(req, page, form), err
}

type listRef struct {
	boardRef
	ListID int64 `param:"list_id" doc:"ID of the list"`
}

func (s *Service) handleGetList(ctx context.Context, call httpapi.Call[*owner.Owner, listRef]) (listForm, error) {
	l, err := s.FindList(ctx, call.Subject.Entity, call.Params.BoardID, call.Params.ListID)
	return s.presentList(ctx, call.Subject, l, err)
}

type addListParams struct {
	boardRef
	LabelID     httpapi.Opt[int64] `param:"label_id" doc:"ID of the label that the list stands for"`
	MilestoneID httpapi.Opt[int64] `param:"milestone_id" doc:"ID of the milestone that the list stands for; not on the free tier"`
	AssigneeID  httpapi.Opt[int64] `param:"assignee_id" doc:"ID of the person that the list stands for; not on the free tier"`
}

// subject wants one thing that the list stands for: a label where there is nothing else to choose from.
func (p addListParams) subject(enterprise bool) (Subject, error) {
	if !enterprise {
		if p.LabelID.Ptr() == nil {
			return Subject{}, fault.WithMessage(fault.BadParams, "label_id is missing")
		}
		return Subject{LabelID: p.LabelID.Ptr()}, nil
	}
	given := 0
	for _, o := range []httpapi.Opt[int64]{p.LabelID, p.MilestoneID, p.AssigneeID} {
		if o.Ptr() != nil {
			given++
		}
	}
	switch {
	case given == 0:
		return Subject{}, fault.WithMessage(fault.BadParams, "label_id, milestone_id, assignee_id are missing, exactly one parameter must be provided")
	case given > 1:
		return Subject{}, fault.WithMessage(fault.BadParams, "label_id, milestone_id, assignee_id are mutually exclusive")
	}
	return Subject{LabelID: p.LabelID.Ptr(), MilestoneID: p.MilestoneID.Ptr(), UserID: p.AssigneeID.Ptr()}, nil
}

func (s *Service) handleAddList(ctx context.Context, call httpapi.Call[*owner.Owner, addListParams]) (listForm, error) {
	subject, err := call.Params.subject(s.enterprise())
	if err != nil {
		return listForm{}, err
	}
	l, err := s.AddList(ctx, call.Actor, call.Subject.Entity, call.Params.BoardID, subject)
	return s.presentList(ctx, call.Subject, l, err)
}

type moveListParams struct {
	listRef
	Position int `param:"position" required:"true" doc:"Where the list comes to stand, from 0"`
}

func (s *Service) handleMoveList(ctx context.Context, call httpapi.Call[*owner.Owner, moveListParams]) (listForm, error) {
	p := call.Params
	l, err := s.MoveList(ctx, call.Actor, call.Subject.Entity, p.BoardID, p.ListID, p.Position)
	return s.presentList(ctx, call.Subject, l, err)
}

func (s *Service) handleRemoveList(ctx context.Context, call httpapi.Call[*owner.Owner, listRef]) (httpapi.NoContent, error) {
	return httpapi.NoContent{}, s.RemoveList(ctx, call.Actor, call.Subject.Entity, call.Params.BoardID, call.Params.ListID)
}
