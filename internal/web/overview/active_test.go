package overview_test

import (
	"testing"
	"time"

	"stithy/internal/kit/access"
)

func TestAProjectIsActiveWhenSomethingHappensInIt(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	active := func() time.Time {
		t.Helper()
		p, err := w.Projects.Find(t.Context(), access.Actor{Person: w.owner.Person()}, w.open.ID)
		if err != nil {
			t.Fatal(err)
		}
		return p.LastActivityAt
	}
	w.exec(t, `update projects set last_activity_at = $1`, w.Now())
	for _, c := range []struct {
		after time.Duration
		moves bool
	}{{time.Minute, false}, {58 * time.Minute, false}, {time.Minute, true}, {59 * time.Minute, false}, {24 * time.Hour, true}} {
		before := active()
		w.Turn(c.after)
		w.do(t, "POST", w.open, "/issues", object{"title": "x"})
		if got := active(); got.Equal(before) == c.moves || (c.moves && got.Sub(w.Now()).Abs() > time.Millisecond) {
			t.Errorf("%s later it is active at %s, before at %s", c.after, got, before)
		}
	}
}
