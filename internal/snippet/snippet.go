// Package snippet owns snippets: a few files that a person keeps for
// themselves or in a project, and shows to others. Each has a git repository of
// its own.
//
// It does not own the repositories (repository), nor how git reaches them
// (githttp, gitssh).
//
// Tables: snippets.
package snippet

import (
	"path"
	"strings"
	"time"
	"unicode/utf8"

	"stithy/internal/gitstore"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/project"
)

// Snippet is a snippet of a person, or of a project.
type Snippet struct {
	ID           int64
	AuthorID     *int64 // nil when the account is gone
	ProjectID    *int64 // nil where it is the author's own
	RepositoryID int64
	Title        string
	Description  *string
	Visibility   access.Visibility
	Files        []string // paths
	Branch       string
	Hidden       bool // its author is banned
	CreatedAt    time.Time
	UpdatedAt    time.Time
}

// Change is what a snippet becomes. What is nil stays.
type Change struct {
	Title       *string
	Description **string
	Visibility  *access.Visibility
	Files       []File
	Seen        time.Time // when the snippet had changed last as its writer began: after another time it stays; zero: whatever it is
}

// Limits of a snippet.
const (
	MaxFiles       = 10
	maxTitle       = 255
	maxDescription = 1 << 20
)

// Edits of a file.
const (
	Create = "create"
	Update = "update"
	Delete = "delete"
	Move   = "move"
)

// File is one edit of the files of a snippet.
type File struct {
	Action       string
	Path         string
	PreviousPath string
	Content      *string
}

// MayRead decides who reads a snippet, for every way to it; lists say the same in SQL (readable). p is its project, nil
// where it has none.
func MayRead(a access.Actor, p *project.Project, s *Snippet) bool {
	if s.Hidden && !a.Admin() {
		return false
	}
	own := s.AuthorID != nil && a.SignedIn() && a.Is(*s.AuthorID)
	open := access.Target{Visibility: s.Visibility}
	if p == nil {
		return own || access.Sees(a, open)
	}
	target := p.Target()
	open.Powerless = target.Powerless
	return access.Holds(a, access.ReadSnippets, target) && (own || access.Sees(a, open) || access.Holds(a, access.ReadPrivateSnippets, target))
}

// MayKeep decides who may have personal snippets.
func MayKeep(a access.Actor) bool { return a.SignedIn() && !a.Person.External }

// MayEdit decides who changes and deletes a snippet that they may read: its author, and in a project who manages its snippets.
func MayEdit(a access.Actor, p *project.Project, s *Snippet) bool {
	own := s.AuthorID != nil && a.SignedIn() && a.Is(*s.AuthorID)
	if p == nil {
		return own
	}
	target := p.Target()
	return (own && access.Holds(a, access.EditSnippets, target)) || access.Holds(a, access.AdminSnippets, target)
}

func (s *Snippet) check() error {
	switch {
	case strings.TrimSpace(s.Title) == "":
		return refused("Title can't be blank")
	case utf8.RuneCountInString(s.Title) > maxTitle:
		return refused("Title is too long (maximum is %d characters)", maxTitle)
	case s.Description != nil && len(*s.Description) > maxDescription:
		return refused("Description is too long (%d Bytes). The maximum size is %d Bytes.", len(*s.Description), maxDescription)
	}
	return nil
}

func refused(format string, args ...any) error {
	return fault.Within(fault.Rejected, "error", format, args...)
}

// ValidPath reports whether a file of a snippet may have a path.
func ValidPath(path string) bool { return gitstore.CheckPath(strings.Trim(path, "/")) == nil }

var errEdits = fault.Within(fault.Unprocessable, "error", "Snippet actions have invalid data")

// checkEdits says what is wrong with edits, whatever the snippet holds.
func checkEdits(files []File, maxBytes int) error {
	if len(files) > MaxFiles {
		return refused("Snippet files count can't exceed %d", MaxFiles)
	}
	total, made := 0, map[string]bool{}
	for _, f := range files {
		if f.Action == Create && made[f.Path] {
			return refused("A file with this name already exists")
		}
		made[f.Path] = f.Action == Create
		if f.Content != nil {
			total += len(*f.Content)
		}
		switch f.Action {
		case Create:
			if f.Content == nil {
				return errEdits
			}
		case Update:
			if f.Content == nil || f.Path == "" {
				return errEdits
			}
		case Move:
			if f.PreviousPath == "" || f.PreviousPath == f.Path || f.Path == "" {
				return errEdits
			}
		case Delete:
			if f.Path == "" {
				return errEdits
			}
		default:
			return errEdits
		}
	}
	for file, is := range made {
		for dir := path.Dir(file); is && dir != "." && dir != "/"; dir = path.Dir(dir) {
			if made[dir] {
				return refused("%s is a file and cannot be a folder, too", dir)
			}
		}
	}
	if total > maxBytes {
		return refused("Content is too long (%d Bytes). The maximum size is %d Bytes.", total, maxBytes)
	}
	return nil
}

// change is an edit as the store takes it.
func (f File) change() gitstore.Change {
	c := gitstore.Change{Path: strings.Trim(f.Path, "/")}
	if f.Content != nil {
		c.Content = []byte(*f.Content)
	}
	switch f.Action {
	case Create:
		c.Create = true
	case Delete:
		c.Delete, c.Content = true, nil
	case Move:
		c.From = strings.Trim(f.PreviousPath, "/")
	}
	return c
}
