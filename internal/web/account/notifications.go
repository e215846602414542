package account

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"stithy/internal/kit/bus"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/paging"
	"stithy/internal/notification"
	"stithy/internal/owner"
	"stithy/internal/web/page"
	"stithy/internal/web/ui"
)

const (
	notificationsPath    = "/-/user_settings/notifications"
	oldNotificationsPath = "/-/profile/notifications" // where mails and programs of others lead to
)

// levelTexts are the levels in the words of whoever chooses one.
var levelTexts = map[notification.Level]struct{ name, meaning string }{
	notification.Global:        {"Global", "what you chose for the groups above, or for everywhere"},
	notification.Watch:         {"Watch", "all that happens"},
	notification.Participating: {"Participate", "what you take part in"},
	notification.Mention:       {"On mention", "what names you"},
	notification.Custom:        {"Custom", "what you take part in, and the events below"},
	notification.Disabled:      {"Disabled", "nothing"},
}

// eventTexts are the events that a page asks about, by subject.
var eventTexts = []struct {
	subject string
	events  []eventText
}{
	{"Issues and comments", []eventText{
		{notification.NewNote, "New comments"}, {notification.NewIssue, "New issues"}, {notification.CloseIssue, "Issues are closed"},
		{notification.ReopenIssue, "Issues are reopened"}, {notification.ReassignIssue, "Issues are reassigned"},
		{notification.IssueDue, "Issues are due tomorrow"},
	}},
	{"Merge requests", []eventText{
		{notification.NewMergeRequest, "New merge requests"}, {notification.PushToMergeRequest, "Commits are pushed to merge requests"},
		{notification.CloseMergeRequest, "Merge requests are closed"}, {notification.ReopenMergeRequest, "Merge requests are reopened"},
		{notification.ReassignMergeRequest, "Merge requests are reassigned"},
		{notification.ChangeReviewerMergeRequest, "Merge requests are given other reviewers"},
		{notification.MergeMergeRequest, "Merge requests are merged"},
		{notification.MergeWhenPipelineSucceeds, "Merge requests are set to merge when their pipeline succeeds"},
	}},
	{"Pipelines and projects", []eventText{
		{notification.FailedPipeline, "Your pipelines fail"}, {notification.FixedPipeline, "Your pipelines succeed again"},
		{notification.SuccessPipeline, "Your pipelines succeed"}, {notification.NewRelease, "New releases"},
		{notification.MovedProject, "Projects are moved"},
	}},
}

type eventText struct {
	notification.Event
	text string
}

// notificationsBody is what a person is mailed about.
type notificationsBody struct {
	Mail       bool // is sent at all
	Refused    []refusedRow
	Failed     string // how many mails were not sent, if any
	Everywhere *page.Form
	Places     []placeRow
	Declined   []declinedRow
	Choose     *page.Form
}

// refusedRow is an address that is not mailed any more.
type refusedRow struct{ Address, Answer string }

// declinedRow is a project that a person stopped mails about.
type declinedRow struct {
	Path, What string
	Resume     *page.Form
}

// placeRow is a group or project for which a person chose something.
type placeRow struct {
	Path, Level, Email string
	Icon               ui.IconPath
	URL                page.URL
}

// chosen is what a form of notification settings begins with.
type chosen struct {
	in      bus.Entity
	setting notification.Setting
}

func levelField(c chosen) page.Field {
	f := page.Field{Name: "level", Label: "Mail me about", Type: page.Select}
	for _, level := range notification.Levels() {
		everywhere := c.in.Kind == bus.OfInstance
		if everywhere && level == notification.Global {
			continue // it means the same as the usual level there
		}
		usual := everywhere && c.setting.Level == notification.Global && level == notification.Participating
		text := levelTexts[level]
		f.Options = append(f.Options, page.Choice{
			Value: string(level), Label: text.name + ": " + text.meaning, Chosen: level == c.setting.Level || usual,
		})
	}
	return f
}

// addressField asks where mails go. A project has no address of its own.
func addressField(x *request, c chosen) (page.Field, error) {
	f := page.Field{Name: "notification_email", Label: "Address", Type: page.Select, Hint: "One of your confirmed addresses."}
	add := func(address, label string) {
		f.Options = append(f.Options, page.Choice{Value: address, Label: label, Chosen: c.setting.Email != nil && *c.setting.Email == address})
	}
	if c.in.Kind == bus.OfInstance {
		add("", "Your primary address, whichever that is")
	} else {
		add("", "As in the groups above, or everywhere")
	}
	add(x.account.Email, x.account.Email)
	found, err := x.deps.Users.Emails(x.Context(), x.account.ID, paging.Request{Page: 1, PerPage: ownRows})
	for _, e := range found.Items {
		if e.ConfirmedAt != nil {
			add(e.Email, e.Email)
		}
	}
	return f, err
}

func eventFields(c chosen) []page.Field {
	var all []page.Field
	for _, s := range eventTexts {
		f := page.Field{Name: "events", Label: s.subject, Type: page.Checkboxes, Fold: "Events of the level Custom"}
		for _, e := range s.events {
			f.Options = append(f.Options, page.Choice{Value: e.Name(), Label: e.text, Chosen: c.setting.Has(e.Event)})
		}
		all = append(all, f)
	}
	return all
}

func notificationForm(x *request, action string, c chosen) (*page.Form, error) {
	f := x.NewForm(action, "Save", levelField(c))
	f.Open = c.setting.Level == notification.Custom
	if c.in.Kind != bus.OfProject {
		address, err := addressField(x, c)
		if err != nil {
			return nil, err
		}
		f.Fields = append(f.Fields, address)
	}
	f.Fields = append(f.Fields, eventFields(c)...)
	return f, nil
}

// notificationChange is what was sent. Events count where they differ, so that those that nobody touched stay as they are by default.
func notificationChange(x *request, c chosen) notification.Change {
	level := notification.Level(x.Form.Get("level"))
	change := notification.Change{Level: &level}
	if c.in.Kind != bus.OfProject {
		address := x.Form.Get("notification_email")
		change.Email = &address
	}
	for _, s := range eventTexts {
		for _, e := range s.events {
			if on := slices.Contains(x.Form["events"], e.Name()); on != c.setting.Has(e.Event) {
				change.Flags = change.With(e.Event, on)
			}
		}
	}
	return change
}

func chooseForm(x *request) *page.Form {
	f := x.NewForm(notificationsPath+"/places", "Go on", page.Field{
		Name: "path", Label: "Path", Type: page.Text, Required: true, Length: 6000, Hint: "Such as group/subgroup or group/project.",
	})
	f.Look = page.Secondary
	return f
}

func showNotifications(x *request) error {
	c := chosen{in: bus.Instance()}
	var err error
	if c.setting, err = x.deps.Notifications.Find(x.Context(), x.account.ID, c.in); err != nil {
		return err
	}
	f, err := notificationForm(x, notificationsPath, c)
	if err != nil {
		return err
	}
	return notifications(x, http.StatusOK, f, chooseForm(x))
}

// notifications shows the page, with its two forms.
func notifications(x *request, status int, everywhere, choose *page.Form) error {
	places, err := x.deps.Notifications.Own(x.Context(), x.Actor, ownRows)
	if err != nil {
		return err
	}
	body := notificationsBody{Everywhere: everywhere, Choose: choose}
	for _, p := range places {
		row := placeRow{Path: p.Owner.Path, Level: levelTexts[p.Level].name, Icon: ui.IconBox, URL: x.Link(placePath(p.Owner.Entity))}
		if p.Owner.Group != nil {
			row.Icon = ui.IconGroup
		}
		if p.Email != nil {
			row.Email = *p.Email
		}
		body.Places = append(body.Places, row)
	}
	if err := mailed(x, &body); err != nil {
		return err
	}
	return x.Show(status, settings(x, "Notifications", notificationsPath), notificationsPage(body))
}

// mostFailed is up to how many mails that were not sent a page counts.
const mostFailed = 100

// mailed fills in what became of mails to the person.
func mailed(x *request, body *notificationsBody) error {
	rooms := x.deps.Notifications
	body.Mail = rooms.SendsMail()
	refused, err := rooms.RefusedOf(x.Context(), x.account.ID, ownRows)
	if err != nil {
		return err
	}
	for _, r := range refused {
		body.Refused = append(body.Refused, refusedRow{r.Address, r.Answer})
	}
	failed, err := rooms.Failed(x.Context(), x.account.ID, mostFailed+1)
	if err != nil {
		return err
	}
	switch {
	case failed > mostFailed:
		body.Failed = "More than " + strconv.Itoa(mostFailed) + " mails to you could not be sent within the last thirty days."
	case failed == 1:
		body.Failed = "One mail to you could not be sent within the last thirty days."
	case failed > 0:
		body.Failed = strconv.Itoa(failed) + " mails to you could not be sent within the last thirty days."
	}
	declined, err := rooms.DeclinedBy(x.Context(), x.Actor, ownRows)
	for _, d := range declined {
		row := declinedRow{Path: d.Project.FullPath(), What: "moves of the project"}
		switch {
		case d.Pipelines:
			row.What = "pipelines of the project"
		case d.Alerts:
			row.What = "alerts of the project"
		}
		row.Resume = x.Button(notificationsPath+"/declined/"+strconv.FormatInt(d.Project.ID, 10), "Mail me again", page.Secondary, "about "+row.Path)
		body.Declined = append(body.Declined, row)
	}
	return err
}

func resumeMails(x *request) error {
	id, err := x.ID()
	if err != nil {
		return err
	}
	if err := x.deps.Notifications.Undecline(x.Context(), x.Actor, id); err != nil {
		return err
	}
	return x.Done(notificationsPath, "You are mailed about this project again.")
}

// showUnsubscribe asks whether to end the mails that a link is for. Opening it changes nothing: programs that look at mails open links.
func showUnsubscribe(x *request) error {
	token := x.R.PathValue("token")
	what, err := x.deps.Notifications.Unsubscribing(x.Context(), token)
	if err != nil {
		return err
	}
	f := x.NewForm(notification.UnsubscribePath+token, "Stop these mails")
	return x.Show(http.StatusOK, page.Layout{Title: "Stop mails", Narrow: true},
		oneFormPage(formBody{Words: "You will get no more " + what + ", unless somebody mentions you.", Form: f}))
}

// unsubscribe ends them, for who pressed the button and for mail programs that send the form themselves (RFC 8058). Those follow no redirect.
func unsubscribe(x *request) error {
	token := x.R.PathValue("token")
	what, err := x.deps.Notifications.Unsubscribing(x.Context(), token)
	if err != nil {
		return err
	}
	if err := x.deps.Notifications.Unsubscribe(x.Context(), token); err != nil {
		return err
	}
	return x.Show(http.StatusOK, page.Layout{Title: "Stop mails", Narrow: true},
		oneFormPage(formBody{Words: "Done. You get no more " + what + ".", Back: x.Link(notificationsPath)}))
}

func changeNotifications(x *request) error {
	c := chosen{in: bus.Instance()}
	var err error
	if c.setting, err = x.deps.Notifications.Find(x.Context(), x.account.ID, c.in); err != nil {
		return err
	}
	if _, err = x.deps.Notifications.Update(x.Context(), x.account.ID, c.in, notificationChange(x, c)); err == nil {
		return x.Done(notificationsPath, "Your notification settings are saved.")
	}
	f, failed := notificationForm(x, notificationsPath, c)
	if failed != nil {
		return failed
	}
	if err := x.Refuse(f, err); err != nil {
		return err
	}
	return notifications(x, http.StatusUnprocessableEntity, f, chooseForm(x))
}

// placePath is the page of a person's settings of a group or project.
func placePath(in bus.Entity) string {
	return notificationsPath + "/" + owner.Noun(in) + "s/" + strconv.FormatInt(in.ID, 10)
}

// choosePlace leads to the settings of the group or project that a path names.
func choosePlace(x *request) error {
	in, err := placeAt(x, strings.Trim(strings.TrimSpace(x.Form.Get("path")), "/"))
	if err == nil {
		x.Redirect(placePath(in))
		return nil
	}
	if !fault.Is(err, fault.NotFound) {
		return err
	}
	choose, c := chooseForm(x), chosen{in: bus.Instance()}
	if err := x.Refuse(choose, fault.Field("path", "is not that of a group or project that you see")); err != nil {
		return err
	}
	if c.setting, err = x.deps.Notifications.Find(x.Context(), x.account.ID, c.in); err != nil {
		return err
	}
	f, err := notificationForm(x, notificationsPath, c)
	if err != nil {
		return err
	}
	return notifications(x, http.StatusUnprocessableEntity, f, choose)
}

func placeAt(x *request, path string) (bus.Entity, error) {
	g, err := x.deps.Groups.FindByRef(x.Context(), x.Actor, path)
	if err == nil {
		return g.Entity(), nil
	}
	if !fault.Is(err, fault.NotFound) {
		return bus.Entity{}, err
	}
	p, _, err := x.deps.Projects.FindByRef(x.Context(), x.Actor, path)
	if err != nil {
		return bus.Entity{}, err
	}
	return p.Entity(), nil
}

// groupOfPath and projectOfPath are the place whose id the path of the page names.
func groupOfPath(x *request, id int64) (bus.Entity, error) {
	g, err := x.deps.Groups.FindByRef(x.Context(), x.Actor, strconv.FormatInt(id, 10))
	if err != nil {
		return bus.Entity{}, err
	}
	return g.Entity(), nil
}

func projectOfPath(x *request, id int64) (bus.Entity, error) {
	p, err := x.deps.Projects.Find(x.Context(), x.Actor, id)
	if err != nil {
		return bus.Entity{}, err
	}
	return p.Entity(), nil
}

// placeSettings hands the settings of the place in the path to a handler.
func placeSettings(find func(*request, int64) (bus.Entity, error), do func(*request, chosen) error) func(*request) error {
	return func(x *request) error {
		id, err := x.ID()
		if err != nil {
			return err
		}
		var c chosen
		if c.in, err = find(x, id); err != nil {
			return err
		}
		if c.setting, err = x.deps.Notifications.Find(x.Context(), x.account.ID, c.in); err != nil {
			return err
		}
		return do(x, c)
	}
}

func showPlace(x *request, c chosen) error {
	f, err := notificationForm(x, placePath(c.in), c)
	if err != nil {
		return err
	}
	return place(x, http.StatusOK, c, f)
}

func place(x *request, status int, c chosen, f *page.Form) error {
	layout := settings(x, "Notifications of "+c.in.Path, notificationsPath)
	return x.Show(status, layout, placePage(placeBody{Noun: owner.Noun(c.in), Form: f, Back: x.Link(notificationsPath)}))
}

func changePlace(x *request, c chosen) error {
	_, err := x.deps.Notifications.Update(x.Context(), x.account.ID, c.in, notificationChange(x, c))
	if err == nil {
		return x.Done(notificationsPath, "Your notification settings of "+c.in.Path+" are saved.")
	}
	f, failed := notificationForm(x, placePath(c.in), c)
	if failed != nil {
		return failed
	}
	if err := x.Refuse(f, err); err != nil {
		return err
	}
	return place(x, http.StatusUnprocessableEntity, c, f)
}

// placeBody is the settings of a person for one group or project.
type placeBody struct {
	Noun string
	Form *page.Form
	Back page.URL
}

// counts says where what is chosen holds.
func (b placeBody) counts() string {
	if b.Noun == "group" {
		return "What you choose here holds for all that is below the group, too, unless you chose otherwise there."
	}
	return "What you choose here holds for this project alone."
}
