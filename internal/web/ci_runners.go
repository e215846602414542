package web

import (
	"maps"
	"net/http"
	"strconv"
	"strings"

	"stithy/internal/kit/fault"
	"stithy/internal/kit/paging"
	"stithy/internal/runner"
)

// runnersBody is one page of the runners that serve a place.
type runnersBody struct {
	Secret     string // token of a runner that was just made
	URL        string
	Runners    []runnerRow
	New        *form
	Prev, Next string
}

type runnerRow struct {
	ID          int64
	Description string
	Edit        string // path, for those who manage it
	Kind        string
	State, Tone string
	Tags        []string
	Untagged    bool
	Protected   bool
	Seen        *moment
	Acts        []*form
}

var runnerKinds = map[runner.Type]string{runner.Instance: "of the instance", runner.Group: "of a group", runner.Project: "of projects"}

func (x *visit) runners(p ciPlace, refused *form) (*runnersBody, error) {
	req, turns := x.turned("runners_page")
	var found paging.Result[runner.Runner]
	var err error
	if p.instance() {
		found, err = x.Runners.ListAll(x.r.Context(), runner.Filter{}, req)
	} else {
		found, err = x.Runners.ListFor(x.r.Context(), p.of, p.namespace, runner.Filter{}, req)
	}
	if err != nil {
		return nil, err
	}
	body := &runnersBody{URL: x.ExternalURL.String()}
	body.Prev, body.Next = turns(found.More)
	managed, err := x.managed(p, found.Items)
	if err != nil {
		return nil, err
	}
	for i := range found.Items {
		body.Runners = append(body.Runners, x.runnerRow(p, &found.Items[i], managed[found.Items[i].ID]))
	}
	if body.New = refused; refused == nil && p.mayCreate {
		body.New = x.runnerForm(p.runners, "Create runner", runner.Runner{RunUntagged: true}, p)
	}
	if f := x.flash(); f != nil {
		body.Secret = f.Secret
	}
	return body, nil
}

// managed says which runners the page offers to change: those of the place
// itself that its reader manages, or all where its reader manages all.
func (x *visit) managed(p ciPlace, runners []runner.Runner) (map[int64]bool, error) {
	managed, ids := map[int64]bool{}, []int64{}
	for _, r := range runners {
		switch {
		case x.actor.Admin():
			managed[r.ID] = true
		case r.Type == runner.Project && p.target.Type == runner.Project:
			ids = append(ids, r.ID)
		case r.Type == runner.Group && p.target.Type == runner.Group:
			managed[r.ID] = r.GroupID != nil && *r.GroupID == p.target.GroupID
		}
	}
	mine, err := x.Runners.Managed(x.r.Context(), x.actor, ids...)
	maps.Copy(managed, mine)
	return managed, err
}

func (x *visit) runnerRow(p ciPlace, r *runner.Runner, managed bool) runnerRow {
	row := runnerRow{
		ID: r.ID, Description: r.Description, Kind: runnerKinds[r.Type], Tags: r.Tags, Untagged: r.RunUntagged,
		Protected: r.AccessLevel == runner.RefProtected, Seen: x.moment(r.ContactedAt),
	}
	switch s := r.Status(x.Clock.Now()); {
	case r.Paused:
		row.State = "paused"
	case s == runner.Online:
		row.State, row.Tone = "online", "good"
	case s == runner.NeverContacted:
		row.State = "never seen"
	default:
		row.State, row.Tone = string(s), "bad"
	}
	if !managed {
		return row
	}
	at, about := p.runners+"/"+strconv.FormatInt(r.ID, 10), "runner #"+strconv.FormatInt(r.ID, 10)
	row.Edit = at
	if r.Paused {
		row.Acts = append(row.Acts, x.button(at+"/resume", "Resume", "", about))
	} else {
		row.Acts = append(row.Acts, x.button(at+"/pause", "Pause", "", about))
	}
	row.Acts = append(row.Acts, x.button(at+"/delete", "Delete", "danger", about))
	return row
}

// runnerForm asks for what a runner is made of.
func (x *visit) runnerForm(action, submit string, r runner.Runner, p ciPlace) *form {
	timeout := ""
	if r.MaximumTimeout != nil {
		timeout = strconv.Itoa(*r.MaximumTimeout)
	}
	f := x.newForm(action, submit,
		field{Name: "description", Label: "Description", Type: "text", Value: r.Description, Length: 1024},
		field{Name: "tags_list", Label: "Tags", Type: "text", Value: strings.Join(r.Tags, ", "), Hint: "With commas between them. It takes jobs whose tags it has all of.", Length: 4096},
		field{Name: "run_untagged", Label: "Take jobs without tags", Type: "checkbox", Value: checked(r.RunUntagged)},
		field{Name: "protected", Label: "Protected", Type: "checkbox", Value: checked(r.AccessLevel == runner.RefProtected), Hint: "Take jobs of protected branches and tags only."},
		field{Name: "paused", Label: "Paused", Type: "checkbox", Value: checked(r.Paused), Hint: "Take no new jobs."},
	)
	if p.target.Type == runner.Project {
		f.Fields = append(f.Fields, field{Name: "locked", Label: "Locked", Type: "checkbox", Value: checked(r.Locked), Hint: "It cannot be given to other projects."})
	}
	f.Fields = append(f.Fields,
		field{Name: "maximum_timeout", Label: "Seconds that a job may take", Type: "text", Mode: "numeric", Value: timeout, Hint: "600 at the least; empty leaves it to the project.", Length: 10},
		field{Name: "maintenance_note", Label: "Note for those who look after it", Type: "textarea", Value: r.MaintenanceNote, Length: 1024},
	)
	return f
}

// runnerDraft is what was filled in.
func (x *visit) runnerDraft(d *runner.Draft) error {
	d.Description, d.MaintenanceNote = strings.TrimSpace(x.form.Get("description")), strings.TrimSpace(x.form.Get("maintenance_note"))
	d.Tags, d.RunUntagged, d.Paused = strings.Split(x.form.Get("tags_list"), ","), x.form.Get("run_untagged") != "", x.form.Get("paused") != ""
	d.Locked = x.form.Get("locked") != ""
	if d.AccessLevel = runner.NotProtected; x.form.Get("protected") != "" {
		d.AccessLevel = runner.RefProtected
	}
	d.MaximumTimeout = nil
	if text := strings.TrimSpace(x.form.Get("maximum_timeout")); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			return fault.Field("maximum_timeout", "is not a number")
		}
		d.MaximumTimeout = &n
	}
	return nil
}

func (x *visit) createRunner(p ciPlace) error {
	if !p.mayCreate {
		return fault.New(fault.Forbidden)
	}
	var d runner.Draft
	err := x.runnerDraft(&d)
	if err == nil {
		r, token, failed := x.Runners.Create(x.r.Context(), x.actor, p.target, d)
		if err = failed; err == nil {
			return x.tokenOnce(p, r, token.Reveal(), "created.")
		}
	}
	f := x.runnerForm(p.runners, "Create runner", runner.Runner{}, p)
	if err := x.refused(f, err); err != nil {
		return err
	}
	return x.showPlace(http.StatusUnprocessableEntity, p, f, nil)
}

// tokenOnce goes back to the list, which shows a new token this one time.
func (x *visit) tokenOnce(p ciPlace, r runner.Runner, token, what string) error {
	if err := x.say(flash{Good: true, Text: "Runner #" + strconv.FormatInt(r.ID, 10) + " " + what, Secret: token}); err != nil {
		return err
	}
	x.redirect(p.shown(p.runners))
	return nil
}

// managedRunner finds the runner of a page for somebody who manages it. To
// everybody else it is not there.
func (x *visit) managedRunner() (runner.Runner, error) {
	id, err := x.id()
	if err != nil {
		return runner.Runner{}, err
	}
	r, err := x.Runners.Owned(x.r.Context(), x.actor, id)
	if fault.Is(err, fault.Forbidden) {
		err = fault.New(fault.NotFound)
	}
	return r, err
}

// runnerBody is one runner.
type runnerBody struct {
	Form  *form
	Reset *form
	Back  string
}

func (x *visit) showRunner(p ciPlace) error {
	r, err := x.managedRunner()
	if err != nil {
		return err
	}
	return x.runner(http.StatusOK, p, r, x.runnerForm(p.runners+"/"+strconv.FormatInt(r.ID, 10), "Save changes", r, p))
}

func (x *visit) runner(code int, p ciPlace, r runner.Runner, f *form) error {
	at := p.runners + "/" + strconv.FormatInt(r.ID, 10)
	return x.show(code, "ci_runner", "Runner #"+strconv.FormatInt(r.ID, 10), runnerBody{
		Form: f, Reset: x.button(at+"/reset", "Replace the token", "danger", ""), Back: p.shown(p.runners),
	}, p.laid(at))
}

func (x *visit) updateRunner(p ciPlace) error {
	r, err := x.managedRunner()
	if err != nil {
		return err
	}
	var d runner.Draft
	if err = x.runnerDraft(&d); err == nil {
		_, err = x.Runners.Update(x.r.Context(), x.actor, r.ID, func(old *runner.Draft) {
			if p.target.Type != runner.Project {
				d.Locked = old.Locked // the form does not ask for it
			}
			*old = d
		})
	}
	if err == nil {
		return x.done(p.shown(p.runners), "Runner #"+strconv.FormatInt(r.ID, 10)+" is changed.")
	}
	f := x.runnerForm(p.runners+"/"+strconv.FormatInt(r.ID, 10), "Save changes", r, p)
	if err := x.refused(f, err); err != nil {
		return err
	}
	return x.runner(http.StatusUnprocessableEntity, p, r, f)
}

func (x *visit) pauseRunner(p ciPlace, pause bool) error {
	r, err := x.managedRunner()
	if err == nil {
		_, err = x.Runners.Update(x.r.Context(), x.actor, r.ID, func(d *runner.Draft) { d.Paused = pause })
	}
	if err != nil {
		return err
	}
	said := " takes jobs again."
	if pause {
		said = " takes no new jobs."
	}
	return x.done(p.shown(p.runners), "Runner #"+strconv.FormatInt(r.ID, 10)+said)
}

func (x *visit) resetRunner(p ciPlace) error {
	r, err := x.managedRunner()
	if err != nil {
		return err
	}
	r, token, err := x.Runners.ResetToken(x.r.Context(), x.actor, r.ID)
	if err != nil {
		return err
	}
	return x.tokenOnce(p, r, token.Reveal(), "has a new token. The old one works no more.")
}

func (x *visit) deleteRunner(p ciPlace) error {
	r, err := x.managedRunner()
	if err == nil {
		err = x.Runners.Remove(x.r.Context(), x.actor, r.ID)
	}
	if err != nil {
		return err
	}
	return x.done(p.shown(p.runners), "Runner #"+strconv.FormatInt(r.ID, 10)+" is deleted.")
}
