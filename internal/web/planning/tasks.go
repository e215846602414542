package planning

import (
	"net/http"
	"slices"
	"strconv"

	"stithy/internal/issue"
	"stithy/internal/kit/fault"
	"stithy/internal/web/page"
)

const (
	maxTicked = 100 // tasks; more are ticked where the description is edited
	maxTask   = 200 // characters of one that are shown
)

// checklist ticks the tasks of a description, for those who may edit it. It is nil where there are none.
func checklist(x *request, f found, refused *page.Form) *page.Form {
	if x.Account == nil || !f.rights.Edit || f.Tasks == 0 || f.Tasks > maxTicked {
		return nil
	}
	return or(refused, func() *page.Form { return tasksForm(x, f, digest(f.Issue)) })
}

// tasksForm is the form for somebody who has seen the texts that a digest names.
func tasksForm(x *request, f found, seen string) *page.Form {
	boxes := page.Field{Name: "done", Label: "Tasks that are done", Type: page.Checkboxes}
	for n, box := range issue.TasksIn(f.Description) {
		boxes.Options = append(boxes.Options, page.Choice{Value: strconv.Itoa(n), Label: cut(box.Text, maxTask), Chosen: box.Done})
	}
	form := x.NewForm(f.path(x, "/tasks"), "Save tasks", boxes).With("seen", seen)
	form.Look = page.Secondary
	return form
}

func tickTasks(x *request) error {
	f, err := findToChange(x)
	if err != nil {
		return err
	}
	if !f.rights.Edit || f.Description == nil {
		return fault.New(fault.NotFound)
	}
	if seen := x.Form.Get("seen"); seen != digest(f.Issue) {
		form := tasksForm(x, f, digest(f.Issue))
		form.Problem = "Somebody changed the title or the description meanwhile. Look at the tasks again, and save what is done."
		return issuePage(x, f, http.StatusUnprocessableEntity, refusals{tasks: form})
	}
	done := make([]bool, f.Tasks)
	for n := range done {
		done[n] = slices.Contains(x.Form["done"], strconv.Itoa(n))
	}
	text := new(issue.Ticked(*f.Description, done))
	if _, err := x.deps.Issues.Update(x.Context(), x.Actor, x.Project, f.IID, issue.Change{Description: &text}); err != nil {
		return err
	}
	return x.Done(f.path(x, ""), "The tasks are saved.")
}
