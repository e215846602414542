package pages_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/access"
	"stithy/internal/pages"
	"stithy/internal/project"
	"stithy/internal/setting"
)

const (
	site = "site.example.org"
	own  = "_svc-pages-verification-code.site.example.org."
	day  = 24 * time.Hour
)

// set changes application settings.
func (w *fixture) set(t testing.TB, change func(*setting.Settings)) {
	t.Helper()
	if err := w.core.Settings.Update(t.Context(), access.Actor{}, change); err != nil {
		t.Fatal(err)
	}
}

func TestPG01_AClaimIsServedOnceItsRecordIsThere(t *testing.T) {
	t.Parallel()
	for name, record := range map[string]struct {
		at, text string
		served   bool
	}{
		"own name":           {own, "svc-pages-verification-code=CODE", true},
		"bare code":          {own, "CODE", true},
		"the host itself":    {site + ".", "svc-pages-verification-code=CODE", true},
		"none":               {"elsewhere.", "CODE", false},
		"another code":       {own, "svc-pages-verification-code=" + strings.Repeat("0", 32), false},
		"another project's":  {own, "OTHER", false},
		"code and more":      {own, "CODE2", false},
		"another name of it": {own, "other-pages-verification-code=CODE", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, onTest)
			claim, other := w.claim(t, w.project, site), w.claim(t, w.other, "other.example.org")
			if w.served(t, site) {
				t.Fatal("a claim is served before it is proven")
			}
			w.record(record.at, "v=spf1 -all", strings.NewReplacer("CODE", claim.Code, "OTHER", other.Code).Replace(record.text))
			w.look(t)
			if got := w.shown(t, w.project, site); got.Verified != record.served || w.served(t, site) != record.served || (got.EnabledUntil != nil) != record.served {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestAProvenDomainIsLookedAtAgainAndGoesWhenItsRecordGoes(t *testing.T) {
	t.Parallel()
	w := newFixture(t, onTest)
	claim := w.claim(t, w.project, site)
	w.record(own, claim.Code)
	w.look(t)
	w.record(own)
	w.turn(3 * day)
	w.look(t)
	if got := w.shown(t, w.project, site); !got.Verified {
		t.Error("it was looked for before it was due")
	}
	w.turn(day)
	w.look(t)
	if got := w.shown(t, w.project, site); got.Verified || !w.served(t, site) {
		t.Errorf("lost, but still enabled: %+v", got)
	}
	w.turn(3 * day)
	if w.served(t, site) {
		t.Error("served past its time")
	}
	w.look(t)
	if got := w.shown(t, w.project, site); got.EnabledUntil != nil {
		t.Errorf("%+v", got)
	}
	w.turn(6 * day)
	w.look(t)
	w.shown(t, w.project, site)
	w.turn(day)
	w.look(t)
	w.as(access.Owner).Do(t, "GET", at(w.project, "/domains/", site), nil).WantStatus(t, http.StatusNotFound)
	want := []pages.Action{pages.DomainCreated, pages.DomainVerified, pages.DomainDisabled, pages.DomainDeleted}
	if got := w.heard(); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
}

func TestAClaimThatNobodyProvesGoesAfterAWeek(t *testing.T) {
	t.Parallel()
	w := newFixture(t, onTest)
	w.claim(t, w.project, site)
	w.look(t)
	w.turn(7*day - time.Minute)
	w.look(t)
	w.shown(t, w.project, site)
	w.turn(time.Minute)
	w.look(t)
	w.as(access.Owner).Do(t, "GET", at(w.project, "/domains/", site), nil).WantStatus(t, http.StatusNotFound)
	w.claim(t, w.other, site) // it never was theirs, and does not rest
}

func TestWithoutVerificationAClaimIsServedAndNothingIsLookedFor(t *testing.T) {
	t.Parallel()
	w := newFixture(t, onTest)
	w.set(t, func(s *setting.Settings) { s.PagesDomainVerificationEnabled = false })
	w.claim(t, w.project, site)
	if !w.served(t, site) {
		t.Error("not served")
	}
	w.turn(30 * day)
	w.look(t)
	if err := w.pages.Verify(t.Context(), w.id(t, site)); err != nil || len(w.asked) > 0 || !w.served(t, site) {
		t.Errorf("%v %v", err, w.asked)
	}
}

func TestPG02_AHostThatWasGivenUpRestsAndNeedsANewProof(t *testing.T) {
	t.Parallel()
	w := newFixture(t, onTest)
	first := w.claim(t, w.project, site)
	w.record(own, first.Code)
	w.look(t)
	w.as(access.Owner).Do(t, "DELETE", at(w.project, "/domains/", site), nil).WantStatus(t, http.StatusNoContent)
	if w.served(t, site) {
		t.Error("served after it was given up")
	}
	refused := object{"domain": strings.ToUpper(site)}
	w.as(access.Owner).Do(t, "POST", at(w.other, "/domains"), refused).Want(t, http.StatusBadRequest,
		`{"message":{"domain":["was given up by another project and can be claimed from 2024-05-09 15:04 UTC on"]}}`)
	again := w.claim(t, w.project, site) // the project itself may
	if again.Code == first.Code {
		t.Error("a new claim has the old code")
	}
	w.look(t)
	if w.served(t, site) {
		t.Error("the old record proves a new claim")
	}
	w.as(access.Owner).Do(t, "DELETE", at(w.project, "/domains/", site), nil).WantStatus(t, http.StatusNoContent)
	w.turn(7 * day)
	w.look(t)
	other := w.claim(t, w.other, site)
	w.look(t)
	if w.served(t, site) || other.Code == first.Code {
		t.Error("the record of the former owner proves the claim of another")
	}
}

func TestPG02_TheHostsOfADeletedProjectRest(t *testing.T) {
	t.Parallel()
	w := newFixture(t, onTest)
	w.record(own, w.claim(t, w.project, site).Code)
	w.look(t)
	err := w.core.DB.InTx(t.Context(), func(tx pgx.Tx) error {
		if err := w.core.Bus.Publish(t.Context(), tx, project.Removing{ProjectID: w.project.ID}); err != nil {
			return err
		}
		_, err := tx.Exec(t.Context(), `delete from projects where id = $1`, w.project.ID)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if w.served(t, site) {
		t.Error("served without its project")
	}
	w.as(access.Owner).Do(t, "POST", at(w.other, "/domains"), object{"domain": site}).WantStatus(t, http.StatusBadRequest)
}

func TestADomainClaimedByTwoProjectsAtOnceIsOfOne(t *testing.T) {
	t.Parallel()
	w := newFixture(t, onTest)
	results := make(chan int, 2)
	for i, p := range []*project.Project{w.project, w.other} {
		name := []string{site, strings.ToUpper(site)}[i]
		go func() {
			results <- w.as(access.Owner).Do(t, "POST", at(p, "/domains"), object{"domain": name}).Status
		}()
	}
	codes := []int{<-results, <-results}
	slices.Sort(codes)
	if !slices.Equal(codes, []int{http.StatusCreated, http.StatusBadRequest}) {
		t.Error(codes)
	}
}

func TestPG06_OnlyTheHostItselfIsServed(t *testing.T) {
	t.Parallel()
	w := newFixture(t, onTest)
	w.record(own, w.claim(t, w.project, site).Code)
	w.look(t)
	for _, host := range []string{"", "www.site.example.org", "site.example.org.", "site.example.org:80", "site.example.org\x00", "example.org", "sIte.example.org/", "%"} {
		if w.served(t, host) {
			t.Errorf("%q is served", host)
		}
	}
}
