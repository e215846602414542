package gitstore

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestTrailersAreThoseThatGitSees(t *testing.T) {
	t.Parallel()
	dir := bareRepo(t)
	line := rapid.OneOf(
		rapid.SampledFrom([]string{
			"Changelog: added", "Signed-off-by: A <a@x>", "(cherry picked from commit abc)", "", " ", "\t", " folded", "\tmore: x", "# comment",
			"text", "two words: x", "Key : value", "Key\t: v", "key:", ": none", "-: x", "Conflicts:", "\tpath", "---", "Changelog:  two  \r",
			"# ------------------------ >8 ------------------------", "Re\u00e9: x", "a\u00a0: x",
		}),
		rapid.StringMatching(`[a-zA-Z:# \t\-]{0,8}`),
	)
	rapid.Check(t, func(t *rapid.T) {
		message := strings.Join(rapid.SliceOfN(line, 0, 12).Draw(t, "lines"), "\n") + rapid.SampledFrom([]string{"", "\n", "\n\n"}).Draw(t, "end")
		commit, err := commitObject(EmptyTree, nil, Signature{}, Signature{}, message)
		if err != nil {
			t.Fatal(err)
		}
		realGit(t, dir, string(commit.data), "hash-object", "-w", "-t", "commit", "--stdin")
		out := realGit(t, dir, "", "log", "-1", "--format=%(trailers:only,unfold,separator=%x00,key_value_separator=%x01)", string(commit.id))
		var want []Trailer
		for field := range strings.SplitSeq(strings.TrimSuffix(out, "\n"), "\x00") {
			if key, value, ok := strings.Cut(field, "\x01"); ok {
				want = append(want, Trailer{key, value})
			}
		}
		got := Trailers(message)
		if len(got) != len(want) {
			t.Fatalf("%q: %q, want %q", message, got, want)
		}
		for i := range got {
			if got[i] != want[i] {
				t.Fatalf("%q: %q, want %q", message, got, want)
			}
		}
	})
}

func FuzzTrailers(f *testing.F) {
	for _, s := range []string{"a\n\nKey: v\n", "a\n\nKey: v\n more\n", "\n\n", "Conflicts:\n\tx", "a\n\nSigned-off-by: x\n\ny\nz\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, message string) {
		for _, trailer := range Trailers(message) {
			if trailer.Key == "" || strings.ContainsAny(trailer.Key+trailer.Value, "\n") {
				t.Errorf("%q gives %q", message, trailer)
			}
		}
	})
}
