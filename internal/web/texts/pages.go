// Package texts is the pages of texts that have a repository of their own: wikis and snippets.
package texts

import (
	"slices"

	"stithy/internal/markdown"
	"stithy/internal/project"
	"stithy/internal/snippet"
	"stithy/internal/web/grouppage"
	"stithy/internal/web/page"
	"stithy/internal/web/projectpage"
	"stithy/internal/wiki"
)

// Deps is what the pages call.
type Deps struct {
	Projects *project.Service
	Wikis    *wiki.Service
	Snippets *snippet.Service
	Markdown *markdown.Service
}

// Pages are the pages that are about neither a group nor a project.
func Pages(d Deps) []page.Page { return ownSnippets(d) }

// GroupPages are the pages about a group.
func GroupPages(d Deps) []grouppage.Page { return groupWikis(d) }

// ProjectPages are the pages about a project.
func ProjectPages(d Deps) []projectpage.Page {
	return slices.Concat(projectWikis(d), projectSnippets(d))
}

// clone is where git reaches a repository; SSH where it is served.
type clone struct{ HTTP, SSH string }

func (d Deps) clone(path string) clone {
	c := clone{HTTP: d.Projects.HTTPAddressOf(path)}
	if d.Projects.ServesSSH() {
		c.SSH = d.Projects.SSHAddressOf(path)
	}
	return c
}

// maxEdited is how many bytes of texts a form holds: written for a browser they still fit into what a page takes.
const maxEdited = 1 << 20
