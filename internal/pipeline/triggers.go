package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/paging"
	"stithy/internal/kit/wire"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/secretbox"
	"stithy/internal/project"
)

// Trigger is a token that starts pipelines of a project, as its owner.
type Trigger struct {
	ID          int64
	ProjectID   int64
	OwnerID     int64
	Description string
	Hint        string // the characters that it is known by
	LastUsed    *time.Time
	CreatedAt   time.Time
	UpdatedAt   time.Time
}

const triggerDigest = "trigger_token"

var errNoTrigger = fault.NotFoundf("Trigger")

func foundTrigger(row Trigger, err error) (*Trigger, error) {
	if errors.Is(err, postgres.ErrNoRows) {
		return nil, errNoTrigger
	}
	if err != nil {
		return nil, err
	}
	return &row, nil
}

func checkDescription(text string) error {
	switch n := utf8.RuneCountInString(text); {
	case strings.TrimSpace(text) == "":
		return fault.Field("description", "can't be blank")
	case n > 1024:
		return fault.Field("description", "is too long (maximum is 1024 characters)")
	}
	return nil
}

// CreateTrigger makes a token. It is shown this once.
func (s *Service) CreateTrigger(ctx context.Context, by access.Actor, p *project.Project, description string) (*Trigger, secretbox.Secret, error) {
	if err := checkDescription(description); err != nil {
		return nil, "", err
	}
	secret := secretbox.RandomToken(40)
	t, err := foundTrigger(postgres.One[Trigger](ctx, s.deps.DB, sqlInsertTrigger, p.ID, by.ID(), description,
		s.deps.Box.Digest(triggerDigest, secret), secret[:4], s.deps.Clock.Now()))
	return t, secretbox.Secret(s.deps.Names.TokenPrefix(wire.TriggerToken) + secret), err
}

// Triggers reads one page of a project's tokens.
func (s *Service) Triggers(ctx context.Context, projectID int64, req paging.Request) (paging.Result[Trigger], error) {
	l := postgres.From("trigger_tokens").Columns(triggerColumns).Where("project_id = ?", projectID).Order(postgres.Key{Expr: "id"})
	return paging.Fetch[Trigger](ctx, s.deps.DB, l, req, nil)
}

// FindTrigger reads a token of a project.
func (s *Service) FindTrigger(ctx context.Context, projectID, id int64) (*Trigger, error) {
	return foundTrigger(postgres.One[Trigger](ctx, s.deps.DB, sqlTrigger, projectID, id))
}

// ChangeTrigger describes a token anew, for its owner and administrators.
func (s *Service) ChangeTrigger(ctx context.Context, by access.Actor, p *project.Project, id int64, description string) (*Trigger, error) {
	t, err := s.FindTrigger(ctx, p.ID, id)
	if err != nil {
		return nil, err
	}
	if !by.Is(t.OwnerID) && !by.Admin() {
		return nil, fault.New(fault.Forbidden)
	}
	if err := checkDescription(description); err != nil {
		return nil, err
	}
	return foundTrigger(postgres.One[Trigger](ctx, s.deps.DB, sqlUpdateTrigger, id, description, s.deps.Clock.Now()))
}

// DeleteTrigger ends a token.
func (s *Service) DeleteTrigger(ctx context.Context, p *project.Project, id int64) error {
	tag, err := s.deps.DB.Exec(ctx, sqlDeleteTrigger, p.ID, id)
	if err == nil && tag.RowsAffected() == 0 {
		return errNoTrigger
	}
	return err
}

// Pull starts a pipeline for whoever has a trigger token, as the owner of the
// token and with the rights that they have now. payload is all that was sent.
func (s *Service) Pull(ctx context.Context, projectRef, token, ref string, vars []Variable, payload map[string]any) (*project.Project, *Pipeline, error) {
	missing := fault.New(fault.NotFound)
	secret := strings.TrimPrefix(token, s.deps.Names.TokenPrefix(wire.TriggerToken))
	t, err := foundTrigger(postgres.One[Trigger](ctx, s.deps.DB, sqlTriggerByDigest, s.deps.Box.Digest(triggerDigest, secret)))
	if fault.Is(err, fault.NotFound) {
		return s.pullByJob(ctx, projectRef, token, ref, vars, payload)
	}
	if err != nil {
		return nil, nil, err
	}
	by, may, err := s.actorOf(ctx, &t.OwnerID)
	if err != nil {
		return nil, nil, err
	}
	p, _, err := s.deps.Projects.FindByRef(ctx, by, projectRef)
	if fault.Is(err, fault.NotFound) || (err == nil && (p.ID != t.ProjectID || !may)) {
		return nil, nil, missing
	}
	if err != nil {
		return nil, nil, err
	}
	if _, err := s.deps.DB.Exec(ctx, sqlTriggerUsed, t.ID, s.deps.Clock.Now()); err != nil {
		return nil, nil, err
	}
	if vars, err = withPayload(vars, payload); err != nil {
		return nil, nil, err
	}
	pl, err := s.Create(ctx, by, p, CreateRequest{Source: FromTrigger, Ref: ref, Variables: vars})
	return p, pl, err
}

// withPayload adds all that was sent to the variables that were given.
func withPayload(vars []Variable, payload map[string]any) ([]Variable, error) {
	text, err := json.Marshal(payload)
	return append([]Variable{{Key: "TRIGGER_PAYLOAD", Value: string(text), File: true, Raw: true}}, vars...), err
}

var errNotRunning = fault.WithMessage(fault.Unauthenticated, "Job is not running")

// pullByJob starts a pipeline for a running job, as the job's person and below
// the job's pipeline: a job that starts its own project again and again comes to
// an end like a bridge that does so.
func (s *Service) pullByJob(ctx context.Context, projectRef, token, ref string, vars []Variable, payload map[string]any) (*project.Project, *Pipeline, error) {
	missing := fault.New(fault.NotFound)
	caller, err := s.deps.JobTokens.Caller(ctx, token)
	switch {
	case err != nil:
		return nil, nil, err
	case caller == nil:
		return nil, nil, missing
	case !caller.By.SignedIn():
		return nil, nil, errNotRunning
	}
	p, _, err := s.deps.Projects.FindByRef(ctx, caller.By, projectRef)
	if fault.Is(err, fault.NotFound) {
		return nil, nil, missing
	}
	if err != nil {
		return nil, nil, err
	}
	job, err := s.KnownJob(ctx, s.deps.DB, caller.JobID)
	if err != nil {
		return nil, nil, err
	}
	parent, err := s.ByID(ctx, s.deps.DB, job.PipelineID)
	if err != nil {
		return nil, nil, err
	}
	w := CreateRequest{Source: FromPipeline, Ref: ref, parent: parent}
	if w.Variables, err = withPayload(vars, payload); err != nil {
		return nil, nil, err
	}
	why, err := s.checkTree(ctx, parent, p, &w)
	if err != nil {
		return nil, nil, err
	}
	if why != "" {
		return nil, nil, refused("The pipeline would follow from itself too often: " + string(why))
	}
	pl, err := s.Create(ctx, caller.By, p, w)
	return p, pl, err
}
