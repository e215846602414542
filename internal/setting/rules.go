package setting

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"stithy/internal/kit/bus"
	"stithy/internal/kit/fault"
)

const (
	maxText    = 255  // of a text without a bound of its own, and of an item in a list
	maxEntries = 1000 // of a list
	maxShown   = 255  // of a value in the audit trail
)

// edit is a setting that is about to change.
type edit struct {
	name     string
	tag      reflect.StructTag
	from, to any
}

// compare lists what differs, in the order of declaration.
func compare(from, to *Settings) (edits []edit) {
	a, b := reflect.ValueOf(from).Elem(), reflect.ValueOf(to).Elem()
	for i := range a.NumField() {
		f := a.Type().Field(i)
		e := edit{name: f.Tag.Get("json"), tag: f.Tag, from: a.Field(i).Interface(), to: b.Field(i).Interface()}
		if !reflect.DeepEqual(e.from, e.to) {
			edits = append(edits, e)
		}
	}
	return edits
}

// check refuses values that a setting does not take. Only edits are looked
// at: a value from before a rule does not stand in the way of others.
func check(edits []edit) error {
	var fields fault.Fields
	for _, e := range edits {
		for _, text := range e.problems() {
			fields.Add(e.name, "%s", text)
		}
	}
	return fields.Err()
}

func (e edit) problems() []string {
	switch v := e.to.(type) {
	case int:
		return e.number(v)
	case *int:
		if v != nil {
			return e.number(*v)
		}
	case string:
		return e.text(v)
	case Text:
		if v != "" {
			return e.text(string(v))
		}
	case []string:
		return e.list(v)
	case Weights:
		return e.weights(v)
	}
	return nil
}

func (e edit) bound(tag string, otherwise int) int {
	if n, err := strconv.Atoi(e.tag.Get(tag)); err == nil {
		return n
	}
	return otherwise
}

func (e edit) allows(value string) bool {
	enum := e.tag.Get("enum")
	return enum == "" || slices.Contains(strings.Split(enum, ","), value)
}

func (e edit) number(n int) []string {
	least, most := e.bound("min", 0), e.bound("max", math.MaxInt32)
	switch {
	case !e.allows(strconv.Itoa(n)):
		return []string{"is not included in the list"}
	case n < least:
		return []string{fmt.Sprintf("must be greater than or equal to %d", least)}
	case n > most:
		return []string{fmt.Sprintf("must be less than or equal to %d", most)}
	}
	return nil
}

// tokenPrefix keeps a token inside what a header and a URL carry unchanged.
var tokenPrefix = regexp.MustCompile(`^[a-zA-Z0-9_+=/@:.-]*$`)

func (e edit) text(s string) (texts []string) {
	if !e.allows(s) {
		return []string{"is not included in the list"}
	}
	if most := e.bound("max", maxText); utf8.RuneCountInString(s) > most {
		texts = append(texts, fmt.Sprintf("is too long (maximum is %d characters)", most))
	}
	switch e.tag.Get("is") {
	case "regexp":
		if _, err := regexp.Compile(s); err != nil {
			texts = append(texts, "is not a valid regular expression")
		}
	case "url":
		if u, err := url.Parse(s); err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
			texts = append(texts, "must be a valid URL")
		}
	case "prefix":
		if !tokenPrefix.MatchString(s) {
			texts = append(texts, "can contain only letters of the Base64 alphabet (RFC4648) with the addition of '@', ':' and '.'")
		}
	}
	return texts
}

func (e edit) list(items []string) []string {
	if len(items) > maxEntries {
		return []string{fmt.Sprintf("is too long (maximum is %d entries)", maxEntries)}
	}
	for _, item := range items {
		if !e.allows(item) {
			return []string{"is not included in the list"}
		}
		if utf8.RuneCountInString(item) > maxText {
			return []string{fmt.Sprintf("entries cannot be larger than %d characters", maxText)}
		}
	}
	return nil
}

func (e edit) weights(shares Weights) (texts []string) {
	for _, name := range slices.Sorted(maps.Keys(shares)) {
		switch most := e.bound("max", math.MaxInt32); {
		case name == "" || utf8.RuneCountInString(name) > maxText:
			texts = append(texts, "has an invalid name")
		case shares[name] < 0 || shares[name] > most:
			texts = append(texts, fmt.Sprintf("value for '%s' must be between 0 and %d", name, most))
		}
	}
	return texts
}

// change is the edit as the audit trail keeps it.
func (e edit) change() bus.Change {
	return bus.Change{What: e.name, From: shown(e.from), To: shown(e.to)}
}

func shown(value any) string {
	var s string
	switch v := value.(type) {
	case string:
		s = v
	case Text:
		s = string(v)
	case *int:
		if v != nil {
			s = strconv.Itoa(*v)
		}
	default:
		text, _ := json.Marshal(v) // numbers, booleans, lists and hashes of text
		s = string(text)
	}
	if runes := []rune(s); len(runes) > maxShown {
		s = string(runes[:maxShown-1]) + "…"
	}
	return s
}
