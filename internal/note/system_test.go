package note_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"stithy/internal/issue"
	"stithy/internal/note"
)

func TestMarkedTitlesSayBoth(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		title := rapid.StringMatching(`[abä ]{0,12}`)
		before, after := title.Draw(t, "before"), title.Draw(t, "after")
		if before == after {
			if got := note.Texts(&issue.Issue{Title: before}, &issue.Issue{Title: after}, false); len(got) != 0 {
				t.Fatalf("%q is noted as %q", before, got)
			}
			return
		}
		text := note.Texts(&issue.Issue{Title: before}, &issue.Issue{Title: after}, false)[0]
		from, to, _ := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(text, "changed title from **"), "**"), "** to **")
		plain := func(s, open, end string) string { return strings.Replace(strings.Replace(s, open, "", 1), end, "", 1) }
		if plain(from, "{-", "-}") != before || plain(to, "{+", "+}") != after {
			t.Fatalf("%q and %q are marked as %q and %q", before, after, from, to)
		}
	})
}

func TestTickedBoxesAreTheOnlyDifferenceThatIsNamed(t *testing.T) {
	t.Parallel()
	plain := []string{"changed the description"}
	long := strings.Repeat("ä", 300)
	many := strings.Repeat("- [ ] x\n", 11)
	for _, c := range []struct {
		before, after string
		want          []string
	}{
		{"- [ ] a", "- [x] a", []string{"marked the checklist item **a** as completed"}},
		{"1. [X] a", "1. [ ] a", []string{"marked the checklist item **a** as incomplete"}},
		{"- [ ] " + long, "- [x] " + long, []string{"marked the checklist item **" + long[:2*255] + "** as completed"}},
		{"- [x] a", "- [X] a", plain},
		{"- [ ] a", "- [x] b", plain},
		{"- [ ] a", "* [x] a", plain},
		{"- [ ] a", "- [x] a\n", plain},
		{"] a", "x] a", plain},
		{" ] a", "x] a", plain},
		{"", "a", plain},
		{many, strings.ReplaceAll(many, "[ ]", "[x]"), plain},
	} {
		if got := note.Texts(&issue.Issue{Description: &c.before}, &issue.Issue{Description: &c.after}, false); !slices.Equal(got, c.want) {
			t.Errorf("%q to %q is %q, want %q", c.before, c.after, got, c.want)
		}
	}
}

func TestSeveritiesHaveNames(t *testing.T) {
	t.Parallel()
	for s, want := range map[issue.Severity]string{"critical": "Critical - S1", "low": "Low - S4", "unknown": "Unknown"} {
		got := note.Texts(&issue.Issue{}, &issue.Issue{Severity: s}, false)
		if !slices.Equal(got, []string{"changed the severity to **" + want + "**"}) {
			t.Errorf("%s is %q, want %s", s, got, want)
		}
	}
}
