package gitstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func key(c string) string { return strings.Repeat(c, 64) }

func TestOfManyWhoAskForTheSameOneMakesIt(t *testing.T) {
	t.Parallel()
	c, err := openPackCache(t.TempDir(), 1<<20, nil)
	if err != nil {
		t.Fatal(err)
	}
	made, goOn := 0, make(chan struct{})
	produce := func(_ context.Context, to io.Writer) error {
		made++
		if _, err := io.WriteString(to, "first "); err != nil {
			return err
		}
		<-goOn
		_, err := io.WriteString(to, "second")
		return err
	}
	var wait sync.WaitGroup
	for range 50 {
		out, in := io.Pipe()
		wait.Go(func() { in.CloseWithError(c.serve(t.Context(), key("a"), in, produce)) })
		first := make([]byte, 6)
		if _, err := io.ReadFull(out, first); err != nil || string(first) != "first " {
			t.Fatalf("nothing comes while it is made: %q %v", first, err)
		}
		wait.Go(func() {
			if rest, err := io.ReadAll(out); err != nil || string(rest) != "second" {
				t.Errorf("got %q %v", rest, err)
			}
		})
	}
	close(goOn)
	wait.Wait()
	var again bytes.Buffer
	if err := c.serve(t.Context(), key("a"), &again, produce); err != nil || again.String() != "first second" || made != 1 {
		t.Errorf("got %q, made %d times, %v", again.String(), made, err)
	}
}

func TestWhatWentWrongIsNotKept(t *testing.T) {
	t.Parallel()
	c, err := openPackCache(t.TempDir(), 1<<20, nil)
	if err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	fail := func(_ context.Context, to io.Writer) error {
		_, _ = io.WriteString(to, "half")
		return broken
	}
	if err := c.serve(t.Context(), key("a"), io.Discard, fail); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	var out bytes.Buffer
	if err := c.serve(t.Context(), key("a"), &out, writes("whole")); err != nil || out.String() != "whole" {
		t.Errorf("got %q %v", out.String(), err)
	}
}

func writes(s string) func(context.Context, io.Writer) error {
	return func(_ context.Context, to io.Writer) error { _, err := io.WriteString(to, s); return err }
}

func TestAnAnswerThatNobodyWaitsForIsGivenUp(t *testing.T) {
	t.Parallel()
	c, err := openPackCache(t.TempDir(), 1<<20, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, leave := context.WithCancel(t.Context())
	ended := make(chan struct{})
	err = c.serve(ctx, key("a"), io.Discard, func(ctx context.Context, _ io.Writer) error {
		leave()
		<-ctx.Done()
		close(ended)
		return ctx.Err()
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	<-ended
}

func TestTheCacheKeepsToItsSizeAndForgetsWhatWasNotUsed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, unfinished+"1"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := openPackCache(dir, 400, nil)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(k, s string) {
		if err := c.serve(t.Context(), key(k), io.Discard, writes(s)); err != nil {
			t.Fatal(err)
		}
	}
	for _, k := range []string{"a", "b", "c", "d", "a", "e"} {
		ask(k, strings.Repeat(k, 100))
	}
	ask("f", strings.Repeat("f", 101)) // more than its share
	again, err := openPackCache(dir, 400, nil)
	if err != nil {
		t.Fatal(err)
	}
	var kept []string
	for k := range again.answers {
		kept = append(kept, k[:1])
	}
	if len(kept) != 4 || again.answers[key("b")] != nil || again.answers[key("f")] != nil || again.size != 400 {
		t.Errorf("kept %v, %d bytes", kept, again.size)
	}
	if _, err := os.Stat(filepath.Join(dir, unfinished+"1")); err == nil {
		t.Error("what a dead process left is still there")
	}
	if err := os.Remove(filepath.Join(dir, key("a"))); err != nil { // somebody tidied up
		t.Fatal(err)
	}
	ask("a", "anew")
}

func TestTheKeyOfAnAnswerDependsOnWhatItDependsOn(t *testing.T) {
	t.Parallel()
	r, other := &Repo{key: KeyOf("default", 1, 0)}, &Repo{key: KeyOf("default", 2, 0)}
	a, b := OID(strings.Repeat("a", 40)), OID(strings.Repeat("b", 40))
	tag := []Ref{{Name: "refs/tags/x", Target: a}}
	base := r.packKey(&fetchRequest{wants: []OID{a}, rest: []string{"done", "ofs-delta"}}, nil)
	for name, got := range map[string]string{
		"another repository": other.packKey(&fetchRequest{wants: []OID{a}, rest: []string{"done", "ofs-delta"}}, nil),
		"another want":       r.packKey(&fetchRequest{wants: []OID{b}, rest: []string{"done", "ofs-delta"}}, nil),
		"another depth":      r.packKey(&fetchRequest{wants: []OID{a}, rest: []string{"done", "ofs-delta", "deepen 1"}}, nil),
		"tags that come":     r.packKey(&fetchRequest{wants: []OID{a}, rest: []string{"done", "ofs-delta"}, tags: true}, tag),
	} {
		if got == base {
			t.Errorf("%s makes no difference", name)
		}
	}
	if r.packKey(&fetchRequest{wants: []OID{a}, rest: []string{"ofs-delta", "done"}}, tag) != base {
		t.Error("the order of words, or tags that nobody asked for, makes a difference")
	}
	if r.packKey(&fetchRequest{wants: []OID{a}, rest: []string{"done", "ofs-delta", "ofs-delta", "done"}}, nil) != base {
		t.Error("a word that is said twice makes a difference")
	}
}

func TestOneRepositoryFillsHalfOfTheCacheAtMost(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c, err := openPackCache(dir, 800, nil)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(c *packCache, repo string, n int) {
		k := strings.Repeat(repo, repoDigits) + fmt.Sprintf("%048d", n)
		if err := c.serve(t.Context(), k, io.Discard, writes(strings.Repeat("x", 100))); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 3 {
		ask(c, "a", n)
	}
	for n := range 20 {
		ask(c, "b", n)
	}
	ask(c, "b", 16) // one that was kept
	if c.byRepo[strings.Repeat("a", repoDigits)] != 300 || c.byRepo[strings.Repeat("b", repoDigits)] != 400 || c.size != 700 {
		t.Errorf("kept %v, %d bytes", c.byRepo, c.size)
	}
	again, err := openPackCache(dir, 800, nil)
	if err != nil || !maps.Equal(again.byRepo, c.byRepo) {
		t.Errorf("the next process finds %v, %v", again.byRepo, err)
	}
}

func TestAnAnswerThatIsReadCountsUntilItsLastReaderHasGone(t *testing.T) {
	t.Parallel()
	c, err := openPackCache(t.TempDir(), 400, nil)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(k string) error { return c.serve(t.Context(), key(k), io.Discard, writes(strings.Repeat(k, 100))) }
	if err := ask("a"); err != nil {
		t.Fatal(err)
	}
	reading, stalled := make(chan struct{}), make(chan struct{})
	var client sync.WaitGroup
	client.Go(func() {
		err := c.serve(t.Context(), key("a"), writerFunc(func(b []byte) (int, error) {
			close(reading)
			<-stalled
			return len(b), nil
		}), nil)
		if err != nil {
			t.Error(err)
		}
	})
	<-reading
	for _, k := range []string{"b", "c", "d", "e", "f"} { // they drive it out
		if err := ask(k); err != nil {
			t.Fatal(err)
		}
	}
	if c.size != 300 || c.held != 100 || c.answers[key("a")] != nil {
		t.Errorf("%d bytes are kept, %d held", c.size, c.held)
	}
	close(stalled)
	client.Wait()
	if err := ask("0"); err != nil {
		t.Fatal(err)
	}
	if c.size != 400 || c.held != 0 {
		t.Errorf("%d bytes are kept, %d held", c.size, c.held)
	}
}

func TestWhoFollowedAnAnswerCountsAsItsReader(t *testing.T) {
	t.Parallel()
	c, err := openPackCache(t.TempDir(), 400, nil)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(k string, n int) error {
		return c.serve(t.Context(), key(k), io.Discard, writes(strings.Repeat(k, n)))
	}
	stalled := make(chan struct{})
	var clients sync.WaitGroup
	for _, k := range []string{"a", "b"} { // the second is too large to be kept
		size, reading := 100, make(chan struct{})
		if k == "b" {
			size = 150
		}
		clients.Go(func() {
			err := c.serve(t.Context(), key(k), writerFunc(func(b []byte) (int, error) {
				close(reading)
				<-stalled
				return len(b), nil
			}), writes(strings.Repeat(k, size)))
			if err != nil {
				t.Error(err)
			}
		})
		<-reading
	}
	for _, k := range []string{"c", "d", "e", "f"} {
		if err := ask(k, 100); err != nil {
			t.Fatal(err)
		}
	}
	c.mu.Lock()
	size, held := c.size, c.held
	c.mu.Unlock()
	if held != 250 || size > 150 {
		t.Errorf("%d bytes are kept, %d held", size, held)
	}
	// More than half is held: what else is asked for is made for who asks, and not kept.
	if err := ask("0", 100); err != nil || c.answers[key("0")] != nil {
		t.Errorf("%v, %v", err, c.answers[key("0")])
	}
	close(stalled)
	clients.Wait()
	if err := ask("0", 100); err != nil || c.held != 0 || c.answers[key("0")] == nil {
		t.Errorf("%v, %d bytes are held", err, c.held)
	}
}

type writerFunc func(b []byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

func FuzzLinesAreReadOrRefused(f *testing.F) {
	for _, seed := range []string{"", "0000", "0001", "0002", "0003", "0004", "0005a", "0006a\n", "zzzz", "fff0", "00", "ffff"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var back []byte
		l := newLines(bytes.NewReader(in))
		for {
			line, m, err := l.next()
			if err != nil {
				break
			}
			if m != noMark {
				back = appendMark(back, m)
			} else {
				back = appendLine(back, string(line))
			}
		}
		// Only the digits of a length may come back in another case: what a line holds comes back byte by byte.
		if len(back) > len(in) || !bytes.EqualFold(latin1(back), latin1(in[:len(back)])) {
			t.Errorf("%q was read as %q", in, back)
		}
		for _, c := range clean(string(in)) {
			if c < 0x20 && c != '\n' && c != '\r' && c != '\t' || c == 0x7f {
				t.Errorf("%q is left", c)
			}
		}
	})
}

// latin1 makes a letter of each byte, so that text that is cut within a letter compares as it is.
func latin1(b []byte) []byte {
	letters := make([]rune, len(b))
	for i, c := range b {
		letters[i] = rune(c)
	}
	return []byte(string(letters))
}
