package project

import (
	"context"
	"net/http"
	"strconv"

	"stithy/internal/group"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/httpapi"
)

func (s *Service) forkEndpoints() []httpapi.Endpoint {
	return []httpapi.Endpoint{
		httpapi.On(httpapi.Spec{
			Route: "POST /projects/{id}/fork", Needs: access.ForkProject, Status: http.StatusCreated,
			Summary: "Fork a project.",
		}, s.loadForkable, s.handleFork),
		On(s, httpapi.Spec{
			Route: "POST /projects/{id}/fork/{forked_from_id}", Needs: access.UpdateProject, Status: http.StatusCreated,
			Summary: "Note down that a project is a fork of another.",
		}, s.handleAdopt),
		On(s, httpapi.Spec{
			Route: "DELETE /projects/{id}/fork", Needs: access.UnlinkFork, Summary: "Cut a fork from its source.",
		}, s.handleCutFork),
	}
}

type forkParams struct {
	Ref
	NamespaceID         httpapi.Opt[int64]  `param:"namespace_id" doc:"Namespace of the fork; the caller's own when absent"`
	NamespacePath       string              `param:"namespace_path" doc:"Path of the namespace of the fork"`
	Namespace           string              `param:"namespace" doc:"Deprecated, use namespace_id or namespace_path"`
	Name                httpapi.Opt[string] `param:"name" doc:"Name of the fork"`
	Path                httpapi.Opt[string] `param:"path" doc:"Path of the fork"`
	Description         httpapi.Opt[string] `param:"description" doc:"Description of the fork"`
	Visibility          httpapi.Opt[string] `param:"visibility" enum:"private,internal,public" doc:"Who sees the fork"`
	MRDefaultTargetSelf httpapi.Opt[bool]   `param:"mr_default_target_self" doc:"Merge requests of the fork go to the fork by default"`
}

// loadForkable answers as if there was no project where it may not be forked.
func (s *Service) loadForkable(ctx context.Context, a access.Actor, p forkParams) (*Project, error) {
	source, err := s.FindPresent(ctx, a, p.ID)
	if err == nil && !source.mayFork(a) {
		return nil, fault.New(fault.NotFound)
	}
	return source, err
}

func (s *Service) handleFork(ctx context.Context, call httpapi.Call[*Project, forkParams]) (fullForm, error) {
	p := call.Params
	home, err := s.forkHome(ctx, call.Actor, p)
	if fault.Is(err, fault.NotFound) {
		return fullForm{}, fault.NotFoundf("Namespace")
	}
	if err != nil {
		return fullForm{}, err
	}
	made, err := s.Fork(ctx, call.Actor, call.Subject, home, ForkDraft{
		Name: p.Name.Ptr(), Path: p.Path.Ptr(), Description: p.Description.Ptr(), Visibility: visibility(p.Visibility),
		MRDefaultTargetSelf: p.MRDefaultTargetSelf.Ptr(),
	})
	return s.presentOne(ctx, call.Actor, made, err)
}

// forkHome is the namespace that a fork is to stand in.
func (s *Service) forkHome(ctx context.Context, a access.Actor, p forkParams) (*group.Group, error) {
	switch {
	case p.NamespaceID.Ptr() != nil:
		return s.deps.Groups.Find(ctx, a, p.NamespaceID.Value)
	case p.NamespacePath != "":
		return s.deps.Groups.NamespaceByRef(ctx, a, p.NamespacePath)
	case p.Namespace != "":
		return s.deps.Groups.NamespaceByRef(ctx, a, p.Namespace)
	}
	id, err := s.personal(ctx, a.ID())
	if err != nil {
		return nil, err
	}
	return s.deps.Groups.NamespaceByRef(ctx, a, strconv.FormatInt(id, 10))
}

type adoptParams struct {
	Ref
	ForkedFromID string `param:"forked_from_id" doc:"ID or URL-encoded path of the project that it was forked from"`
}

func (s *Service) handleAdopt(ctx context.Context, call httpapi.Call[*Project, adoptParams]) (fullForm, error) {
	source, _, err := s.FindByRef(ctx, call.Actor, call.Params.ForkedFromID)
	if err != nil {
		return fullForm{}, err
	}
	if !source.mayFork(call.Actor) {
		return fullForm{}, fault.New(fault.Forbidden)
	}
	home, err := s.deps.Groups.Find(ctx, call.Actor, call.Subject.NamespaceID)
	if fault.Is(err, fault.NotFound) || (err == nil && !access.Holds(call.Actor, access.CreateProject, home.Target())) {
		return fullForm{}, fault.WithReason(fault.Unauthenticated, "Target Namespace")
	}
	if err != nil {
		return fullForm{}, err
	}
	p, err := s.Adopt(ctx, call.Actor, call.Subject.ID, source)
	return s.presentOne(ctx, call.Actor, p, err)
}

func (s *Service) handleCutFork(ctx context.Context, call httpapi.Call[*Project, Ref]) (httpapi.NoContent, error) {
	return httpapi.NoContent{}, s.CutFork(ctx, call.Actor, call.Subject.ID)
}
