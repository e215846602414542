package user

import (
	"strings"
	"testing"
	"unicode"
)

func TestAnAddressHasOneNormalForm(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][2]string{
		"Ann@Example.COM":      {"Ann@example.com", "ann@example.com"},
		"o'neil+x@example.org": {"o'neil+x@example.org", "o'neil+x@example.org"},
		"ann@bücher.example":   {"ann@xn--bcher-kva.example", "ann@xn--bcher-kva.example"},
		"root@localhost":       {"root@localhost", "root@localhost"},
	} {
		email, normal, ok := parseAddress(in)
		if !ok || email != want[0] || normal != want[1] {
			t.Errorf("%q: got %q, %q, %v", in, email, normal, ok)
		}
	}
}

func TestWhatIsNoAddressIsRefused(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		"", "@", "ann", "ann@", "@example.com", "a b@example.com", "a@b@example.com", "ann@exa mple.com", ".a@example.com",
		"a..b@example.com", "ann@.com", "ann@example..com", "\"ann\"@example.com", "ann@example.com\r\nBcc: x@y.z",
		"ann\x00@example.com", "<ann@example.com>", "ann,bob@example.com", "jö@example.com", strings.Repeat("a", 65) + "@example.com",
		"a@" + strings.Repeat("b", 260), "ann@[127.0.0.1]", "ann@exa\u202emple.com", "0@\xc30", "0@\x80",
	} {
		if email, _, ok := parseAddress(in); ok {
			t.Errorf("%q passed as %q", in, email)
		}
	}
}

// Every code point that folds to an ASCII letter, in either half: the address
// is refused or stays its own.
func TestAU02_NoAddressFoldsIntoAnothers(t *testing.T) {
	t.Parallel()
	const victim = "mike@skills.example"
	for r := rune(0x80); r <= unicode.MaxRune; r++ {
		if folded := foldsToASCII(r); folded != 0 {
			for _, in := range []string{
				strings.Replace("mike@skills.example", string(folded), string(r), 1),
				"mike@" + strings.Replace("skills.example", string(folded), string(r), 1),
			} {
				if _, normal, ok := parseAddress(in); ok && normal == victim && !strings.ContainsRune(in[strings.IndexByte(in, '@'):], r) {
					t.Errorf("%q is taken for %q", in, victim)
				}
			}
		}
	}
	if _, normal, ok := parseAddress("mi\u212ae@skills.example"); ok {
		t.Errorf("the Kelvin sign passed as %q", normal)
	}
}

// foldsToASCII is the ASCII letter that a code point folds to, or zero.
func foldsToASCII(r rune) rune {
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		if f < 0x80 {
			return unicode.ToLower(f)
		}
	}
	if l := unicode.ToLower(r); l < 0x80 {
		return l
	}
	return 0
}

func FuzzParseAddress(f *testing.F) {
	for _, s := range []string{"a@b.c", "ann@bücher.example", "a@b@c", "\x00@\n", "0@\xc30", "0@\x80"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		email, normal, ok := parseAddress(s)
		if !ok {
			return
		}
		for _, out := range []string{email, normal} {
			for _, c := range []byte(out) {
				if c <= ' ' || c >= 0x7f || strings.IndexByte("<>,;:\\\"()[]", c) >= 0 {
					t.Fatalf("%q became %q", s, out)
				}
			}
		}
		again, normalAgain, ok := parseAddress(email)
		if !ok || again != email || normalAgain != normal {
			t.Fatalf("%q is not stable: %q, %q", s, again, normalAgain)
		}
	})
}
