package alert

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/platform/jobqueue"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
)

// FollowUpArgs asks for incidents to be made of alerts of a project, or to be closed. One job does it for all that came before it began.
type FollowUpArgs struct {
	ProjectID int64 `json:"project_id"`
}

// Kind names the job.
func (FollowUpArgs) Kind() string { return "alert_follow_up" }

// TellArgs asks for people to be told of the new alerts of a project.
type TellArgs struct {
	ProjectID int64 `json:"project_id"`
}

// Kind names the job.
func (TellArgs) Kind() string { return "alert_tell" }

// SweepArgs asks for what is too old to be removed, and for pictures that nobody is shown any more.
type SweepArgs struct{}

// Kind names the job.
func (SweepArgs) Kind() string { return "alert_sweep" }

const (
	sweepEvery  = 24 * time.Hour
	sweepBatch  = 500
	retention   = 365 * 24 * time.Hour // of what is resolved
	followBatch = 100
	window      = time.Minute // alerts that come within it are told together
)

// Register adds the room's workers.
func (s *Service) Register(r *jobqueue.Registry) {
	jobqueue.Register(r, s.FollowUp)
	jobqueue.Register(r, s.Tell)
	jobqueue.Register(r, func(ctx context.Context, _ SweepArgs) error { return s.Sweep(ctx) })
	r.Every(sweepEvery, SweepArgs{})
}

// followUp is what is to be done about an alert, as bits.
type followUp int16

const (
	makeIncident followUp = 1 << iota
	closeIncident
)

// waiting is an alert that something is to be done about.
type waiting struct {
	ID       int64
	IID      int32
	FollowUp followUp
}

// FollowUp does what is to be done about the alerts of a project. Each piece is noted as done in the transaction that does it: the job may run
// any number of times. Rights, settings and what became of an alert meanwhile are asked when it is done.
func (s *Service) FollowUp(ctx context.Context, args FollowUpArgs) error {
	for {
		all, err := postgres.All[waiting](ctx, s.deps.DB, sqlToFollow, args.ProjectID, followBatch)
		if err != nil || len(all) == 0 {
			return err
		}
		p, err := s.deps.Projects.Find(ctx, instance, args.ProjectID)
		if fault.Is(err, fault.NotFound) {
			return nil // its alerts go with it
		}
		if err != nil {
			return err
		}
		if err := s.follow(ctx, p, all); err != nil {
			return err
		}
	}
}

// instance reads what a job is about.
var instance = access.Actor{Person: &access.Person{Admin: true}}

func (s *Service) follow(ctx context.Context, p *project.Project, all []waiting) error {
	bot, err := s.bot(ctx)
	if err != nil {
		return err
	}
	in := *p
	in.Role = access.Developer // as far as incidents go, the bot is one
	for _, w := range all {
		if w.FollowUp&makeIncident != 0 {
			if err := s.reportFor(ctx, bot, &in, w); err != nil {
				return err
			}
		}
		if w.FollowUp&closeIncident != 0 {
			if err := s.closeFor(ctx, bot, &in, w); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Service) bot(ctx context.Context) (access.Actor, error) {
	bot, err := s.deps.Users.AlertBot(ctx)
	if err != nil {
		return access.Actor{}, err
	}
	return access.Actor{Person: bot.Person(), Account: bot, Process: "alert_follow_up"}, nil
}

// Tell says that there are new alerts, once for all that came since it was said last, if the project still wants it.
func (s *Service) Tell(ctx context.Context, args TellArgs) error {
	p, err := s.deps.Projects.Find(ctx, instance, args.ProjectID)
	if err != nil {
		return ignoreMissing(err)
	}
	err = s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		c, err := s.hold(ctx, tx, p.ID)
		if err != nil || c.Told >= c.Last {
			return err
		}
		if _, err := tx.Exec(ctx, sqlSetTold, p.ID, c.Last); err != nil || !c.SendEmail {
			return err
		}
		return s.deps.Bus.Publish(ctx, tx, Came{Project: p, First: c.Told + 1, Last: c.Last, At: s.deps.Clock.Now()})
	})
	return ignoreMissing(err)
}

// ignoreMissing is an error, unless it says that something is gone.
func ignoreMissing(err error) error {
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	return err
}

// reportFor makes an incident of an alert for the instance. Where none can be made, none is.
func (s *Service) reportFor(ctx context.Context, bot access.Actor, p *project.Project, w waiting) error {
	a, err := s.Find(ctx, p.ID, int64(w.IID))
	if err == nil && a.Incident == nil && a.Status != Resolved && MayReport(bot, p) {
		err = s.report(ctx, bot, p, a)
	}
	if err != nil && !refused(err) {
		return err
	}
	_, err = s.deps.DB.Exec(ctx, sqlFollowed, w.ID, makeIncident)
	return err
}

// refused reports whether something was answered with a no that is the same the next time.
func refused(err error) bool {
	_, told := fault.Of(err)
	return told && !fault.Is(err, fault.Unavailable)
}

// closeFor closes the incident of an alert that is still resolved.
func (s *Service) closeFor(ctx context.Context, bot access.Actor, p *project.Project, w waiting) error {
	a, err := s.Find(ctx, p.ID, int64(w.IID))
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	err = s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		if a.Incident != nil && a.Status == Resolved && access.Holds(bot, access.PlanIssues, p.Target()) {
			if err := s.deps.Issues.SetClosed(ctx, tx, bot, p, *a.Incident, true); err != nil {
				return err
			}
		}
		_, err := tx.Exec(ctx, sqlFollowed, w.ID, closeIncident)
		return err
	})
	if refused(err) {
		_, err = s.deps.DB.Exec(ctx, sqlFollowed, w.ID, closeIncident)
	}
	return err
}

// Sweep removes alerts that were resolved and not touched for a year, and the bytes of pictures that nobody is shown any more.
func (s *Service) Sweep(ctx context.Context) error {
	if err := s.deps.DB.InBatches(ctx, sweepBatch, sqlSweep, s.deps.Clock.Now().Add(-retention)); err != nil {
		return err
	}
	return s.sweepImages(ctx)
}
