package admin

import (
	"testing"

	"stithy/internal/web/page/pagetest"
)

func TestWB01_NothingThatAPageOfAdministratorsShowsActs(t *testing.T) {
	t.Parallel()
	pagetest.NothingActs(t, "users", usersPage)
}
