package web

import (
	"embed"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"strings"
	"time"

	"stithy/internal/kit/wire"
	"stithy/internal/user"
)

//go:embed templates/*.html
var templateFiles embed.FS

// templates are the pages by name, each with the layout and the parts around it.
type templates map[string]*template.Template

// parseTemplates reads layout.html and parts.html with each of the pages.
func parseTemplates(link func(string) string, sheet string) templates {
	functions := template.FuncMap{
		"link":  link,
		"sheet": func() string { return link(sheet) },
	}
	names, err := fs.Glob(templateFiles, "templates/*.html")
	if err != nil {
		panic("web: " + err.Error())
	}
	all := templates{}
	for _, name := range names {
		page := strings.TrimSuffix(strings.TrimPrefix(name, "templates/"), ".html")
		if page == "layout" || page == "parts" {
			continue
		}
		all[page] = template.Must(template.New("layout").Funcs(functions).
			ParseFS(templateFiles, "templates/layout.html", "templates/parts.html", name))
	}
	return all
}

func (t templates) render(w io.Writer, name string, v view) error {
	page, ok := t[name]
	if !ok {
		return fmt.Errorf("there is no page %q", name)
	}
	if err := page.ExecuteTemplate(w, "layout", v); err != nil {
		return fmt.Errorf("rendering page %s: %w", name, err)
	}
	return nil
}

// view is what the layout is given; Body is what the page itself shows.
type view struct {
	Title     string
	Brand     string
	Account   *user.User // nil: nobody is signed in, or may do nothing yet
	Admin     bool
	SignOut   *form
	Flash     *flash
	Narrow    bool
	Side      []place // the pages beside this one
	SideTitle string
	Script    string  // path of a script of ours
	Place     *around // of a page about a project
	SignIn    string  // path of the page to sign in, for strangers who may read but would see more
	RequestID string
	Body      any
}

// place is a link in a list of pages.
type place struct {
	Title, Path string
	Here        bool
}

// around is what stands above a page about a project.
type around struct {
	Name   string
	Crumbs []place // the way there; a step without a path has no page
	Tabs   []place
}

// option changes how a page is laid out.
type option func(*view)

// narrow is for a page that is one form.
func narrow(v *view) { v.Narrow = true }

// scripted runs a script of ours on the page. The visit allows it, too: see
// policy.
func (x *visit) scripted(path string) option {
	x.policy.script = true
	return func(v *view) { v.Script = x.link(path) }
}

// beside puts a list of neighbouring pages at the side; here is the path of
// the one that is shown.
func beside(title, here string, places ...place) option {
	return func(v *view) {
		v.SideTitle = title
		for _, p := range places {
			p.Here = p.Path == here
			v.Side = append(v.Side, p)
		}
	}
}

func (x *visit) view(title string, body any) view {
	v := view{Title: title, Brand: wire.Brand, Flash: x.flash(), RequestID: x.requestID(), Body: body}
	if x.account != nil {
		v.SignOut = x.button("/users/sign_out", "Sign out", "", "")
		if x.actor.SignedIn() {
			v.Account, v.Admin = x.account, x.actor.Admin()
		}
	}
	return v
}

// moment is a time as people read it, with the exact one on hover.
type moment struct {
	Exact, Machine, Text string
}

// moment describes a time relative to now; nil and zero never were.
func (x *visit) moment(t *time.Time) *moment {
	if t == nil || t.IsZero() {
		return nil
	}
	return &moment{
		Exact: t.UTC().Format("2 January 2006, 15:04 UTC"), Machine: t.UTC().Format(time.RFC3339), Text: relative(x.Clock.Now().Sub(*t)),
	}
}

// day describes a date, of which no time is known, relative to today.
func (x *visit) day(t *time.Time) *moment {
	if t == nil || t.IsZero() {
		return nil
	}
	const length = 24 * time.Hour
	m := &moment{Exact: t.UTC().Format("2 January 2006"), Machine: t.UTC().Format(time.DateOnly)}
	switch ago := x.Clock.Now().UTC().Truncate(length).Sub(t.UTC().Truncate(length)); ago {
	case 0:
		m.Text = "today"
	case length:
		m.Text = "yesterday"
	default:
		m.Text = relative(ago)
	}
	return m
}

// relative says how long ago something was, or how soon it will be.
func relative(d time.Duration) string {
	format := "%s ago"
	if d < 0 {
		d, format = -d, "in %s"
	}
	count := func(n int, unit string) string {
		if n != 1 {
			unit += "s"
		}
		return fmt.Sprintf(format, fmt.Sprintf("%d %s", n, unit))
	}
	const day = 24 * time.Hour
	switch {
	case d < time.Minute && format == "%s ago":
		return "just now"
	case d < time.Hour:
		return count(max(1, int(d/time.Minute)), "minute")
	case d < day:
		return count(int(d/time.Hour), "hour")
	case d < 60*day:
		return count(int(d/day), "day")
	case d < 730*day:
		return count(int(d/(30*day)), "month")
	}
	return count(int(d/(365*day)), "year")
}
