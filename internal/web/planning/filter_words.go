package planning

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"stithy/internal/issue"
)

// The parameters of a list that may be sent several times.
const (
	labelParam    = "label_name[]"
	notLabelParam = "not[label_name][]"
	typeParam     = "type[]"
)

var manyParams = []string{labelParam, notLabelParam, typeParam}

// params are what an address says as words of the search do, by the key that those have.
var params = []struct{ name, key string }{
	{"confidential", "confidential"}, {typeParam, "type"}, {"type", "type"}, {"issue_type", "type"}, {"weight", "weight"}, {"due_date", "due"},
	{notLabelParam, "-label"}, {"not[label_name]", "-label"}, {"not[milestone_title]", "-milestone"},
	{"not[author_username]", "-author"}, {"not[author_username][]", "-author"},
	{"not[assignee_username]", "-assignee"}, {"not[assignee_username][]", "-assignee"},
}

// otherParams are those that are read by name, and those that addresses from elsewhere have and that narrow nothing.
var otherParams = []string{
	"state", "search", "sort", "cursor", "page", "assignee", "assignee_username", "assignee_username[]", "assignee_id", labelParam, "label_name",
	"milestone_title", "author_username", "utf8", "first_page_size", "last_page_size", "page_after", "page_before",
}

// knownKeys is what the search field knows.
const knownKeys = "label, milestone, author, assignee, type, confidential, weight and due; a minus before one of the first four says what is not wanted"

var (
	typeWords = []string{string(issue.Plain), string(issue.Incident), string(issue.Task), string(issue.TestCase)}
	dueWords  = []string{"none", "any", "today", "tomorrow", "overdue", "week", "month", "next_month_and_previous_two_weeks"}
)

// maxTold is how many things that were not understood are told.
const maxTold = 5

// tell notes something that was asked for and is not what the list shows.
func (f *filter) tell(format string, args ...any) {
	if len(f.Problems) < maxTold {
		f.Problems = append(f.Problems, fmt.Sprintf(format, args...))
	}
}

// tellUnknown notes parameters of an address that the list does not know.
func (f *filter) tellUnknown(form url.Values) {
	for _, name := range slices.Sorted(maps.Keys(form)) {
		known := slices.Contains(otherParams, name) || slices.ContainsFunc(params, func(p struct{ name, key string }) bool { return p.name == name })
		if !known && form.Get(name) != "" && (name != "scope" || form.Get(name) != "all") {
			f.tell("Unknown filter “%s” in the address: the list is not narrowed by it.", cut(name, 60))
		}
	}
}

// take reads a word of the search that is key:value. What only looks like one stays a word, and that is said.
func (f *filter) take(token string) bool {
	key, value, _ := strings.Cut(token, ":")
	value = strings.Trim(value, `"`)
	if value == "" || !isKey(key) || strings.HasPrefix(value, ":") || strings.HasPrefix(value, "//") {
		return false
	}
	if f.set(strings.ToLower(key), value) {
		return true
	}
	f.tell("Unknown filter “%s”: it was searched for as a word. There are %s.", cut(token, 60), knownKeys)
	return false
}

// isKey reports whether a text can be the name of a filter: letters, perhaps after a minus.
func isKey(text string) bool {
	text = strings.TrimPrefix(text, "-")
	return text != "" && strings.Trim(strings.ToLower(text), "abcdefghijklmnopqrstuvwxyz_") == ""
}

// set narrows the list by a key. It reports whether there is such a key; a value that it does not take is told.
func (f *filter) set(key, value string) bool {
	switch key {
	case "label":
		f.Labels = append(f.Labels, bare(value, "~"))
	case "-label":
		f.Not.Labels = append(f.Not.Labels, bare(value, "~"))
	case "milestone":
		f.Milestone = bare(value, "%")
	case "-milestone":
		f.Not.Milestone = bare(value, "%")
	case "author":
		f.Author = value
	case "-author":
		f.Not.Author = value
	case "assignee":
		if f.Assignee = value; !slices.Contains([]string{"none", "any"}, strings.ToLower(value)) {
			f.Assignee = "@" + named(value)
		}
	case "-assignee":
		f.Not.Assignee = value
	default:
		return f.setWord(key, strings.ToLower(value))
	}
	return true
}

// bare is a name without the sign that texts write before it, as ~"to do" for a label.
func bare(value, sign string) string { return strings.Trim(strings.TrimPrefix(value, sign), `"`) }

// setWord narrows the list by what has few values, or is a number.
func (f *filter) setWord(key, value string) bool {
	switch key {
	case "confidential":
		if word := map[string]string{"yes": "yes", "true": "yes", "1": "yes", "no": "no", "false": "no", "0": "no"}[value]; word != "" {
			f.Confidential = word
		} else {
			f.refuse(key, value, "yes or no")
		}
	case "type":
		switch {
		case !slices.Contains(typeWords, value):
			f.refuse(key, value, "issue, incident or task")
		case f.Type != "" && f.Type != value:
			f.tell("The list can be narrowed to one type at a time: “%s” is left out.", value)
		default:
			f.Type = value
		}
	case "weight":
		if n, err := strconv.Atoi(value); err == nil && n >= 0 && n <= maxNumber {
			f.Weight = strconv.Itoa(n)
		} else {
			f.refuse(key, value, "a number")
		}
	case "due":
		if value == "0" {
			value = "none"
		}
		if slices.Contains(dueWords, value) {
			f.Due = value
		} else {
			f.refuse(key, value, "none, any, today, tomorrow, overdue, week or month")
		}
	default:
		return false
	}
	return true
}

// refuse tells that a key does not take a value.
func (f *filter) refuse(key, value, takes string) {
	f.tell("Unknown filter “%s:%s”: %s takes %s. The list is not narrowed by it.", key, cut(value, 60), key, takes)
}

// assigneeID reads whether an issue is assigned to somebody, as addresses from elsewhere say it. People are known by name.
func (f *filter) assigneeID(id string) {
	switch id {
	case "":
	case "0", "none":
		f.Assignee = "none"
	case "any":
		f.Assignee = "any"
	default:
		f.tell("Unknown filter “assignee_id=%s”: name the person, as assignee_username=ada.", cut(id, 60))
	}
}

// unquoted is words without the quotes around them, which say that they are no filter.
func unquoted(words string) string {
	all := tokens(words)
	for n, word := range all {
		if len(word) > 2 && word[0] == '"' && word[len(word)-1] == '"' {
			all[n] = word[1 : len(word)-1]
		}
	}
	return strings.Join(all, " ")
}
