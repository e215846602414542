package app

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/artifact"
	"stithy/internal/kit/access"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
	"stithy/internal/user"
)

// job makes a job of a project with a status and a log.
func (d *doors) job(t testing.TB, p *project.Project, by *user.User, status, log string) int64 {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	now := d.Clock.Now()
	var id int64
	err := d.DB.InTx(ctx, func(tx pgx.Tx) (err error) {
		id, err = postgres.Value[int64](ctx, tx, `
with p as (
	insert into pipelines (project_id, iid, sha, before_sha, ref, tag, status, source, user_id, created_at, updated_at)
	values ($1, 1 + (select count(*) from pipelines where project_id = $1), repeat('a', 40), '', 'work', false, $4, 'push', $2, $3, $3) returning id
), s as (insert into job_specs (pipeline_id, document) select id, '{"job":{"name":"build"}}' from p returning id)
insert into jobs (project_id, pipeline_id, spec_id, user_id, bridge, name, stage, stage_index, status, run_when, allow_failure, tags, interruptible,
	created_at, queued_at, started_at, finished_at, updated_at)
select $1, p.id, s.id, $2, false, 'build', 'test', 0, $4, 'on_success', false, '{}', false, $3, $3, $3, case when $4 <> 'running' then $3 end, $3 from p, s returning id`,
			p.ID, by.ID, now, status)
		if err != nil || log == "" {
			return err
		}
		var b pgx.Batch
		if err := d.Artifacts.BeginLog(&b, p.ID, id); err != nil {
			return err
		}
		return tx.SendBatch(ctx, &b).Close()
	})
	if err == nil && log != "" {
		_, err = d.Artifacts.AppendLog(ctx, id, 0, []byte(log))
	}
	if err == nil && status != "running" {
		err = d.DB.InTx(ctx, func(tx pgx.Tx) error { return d.Artifacts.CloseLog(ctx, tx, id) })
	}
	if err == nil {
		err = d.Artifacts.ArchiveLog(ctx, id)
	}
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func jobPage(p *project.Project, id int64, below string) string {
	return "/" + p.FullPath() + "/-/jobs/" + strconv.FormatInt(id, 10) + below
}

const evilLog = "\x1b[0Ksection_start:1:<b>\r\x1b[0K\"><script>alert(1)</script>\n" +
	"section_start:1560896352:prepare[collapsed=true]\r\x1b[0K\x1b[31;1mPreparing <img src=x onerror=alert(1)>\x1b[0m\n" +
	"javascript:alert(1) https://a.example/?x=<y>&z=\"q\" \x1b]8;;javascript:alert(1)\x1b\\link\x1b]8;;\x1b\\\nsection_end:1560896353:prepare\r\x1b[0Kdone\n"

func TestCI14_TheLogOfAJobIsTextOnItsPage(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	b, u := d.signedIn(t, access.Developer, d.hidden)
	id := d.job(t, d.hidden, u, "success", evilLog)
	for _, path := range []string{jobPage(d.hidden, id, ""), jobPage(d.hidden, id, "?q=script&line=2"), jobPage(d.hidden, id, "/log?from=1")} {
		w := b.send("GET", path, nil)
		text := w.Body.String()
		for _, evil := range []string{"<script>", "<img", `href="javascript:`, "\x1b", "\r", " style="} {
			if w.Code != http.StatusOK || strings.Contains(text, evil) {
				t.Errorf("%s: %d, has %q", path, w.Code, evil)
			}
		}
		for _, want := range []string{`<div data-s="2"><a href="#L2">2</a><details><summary id="L2">`, `<span class="c1 bold">Preparing &lt;img`, `href="https://a.example/?x=" rel="nofollow`, "00:01"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: nothing of %q in\n%s", path, want, text)
			}
		}
	}
	raw := b.send("GET", jobPage(d.hidden, id, "/raw"), nil)
	if raw.Body.String() != evilLog || raw.Header().Get("Content-Type") != "text/plain; charset=utf-8" || raw.Header().Get("X-Content-Type-Options") != "nosniff" ||
		!strings.HasPrefix(raw.Header().Get("Content-Disposition"), "inline") || !strings.HasPrefix(raw.Header().Get("Content-Security-Policy"), "default-src 'none'") {
		t.Errorf("%d %v", raw.Code, raw.Header())
	}
	if w := b.send("GET", jobPage(d.hidden, id, "/raw?download=1"), nil); w.Header().Get("Content-Disposition") != fmt.Sprintf("attachment; filename=job-%d.log", id) {
		t.Errorf("%v", w.Header())
	}
}

var lineOnPage = regexp.MustCompile(` id="L(\d+)"`)

func linesOn(s *screen) (first, last string) {
	all := lineOnPage.FindAllStringSubmatch(s.Body.String(), -1)
	if len(all) == 0 {
		return "", ""
	}
	return all[0][1], all[len(all)-1][1]
}

func TestALongLogIsShownInParts(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	b, u := d.signedIn(t, access.Developer, d.hidden)
	var log strings.Builder
	for n := 1; n <= 30_000; n++ {
		fmt.Fprintf(&log, "line %d says \x1b[32mok\x1b[0m\n", n)
	}
	id := d.job(t, d.hidden, u, "failed", log.String())
	for query, want := range map[string][2]string{
		"": {"29501", "30000"}, "?line=15000": {"14834", "15333"}, "?from=1": {"1", "500"}, "?until=29500": {"29001", "29500"}, "?from=501": {"501", "1000"},
		"?line=99999999": {"29834", "30000"}, "?line=x": {"29501", "30000"}, "?from=-1": {"29501", "30000"}, "?q=line+12345+": {"12179", "12678"},
	} {
		s := b.get(jobPage(d.hidden, id, query))
		if first, last := linesOn(s); s.Code != http.StatusOK || first != want[0] || last != want[1] {
			t.Errorf("%s: %d, lines %s to %s", query, s.Code, first, last)
		}
		if size := s.Body.Len(); size > 150<<10 {
			t.Errorf("%s has %d bytes", query, size)
		}
	}
	s := b.get(jobPage(d.hidden, id, "?line=15000"))
	for _, want := range []string{"?until=14833#L14833", "?from=15334", "?from=1", `Lines 14834 to 15333 of 30000`} {
		if !s.says(want) {
			t.Errorf("no way to %s", want)
		}
	}
	s = b.get(jobPage(d.hidden, id, "?q=SAYS+OK&after=100"))
	if !s.says("20 lines have “SAYS OK” in lines 101 to 120.") || !s.says("after=120") || !s.says("Next hits") {
		t.Errorf("%s", s.Body)
	}
	if s := b.get(jobPage(d.hidden, id, "?q=nowhere")); !s.says("No line has “nowhere” in lines 1 to 30000.") {
		t.Errorf("%s", s.Body)
	}
}

func TestTheLogOfARunningJobGoesOn(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	b, u := d.signedIn(t, access.Developer, d.hidden)
	first := "section_start:1:build\r\x1b[0KBuilding\none\npart"
	id := d.job(t, d.hidden, u, "running", first)
	s := b.get(jobPage(d.hidden, id, ""))
	if _, last := linesOn(s); last != "3" || !s.says(`data-next="3"`) || !s.says(fmt.Sprintf(`data-follow="%s"`, jobPage(d.hidden, id, "/log"))) {
		t.Errorf("%s", s.Body)
	}
	// What script does is said by the script, so that nothing else is said where there is none.
	if !says(s, `The job has not ended. <span id="follows" hidden>New lines come by themselves.</span>`+
		`<noscript>New lines do not come by themselves, for script is switched off here: <a `) {
		t.Errorf("%s", s.Body)
	}
	if csp := s.Header().Get("Content-Security-Policy"); !strings.Contains(csp, "script-src 'self'") {
		t.Error(csp)
	}
	if _, err := d.Artifacts.AppendLog(t.Context(), id, int64(len(first)), []byte("ly\nsection_end:4:build\r\x1b[0Ktwo\n")); err != nil {
		t.Fatal(err)
	}
	d.exec(t, `update jobs set started_at = $2 where id = $1`, id, d.Clock.Now().Add(-83*time.Second))
	w := b.send("GET", jobPage(d.hidden, id, "/log?from=3"), nil)
	if got := w.Header().Get("Job-Took"); got != "1 min 23 s so far" {
		t.Errorf("it took %q", got)
	}
	want := `<div data-s="1"><a href="?line=1#L1">1</a><details open><summary>build goes on</summary>` + "\n" +
		`<div id="L3"><a href="#L3" tabindex="-1">3</a>partly</div>` + "\n</details><small>00:03</small></div>\n" + `<div id="L4"><a href="#L4" tabindex="-1">4</a>two</div>` + "\n"
	if w.Body.String() != want || w.Header().Get("Log-Next") != "5" || w.Header().Get("Log-Ended") != "" {
		t.Errorf("%v\n%s", w.Header(), w.Body)
	}
	if w := b.send("GET", jobPage(d.hidden, id, "/log?from=5"), nil); w.Body.Len() != 0 || w.Header().Get("Log-Next") != "5" {
		t.Errorf("%v\n%s", w.Header(), w.Body)
	}
	for _, bad := range []string{"", "?from=0", "?from=x"} {
		if w := b.send("GET", jobPage(d.hidden, id, "/log"+bad), nil); w.Code != http.StatusBadRequest {
			t.Errorf("%s: %d", bad, w.Code)
		}
	}
	d.exec(t, `update jobs set status = 'success', finished_at = now() where id = $1`, id)
	if w := b.send("GET", jobPage(d.hidden, id, "/log?from=5"), nil); w.Header().Get("Log-Ended") != "1" {
		t.Errorf("%v", w.Header())
	}
}

func TestTheLogOfARunnerWithTimestampsIsShownWithoutThem(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	b, u := d.signedIn(t, access.Developer, d.hidden)
	const stamp = "2026-11-15T22:10:59.708409Z "
	first := stamp + "00O section_start:1:step_script\r\x1b[0K\n" + stamp + "00O+\x1b[0K\x1b[36;1mExecuting\x1b[0;m\n" + stamp + "01E  10%\r\n"
	id := d.job(t, d.hidden, u, "running", first)
	s := b.get(jobPage(d.hidden, id, ""))
	if _, last := linesOn(s); last != "2" || !s.says(`data-next="2"`) || !s.says(`<summary id="L1" data-t="22:10:59.708"><span class="c6 bold">Executing</span></summary>`) ||
		!s.says(`<div id="L2" data-t="22:10:59.708" class="err" title="stderr"><a href="#L2" tabindex="-1">2</a> 10%</div>`) || s.says("00O") || !s.says("Timestamps") {
		t.Errorf("%s", s.Body)
	}
	// The last line goes on, and comes again.
	more := stamp + "01E+100%\n" + stamp + "00O section_end:4:step_script\r\x1b[0K\n" + stamp + "00O+two\n"
	if _, err := d.Artifacts.AppendLog(t.Context(), id, int64(len(first)), []byte(more)); err != nil {
		t.Fatal(err)
	}
	w := b.send("GET", jobPage(d.hidden, id, "/log?from=2"), nil)
	want := `<div data-s="1"><a href="?line=1#L1">1</a><details open><summary>step_script goes on</summary>` + "\n" +
		`<div id="L2" data-t="22:10:59.708" class="err" title="stderr"><a href="#L2" tabindex="-1">2</a>100%</div>` + "\n</details><small>00:03</small></div>\n" +
		`<div id="L3" data-t="22:10:59.708"><a href="#L3" tabindex="-1">3</a>two</div>` + "\n"
	if w.Body.String() != want || w.Header().Get("Log-Next") != "3" {
		t.Errorf("%v\n%s", w.Header(), w.Body)
	}
	if raw := b.send("GET", jobPage(d.hidden, id, "/raw"), nil); raw.Body.String() != first+more {
		t.Errorf("raw is %q", raw.Body)
	}
	if s := b.get(jobPage(d.hidden, id, "?q=two")); !s.says("1 line has “two” in lines 1 to 3.") {
		t.Errorf("%s", s.Body)
	}
	if s := b.get(jobPage(d.hidden, id, "?q=22:10")); !s.says("No line has “22:10”") {
		t.Errorf("%s", s.Body)
	}
}

func TestAJobHasAPageForThoseWhoMaySeeIt(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	dev, u := d.signedIn(t, access.Developer, d.hidden, d.open)
	id, shown := d.job(t, d.hidden, u, "failed", "a secret line\n"), d.job(t, d.open, u, "success", "an open line\n")
	debug, talks := d.job(t, d.hidden, u, "success", "a token line\n"), d.job(t, d.open, u, "success", "a token line\n")
	d.exec(t, `update job_specs set document = '{"job":{"name":"build"},"variables":[{"key":"CI_DEBUG_TRACE","value":"true"}]}' where id in (select spec_id from jobs where id in ($1, $2))`, debug, talks)
	d.exec(t, `update projects set settings = settings || '{"public_jobs": false}' where id = $1`, d.hidden.ID)
	guest, _ := d.signedIn(t, access.Guest, d.hidden)
	reporter, _ := d.signedIn(t, access.Reporter, d.hidden)
	outsider, _ := d.signedIn(t, access.NoRole)
	for _, below := range []string{"", "/log?from=1", "/raw"} {
		for name, c := range map[string]struct {
			b    *browser
			path string
			code int
		}{
			"a developer":                     {dev, jobPage(d.hidden, id, below), http.StatusOK},
			"a reporter":                      {reporter, jobPage(d.hidden, id, below), http.StatusOK},
			"a guest":                         {guest, jobPage(d.hidden, id, below), http.StatusNotFound},
			"an outsider":                     {outsider, jobPage(d.hidden, id, below), http.StatusNotFound},
			"a stranger":                      {d.browser(t), jobPage(d.hidden, id, below), http.StatusSeeOther},
			"an outsider at an open one":      {outsider, jobPage(d.open, shown, below), http.StatusOK},
			"a stranger at an open one":       {d.browser(t), jobPage(d.open, shown, below), http.StatusOK},
			"a stranger at one that debugs":   {d.browser(t), jobPage(d.open, talks, below), map[bool]int{true: http.StatusOK, false: http.StatusForbidden}[below == ""]},
			"a job of another project":        {dev, jobPage(d.open, id, below), http.StatusNotFound},
			"no job":                          {dev, jobPage(d.hidden, 99999, below), http.StatusNotFound},
			"a developer, of one that debugs": {dev, jobPage(d.hidden, debug, below), http.StatusOK},
		} {
			w := c.b.send("GET", c.path, nil)
			if w.Code != c.code || (c.code != http.StatusOK && strings.Contains(w.Body.String(), "line")) {
				t.Errorf("%s, %s: %d", name, c.path, w.Code)
			}
		}
	}
	if w := d.browser(t).send("GET", jobPage(d.open, talks, ""), nil); strings.Contains(w.Body.String(), "token line") {
		t.Errorf("a stranger reads %s", w.Body)
	}
	if w := reporter.send("GET", jobPage(d.hidden, debug, ""), nil); w.Code != http.StatusOK || strings.Contains(w.Body.String(), "token line") || !strings.Contains(w.Body.String(), "Its log is for developers") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	for _, below := range []string{"/log?from=1", "/raw"} {
		if w := reporter.send("GET", jobPage(d.hidden, debug, below), nil); w.Code != http.StatusForbidden || strings.Contains(w.Body.String(), "token line") {
			t.Errorf("%s: %d", below, w.Code)
		}
	}
}

func TestAJobIsErasedOnItsPage(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	dev, u := d.signedIn(t, access.Developer, d.hidden)
	other, _ := d.signedIn(t, access.Developer, d.hidden)
	id := d.job(t, d.hidden, u, "success", "what it said\n")
	if _, err := d.Artifacts.Store(t.Context(), artifact.File{ProjectID: d.hidden.ID, JobID: id, Type: artifact.Archive, Format: artifact.Zip, Filename: "artifacts.zip"}, strings.NewReader("PK")); err != nil {
		t.Fatal(err)
	}
	erase, download := jobPage(d.hidden, id, "/erase"), jobPage(d.hidden, id, "/artifacts/download")
	s := dev.get(jobPage(d.hidden, id, ""))
	if w := dev.send("GET", download, nil); !s.says(download) || w.Body.String() != "PK" || w.Header().Get("Content-Disposition") != "attachment; filename=artifacts.zip" {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	d.exec(t, `update job_artifacts set expire_at = $2 where job_id = $1 and file_type = 'archive'`, id, d.Clock.Now().Add(150*time.Hour))
	if s := dev.get(jobPage(d.hidden, id, "")); !says(s, "<small>2 B, expires <time") {
		t.Errorf("%s", s.Body)
	}
	if s := other.get(jobPage(d.hidden, id, "")); s.form(erase) != nil {
		t.Error("somebody else is offered to erase it")
	}
	token := other.get(jobPage(d.hidden, id, "")).form("/users/sign_out").values
	if w := other.send("POST", erase, token); w.Code != http.StatusForbidden {
		t.Errorf("somebody else erases it: %d", w.Code)
	}
	if w := dev.send("POST", erase, url.Values{}); w.Code != http.StatusForbidden {
		t.Errorf("a form without its value: %d", w.Code)
	}
	if s := dev.submit(s, erase, nil); s.Code != http.StatusOK || !s.says("were erased") || s.says("what it said") || s.says("artifacts.zip") {
		t.Errorf("%d %s", s.Code, s.Body)
	}
	for _, path := range []string{jobPage(d.hidden, id, "/raw"), download} {
		if w := dev.send("GET", path, nil); w.Code != http.StatusNotFound {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
}

func TestAConfigurationIsCheckedOnItsPage(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	b, _ := d.signedIn(t, access.Developer, d.hidden)
	const path = "/house/hidden/-/ci/lint"
	page := b.get(path)
	s := b.submit(page, path, map[string]string{"content": "build:\r\n  script: make\r\n  tags: [<b>]\r\ntest:\r\n  needs: [build]\r\n  script: make test\r\n"})
	if s.Code != http.StatusOK || !s.says("The configuration is valid.") || !s.says("make test") || !strings.Contains(s.Body.String(), "&lt;b&gt;") || !s.says(`<th scope="row">test</th>`) {
		t.Errorf("%d %s", s.Code, s.Body)
	}
	s = b.submit(page, path, map[string]string{"content": "build:\n  script: make\n  colour: <script>alert(1)</script>\n"})
	if s.Code != http.StatusOK || !s.says("is not valid") || !s.says("Line 3") || strings.Contains(s.Body.String(), "<script>alert") {
		t.Errorf("%d %s", s.Code, s.Body)
	}
	// Where a problem is, is said once, and without a file that nobody knows.
	s = b.submit(page, path, map[string]string{"content": "build: [\n}\n"})
	if !says(s, `<li><b>Line 2, column 1</b><p>did not find expected node content while parsing a flow node</p>`) || s.says("<unknown>") {
		t.Errorf("%d %s", s.Code, s.Body)
	}
	f := page.form(path).values
	f.Del("content")
	f.Set("own", "1")
	if s := b.follow("POST", path, f); s.Code != http.StatusOK || !s.says("is not valid") || !s.says(".svc-ci.yml") {
		t.Errorf("%d %s", s.Code, s.Body)
	}
	for name, role := range map[string]access.Role{"a reporter": access.Reporter, "a guest": access.Guest, "an outsider": access.NoRole} {
		other, _ := d.signedIn(t, role, d.hidden)
		if w := other.send("GET", path, nil); w.Code != http.StatusNotFound {
			t.Errorf("%s: %d", name, w.Code)
		}
	}
}

// CI-04 and CI-11, on the page: a developer, who may not push to the protected
// branch that a configuration is checked for, learns nothing of what its jobs
// are given, and nobody reads a project that they do not see through an include.
func TestCI04_ThePageThatChecksAConfigurationTellsNothingOfVariablesOrFilesOfOthers(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	d.api(t, "POST", fmt.Sprintf("/projects/%d/protected_branches", d.hidden.ID), map[string]any{"name": "main"}, "")
	d.configure(t, d.other, "main", "A title", "canary-of-another: {script: [x]}\n")
	const path = "/house/hidden/-/ci/lint"
	b, _ := d.signedIn(t, access.Developer, d.hidden)
	maintainer, _ := d.signedIn(t, access.Maintainer, d.hidden)
	page, other := b.get(path), maintainer.get(path)
	const job = "\njob: {script: [x]}\n"
	for _, of := range []string{fmt.Sprintf("/projects/%d/variables", d.hidden.ID), fmt.Sprintf("/groups/%d/variables", d.house.ID), "/admin/ci/variables"} {
		said, seen := map[string]string{}, map[string]string{}
		for n, value := range []string{"AAAAAAAAAAAA", "BBBBBBBBBBBB"} {
			variable := map[string]any{"key": "CANARY", "value": value, "protected": true, "masked": true}
			if n == 0 {
				d.api(t, "POST", of, variable, "")
			} else {
				d.api(t, "PUT", of+"/CANARY", variable, "")
			}
			for _, content := range []string{
				"include: {local: $CANARY.yml}" + job,
				"a: {script: [x], rules: [{if: '$CANARY =~ /^A/'}]}" + job,
				"workflow: {rules: [{if: '$CANARY =~ /^A/'}]}" + job,
				"a: {script: [x], environment: of/$CANARY}" + job,
			} {
				text := b.submit(page, path, map[string]string{"content": content}).Body.String()
				if strings.Contains(text, value) || n > 0 && said[content] != text {
					t.Errorf("a variable of %s is told by %q:\n%s", of, content, text)
				}
				said[content] = text
				seen[content+value] = maintainer.submit(other, path, map[string]string{"content": content}).Body.String()
			}
		}
		// Who may run it there sees what would run, so the question is one that has an answer.
		rules := "a: {script: [x], rules: [{if: '$CANARY =~ /^A/'}]}" + job
		if seen[rules+"AAAAAAAAAAAA"] == seen[rules+"BBBBBBBBBBBB"] {
			t.Errorf("a maintainer is not given the variable of %s", of)
		}
		d.api(t, "DELETE", of+"/CANARY", nil, "")
	}
	for _, include := range []string{"{project: elsewhere/other, file: .svc-ci.yml}", "{component: forge.example/elsewhere/other/a@main}"} {
		hidden := b.submit(page, path, map[string]string{"content": "include: " + include + job}).Body.String()
		missing := b.submit(page, path, map[string]string{"content": "include: " + strings.ReplaceAll(include, "other", "never") + job}).Body.String()
		if strings.Contains(hidden, "canary-of-another") || strings.ReplaceAll(hidden, "other", "never") != strings.ReplaceAll(missing, "other", "never") {
			t.Errorf("%s:\n%s\n%s", include, hidden, missing)
		}
	}
}
