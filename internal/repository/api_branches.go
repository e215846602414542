package repository

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"stithy/internal/gitstore"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/httpapi"
	"stithy/internal/project"
	"stithy/internal/protection"
)

func (s *Service) branchEndpoints() []httpapi.Endpoint {
	const at = " /projects/{id}/repository/branches"
	return []httpapi.Endpoint{
		project.On(s.deps.Projects, httpapi.Spec{
			Route: "GET" + at, Needs: access.ReadCode, Summary: "List the branches of a project.",
		}, s.handleBranches),
		project.On(s.deps.Projects, httpapi.Spec{
			Route: "GET" + at + "/{branch}", Needs: access.ReadCode, Summary: "Get a branch.",
		}, s.handleBranch),
		project.On(s.deps.Projects, httpapi.Spec{
			Route: "HEAD" + at + "/{branch}", Needs: access.ReadCode, Status: http.StatusNoContent, Summary: "Ask whether a branch exists.",
		}, s.handleBranchExists),
		project.On(s.deps.Projects, httpapi.Spec{
			Route: "POST" + at, Needs: access.PushCode, Status: http.StatusCreated, Summary: "Create a branch.",
			ExtraRefusals: "what protects branches",
		}, s.handleCreateBranch),
		httpapi.On(httpapi.Spec{
			Route: "DELETE" + at + "/{branch}", Needs: access.PushCode, Summary: "Delete a branch.", ExtraRefusals: "what protects branches",
		}, s.loadBranch, s.handleDeleteBranch),
		project.On(s.deps.Projects, httpapi.Spec{
			Route: "DELETE /projects/{id}/repository/merged_branches", Needs: access.PushCode, Status: http.StatusAccepted,
			Summary: "Delete the branches that are merged into the default branch.",
		}, s.handleDeleteMerged),
		project.On(s.deps.Projects, httpapi.Spec{
			Route: "PUT" + at + "/{branch}/protect", Needs: access.AdminProtection, Summary: "Protect a branch.",
			Note: "Deprecated, use protected_branches.",
		}, s.handleOldProtect),
		project.On(s.deps.Projects, httpapi.Spec{
			Route: "PUT" + at + "/{branch}/unprotect", Needs: access.AdminProtection, Summary: "Unprotect a branch.",
			Note: "Deprecated, use protected_branches.",
		}, s.handleOldUnprotect),
	}
}

type branchForm struct {
	Name               string     `json:"name"`
	Commit             CommitForm `json:"commit"`
	Merged             bool       `json:"merged"`
	Protected          bool       `json:"protected"`
	DevelopersCanPush  bool       `json:"developers_can_push"`
	DevelopersCanMerge bool       `json:"developers_can_merge"`
	CanPush            bool       `json:"can_push"`
	Default            bool       `json:"default"`
	WebURL             string     `json:"web_url"`
}

func (s *Service) branchForm(p *project.Project, b Branch) branchForm {
	return branchForm{
		Name: b.Name, Commit: s.CommitForm(p, b.Commit), Merged: b.Merged, Protected: b.Protected, DevelopersCanPush: b.DevelopersPush,
		DevelopersCanMerge: b.DevelopersMerge, CanPush: b.MayPush, Default: b.Default, WebURL: s.webURL(p, "tree/"+escaped(b.Name)),
	}
}

func (s *Service) branchReply(p *project.Project, b *Branch, err error) (branchForm, error) {
	if err != nil {
		return branchForm{}, err
	}
	return s.branchForm(p, *b), nil
}

type branchListParams struct {
	project.Ref
	httpapi.TokenPaging
	Search string `param:"search" doc:"Part of the name; ^ binds it to the beginning, $ to the end"`
	Regex  string `param:"regex" doc:"Regular expression (RE2) that the name matches"`
	Sort   string `param:"sort" enum:"name_asc,updated_asc,updated_desc" default:"name_asc" doc:"Order"`
}

func (s *Service) handleBranches(ctx context.Context, call httpapi.Call[*project.Project, branchListParams]) (httpapi.List[branchForm], error) {
	p := call.Params
	req, err := p.Request()
	if err != nil {
		return httpapi.List[branchForm]{}, err
	}
	f := RefFilter{Search: p.Search, Regex: p.Regex, After: p.PageToken, Order: Order{By: "name"}}
	if p.Sort != "name_asc" {
		f.Order = Order{By: "updated", Desc: p.Sort == "updated_desc"}
	}
	res, err := s.Branches(ctx, call.Actor, call.Subject, f, req)
	return httpapi.ListOf(req, res, func(b Branch) branchForm { return s.branchForm(call.Subject, b) }), err
}

type branchParams struct {
	project.Ref
	Branch string `param:"branch" doc:"Name of the branch"`
}

var errBranchName = fault.WithMessage(fault.Rejected, "The branch refname is invalid")

func (p branchParams) check() error {
	if gitstore.CheckRefName(gitstore.Branches+p.Branch) != nil {
		return errBranchName
	}
	return nil
}

func (s *Service) handleBranch(ctx context.Context, call httpapi.Call[*project.Project, branchParams]) (branchForm, error) {
	if err := call.Params.check(); err != nil {
		return branchForm{}, err
	}
	b, err := s.Branch(ctx, call.Actor, call.Subject, call.Params.Branch)
	return s.branchReply(call.Subject, b, err)
}

func (s *Service) handleBranchExists(ctx context.Context, call httpapi.Call[*project.Project, branchParams]) (httpapi.NoContent, error) {
	if err := call.Params.check(); err != nil {
		return httpapi.NoContent{}, err
	}
	repo, err := s.Open(ctx, call.Subject)
	if err != nil {
		return httpapi.NoContent{}, err
	}
	_, err = branchRef(ctx, repo, call.Params.Branch)
	return httpapi.NoContent{}, err
}

type createBranchParams struct {
	project.Ref
	Branch string `param:"branch" required:"true" blank:"refuse" doc:"Name of the branch"`
	From   string `param:"ref" required:"true" blank:"refuse" doc:"Branch, tag or commit that it begins at"`
}

func (s *Service) handleCreateBranch(ctx context.Context, call httpapi.Call[*project.Project, createBranchParams]) (branchForm, error) {
	b, err := s.CreateBranch(ctx, call.Actor, call.Subject, call.Params.Branch, call.Params.From)
	return s.branchReply(call.Subject, b, err)
}

// branchAt is a branch that is to go, dated by its last commit.
type branchAt struct {
	project *project.Project
	ref     gitstore.Ref
	at      time.Time
}

// Target is that of the project.
func (b branchAt) Target() access.Target { return b.project.Target() }

// ModifiedAt is when the last commit was written.
func (b branchAt) ModifiedAt() time.Time { return b.at }

// loadBranch finds a branch for those who may write to the project; others
// are told as ever before they learn whether it is there.
func (s *Service) loadBranch(ctx context.Context, a access.Actor, in branchParams) (branchAt, error) {
	p, moved, err := s.deps.Projects.FindByRef(ctx, a, in.ID)
	b := branchAt{project: p}
	if err != nil {
		return b, err
	}
	if moved {
		return b, &httpapi.MovedError{Param: "id", To: strconv.FormatInt(p.ID, 10)}
	}
	if err := access.CheckIn(a, access.PushCode, p.Target()); err != nil {
		return b, err
	}
	if err := in.check(); err != nil {
		return b, err
	}
	repo, err := s.Open(ctx, p)
	if err != nil {
		return b, err
	}
	if b.ref, err = branchRef(ctx, repo, in.Branch); err != nil {
		return b, err
	}
	commit, err := repo.Commit(ctx, b.ref.Target)
	if err != nil {
		return b, found(err, "Commit")
	}
	b.at = commit.Author.When
	return b, nil
}

func (s *Service) handleDeleteBranch(ctx context.Context, call httpapi.Call[branchAt, branchParams]) (httpapi.NoContent, error) {
	return httpapi.NoContent{}, s.DeleteBranch(ctx, call.Actor, call.Subject.project, call.Subject.ref)
}

func (s *Service) handleDeleteMerged(ctx context.Context, call httpapi.Call[*project.Project, project.Ref]) (httpapi.Accepted, error) {
	return httpapi.WorkAccepted(), s.OrderMerged(ctx, call.Actor, call.Subject)
}

type oldProtectParams struct {
	branchParams
	DevelopersCanPush  httpapi.Opt[bool] `param:"developers_can_push" doc:"Let developers push"`
	DevelopersCanMerge httpapi.Opt[bool] `param:"developers_can_merge" doc:"Let developers merge"`
}

func (s *Service) handleOldProtect(ctx context.Context, call httpapi.Call[*project.Project, oldProtectParams]) (branchForm, error) {
	p := call.Params
	if _, err := s.Branch(ctx, call.Actor, call.Subject, p.Branch); err != nil {
		return branchForm{}, err
	}
	level := func(developers httpapi.Opt[bool]) protection.Grant {
		if developers.Or(false) {
			return protection.Grant{Role: access.Developer}
		}
		return protection.Grant{Role: access.Maintainer}
	}
	_, err := s.deps.Protection.ProtectBranch(ctx, call.Actor, call.Subject, protection.BranchRule{
		Name: p.Branch, Push: []protection.Grant{level(p.DevelopersCanPush)}, Merge: []protection.Grant{level(p.DevelopersCanMerge)},
	})
	if fault.Is(err, fault.Conflict) { // it is protected: only what was named changes
		c := protection.RuleChange{Only: map[protection.Act]protection.Grant{}}
		if p.DevelopersCanPush.Given {
			c.Only[protection.ToPush] = level(p.DevelopersCanPush)
		}
		if p.DevelopersCanMerge.Given {
			c.Only[protection.ToMerge] = level(p.DevelopersCanMerge)
		}
		_, err = s.deps.Protection.ChangeRule(ctx, call.Actor, call.Subject, p.Branch, c)
	}
	if err != nil {
		return branchForm{}, err
	}
	b, err := s.Branch(ctx, call.Actor, call.Subject, p.Branch)
	return s.branchReply(call.Subject, b, err)
}

func (s *Service) handleOldUnprotect(ctx context.Context, call httpapi.Call[*project.Project, branchParams]) (branchForm, error) {
	b, err := s.Branch(ctx, call.Actor, call.Subject, call.Params.Branch)
	if err != nil {
		return branchForm{}, err
	}
	if err := s.deps.Protection.UnprotectBranch(ctx, call.Actor, call.Subject, b.Name); err != nil && !fault.Is(err, fault.NotFound) {
		return branchForm{}, err
	}
	b, err = s.Branch(ctx, call.Actor, call.Subject, b.Name)
	return s.branchReply(call.Subject, b, err)
}
