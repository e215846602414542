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
}

// Change is what settings become. What is nil stays.
type Change struct {
	Active       bool
	Integrated   *bool
	PersonalData *bool
}

func (c Change) apply(s *Settings) {
	s.Active = c.Active
	if c.Integrated != nil {
		s.Integrated = *c.Integrated
	}
	if c.PersonalData != nil {
		s.PersonalData = *c.PersonalData
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

// afterEvent is the status of an error once it happened again: one that was resolved before is not. What happened before it was resolved and came late
// tells nothing about the solution.
func afterEvent(now Status, resolvedAt *time.Time, happened time.Time) (next Status, regressed bool) {
	if now == Resolved && (resolvedAt == nil || happened.After(*resolvedAt)) {
		return Unresolved, true
	}
	return now, false
}
