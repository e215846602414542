package app

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"stithy/internal/kit/access"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
)

// problem is what a form says is wrong, inner a name that only the API knows.
var (
	problem = regexp.MustCompile(`(?s)<p class="problem".*?</p>|<div class="notice bad".*?</div>`)
	inner   = regexp.MustCompile(`\b[a-z0-9]+_[a-z0-9_]+\b|\bbase\b`)
	markup  = regexp.MustCompile(`<[^>]*>`)
)

func TestFormsSayWhatIsWrongInTheirOwnWords(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	b, _ := d.signedIn(t, access.Maintainer, d.hidden)
	if s := b.submit(b.get(keysPage), keysPage, map[string]string{"title": "x", "key": "no key"}); !s.says(">Is invalid") || s.says("fingerprint_sha256") {
		t.Errorf("%s", s.Body)
	}
	const pipelines = "/house/hidden/-/pipelines"
	if s := b.submit(b.get(pipelines), pipelines, map[string]string{"run": "no-such-branch"}); !s.says("There is no branch or tag “no-such-branch”.") {
		t.Errorf("%s", s.Body)
	}
	asked := 0
	for _, path := range []string{profilePage, tokensPage, keysPage, emailsPage, "/-/user_settings/password", "/-/user_settings/applications", "/house/hidden/-/settings/ci_cd", pipelines} {
		for _, f := range b.get(path).forms {
			if f.method != "post" || f.action == "/users/sign_out" {
				continue
			}
			for _, text := range []string{"", "\"<nonsense> " + strings.Repeat("x", 300)} {
				values := map[string][]string{}
				for name, value := range f.values {
					if values[name] = []string{text}; name == "authenticity_token" {
						values[name] = value
					}
				}
				w := b.send("POST", f.action, values)
				for _, said := range problem.FindAllString(w.Body.String(), -1) {
					asked++
					if name := inner.FindString(markup.ReplaceAllString(said, "")); name != "" {
						t.Errorf("%s says %q: %s", f.action, name, said)
					}
				}
			}
		}
	}
	if asked < 8 {
		t.Errorf("only %d problems were seen", asked)
	}
}

func TestTheListOfUsersOffersWhatFitsEachAccount(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	root := i.withPassword(t, usertest.Admin())
	waits := usertest.New(t, i.DB, usertest.Named("waits"), usertest.With("state", user.Pending))
	usertest.New(t, i.DB, usertest.Named("machine"), usertest.With("kind", user.ProjectBot))
	locked := usertest.New(t, i.DB, usertest.Named("locked"), usertest.With("locked_at", i.Clock.Now()))
	fresh := usertest.New(t, i.DB, usertest.Named("fresh"), usertest.With("last_activity_on", i.Clock.Now().UTC().Format("2006-01-02")))
	b := i.browser(t)
	b.signIn(root.Username, goodPassword)
	row := func(name string) string {
		_, text, _ := strings.Cut(b.get("/admin/users").Body.String(), ">@"+name+"<")
		text, _, _ = strings.Cut(text, "</tr>")
		return text
	}
	if !strings.Contains(row("machine"), ">bot<") || strings.Contains(row("fresh"), ">bot<") {
		t.Errorf("bots are not told apart:\n%s", row("machine"))
	}
	if today := row(fresh.Username); !strings.Contains(today, ">today</time>") || strings.Contains(today, "hours ago") {
		t.Errorf("who was here today was active:\n%s", today)
	}
	unlock := fmt.Sprintf("/admin/users/%d/unlock", locked.ID)
	if strings.Contains(row("fresh"), "Unlock") || !strings.Contains(row("locked"), unlock) {
		t.Errorf("not the locked one is offered to be unlocked:\n%s", row("locked"))
	}
	if s := b.submit(b.get("/admin/users"), unlock, nil); s.Code != http.StatusOK || !s.says("locked is unlocked.") || strings.Contains(row("locked"), unlock) {
		t.Errorf("%d %s", s.Code, s.Body)
	}
	reject := fmt.Sprintf("/admin/users/%d/reject", waits.ID)
	if s := b.submit(b.get("/admin/users?state=pending"), reject, nil); s.Code != http.StatusOK || !s.says("waits is rejected.") {
		t.Errorf("%d %s", s.Code, s.Body)
	}
	own := b.get("/").form("/users/sign_out").values
	if w := b.send("POST", fmt.Sprintf("/admin/users/%d/reject", fresh.ID), own); w.Code != http.StatusConflict {
		t.Errorf("an account that does not wait is rejected: %d", w.Code)
	}
}

func TestBrowsersAndCrawlersFindWhatTheyAskFor(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	for path, kind := range map[string]string{"/favicon.ico": "image/png", "/robots.txt": "text/plain; charset=utf-8"} {
		w := i.browser(t).send("GET", path, nil)
		if w.Code != http.StatusOK || w.Header().Get("Content-Type") != kind || w.Body.Len() == 0 {
			t.Errorf("%s: %d %v", path, w.Code, w.Header())
		}
	}
}
