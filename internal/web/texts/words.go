package texts

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// typed is a text that came from a form, where browsers end lines in a way of their own, with the ends of lines that it had before.
func typed(text, was string) string {
	text = lineEnds.Replace(text)
	switch {
	case text == lineEnds.Replace(was):
		return was
	case strings.Contains(was, "\r\n"):
		return strings.ReplaceAll(text, "\n", "\r\n")
	}
	return text
}

// editable reports whether a form can hold a text and bring it back as it was.
func editable(text string, most int) bool {
	return len(text) <= most && utf8.ValidString(text) && strings.IndexByte(text, 0) < 0
}

// cut is the beginning of a text.
func cut(text string, most int) string {
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + "…"
	}
	return text
}

// counted is a number of things.
func counted(n int, one string) string {
	if n != 1 {
		one += "s"
	}
	return grouped(n) + " " + one
}

// grouped writes a number with separators.
func grouped(n int) string {
	text := strconv.Itoa(n)
	if n >= 1000 {
		return grouped(n/1000) + "," + text[len(text)-3:]
	}
	return text
}
