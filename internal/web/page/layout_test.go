package page

import (
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/a-h/templ"

	"stithy/internal/kit/access"
)

func TestTheBarSaysHowMuchWaits(t *testing.T) {
	t.Parallel()
	failed := errors.New("the database is away")
	for _, c := range []struct {
		n      int
		err    error
		status int
		want   string
	}{
		{0, nil, 200, ""}, {1, nil, 200, "1"}, {99, nil, 200, "99"}, {100, nil, 200, "99+"}, {7, nil, http.StatusNotFound, "7"},
		{0, failed, 200, ""}, {7, failed, 200, ""}, {7, nil, http.StatusInternalServerError, ""}, {7, nil, http.StatusServiceUnavailable, ""},
	} {
		x, w := sent(nil)
		x.log = slog.New(slog.DiscardHandler)
		x.Account, x.Actor = &Account{ID: 1, Username: "ada", Name: "Ada"}, access.Actor{Person: &access.Person{ID: 1}}
		asked := 0
		x.Join(Page{Route: "GET /waits", Nav: Nav{List: OwnList, Title: "Waits", Count: func(*Request) (int, error) { asked++; return c.n, c.err }}})
		if err := x.Show(c.status, Layout{Title: "A page"}, templ.NopComponent); err != nil || w.Code != c.status {
			t.Fatalf("%+v: %d, %v", c, w.Code, err)
		}
		label := `aria-label="Waits"`
		if c.want != "" {
			label = `aria-label="Waits, ` + c.want + ` to do"`
		}
		if !strings.Contains(w.Body.String(), label) || strings.Contains(w.Body.String(), "<b class=") != (c.want != "") {
			t.Errorf("%+v: %s", c, w.Body)
		}
		if want := map[bool]int{true: 1}[c.status < 500]; asked != want {
			t.Errorf("%+v: asked %d times", c, asked)
		}
	}
}

func TestTheMenuLeadsToWhatSomebodyHas(t *testing.T) {
	t.Parallel()
	x, w := sent(nil)
	x.Account, x.Actor = &Account{ID: 1, Username: "ada", Name: "Ada"}, access.Actor{Person: &access.Person{ID: 1}}
	x.Join(Page{Route: "GET /things", Nav: Nav{List: OwnMenu, Title: "Things"}}, Page{Route: "GET /hidden"})
	if err := x.Show(http.StatusOK, Layout{Title: "A page"}, templ.NopComponent); err != nil {
		t.Fatal(err)
	}
	if _, menu, _ := strings.Cut(w.Body.String(), `id="account-menu"`); !strings.Contains(menu, `<a href="/things">`) || strings.Contains(menu, "/hidden") {
		t.Errorf("%s", w.Body)
	}
}

func TestNothingIsCountedForStrangers(t *testing.T) {
	t.Parallel()
	x, w := sent(nil)
	x.Join(Page{Route: "GET /waits", Nav: Nav{List: OwnList, Title: "Waits", Count: func(*Request) (int, error) { panic("asked") }}})
	if err := x.Show(http.StatusOK, Layout{Title: "A page", Wide: true}, templ.NopComponent); err != nil || strings.Contains(w.Body.String(), "Waits") {
		t.Errorf("%v %s", err, w.Body)
	}
	if !strings.Contains(w.Body.String(), `<body class="wide">`) || !strings.Contains(w.Body.String(), `"frame wide"`) {
		t.Error("a wide page is not laid out as one")
	}
}
