package snippet_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/snippet"
)

func TestTheFilesOfASnippetAreReadAsText(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	d := snippet.Draft{Title: "x"}
	for path, content := range map[string]string{"a.txt": "one\n", "bytes": "a\x00b", "c/large": strings.Repeat("x", 100), "d": "", "e": "last"} {
		d.Files = append(d.Files, snippet.File{Action: snippet.Create, Path: path, Content: &content})
	}
	at, err := w.Snippets.Create(t.Context(), access.Actor{Person: w.author.Person(), Account: w.author}, nil, d)
	if err != nil {
		t.Fatal(err)
	}
	for most, want := range map[int64]string{
		50:  "[a.txt 4 one true] [bytes 3  false] [c/large 100  false] [d 0  true] [e 4 last true] ",
		8:   "[a.txt 4 one true] [bytes 3  false] [c/large 100  false] [d 0  true] [e 4  false] ",
		200: "[a.txt 4 one true] [bytes 3  false] [c/large 100 " + strings.Repeat("x", 100) + " true] [d 0  true] [e 4 last true] ",
	} {
		texts, err := w.Snippets.Texts(t.Context(), at.Snippet, most)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, one := range texts {
			got += fmt.Sprint([]any{one.Path, one.Size, strings.TrimSpace(one.Content), one.Whole}) + " "
		}
		if got != want {
			t.Errorf("of %d bytes: %s", most, got)
		}
	}
}

func TestASnippetThatSomebodyElseChangedMeanwhileStays(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	one := w.create(t, w.author, nil, "private", "a.txt")
	by := access.Actor{Person: w.author.Person()}
	find := func() snippet.Place {
		at, err := w.Snippets.Find(t.Context(), by, one.ID)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	seen := find().UpdatedAt
	update := func(title string, seen time.Time) error {
		w.Turn(time.Minute)
		_, err := w.Snippets.Update(t.Context(), by, find(), snippet.Change{Title: &title, Files: []snippet.File{{Action: snippet.Update, Path: "a.txt", Content: &title}}, Seen: seen})
		return err
	}
	if err := update("first", seen); err != nil {
		t.Fatal(err)
	}
	if err := update("second", seen); !fault.Is(err, fault.Conflict) || find().Title != "first" {
		t.Errorf("%v, it is called %s", err, find().Title)
	}
	if r := w.As(t, w.author).Do(t, "GET", one.path()+"/raw", nil); r.Body != "first" {
		t.Errorf("its file holds %q", r.Body)
	}
	if err := update("third", time.Time{}); err != nil || find().Title != "third" {
		t.Errorf("whatever it is: %v", err)
	}
}

func TestOfSeveralWhoSawTheSameSnippetOneChangesIt(t *testing.T) {
	t.Parallel()
	for name, files := range map[string]bool{"with its files": true, "its title alone": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			one := w.create(t, w.author, nil, "private", "a.txt")
			by := access.Actor{Person: w.author.Person()}
			at, err := w.Snippets.Find(t.Context(), by, one.ID)
			if err != nil {
				t.Fatal(err)
			}
			w.Turn(time.Minute)
			const writers = 6
			refusals := make([]error, writers)
			var all sync.WaitGroup
			for n := range writers {
				all.Go(func() {
					title := fmt.Sprintf("writer %d", n)
					c := snippet.Change{Title: &title, Seen: at.UpdatedAt}
					if files {
						c.Files = []snippet.File{{Action: snippet.Update, Path: "a.txt", Content: &title}}
					}
					_, refusals[n] = w.Snippets.Update(t.Context(), by, at, c)
				})
			}
			all.Wait()
			now, err := w.Snippets.Find(t.Context(), by, one.ID)
			if err != nil {
				t.Fatal(err)
			}
			passed := 0
			for n, err := range refusals {
				switch {
				case err == nil:
					if passed++; now.Title != fmt.Sprintf("writer %d", n) {
						t.Errorf("writer %d was told that it is done, and it is called %q", n, now.Title)
					}
				case !fault.Is(err, fault.Conflict):
					t.Errorf("writer %d: %v", n, err)
				}
			}
			if passed != 1 {
				t.Errorf("%d writers passed", passed)
			}
			if r := w.As(t, w.author).Do(t, "GET", one.path()+"/raw", nil); files && r.Body != now.Title {
				t.Errorf("it is called %q and its file holds %q", now.Title, r.Body)
			}
		})
	}
}

func TestAChangeOfASnippetThatIsRefusedCanBeSentAgain(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	one := w.create(t, w.author, nil, "private", "a.txt")
	by := access.Actor{Person: w.author.Person()}
	at, err := w.Snippets.Find(t.Context(), by, one.ID)
	if err != nil {
		t.Fatal(err)
	}
	w.Turn(time.Minute)
	change := func(path string) error {
		_, err := w.Snippets.Update(t.Context(), by, at, snippet.Change{Files: []snippet.File{{Action: snippet.Update, Path: path, Content: new("new")}}, Seen: at.UpdatedAt})
		return err
	}
	if err := change("missing.txt"); err == nil || fault.Is(err, fault.Conflict) {
		t.Fatalf("a file that is not there: %v", err)
	}
	if err := change("a.txt"); err != nil {
		t.Errorf("again, with the file that is there: %v", err)
	}
}

func TestWhoMakesSnippetsOfTheirOwn(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for _, c := range []struct {
		by   access.Actor
		want bool
	}{{access.Actor{Person: w.author.Person()}, true}, {access.Actor{Person: w.external.Person()}, false}, {access.Actor{}, false}} {
		if snippet.MayKeep(c.by) != c.want {
			t.Errorf("%v: %v", c.by.Person, !c.want)
		}
	}
	for path, want := range map[string]bool{"a.txt": true, "/a/b/": true, "": false, "../a": false, ".git/x": false, "a//b": false, "a\nb": false} {
		if snippet.ValidPath(path) != want {
			t.Errorf("%q: %v", path, !want)
		}
	}
}
