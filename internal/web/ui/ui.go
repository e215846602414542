// Package ui is the components that pages are put together from, in the look of web/assets/stithy.css: icons, statuses,
// badges, avatars, notices, panels. A component takes words and addresses and knows neither a request nor a room. What
// belongs to a request (forms, times, the layout) is in package page.
//
// Components are templ functions: `make generate` writes the Go of a .templ file beside it.
package ui

import (
	"hash/fnv"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/a-h/templ"
)

// Classes are names of classes, without those that are empty.
func Classes(names ...string) string {
	return strings.Join(slices.DeleteFunc(names, func(name string) bool { return name == "" }), " ")
}

// Tone is the colour of a status, badge or notice. An icon or a word always says the same.
type Tone string

// The tones.
const (
	Plain Tone = ""
	Good  Tone = "good"
	Bad   Tone = "bad"
	Warn  Tone = "warn"
	Busy  Tone = "busy"
	Done  Tone = "done"
	Soft  Tone = "soft"
)

// Status says how something stands: a word, with an icon and a tone that say the same.
type Status struct {
	Text string
	Tone Tone
	Icon IconPath
}

// noticeIcons are what stands before the words of a notice.
var noticeIcons = map[Tone]IconPath{Plain: IconInfo, Good: IconPassed, Warn: IconWarning, Bad: IconFailed}

// motion is the class of the icon that stands for work in progress, which turns where motion is welcome.
func motion(i IconPath) string {
	if i == IconRunning {
		return "turn"
	}
	return ""
}

var addressBreaks = strings.NewReplacer("@", "<wbr>@", ".", ".<wbr>", "_", "_<wbr>")

// Address is an email address, which breaks between its parts where a line is too short for it.
func Address(address string) templ.Component {
	return templ.Raw(addressBreaks.Replace(templ.EscapeString(address)))
}

// VisibilityIcon says who can see a project or group, by the name of its visibility.
func VisibilityIcon(name string) IconPath {
	switch name {
	case "public":
		return IconGlobe
	case "internal":
		return IconShield
	}
	return IconLock
}

// AvatarOf is letters and a colour that stand for a person, group or project.
type AvatarOf struct {
	Name   string // whose letters are shown
	Key    string // what the colour follows from: the username or path
	Square bool   // a group or project
	Size   string // "", "m" or "l"
}

// colours is how many classes the style sheet has for avatars.
const colours = 8

func (a AvatarOf) class() string {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(a.Key))
	class := "avatar a" + string('0'+rune(hash.Sum32()%colours))
	if a.Square {
		class += " square"
	}
	if a.Size != "" {
		class += " " + a.Size
	}
	return class
}

// letters are the first of the first and of the last word of a name; of a group or project the first alone.
func (a AvatarOf) letters() string {
	words := strings.FieldsFunc(a.Name, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	if len(words) == 0 {
		return "?"
	}
	first := initial(words[0])
	if a.Square || len(words) == 1 {
		return first
	}
	return first + initial(words[len(words)-1])
}

func initial(word string) string {
	r, _ := utf8.DecodeRuneInString(word)
	return string(unicode.ToUpper(r))
}
