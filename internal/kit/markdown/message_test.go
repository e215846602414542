package markdown

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

const instance = "https://forge.example/sub"

// written is what a message names, what is closed with a !.
func written(message string) string {
	var all []string
	for _, n := range IssuesIn(message, instance) {
		text := n.Path + "#" + n.Number
		if n.Closes {
			text += "!"
		}
		all = append(all, text)
	}
	return strings.Join(all, " ")
}

func TestACommitMessageNamesAndClosesIssues(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		"Mend the door":                     "",
		"Mend the door, see #1":             "#1",
		"Closes #1":                         "#1!",
		"closes: #1":                        "#1!",
		"CLOSES   #1":                       "#1!",
		"Closes:#1":                         "#1",
		"Closes issue #1 and issues  #2":    "#1! #2!",
		"Closes issues: #1":                 "#1",
		"Fixes g/p#3, #4 and #5":            "g/p#3! #4! #5!",
		"Fixes #1, and G/P#2":               "#1! g/p#2!",
		"Fixes #1,#2":                       "#1! #2!",
		"Fixes #1 , #2":                     "#1! #2",
		"Fixes #1 #2":                       "#1! #2",
		"Fixes #1 band #2":                  "#1! #2",
		"Fixes #1 and, #2":                  "#1! #2",
		"Fixes #1, issue #2":                "#1! #2!",
		"Fixes #1 issue #2":                 "#1! #2",
		"Fixes #1 or #2":                    "#1! #2",
		"Fixes #1, !2, #3":                  "#1! #3",
		"Fixes #1, @ann and #3":             "#1! #3",
		"Fixes\n#1":                         "#1",
		"Fixes #1,\n#2":                     "#1! #2",
		"Mend\n\n    Fixes #1\n`Closes #2`": "#1! #2!",
		"prefixes #1, unfix #2, é_fix #3, éfix #4, 2fix #5": "#1 #2 #3 #4 #5",
		"hot-fix #1":                             "#1!",
		"fix it as #1 says":                      "#1",
		"fixer #1, closer #2, fixs #3":           "#1 #2 #3",
		"see #1, closes #1":                      "#1!",
		"closes #1, see #1":                      "#1!",
		"Closes#1 a#b #0 \\#3 x/#4":              "closes#1",
		"Closes " + instance + "/g/p/-/issues/3": "g/p#3!",
		"Closes " + instance + "/g/s/p/issues/3#note_7, " + instance + "/g/p/-/issues/4?a=b.": "g/s/p#3! g/p#4!",
		"Closes <" + instance + "/g/p/-/issues/3>":                                            "g/p#3",
		"Closes " + instance + "/g/p/-/issues/3.":                                             "g/p#3!",
		"Closes x" + instance + "/g/p/-/issues/3":                                             "",
		"Closes " + instance + "/p/-/issues/3 " + instance + "/g/p/-/issues/3/designs":        "",
		"Closes " + instance + "/g/p/-/issues/3a " + instance + "/g/p/-/issues/":              "",
		"Closes https://other.example/g/p/-/issues/3":                                         "",
		"Closes " + strings.Repeat(" ", 500) + "#1":                                           "#1!",
		"#1 " + strings.Repeat("x", MaxMessage-8) + " #23456":                                 "#1",
		"a\x00\xff #1": "#1",
	} {
		if got := written(message); got != want {
			t.Errorf("%.80q: %q, want %q", message, got, want)
		}
	}
	for word := range closingWords {
		for _, as := range []string{word, strings.ToUpper(word), strings.ToUpper(word[:1]) + word[1:]} {
			if got := written("it " + as + " #7"); got != "#7!" {
				t.Errorf("%s: %q", as, got)
			}
		}
	}
}

func TestAListOfIssuesIsClosedHoweverItIsJoined(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		words := make([]string, 0, len(closingWords))
		for w := range closingWords {
			words = append(words, w)
		}
		slices.Sort(words)
		message := rapid.SampledFrom([]string{"", "Mend it. ", "See #900 (", "x\n"}).Draw(t, "before") + rapid.SampledFrom(words).Draw(t, "word") +
			rapid.SampledFrom([]string{" ", ": ", "   ", " issue ", " issues "}).Draw(t, "gap")
		var want []string
		for n := range rapid.IntRange(1, 20).Draw(t, "issues") {
			if n > 0 {
				message += rapid.SampledFrom([]string{",", ", ", " and ", ", and ", ",   and   ", ", issue "}).Draw(t, "join")
			}
			path := rapid.SampledFrom([]string{"", "p", "g/p", "g/s.t/p-q"}).Draw(t, "path")
			want = append(want, fmt.Sprintf("%s#%d!", path, n+1))
			if strings.Contains(path, "/") && rapid.Bool().Draw(t, "address") {
				message += fmt.Sprintf("%s/%s/-/issues/%d", instance, path, n+1)
			} else {
				message += fmt.Sprintf("%s#%d", path, n+1)
			}
		}
		message += rapid.SampledFrom([]string{"", ".", ")", "\n", ": done", " and more"}).Draw(t, "after")
		got := strings.TrimPrefix(written(message), "#900 ")
		if got != strings.Join(want, " ") {
			t.Fatalf("%q: %q, want %q", message, got, want)
		}
	})
}

// Each of these texts would take hours if the time grew with the square of its length.
func TestAHostileMessageIsReadInTheTimeOfItsLength(t *testing.T) {
	t.Parallel()
	for _, part := range []string{
		"closes ", "#1 ", "#1,", "closes #1 and ", "a/", "aaaaaaaa", " ", instance + "/", instance + "/g/p/-/issues/", "/issues/", "~\"", "@a/", "g/p#1?#?",
		"\xff", "closes issues ", "and ", "1234567",
	} {
		message := strings.Repeat(part, (2<<20)/len(part))
		named(shortenAddresses(message, instance))
		if n := len(IssuesIn(message, instance)); n > 1 {
			t.Errorf("%q: %d issues", part, n)
		}
	}
}

func FuzzWhatACommitMessageNames(f *testing.F) {
	for _, seed := range []string{"Closes #1", "Fixes g/p#3, #4 and #5", "see " + instance + "/g/p/-/issues/3#note_1", "\xffcloses: issue #1", "a#1, and#2"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, message string) {
		seen := map[string]bool{}
		for _, n := range IssuesIn(message, instance) {
			name := n.Path + "#" + n.Number
			if seen[name] || n.Number == "" || n.Number[0] == '0' || len(n.Number) > maxNumber || strings.Trim(n.Number, "0123456789") != "" {
				t.Errorf("%q is named", name)
			}
			seen[name] = true
			low := strings.ToLower(message)
			if n.Closes && !strings.Contains(low, "clos") && !strings.Contains(low, "fix") && !strings.Contains(low, "resolv") && !strings.Contains(low, "implement") {
				t.Errorf("%q closes %s", message, name)
			}
		}
	})
}
