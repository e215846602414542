package artifact

import (
	"bytes"
	"encoding/base64"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"stithy/internal/platform/secretbox"
)

// inPieces hides secrets in a text that comes in pieces, and says what was
// seen after each of them.
func inPieces(masks [][]byte, pieces [][]byte, after func(seen []byte)) []byte {
	var seen []byte
	var h held
	for _, p := range pieces {
		var out []byte
		out, h = hide(masks, h, p)
		seen = append(seen, out...)
		after(seen)
	}
	return append(seen, h.last(masks)...)
}

// split cuts a text at some places.
func split(t *rapid.T, text []byte) (pieces [][]byte) {
	for len(text) > 0 {
		n := rapid.IntRange(1, min(len(text), 40)).Draw(t, "piece")
		pieces, text = append(pieces, text[:n]), text[n:]
	}
	return pieces
}

func TestCI06_RandomChunkingNeverShowsASecret(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		// Few letters, so that beginnings, ends and overlaps of secrets abound.
		word := rapid.StringMatching(`[ab-]{8,14}`)
		var masks [][]byte
		for _, s := range rapid.SliceOfN(word, 1, 3).Draw(t, "secrets") {
			masks = append(masks, []byte(s))
		}
		var text []byte
		for range rapid.IntRange(1, 12).Draw(t, "parts") {
			switch rapid.IntRange(0, 2).Draw(t, "kind") {
			case 0:
				text = append(text, rapid.StringMatching(`[ab\n-]{0,9}`).Draw(t, "noise")...)
			case 1:
				text = append(text, masks[rapid.IntRange(0, len(masks)-1).Draw(t, "which")]...)
			case 2:
				m := masks[rapid.IntRange(0, len(masks)-1).Draw(t, "which")]
				text = append(text, m[:rapid.IntRange(0, len(m)).Draw(t, "cut")]...)
			}
		}
		want := bytes.Clone(text)
		for _, m := range masks {
			for i := range text {
				if bytes.HasPrefix(text[i:], m) {
					paint(want[i : i+len(m)])
				}
			}
		}
		got := inPieces(masks, split(t, text), func(seen []byte) {
			// What is seen early is what is seen for ever.
			if !bytes.HasPrefix(want, seen) {
				t.Fatalf("%q was shown of %q, whose masked form is %q", seen, text, want)
			}
		})
		if len(got) != len(text) {
			t.Fatalf("%d bytes of %d", len(got), len(text))
		}
		// The end may be hidden although it is no whole secret.
		for i := range got {
			if got[i] != want[i] && got[i] != 'x' {
				t.Fatalf("%q of %q, want %q", got, text, want)
			}
		}
	})
}

func TestCI06_TheTokenOfARequestIsHiddenInItsUsualSpellings(t *testing.T) {
	t.Parallel()
	const token = "svccbt-0123456789_abcdefgh"
	masks := spellings([]secretbox.Secret{token, "short", secretbox.Secret(strings.Repeat("l", maxMask))})
	for _, said := range []string{
		"https://gitlab-ci-token:" + token + "@forge.example/a/b.git",
		"Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("gitlab-ci-token:"+token)),
	} {
		out, h := hide(masks, held{}, []byte(said+"\n"))
		if seen := string(out) + string(h.last(masks)); len(seen) != len(said)+1 || strings.Contains(seen, token) ||
			strings.Contains(seen, base64.StdEncoding.EncodeToString([]byte(token))[:12]) || !strings.Contains(seen, "xxxxxxxxxxxx") {
			t.Errorf("%s is seen as %s", said, seen)
		}
	}
	// What is said beside it stays; short words are no secrets.
	if out, h := hide(masks, held{}, []byte("svccbt- and short are words\n")); string(out) != "svccbt- and short are words\n" || h.bytes != 0 {
		t.Errorf("%s", out)
	}
}

func FuzzMasking(f *testing.F) {
	f.Add([]byte("before svccbt-secret after"), uint16(9))
	f.Add([]byte("svccbt-secresvccbt-secret"), uint16(1))
	f.Fuzz(func(t *testing.T, text []byte, cut uint16) {
		masks := [][]byte{[]byte("svccbt-secret"), []byte("secretly-"), []byte("t-secret")}
		at := min(int(cut), len(text))
		whole := inPieces(masks, [][]byte{text}, func([]byte) {})
		parts := inPieces(masks, [][]byte{text[:at], text[at:]}, func(seen []byte) {
			if !bytes.HasPrefix(whole, seen) && bytes.Contains(text, masks[0]) {
				for i := range seen {
					if seen[i] != whole[i] && whole[i] != 'x' {
						t.Fatalf("%q, then %q", seen, whole)
					}
				}
			}
		})
		if !bytes.Equal(whole, parts) {
			t.Fatalf("%q and %q of %q", whole, parts, text)
		}
		for _, m := range masks {
			if bytes.Contains(whole, m) {
				t.Fatalf("%q shows %q", whole, m)
			}
		}
	})
}
