package admin

import (
	"testing"

	"stithy/internal/web/page/pagetest"
)

func TestNothingThatAPageOfAdministratorsShowsActs(t *testing.T) {
	t.Parallel()
	pagetest.NothingActs(t, "users", usersPage)
}
