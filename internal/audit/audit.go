// Package audit keeps the trail of administrative acts. It
// listens to the bus, and no room knows it. A row is written in the
// transaction of the act, so that neither exists without the other, and is
// never changed afterwards.
//
// Table: audit_events, one partition a month.
package audit

import (
	"encoding/json"
	"html"
	"regexp"
	"strings"
	"unicode/utf8"

	"stithy/internal/kit/bus"
	"stithy/internal/kit/wire"
)

// anonymous is the author of acts that nobody signed in for.
const anonymous = -1

// record is an audit record as the table holds it.
type record struct {
	authorID      int64
	authorName    string
	entityPath    string
	targetType    string
	targetID      *int64
	targetDetails string
	address       *string
	details       []byte
}

// newRecord spells an audit record out. Under sudo the author is the person acted as,
// and the administrator behind stays in the record.
func newRecord(d bus.AuditRecord, names wire.Names) (record, error) {
	r := record{authorID: anonymous, authorName: "An unauthenticated user", entityPath: d.Entity.Path}
	details := map[string]any{}
	class := "UnauthenticatedAuthor"
	if d.By.Process != "" {
		r.authorName, class = d.By.Process, "Process"
	}
	if p := d.By.Person; p != nil {
		r.authorID, r.authorName, class = p.ID, p.Name, "User"
		details["author_email"] = p.Email
		if d.By.Sudoer != nil {
			r.authorName += " (by " + d.By.Sudoer.Name + ")"
			details["impersonated_by"], details["impersonated_by_id"] = d.By.Sudoer.Name, d.By.Sudoer.ID
		}
	}
	r.authorName, r.entityPath = cut(r.authorName, 600), cut(r.entityPath, 5500)
	if d.Entity.Kind == bus.OfInstance {
		r.entityPath = names.InstancePath()
	}
	target := d.Target
	if target.Type == "" {
		target = bus.Target{Type: string(d.Entity.Kind), ID: d.Entity.ID, Details: d.Entity.Name}
	}
	r.targetType, r.targetDetails = cut(target.Type, 255), cut(target.Details, 5500)
	if r.targetDetails == "" {
		r.targetDetails = "unknown"
	}
	if target.ID != 0 {
		r.targetID = &target.ID
		details["target_id"] = target.ID
	}
	if d.By.Address.IsValid() {
		r.address = new(d.By.Address.String())
		details["ip_address"] = *r.address
	}
	details["author_name"], details["author_class"] = r.authorName, class
	details["target_type"], details["target_details"] = r.targetType, r.targetDetails
	details["entity_path"] = r.entityPath
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
	r.details, err = json.Marshal(details)
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
