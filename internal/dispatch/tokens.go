package dispatch

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/ciconfig"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/pipeline"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/secretbox"
	"stithy/internal/project"
	"stithy/internal/user"
)

// run is a job that a runner has or had, as its token shows it.
type run struct {
	JobID       int64
	ProjectID   int64
	RunnerID    int64
	StartedAt   time.Time
	ContactedAt time.Time
	Deadline    time.Time
	Status      pipeline.Status
	UserID      *int64
	PipelineID  int64
	Erased      bool
	Removal     bool
}

// alive reports whether the job's token may be used: while the job runs.
func (r *run) alive() bool { return r.Status == pipeline.Running && !r.Erased && !r.Removal }

// run finds the job of a token, nil when there is none.
func (s *Service) run(ctx context.Context, secret string) (*run, error) {
	if secret == "" {
		return nil, nil
	}
	r, err := postgres.One[run](ctx, s.deps.DB, sqlRun, s.deps.Box.Digest(string(access.JobToken), secret))
	if errors.Is(err, postgres.ErrNoRows) {
		return nil, nil
	}
	return &r, err
}

// Bearer finds whom the token of a job speaks for. It is dead from the moment
// in which the job ends; the account's state is judged by who asked.
func (s *Service) Bearer(ctx context.Context, p access.Presented) (*user.User, access.Credential, error) {
	r, err := s.run(ctx, p.Secret)
	if err != nil || r == nil || !r.alive() || r.UserID == nil {
		return nil, access.Credential{}, err
	}
	u, err := s.deps.Users.Find(ctx, *r.UserID)
	if fault.Is(err, fault.NotFound) {
		return nil, access.Credential{}, nil
	}
	return u, access.Credential{Kind: access.JobToken, ID: r.JobID, ProjectID: r.ProjectID}, err
}

// Caller finds the job of a token that is presented to start a pipeline.
func (s *Service) Caller(ctx context.Context, secret string) (jobID int64, by access.Actor, err error) {
	r, err := s.run(ctx, secret)
	if err != nil || r == nil {
		return 0, by, err
	}
	if !r.alive() || r.UserID == nil {
		return r.JobID, by, nil
	}
	u, err := s.deps.Users.Find(ctx, *r.UserID)
	if err != nil {
		return 0, by, err
	}
	by, err = s.deps.Tokens.Admit(u, access.Credential{Kind: access.JobToken, ID: r.JobID})
	return r.JobID, by, err
}

// Reach decides how far the token of a job reaches into a project: at home in
// its own, with access to others where both sides allow it. Elsewhere the job is a
// stranger, who sees what an open project shows to all, and nothing of what it
// keeps to its members, whoever runs the job.
func (s *Service) Reach(ctx context.Context, a access.Actor, p *project.Project) (project.Reach, error) {
	job, err := s.deps.Pipelines.KnownJob(ctx, s.deps.DB, a.Credential.ID)
	if fault.Is(err, fault.NotFound) {
		return project.Outside, nil
	}
	if err != nil {
		return project.Outside, err
	}
	if job.ProjectID == p.ID {
		return project.Home, nil
	}
	in, err := postgres.Value[bool](ctx, s.deps.DB, sqlLetsIn, p.ID, job.ProjectID)
	if err != nil || !in {
		return project.Outside, err
	}
	return project.LetIn, nil
}

// maxAllowed is how many projects another may let in.
const maxAllowed = 200

// Scope is who gets into a project by the token of a job.
type Scope struct{ Inbound, Outbound bool }

// Scope reads it.
func (s *Service) Scope(ctx context.Context, p *project.Project) (Scope, error) {
	inbound, err := postgres.Value[bool](ctx, s.deps.DB, sqlInbound, p.ID)
	return Scope{Inbound: inbound, Outbound: p.Settings.CIJobTokenScopeEnabled}, err
}

// Close lets listed projects in only, or all.
func (s *Service) Close(ctx context.Context, by access.Actor, p *project.Project, inbound bool) error {
	did := InboundOpened
	if inbound {
		did = InboundClosed
	}
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlSetInbound, p.ID, inbound); err != nil {
			return err
		}
		return s.deps.Bus.Publish(ctx, tx, Event{Action: did, By: by, In: p.Entity()})
	})
}

var errTooMany = fault.WithReason(fault.Rejected, "Target projects exceeds the allowed number of project links (%d)", maxAllowed)

// Allow lets the jobs of another project in.
func (s *Service) Allow(ctx context.Context, by access.Actor, p *project.Project, target int64) error {
	if target == p.ID {
		return nil // always in
	}
	n, err := postgres.Value[int](ctx, s.deps.DB, sqlCountAllow, p.ID)
	if err != nil {
		return err
	}
	if n >= maxAllowed-1 { // the project itself counts
		return errTooMany
	}
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, sqlAllow, p.ID, target, by.ID(), s.deps.Clock.Now())
		if err != nil || tag.RowsAffected() == 0 { // it is in already
			return postgres.Faults{"job_token_allowlist_target_id_fkey": errNoTarget}.Translate(err)
		}
		return s.deps.Bus.Publish(ctx, tx, Event{Action: ProjectAdded, By: by, In: p.Entity(), TargetID: target})
	})
}

var errNoTarget = fault.NotFoundf("target_project_id not found")

// Disallow keeps them out again.
func (s *Service) Disallow(ctx context.Context, by access.Actor, p *project.Project, target int64) error {
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, sqlDisallow, p.ID, target)
		if err == nil && tag.RowsAffected() == 0 {
			err = errNoTarget
		}
		if err != nil {
			return err
		}
		return s.deps.Bus.Publish(ctx, tx, Event{Action: ProjectRemoved, By: by, In: p.Entity(), TargetID: target})
	})
}

// idTokenLife is how long an ID token is good for, unless its job takes longer.
const idTokenLife = 5 * time.Minute

// idTokens signs the tokens by which other services know a job. One for an
// application of this instance is oauth.ErrAudience.
func (s *Service) idTokens(ctx context.Context, c *claimed, p *project.Project, who *access.Person, lists *VariableLists) ([]Variable, error) {
	if len(c.spec.Job.IDTokens) == 0 {
		return nil, nil
	}
	var vars ciconfig.Variables
	for _, v := range lists.all(nil) {
		vars = append(vars, ciconfig.Variable{Key: v.Key, Value: v.Value})
	}
	expand := ciconfig.Expander(vars)
	now := s.deps.Clock.Now()
	kind := "branch"
	if c.pipeline.Tag {
		kind = "tag"
	}
	var out []Variable
	for _, t := range c.spec.Job.IDTokens {
		audience := make([]string, 0, len(t.Aud))
		for _, aud := range t.Aud {
			audience = append(audience, expand(aud))
		}
		claims := map[string]any{
			"iss": s.deps.ExternalURL, "iat": now.Unix(), "nbf": now.Unix() - 5, "exp": now.Add(max(idTokenLife, c.timeout)).Unix(),
			"jti": secretbox.RandomToken(20), "sub": "project_path:" + p.FullPath() + ":ref_type:" + kind + ":ref:" + c.pipeline.Ref,
			"namespace_id": decimal(p.NamespaceID), "namespace_path": p.NamespaceFullPath, "project_id": decimal(p.ID), "project_path": p.FullPath(),
			"user_id": decimal(who.ID), "user_login": who.Username, "user_email": who.Email,
			"pipeline_id": decimal(c.pipeline.ID), "pipeline_source": string(c.pipeline.Source), "job_id": decimal(c.job.ID),
			"ref": c.pipeline.Ref, "ref_type": kind, "ref_path": c.pipeline.FullRef(), "ref_protected": strconv.FormatBool(c.protected),
			"runner_id": *c.job.RunnerID, "runner_environment": "self-hosted", "sha": c.pipeline.SHA, "project_visibility": p.Visibility.String(),
		}
		if c.job.Environment != nil {
			claims["environment"], claims["environment_protected"] = *c.job.Environment, "false"
		}
		signed, err := s.deps.OAuth.SignForJob(ctx, audience, claims)
		if err != nil {
			return nil, err
		}
		out = append(out, Variable{Key: t.Name, Value: signed, Masked: true, Raw: true})
	}
	return out, nil
}
