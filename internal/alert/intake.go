package alert

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/group"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/fault"
	"stithy/internal/owner"
	"stithy/internal/platform/batch"
	"stithy/internal/platform/jobqueue"
	"stithy/internal/platform/postgres"
)

// address is where something was sent to: an integration of a project by its endpoint, or the first one of a kind.
type address struct {
	project  string // full path
	endpoint string
	first    Kind
}

// find looks for the integration of an address, once for all who sent to it at the same time. There is none where alerts are not taken.
func (s *Service) find(ctx context.Context, at address, in []struct{}) ([]*Integration, error) {
	route, err := group.Walk(ctx, s.deps.DB, at.project)
	if err != nil {
		return nil, err
	}
	var integration *Integration
	if route.ProjectID != 0 {
		if at.first != "" {
			integration, err = found(postgres.One[Integration](ctx, s.deps.DB, sqlFirstIntegration, route.ProjectID, at.first))
		} else {
			integration, err = found(postgres.One[Integration](ctx, s.deps.DB, sqlIntegrationAt, route.ProjectID, at.endpoint))
		}
	}
	if err != nil && !fault.Is(err, fault.NotFound) {
		return nil, err
	}
	return slices.Repeat([]*Integration{integration}, len(in)), nil
}

// delivery is one payload on its way into a project.
type delivery struct {
	integration int64
	parsed
}

// outcome is what became of a payload.
type outcome struct {
	briefs  []Brief
	unknown bool // it resolves what is not open
}

var errNothingOpen = fault.WithMessage(fault.BadParams, "there is no open alert that the payload resolves")

// Take reads a payload that came to an integration and stores what it says. It returns the alerts that are new or that were
// sent before.
func (s *Service) Take(ctx context.Context, in *Integration, body []byte) ([]Brief, error) {
	p, err := parse(body, in.Mapping, s.deps.Clock.Now(), s.deps.Settings.Enabled("generic_alert_fingerprinting"))
	if err != nil {
		return nil, fault.WithMessage(fault.BadParams, "the payload is %s", err.Error())
	}
	if len(p.reports) == 0 {
		return []Brief{}, nil
	}
	out, err := s.storing.Do(ctx, in.ProjectID, delivery{integration: in.ID, parsed: p})
	switch {
	case errors.Is(err, batch.ErrFull):
		return nil, fault.New(fault.Unavailable)
	case err != nil:
		return nil, err
	case out.unknown:
		return nil, errNothingOpen
	}
	return out.briefs, nil
}

// store writes what some payloads say, in one transaction and in their order.
func (s *Service) store(ctx context.Context, projectID int64, deliveries []delivery) (out []outcome, err error) {
	err = s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		out, err = s.storeIn(ctx, tx, projectID, deliveries)
		return err
	})
	return out, err
}

// counter is the newest number of a project's alerts, and what follows when others come or these end.
type counter struct {
	Last, Told                                int32
	CreateIssue, SendEmail, AutoCloseIncident bool
}

// hold keeps others from storing alerts of a project. It holds the project before its counter, as the removal of a project does.
func (s *Service) hold(ctx context.Context, tx pgx.Tx, projectID int64) (counter, error) {
	if err := owner.Hold(ctx, tx, bus.Entity{Kind: bus.OfProject, ID: projectID}); err != nil {
		return counter{}, err
	}
	c, err := postgres.One[counter](ctx, tx, sqlHoldCounter, projectID)
	return c, gone.Translate(err)
}

func (s *Service) storeIn(ctx context.Context, tx pgx.Tx, projectID int64, deliveries []delivery) ([]outcome, error) {
	held, err := s.hold(ctx, tx, projectID)
	if err != nil {
		return nil, err
	}
	payloads, by := make([]parsed, len(deliveries)), map[*report]int64{}
	prints := [][]byte{}
	for i, d := range deliveries {
		payloads[i] = d.parsed
		for j := range d.reports {
			by[&d.reports[j]] = d.integration
			if digest := d.reports[j].fingerprint; digest != nil {
				prints = append(prints, digest)
			}
		}
	}
	known, err := postgres.All[open](ctx, tx, sqlOpenAlerts, projectID, prints)
	if err != nil {
		return nil, err
	}
	done := settle(known, held.Last, payloads)
	if err := s.write(ctx, tx, projectID, held, done, by); err != nil {
		return nil, err
	}
	out := make([]outcome, len(deliveries))
	for i := range out {
		out[i] = outcome{briefs: done.briefs[i], unknown: done.unknown[i]}
	}
	return out, nil
}

// write does what was settled, in one exchange with the server. by is the integration of each report. If more is to be done about alerts than to store them,
// this is noted with them, and one job of each kind does it for all.
func (s *Service) write(ctx context.Context, tx pgx.Tx, projectID int64, held counter, done settled, by map[*report]int64) error {
	now, follows := s.deps.Clock.Now(), false
	b := &pgx.Batch{}
	for _, f := range done.created {
		status := Triggered
		if f.ended != nil {
			status = Resolved
		}
		next := followUp(0)
		if held.CreateIssue && status != Resolved { // no incident is made of what is over
			next, follows = makeIncident, true
		}
		b.Queue(sqlInsertAlert, projectID, f.iid, by[f.report], f.title, f.description, f.service, f.tool, f.hosts, f.severity, status, f.fingerprint, f.events,
			f.environment, f.runbook, f.query, f.payload, f.startedAt, f.ended, now, next)
	}
	if n := len(done.created); n > 0 {
		b.Queue(sqlSetCounter, projectID, held.Last+int32(n), held.SendEmail)
	}
	if len(done.repeated) > 0 {
		var ids, events []int64
		for id, n := range done.repeated {
			ids, events = append(ids, id), append(events, n)
		}
		b.Queue(sqlRepeatAlerts, ids, events, now)
	}
	if len(done.resolved) > 0 {
		var ids []int64
		var times []time.Time
		var were []int16
		for _, r := range done.resolved {
			ids, times, were = append(ids, r.id), append(times, r.at), append(were, int16(r.was))
		}
		b.Queue(sqlResolveAlerts, ids, times, were, now, held.AutoCloseIncident).QueryRow(func(row pgx.Row) error {
			var closes bool
			err := row.Scan(&closes)
			follows = follows || closes
			return err
		})
	}
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return err
	}
	if follows {
		if err := s.deps.Queue.Insert(ctx, tx, FollowUpArgs{ProjectID: projectID}, jobqueue.Unique()); err != nil {
			return err
		}
	}
	if held.SendEmail && len(done.created) > 0 {
		return s.deps.Queue.Insert(ctx, tx, TellArgs{ProjectID: projectID}, jobqueue.At(now.Add(window)), jobqueue.Unique())
	}
	return nil
}
