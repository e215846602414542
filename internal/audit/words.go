package audit

import (
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"

	"stithy/internal/kit/bus"
)

// said is the part of the details of an event that says what was done.
type said struct {
	Message any    `json:"custom_message"`
	Change  string `json:"change"`
	From    string `json:"from"`
	To      string `json:"to"`
	Add     string `json:"add"`
	Remove  string `json:"remove"`
}

// Action says in a line what was done, as far as the event tells.
func (e Event) Action() string {
	var d said
	_ = json.Unmarshal(e.Details, &d) // what cannot be read is left out
	message, _ := d.Message.(string)
	switch {
	case message != "":
		return message
	case d.Change != "" && d.From != "" && d.To != "":
		return "Changed " + d.Change + " from " + d.From + " to " + d.To
	case d.Change != "" && d.To != "":
		return "Changed " + d.Change + " to " + d.To
	case d.Change != "":
		return "Changed " + d.Change
	case d.Add != "":
		return "Added " + strings.ReplaceAll(d.Add, "_", " ")
	case d.Remove != "":
		return "Removed " + strings.ReplaceAll(d.Remove, "_", " ")
	}
	words := strings.ReplaceAll(e.EventType, "_", " ")
	first, size := utf8.DecodeRuneInString(words)
	return string(unicode.ToUpper(first)) + words[size:]
}

// Place is where it was done, as people call it.
func (e Event) Place() string {
	if e.EntityType == bus.OfInstance {
		return "instance"
	}
	return e.EntityPath
}

// Target is what it was done to, where that is something else than the place.
func (e Event) Target() string {
	if e.TargetType == string(e.EntityType) && (e.TargetID == nil || *e.TargetID == e.EntityID) {
		return ""
	}
	return e.TargetDetails
}
