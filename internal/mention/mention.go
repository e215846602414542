// Package mention owns who and what is named in what people write about issues: the people whom a description or a comment names, the note at an
// issue that another one or a commit names it, what the messages of commits close, and who takes part in an issue.
//
// It does not own the texts (issue, note, repository), nor what people are asked to do for being named (todo). It reads texts in the transaction that
// writes them, with the rights that everyone has then; messages of commits in a job that a push leaves behind.
//
// Tables: issue_mentions.
package mention

import (
	"slices"
	"strings"
	"time"

	"stithy/internal/issue"
	"stithy/internal/kit/access"
	"stithy/internal/kit/markdown"
	"stithy/internal/note"
	"stithy/internal/project"
)

// What one text may name: each is a question to the database, or a row.
const (
	maxNames    = 50  // of people and groups
	maxGroups   = 10  // of those
	maxPeople   = 100 // with the members of groups
	maxProjects = 20  // of issues
	maxIssues   = 20
)

// everyone is the name of all members of a project.
const everyone = "all"

// text is something that somebody wrote: the description of an issue, or a note about it.
type text struct {
	By      access.Actor
	At      time.Time
	Project *project.Project
	Issue   *issue.Issue
	Note    *note.Note // nil of a description
}

func (t text) internal() bool { return t.Note != nil && t.Note.Internal }

func (t text) noteID() *int64 {
	if t.Note == nil {
		return nil
	}
	return &t.Note.ID
}

// names are those of people and groups, each once and in lower case, and whether it is addressed.
type names struct {
	all    []string
	direct map[string]bool
}

func namesOf(refs []markdown.Reference) names {
	n := names{direct: map[string]bool{}}
	for _, r := range refs {
		name := strings.ToLower(r.Name)
		if r.Kind != markdown.Mention || (len(n.all) == maxNames && !slices.Contains(n.all, name)) {
			continue
		}
		if !slices.Contains(n.all, name) {
			n.all = append(n.all, name)
		}
		n.direct[name] = n.direct[name] || r.Direct
	}
	return n
}

func (n names) has(name string) bool { return slices.Contains(n.all, name) }

// same reports whether two texts name the same.
func (n names) same(other names) bool {
	return len(n.all) == len(other.all) && !slices.ContainsFunc(n.all, func(name string) bool { return !other.has(name) })
}

// Person is somebody whom a text names.
type Person struct {
	ID     int64
	Direct bool // the text begins with their name

	known bool // an earlier form of the text had their name, or that of their group
}

// people are each person once.
type people []Person

// add notes that a name stands for somebody.
func (p *people) add(id int64, direct, known bool) {
	if n := slices.IndexFunc(*p, func(other Person) bool { return other.ID == id }); n >= 0 {
		(*p)[n].Direct, (*p)[n].known = (*p)[n].Direct || direct, (*p)[n].known || known
	} else if len(*p) < maxPeople {
		*p = append(*p, Person{id, direct, known})
	}
}

func (p people) ids() []int64 {
	ids := make([]int64, len(p))
	for n := range p {
		ids[n] = p[n].ID
	}
	return ids
}

// without are those who are not among some.
func (p people) without(ids []int64) people {
	return slices.DeleteFunc(slices.Clone(p), func(who Person) bool { return slices.Contains(ids, who.ID) })
}

// among are those who are.
func (p people) among(ids []int64) people {
	return slices.DeleteFunc(slices.Clone(p), func(who Person) bool { return !slices.Contains(ids, who.ID) })
}

// fresh are those whom the text did not name before.
func (p people) fresh() people {
	return slices.DeleteFunc(slices.Clone(p), func(who Person) bool { return who.known })
}
