package issue_test

import (
	"fmt"
	"slices"
	"testing"

	"stithy/internal/issue"
	"stithy/internal/kit/access"
)

func TestADescriptionCommands(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	other := w.create(t, "Other", map[string]any{"labels": "bug"})
	w.happened()
	i := w.create(t, "Leak", map[string]any{"description": "It drips.\n\n" + fmt.Sprintf(
		"/label ~bug ~missing\n/assign me\n/title Drip\n/due 2030-01-02\n/confidential\n/estimate 2h\n/spend 1h\n/relate #%d\n/promote_to_incident\n/severity S1", other.IID)})
	if *i.Description != "It drips." || i.Title != "Drip" || !slices.Equal(i.Labels, []string{"bug"}) || i.Assignee.ID != w.people[access.Reporter].ID ||
		*i.DueDate != "2030-01-02" || !i.Confidential || i.Time.Estimate != 7200 || i.Time.Spent != 3600 || i.IssueType != "incident" || i.Severity != "CRITICAL" {
		t.Errorf("the issue is %+v", i)
	}
	var acts []issue.Action
	for _, e := range w.happened() {
		acts = append(acts, e.Action)
	}
	if !slices.Equal(acts, []issue.Action{issue.Created, issue.Timed, issue.Timed, issue.Linked}) {
		t.Errorf("told is %v", acts)
	}
}

func TestWhatADescriptionMayNotCommandStays(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.create(t, "Other", map[string]any{"labels": "bug"})
	text := "/label ~bug\n/assign me\n/estimate 1h\n/close\n/move house/tool"
	if i := w.createAs(t, w.stranger, w.project, "Strange", map[string]any{"description": text + "\n/title New"}); *i.Description != text || i.Title != "New" || len(i.Labels) != 0 {
		t.Errorf("of a stranger's issue is %+v", i)
	}
	i := w.createAs(t, w.people[access.Guest], w.project, "Guest", map[string]any{"description": text})
	if *i.Description != "/estimate 1h\n/close\n/move house/tool" || !slices.Equal(i.Labels, []string{"bug"}) || i.State != "opened" {
		t.Errorf("of a guest's issue is %+v", i)
	}
}

func TestTheFreeTierCommandsLess(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "STITHY_INSTANCE_TIER=free")
	guest := w.people[access.Guest]
	i := w.create(t, "Leak", map[string]any{"assignee_id": w.people[access.Reporter].ID, "description": "/weight 3\n/health_status at_risk\n/assign @" + guest.Username})
	if *i.Description != "/weight 3\n/health_status at_risk" || len(i.Assignees) != 1 || i.Assignee.ID != guest.ID {
		t.Errorf("the issue is %+v", i)
	}
	reporter := w.people[access.Reporter]
	i = w.create(t, "Drip", map[string]any{"description": "/assign @" + reporter.Username + "\n/assign @" + guest.Username})
	if len(i.Assignees) != 1 || i.Assignee.ID != guest.ID {
		t.Errorf("two commands assign the issue to %+v", i.Assignees)
	}
}
