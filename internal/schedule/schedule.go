// Package schedule owns what starts pipelines from outside: schedules, which do so
// at set times as their owner and with variables of their own, and trigger tokens,
// which let whoever has one do so as the owner of the token.
//
// It does not own the pipelines that come of it (pipeline), nor the tokens of
// jobs, which start pipelines in the same place (dispatch).
//
// Tables: pipeline_schedules, pipeline_schedule_variables, trigger_tokens.
package schedule

import (
	"strings"
	"time"
	"unicode/utf8"

	"stithy/internal/gitstore"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
)

// Schedule makes pipelines at set times, as its owner.
type Schedule struct {
	ID           int64
	ProjectID    int64
	OwnerID      *int64
	Description  string
	Ref          string // full name
	Cron         string
	CronTimezone string
	Active       bool
	NextRunAt    *time.Time
	CreatedAt    time.Time
	UpdatedAt    time.Time
}

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

// Draft is what somebody says of a schedule; nil leaves as it is.
type Draft struct {
	Description, Ref, Cron, CronTimezone *string
	Active                               *bool
}

// apply changes a schedule and lists all that is wrong with it.
func (d Draft) apply(sc *Schedule, now time.Time) error {
	for _, f := range []struct{ from, into *string }{
		{d.Description, &sc.Description}, {d.Ref, &sc.Ref}, {d.Cron, &sc.Cron}, {d.CronTimezone, &sc.CronTimezone},
	} {
		if f.from != nil {
			*f.into = *f.from
		}
	}
	if d.Active != nil {
		sc.Active = *d.Active
	}
	if sc.Ref != "" && !strings.HasPrefix(sc.Ref, "refs/") {
		sc.Ref = gitstore.Branches + sc.Ref
	}
	var f fault.Fields
	if n := utf8.RuneCountInString(sc.Description); n == 0 {
		f.Add("description", "can't be blank")
	} else if n > 255 {
		f.Add("description", "is too long (maximum is 255 characters)")
	}
	if sc.Ref == "" {
		f.Add("ref", "can't be blank")
	} else if len(sc.Ref) > 1024 {
		f.Add("ref", "is too long (maximum is 1024 characters)")
	}
	when, err := parseCron(sc.Cron)
	if err != nil {
		f.Add("cron", " is invalid syntax")
	}
	zone, zoneErr := time.LoadLocation(sc.CronTimezone)
	if zoneErr != nil || sc.CronTimezone == "" || sc.CronTimezone == "Local" {
		f.Add("cron_timezone", " is invalid syntax")
	}
	if err := f.Err(); err != nil {
		return err
	}
	sc.NextRunAt = nil
	if next, ok := when.next(now, zone); ok {
		sc.NextRunAt = &next
	}
	return nil
}

// owns refuses who may not change a schedule: its pipelines run as its owner.
func (sc *Schedule) owns(by access.Actor) error {
	if by.Admin() || (sc.OwnerID != nil && by.Is(*sc.OwnerID)) {
		return nil
	}
	return fault.New(fault.Forbidden)
}
