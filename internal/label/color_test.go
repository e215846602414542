package label_test

import (
	"regexp"
	"strings"
	"testing"

	"stithy/internal/label"
)

var sixDigits = regexp.MustCompile(`^#[0-9a-fA-F]{6}$`)

func TestAColourIsReadInEveryFormThatPeopleWrite(t *testing.T) {
	t.Parallel()
	for sent, want := range map[string]string{
		"#aBcDeF": "#aBcDeF", "#abc": "#aabbcc", " #123456\n": "#123456", "red": "#FF0000", "RebeccaPurple": "#663399", "black": "#000000", " Navy ": "#000080",
		"": "", "#": "", "#ab": "", "#abcd": "", "#abcde": "", "#abcdefa": "", "abcdef": "", "#ggg": "", "rgb(0,0,0)": "", "transparent": "", "#12 456": "", "#äö": "",
	} {
		if got, ok := label.ParseColor(sent); got != want || ok != (want != "") {
			t.Errorf("%q: got %q, %v", sent, got, ok)
		}
	}
}

func TestTextCanBeReadOnItsColour(t *testing.T) {
	t.Parallel()
	for color, want := range map[string]string{
		"#FFFFFF": "#1F1E24", "#000000": "#FFFFFF", "#ffaa00": "#FFFFFF", "#aaaaaa": "#1F1E24", "#a5a5a5": "#FFFFFF", "#00FF00": "#FFFFFF", "nonsense": "#FFFFFF",
	} {
		if got := label.TextColor(color); got != want {
			t.Errorf("%s: got %s", color, got)
		}
	}
}

func FuzzParseColor(f *testing.F) {
	for _, seed := range []string{"#fff", "#A1b2C3", "red", "", "#", " #000 ", "#12345g", strings.Repeat("#", 100)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		color, ok := label.ParseColor(s)
		if !ok {
			if color != "" {
				t.Errorf("%q is refused and yet %q", s, color)
			}
			return
		}
		if !sixDigits.MatchString(color) {
			t.Errorf("%q became %q", s, color)
		}
		if again, ok := label.ParseColor(color); !ok || again != color {
			t.Errorf("%q became %q, then %q", s, color, again)
		}
		if text := label.TextColor(color); text != "#FFFFFF" && text != "#1F1E24" {
			t.Errorf("%q on %q", text, color)
		}
	})
}
