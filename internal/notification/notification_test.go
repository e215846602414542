package notification

import (
	"testing"

	"pgregory.net/rapid"
)

// here is a setting with a level, and maybe an address.
func here(level Level, address ...string) *Setting {
	s := &Setting{Level: level}
	if len(address) > 0 {
		s.Email = &address[0]
	}
	return s
}

func TestTheNearestPlaceWithALevelOfItsOwnHolds(t *testing.T) {
	t.Parallel()
	picky := Setting{Level: Custom, Flags: Flags{}.With(NewIssue, true)}
	for _, c := range []struct {
		fact string
		in   chosen
		want Resolved
	}{
		{"nobody chose", chosen{}, Resolved{Level: Participating}},
		{"everywhere", chosen{global: here(Watch)}, Resolved{Level: Watch}},
		{"global everywhere means participating", chosen{global: here(Global)}, Resolved{Level: Participating}},
		{"the project before the group", chosen{project: here(Mention), groups: []Setting{*here(Watch)}, global: here(Disabled)}, Resolved{Level: Mention}},
		{"the project is silent", chosen{project: here(Global), groups: []Setting{*here(Watch)}, global: here(Disabled)}, Resolved{Level: Watch}},
		{"the nearest group that is not", chosen{groups: []Setting{*here(Global), *here(Mention), *here(Watch)}, global: here(Disabled)}, Resolved{Level: Mention}},
		{"all are silent", chosen{project: here(Global), groups: []Setting{*here(Global)}, global: here(Disabled)}, Resolved{Level: Disabled}},
		{"flags come with the level", chosen{project: here(Global), groups: []Setting{picky}}, Resolved{Level: Custom, Flags: picky.Flags}},
		{
			"flags of a place without a level do not count",
			chosen{project: &Setting{Level: Global, Flags: picky.Flags}, global: here(Custom)}, Resolved{Level: Custom},
		},
		{"the primary address", chosen{primary: "p"}, Resolved{Level: Participating, Email: "p"}},
		{"the address for everywhere", chosen{primary: "p", global: here(Watch, "g")}, Resolved{Level: Watch, Email: "g"}},
		{
			"the address of the nearest group, whatever its level",
			chosen{primary: "p", project: here(Mention), groups: []Setting{*here(Watch), *here(Global, "a"), *here(Global, "b")}, global: here(Watch, "g")},
			Resolved{Level: Mention, Email: "a"},
		},
	} {
		if got := resolve(c.in); got != c.want {
			t.Errorf("%s: %+v, not %+v", c.fact, got, c.want)
		}
	}
}

func drawSetting(t *rapid.T, name string) *Setting {
	if rapid.Bool().Draw(t, name+" is there") {
		set := rapid.Int64Range(0, 1<<events-1).Draw(t, name+" set")
		return &Setting{
			Level: rapid.SampledFrom(Levels()).Draw(t, name), Flags: Flags{EventsSet: set, EventsOn: set & rapid.Int64().Draw(t, name+" on")},
		}
	}
	return nil
}

func TestALevelAlwaysHoldsAndASilentPlaceChangesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := chosen{project: drawSetting(t, "project"), global: drawSetting(t, "global")}
		for range rapid.IntRange(0, 5).Draw(t, "groups") {
			if s := drawSetting(t, "group"); s != nil {
				c.groups = append(c.groups, *s)
			}
		}
		got := resolve(c)
		if got.Level == Global || got.Level.check() != nil {
			t.Fatalf("the level %q holds", got.Level)
		}
		silent := c
		at := rapid.IntRange(0, len(c.groups)).Draw(t, "at")
		silent.groups = append(append(append([]Setting{}, c.groups[:at]...), Setting{Level: Global, Flags: Flags{}.With(NewNote, true)}), c.groups[at:]...)
		if after := resolve(silent); after != got {
			t.Fatalf("a silent group changes %+v to %+v", got, after)
		}
		loud := c
		loud.project = here(Mention)
		if resolve(loud).Level != Mention {
			t.Fatal("the project does not hold")
		}
	})
}

func TestWhoIsMailedAboutAnEvent(t *testing.T) {
	t.Parallel()
	const no, takesPart, named = 0, 1, 2
	chose := Flags{}.With(NewIssue, true).With(FailedPipeline, false).With(SuccessPipeline, true)
	for _, c := range []struct {
		level Level
		flags Flags
		event Event
		part  int
		want  bool
	}{
		{Disabled, chose, NewIssue, named, false},
		{Disabled, chose, NewIssue, takesPart, false},
		{Mention, chose, NewNote, named, true},
		{Mention, chose, NewIssue, takesPart, false},
		{Mention, chose, NewIssue, no, false},
		{Participating, chose, NewNote, takesPart, true},
		{Participating, chose, NewNote, named, true},
		{Participating, chose, NewIssue, no, false},
		{Participating, chose, FailedPipeline, takesPart, true},
		{Participating, chose, SuccessPipeline, takesPart, false},
		{Global, chose, NewNote, takesPart, true},
		{Global, chose, NewIssue, no, false},
		{Watch, Flags{}, NewIssue, no, true},
		{Watch, Flags{}, NewRelease, no, true},
		{Watch, Flags{}, IssueDue, no, false},
		{Watch, Flags{}, IssueDue, takesPart, true},
		{Watch, Flags{}, PushToMergeRequest, no, false},
		{Watch, Flags{}, PushToMergeRequest, named, true},
		{Watch, Flags{}, SuccessPipeline, no, false},
		{Watch, Flags{}, SuccessPipeline, takesPart, false},
		{Watch, Flags{}, FailedPipeline, takesPart, true},
		{Custom, chose, NewIssue, no, true},
		{Custom, chose, NewNote, no, false},
		{Custom, chose, NewNote, takesPart, true},
		{Custom, chose, NewNote, named, true},
		{Custom, chose, FailedPipeline, takesPart, false},
		{Custom, chose, FixedPipeline, takesPart, true},
		{Custom, chose, SuccessPipeline, takesPart, true},
		{Custom, Flags{}, SuccessPipeline, takesPart, false},
		{Custom, Flags{}, FailedPipeline, no, true},
	} {
		if got := Wants(c.level, c.flags, c.event, c.part == takesPart, c.part == named); got != c.want {
			t.Errorf("%s, %s, %d: %t", c.level, c.event.Name(), c.part, got)
		}
	}
}

func TestTakingPartNeverMeansFewerMails(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		level, event := rapid.SampledFrom(Levels()).Draw(t, "level"), rapid.SampledFrom(Events()).Draw(t, "event")
		var flags Flags
		if s := drawSetting(t, "flags"); s != nil {
			flags = s.Flags
		}
		part, named := rapid.Bool().Draw(t, "participates"), rapid.Bool().Draw(t, "mentioned")
		wants := Wants(level, flags, event, part, named)
		switch {
		case wants && (!Wants(level, flags, event, true, named) || !Wants(level, flags, event, part, true)):
			t.Fatal("who takes part or is named is mailed less")
		case level == Disabled && wants:
			t.Fatal("somebody who wants nothing is mailed")
		case wants && level != Disabled && level != Mention && level != Custom && !Wants(Watch, flags, event, part, named):
			t.Fatal("who watches is mailed less")
		case level == Custom && flags.Has(event) && !wants:
			t.Fatal("an event that was chosen is not mailed")
		case level != Custom && wants != Wants(level, Flags{}, event, part, named):
			t.Fatalf("flags count with %s", level)
		}
	})
}

func TestAFlagIsOneBitThatRemembersWhetherItWasSet(t *testing.T) {
	t.Parallel()
	for _, e := range Events() {
		usual := e == FailedPipeline || e == FixedPipeline
		if got := (Flags{}).Has(e); got != usual {
			t.Errorf("%s is %t while it was never set", e.Name(), got)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		var f Flags
		want := map[Event]bool{FailedPipeline: true, FixedPipeline: true}
		for range rapid.IntRange(0, 50).Draw(t, "changes") {
			e, on := rapid.SampledFrom(Events()).Draw(t, "event"), rapid.Bool().Draw(t, "on")
			f, want[e] = f.With(e, on), on
		}
		for _, e := range Events() {
			if f.Has(e) != want[e] {
				t.Fatalf("%s is %t", e.Name(), f.Has(e))
			}
		}
		if f.EventsOn&^f.EventsSet != 0 {
			t.Fatalf("%b is on of %b", f.EventsOn, f.EventsSet)
		}
	})
}

// Stored settings hold the numbers of events. A number that changes its event changes what people chose.
func TestTheNumbersOfEventsStay(t *testing.T) {
	t.Parallel()
	for i, name := range []string{
		"new_note", "new_issue", "reopen_issue", "close_issue", "reassign_issue", "issue_due", "new_merge_request", "push_to_merge_request",
		"reopen_merge_request", "close_merge_request", "reassign_merge_request", "change_reviewer_merge_request", "merge_merge_request",
		"failed_pipeline", "fixed_pipeline", "success_pipeline", "moved_project", "merge_when_pipeline_succeeds", "new_epic", "new_release", "approver",
	} {
		if got := Event(i).Name(); got != name {
			t.Errorf("%d is %s, not %s", i, got, name)
		}
	}
}
