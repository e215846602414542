package overview

import (
	"net/http"
	"net/url"
	"time"

	"stithy/internal/event"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/paging"
	"stithy/internal/user"
	"stithy/internal/web/page"
	"stithy/internal/web/ui"
)

// activityRows is how many events a page shows.
const activityRows = 20

// activityTab is what follows the path of a project or group.
const activityTab = "activity"

// activityOf is the path of what somebody did.
func activityOf(username string) string {
	return "/users/" + url.PathEscape(username) + "/" + activityTab
}

// activityBody is what happened, the latest first.
type activityBody struct {
	Rows  []activityRow
	Empty string // what is said where there is nothing
	Pager page.Pager
}

// activityRow is something that somebody did.
type activityRow struct {
	Icon           ui.IconPath
	Name, Username string
	Person         page.URL // empty: the list is theirs
	Words          []word
	Detail         string // what they wrote: the title of a commit, the beginning of a comment
	When           *page.DisplayTime
}

// activity is a list of what happened, wherever it is.
type activity struct {
	path   string // of the page
	title  string
	since  time.Time // when there was something that could happen
	person bool      // it is what one person did
	alone  bool      // all of it happened in one project
	empty  string
	list   func(paging.Request) (paging.Result[event.Shown], error)
}

// show answers with a part of the list.
func (a activity) show(x *page.Request, l page.Layout) error {
	req, err := x.ByCursor(activityRows)
	if err != nil {
		return err
	}
	found, err := a.list(req)
	if fault.Is(err, fault.BadParams) {
		return fault.WithMessage(fault.BadParams, "This part of the list is not there.")
	}
	if err != nil {
		return err
	}
	body := activityBody{Empty: a.empty, Pager: x.CursorPager(a.path, url.Values{}, req, found.Next)}
	for n := range found.Items {
		body.Rows = append(body.Rows, a.row(x, &found.Items[n]))
	}
	l.Feed = x.Link(a.path + feedSuffix)
	return x.Show(http.StatusOK, l, activityPage(body))
}

func (a activity) row(x *page.Request, e *event.Shown) activityRow {
	row := activityRow{
		Icon: iconOf(e), Name: e.Author.Name, Username: e.Author.Username, Words: a.words(x.Kit, e), Detail: detailOf(e), When: x.Time(&e.CreatedAt),
	}
	if !a.person {
		row.Person = x.Link(activityOf(e.Author.Username))
	}
	return row
}

const nothingSeen = "Nothing happened here that you can see."

func projectActivity(x *projectRequest) activity {
	return activity{
		path: x.At(activityTab), title: x.Project.FullPath(), since: x.Project.CreatedAt, alone: true, empty: nothingSeen,
		list: func(req paging.Request) (paging.Result[event.Shown], error) {
			return x.deps.Events.OfProject(x.Context(), x.Actor, x.Project, event.Filter{}, req)
		},
	}
}

func groupActivity(x *groupRequest) activity {
	return activity{
		path: x.At(activityTab), title: x.Group.FullPath, since: x.Group.CreatedAt, empty: nothingSeen,
		list: func(req paging.Request) (paging.Result[event.Shown], error) {
			return x.deps.Events.OfGroup(x.Context(), x.Actor, x.Group, event.Filter{}, req)
		},
	}
}

func personActivity(x *request, u *user.User) activity {
	return activity{
		path: activityOf(u.Username), title: u.Username, since: u.CreatedAt, person: true, empty: u.Name + " did nothing that you can see.",
		list: func(req paging.Request) (paging.Result[event.Shown], error) {
			return x.deps.Events.OfAuthor(x.Context(), x.Actor, u, event.Filter{}, req)
		},
	}
}

func showProjectActivity(x *projectRequest) error {
	return projectActivity(x).show(x.Request.Request, x.Layout("Activity", activityTab))
}

func showGroupActivity(x *groupRequest) error {
	return groupActivity(x).show(x.Request.Request, x.Layout("Activity", activityTab))
}

func showPersonActivity(x *request) error {
	u, err := personOf(x)
	if err != nil {
		return err
	}
	l := personLayout(x, u, activityTab)
	l.Title = "Activity"
	return personActivity(x, u).show(x.Request, l)
}

// personOf finds whose activity is asked for. Strangers who find nobody may sign in.
func personOf(x *request) (*user.User, error) {
	var u *user.User
	err := fault.New(fault.NotFound)
	if x.deps.Events.KnowsPeople(x.Actor) {
		u, err = x.deps.Users.FindByUsername(x.Context(), x.R.PathValue("username"))
	}
	if fault.Is(err, fault.NotFound) && x.Account == nil {
		x.AskToSignIn()
		return nil, page.ErrAnswered
	}
	return u, err
}

// personLayout is that of a page about a person. Their first page is for people who are signed in.
func personLayout(x *request, u *user.User, tab string) page.Layout {
	home := x.Link("/" + url.PathEscape(u.Username))
	h := &page.Header{
		Name: u.Username, Kind: "Person", Crumbs: []page.NavLink{{Title: u.Username, URL: home, Icon: ui.IconUser, Here: true}},
		Tabs: []page.NavLink{{Title: "Activity", URL: x.Link(activityOf(u.Username)), Icon: ui.IconHistory, Here: tab == activityTab}},
	}
	if x.Account != nil {
		h.Tabs = append([]page.NavLink{{Title: "Overview", URL: home, Icon: ui.IconUser, Here: tab == ""}}, h.Tabs...)
	}
	return page.Layout{Title: u.Name, Header: h}
}
