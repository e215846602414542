package app

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"stithy/internal/kit/access"
)

// Clients look for the name as text, and for the identifier in headers and cookies; people read what the program is called.
func TestTheServiceHasANameInTextAndAnotherInIdentifiers(t *testing.T) {
	t.Parallel()
	d := newDoors(t, "STITHY_IDENTIFIERS_SERVICE=gitlab")
	if w := d.do("GET", "/-/health", nil, func(r *http.Request) { r.RemoteAddr = "127.0.0.1:9" }); w.Body.String() != "GitLab OK" {
		t.Errorf("health says %q", w.Body)
	}
	if got := d.knock("git-upload-pack", "house/hidden", "", "").Header().Get("Www-Authenticate"); got != `Basic realm="GitLab"` {
		t.Errorf("realm: %s", got)
	}
	w := d.do("GET", "/users/sign_in", nil, func(*http.Request) {})
	if cookies := strings.Join(w.Header().Values("Set-Cookie"), " "); strings.Contains(w.Body.String(), "GitLab") || !strings.Contains(w.Body.String(), "Stithy") || strings.Contains(cookies, "GitLab") {
		t.Errorf("%s\n%s", cookies, w.Body)
	}
	w = d.do("GET", "/api/v4/projects/"+strconv.FormatInt(d.open.ID, 10)+"/repository/files/readme?ref=HEAD", nil, func(r *http.Request) {
		r.Header.Set("PRIVATE-TOKEN", d.token(t, d.root, access.ScopeAPI))
	})
	if w.Header().Get("X-Gitlab-File-Name") != "readme" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
}
