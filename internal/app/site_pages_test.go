package app

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"stithy/internal/kit/access"
	"stithy/internal/project"
)

func TestASiteAndItsDomainsHavePages(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	b, _ := d.signedIn(t, access.Maintainer, d.hidden)
	const site, domain = "/house/hidden/-/pages", "/house/hidden/-/pages/domains/www.example.org"
	s := b.get(site)
	for _, want := range []string{"Not published", "Nothing is published yet.", "https://house.pages.test/hidden", "Send everybody to HTTPS"} {
		if s.Code != http.StatusOK || !s.says(want) {
			t.Fatalf("%d: nothing of %q in %s", s.Code, want, s.Body)
		}
	}
	if s := b.submit(s, site+"/domains", map[string]string{"domain": "two words"}); s.Code != http.StatusUnprocessableEntity || !s.says("Is not a fully qualified domain name") {
		t.Errorf("%d %s", s.Code, s.Body)
	}
	s = b.submit(s, site+"/domains", map[string]string{"domain": "www.example.org"})
	for _, want := range []string{
		"Domain added.", "Not verified", "_svc-pages-verification-code.www.example.org", "svc-pages-verification-code=", "house.pages.test.", "CNAME", "Not checked yet.",
		"none, HTTP only",
	} {
		if !s.says(want) {
			t.Errorf("%d: nothing of %q in %s", s.Code, want, s.Body)
		}
	}
	if s := b.submit(s, domain+"/verify", nil); !s.says("The record is being looked for.") {
		t.Errorf("%d %s", s.Code, s.Body)
	}
	if s := b.submit(s, domain, map[string]string{"certificate": "no pem", "key": "none"}); s.Code != http.StatusUnprocessableEntity || !s.says("Must be a valid PEM certificate") {
		t.Errorf("%d %s", s.Code, s.Body)
	}
	d.exec(t, `update pages_domains set checked_at = now(), check_error = 'there is no <b>TXT</b> record', remove_at = now() + interval '6 days'`)
	if s := b.get(site); !s.says("Verify www.example.org") || !s.says("there is no <b>TXT</b> record") || !s.says("if nothing happens") {
		t.Errorf("%d %s", s.Code, s.Body)
	}
	if s := b.submit(b.get(site), site, map[string]string{"unique_domain": "1"}); !s.says("Saved.") || !s.says("https://hidden-") {
		t.Errorf("%d %s", s.Code, s.Body)
	}

	d.exec(t, `insert into pages_deployments (project_id, job_id, path_prefix, root_directory, state, error, blob_key, active, files, size, created_at, updated_at) values
		($1, 11, '', 'public', 'ready', '', 'pages/a', false, 1, 10, now(), now()), ($1, 12, '', 'public', 'ready', '', 'pages/b', true, 214, 3251404, now(), now()),
		($1, 13, '', 'public', 'failed', 'the job left <no> archive', 'pages/c', false, 0, 0, now(), now())`, d.hidden.ID)
	s = b.get(site)
	for _, want := range []string{"Published", "job #12", "214 files, 3.1 MB", "the job left <no> archive", "Open the site", "Show this"} {
		if !s.says(want) {
			t.Errorf("%d: nothing of %q in %s", s.Code, want, s.Body)
		}
	}
	ids := d.ids(t, `select id from pages_deployments order by job_id`)
	one := func(n int, what string) string { return fmt.Sprintf("%s/deployments/%d/%s", site, ids[n], what) }
	if s.form(one(1, "activate")) != nil || s.form(one(2, "activate")) != nil {
		t.Error("what is shown, or failed, can be shown")
	}
	if s = b.submit(s, one(0, "activate"), nil); !s.says("Readers are shown what job #11 published") || s.form(one(0, "activate")) != nil || s.form(one(1, "activate")) == nil {
		t.Errorf("%d %s", s.Code, s.Body)
	}
	if s = b.submit(s, one(1, "delete"), nil); !s.says("Deployment deleted.") || strings.Contains(s.Body.String(), "job #12") {
		t.Errorf("%d %s", s.Code, s.Body)
	}
	if s := b.submit(b.get(site), domain+"/delete", nil); !s.says("Domain www.example.org removed.") {
		t.Errorf("%d %s", s.Code, s.Body)
	}
	if s := b.get(domain); s.Code != http.StatusNotFound {
		t.Errorf("%d", s.Code)
	}

	developer, _ := d.signedIn(t, access.Developer, d.hidden)
	for _, path := range []string{site, domain} {
		if s := developer.get(path); s.Code != http.StatusNotFound {
			t.Errorf("a developer at %s: %d", path, s.Code)
		}
	}
	if w := b.send("POST", one(0, "delete"), nil); w.Code < 400 {
		t.Errorf("a form without its CSRF value is taken: %d", w.Code)
	}
	d.exec(t, `update projects set features = jsonb_set(features, '{pages}', to_jsonb($2::text)) where id = $1`, d.hidden.ID, string(project.Off))
	if s := b.get(site); s.Code != http.StatusOK || !s.says("Pages is off in this project.") {
		t.Errorf("%d %s", s.Code, s.Body)
	}
}
