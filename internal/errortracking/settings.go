package errortracking

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/owner"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
)

// flag is the feature flag of taking reports.
const flag = "integrated_error_tracking"

var errNoSettings = fault.NotFoundf("Error Tracking Setting")

// integrated reports whether the instance takes reports at all.
func (s *Service) integrated() bool { return s.deps.Settings.Enabled(flag) }

// seen is settings as people are shown them.
func (s *Service) seen(row Settings, err error) (*Settings, error) {
	if errors.Is(err, postgres.ErrNoRows) {
		return nil, errNoSettings
	}
	row.Integrated = row.Integrated && s.integrated()
	return &row, err
}

// Settings reads those of a project.
func (s *Service) Settings(ctx context.Context, projectID int64) (*Settings, error) {
	return s.seen(postgres.One[Settings](ctx, s.deps.DB, sqlSettings, projectID))
}

// Set changes the settings of a project, or makes them.
func (s *Service) Set(ctx context.Context, by access.Actor, p *project.Project, c Change) (*Settings, error) {
	if !s.integrated() {
		return nil, fault.New(fault.NotFound)
	}
	return s.change(ctx, by, p, c, true)
}

// Update changes the settings that a project has.
func (s *Service) Update(ctx context.Context, by access.Actor, p *project.Project, c Change) (*Settings, error) {
	return s.change(ctx, by, p, c, false)
}

// change has the first key come with the first need for one.
func (s *Service) change(ctx context.Context, by access.Actor, p *project.Project, c Change, create bool) (*Settings, error) {
	var row Settings
	err := s.deps.DB.InTx(ctx, func(tx pgx.Tx) (err error) {
		if err := owner.Hold(ctx, tx, p.Entity()); err != nil {
			return err
		}
		row, err = postgres.One[Settings](ctx, tx, sqlLockSettings, p.ID)
		if errors.Is(err, postgres.ErrNoRows) && create {
			row, err = defaults(p.ID), nil
		}
		if err != nil {
			return err
		}
		before := row
		c.apply(&row)
		if err := row.check(before, by.Admin()); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, sqlPutSettings, p.ID, row.Active, row.Integrated, row.PersonalData, row.PerMinute, row.Percent,
			s.deps.Clock.Now()); err != nil {
			return err
		}
		if row.takes() {
			if err := s.firstKey(ctx, tx, by, p); err != nil {
				return err
			}
		}
		if row == before {
			return nil
		}
		return s.deps.Bus.Publish(ctx, tx, Event{Action: SettingsChanged, By: by, In: p.Entity(), State: row.state()})
	})
	return s.seen(row, err)
}

// check wants an address where errors are taken by a backend elsewhere. There is no way yet to name one.
func (s *Settings) check(before Settings, admin bool) error {
	var f fault.Fields
	if s.Active && !s.Integrated && s.APIURL == nil {
		f.Add("api_url", "is a required field")
		f.Add("token", "is a required field")
	}
	most := max(DefaultPerMinute, before.PerMinute)
	if admin {
		most = maxPerMinute
	}
	if s.PerMinute < 1 || s.PerMinute > most {
		f.Add("events_per_minute", "must be from 1 to %d; more is for an administrator to allow", most)
	}
	if s.Percent < 1 || s.Percent > 100 {
		f.Add("sample_percent", "must be from 1 to 100")
	}
	return f.Err()
}

func (s *Settings) state() string {
	return fmt.Sprintf("active %t, integrated %t, personal data kept %t, %d events a minute, %d%% of them taken",
		s.Active, s.Integrated, s.PersonalData, s.PerMinute, s.Percent)
}
