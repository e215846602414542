package repository

import (
	"context"

	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi"
	"stithy/internal/kit/paging"
	"stithy/internal/project"
)

func (s *Service) compareEndpoints() []httpapi.Endpoint {
	return []httpapi.Endpoint{
		project.On(s.deps.Projects, httpapi.Spec{
			Route: "GET /projects/{id}/repository/compare", Needs: access.ReadCode, Summary: "Compare branches, tags or commits.",
		}, s.handleCompare),
		project.On(s.deps.Projects, httpapi.Spec{
			Route: "GET /projects/{id}/repository/contributors", Needs: access.ReadCode, Summary: "List the contributors of a repository.",
		}, s.handleContributors),
		project.On(s.deps.Projects, httpapi.Spec{
			Route: "GET /projects/{id}/repository/merge_base", Needs: access.ReadCode, Summary: "Get the common ancestor of commits.",
		}, s.handleMergeBase),
	}
}

type compareParams struct {
	project.Ref
	From          string             `param:"from" required:"true" doc:"Branch, tag or commit to compare with"`
	To            string             `param:"to" required:"true" doc:"Branch, tag or commit that is compared"`
	FromProjectID httpapi.Opt[int64] `param:"from_project_id" doc:"Project of the same family of forks that has from"`
	Straight      bool               `param:"straight" default:"false" doc:"Compare the two as they are, not from where they parted"`
	Unidiff       bool               `param:"unidiff" default:"false" doc:"Write the names of files into diffs"`
}

// comparisonForm is a comparison.
type comparisonForm struct {
	Commit         *CommitForm  `json:"commit"`
	Commits        []CommitForm `json:"commits"`
	Diffs          []diffForm   `json:"diffs"`
	CompareTimeout bool         `json:"compare_timeout"`
	CompareSameRef bool         `json:"compare_same_ref"`
	WebURL         string       `json:"web_url"`
}

func (s *Service) handleCompare(ctx context.Context, call httpapi.Call[*project.Project, compareParams]) (comparisonForm, error) {
	p, in := call.Subject, call.Params
	var none comparisonForm
	source, err := s.Relative(ctx, call.Actor, p, in.ID, in.FromProjectID.Or(p.ID))
	if err != nil {
		return none, err
	}
	c, err := s.Compare(ctx, p, CompareQuery{From: in.From, To: in.To, Source: source, Straight: in.Straight})
	if err != nil {
		return none, err
	}
	dots := "..."
	if in.Straight {
		dots = ".."
	}
	form := comparisonForm{
		Commits: make([]CommitForm, len(c.Commits)), Diffs: make([]diffForm, len(c.Diff.Files)), CompareTimeout: c.Cut,
		CompareSameRef: c.From == c.To, WebURL: s.webURL(p, "compare/"+escaped(in.From)+dots+escaped(in.To)),
	}
	for i, commit := range c.Commits {
		form.Commits[i] = s.CommitForm(p, commit)
	}
	if n := len(form.Commits); n > 0 {
		form.Commit = &form.Commits[n-1]
	}
	for i := range c.Diff.Files {
		form.Diffs[i] = newDiffForm(&c.Diff.Files[i], in.Unidiff)
	}
	return form, nil
}

type contributorsParams struct {
	project.Ref
	httpapi.Paging
	Revision string `param:"ref" doc:"Branch, tag or commit; the default branch when empty"`
	OrderBy  string `param:"order_by" enum:"name,email,commits" default:"commits" doc:"Order"`
	Sort     string `param:"sort" enum:"asc,desc" default:"asc" doc:"Direction"`
}

// contributorForm is a contributor. Lines are not counted; the members are
// there for clients that ask for them.
type contributorForm struct {
	Name      string `json:"name"`
	Email     string `json:"email"`
	Commits   int    `json:"commits"`
	Additions int    `json:"additions"`
	Deletions int    `json:"deletions"`
}

func (s *Service) handleContributors(ctx context.Context, call httpapi.Call[*project.Project, contributorsParams]) (httpapi.List[contributorForm], error) {
	in := call.Params
	req, err := in.Request()
	if err != nil {
		return httpapi.List[contributorForm]{}, err
	}
	all, err := s.Contributors(ctx, call.Subject, in.Revision, in.OrderBy, in.Sort == "desc")
	return httpapi.ListOf(req, paging.Cut(all, req), func(c Contributor) contributorForm {
		return contributorForm{Name: c.Name, Email: c.Email, Commits: c.Commits}
	}), err
}

type mergeBaseParams struct {
	project.Ref
	Refs []string `param:"refs" required:"true" split:"comma" doc:"Two or more branches, tags or commits"`
}

func (s *Service) handleMergeBase(ctx context.Context, call httpapi.Call[*project.Project, mergeBaseParams]) (CommitForm, error) {
	c, err := s.MergeBase(ctx, call.Subject, call.Params.Refs)
	if err != nil {
		return CommitForm{}, err
	}
	return s.CommitForm(call.Subject, c), nil
}
