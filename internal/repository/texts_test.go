package repository_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"stithy/internal/gitstore"
	"stithy/internal/gitstore/gitstoretest"
	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/fault"
	"stithy/internal/platform/postgres"
	"stithy/internal/repository"
)

// texts is a repository of texts, and what was told of it.
type texts struct {
	*fixture
	id   int64
	mu   sync.Mutex
	told []repository.TextPushed
}

func newTexts(t testing.TB, maxFiles int) *texts {
	t.Helper()
	x := &texts{fixture: newFixture(t)}
	bus.On(x.bus, func(_ context.Context, _ pgx.Tx, e repository.TextPushed) error {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.told = append(x.told, e)
		return nil
	})
	err := x.db.InTx(t.Context(), func(tx pgx.Tx) (err error) {
		x.id, err = x.repositories.PlanText(t.Context(), tx, maxFiles)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func (x *texts) heard() []repository.TextPushed {
	x.mu.Lock()
	defer x.mu.Unlock()
	told := x.told
	x.told = nil
	return told
}

func (x *texts) commit(t testing.TB, changes ...gitstore.Change) (gitstore.OID, error) {
	t.Helper()
	return x.repositories.CommitText(t.Context(), x.actor(access.Developer), x.id, "Change", func(context.Context, *gitstore.Repo, gitstore.OID) ([]gitstore.Change, error) {
		return changes, nil
	})
}

func (x *texts) must(t testing.TB, changes ...gitstore.Change) gitstore.OID {
	t.Helper()
	id, err := x.commit(t, changes...)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func added(path, text string) gitstore.Change {
	return gitstore.Change{Path: path, Content: []byte(text), Create: true}
}

func changed(path, text string) gitstore.Change {
	return gitstore.Change{Path: path, Content: []byte(text)}
}

func TestACommitOfTextsIsToldOnce(t *testing.T) {
	t.Parallel()
	x := newTexts(t, 0)
	if _, tip, err := x.repositories.Tip(t.Context(), x.id); tip != gitstore.EmptyTree || err != nil {
		t.Errorf("before the first commit it is at %s, %v", tip, err)
	}
	first := x.must(t, added("a/b.md", "one"))
	if told := x.heard(); len(told) != 1 || told[0].TextID != x.id || told[0].Old != gitstore.Zero || told[0].New != first || len(told[0].Changed) != 1 ||
		!told[0].Changed[0].Added || told[0].Files != nil || !told[0].By.Is(x.actor(access.Developer).ID()) {
		t.Errorf("told of %+v", told)
	}
	second := x.must(t, changed("a/b.md", "two"))
	if told := x.heard(); len(told) != 1 || told[0].Old != first || told[0].New != second || told[0].Changed[0].Added {
		t.Errorf("told of %+v", told)
	}
	if _, tip, err := x.repositories.Tip(t.Context(), x.id); tip != second || err != nil {
		t.Errorf("it is at %s, %v", tip, err)
	}
	if _, err := x.commit(t, added("a/b.md", "x")); !fault.Is(err, fault.Rejected) || len(x.heard()) != 0 {
		t.Errorf("a file that is there is made again: %v", err)
	}
	states, err := postgres.Values[string](t.Context(), x.db, `select state from pushes where text_id = $1 order by id`, x.id)
	if !slices.Equal(states, []string{"done", "done"}) || err != nil {
		t.Errorf("the pushes are %v, %v", states, err)
	}
}

func TestARepositoryOfAFewFilesHoldsNoMore(t *testing.T) {
	t.Parallel()
	x := newTexts(t, 3)
	x.must(t, added("a/1", "x"), added("b/c/2", "x"))
	if told := x.heard(); !slices.Equal(told[0].Files, []string{"a/1", "b/c/2"}) || told[0].Changed != nil {
		t.Errorf("told of %+v", told)
	}
	if _, err := x.commit(t, added("3", "x"), added("4", "x")); err == nil || err.Error() != "This repository holds 3 files at the most." {
		t.Errorf("a fourth file: %v", err)
	}
	x.must(t, added("3", "x"))
	if _, err := x.commit(t, gitstore.Change{Path: "3", Delete: true}, gitstore.Change{Path: "a/1", Delete: true}, gitstore.Change{Path: "b/c/2", Delete: true}); err == nil ||
		err.Error() != "This repository must hold at least one file." {
		t.Errorf("no file at all: %v", err)
	}
	deep := []gitstore.Change{}
	for i := range 3 {
		deep = append(deep, added(fmt.Sprint(i, strings.Repeat("/d", 400), "/f"), "x"))
	}
	other := newTexts(t, 3)
	if _, err := other.commit(t, deep...); err == nil || !strings.Contains(err.Error(), "folders at the most") {
		t.Errorf("very deep folders: %v", err)
	}
}

// A client may push the one branch, forwards.
func TestTextsMoveForwardOnOneBranch(t *testing.T) {
	t.Parallel()
	x := newTexts(t, 0)
	first := x.must(t, added("a", "one"))
	second := x.must(t, changed("a", "two"))
	at := repository.TextTarget{ID: x.id}
	for want, u := range map[string]gitstore.RefUpdate{
		"Only the branch main can be pushed here.":      {Name: "refs/heads/other", Old: gitstore.Zero, New: first},
		"Only the branch main":                          {Name: "refs/tags/v1", Old: gitstore.Zero, New: first},
		"The branch main cannot be deleted.":            {Name: "refs/heads/main", Old: second, New: gitstore.Zero},
		"The history of main cannot be rewritten. Pull": {Name: "refs/heads/main", Old: second, New: first},
	} {
		err := x.repositories.CheckText(t.Context(), x.actor(access.Developer), at.ID, u)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v: %v", u, err)
		}
	}
	if err := x.repositories.CheckText(t.Context(), x.actor(access.Developer), at.ID, gitstore.RefUpdate{Name: "refs/heads/main", Old: first, New: second}); err != nil {
		t.Errorf("forwards: %v", err)
	}
}

func TestALostPushOfTextsIsSettled(t *testing.T) {
	t.Parallel()
	x := newTexts(t, 0)
	first := x.must(t, added("a", "one"))
	second := x.must(t, changed("a", "two"))
	x.heard()
	// As if the process had died before it noted the second, and before it moved the branch to a third.
	if _, err := x.db.Exec(t.Context(), `update pushes set state = 'pending', settled_at = null where updates @> $1::jsonb`, fmt.Sprintf(`[{"new":"%s"}]`, second)); err != nil {
		t.Fatal(err)
	}
	if _, err := x.db.Exec(t.Context(), `insert into pushes (text_id, via, state, updates, created_at) values ($1, 'http', 'pending', $2, now())`, x.id,
		[]gitstore.RefUpdate{{Name: "refs/heads/main", Old: second, New: "1234567890123456789012345678901234567890"}}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := x.repositories.SettlePending(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if told := x.heard(); len(told) != 1 || told[0].Old != first || told[0].New != second {
		t.Errorf("told of %+v", told)
	}
	states, err := postgres.Values[string](t.Context(), x.db, `select state from pushes where text_id = $1 order by id`, x.id)
	slices.Sort(states)
	if !slices.Equal(states, []string{"done", "done", "void"}) || err != nil {
		t.Errorf("the pushes are %v, %v", states, err)
	}
}

func TestARepositoryOfTextsThatIsNotNeededGoes(t *testing.T) {
	t.Parallel()
	x := newTexts(t, 0)
	x.must(t, added("a", "one"))
	row, err := x.repositories.FindText(t.Context(), x.id)
	if err != nil {
		t.Fatal(err)
	}
	repo := x.store.Repo(row.Key())
	if err := x.repositories.RemoveTexts(t.Context()); err != nil {
		t.Fatal(err)
	}
	if there, err := repo.Exists(t.Context()); !there || err != nil {
		t.Fatalf("one that is needed is there: %t, %v", there, err)
	}
	if _, err := x.db.Exec(t.Context(), `update text_repositories set state = 'unneeded'`); err != nil {
		t.Fatal(err)
	}
	if _, err := x.repositories.FindText(t.Context(), x.id); !fault.Is(err, fault.NotFound) {
		t.Errorf("it is found: %v", err)
	}
	if err := x.repositories.RemoveTexts(t.Context()); err != nil {
		t.Fatal(err)
	}
	if there, err := repo.Exists(t.Context()); there || err != nil {
		t.Errorf("it is there: %t, %v", there, err)
	}
	if n, err := postgres.Value[int](t.Context(), x.db, `select count(*) from text_repositories`); n != 0 || err != nil {
		t.Errorf("%d rows are left, %v", n, err)
	}
	if err := x.repositories.MaintainText(t.Context(), x.id); err != nil {
		t.Errorf("upkeep of what is gone: %v", err)
	}
}

func TestTwoKindsOfRepositoriesNeverShareAPlace(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for id := range int64(2000) {
		for _, key := range []gitstore.Key{gitstore.KeyOf("default", id, 0), gitstore.TextKeyOf("default", id)} {
			if seen[key.Path] {
				t.Fatalf("%s twice", key.Path)
			}
			seen[key.Path] = true
		}
	}
}

func TestARepositoryOfAFewFilesHoldsFilesAlone(t *testing.T) {
	t.Parallel()
	x := newTexts(t, 3)
	limit := x.settings.Current().SnippetSizeLimit
	if _, err := x.commit(t, added("a", strings.Repeat("x", limit/2)), added("b", strings.Repeat("x", limit/2+1))); err == nil || !strings.Contains(err.Error(), "too large together") {
		t.Errorf("more than a snippet may hold: %v", err)
	}
	x.must(t, added("a", "x"))
	row, err := x.repositories.FindText(t.Context(), x.id)
	if err != nil {
		t.Fatal(err)
	}
	repo := x.store.Repo(row.Key())
	commit := func(entry string) gitstore.OID {
		tree := strings.TrimSpace(gitstoretest.Git(t, x.store, repo, entry, "mktree", "-z", "--missing"))
		return gitstore.OID(strings.TrimSpace(gitstoretest.Git(t, x.store, repo, "", "commit-tree", "-m", "x", tree)))
	}
	blob := strings.TrimSpace(gitstoretest.Git(t, x.store, repo, "text", "hash-object", "-w", "--stdin"))
	for name, entry := range map[string]string{
		"a submodule": "160000 commit 1234567890123456789012345678901234567890\tsub\x00", "a name": "100644 blob " + blob + "\tbad\xff\x00",
		"a long name": "100644 blob " + blob + "\t" + strings.Repeat("a", 300) + "\x00",
	} {
		if err := x.repositories.CheckText(t.Context(), x.actor(access.Developer), x.id, gitstore.RefUpdate{Name: row.Ref(), Old: gitstore.Zero, New: commit(entry)}); err == nil ||
			!strings.Contains(err.Error(), "holds files alone") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A tree of few objects may stand for very many files. What a push tells of it is read until there is enough.
func TestATreeThatNamesItselfOftenIsSettledAtOnce(t *testing.T) {
	t.Parallel()
	x := newTexts(t, 0)
	x.must(t, added("a", "x"))
	row, err := x.repositories.FindText(t.Context(), x.id)
	if err != nil {
		t.Fatal(err)
	}
	repo := x.store.Repo(row.Key())
	entry, kind := strings.TrimSpace(gitstoretest.Git(t, x.store, repo, "text", "hash-object", "-w", "--stdin")), "100644 blob"
	for range 9 {
		var tree strings.Builder
		for i := range 10 {
			fmt.Fprintf(&tree, "%s %s\t%d\n", kind, entry, i)
		}
		entry, kind = strings.TrimSpace(gitstoretest.Git(t, x.store, repo, tree.String(), "mktree")), "040000 tree"
	}
	_, tip, err := x.repositories.Tip(t.Context(), x.id)
	if err != nil {
		t.Fatal(err)
	}
	bomb := gitstore.OID(strings.TrimSpace(gitstoretest.Git(t, x.store, repo, "", "commit-tree", "-m", "x", "-p", string(tip), entry)))
	x.heard()
	if err := x.repositories.PushText(t.Context(), x.actor(access.Developer), x.id, gitstore.RefUpdate{Name: row.Ref(), Old: tip, New: bomb}); err != nil {
		t.Fatal(err)
	}
	if told := x.heard(); len(told) != 1 || len(told[0].Changed) != 100 {
		t.Errorf("told of %d", len(told))
	}
}

// DO-04: a page that is pushed is as long as pages may be.
func TestDO04_FilesOfATextThatAreTooLargeAreNotPushed(t *testing.T) {
	t.Parallel()
	x := newTexts(t, 0)
	first := x.must(t, added("a.md", "short"))
	large := x.must(t, added("b.md", strings.Repeat("x", 200)), added("c.png", strings.Repeat("x", 5000)))
	beside := x.must(t, added("d.md", "short"))
	row, err := x.repositories.FindText(t.Context(), x.id)
	if err != nil {
		t.Fatal(err)
	}
	pages := func(path string) int64 {
		if strings.HasSuffix(path, ".md") {
			return 100
		}
		return 0
	}
	push := func(old, now gitstore.OID) error {
		return x.repositories.CheckTextWithin(t.Context(), x.actor(access.Developer), x.id, pages, gitstore.RefUpdate{Name: row.Ref(), Old: old, New: now})
	}
	for _, old := range []gitstore.OID{first, gitstore.Zero} {
		var refused *gitstore.RefusedError
		if err := push(old, large); !errors.As(err, &refused) || !strings.Contains(refused.Text, `"b.md" is too long (200 Bytes). The maximum size is 100 Bytes.`) {
			t.Errorf("a page that is too long: %v", err)
		}
	}
	if err := push(gitstore.Zero, first); err != nil {
		t.Errorf("a short page: %v", err)
	}
	if err := push(large, beside); err != nil {
		t.Errorf("a short page beside a long one that is there: %v", err)
	}
}

func TestDamagedRepositoriesOfTextsAreFound(t *testing.T) {
	t.Parallel()
	x := newTexts(t, 0)
	found := func() error {
		t.Helper()
		var damage error
		seen := 0
		err := x.repositories.CheckAll(t.Context(), func(c repository.Checked, all int64) {
			if c.Path == fmt.Sprintf("repository of texts %d", x.id) {
				seen, damage = seen+1, c.Damage
			}
			if all < 1 || c.Key.Path == "" {
				t.Errorf("%+v of %d", c, all)
			}
		})
		if err != nil || seen > 1 {
			t.Fatalf("seen %d times, %v", seen, err)
		}
		if seen == 0 {
			return errors.New("not looked at")
		}
		return damage
	}
	if err := found(); err == nil || err.Error() != "not looked at" {
		t.Errorf("one that is not on the disk yet: %v", err)
	}
	x.must(t, added("home.md", "Hello"))
	if err := found(); err != nil {
		t.Errorf("a sound one: %v", err)
	}
	dir := filepath.Join(x.store.Storages[0].Root, gitstore.TextKeyOf("default", x.id).Path)
	if err := errors.Join(eachFile(dir, "refs/heads/*", os.Remove), os.RemoveAll(filepath.Join(dir, "packed-refs"))); err != nil {
		t.Fatal(err)
	}
	if err := found(); err == nil || !strings.Contains(err.Error(), "no branch or tag is left") {
		t.Errorf("one that lost its branch: %v", err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := found(); err == nil || !strings.Contains(err.Error(), "are missing") {
		t.Errorf("one that is gone: %v", err)
	}
}
