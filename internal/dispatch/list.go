package dispatch

import (
	"context"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/paging"
	"stithy/internal/pipeline"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
	"stithy/internal/user"
)

// Allowlist reads one page of the projects that a project lets in, itself
// included. Those that the actor does not see are left out.
func (s *Service) Allowlist(ctx context.Context, by access.Actor, p *project.Project, req paging.Request) (paging.Result[*project.Project], error) {
	l := postgres.From("projects p").Columns("p.id").Order(postgres.Key{Expr: "p.id"})
	l.Where("p.id in (select ?::bigint union all select target_id from job_token_allowlist where project_id = ?)", p.ID, p.ID)
	ids, err := paging.Fetch[struct{ ID int64 }](ctx, s.deps.DB, l, req, nil)
	if err != nil {
		return paging.Result[*project.Project]{}, err
	}
	out := paging.Result[*project.Project]{Total: ids.Total, More: ids.More, Next: ids.Next, Last: ids.Last}
	for _, row := range ids.Items {
		other, err := s.deps.Projects.Find(ctx, by, row.ID)
		if fault.Is(err, fault.NotFound) {
			continue
		}
		if err != nil {
			return out, err
		}
		out.Items = append(out.Items, other)
	}
	return out, nil
}

// Agent is an agent of a cluster, with the project that says how it works.
type Agent struct {
	ID        int64
	Name      string
	ProjectID int64
}

// AgentsOf is which agents a job may use, and for whom.
type AgentsOf struct {
	Job    *pipeline.Job
	User   *user.User
	Groups []int64
	Agents []allowedAgent
}

type allowedAgent struct {
	Agent
	Project *project.Project
}

// server acts where no person's right counts.
var server = access.Actor{Process: "dispatch", Person: &access.Person{Admin: true}}

// Agents lists the agents that a job may use.
func (s *Service) Agents(ctx context.Context, by access.Actor, jobID int64) (out AgentsOf, err error) {
	if out.Job, err = s.deps.Pipelines.KnownJob(ctx, s.deps.DB, jobID); err != nil {
		return out, err
	}
	if out.User, err = s.deps.Users.Find(ctx, by.ID()); err != nil {
		return out, err
	}
	if out.Groups, err = postgres.Values[int64](ctx, s.deps.DB, sqlGroupsAbove, out.Job.ProjectID); err != nil {
		return out, err
	}
	agents, err := postgres.All[Agent](ctx, s.deps.DB, sqlAgents, out.Job.ProjectID, out.Groups)
	if err != nil {
		return out, err
	}
	for _, a := range agents {
		p, err := s.deps.Projects.Find(ctx, server, a.ProjectID) // lent to the job, whoever runs it
		if err != nil {
			return out, err
		}
		out.Agents = append(out.Agents, allowedAgent{Agent: a, Project: p})
	}
	return out, nil
}
