package emoji

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestTheListOfEmojiIsSortedAndOnItsLines(t *testing.T) {
	t.Parallel()
	all := strings.Split(strings.TrimSuffix(names, "\n"), "\n")
	shape := regexp.MustCompile(`^[a-z0-9_+-]{1,50}$`)
	for _, name := range all {
		if !shape.MatchString(name) || !Known(name) {
			t.Errorf("%q", name)
		}
	}
	if !slices.IsSorted(all) {
		t.Error("the names are not sorted")
	}
	for _, name := range []string{"", "thumbsup\nthumbsdown", "thumb", ":thumbsup:", "THUMBSUP"} {
		if Known(name) {
			t.Errorf("%q is taken for a name", name)
		}
	}
}

func TestTheEmojiOfVotesHaveOneName(t *testing.T) {
	t.Parallel()
	for name, plain := range map[string]string{
		"+1": ThumbsUp, "thumbs_up": ThumbsUp, "thumbsup": ThumbsUp, "-1": ThumbsDown, "thumbs_down": ThumbsDown, "heart": "heart",
	} {
		if got := Plain(name); got != plain || !Known(name) || !Known(plain) {
			t.Errorf("%s is %s, want %s", name, got, plain)
		}
	}
}
