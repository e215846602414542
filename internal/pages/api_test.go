package pages_test

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/pages"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
	"stithy/internal/setting"
)

func TestADomainIsAddedShownChangedAndRemoved(t *testing.T) {
	t.Parallel()
	w := newFixture(t, onTest)
	m := w.as(access.Maintainer)
	certificate, key := pages.SelfSigned(t, "site.example.org")
	list := at(w.project, "/domains")
	one := list + "/site.example.org"

	m.Do(t, "POST", list, object{"domain": "site.example.org"}).Want(t, http.StatusCreated,
		`{"domain":"site.example.org","url":"http://site.example.org","auto_ssl_enabled":false}`)
	m.Do(t, "GET", one, nil).Want(t, http.StatusOK, `{"domain":"site.example.org","url":"http://site.example.org","auto_ssl_enabled":false}`)
	m.Do(t, "GET", list+"/Site.example.org", nil).Want(t, http.StatusNotFound, `{"message":"404 PagesDomain Not Found"}`)

	got := httpapitest.JSON[domain](t, m.Do(t, "PUT", one, object{"certificate": certificate, "key": key}).WantStatus(t, http.StatusOK))
	if got.URL != "https://site.example.org" || got.Certificate == nil || got.Certificate.Subject != "/CN=site.example.org" || got.Certificate.Expired ||
		got.Certificate.Certificate != certificate || !strings.Contains(got.Certificate.CertificateText, "DNS:site.example.org") || got.Code != "" {
		t.Errorf("%+v", got)
	}
	all := httpapitest.JSON[[]domain](t, w.asPerson(w.root).Do(t, "GET", "/pages/domains", nil).WantStatus(t, http.StatusOK))
	if len(all) != 1 || all[0].ProjectID != w.project.ID || all[0].Certificate.Certificate != "" || !all[0].Certificate.Expiration.Equal(time.Date(2024, 8, 1, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("%+v", all)
	}
	w.turn(100 * 24 * time.Hour)
	if got := w.shown(t, w.project, "site.example.org"); !got.Certificate.Expired {
		t.Error("a certificate does not expire")
	}

	m.Do(t, "PUT", one, object{"auto_ssl_enabled": true}).WantStatus(t, http.StatusOK)
	m.Do(t, "PUT", one, object{"certificate": "", "key": ""}).Want(t, http.StatusOK,
		`{"domain":"site.example.org","url":"http://site.example.org","auto_ssl_enabled":false}`)
	m.Do(t, "DELETE", one, nil).WantStatus(t, http.StatusNoContent)
	m.Do(t, "GET", one, nil).WantStatus(t, http.StatusNotFound)
	m.Do(t, "DELETE", one, nil).WantStatus(t, http.StatusNotFound)
	want := []pages.Action{pages.DomainCreated, pages.DomainUpdated, pages.DomainUpdated, pages.DomainUpdated, pages.DomainDeleted}
	if got := w.heard(); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
}

func TestWhatIsWrongWithADomainIsSaid(t *testing.T) {
	t.Parallel()
	w := newFixture(t, onTest)
	m, list := w.as(access.Maintainer), at(w.project, "/domains")
	certificate, key := pages.SelfSigned(t, "a.example.org")
	w.claim(t, w.other, "taken.example.org")
	for _, row := range []struct {
		body object
		says string
	}{
		{object{}, `{"error":"domain is missing"}`},
		{object{"domain": "a.example.org", "certificate": certificate}, `{"error":"certificate, key provide all or none of parameters"}`},
		{object{"domain": "a.example.org", "key": key}, `{"error":"certificate, key provide all or none of parameters"}`},
		{object{"domain": "a.example.org", "auto_ssl_enabled": ""}, `{"error":"auto_ssl_enabled is empty"}`},
		{object{"domain": "a.example.org", "auto_ssl_enabled": "maybe"}, `{"error":"auto_ssl_enabled is invalid"}`},
		{object{"domain": "two words"}, `{"message":{"domain":["is not a fully qualified domain name"]}}`},
		{object{"domain": "TAKEN.example.org"}, `{"message":{"domain":["has already been taken"]}}`},
		{object{"domain": "forge.example"}, `{"message":{"domain":["is the address of this instance"]}}`},
		{object{"domain": "x.Pages.test"}, `{"message":{"domain":["Subdomains of the Pages root domain pages.test are reserved and cannot be used as custom Pages domains."]}}`},
		{object{"domain": "a.example.org", "certificate": "no pem", "key": key}, `{"message":{"certificate":["must be a valid PEM certificate"]}}`},
		{object{"domain": "a.example.org", "certificate": certificate, "key": "no pem"}, `{"message":{"key":["must be a valid PEM private key"]}}`},
	} {
		m.Do(t, "POST", list, row.body).Want(t, http.StatusBadRequest, row.says)
	}
	if got := httpapitest.JSON[[]domain](t, m.Do(t, "GET", list, nil)); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

func TestACertificateWithoutAKeyIsOneForTheStoredKey(t *testing.T) {
	t.Parallel()
	w := newFixture(t, onTest)
	m := w.as(access.Maintainer)
	certificate, key := pages.SelfSigned(t, "site.example.org")
	foreign, foreignKey := pages.SelfSigned(t, "site.example.org")
	m.Do(t, "POST", at(w.project, "/domains"), object{"domain": "site.example.org", "certificate": certificate, "key": key}).WantStatus(t, http.StatusCreated)
	one := at(w.project, "/domains/site.example.org")
	m.Do(t, "PUT", one, object{"certificate": certificate}).WantStatus(t, http.StatusOK)
	for _, body := range []object{{"certificate": foreign}, {"key": foreignKey}} {
		m.Do(t, "PUT", one, body).Want(t, http.StatusBadRequest, `{"message":{"key":["doesn't match the certificate"]}}`)
	}
	m.Do(t, "PUT", one, object{"certificate": "", "key": foreignKey}).WantStatus(t, http.StatusBadRequest)
	m.Do(t, "PUT", one, object{"certificate": foreign, "key": foreignKey}).WantStatus(t, http.StatusOK)
	if got := w.shown(t, w.project, "site.example.org"); got.Certificate.Certificate != foreign {
		t.Error("the certificate is not the new one")
	}
}

func TestPG06_AKeyIsSealedAndShownToNobody(t *testing.T) {
	t.Parallel()
	w := newFixture(t, onTest)
	certificate, key := pages.SelfSigned(t, "site.example.org")
	m := w.as(access.Owner)
	secret := strings.Split(key, "\n")[1]
	for _, answer := range []*httpapitest.Reply{
		m.Do(t, "POST", at(w.project, "/domains"), object{"domain": "site.example.org", "certificate": certificate, "key": key}),
		m.Do(t, "PUT", at(w.project, "/domains/site.example.org"), object{"certificate": certificate, "key": key}),
		m.Do(t, "GET", at(w.project, "/domains"), nil), w.asPerson(w.root).Do(t, "GET", "/pages/domains", nil),
	} {
		if strings.Contains(answer.Body, "PRIVATE KEY") || strings.Contains(answer.Body, secret) {
			t.Error("the key is in an answer")
		}
	}
	stored, err := postgres.Value[[]byte](t.Context(), w.core.DB, `select certificate_key from pages_domains`)
	if err != nil || bytes.Contains(stored, []byte("PRIVATE")) || len(stored) == 0 {
		t.Errorf("stored: %q %v", stored, err)
	}
	w.record("site.example.org.", w.shown(t, w.project, "site.example.org").Code)
	w.look(t)
	d, err := w.pages.Serve(t.Context(), "SITE.example.org")
	if err != nil || d.Key().Reveal() != key || *d.Certificate != certificate {
		t.Errorf("who serves the host gets %v", err)
	}
	// Moved into another claim, the key does not open.
	w.claim(t, w.other, "b.example.org")
	if _, err := w.core.DB.Exec(t.Context(), `update pages_domains b set certificate = a.certificate, certificate_key = a.certificate_key,
		certificate_expires_at = a.certificate_expires_at, enabled_until = a.enabled_until from pages_domains a
		where a.domain = 'site.example.org' and b.domain = 'b.example.org'`); err != nil {
		t.Fatal(err)
	}
	if _, err := w.pages.Serve(t.Context(), "b.example.org"); err == nil {
		t.Error("a key opens in another row")
	}
}

func TestWithoutPagesThereAreNoDomains(t *testing.T) {
	t.Parallel()
	w := newFixture(t, pages.Root{})
	const missing = `{"message":"404 Not Found"}`
	m := w.as(access.Owner)
	m.Do(t, "GET", at(w.project, "/domains"), nil).Want(t, http.StatusNotFound, missing)
	m.Do(t, "POST", at(w.project, "/domains"), object{"domain": "a.example.org"}).Want(t, http.StatusNotFound, missing)
	m.Do(t, "GET", at(w.project), nil).Want(t, http.StatusNotFound, missing)
	w.asPerson(w.root).Do(t, "GET", "/pages/domains", nil).Want(t, http.StatusNotFound, missing)
	w.Do(t, "GET", at(w.project, "/domains"), nil).WantStatus(t, http.StatusUnauthorized)
}

func TestOnlyMaintainersReachDomains(t *testing.T) {
	t.Parallel()
	w := newFixture(t, onTest)
	w.claim(t, w.project, "site.example.org")
	for _, role := range []access.Role{access.Guest, access.Reporter, access.Developer} {
		for _, call := range [][2]string{
			{"GET", "/domains"}, {"POST", "/domains"}, {"GET", "/domains/site.example.org"}, {"PUT", "/domains/site.example.org"}, {"DELETE", "/domains/site.example.org"},
			{"GET", ""}, {"PATCH", ""},
		} {
			w.as(role).Do(t, call[0], at(w.project, call[1]), nil).WantStatus(t, http.StatusForbidden)
		}
	}
	w.asPerson(w.stranger).Do(t, "GET", at(w.other, "/domains"), nil).Want(t, http.StatusNotFound, `{"message":"404 Project Not Found"}`)
	w.as(access.Owner).Do(t, "GET", "/pages/domains", nil).WantStatus(t, http.StatusForbidden)
	for _, call := range []string{"GET", "PUT", "DELETE"} {
		w.as(access.Owner).Do(t, call, at(w.other, "/domains/site.example.org"), nil).Want(t, http.StatusNotFound, `{"message":"404 PagesDomain Not Found"}`)
	}
}

func TestAProjectHasAsManyDomainsAsItMay(t *testing.T) {
	t.Parallel()
	w := newFixture(t, onTest)
	w.set(t, func(s *setting.Settings) { s.MaxPagesCustomDomainsPerProject = 1 })
	w.claim(t, w.project, "a.example.org")
	w.as(access.Owner).Do(t, "POST", at(w.project, "/domains"), object{"domain": "b.example.org"}).Want(t, http.StatusBadRequest,
		`{"message":{"base":["This project reached the limit of custom domains. (Max 1)"]}}`)
	w.claim(t, w.other, "b.example.org")
}

func TestASiteOverHTTPSAloneWantsCertificates(t *testing.T) {
	t.Parallel()
	w := newFixture(t, onTest)
	m := w.as(access.Maintainer)
	m.Do(t, "GET", at(w.project), nil).Want(t, http.StatusOK, `{"url":"https://house.pages.test/forge","is_unique_domain_enabled":false,"force_https":false,"deployments":[]}`)
	m.Do(t, "PATCH", at(w.project), object{"pages_https_only": true}).WantStatus(t, http.StatusOK)
	const says = `{"message":{"certificate":["must be present if HTTPS-only is enabled"],"key":["must be present if HTTPS-only is enabled"]}}`
	m.Do(t, "POST", at(w.project, "/domains"), object{"domain": "a.example.org"}).Want(t, http.StatusBadRequest, says)
	m.Do(t, "POST", at(w.project, "/domains"), object{"domain": "a.example.org", "auto_ssl_enabled": true}).WantStatus(t, http.StatusCreated)
	m.Do(t, "PUT", at(w.project, "/domains/a.example.org"), object{"auto_ssl_enabled": false}).Want(t, http.StatusBadRequest, says)
}

func TestAUniqueDomainStaysWithItsProject(t *testing.T) {
	t.Parallel()
	w := newFixture(t, onTest)
	m := w.as(access.Maintainer)
	type site struct {
		URL string `json:"url"`
	}
	set := func(on bool) string {
		return httpapitest.JSON[site](t, m.Do(t, "PATCH", at(w.project), object{"pages_unique_domain_enabled": on}).WantStatus(t, http.StatusOK)).URL
	}
	first := set(true)
	if !strings.HasPrefix(first, "https://forge-") || !strings.HasSuffix(first, ".pages.test") {
		t.Error(first)
	}
	if got := set(false); got != "https://house.pages.test/forge" {
		t.Error(got)
	}
	if got := set(true); got != first {
		t.Errorf("%s became %s", first, got)
	}
	if got := w.heard(); !slices.Equal(got, []pages.Action{pages.SettingsChanged, pages.SettingsChanged, pages.SettingsChanged}) {
		t.Error(got)
	}
	p := *w.project
	p.Features.Pages = project.Off
	if _, err := w.pages.Settings(t.Context(), &p); err == nil {
		t.Error("a closed site has settings")
	}
}
