// Package emoji knows the names of emoji, as people write them between colons.
package emoji

import (
	_ "embed" // for the names
	"strings"
)

// names are all names, one on a line, in order.
//
//go:embed emoji.txt
var names string

// Known reports whether something is the name of an emoji, without colons.
func Known(name string) bool {
	return !strings.Contains(name, "\n") && strings.Contains("\n"+names, "\n"+name+"\n")
}

// The two that count as votes.
const (
	ThumbsUp   = "thumbsup"
	ThumbsDown = "thumbsdown"
)

// Plain is the name under which an emoji is kept: that of the votes has several.
func Plain(name string) string {
	switch name {
	case "+1", "thumbs_up":
		return ThumbsUp
	case "-1", "thumbs_down":
		return ThumbsDown
	}
	return name
}
