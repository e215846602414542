// Package label owns the labels of projects and groups: their names and colours, in which order a project looks at them, and how labels of
// many projects become one of their group. A project has its own labels and those of all groups above it.
//
// It does not own what carries labels; whoever does hears of a label that goes, or that others become, by its events. Nor does it own who
// is subscribed to a label (subscription).
//
// Tables: labels, label_priorities.
package label

import (
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/net/html"

	"stithy/internal/kit/bus"
	"stithy/internal/kit/fault"
	"stithy/internal/owner"
)

// Label is a label of a group or project.
type Label struct {
	ID          int64
	NamespaceID *int64 // one of the two is nil
	ProjectID   *int64
	Name        string
	Description *string
	Color       string // "#rrggbb"
	CreatedAt   time.Time
	UpdatedAt   time.Time
}

// Owner is the group or project that the label belongs to, by its kind and id.
func (l *Label) Owner() bus.Entity { return owner.OfKeys(l.NamespaceID, l.ProjectID) }

// Seen is a label with what depends on who reads it and where: subscription, priority.
type Seen struct {
	Label
	Subscribed bool
	Priority   *int // in the project; nil in a group
}

// Draft is what a label is made of.
type Draft struct {
	Name        string
	Color       string
	Description *string
	Priority    *int // in a project
}

// Change is what a label becomes. What is nil stays.
type Change struct {
	Name        *string
	Color       *string
	Description **string
	Priority    **int // in the project through which the label is changed
}

// ofLabel reports whether more than the project's own view of the label changes.
func (c Change) ofLabel() bool { return c.Name != nil || c.Color != nil || c.Description != nil }

// apply changes a label.
func (c Change) apply(l *Label) {
	if c.Name != nil {
		l.Name = *c.Name
	}
	if c.Color != nil {
		l.Color = *c.Color
	}
	if c.Description != nil {
		l.Description = *c.Description
	}
}

const (
	maxName        = 255
	maxDescription = 65_536
	maxPriority    = math.MaxInt32
)

// check brings a label into the form that is kept, and says what is wrong with it. Lengths are looked at first: nothing reads a text that is
// too long.
func (l *Label) check() error {
	var f fault.Fields
	if tooLong(l.Name) {
		f.Add("title", "is too long (maximum is %d characters)", maxName)
	} else {
		l.Name = strings.TrimSpace(withoutMarkup(strings.TrimSpace(l.Name)))
		if l.Name == "" {
			f.Add("title", "can't be blank")
		}
		if l.Name == "" || strings.Contains(l.Name, ",") {
			f.Add("title", "is invalid")
		}
	}
	color, ok := ParseColor(l.Color)
	if l.Color = color; !ok {
		f.Add("color", "must be a valid color code")
	}
	if l.Description != nil && len(*l.Description) > maxDescription {
		f.Add("description", "is too long (maximum is %d bytes)", maxDescription)
	}
	return f.Err()
}

// tooLong reports whether a text is longer than any name.
func tooLong(s string) bool {
	return len(s) > maxName*utf8.UTFMax || utf8.RuneCountInString(s) > maxName
}

// checkPriority refuses what no priority can be.
func checkPriority(priority *int) error {
	switch {
	case priority == nil:
	case *priority < 0:
		return fault.Field("priority", "must be greater than or equal to 0")
	case *priority > maxPriority:
		return fault.Field("priority", "must be less than or equal to %d", maxPriority)
	}
	return nil
}

// withoutMarkup is the text of a name that somebody wrote as HTML.
func withoutMarkup(s string) string {
	if !strings.ContainsAny(s, "<&") {
		return s
	}
	var text strings.Builder
	for z := html.NewTokenizer(strings.NewReader(s)); ; {
		switch z.Next() {
		case html.ErrorToken:
			return text.String()
		case html.TextToken:
			text.Write(z.Text())
		}
	}
}
