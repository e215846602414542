// Package audit keeps the trail of administrative acts, shows it, and finds out whether somebody changed it. It
// listens to the bus, and no room knows it. A row is written in the
// transaction of the act, so that neither exists without the other, and is
// never changed afterwards. A job seals it (seal.go), and verify.go looks whether everything is as it was sealed. What is sealed is sent to
// destinations that people name (stream.go).
//
// Tables: audit_events and audit_seals, one partition a month each; audit_unsealed, audit_backlog, audit_heads, audit_blocks, audit_days,
// audit_retired; audit_event_destinations, audit_event_dead_letters.
package audit

import (
	"encoding/json"
	"html"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"stithy/internal/kit/bus"
	"stithy/internal/kit/wire"
)

// anonymous is the author of acts that nobody signed in for.
const anonymous = -1

// Event is a row of the trail.
type Event struct {
	ID            int64
	CreatedAt     time.Time
	EventType     string
	AuthorID      int64
	AuthorName    string
	EntityType    bus.EntityKind
	EntityID      int64
	EntityPath    string
	TargetType    string
	TargetID      *int64
	TargetDetails string
	IPAddress     *string `db:"ip_address"`
	Details       json.RawMessage
	TopID         *int64 // the group at the top of where it happened, as it stood then; nil of what is in none, and of rows that an earlier release wrote
	MAC           []byte `db:"mac"` // nil of rows that an earlier release wrote
}

// newEvent spells an audit record out. Under sudo the author is the person acted as,
// and the administrator behind stays in the record.
func newEvent(d bus.AuditRecord, names wire.Names, now time.Time) (Event, error) {
	r := Event{
		CreatedAt: now.UTC().Truncate(time.Microsecond), EventType: d.Type, AuthorID: anonymous, AuthorName: "An unauthenticated user",
		EntityType: d.Entity.Kind, EntityID: d.Entity.ID, EntityPath: d.Entity.Path,
	}
	details := map[string]any{}
	class := "UnauthenticatedAuthor"
	if d.By.Process != "" {
		r.AuthorName, class = d.By.Process, "Process"
	}
	if p := d.By.Person; p != nil {
		r.AuthorID, r.AuthorName, class = p.ID, p.Name, "User"
		details["author_email"] = p.Email
		if d.By.Sudoer != nil {
			r.AuthorName += " (by " + d.By.Sudoer.Name + ")"
			details["impersonated_by"], details["impersonated_by_id"] = d.By.Sudoer.Name, d.By.Sudoer.ID
		}
	}
	r.AuthorName, r.EntityPath = cut(r.AuthorName, 600), cut(r.EntityPath, 5500)
	if d.Entity.Kind == bus.OfInstance {
		r.EntityPath = names.InstancePath()
	}
	target := d.Target
	if target.Type == "" {
		target = bus.Target{Type: string(d.Entity.Kind), ID: d.Entity.ID, Details: d.Entity.Name}
	}
	r.TargetType, r.TargetDetails = cut(target.Type, 255), cut(target.Details, 5500)
	if r.TargetDetails == "" {
		r.TargetDetails = "unknown"
	}
	if target.ID != 0 {
		r.TargetID = &target.ID
		details["target_id"] = target.ID
	}
	if d.By.Address.IsValid() {
		r.IPAddress = new(d.By.Address.String())
		details["ip_address"] = *r.IPAddress
	}
	details["author_name"], details["author_class"] = r.AuthorName, class
	details["target_type"], details["target_details"] = r.TargetType, r.TargetDetails
	details["entity_path"] = r.EntityPath
	details["event_name"] = d.Type
	if d.Message != "" {
		details["custom_message"] = cut(plain(d.Message), 5500)
	}
	if d.Change != nil {
		details["change"], details["from"], details["to"] = d.Change.What, cut(d.Change.From, 5500), cut(d.Change.To, 5500)
	}
	if d.Add != "" {
		details["add"] = d.Add
	}
	if d.Remove != "" {
		details["remove"] = d.Remove
	}
	var err error
	r.Details, err = json.Marshal(details)
	return r, err
}

var tags = regexp.MustCompile(`<[^>]*>`)

// plain strips markup: messages are shown on pages.
func plain(s string) string { return tags.ReplaceAllString(html.UnescapeString(s), "") }

// cut keeps a text within its column, on a whole character.
func cut(s string, most int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most])
}
