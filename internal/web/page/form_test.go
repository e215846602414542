package page

import (
	"strings"
	"testing"

	"github.com/a-h/templ"
)

func rendered(t *testing.T, c templ.Component) string {
	t.Helper()
	var out strings.Builder
	if err := c.Render(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestAButtonThatAsksFirstSendsNothingBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	f := &Form{Action: "/tokens/1/revoke", Submit: "Revoke", Look: Danger, CSRF: "tied"}
	if got := rendered(t, RowButton(f)); !strings.Contains(got, `type="submit"`) || strings.Contains(got, "popover") {
		t.Errorf("a plain button: %s", got)
	}
	got := rendered(t, RowButton(f.AskFirst("It cannot be undone.")))
	opener, asked, _ := strings.Cut(got, "<div")
	if !strings.Contains(opener, `type="button" popovertarget="`+f.ElementID("sure")+`"`) || strings.Contains(opener, "<form") {
		t.Errorf("the button that opens the question: %s", opener)
	}
	for _, want := range []string{`id="` + f.ElementID("sure") + `"`, " popover", `<form method="post" action="/tokens/1/revoke">`, `value="tied"`, "It cannot be undone.", "Go back"} {
		if !strings.Contains(asked, want) {
			t.Errorf("the question lacks %s: %s", want, asked)
		}
	}
}

func TestTheQuestionsOfAPageHaveIDsOfTheirOwn(t *testing.T) {
	t.Parallel()
	ids := map[string]bool{}
	for _, f := range []*Form{{Action: "/a"}, {Action: "/b"}, (&Form{Action: "/a"}).With("key", "x"), (&Form{Action: "/a"}).With("key", "y")} {
		ids[f.ElementID("sure")] = true
	}
	if len(ids) != 4 {
		t.Errorf("%d ids of 4 forms", len(ids))
	}
	if (&Form{Action: "/a", CSRF: "one"}).ElementID("x") != (&Form{Action: "/a", CSRF: "two"}).ElementID("x") {
		t.Error("the id is another one in another session")
	}
}

func TestATextStandsInItsFieldAsItIs(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"a\n": ">a\n<", "": "><", "\n\na": ">\n\n\na<", "\r\na": ">\n\r\na<"} {
		if got := rendered(t, input(Field{Name: "text", Type: Textarea, Value: text})); !strings.Contains(got, want+"/textarea>") {
			t.Errorf("%q: %q", text, got)
		}
	}
}

func TestAProblemIsFollowedByWhatToDoAboutIt(t *testing.T) {
	t.Parallel()
	for next, want := range map[NextStep]string{
		{}:                                     "<p>It is wrong.</p>",
		{Text: "Ask somebody."}:                "<p>It is wrong. Ask somebody.</p>",
		{Text: "Make another.", URL: "/other"}: `<a href="/other">Make another.</a></p>`,
	} {
		if got := rendered(t, Questions(&Form{Problem: "It is wrong.", Next: next})); !strings.Contains(got, want) {
			t.Errorf("%+v: %s", next, got)
		}
	}
}

func TestFieldsThatAreFoldedAwayStandTogetherAndAreShownWhenOneIsWrong(t *testing.T) {
	t.Parallel()
	fields := func() []Field {
		return []Field{{Name: "a"}, {Name: "b", Fold: "More"}, {Name: "c", Fold: "More"}, {Name: "d"}}
	}
	f := &Form{Fields: fields()}
	got := rendered(t, Questions(f))
	before, rest, _ := strings.Cut(got, `<details class="fold"><summary>More</summary>`)
	within, after, _ := strings.Cut(rest, "</details>")
	if !strings.Contains(before, `name="a"`) || !strings.Contains(within, `name="b"`) || !strings.Contains(within, `name="c"`) || !strings.Contains(after, `name="d"`) {
		t.Errorf("%s", got)
	}
	wrong := fields()
	wrong[2].Problems = []string{"is wrong"}
	for _, f := range []*Form{{Fields: fields(), Open: true}, {Fields: wrong}} {
		if got := rendered(t, Questions(f)); !strings.Contains(got, `<details class="fold" open>`) {
			t.Errorf("%s", got)
		}
	}
}

func TestProblemsBeginWithACapitalLetter(t *testing.T) {
	t.Parallel()
	f := &Form{Problem: "über is gone", Fields: []Field{{Name: "name", Label: "Name", Type: Text, Problems: []string{"is taken", "is short"}}}}
	if got := rendered(t, Questions(f)); !strings.Contains(got, "<p>Über is gone</p>") || !strings.Contains(got, ">Is taken; is short</p>") {
		t.Errorf("%s", got)
	}
	if got := capital(""); got != "" {
		t.Errorf("nothing became %q", got)
	}
}
