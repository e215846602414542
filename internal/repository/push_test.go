package repository_test

import (
	"testing"

	"stithy/internal/gitstore"
	"stithy/internal/kit/access"
	"stithy/internal/repository"
	"stithy/internal/repository/repositorytest"
)

// The process that took a push and the job that looks after it may both settle
// it.
func TestAPushThatIsSettledTwiceIsPublishedOnce(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	repo := w.fill(t, repositorytest.Files{"a": "text"})
	tip, err := repo.Ref(t.Context(), "refs/heads/main")
	if err != nil {
		t.Fatal(err)
	}
	p := w.known(t)
	p.Role = access.Maintainer
	a, err := w.repositories.BeginPush(t.Context(), w.actor(access.Maintainer), p, repository.ViaHTTP)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	moved := []gitstore.RefUpdate{{Name: "refs/heads/side", Old: gitstore.Zero, New: tip.Target}}
	if err := a.Approve(t.Context(), gitstore.Quarantine{}, moved, nil); err != nil {
		t.Fatal(err)
	}
	if err := a.Repo.Apply(t.Context(), gitstore.Quarantine{}, moved); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := a.Settle(t.Context(), moved); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.SettleFromRefs(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.pushed) != 1 || len(w.pushed[0].Updates) != 1 || w.pushed[0].Updates[0] != moved[0] {
		t.Errorf("published: %+v", w.pushed)
	}
}
