package planning

import (
	"net/http"
	"strings"

	"stithy/internal/issue"
	"stithy/internal/kit/fault"
	"stithy/internal/project"
	"stithy/internal/web/page"
)

// refusals are forms of the page of an issue that were sent and are shown again with what is wrong.
type refusals struct{ comment, link, estimate, spend, move, tasks *page.Form }

// or is the form as it was sent, or a blank one.
func or(refused *page.Form, blank func() *page.Form) *page.Form {
	if refused != nil {
		return refused
	}
	return blank()
}

// acts adds the small forms beside the timeline.
func (s *sideBody) acts(x *request, f found, refused refusals) {
	if x.Account == nil || !f.rights.Plan {
		return
	}
	s.Estimate = or(refused.estimate, func() *page.Form { return estimateForm(x, f) })
	s.Spend = or(refused.spend, func() *page.Form { return spendForm(x, f) })
	if f.MovedToID == nil && (f.Type == issue.Plain || f.Type == issue.Incident) {
		s.Move = or(refused.move, func() *page.Form { return moveForm(x, f) })
	}
}

const timeHint = "As 1w 2d 4h 30m."

// estimateForm says how long an issue takes.
func estimateForm(x *request, f found) *page.Form {
	hours := x.deps.Settings.Current().TimeTrackingLimitToHours
	form := x.NewForm(f.path(x, "/estimate"), "Save estimate", page.Field{
		Name: "duration", As: "estimate", Label: "Estimate", Type: page.Text, Value: issue.FormatDuration(f.TimeEstimate, hours), Length: 100,
		Hint: timeHint + " Empty: none.",
	})
	form.Look = page.Secondary
	return form
}

// spendForm notes time that somebody worked on an issue.
func spendForm(x *request, f found) *page.Form {
	form := x.NewForm(f.path(x, "/spend"), "Add time",
		page.Field{Name: "duration", As: "spent", Label: "Time spent", Type: page.Text, Required: true, Length: 100, Hint: timeHint + " -30m takes some back."},
		page.Field{Name: "summary", As: "spent-on", Label: "What was done", Type: page.Text, Length: 255},
	)
	form.Look = page.Secondary
	return form
}

func moveForm(x *request, f found) *page.Form {
	form := x.NewForm(f.path(x, "/move"), "Move issue", page.Field{
		Name: "project", As: "move-to", Label: "Project", Type: page.Text, Required: true, Length: 1_000,
		Hint: "Its path, as group/project. This issue is closed and leads there.",
	})
	form.Look = page.Secondary
	return form
}

func estimate(x *request) error {
	f, err := findToChange(x)
	if err != nil {
		return err
	}
	text := strings.TrimSpace(x.Form.Get("duration"))
	if text == "" {
		text = "0"
	}
	if _, err := x.deps.Issues.Estimate(x.Context(), x.Actor, x.Project, f.IID, text); err != nil {
		form := estimateForm(x, f)
		if err := x.Refuse(form, timeWords(err, "2h or 1d 4h, and not below zero")); err != nil {
			return err
		}
		return issuePage(x, f, http.StatusUnprocessableEntity, refusals{estimate: form})
	}
	return x.Done(f.path(x, ""), "The estimate is saved.")
}

func spend(x *request) error {
	f, err := findToChange(x)
	if err != nil {
		return err
	}
	_, err = x.deps.Issues.Spend(x.Context(), x.Actor, x.Project, f.IID, x.Form.Get("duration"), strings.TrimSpace(x.Form.Get("summary")))
	if err != nil {
		form := spendForm(x, f)
		if err := x.Refuse(form, timeWords(err, "2h, 1d 4h or -30m")); err != nil {
			return err
		}
		return issuePage(x, f, http.StatusUnprocessableEntity, refusals{spend: form})
	}
	return x.Done(f.path(x, ""), "The time is noted.")
}

// timeWords replaces the API's wording of a time that cannot be read, which clients know, by a text for people.
func timeWords(err error, right string) error {
	if e, shown := fault.Of(err); shown && e.Kind == fault.Rejected && len(e.Fields) == 0 {
		return fault.Field("duration", "is no time that can be read. Write it as %s.", right)
	}
	return err
}

func moveIssue(x *request) error {
	f, err := find(x)
	if err != nil {
		return err
	}
	if err := page.Within(x.Request.Request, "issues_create"); err != nil {
		return err
	}
	var moved *issue.Issue
	var to *project.Project
	if to, err = namedProject(x, x.Form.Get("project")); err == nil {
		moved, err = x.deps.Issues.Move(x.Context(), x.Actor, x.Project, f.IID, to)
	}
	if err != nil {
		form := moveForm(x, f)
		if err := x.Refuse(form, moveWords(err)); err != nil {
			return err
		}
		return issuePage(x, f, http.StatusUnprocessableEntity, refusals{move: form})
	}
	return x.Done(issuePath(to, moved.IID), "The issue is moved. It has a new number here.")
}

// moveWords is why an issue could not be moved, for people.
func moveWords(err error) error {
	switch text := err.Error(); {
	case fault.Is(err, fault.NotFound):
		return fault.Field("project", "is none that you can see. Write its path, as group/project.")
	case !fault.Is(err, fault.Rejected):
		return err
	case strings.Contains(text, "originates"):
		return fault.Field("project", "is the one where the issue is already.")
	case strings.Contains(text, "permissions"):
		return fault.Field("project", "is one that you may not move issues to: that needs the role Reporter in both projects.")
	}
	return err
}
