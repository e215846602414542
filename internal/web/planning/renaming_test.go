package planning

import "testing"

func TestTitlesThatWereChangedShowWhatDiffersWithoutMarks(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]renaming{
		"changed title from **Mend the {-door-}** to **Mend the {+gate+}**":   {markedText{"Mend the ", "door", ""}, markedText{"Mend the ", "gate", ""}},
		"changed title from **Mend it** to **Mend it{+ now+}**":               {markedText{"Mend it", "", ""}, markedText{"Mend it", " now", ""}},
		"changed title from **{-Ask -}*us*** to ***us***":                     {markedText{"", "Ask ", "*us*"}, markedText{"*us*", "", ""}},
		"changed title from **a {-b {- c-}** to **a {+b +} {+ d+} and more**": {markedText{"a ", "b {- c", ""}, markedText{"a ", "b +} {+ d", " and more"}},
	} {
		if got := renamed(body); got == nil || *got != want {
			t.Errorf("%s: %+v", body, got)
		}
	}
	for _, body := range []string{"changed the description", "said: changed title from **a** to **b**", "changed title from **a** to **b** and more"} {
		if got := renamed(body); got != nil {
			t.Errorf("%s: %+v", body, got)
		}
	}
}
