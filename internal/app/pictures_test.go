package app

import (
	"fmt"
	"net/http"
	"testing"

	"stithy/internal/kit/access"
)

func TestThePictureOfAHiddenProjectIsForThoseWhoSeeIt(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	d.exec(t, `update projects set avatar = 'x.gif'`)
	d.exec(t, `insert into project_avatars (project_id, content_type, content) select id, 'image/gif', 'GIF89a' from projects`)
	at := fmt.Sprintf("/uploads/-/system/project/avatar/%d/", d.hidden.ID)
	reporter, _ := d.signedIn(t, access.Reporter, d.hidden)
	outsider, _ := d.signedIn(t, access.NoRole, d.hidden)
	for name, c := range map[string]struct {
		by   *browser
		path string
		want int
	}{
		"a member":             {reporter, at + "x.gif", http.StatusOK},
		"an outsider":          {outsider, at + "x.gif", http.StatusNotFound},
		"a stranger":           {d.browser(t), at + "x.gif", http.StatusNotFound},
		"another name":         {reporter, at + "y.gif", http.StatusNotFound},
		"a number that is not": {reporter, "/uploads/-/system/project/avatar/x/x.gif", http.StatusNotFound},
		"an open project":      {d.browser(t), fmt.Sprintf("/uploads/-/system/project/avatar/%d/x.gif", d.open.ID), http.StatusOK},
	} {
		w := c.by.send("GET", c.path, nil)
		if w.Code != c.want {
			t.Errorf("%s: %d, not %d", name, w.Code, c.want)
		}
		if w.Code == http.StatusOK && w.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %v", name, w.Header())
		}
	}
}
