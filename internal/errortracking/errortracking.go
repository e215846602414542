// Package errortracking owns the errors that programs report while they run: whether a project takes reports, the keys that programs show,
// the reports themselves, which of them are one error, and what became of it.
//
// Programs speak the protocol of the SDKs that they are built with; where they send to is in the connection string of a key.
//
// It does not own issues that people open about an error, nor alerts.
//
// Tables: error_tracking_settings, error_client_keys, tracked_errors, error_hours, error_places, error_people, error_events, error_event_ids.
package errortracking

import (
	"strings"
	"time"

	"stithy/internal/platform/secretbox"
)

// Settings say whether a project takes reports.
type Settings struct {
	ProjectID    int64
	Active       bool
	Integrated   bool    // by this instance, not by a backend elsewhere
	ProjectName  *string // there
	APIURL       *string `db:"api_url"`
	PersonalData bool    // addresses of people and machines are kept
	PerMinute    int     `db:"events_per_minute"` // that are taken
	Percent      int     `db:"sample_percent"`    // of events that are taken
}

// defaults are the settings of a project that has none yet.
func defaults(projectID int64) Settings {
	return Settings{ProjectID: projectID, PerMinute: DefaultPerMinute, Percent: 100}
}

const (
	// DefaultPerMinute is how many events a project may report in a minute. More is for an administrator to allow: it is the instance that pays.
	DefaultPerMinute = 1000
	// maxPerMinute is what an administrator may allow.
	maxPerMinute = 1_000_000
)

// Change is what settings become. What is nil stays.
type Change struct {
	Active       bool
	Integrated   *bool
	PersonalData *bool
	PerMinute    *int
	Percent      *int
}

func (c Change) apply(s *Settings) {
	s.Active = c.Active
	if c.Integrated != nil {
		s.Integrated = *c.Integrated
	}
	if c.PersonalData != nil {
		s.PersonalData = *c.PersonalData
	}
	if c.PerMinute != nil {
		s.PerMinute = *c.PerMinute
	}
	if c.Percent != nil {
		s.Percent = *c.Percent
	}
}

// takes reports whether reports are taken here.
func (s *Settings) takes() bool { return s.Active && s.Integrated }

// apiPath is what the address of a project in a backend elsewhere has, and the address for people has not.
const apiPath = "api/0/projects/"

// Title is the name of the project in a backend elsewhere: the last part of its address where it has no other.
func (s *Settings) Title() *string {
	if s.ProjectName != nil || s.APIURL == nil {
		return s.ProjectName
	}
	address := strings.TrimSuffix(*s.APIURL, "/")
	return new(address[strings.LastIndexByte(address, '/')+1:])
}

// ExternalURL is where people look at errors in a backend elsewhere.
func (s *Settings) ExternalURL() *string {
	if s.APIURL == nil {
		return nil
	}
	return new(strings.Replace(*s.APIURL, apiPath, "", 1))
}

// Key is what programs show when they report.
type Key struct {
	ID        int64
	ProjectID int64
	Sealed    []byte `db:"public_key"`
	Active    bool

	public secretbox.Secret
}

// Public is the key itself.
func (k *Key) Public() secretbox.Secret { return k.public }

// Status is what people decided about an error.
type Status string

const (
	Unresolved Status = "unresolved"
	Resolved   Status = "resolved"
	Ignored    Status = "ignored"
)

// solution is when an error was resolved, and in which release if that was said.
type solution struct {
	at      *time.Time
	release string
}

// afterEvent is the status of an error once it happened again: one that was resolved before is not. What happened before it was resolved and came late
// tells nothing about the solution, nor does a release that was made before that of the solution.
func afterEvent(now Status, s solution, happened time.Time, release string) (next Status, regressed bool) {
	if now != Resolved || (s.at != nil && !happened.After(*s.at)) || (s.release != "" && precedes(release, s.release)) {
		return now, false
	}
	return Unresolved, true
}
