package ui_test

import (
	"strconv"
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

func TestAnAddressBreaksAtItsPartsAndIsText(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if err := ui.Address("a_b@<c>.example").Render(t.Context(), &out); err != nil || out.String() != "a_<wbr>b<wbr>@&lt;c&gt;.<wbr>example" {
		t.Errorf("%s %v", &out, err)
	}
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

func TestEveryAvatarHasAColourOfTheStyleSheet(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for n := range 1000 {
		got := render(t, ui.AvatarOf{Name: "A", Key: "person-" + strconv.Itoa(n)})
		class, _, _ := strings.Cut(strings.TrimPrefix(got, `<span class="avatar `), `"`)
		seen[class] = true
	}
	for class := range seen {
		if len(class) != 2 || class[0] != 'a' || class[1] < '0' || class[1] > '7' {
			t.Errorf("the style sheet has no class %s", class)
		}
	}
}

func TestOnlyWhatEverybodySeesLooksPublic(t *testing.T) {
	t.Parallel()
	for visibility, want := range map[string]ui.IconPath{"public": ui.IconGlobe, "internal": ui.IconShield, "private": ui.IconLock, "": ui.IconLock} {
		if got := ui.VisibilityIcon(visibility); got != want {
			t.Errorf("%q looks like %s", visibility, got)
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
