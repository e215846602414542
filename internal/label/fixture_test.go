package label_test

import (
	"net/http"
	"net/url"
	"strconv"
	"testing"

	"stithy/internal/app/apptest"
	"stithy/internal/group"
	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/label"
	"stithy/internal/project"
	"stithy/internal/project/projecttest"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
)

// fixture is a group with a subgroup, a project in the subgroup, and people of every role.
type fixture struct {
	*apptest.Instance
	top, sub        *group.Group
	project         *project.Project
	root, stranger  *user.User
	reporter, guest *user.User // of the top group
	helper          *user.User // reporter of the project alone

	happened func() []label.Event // since the last call
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	w := &fixture{Instance: apptest.New(t)}
	w.happened = apptest.Heard[label.Event](w.Instance)
	w.root = usertest.New(t, w.DB, usertest.Named("root"), usertest.Admin())
	w.stranger = usertest.New(t, w.DB, usertest.Named("stranger"))
	w.reporter = usertest.New(t, w.DB, usertest.Named("reporter"))
	w.guest = usertest.New(t, w.DB, usertest.Named("guest"))
	w.helper = usertest.New(t, w.DB, usertest.Named("helper"))
	w.top = grouptest.New(t, w.DB, grouptest.Named("top"))
	w.sub = grouptest.New(t, w.DB, grouptest.Named("sub"), grouptest.Under(w.top))
	w.project = projecttest.New(t, w.DB, w.sub.ID, projecttest.Named("tool"))
	grouptest.Join(t, w.DB, w.top, w.reporter, access.Reporter)
	grouptest.Join(t, w.DB, w.top, w.guest, access.Guest)
	projecttest.Join(t, w.DB, w.project, w.helper, access.Reporter)
	return w
}

func inProject(p *project.Project) string { return "/projects/" + id(p.ID) + "/labels" }
func inGroup(g *group.Group) string       { return "/groups/" + id(g.ID) + "/labels" }
func id(n int64) string                   { return strconv.FormatInt(n, 10) }
func at(in, ref string) string            { return in + "/" + url.PathEscape(ref) }

// made is a label as the API shows it.
type made struct {
	ID              int64   `json:"id"`
	Name            string  `json:"name"`
	Description     *string `json:"description"`
	DescriptionHTML *string `json:"description_html"`
	Color           string  `json:"color"`
	TextColor       string  `json:"text_color"`
	Subscribed      bool    `json:"subscribed"`
	Priority        *int    `json:"priority"`
	IsProjectLabel  *bool   `json:"is_project_label"`
	OpenIssues      *int    `json:"open_issues_count"`
}

// create makes a label as the reporter.
func (w *fixture) create(t testing.TB, in, name string, attributes ...map[string]any) made {
	t.Helper()
	body := map[string]any{"name": name, "color": "#6699cc"}
	for _, more := range attributes {
		for k, v := range more {
			body[k] = v
		}
	}
	return httpapitest.JSON[made](t, w.As(t, w.reporter).Do(t, "POST", in, body).WantStatus(t, http.StatusCreated))
}

// names are those of a list.
func names(t testing.TB, r *httpapitest.Reply) []string {
	t.Helper()
	all := []string{}
	for _, m := range httpapitest.JSON[[]made](t, r.WantStatus(t, http.StatusOK)) {
		all = append(all, m.Name)
	}
	return all
}
