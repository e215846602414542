package ci

import (
	"maps"
	"net/http"
	"strconv"
	"strings"

	"stithy/internal/kit/fault"
	"stithy/internal/kit/paging"
	"stithy/internal/runner"
	"stithy/internal/web/page"
	"stithy/internal/web/ui"
)

// runnersBody is one page of the runners that serve a place.
type runnersBody struct {
	Secret  string // token of a runner that was just made
	URL     string
	Runners []runnerRow
	New     *page.Form
	Pager   page.Pager
}

type runnerRow struct {
	ID          int64
	Description string
	Edit        page.URL // for those who manage it
	Kind        string
	State       string
	Tone        ui.Tone
	Tags        []string
	Untagged    bool
	Protected   bool
	Seen        *page.DisplayTime
	Acts        []*page.Form
}

var runnerKinds = map[runner.Type]string{runner.Instance: "of the instance", runner.Group: "of a group", runner.Project: "of projects"}

func runnersOf(x *ownerRequest, refused *page.Form) (*runnersBody, error) {
	req, pager := x.numbered("runners_page")
	var found paging.Result[runner.Runner]
	var err error
	if x.instance() {
		found, err = x.deps.Runners.ListAll(x.Context(), runner.Filter{}, req)
	} else {
		found, err = x.deps.Runners.ListFor(x.Context(), x.of, x.namespace, runner.Filter{}, req)
	}
	if err != nil {
		return nil, err
	}
	body := &runnersBody{URL: x.ExternalURL.String()}
	body.Pager = pager(found.More)
	managed, err := managed(x, found.Items)
	if err != nil {
		return nil, err
	}
	for i := range found.Items {
		body.Runners = append(body.Runners, newRunnerRow(x, &found.Items[i], managed[found.Items[i].ID]))
	}
	if body.New = refused; refused == nil && x.mayCreate {
		body.New = runnerForm(x, x.runners, "Create runner", runner.Runner{RunUntagged: true})
	}
	if f := x.Flash(); f != nil {
		body.Secret = f.Secret
	}
	return body, nil
}

// managed says which runners the page offers to change: those of the place
// itself that its reader manages, or all where its reader manages all.
func managed(x *ownerRequest, runners []runner.Runner) (map[int64]bool, error) {
	managed, ids := map[int64]bool{}, []int64{}
	for _, r := range runners {
		switch {
		case x.Actor.Admin():
			managed[r.ID] = true
		case r.Type == runner.Project && x.target.Type == runner.Project:
			ids = append(ids, r.ID)
		case r.Type == runner.Group && x.target.Type == runner.Group:
			managed[r.ID] = r.GroupID != nil && *r.GroupID == x.target.GroupID
		}
	}
	mine, err := x.deps.Runners.Managed(x.Context(), x.Actor, ids...)
	maps.Copy(managed, mine)
	return managed, err
}

func newRunnerRow(x *ownerRequest, r *runner.Runner, managed bool) runnerRow {
	row := runnerRow{
		ID: r.ID, Description: r.Description, Kind: runnerKinds[r.Type], Tags: r.Tags, Untagged: r.RunUntagged,
		Protected: r.AccessLevel == runner.RefProtected, Seen: x.Time(r.ContactedAt),
	}
	switch s := r.Status(x.Clock.Now()); {
	case r.Paused:
		row.State = "paused"
	case s == runner.Online:
		row.State, row.Tone = "online", ui.Good
	case s == runner.NeverContacted:
		row.State = "never seen"
	default:
		row.State, row.Tone = string(s), ui.Bad
	}
	if !managed {
		return row
	}
	at, about := x.runners+"/"+strconv.FormatInt(r.ID, 10), "runner #"+strconv.FormatInt(r.ID, 10)
	row.Edit = x.Link(at)
	if r.Paused {
		row.Acts = append(row.Acts, x.Button(at+"/resume", "Resume", page.Secondary, about))
	} else {
		row.Acts = append(row.Acts, x.Button(at+"/pause", "Pause", page.Secondary, about))
	}
	row.Acts = append(row.Acts, x.Button(at+"/delete", "Delete", page.Danger, about).
		AskFirst("The machine is given jobs no more, and has to be registered anew to come back."))
	return row
}

// runnerForm asks for what a runner is made of.
func runnerForm(x *ownerRequest, action, submit string, r runner.Runner) *page.Form {
	timeout := ""
	if r.MaximumTimeout != nil {
		timeout = strconv.Itoa(*r.MaximumTimeout)
	}
	f := x.NewForm(action, submit,
		page.Field{Name: "description", Label: "Description", Type: page.Text, Value: r.Description, Length: 1024},
		page.Field{Name: "tags_list", Label: "Tags", Type: page.Text, Value: strings.Join(r.Tags, ", "),
			Hint: "With commas between them. The runner takes a job if it has all tags of the job.", Length: 4096},
		page.Field{Name: "run_untagged", Label: "Take jobs without tags", Type: page.Checkbox, Value: page.Checked(r.RunUntagged)},
		page.Field{Name: "protected", Label: "Protected", Type: page.Checkbox, Value: page.Checked(r.AccessLevel == runner.RefProtected),
			Hint: "Take jobs of protected branches and tags only."},
		page.Field{Name: "paused", Label: "Paused", Type: page.Checkbox, Value: page.Checked(r.Paused), Hint: "Take no new jobs."},
	)
	if x.target.Type == runner.Project {
		f.Fields = append(f.Fields, page.Field{Name: "locked", Label: "Locked", Type: page.Checkbox, Value: page.Checked(r.Locked),
			Hint: "It cannot be given to other projects."})
	}
	f.Fields = append(f.Fields,
		page.Field{Name: "maximum_timeout", Label: "Maximum time of a job", Type: page.Text, Mode: "numeric", Value: timeout,
			Hint: "In seconds, 600 (ten minutes) or more, such as 3600 for an hour. A job that takes longer is stopped. " +
				"Leave it empty to let each project say how long its jobs may take.", Length: 10},
		page.Field{Name: "maintenance_note", Label: "Note for those who look after it", Type: page.Textarea, Value: r.MaintenanceNote,
			Length: 1024},
	)
	return f
}

// runnerDraft is what was filled in.
func runnerDraft(x *ownerRequest, d *runner.Draft) error {
	d.Description, d.MaintenanceNote = strings.TrimSpace(x.Form.Get("description")), strings.TrimSpace(x.Form.Get("maintenance_note"))
	d.Tags, d.RunUntagged, d.Paused = strings.Split(x.Form.Get("tags_list"), ","), x.Form.Get("run_untagged") != "", x.Form.Get("paused") != ""
	d.Locked = x.Form.Get("locked") != ""
	if d.AccessLevel = runner.NotProtected; x.Form.Get("protected") != "" {
		d.AccessLevel = runner.RefProtected
	}
	d.MaximumTimeout = nil
	if text := strings.TrimSpace(x.Form.Get("maximum_timeout")); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			return fault.Field("maximum_timeout", "is not a number of seconds, such as 3600")
		}
		d.MaximumTimeout = &n
	}
	return nil
}

func createRunner(x *ownerRequest) error {
	if !x.mayCreate {
		return fault.New(fault.Forbidden)
	}
	var d runner.Draft
	err := runnerDraft(x, &d)
	if err == nil {
		r, token, failed := x.deps.Runners.Create(x.Context(), x.Actor, x.target, d)
		if err = failed; err == nil {
			return tokenOnce(x, r, token.Reveal(), "created.")
		}
	}
	f := runnerForm(x, x.runners, "Create runner", runner.Runner{})
	if err := x.Refuse(f, err); err != nil {
		return err
	}
	return settingsWith(x, http.StatusUnprocessableEntity, f, nil)
}

// tokenOnce goes back to the list, which shows a new token this one time.
func tokenOnce(x *ownerRequest, r runner.Runner, token, what string) error {
	return x.DoneWith(x.shown(x.runners), page.Flash{Text: "Runner #" + strconv.FormatInt(r.ID, 10) + " " + what, Secret: token})
}

// managedRunner finds the runner of a page for somebody who manages it. To
// everybody else it is not there.
func managedRunner(x *ownerRequest) (runner.Runner, error) {
	id, err := x.ID()
	if err != nil {
		return runner.Runner{}, err
	}
	r, err := x.deps.Runners.Owned(x.Context(), x.Actor, id)
	if fault.Is(err, fault.Forbidden) {
		err = fault.New(fault.NotFound)
	}
	return r, err
}

// runnerBody is one runner.
type runnerBody struct {
	Form  *page.Form
	Reset *page.Form
	Back  page.URL
}

func showRunner(x *ownerRequest) error {
	r, err := managedRunner(x)
	if err != nil {
		return err
	}
	return showRunnerForm(x, http.StatusOK, r, runnerForm(x, x.runners+"/"+strconv.FormatInt(r.ID, 10), "Save changes", r))
}

func showRunnerForm(x *ownerRequest, code int, r runner.Runner, f *page.Form) error {
	at := x.runners + "/" + strconv.FormatInt(r.ID, 10)
	return x.Show(code, x.layout("Runner #"+strconv.FormatInt(r.ID, 10)), runnerPage(runnerBody{
		Form: f, Reset: x.Button(at+"/reset", "Replace the token", page.Danger, "").
			AskFirst("The old token works no more: the machine takes no jobs until it is given the new one."), Back: x.Link(x.shown(x.runners)),
	}))
}

func updateRunner(x *ownerRequest) error {
	r, err := managedRunner(x)
	if err != nil {
		return err
	}
	var d runner.Draft
	if err = runnerDraft(x, &d); err == nil {
		_, err = x.deps.Runners.Update(x.Context(), x.Actor, r.ID, func(old *runner.Draft) {
			if x.target.Type != runner.Project {
				d.Locked = old.Locked // the form does not ask for it
			}
			*old = d
		})
	}
	if err == nil {
		return x.Done(x.shown(x.runners), "Runner #"+strconv.FormatInt(r.ID, 10)+" is changed.")
	}
	f := runnerForm(x, x.runners+"/"+strconv.FormatInt(r.ID, 10), "Save changes", r)
	if err := x.Refuse(f, err); err != nil {
		return err
	}
	return showRunnerForm(x, http.StatusUnprocessableEntity, r, f)
}

func pauseRunner(x *ownerRequest) error  { return setPaused(x, true) }
func resumeRunner(x *ownerRequest) error { return setPaused(x, false) }

func setPaused(x *ownerRequest, pause bool) error {
	r, err := managedRunner(x)
	if err == nil {
		_, err = x.deps.Runners.Update(x.Context(), x.Actor, r.ID, func(d *runner.Draft) { d.Paused = pause })
	}
	if err != nil {
		return err
	}
	said := " takes jobs again."
	if pause {
		said = " takes no new jobs."
	}
	return x.Done(x.shown(x.runners), "Runner #"+strconv.FormatInt(r.ID, 10)+said)
}

func resetRunner(x *ownerRequest) error {
	r, err := managedRunner(x)
	if err != nil {
		return err
	}
	r, token, err := x.deps.Runners.ResetToken(x.Context(), x.Actor, r.ID)
	if err != nil {
		return err
	}
	return tokenOnce(x, r, token.Reveal(), "has a new token. The old one works no more.")
}

func deleteRunner(x *ownerRequest) error {
	r, err := managedRunner(x)
	if err == nil {
		err = x.deps.Runners.Remove(x.Context(), x.Actor, r.ID)
	}
	if err != nil {
		return err
	}
	return x.Done(x.shown(x.runners), "Runner #"+strconv.FormatInt(r.ID, 10)+" is deleted.")
}

// name is how a runner is called on a page.
func (r runnerRow) name() string {
	return strings.TrimSpace("#" + strconv.FormatInt(r.ID, 10) + " " + r.Description)
}

// serves says whom a runner serves.
func (r runnerRow) serves() string {
	if r.Untagged {
		return r.Kind + " · takes jobs without tags"
	}
	return r.Kind + " · takes tagged jobs only"
}
