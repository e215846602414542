package app

import (
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/platform/postgres"
	"stithy/internal/project/projecttest"
	"stithy/internal/user/usertest"
)

const (
	ofProject = "/house/hidden/-/settings/ci_cd"
	ofGroup   = "/groups/house/-/settings/ci_cd"
)

// ciDoors are an owner of everything, and pages of each kind: where they are
// shown, and what the paths of runners and variables begin with.
func ciDoors(t *testing.T) (d *doors, owner *browser, places map[string][3]string) {
	t.Helper()
	d = newDoors(t)
	u := d.withPassword(t, usertest.Admin())
	grouptest.Join(t, d.DB, d.house, u, access.Owner)
	owner = d.browser(t)
	owner.signIn(u.Username, goodPassword)
	return d, owner, map[string][3]string{
		"project":  {ofProject, ofProject + "/runners", ofProject + "/variables"},
		"group":    {ofGroup, ofGroup + "/runners", ofGroup + "/variables"},
		"instance": {"", "/admin/runners", "/admin/variables"},
	}
}

var shownToken = regexp.MustCompile(`id="new-token">([^<]+)<`)

func TestARunnerIsMadeChangedAndDeletedOnThePagesOfItsPlace(t *testing.T) {
	t.Parallel()
	d, b, places := ciDoors(t)
	for kind, at := range places {
		list, runners := at[0], at[1]
		if list == "" {
			list = runners
		}
		page := b.get(list)
		if page.Code != http.StatusOK {
			t.Fatalf("%s: %d %s", kind, page.Code, page.Body)
		}
		if s := b.submit(page, runners, map[string]string{"run_untagged": "", "maximum_timeout": "ten"}); s.Code != http.StatusUnprocessableEntity || !s.says("Is not a number of seconds") {
			t.Errorf("%s: %d %s", kind, s.Code, s.Body)
		}
		s := b.submit(page, runners, map[string]string{"description": "<b>fast", "tags_list": "linux, arm,linux", "run_untagged": "1"})
		found := shownToken.FindStringSubmatch(s.Body.String())
		if s.path != list || found == nil || !s.says("never again") || !strings.Contains(s.Body.String(), "&lt;b&gt;fast") || !s.says("linux</span>") {
			t.Fatalf("%s: %d %s", kind, s.Code, s.Body)
		}
		if b.get(list).says(found[1]) {
			t.Errorf("%s: the token is shown twice", kind)
		}
		if w := d.do("POST", "/api/v4/runners/verify", map[string]any{"token": found[1]}, nil); w.Code != http.StatusOK {
			t.Errorf("%s: the token is none: %d", kind, w.Code)
		}
		id, err := postgres.Value[int64](t.Context(), d.DB, `select max(id) from runners`)
		if err != nil {
			t.Fatal(err)
		}
		one := runners + "/" + strconv.FormatInt(id, 10)
		state := func() (paused bool, tags []string) {
			r, err := d.Runners.Find(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			return r.Paused, r.Tags
		}
		s = b.submit(s, one+"/pause", nil)
		if paused, _ := state(); !paused || !s.says("takes no new jobs") {
			t.Errorf("%s: not paused: %s", kind, s.Body)
		}
		s = b.submit(s, one+"/resume", nil)
		if paused, _ := state(); paused || s.Code != http.StatusOK {
			t.Errorf("%s: still paused", kind)
		}
		edit := b.get(one)
		if s := b.submit(edit, one, map[string]string{"tags_list": "", "run_untagged": ""}); s.Code != http.StatusUnprocessableEntity || !s.says("Can not be empty") {
			t.Errorf("%s: %d %s", kind, s.Code, s.Body)
		}
		s = b.submit(edit, one, map[string]string{"tags_list": "windows", "description": "slow"})
		if _, tags := state(); len(tags) != 1 || tags[0] != "windows" || !s.says("slow") {
			t.Errorf("%s: %v %s", kind, tags, s.Body)
		}
		again := shownToken.FindStringSubmatch(b.submit(b.get(one), one+"/reset", nil).Body.String())
		if again == nil || again[1] == found[1] {
			t.Errorf("%s: no new token", kind)
		}
		if w := d.do("POST", "/api/v4/runners/verify", map[string]any{"token": found[1]}, nil); w.Code != http.StatusForbidden {
			t.Errorf("%s: the old token works: %d", kind, w.Code)
		}
		b.submit(b.get(list), one+"/delete", nil)
		if w := b.send("GET", one, nil); w.Code != http.StatusNotFound {
			t.Errorf("%s: it is still there: %d", kind, w.Code)
		}
	}
}

// CI-05: what is hidden is on no page, whatever was asked or refused.
func TestCI05_AHiddenValueIsOnNoPage(t *testing.T) {
	t.Parallel()
	d, b, places := ciDoors(t)
	const canary, second = "canary-of-a-value-1", "canary-of-a-value-2"
	for kind, at := range places {
		list, variables := at[0], at[2]
		if list == "" {
			list = variables
		}
		seen := func(s *screen) {
			t.Helper()
			if strings.Contains(s.Body.String(), "canary") {
				t.Errorf("%s: %s shows a value", kind, s.path)
			}
		}
		if kind != "instance" {
			s := b.submit(b.get(list), variables, map[string]string{"key": "HIDE", "value": canary, "visibility": "hidden", "environment_scope": "prod/*"})
			seen(s)
			if !s.says("is added") || !s.says("prod/*") {
				t.Fatalf("%s: %d %s", kind, s.Code, s.Body)
			}
			edit := b.get(variables + "/edit?key=HIDE&scope=prod/*")
			seen(edit)
			seen(b.submit(edit, variables+"/update", map[string]string{"value": second, "environment_scope": "<no>"}))
			seen(b.submit(edit, variables+"/update", map[string]string{"value": "canary short\n"}))
			seen(b.submit(edit, variables+"/update", map[string]string{"protected": "1", "visibility": "visible"}))
			seen(b.submit(b.get(list), variables, map[string]string{"key": "bad key", "value": canary, "visibility": "hidden"}))
			of := d.hidden.Entity()
			if kind == "group" {
				of = d.house.Entity()
			}
			v, err := d.Variables.FindIn(t.Context(), of, "HIDE", nil)
			if err != nil || v.Value.Reveal() != canary || !v.Protected || !v.Masked || !v.Hidden {
				t.Errorf("%s: %+v %v", kind, v, err)
			}
		}
		s := b.submit(b.get(list), variables, map[string]string{"key": "SEEN", "value": "canary line 1\r\nline 2", "description": "<i>what for"})
		seen(s)
		if !strings.Contains(s.Body.String(), "&lt;i&gt;what for") {
			t.Fatalf("%s: %d %s", kind, s.Code, s.Body)
		}
		edit := b.get(variables + "/edit?" + url.Values{"key": {"SEEN"}, "scope": {"*"}}.Encode())
		if !edit.says("canary line 1\nline 2") {
			t.Errorf("%s: who manages a variable does not see it: %s", kind, edit.Body)
		}
		if s := b.submit(edit, variables+"/update", map[string]string{"value": "short", "visibility": "masked"}); s.Code != http.StatusUnprocessableEntity || !s.says("Is invalid") {
			t.Errorf("%s: %d %s", kind, s.Code, s.Body)
		}
		if s := b.submit(edit, variables+"/update", map[string]string{"value": "canary-long", "visibility": "masked", "expand": "", "variable_type": "file"}); !s.says("masked</span>") || !s.says("not expanded") || !s.says("file</span>") {
			t.Errorf("%s: %s", kind, s.Body)
		}
		for s := b.get(list); s.form(variables+"/delete") != nil; {
			s = b.submit(s, variables+"/delete", nil)
			seen(s)
		}
		if !b.get(list).says("There is no variable yet.") {
			t.Errorf("%s: something is left", kind)
		}
	}
}

func TestSettingsOfPipelinesAreForThoseWhoManageThem(t *testing.T) {
	t.Parallel()
	d, owner, places := ciDoors(t)
	owner.submit(owner.get(ofProject), ofProject+"/variables", map[string]string{"key": "K", "value": "canary"})
	owner.submit(owner.get(ofProject), ofProject+"/runners", map[string]string{"description": "theirs", "run_untagged": "1"})
	id, err := postgres.Value[int64](t.Context(), d.DB, `select max(id) from runners`)
	if err != nil {
		t.Fatal(err)
	}
	one := "/" + strconv.FormatInt(id, 10)
	maintainer, _ := d.signedIn(t, access.Maintainer, d.hidden)
	developer, _ := d.signedIn(t, access.Developer, d.hidden)
	elsewhere := d.withPassword(t)
	projecttest.Join(t, d.DB, d.other, elsewhere, access.Owner)
	outsider := d.browser(t)
	outsider.signIn(elsewhere.Username, goodPassword)
	for kind, at := range places {
		paths := []string{at[1] + one, at[2] + "/edit?key=K&scope=*"}
		if at[0] != "" {
			paths = append(paths, at[0])
		} else {
			paths = append(paths, at[1], at[2])
		}
		posts := []string{at[1], at[1] + one, at[1] + one + "/pause", at[1] + one + "/resume", at[1] + one + "/reset", at[1] + one + "/delete", at[2], at[2] + "/update", at[2] + "/delete"}
		for name, b := range map[string]*browser{"a developer": developer, "an outsider": outsider, "a maintainer": maintainer} {
			if name == "a maintainer" && kind == "project" {
				continue
			}
			for _, path := range paths {
				if w := b.send("GET", path, nil); w.Code != http.StatusNotFound || strings.Contains(w.Body.String(), "canary") {
					t.Errorf("%s, %s: %d", name, path, w.Code)
				}
			}
			form := b.get("/").form("/users/sign_out").values
			form.Set("key", "K")
			form.Set("scope", "*")
			for _, path := range posts {
				if w := b.send("POST", path, form); w.Code != http.StatusNotFound {
					t.Errorf("%s sends %s: %d", name, path, w.Code)
				}
			}
		}
		for _, path := range posts {
			if w := owner.send("POST", path, url.Values{"key": {"K"}, "scope": {"*"}}); w.Code != http.StatusForbidden {
				t.Errorf("%s without the value of its session: %d", path, w.Code)
			}
		}
		if w := d.browser(t).send("GET", paths[0], nil); w.Code != http.StatusSeeOther {
			t.Errorf("a stranger at %s: %d", paths[0], w.Code)
		}
	}
	// Maintainers manage the runners of a project, and only owners make them.
	s := maintainer.get(ofProject)
	if s.Code != http.StatusOK || s.form(ofProject+"/runners") != nil || s.form(ofProject+"/runners"+one+"/pause") == nil || s.form(ofProject+"/variables") == nil {
		t.Errorf("%d %s", s.Code, s.Body)
	}
	form := s.form("/users/sign_out").values
	form.Set("description", "mine")
	if w := maintainer.send("POST", ofProject+"/runners", form); w.Code != http.StatusForbidden {
		t.Errorf("a maintainer makes a runner: %d", w.Code)
	}
	// A runner of another place is not there.
	other := d.api(t, "POST", "/user/runners", map[string]any{"runner_type": "instance_type"}, "id")
	for _, below := range []string{"/pause", "/delete", "/reset", ""} {
		if w := maintainer.send("POST", ofProject+"/runners/"+other+below, form); w.Code != http.StatusNotFound {
			t.Errorf("a maintainer changes a runner of the instance: %d", w.Code)
		}
	}
	for _, path := range []string{"/groups/house/-/settings/ci_cd/nothing", "/groups/House/-/settings/ci_cd", "/groups/nobody/-/settings/ci_cd", "/groups/house/-/settings/ci_cdx"} {
		if w := owner.send("GET", path, nil); w.Code != http.StatusNotFound {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
}
