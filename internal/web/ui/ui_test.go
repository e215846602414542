package ui_test

import (
	"strings"
	"testing"

	"github.com/a-h/templ"

	"stithy/internal/web/page/pagetest"
	"stithy/internal/web/ui"
)

func TestNothingThatAComponentShowsActs(t *testing.T) {
	t.Parallel()
	pagetest.NothingActs(t, "icon", func(s ui.Status) templ.Component { return ui.IconIn(s.Icon, s.Tone) })
	pagetest.NothingActs(t, "status", ui.StatusMark)
	pagetest.NothingActs(t, "badge", func(s ui.Status) templ.Component { return ui.Badge(s.Text, s.Tone) })
	pagetest.NothingActs(t, "badges", ui.Badges)
	pagetest.NothingActs(t, "avatar", ui.Avatar)
	pagetest.NothingActs(t, "notice", ui.Notice)
	pagetest.NothingActs(t, "said", ui.Said)
	pagetest.NothingActs(t, "panel", ui.Panel)
	pagetest.NothingActs(t, "titled panel", func(s string) templ.Component { return ui.TitledPanel(s, s, nil) })
	pagetest.NothingActs(t, "command", ui.Command)
	pagetest.NothingActs(t, "secret", func(s string) templ.Component { return ui.Secret(s, s) })
}

func TestAnAvatarHasLettersAndAColourThatFollowFromTheName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"Mira Solberg": "MS", "ada": "A", "Ada King of Lovelace": "AL", "": "?", "émile zola": "ÉZ",
		"--": "?", "7 dwarfs": "7D"} {
		if got := render(t, ui.AvatarOf{Name: name, Key: "mira"}); got != `<span class="avatar a6" aria-hidden="true">`+want+`</span>` {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
	}
}

func render(t *testing.T, a ui.AvatarOf) string {
	t.Helper()
	var out strings.Builder
	if err := ui.Avatar(a).Render(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}
