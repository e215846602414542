package deploytoken_test

import (
	"testing"
	"time"

	"stithy/internal/group/grouptest"
	"stithy/internal/project/projecttest"
)

func TestADeployTokenIsGoodWithItsNameUntilItEnds(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	room := w.DeployTokens
	m := w.create(t, w.inProject(), map[string]any{"expires_at": w.Now().AddDate(0, 0, 10).Format(time.RFC3339)})
	good := func(username, secret string) bool {
		t.Helper()
		b, err := room.Authenticate(t.Context(), username, secret)
		if err != nil {
			t.Fatal(err)
		}
		return b != nil
	}
	if !good(m.Username, m.Token) {
		t.Fatal("a new token is refused")
	}
	if good(m.Username+"x", m.Token) || good("", m.Token) || good(m.Username, m.Token+"x") {
		t.Error("another name or secret is taken")
	}
	w.Turn(11 * 24 * time.Hour)
	if good(m.Username, m.Token) {
		t.Error("an expired token is taken")
	}
	w.Turn(-11 * 24 * time.Hour)
	if _, err := w.DB.Exec(t.Context(), `update deploy_tokens set revoked_at = now() where id = $1`, m.ID); err != nil {
		t.Fatal(err)
	}
	if good(m.Username, m.Token) {
		t.Error("a revoked token is taken")
	}
}

func TestADeployTokenReachesItsPlaceAlone(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	room := w.DeployTokens
	below := projecttest.New(t, w.DB, grouptest.New(t, w.DB, grouptest.Named("below"), grouptest.Under(w.group)).ID, projecttest.Named("deep"))
	beside := projecttest.New(t, w.DB, w.group.ID, projecttest.Named("beside"))
	elsewhere := projecttest.New(t, w.DB, grouptest.New(t, w.DB, grouptest.Named("others")).ID, projecttest.Named("theirs"))
	for in, reached := range map[string]map[int64]bool{
		w.inProject(): {w.project.ID: true, beside.ID: false, below.ID: false, elsewhere.ID: false},
		w.inGroup():   {w.project.ID: true, beside.ID: true, below.ID: true, elsewhere.ID: false},
	} {
		m := w.create(t, in)
		b, err := room.Authenticate(t.Context(), m.Username, m.Token)
		if err != nil || b == nil {
			t.Fatalf("%s: %v", in, err)
		}
		for projectID, want := range reached {
			if got, err := room.Reaches(t.Context(), b, projectID); err != nil || got != want {
				t.Errorf("the token of %s reaches project %d: %t, %v", in, projectID, got, err)
			}
		}
	}
}
