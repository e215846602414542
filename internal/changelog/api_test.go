package changelog_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"stithy/internal/changelog"
	"stithy/internal/core/coretest"
	"stithy/internal/gitstore"
	"stithy/internal/gitstore/gitstoretest"
	"stithy/internal/group"
	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
	"stithy/internal/project/projecttest"
	"stithy/internal/protection"
	"stithy/internal/repository"
	"stithy/internal/repository/repositorytest"
	"stithy/internal/setting"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
)

// fixture is an instance with a project that has a repository and a developer.
type fixture struct {
	*httpapitest.Client
	db       *postgres.DB
	store    *gitstore.Store
	repo     *gitstore.Repo
	settings *setting.Service
	home     *group.Group
	project  *project.Project
	dev      *user.User
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	c := coretest.New(t, coretest.Clock(func() time.Time { return time.Date(2024, 2, 1, 12, 0, 0, 0, time.UTC) }))
	w := &fixture{db: c.DB, store: repositorytest.Store(t), settings: c.Settings}
	var protected struct{ protection.Repositories }
	rules := protection.New(protection.Deps{
		DB: c.DB, Bus: c.Bus, Settings: c.Settings, Projects: c.Projects, Clock: c.Clock, Repositories: &protected,
	})
	repositories := repository.New(repository.Deps{
		DB: c.DB, Bus: c.Bus, Queue: c.Queue, Settings: c.Settings, Users: c.Users, Tokens: c.Tokens, Projects: c.Projects, Box: c.Box,
		Outbound: c.Outbound, Store: w.store, Storages: []string{"default"}, Clock: c.Clock, Log: c.Log, ExternalURL: c.ExternalURL.String(),
		Names: c.Instance.Names, Protection: rules, LargeFiles: repositorytest.NoLargeFiles{},
	})
	protected.Repositories = repositories
	room := changelog.New(changelog.Deps{
		DB: c.DB, Settings: c.Settings, Users: c.Users, Groups: c.Groups, Projects: c.Projects, Protection: rules, Repositories: repositories,
		Clock: c.Clock, Names: c.Instance.Names,
	})
	w.Client = httpapitest.Serve(t, room.Endpoints()...)
	w.home = grouptest.New(t, w.db, grouptest.Named("group"), grouptest.Visible(access.Public))
	w.project = projecttest.New(t, w.db, w.home.ID, projecttest.Named("app"), projecttest.Visible(access.Public), projecttest.With("default_branch", "main"))
	w.repo = repositorytest.New(t, w.db, w.store, w.project, nil)
	if _, err := w.db.Exec(t.Context(), `update repositories set empty = false where project_id = $1`, w.project.ID); err != nil {
		t.Fatal(err)
	}
	w.dev = usertest.New(t, w.db, usertest.Named("dev"))
	projecttest.Join(t, w.db, w.project, w.dev, access.Maintainer)
	return w
}

func (w *fixture) at(query string) string {
	return "/projects/" + strconv.FormatInt(w.project.ID, 10) + "/repository/changelog" + query
}

func (w *fixture) as(u *user.User) *httpapitest.Client { return w.AsAccount(*u.Person(), u) }

func (w *fixture) notes(t *testing.T, query string) string {
	t.Helper()
	return httpapitest.JSON[struct{ Notes string }](t, w.Do(t, "GET", w.at(query), nil).WantStatus(t, http.StatusOK)).Notes
}

const config = "categories:\n  feature: Features\n"

func (w *fixture) seed(t *testing.T) []gitstore.OID {
	t.Helper()
	return gitstoretest.Seed(t, w.store, w.repo,
		gitstoretest.Commit{Message: "start\n\nChangelog: feature", Files: map[string]string{".svc/changelog_config.yml": config}, Tag: "v1.1.0"},
		gitstoretest.Commit{Message: "First title\n\nChangelog: feature", From: 1, Files: map[string]string{"a": "1"}, Author: "Eve <eve@example.com>"},
		gitstoretest.Commit{Message: "untold", From: 2, Files: map[string]string{"a": "2"}, Tag: "v1.2.0-rc1"},
		gitstoretest.Commit{Message: "Second title\n\nbody\n\nChangelog: feature", From: 3, Files: map[string]string{"a": "3"}},
		gitstoretest.Commit{Message: "Undone\n\nChangelog: bug", From: 4, Files: map[string]string{"b": "1"}},
	)
}

func TestASectionTellsWhatCommitsSayOfThemselves(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ids := w.seed(t)
	tree := gitstoretest.Git(t, w.store, w.repo, "", "rev-parse", "main^{tree}")
	revert := gitstoretest.Git(t, w.store, w.repo, "Revert\n\nThis reverts commit "+string(ids[4])+".\n", "commit-tree", "-p", string(ids[4]), tree)
	gitstoretest.Git(t, w.store, w.repo, "", "update-ref", "refs/heads/main", revert)
	want := "## 1.2.0 (2024-02-01)\n\n### Features (2 changes)\n\n- [Second title](group/app@" + string(ids[3]) + ")\n- [First title](group/app@" + string(ids[1]) + ")\n\n"
	if got := w.notes(t, "?version=1.2.0"); got != want {
		t.Errorf("got %s", got)
	}
	for query, parts := range map[string][2]string{
		"?version=1.2.0&to=" + string(ids[4]):                             {"### bug (1 change)", "zzz"},
		"?version=1.2.0&from=" + string(ids[1]):                           {"Second", "First"},
		"?version=1.2.0&date=2021-03-04T05:06:07Z":                        {"(2021-03-04)", "2024"},
		"?version=1.2.0&trailer=Other":                                    {"No changes.", "title"},
		"?version=1.2.0&trailer=changelog":                                {"No changes.", "title"},
		"?version=v1.2.0":                                                 {"## v1.2.0 (", "zzz"},
		"?version=1.2.0&config_file=nope.yml":                             {"### feature (2", "Features"},
		"?version=1.2.0&from=" + string(ids[0]) + "&to=" + string(ids[0]): {"No changes.", "title"},
	} {
		if got := w.notes(t, query); !strings.Contains(got, parts[0]) || strings.Contains(got, parts[1]) {
			t.Errorf("%s: got %s", query, got)
		}
	}
	refused := func(query string, status int, body string) {
		t.Helper()
		w.Do(t, "GET", w.at(query), nil).Want(t, status, body)
	}
	refused("", http.StatusBadRequest, `{"error":"version is missing"}`)
	refused("?version=abc", http.StatusBadRequest, `{"error":"version is invalid"}`)
	refused("?version=1.0.0", http.StatusUnprocessableEntity,
		`{"message":"Failed to generate the changelog: The commit start range is unspecified, and no previous tag could be found to use instead"}`)
	for _, query := range []string{"&from=nope", "&to=nope", "&from=--all"} {
		refused("?version=1.2.0"+query, http.StatusUnprocessableEntity,
			`{"message":"Failed to generate the changelog: Invalid or not found commit value in the given range"}`)
	}
}

func TestOnlyPeopleOfTheProjectOrOfAThankedGroupAreNamed(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.seed(t)
	eve := usertest.New(t, w.db, usertest.Named("eve"))
	if got := w.notes(t, "?version=1.2.0"); strings.Contains(got, "@eve") {
		t.Errorf("an address tells a stranger a name: %s", got)
	}
	if _, err := w.db.Exec(t.Context(), `insert into pushes (project_id, user_id, via, state, updates, created_at) values ($1, $2, 'http', 'done', '[]', now())`,
		w.project.ID, eve.ID); err != nil {
		t.Fatal(err)
	}
	if got := w.notes(t, "?version=1.2.0"); !strings.Contains(got, ") by @eve\n") {
		t.Errorf("who gave something is not thanked: %s", got)
	}
	projecttest.Join(t, w.db, w.project, eve, access.Developer)
	if got := w.notes(t, "?version=1.2.0"); strings.Contains(got, "@eve") {
		t.Errorf("a member is thanked: %s", got)
	}
}

func TestASectionIsCommittedToAFile(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ids := w.seed(t)
	dev := w.as(w.dev)
	dev.Do(t, "POST", w.at(""), map[string]any{"version": "1.2.0", "to": string(ids[3])}).Want(t, http.StatusOK, "200")
	git := func(args ...string) string { return gitstoretest.Git(t, w.store, w.repo, "", args...) }
	if got := git("log", "-1", "--format=%s|%an", "main"); got != "Add changelog for version 1.2.0|"+w.dev.Name {
		t.Errorf("got %s", got)
	}
	head := git("rev-parse", "main")
	dev.Do(t, "POST", w.at(""), map[string]any{"version": "1.2.0"}).Want(t, http.StatusOK, "200")
	if git("rev-parse", "main") != head {
		t.Error("a version is written twice")
	}
	dev.Do(t, "POST", w.at(""), map[string]any{"version": "1.3.0", "from": string(ids[3]), "message": "Log", "date": "2024-03-01"}).Want(t, http.StatusOK, "200")
	text := git("show", "main:CHANGELOG.md")
	if !strings.HasPrefix(text, "## 1.3.0 (2024-03-01)\n\n### bug (1 change)\n\n- [Undone](group/app@") ||
		!strings.Contains(text, ")\n\n## 1.2.0 (2024-02-01)\n\n### Features (2 changes)\n") {
		t.Errorf("got %s", text)
	}
	dev.Do(t, "POST", w.at(""), map[string]any{"version": "1.3.0", "from": string(ids[3]), "file": "docs/LOG.md", "branch": "main"}).Want(t, http.StatusOK, "200")
	if !strings.HasPrefix(git("show", "main:docs/LOG.md"), "## 1.3.0") {
		t.Error("the file was not written")
	}
	for name, value := range map[string]any{"branch": "nope", "file": "../x", "to": "nope"} {
		dev.Do(t, "POST", w.at(""), map[string]any{"version": "9.0.0", "from": string(ids[3]), name: value}).WantStatus(t, http.StatusUnprocessableEntity)
	}
	w.Do(t, "POST", w.at(""), map[string]any{"version": "2.0.0"}).WantStatus(t, http.StatusUnauthorized)
	w.as(usertest.New(t, w.db)).Do(t, "POST", w.at(""), map[string]any{"version": "2.0.0"}).WantStatus(t, http.StatusForbidden)
	if _, err := w.db.Exec(t.Context(), `delete from members where user_id = $1`, w.dev.ID); err != nil {
		t.Fatal(err)
	}
	projecttest.Join(t, w.db, w.project, w.dev, access.Reporter)
	dev.Do(t, "POST", w.at(""), map[string]any{"version": "2.0.0", "from": string(ids[3])}).WantStatus(t, http.StatusForbidden)
}

func TestAConfigurationThatCannotBeUsedSaysWhy(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"categories: []": `The \"categories\" configuration key must be a Hash`,
		"template: '{{'": "Failed to parse the template",
		"tag_regex: '('": "The regular expression to use for finding the previous tag for a version is invalid",
		"template: \"" + strings.Repeat("{% each categories %}{% each entries %}", 3) + strings.Repeat("{% end %}{% end %}", 3) + "\"": "",
	} {
		w := newFixture(t)
		gitstoretest.Seed(t, w.store, w.repo, gitstoretest.Commit{Message: "x\n\nChangelog: y", Files: map[string]string{".svc/changelog_config.yml": text}, Tag: "v1.0.0"})
		reply := w.Do(t, "GET", w.at("?version=1.2.0"), nil)
		if want != "" && (reply.Status != http.StatusUnprocessableEntity || !strings.Contains(reply.Body, "Failed to generate the changelog: "+want)) || reply.Status >= 500 {
			t.Errorf("%.40s: got %d %s", text, reply.Status, reply.Body)
		}
	}
}

func TestAChangelogIsNotCommittedWhereItsWriterMayNotPush(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ids := w.seed(t)
	worker := usertest.New(t, w.db)
	projecttest.Join(t, w.db, w.project, worker, access.Developer)
	if _, err := w.db.Exec(t.Context(), `with b as (insert into protected_branches (project_id, name, created_at, updated_at)
		values ($1, 'main', '2024-01-01', '2024-01-01') returning id)
		insert into protection_grants (protected_branch_id, act, access_level) select id, act, 40 from b, unnest(array['push', 'merge']) act`, w.project.ID); err != nil {
		t.Fatal(err)
	}
	before := gitstoretest.Git(t, w.store, w.repo, "", "rev-parse", "main")
	body := map[string]any{"version": "2.0.0", "from": string(ids[3])}
	w.as(worker).Do(t, "POST", w.at(""), body).Want(t, http.StatusForbidden,
		`{"message":"403 Forbidden - You are not allowed to commit a changelog on this branch"}`)
	if gitstoretest.Git(t, w.store, w.repo, "", "rev-parse", "main") != before {
		t.Error("it was committed")
	}
	w.as(w.dev).Do(t, "POST", w.at(""), body).Want(t, http.StatusOK, "200")
}

func TestARangeHasAtMostFifteenThousandCommitsUnlessTheFlagIsShut(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	var stream strings.Builder
	for i := range 15_002 {
		fmt.Fprintf(&stream, "commit refs/heads/main\nmark :%d\ncommitter A <a@example.com> %d +0000\ndata 1\nx", i+1, 1_700_000_000+i)
		if i > 0 {
			fmt.Fprintf(&stream, "\nfrom :%d", i)
		}
		stream.WriteString("\n\n")
	}
	stream.WriteString("reset refs/heads/first\nfrom :1\n\nreset refs/heads/second\nfrom :2\n\ndone\n")
	gitstoretest.Git(t, w.store, w.repo, stream.String(), "fast-import", "--quiet", "--done")
	if got := w.notes(t, "?version=1.0.0&from=second"); !strings.Contains(got, "No changes.") {
		t.Errorf("15,000 commits: %s", got)
	}
	over := func() *httpapitest.Reply { return w.Do(t, "GET", w.at("?version=1.0.0&from=first"), nil) }
	over().Want(t, http.StatusUnprocessableEntity, `{"message":"Failed to generate the changelog: The commits range exceeds 15000 elements."}`)
	if _, err := w.settings.SetFeature(t.Context(), access.Actor{}, "changelog_commits_limitation", setting.FeatureChange{Value: "false"}); err != nil {
		t.Fatal(err)
	}
	over().WantStatus(t, http.StatusOK)
}
