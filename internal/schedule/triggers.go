package schedule

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/wire"
	"stithy/internal/pipeline"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/secretbox"
	"stithy/internal/project"
)

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
func (s *Service) CreateTrigger(
	ctx context.Context, by access.Actor, p *project.Project, description string,
) (*Trigger, secretbox.Secret, error) {
	if err := checkDescription(description); err != nil {
		return nil, "", err
	}
	secret := secretbox.RandomToken(40)
	t, err := s.trigger(ctx, TriggerCreated, by, p, sqlInsertTrigger, p.ID, by.ID(), description, s.deps.Box.Digest(triggerDigest, secret), secret[:4],
		s.deps.Clock.Now())
	return t, secretbox.Secret(s.deps.Names.TokenPrefix(wire.TriggerToken) + secret), err
}

// trigger changes a token and tells of it.
func (s *Service) trigger(ctx context.Context, did Action, by access.Actor, p *project.Project, sql string, args ...any) (t *Trigger, err error) {
	err = s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		if t, err = foundTrigger(postgres.One[Trigger](ctx, tx, sql, args...)); err != nil {
			return err
		}
		return s.deps.Bus.Publish(ctx, tx, Event{Action: did, By: by, In: p.Entity(), ID: t.ID, Description: t.Description})
	})
	return t, err
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
	return s.trigger(ctx, TriggerUpdated, by, p, sqlUpdateTrigger, id, description, s.deps.Clock.Now())
}

// DeleteTrigger ends a token.
func (s *Service) DeleteTrigger(ctx context.Context, by access.Actor, p *project.Project, id int64) error {
	t, err := s.FindTrigger(ctx, p.ID, id)
	if err != nil {
		return err
	}
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, sqlDeleteTrigger, p.ID, id)
		if err == nil && tag.RowsAffected() == 0 {
			return errNoTrigger
		}
		if err != nil {
			return err
		}
		return s.deps.Bus.Publish(ctx, tx, Event{Action: TriggerDeleted, By: by, In: p.Entity(), ID: t.ID, Description: t.Description})
	})
}

// Pull starts a pipeline for whoever has a trigger token, as the owner of the
// token and with the rights that they have now. payload is all that was sent.
func (s *Service) Pull(
	ctx context.Context, projectRef, token, ref string, vars []pipeline.Variable, payload map[string]any,
) (*project.Project, *pipeline.Pipeline, error) {
	missing := fault.New(fault.NotFound)
	secret := strings.TrimPrefix(token, s.deps.Names.TokenPrefix(wire.TriggerToken))
	t, err := foundTrigger(postgres.One[Trigger](ctx, s.deps.DB, sqlTriggerByDigest, s.deps.Box.Digest(triggerDigest, secret)))
	if fault.Is(err, fault.NotFound) {
		return s.pullByJob(ctx, projectRef, token, ref, vars, payload)
	}
	if err != nil {
		return nil, nil, err
	}
	by, err := s.deps.Tokens.Later(ctx, t.OwnerID)
	if _, refused := fault.Of(err); refused {
		return nil, nil, missing // who is kept out acts no more
	}
	if err != nil {
		return nil, nil, err
	}
	p, _, err := s.deps.Projects.FindByRef(ctx, by, projectRef)
	if fault.Is(err, fault.NotFound) || (err == nil && p.ID != t.ProjectID) {
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
	pl, err := s.deps.Pipelines.Create(ctx, by, p, pipeline.CreateRequest{Source: pipeline.FromTrigger, Ref: ref, Variables: vars})
	return p, pl, err
}

// withPayload adds all that was sent to the variables that were given.
func withPayload(vars []pipeline.Variable, payload map[string]any) ([]pipeline.Variable, error) {
	text, err := json.Marshal(payload)
	return append([]pipeline.Variable{{Key: "TRIGGER_PAYLOAD", Value: string(text), File: true, Raw: true}}, vars...), err
}

var errNotRunning = fault.WithMessage(fault.Unauthenticated, "Job is not running")

// pullByJob starts a pipeline for a running job, as the job's person.
func (s *Service) pullByJob(
	ctx context.Context, projectRef, token, ref string, vars []pipeline.Variable, payload map[string]any,
) (*project.Project, *pipeline.Pipeline, error) {
	missing := fault.New(fault.NotFound)
	jobID, by, err := s.deps.JobTokens.Caller(ctx, token)
	switch {
	case err != nil:
		return nil, nil, err
	case jobID == 0:
		return nil, nil, missing
	case !by.SignedIn():
		return nil, nil, errNotRunning
	}
	p, _, err := s.deps.Projects.FindByRef(ctx, by, projectRef)
	if fault.Is(err, fault.NotFound) {
		return nil, nil, missing
	}
	if err != nil {
		return nil, nil, err
	}
	if vars, err = withPayload(vars, payload); err != nil {
		return nil, nil, err
	}
	pl, err := s.deps.Pipelines.CreateByJob(ctx, by, p, jobID, pipeline.CreateRequest{Ref: ref, Variables: vars})
	return p, pl, err
}
