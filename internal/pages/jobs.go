package pages

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/platform/jobqueue"
	"stithy/internal/platform/postgres"
)

// VerifyArgs asks for a look at the record of a new claim.
type VerifyArgs struct {
	DomainID int64 `json:"domain_id"`
}

// Kind names the job.
func (VerifyArgs) Kind() string { return "pages_domain_verify" }

// DomainsArgs asks for all that is due about domains.
type DomainsArgs struct{}

// Kind names the job.
func (DomainsArgs) Kind() string { return "pages_domains" }

// DeployArgs asks for what a job left to be published, for the person as whom it ran.
type DeployArgs struct {
	DeploymentID int64 `json:"deployment_id"`
	UserID       int64 `json:"user_id"`
}

// Kind names the job.
func (DeployArgs) Kind() string { return "pages_deploy" }

// DeploymentsArgs asks for deployments to go that are no longer kept.
type DeploymentsArgs struct{}

// Kind names the job.
func (DeploymentsArgs) Kind() string { return "pages_deployments" }

const (
	deployTimeout = 30 * time.Minute
	// abandoned is when a deployment is given up: no job is tried for as long.
	abandoned = 24 * time.Hour
	// stillRead is how long the bytes of a deployment stay that is no longer shown: other nodes know a little later, and readers are not cut off.
	stillRead = 2 * time.Minute

	domainsEvery = 5 * time.Minute
	sweepBatch   = 1000
	// dueBatch claims are looked at before more are taken, lookups of them at once.
	dueBatch = 64
	lookups  = 16
	// putOff is when a claim is looked at again that was taken by a node that died.
	putOff = 10 * time.Minute
	// rounds of them are in one job, which thus ends in time even where no server answers; what is left is for the next.
	rounds = 3
)

// Register adds the room's workers.
func (s *Service) Register(r *jobqueue.Registry) {
	jobqueue.Register(r, func(ctx context.Context, a VerifyArgs) error { return s.Verify(ctx, a.DomainID) })
	jobqueue.Register(r, func(ctx context.Context, _ DomainsArgs) error { return s.Domains(ctx) })
	jobqueue.RegisterTimeout(r, deployTimeout, func(ctx context.Context, a DeployArgs) error { return s.Deploy(ctx, a.DeploymentID, a.UserID) })
	jobqueue.RegisterTimeout(r, deployTimeout, func(ctx context.Context, _ DeploymentsArgs) error { return s.Sweep(ctx) })
	r.Every(domainsEvery, DomainsArgs{})
	r.Every(domainsEvery, DeploymentsArgs{})
}

// Domains looks at claims that are due, removes those that nobody proved in time, and forgets hosts that rested long enough.
func (s *Service) Domains(ctx context.Context) error {
	now := s.deps.Clock.Now()
	if s.required() {
		if err := s.verifyDue(ctx); err != nil {
			return err
		}
		if err := s.removeUnproven(ctx); err != nil {
			return err
		}
	}
	return s.deps.DB.InBatches(ctx, sweepBatch, sqlSweepReleased, now.Add(-restsFor))
}

func (s *Service) verifyDue(ctx context.Context) error {
	for range rounds {
		now := s.deps.Clock.Now()
		due, err := postgres.All[Domain](ctx, s.deps.DB, sqlTakeDue, now, now.Add(putOff), dueBatch)
		if err != nil {
			return err
		}
		if err := s.verifyAll(ctx, due); err != nil || len(due) < dueBatch {
			return err
		}
	}
	return nil
}

func (s *Service) verifyAll(ctx context.Context, due []Domain) error {
	var group sync.WaitGroup
	slots, failures := make(chan struct{}, lookups), make([]error, len(due))
	for i := range due {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			failures[i] = s.Verify(ctx, due[i].ID)
		})
	}
	group.Wait()
	return errors.Join(failures...)
}

func (s *Service) removeUnproven(ctx context.Context) error {
	for {
		ids, err := postgres.Values[int64](ctx, s.deps.DB, sqlToRemove, s.deps.Clock.Now(), sweepBatch)
		if err != nil || len(ids) == 0 {
			return err
		}
		for _, id := range ids {
			if err := s.removeIfDue(ctx, id); err != nil {
				return err
			}
		}
	}
}

func (s *Service) removeIfDue(ctx context.Context, id int64) error {
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		d, err := postgres.One[Domain](ctx, tx, sqlLockByID, id)
		if errors.Is(err, postgres.ErrNoRows) || err == nil && (d.RemoveAt == nil || d.RemoveAt.After(s.deps.Clock.Now())) {
			return nil
		}
		if err != nil {
			return err
		}
		in, err := s.entity(ctx, tx, d.ProjectID)
		if err != nil {
			return err
		}
		return s.release(ctx, tx, Event{Action: DomainDeleted, In: in, Domain: &d, State: "it was not verified in time"})
	})
}

// Sweep removes deployments that have expired or are no longer kept: their bytes first, then their rows, so that nothing is forgotten.
func (s *Service) Sweep(ctx context.Context) error {
	now := s.deps.Clock.Now()
	if err := s.deps.DB.InBatches(ctx, sweepBatch, sqlDropExpired, now); err != nil {
		return err
	}
	if err := s.deps.DB.InBatches(ctx, sweepBatch, sqlDropUnfinished, now, now.Add(-abandoned)); err != nil {
		return err
	}
	for {
		gone, err := postgres.All[Deployment](ctx, s.deps.DB, sqlRemovable, now.Add(-stillRead), dueBatch)
		if err != nil || len(gone) == 0 {
			return err
		}
		ids := make([]int64, 0, len(gone))
		for _, d := range gone {
			for _, key := range []string{indexKey(d.BlobKey), d.BlobKey} {
				if err := s.deps.Blobs.Delete(ctx, key); err != nil {
					return err
				}
			}
			ids = append(ids, d.ID)
		}
		if _, err := s.deps.DB.Exec(ctx, sqlForgetDeployments, ids); err != nil {
			return err
		}
	}
}
