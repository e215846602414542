package issue

import (
	"slices"

	"stithy/internal/kit/access"
	"stithy/internal/project"
)

// Rights are what an actor may do with an issue. They are decided here, for every way to it; lists say the same in SQL (readable).
type Rights struct {
	Read bool
	Edit bool // title, description and state
	Plan bool // everything else: labels, assignees, milestone, dates, who sees it
}

// RightsOf decides. An issue that is confidential is known to reporters, its author and its assignees; one of a person who is banned to
// administrators alone.
func RightsOf(a access.Actor, p *project.Project, i *Issue) Rights {
	target := p.Target()
	own := a.SignedIn() && ((i.AuthorID != nil && a.Is(*i.AuthorID)) || slices.Contains(i.AssigneeIDs, a.ID()))
	if !access.Holds(a, access.ReadIssues, target) || (i.Hidden && !a.Admin()) || (i.Confidential && !own && !access.Holds(a, access.ReadConfidentialIssues, target)) {
		return Rights{}
	}
	plan := access.Holds(a, access.PlanIssues, target)
	return Rights{Read: true, Plan: plan, Edit: plan || (own && i.Type != Incident && access.Holds(a, access.CreateIssues, target))}
}
