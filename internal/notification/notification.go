// Package notification owns what people want to be mailed about, and these mails: a level everywhere, in a group and what is below it, or in a
// project, with the events and the address that they chose there; what happened and whom it is to be told; what became of each mail. Where
// nobody chose anything there is no row, and reading makes none.
//
// It does not own the addresses (user), nor who may read what a mail tells of (issue, note, project), nor the subscriptions. It is a listener: it
// writes what happened down in the transaction of the change (record.go); jobs find the people (spread.go) and send the mails (send.go).
//
// Some mails are to one person, about a request for access (request.go) or their account (account.go); a daily job reminds of what is due (remind.go).
//
// Tables: notification_settings, mail_events, mails, mail_counts, mail_authors, mail_reminders, refused_addresses.
package notification

import (
	"slices"

	"stithy/internal/kit/fault"
)

// Level says what somebody is mailed about.
type Level string

const (
	Disabled      Level = "disabled"      // nothing
	Participating Level = "participating" // what they take part in
	Watch         Level = "watch"         // everything but the events that are asked for one by one
	Global        Level = "global"        // as above this place; everywhere it means Participating
	Mention       Level = "mention"       // what names them
	Custom        Level = "custom"        // what they take part in, and the events that they chose
)

// Levels are all of them, in the order in which people are asked.
func Levels() []Level { return []Level{Global, Watch, Participating, Mention, Custom, Disabled} }

func (l Level) check() error {
	if !slices.Contains(Levels(), l) {
		return fault.WithMessage(fault.Rejected, "'%s' is not a valid level", string(l))
	}
	return nil
}

// Event is something that people may choose to be mailed about. Its number is a bit of stored settings: new ones are added at the end.
type Event uint8

const (
	NewNote Event = iota
	NewIssue
	ReopenIssue
	CloseIssue
	ReassignIssue
	IssueDue
	NewMergeRequest
	PushToMergeRequest
	ReopenMergeRequest
	CloseMergeRequest
	ReassignMergeRequest
	ChangeReviewerMergeRequest
	MergeMergeRequest
	FailedPipeline
	FixedPipeline
	SuccessPipeline
	MovedProject
	MergeWhenPipelineSucceeds
	NewEpic
	NewRelease
	Approver
	events // how many there are
)

var eventNames = [events]string{
	NewNote: "new_note", NewIssue: "new_issue", ReopenIssue: "reopen_issue", CloseIssue: "close_issue", ReassignIssue: "reassign_issue",
	IssueDue: "issue_due", NewMergeRequest: "new_merge_request", PushToMergeRequest: "push_to_merge_request",
	ReopenMergeRequest: "reopen_merge_request", CloseMergeRequest: "close_merge_request", ReassignMergeRequest: "reassign_merge_request",
	ChangeReviewerMergeRequest: "change_reviewer_merge_request", MergeMergeRequest: "merge_merge_request", FailedPipeline: "failed_pipeline",
	FixedPipeline: "fixed_pipeline", SuccessPipeline: "success_pipeline", MovedProject: "moved_project",
	MergeWhenPipelineSucceeds: "merge_when_pipeline_succeeds", NewEpic: "new_epic", NewRelease: "new_release", Approver: "approver",
}

// Name is the event on the wire.
func (e Event) Name() string { return eventNames[e] }

// eventNamed is the event of a name.
func eventNamed(name string) (Event, bool) {
	i := slices.Index(eventNames[:], name)
	return Event(max(i, 0)), i >= 0
}

// Events are all of them.
func Events() []Event {
	all := make([]Event, events)
	for i := range all {
		all[i] = Event(i)
	}
	return all
}

// Flags are the events that somebody chose or declined, as bits. The zero Flags are those of somebody who did neither.
type Flags struct {
	EventsSet int64
	EventsOn  int64 // of those that are set
}

// unset are the events that are on while nobody said otherwise.
const unset = int64(1<<FailedPipeline | 1<<FixedPipeline)

// Has reports whether an event is chosen.
func (f Flags) Has(e Event) bool { return (f.EventsOn|unset&^f.EventsSet)>>e&1 == 1 }

// With are the flags after an event was chosen or declined.
func (f Flags) With(e Event, on bool) Flags {
	f.EventsSet |= 1 << e
	f.EventsOn &^= 1 << e
	if on {
		f.EventsOn |= 1 << e
	}
	return f
}

// Setting is what somebody chose in one place, or what holds there because they did not choose.
type Setting struct {
	Level Level
	Flags
	Email *string // where mails go, as it is spelled; nil: not chosen here
}

// Change is what a setting becomes. What is nil stays, as do the events that are not set in Flags.
type Change struct {
	Level *Level
	Flags
	Email *string // empty: no address of its own any more
}

func (c Change) empty() bool { return c.Level == nil && c.EventsSet == 0 && c.Email == nil }

// Resolved is what holds for a person in a project.
type Resolved struct {
	Level Level // never Global
	Flags Flags
	Email string
}

// chosen are the settings of one person along the way to a project. What is nil was never chosen.
type chosen struct {
	project *Setting
	groups  []Setting // the nearest first
	global  *Setting
	primary string // address
}

// resolve says what holds: the level of the project, else of the nearest group above that has one, else the one for everywhere. The flags are
// those of the place that the level comes from. The address is that of the nearest group that has one, whatever its level.
func resolve(c chosen) Resolved {
	way := slices.Clone(c.groups)
	if c.project != nil {
		way = slices.Insert(way, 0, *c.project)
	}
	if c.global != nil {
		way = append(way, *c.global)
	}
	r := Resolved{Level: Participating, Email: c.primary}
	if i := slices.IndexFunc(way, func(s Setting) bool { return s.Level != Global }); i >= 0 {
		r.Level, r.Flags = way[i].Level, way[i].Flags
	}
	if i := slices.IndexFunc(way, func(s Setting) bool { return s.Email != nil }); i >= 0 {
		r.Email = *way[i].Email
	}
	return r
}

// unwatched are the events that nobody is mailed about because they watch.
const unwatched = int64(1<<PushToMergeRequest | 1<<IssueDue | 1<<SuccessPipeline)

// ofPipelines are the events of pipelines. Nobody takes part in a pipeline as in a thread: who participates in these is who started it.
const ofPipelines = int64(1<<FailedPipeline | 1<<FixedPipeline | 1<<SuccessPipeline)

func (e Event) among(set int64) bool { return set>>e&1 == 1 }

// Wants reports whether somebody is to be mailed about an event, by the level and the flags that hold for them where it happens.
//
// Pipelines differ in that the flags of Custom alone decide, so that somebody can decline mails about their own, and in that only Custom brings
// mails about success.
func Wants(level Level, flags Flags, event Event, participates, mentioned bool) bool {
	part := participates || mentioned
	if event.among(ofPipelines) {
		part = part && level != Custom && event != SuccessPipeline
	}
	switch level {
	case Disabled:
		return false
	case Mention:
		return mentioned
	case Watch:
		return part || !event.among(unwatched)
	case Custom:
		return part || flags.Has(event)
	default:
		return part
	}
}
