// Package template owns what the descriptions of issues and merge requests may begin with: the Markdown files that the default branch of a project
// has in the folders for them. It does not own the files (repository), nor the descriptions.
//
// Tables: none.
package template

import (
	"strings"

	"stithy/internal/kit/fault"
	"stithy/internal/kit/wire"
)

// Kind says what a template is for.
type Kind string

const (
	Issues        Kind = "issues"
	MergeRequests Kind = "merge_requests"
)

// folder is where a repository keeps templates of a kind.
func (k Kind) folder(n wire.Names) string {
	if k == MergeRequests {
		return n.MergeRequestTemplates()
	}
	return n.IssueTemplates()
}

const (
	maxBytes  = 1 << 20 // of a template, as of a description
	maxListed = 1000
	extension = ".md"
	byDefault = "default" // in any case: what a description begins with that is empty
)

// Template is a text with a name.
type Template struct {
	Name    string
	Content string
}

// nameOf is the name of the template in a file, "" where it is none.
func nameOf(file string) string {
	name, ok := strings.CutSuffix(file, extension)
	if !ok {
		return ""
	}
	return name
}

var errMissing = fault.NotFoundf("Template")
