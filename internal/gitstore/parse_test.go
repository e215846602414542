package gitstore

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

const someID = "0123456789abcdef0123456789abcdef01234567"

func TestOddCommitsAreRead(t *testing.T) {
	t.Parallel()
	head := "tree " + someID + "\n"
	for text, want := range map[string]Signature{
		"Ada <a@b> 1700000000 +0130":        {"Ada", "a@b", time.Unix(1700000000, 0)},
		"Ada <a@b> 1700000000 -9999":        {"Ada", "a@b", time.Unix(1700000000, 0)},
		"Ada <a@b> 99999999999999999 +0000": {"Ada", "a@b", time.Unix(0, 0)},
		"Ada <a@b> -5 +0000":                {"Ada", "a@b", time.Unix(0, 0)},
		"Ada <a@b>":                         {"Ada", "a@b", time.Unix(0, 0)},
		"Ada":                               {"Ada", "", time.Unix(0, 0)},
		"":                                  {"", "", time.Unix(0, 0)},
		"<>":                                {"", "", time.Unix(0, 0)},
		"A <b> <c@d> 5 +0000":               {"A", "b", time.Unix(5, 0)},
		"\xff\xfe <\xff> 5 +0000":           {"\uFFFD", "\uFFFD", time.Unix(5, 0)},
		"A > B <x> 7 +0000":                 {"A > B", "x", time.Unix(7, 0)},
		"A <x> 18446744073709551616 +0000":  {"A", "x", time.Unix(0, 0)},
		"A <x> 7 +0000 trailing words of somebody": {"A", "x", time.Unix(7, 0)},
	} {
		c, err := parseCommit(someID, []byte(head+"author "+text+"\n\nm"))
		if err != nil || c.Author.Name != want.Name || c.Author.Email != want.Email || !c.Author.When.Equal(want.When) {
			t.Errorf("%q: %+v %v", text, c, err)
		}
	}
	c, err := parseCommit(someID, []byte(head+"parent "+someID+"\nencoding ISO-8859-1\ngpgsig -----BEGIN\n tree x\n -----END\n\nM\xfcller\x00"))
	if err != nil || !c.Signed || c.Message != "Müller\uFFFD" || len(c.Parents) != 1 || c.Tree != someID {
		t.Errorf("%+v %v", c, err)
	}
	for _, text := range []string{"", "\n", "tree x\n\n", "parent " + someID + "\n\n", head + "parent x\n\n"} {
		if _, err := parseCommit(someID, []byte(text)); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func FuzzParseCommit(f *testing.F) {
	f.Add([]byte("tree " + someID + "\nparent " + someID + "\nauthor A <a> 1 +0000\ncommitter B <b> 2 -0130\nencoding latin1\ngpgsig x\n y\n\nmessage"))
	f.Add([]byte("object " + someID + "\ntype commit\ntag v1\ntagger A <a> 1 +0000\n\nmessage"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if c, err := parseCommit(someID, text); err == nil {
			for _, s := range []string{c.Message, c.Author.Name, c.Author.Email, c.Committer.Name, c.Committer.Email} {
				if !utf8.ValidString(s) || strings.Contains(s, "\x00") {
					t.Errorf("%q", s)
				}
			}
			for _, s := range []Signature{c.Author, c.Committer} {
				if _, err := s.When.MarshalJSON(); err != nil && !s.When.IsZero() {
					t.Error(err)
				}
			}
			if !IsOID(string(c.Tree)) {
				t.Error(c.Tree)
			}
		}
		if tag, err := parseTag(someID, text); err == nil && (!IsOID(string(tag.Target)) || !utf8.ValidString(tag.Name+tag.Message)) {
			t.Errorf("%+v", tag)
		}
	})
}

func FuzzParseTree(f *testing.F) {
	f.Add([]byte("100644 a\x0001234567890123456789" + "40000 b\x0001234567890123456789"))
	f.Add([]byte("100644 \x0001234567890123456789"))
	f.Add([]byte("100644 a\x00short"))
	f.Fuzz(func(t *testing.T, text []byte) {
		entries, err := parseTree(text)
		if err != nil {
			return
		}
		size := 0
		for _, e := range entries {
			size += len(e.Path) + 22
			if !IsOID(string(e.ID)) || e.Path == "" || !slices.Contains([]Mode{DirMode, FileMode, ExecMode, LinkMode, SubmodeMode}, e.Mode) {
				t.Errorf("%+v", e)
			}
		}
		if size > len(text) {
			t.Errorf("%d bytes of entries from %d", size, len(text))
		}
	})
}

func FuzzParsePackedRefs(f *testing.F) {
	f.Add("# pack-refs with: peeled fully-peeled sorted \n" + someID + " refs/heads/main\n" + someID + " refs/tags/v1\n^" + someID + "\n")
	f.Add(someID + " refs/b\n" + someID + " refs/a\n")
	f.Add("^" + someID + "\n")
	f.Fuzz(func(t *testing.T, text string) {
		refs, err := parsePackedRefs(text)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Error(err)
			}
			return
		}
		for i, ref := range refs {
			if !IsOID(string(ref.Target)) || ref.Peeled != "" && !IsOID(string(ref.Peeled)) || ref.Name == "" || i > 0 && refs[i-1].Name > ref.Name {
				t.Errorf("%+v", ref)
			}
		}
	})
}

// Whatever a person writes stands behind --end-of-options, or nothing is run.
func FuzzGI01_Arguments(f *testing.F) {
	f.Add("log", "--format=%H", "main", "path")
	f.Add("log", "--output=x", "--output=x", "--output=x")
	f.Add("diff-tree", "-r", "-c", "a\x00b")
	f.Add("upload-pack", "--strict", "x", "--exec=x")
	f.Fuzz(func(t *testing.T, sub, flag, arg, path string) {
		for _, c := range []call{
			{sub: sub, flags: []string{flag}, args: []string{arg}, paths: []string{path}},
			{sub: "log", args: []string{arg}, paths: []string{path}},
			{sub: "log", flags: []string{flag}, args: []string{arg}},
		} {
			argv, err := c.argv("/r")
			if err != nil {
				continue
			}
			if argv[0] != "--git-dir=/r" || allowed[argv[1]] == nil {
				t.Fatalf("%q", argv)
			}
			if slices.Contains(takesDir, c.sub) {
				if len(argv) != 3+len(c.flags) {
					t.Fatalf("%q", argv)
				}
				continue
			}
			end := slices.Index(argv, "--end-of-options")
			if end != 2+len(c.flags) || argv[end+1] != arg || strings.HasPrefix(arg, "-") {
				t.Fatalf("%q", argv)
			}
			for _, option := range argv[2:end] {
				name, _, _ := strings.Cut(option, "=")
				if !slices.ContainsFunc(allowed[c.sub], func(f string) bool {
					return f == option || strings.HasPrefix(f, name+"=") || len(f) == 3 && f[2] == '=' && strings.HasPrefix(option, f[:2])
				}) {
					t.Fatalf("%q", argv)
				}
			}
			if len(c.paths) > 0 && (argv[end+2] != "--" || argv[end+3] != path || len(argv) != end+4) {
				t.Fatalf("%q", argv)
			}
		}
	})
}
