package badge_test

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"stithy/internal/app/apptest"
	"stithy/internal/badge"
	"stithy/internal/group"
	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/project"
	"stithy/internal/project/projecttest"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
)

// fixture is a public group with a subgroup, a project in the subgroup, and people of the roles that matter.
type fixture struct {
	*apptest.Instance
	top, sub          *group.Group
	project           *project.Project
	owner, maintainer *user.User // of the top group
	developer         *user.User
	stranger          *user.User

	mu     sync.Mutex
	events []badge.Event
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	w := &fixture{Instance: apptest.New(t)}
	bus.On(w.Bus, func(_ context.Context, _ pgx.Tx, e badge.Event) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.events = append(w.events, e)
		return nil
	})
	w.owner = usertest.New(t, w.DB, usertest.Named("owner"))
	w.maintainer = usertest.New(t, w.DB, usertest.Named("maintainer"))
	w.developer = usertest.New(t, w.DB, usertest.Named("developer"))
	w.stranger = usertest.New(t, w.DB, usertest.Named("stranger"))
	w.top = grouptest.New(t, w.DB, grouptest.Named("top"), grouptest.Visible(access.Public))
	w.sub = grouptest.New(t, w.DB, grouptest.Named("sub"), grouptest.Under(w.top))
	w.project = projecttest.New(t, w.DB, w.sub.ID, projecttest.Named("tool"), projecttest.Visible(access.Public), projecttest.With("name", "A tool & more"))
	grouptest.Join(t, w.DB, w.top, w.owner, access.Owner)
	grouptest.Join(t, w.DB, w.top, w.maintainer, access.Maintainer)
	grouptest.Join(t, w.DB, w.top, w.developer, access.Developer)
	return w
}

func inProject(p *project.Project) string { return "/projects/" + id(p.ID) + "/badges" }
func inGroup(g *group.Group) string       { return "/groups/" + id(g.ID) + "/badges" }
func id(n int64) string                   { return strconv.FormatInt(n, 10) }

// made is a badge as the API shows it.
type made struct {
	ID               int64   `json:"id"`
	Name             *string `json:"name"`
	LinkURL          string  `json:"link_url"`
	ImageURL         string  `json:"image_url"`
	RenderedLinkURL  string  `json:"rendered_link_url"`
	RenderedImageURL string  `json:"rendered_image_url"`
	Kind             string  `json:"kind"`
}

// create makes a badge as the owner.
func (w *fixture) create(t testing.TB, in, name string) made {
	t.Helper()
	return httpapitest.JSON[made](t, w.As(t, w.owner).Do(t, "POST", in, map[string]any{
		"name": name, "link_url": "https://example.com/%{project_path}", "image_url": "https://example.com/i.svg",
	}).WantStatus(t, http.StatusCreated))
}

// names are those of a list.
func names(t testing.TB, r *httpapitest.Reply) []string {
	t.Helper()
	all := []string{}
	for _, m := range httpapitest.JSON[[]made](t, r.WantStatus(t, http.StatusOK)) {
		all = append(all, *m.Name)
	}
	return all
}
