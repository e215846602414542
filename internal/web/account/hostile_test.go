package account

import (
	"testing"

	"github.com/a-h/templ"

	"stithy/internal/web/page"
	"stithy/internal/web/page/pagetest"
)

func TestWB01_NothingThatAPageOfAnAccountShowsActs(t *testing.T) {
	t.Parallel()
	pagetest.NothingActs(t, "sign in", signInPage)
	pagetest.NothingActs(t, "second factor", secondFactorPage)
	pagetest.NothingActs(t, "one form", oneFormPage)
	pagetest.NothingActs(t, "password", func(f *page.Form) templ.Component { return passwordPage(f.Submit, f) })
	pagetest.NothingActs(t, "profile", profilePage)
	pagetest.NothingActs(t, "tokens", tokensPage)
	pagetest.NothingActs(t, "keys", keysPage)
	pagetest.NothingActs(t, "sessions", sessionsPage)
	pagetest.NothingActs(t, "emails", emailsPage)
	pagetest.NothingActs(t, "notifications", notificationsPage)
	pagetest.NothingActs(t, "notifications of a place", placePage)
	pagetest.NothingActs(t, "factors", factorsPage)
	pagetest.NothingActs(t, "invitations", func(rows []invitationRow) templ.Component { return invitationsPage(rows, rows[0].Path, "/a") })
	pagetest.NothingActs(t, "applications", applicationsPage)
	pagetest.NothingActs(t, "new application", newApplication)
	pagetest.NothingActs(t, "application", applicationPage)
	pagetest.NothingActs(t, "buttons of an application", applicationActions)
	pagetest.NothingActs(t, "form of an application", applicationFormPage)
	pagetest.NothingActs(t, "consent", consentPage)
	pagetest.NothingActs(t, "on the way to an application", continuePage)
}
