package runner

import (
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"stithy/internal/kit/fault"
)

const (
	maxTags        = 50
	maxTag         = 255
	maxDescription = 1024
	maxNote        = 1024
	minTimeout     = 600
	// maxRecent is how many runners a group or project may have that are new
	// or in use.
	maxRecent = 1000
	recent    = 7 * 24 * time.Hour
)

// Draft is what a runner is made of.
type Draft struct {
	Description     string
	MaintenanceNote string
	Tags            []string
	RunUntagged     bool
	AccessLevel     AccessLevel
	MaximumTimeout  *int
	Paused          bool
	Locked          bool
}

// clean cuts blanks off tags and leaves each once.
func clean(tags []string) []string {
	out, seen := []string{}, map[string]bool{}
	for _, tag := range tags {
		if tag = strings.TrimSpace(tag); tag != "" && !seen[tag] {
			seen[tag] = true
			out = append(out, tag)
		}
	}
	return out
}

// check says what is wrong with a runner.
func (d Draft) check() error {
	var f fault.Fields
	if utf8.RuneCountInString(d.Description) > maxDescription {
		f.Add("description", "is too long (maximum is %d characters)", maxDescription)
	}
	if utf8.RuneCountInString(d.MaintenanceNote) > maxNote {
		f.Add("maintenance_note", "is too long (maximum is %d characters)", maxNote)
	}
	switch {
	case d.MaximumTimeout == nil:
	case *d.MaximumTimeout < minTimeout:
		f.Add("maximum_timeout", "needs to be at least 10 minutes")
	case *d.MaximumTimeout > math.MaxInt32:
		f.Add("maximum_timeout", "must be less than or equal to %d", math.MaxInt32)
	}
	if len(d.Tags) == 0 && !d.RunUntagged {
		f.Add("tags_list", "can not be empty when runner is not allowed to pick untagged jobs")
	}
	if len(d.Tags) > maxTags {
		f.Add("tags_list", "Too many tags specified. Please limit the number of tags to %d", maxTags)
	}
	if slices.ContainsFunc(d.Tags, func(t string) bool { return utf8.RuneCountInString(t) > maxTag }) {
		f.Add("tags_list", "has a tag that is too long (maximum is %d characters)", maxTag)
	}
	return f.Err()
}

// sentences joins what is wrong with a runner as people read it.
func sentences(err error) (string, bool) {
	f, ok := fault.Of(err)
	if !ok || len(f.Fields) == 0 {
		return "", false
	}
	var parts []string
	for _, a := range []struct{ name, said string }{
		{"description", "Description "}, {"maintenance_note", "Maintenance note "}, {"maximum_timeout", "Maximum timeout "},
		{"tags_list", "Tags list "}, {"base", ""},
	} {
		for _, text := range f.Fields[a.name] {
			parts = append(parts, a.said+text)
		}
	}
	return strings.Join(parts, ", "), true
}

const (
	onlineFor = 2 * time.Hour
	staleIn   = 3 // months
)

// Status is whether a runner is there.
type Status string

const (
	Online         Status = "online"
	Offline        Status = "offline"
	Stale          Status = "stale"
	NeverContacted Status = "never_contacted"
	Paused         Status = "paused" // what an old form says instead of the others
	Active         Status = "active" // not paused
)

// Status says whether a runner was seen lately.
func (r Runner) Status(now time.Time) Status {
	long := now.AddDate(0, -staleIn, 0)
	switch {
	case !r.CreatedAt.After(long) && (r.ContactedAt == nil || !r.ContactedAt.After(long)):
		return Stale
	case r.ContactedAt == nil:
		return NeverContacted
	case r.ContactedAt.After(now.Add(-onlineFor)):
		return Online
	}
	return Offline
}

// cut keeps the first characters of what a machine says of itself, without
// those that are not for reading. Nobody knows yet who asks, so it is one pass
// that ends with the last character that is kept.
func cut(s string, most int) string {
	var kept strings.Builder
	for _, r := range s {
		if most == 0 {
			break
		}
		if r < ' ' || r == utf8.RuneError {
			continue
		}
		kept.WriteRune(r)
		most--
	}
	return kept.String()
}

func (i Info) cut() Info {
	for _, s := range []*string{&i.Name, &i.Version, &i.Revision, &i.Platform, &i.Architecture, &i.Executor} {
		*s = cut(*s, 255)
	}
	i.Address = cut(i.Address, 64)
	return i
}

// legacy is the name of machines that do not say which they are.
const legacy = "<legacy>"
