package notification

import (
	"context"
	"slices"

	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/httpapi"
	"stithy/internal/owner"
)

// oneself is who has settings: whoever is signed in, in all that they see.
var oneself = owner.Needs{Group: access.SignIn, Project: access.SignIn}

// Endpoints of the room.
func (s *Service) Endpoints() []httpapi.Endpoint {
	in := s.deps.Owners
	return slices.Concat(
		[]httpapi.Endpoint{
			httpapi.Do(httpapi.Spec{
				Route: "GET /notification_settings", Needs: access.SignIn, Summary: "Show one's own notification settings.",
			}, s.handleGet),
			httpapi.Do(httpapi.Spec{
				Route: "PUT /notification_settings", Needs: access.SignIn, Summary: "Change one's own notification settings.",
			}, s.handleUpdate),
		},
		owner.On(in, httpapi.Spec{
			Route: "GET /notification_settings", Summary: "Show one's own notification settings of a {owner}.",
		}, oneself, s.handleGetOf),
		owner.On(in, httpapi.Spec{
			Route: "PUT /notification_settings", Summary: "Change one's own notification settings of a {owner}.",
		}, oneself, s.handleUpdateOf),
	)
}

// settingForm is a setting of a group or project on the wire.
type settingForm struct {
	Level  Level       `json:"level"`
	Events *eventsForm `json:"events,omitempty"` // with the level custom
}

// globalForm is the setting for everywhere.
type globalForm struct {
	settingForm
	NotificationEmail string `json:"notification_email"`
}

// eventsForm is which events are on.
type eventsForm struct {
	NewRelease                 bool `json:"new_release"`
	NewNote                    bool `json:"new_note"`
	NewIssue                   bool `json:"new_issue"`
	ReopenIssue                bool `json:"reopen_issue"`
	CloseIssue                 bool `json:"close_issue"`
	ReassignIssue              bool `json:"reassign_issue"`
	IssueDue                   bool `json:"issue_due"`
	NewMergeRequest            bool `json:"new_merge_request"`
	PushToMergeRequest         bool `json:"push_to_merge_request"`
	ReopenMergeRequest         bool `json:"reopen_merge_request"`
	CloseMergeRequest          bool `json:"close_merge_request"`
	ReassignMergeRequest       bool `json:"reassign_merge_request"`
	ChangeReviewerMergeRequest bool `json:"change_reviewer_merge_request"`
	MergeMergeRequest          bool `json:"merge_merge_request"`
	FailedPipeline             bool `json:"failed_pipeline"`
	FixedPipeline              bool `json:"fixed_pipeline"`
	SuccessPipeline            bool `json:"success_pipeline"`
	MovedProject               bool `json:"moved_project"`
	MergeWhenPipelineSucceeds  bool `json:"merge_when_pipeline_succeeds"`
	NewEpic                    bool `json:"new_epic"`
	Approver                   bool `json:"approver"`
}

func present(s Setting, err error) (settingForm, error) {
	form := settingForm{Level: s.Level}
	if s.Level == Custom {
		form.Events = &eventsForm{
			NewRelease: s.Has(NewRelease), NewNote: s.Has(NewNote), NewIssue: s.Has(NewIssue), ReopenIssue: s.Has(ReopenIssue),
			CloseIssue: s.Has(CloseIssue), ReassignIssue: s.Has(ReassignIssue), IssueDue: s.Has(IssueDue),
			NewMergeRequest: s.Has(NewMergeRequest), PushToMergeRequest: s.Has(PushToMergeRequest),
			ReopenMergeRequest: s.Has(ReopenMergeRequest), CloseMergeRequest: s.Has(CloseMergeRequest),
			ReassignMergeRequest: s.Has(ReassignMergeRequest), ChangeReviewerMergeRequest: s.Has(ChangeReviewerMergeRequest),
			MergeMergeRequest: s.Has(MergeMergeRequest), FailedPipeline: s.Has(FailedPipeline), FixedPipeline: s.Has(FixedPipeline),
			SuccessPipeline: s.Has(SuccessPipeline), MovedProject: s.Has(MovedProject),
			MergeWhenPipelineSucceeds: s.Has(MergeWhenPipelineSucceeds), NewEpic: s.Has(NewEpic), Approver: s.Has(Approver),
		}
	}
	return form, err
}

// presentGlobal shows the setting for everywhere, with the primary address where no other was chosen.
func (s *Service) presentGlobal(ctx context.Context, userID int64, chosen Setting, err error) (globalForm, error) {
	form, err := present(chosen, err)
	if err != nil {
		return globalForm{}, err
	}
	if chosen.Email != nil {
		return globalForm{settingForm: form, NotificationEmail: *chosen.Email}, nil
	}
	u, err := s.deps.Users.Find(ctx, userID)
	if err != nil {
		return globalForm{}, err
	}
	return globalForm{settingForm: form, NotificationEmail: u.Email}, nil
}

// changeParams are the level and the events.
type changeParams struct {
	Level httpapi.Opt[string] `param:"level" doc:"One of disabled, participating, watch, global, mention and custom"`

	NewRelease                 httpapi.Opt[bool] `param:"new_release" doc:"With the level custom: about new releases"`
	NewNote                    httpapi.Opt[bool] `param:"new_note" doc:"With the level custom: about new comments"`
	NewIssue                   httpapi.Opt[bool] `param:"new_issue" doc:"With the level custom: about new issues"`
	ReopenIssue                httpapi.Opt[bool] `param:"reopen_issue" doc:"With the level custom: about issues that are reopened"`
	CloseIssue                 httpapi.Opt[bool] `param:"close_issue" doc:"With the level custom: about issues that are closed"`
	ReassignIssue              httpapi.Opt[bool] `param:"reassign_issue" doc:"With the level custom: about issues that are reassigned"`
	IssueDue                   httpapi.Opt[bool] `param:"issue_due" doc:"With the level custom: about issues that are due tomorrow"`
	NewMergeRequest            httpapi.Opt[bool] `param:"new_merge_request" doc:"With the level custom: about new merge requests"`
	PushToMergeRequest         httpapi.Opt[bool] `param:"push_to_merge_request" doc:"With the level custom: about pushes to merge requests"`
	ReopenMergeRequest         httpapi.Opt[bool] `param:"reopen_merge_request" doc:"With the level custom: about merge requests that are reopened"`
	CloseMergeRequest          httpapi.Opt[bool] `param:"close_merge_request" doc:"With the level custom: about merge requests that are closed"`
	ReassignMergeRequest       httpapi.Opt[bool] `param:"reassign_merge_request" doc:"With the level custom: about merge requests that are reassigned"`
	ChangeReviewerMergeRequest httpapi.Opt[bool] `param:"change_reviewer_merge_request" doc:"With the level custom: about merge requests that are given other reviewers"`
	MergeMergeRequest          httpapi.Opt[bool] `param:"merge_merge_request" doc:"With the level custom: about merge requests that are merged"`
	FailedPipeline             httpapi.Opt[bool] `param:"failed_pipeline" doc:"With the level custom: about one's own pipelines that fail; on while it was never set"`
	FixedPipeline              httpapi.Opt[bool] `param:"fixed_pipeline" doc:"With the level custom: about one's own pipelines that succeed after one that failed; on while it was never set"`
	SuccessPipeline            httpapi.Opt[bool] `param:"success_pipeline" doc:"With the level custom: about one's own pipelines that succeed"`
	MovedProject               httpapi.Opt[bool] `param:"moved_project" doc:"With the level custom: about projects that are moved"`
	MergeWhenPipelineSucceeds  httpapi.Opt[bool] `param:"merge_when_pipeline_succeeds" doc:"With the level custom: about merge requests that are set to merge when their pipeline succeeds"`
	NewEpic                    httpapi.Opt[bool] `param:"new_epic" doc:"With the level custom: about new epics"`
	Approver                   httpapi.Opt[bool] `param:"approver" doc:"With the level custom: about merge requests that one may approve"`
}

func (p changeParams) change() (c Change) {
	if level := p.Level.Ptr(); level != nil {
		c.Level = new(Level(*level))
	}
	for event, given := range map[Event]httpapi.Opt[bool]{
		NewRelease: p.NewRelease, NewNote: p.NewNote, NewIssue: p.NewIssue, ReopenIssue: p.ReopenIssue, CloseIssue: p.CloseIssue,
		ReassignIssue: p.ReassignIssue, IssueDue: p.IssueDue, NewMergeRequest: p.NewMergeRequest, PushToMergeRequest: p.PushToMergeRequest,
		ReopenMergeRequest: p.ReopenMergeRequest, CloseMergeRequest: p.CloseMergeRequest, ReassignMergeRequest: p.ReassignMergeRequest,
		ChangeReviewerMergeRequest: p.ChangeReviewerMergeRequest, MergeMergeRequest: p.MergeMergeRequest, FailedPipeline: p.FailedPipeline,
		FixedPipeline: p.FixedPipeline, SuccessPipeline: p.SuccessPipeline, MovedProject: p.MovedProject,
		MergeWhenPipelineSucceeds: p.MergeWhenPipelineSucceeds, NewEpic: p.NewEpic, Approver: p.Approver,
	} {
		if on := given.Ptr(); on != nil {
			c.Flags = c.With(event, *on)
		}
	}
	return c
}

func (s *Service) handleGet(ctx context.Context, call httpapi.Call[httpapi.None, httpapi.None]) (globalForm, error) {
	found, err := s.Find(ctx, call.Actor.ID(), bus.Instance())
	return s.presentGlobal(ctx, call.Actor.ID(), found, err)
}

type globalParams struct {
	changeParams
	NotificationEmail httpapi.Opt[string] `param:"notification_email" doc:"Address that mails go to: one that is confirmed; the primary one, if it is empty or null"`
}

func (s *Service) handleUpdate(ctx context.Context, call httpapi.Call[httpapi.None, globalParams]) (globalForm, error) {
	c := call.Params.change()
	if email := call.Params.NotificationEmail; email.Given {
		c.Email = &email.Value
	}
	after, err := s.Update(ctx, call.Actor.ID(), bus.Instance(), c)
	return s.presentGlobal(ctx, call.Actor.ID(), after, err)
}

func (s *Service) handleGetOf(ctx context.Context, call httpapi.Call[*owner.Owner, owner.Ref]) (settingForm, error) {
	return present(s.Find(ctx, call.Actor.ID(), call.Subject.Entity))
}

type ownerParams struct {
	owner.Ref
	changeParams
}

func (s *Service) handleUpdateOf(ctx context.Context, call httpapi.Call[*owner.Owner, ownerParams]) (settingForm, error) {
	return present(s.Update(ctx, call.Actor.ID(), call.Subject.Entity, call.Params.change()))
}
