// Package changelog writes what changed between two versions of a project,
// from the trailers of its commits: which commits count, under which heading
// each stands, how the section reads, and where in the file it goes. It does
// not own commits and files (repository), nor people (user).
//
// Tables: none.
package changelog

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"

	"stithy/internal/gitstore"
)

// What a changelog may be made of.
const (
	maxCommits  = 15_000
	maxConfig   = 64 << 10 // bytes of the configuration
	maxTemplate = 32 << 10
	maxFile     = 10 << 20 // bytes of the file that a section joins
	maxPattern  = 1_000    // bytes of the pattern of tags
	maxProgram  = 2_000    // steps that the pattern compiles to
	maxTags     = 100_000
	maxGroups   = 100
)

// generationError is a failure that the person who asked can mend.
type generationError struct{ text string }

func (e *generationError) Error() string { return e.text }

func failed(format string, args ...any) error {
	return &generationError{fmt.Sprintf(format, args...)}
}

// semantic is a version as semver.org writes it, with the letter that tags often have.
var semantic = regexp.MustCompile(`^v?(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)` +
	`(?:-[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?$`)

// parseVersion reads a version, with or without a leading "v".
func parseVersion(text string) (*semver.Version, error) {
	if len(text) > 255 || !semantic.MatchString(text) {
		return nil, errors.New("not a semantic version")
	}
	return semver.StrictNewVersion(strings.TrimPrefix(text, "v"))
}

const defaultTagPattern = `^v?(?P<major>0|[1-9]\d*)\.(?P<minor>0|[1-9]\d*)\.(?P<patch>0|[1-9]\d*)` +
	`(?:-(?P<pre>[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+(?P<meta>[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?$`

// tagPattern finds the version in the name of a tag.
type tagPattern struct {
	expression                     *regexp.Regexp
	major, minor, patch, pre, meta int // groups; -1 where there is none
}

// compileTags takes a pattern that finds versions in bounded time.
func compileTags(pattern string) (*tagPattern, error) {
	refuse := func(detail string) error {
		return failed("The regular expression to use for finding the previous tag for a version is invalid: %s", detail)
	}
	if len(pattern) > maxPattern {
		return nil, refuse("it is too long")
	}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, refuse(err.Error())
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, refuse(err.Error())
	}
	if len(program.Inst) > maxProgram {
		return nil, refuse("it is too large")
	}
	expression, err := regexp.Compile(pattern)
	if err != nil {
		return nil, refuse(err.Error())
	}
	t := &tagPattern{
		expression: expression, major: expression.SubexpIndex("major"), minor: expression.SubexpIndex("minor"),
		patch: expression.SubexpIndex("patch"), pre: expression.SubexpIndex("pre"), meta: expression.SubexpIndex("meta"),
	}
	if t.major < 0 || t.minor < 0 || t.patch < 0 {
		return nil, refuse("it must have the groups major, minor and patch")
	}
	return t, nil
}

// version is the stable version that a tag names, or nil.
func (t *tagPattern) version(tag string) *semver.Version {
	found := t.expression.FindStringSubmatch(tag)
	if len(found) == 0 || (t.pre >= 0 && found[t.pre] != "") {
		return nil
	}
	text := found[t.major] + "." + found[t.minor] + "." + found[t.patch]
	if t.meta >= 0 && found[t.meta] != "" {
		text += "+" + found[t.meta]
	}
	v, err := parseVersion(text)
	if err != nil {
		return nil
	}
	return v
}

// before finds the tag of the highest version below another. more reports
// false when there is no time left to look.
func (t *tagPattern) before(version *semver.Version, tags []gitstore.Ref, more func() bool) (gitstore.Ref, error) {
	var best *semver.Version
	var at gitstore.Ref
	for i, tag := range tags {
		if i%64 == 0 && !more() {
			return at, failed("The tags could not be searched in time")
		}
		if v := t.version(tag.TagName()); v != nil && v.LessThan(version) && (best == nil || best.LessThan(v)) {
			best, at = v, tag
		}
	}
	if best == nil {
		return at, failed("The commit start range is unspecified, and no previous tag could be found to use instead")
	}
	return at, nil
}

// entry is one line of a section.
type entry struct {
	commit   *gitstore.Commit
	category string // as the trailer has it
	trailers map[string]string
}

var reverts = regexp.MustCompile(`(?im)^this reverts commit ([0-9a-f]{40})`)

// choose picks the commits that carry the trailer, newest first, without those
// that a newer one takes back.
func choose(commits []*gitstore.Commit, trailer string) (chosen []entry) {
	undone := map[gitstore.OID]bool{}
	for _, c := range commits {
		if undone[c.ID] {
			continue
		}
		_, description, _ := strings.Cut(c.Message, "\n")
		if m := reverts.FindStringSubmatch(description); m != nil {
			undone[gitstore.OID(strings.ToLower(m[1]))] = true
		}
		trailers := map[string]string{}
		for _, t := range gitstore.Trailers(c.Message) {
			trailers[t.Key] = t.Value
		}
		if category, ok := trailers[trailer]; ok {
			chosen = append(chosen, entry{commit: c, category: category, trailers: trailers})
		}
	}
	return chosen
}

// author is a person that a section may name.
type author struct {
	username    string
	contributor bool // gave something without being a member
	credit      bool // is to be thanked by name
}

// data is what a template sees.
func data(chosen []entry, config *config, projectPath string, authors map[string]author) map[string]any {
	var order []string
	entries := map[string][]any{}
	for _, c := range config.categories {
		if !slices.Contains(order, c.title) {
			order = append(order, c.title)
		}
	}
	for _, e := range chosen {
		title := config.titleOf(e.category)
		if !slices.Contains(order, title) {
			order = append(order, title)
		}
		item := map[string]any{
			"title":  titleOf(e.commit.Message),
			"commit": map[string]any{"reference": projectPath + "@" + string(e.commit.ID), "trailers": pairs(e.trailers)},
		}
		if a, known := authors[strings.ToLower(e.commit.Author.Email)]; known {
			item["author"] = map[string]any{"reference": "@" + a.username, "contributor": a.contributor, "credit": a.credit}
		}
		entries[title] = append(entries[title], item)
	}
	categories := []any{}
	for _, title := range order {
		if list := entries[title]; list != nil {
			categories = append(categories, map[string]any{
				"title": title, "count": len(list), "single_change": len(list) == 1, "entries": list,
			})
		}
	}
	return map[string]any{"categories": categories}
}

func titleOf(message string) string {
	first, _, _ := strings.Cut(strings.TrimLeft(message, "\n"), "\n")
	return strings.TrimRight(first, "\r ")
}

// section is the part of the file that a version gets.
func section(version, date, body string) string {
	return "## " + version + " (" + date + ")\n\n" + strings.TrimSpace(body) + "\n\n"
}

// heading finds the versions that a file tells of.
var heading = regexp.MustCompile(`(?m)^##[ \t]+(v?\d+\.\d+\.\d+[0-9A-Za-z.+-]*)`)

// join puts a section where its version belongs: before the highest one that
// is lower, else at the end. changed is false when the version is there.
func join(file, version, section string) (text string, changed bool) {
	this, err := parseVersion(version)
	if err != nil {
		return file, false
	}
	at := -1
	var below *semver.Version
	for _, found := range heading.FindAllStringSubmatchIndex(file, -1) {
		name := file[found[2]:found[3]]
		if strings.TrimPrefix(name, "v") == strings.TrimPrefix(version, "v") {
			return file, false
		}
		v, err := parseVersion(name)
		if err == nil && v.LessThan(this) && (below == nil || below.LessThan(v)) {
			below, at = v, found[0]
		}
	}
	switch {
	case at >= 0:
		return file[:at] + section + file[at:], true
	case file == "":
		return section, true
	}
	return strings.TrimRight(file, "\n") + "\n\n" + section, true
}

// day is the moment that a section is dated with.
func day(given *time.Time, now time.Time) time.Time {
	if given != nil {
		return *given
	}
	return now.UTC()
}
