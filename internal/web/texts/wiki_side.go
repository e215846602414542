package texts

import (
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"stithy/internal/kit/fault"
	"stithy/internal/kit/paging"
	"stithy/internal/web/page"
	"stithy/internal/wiki"
)

const (
	maxSide         = 100 // pages beside a page
	maxDepth        = 5   // folders in each other; what is deeper is named by its path
	pagesPerPage    = 50
	versionsPerPage = 20
	maxTold         = 200 // letters of what was said about a change
)

// wikiSide is what stands beside the pages of a wiki.
type wikiSide struct {
	Own   []byte // HTML of the page that somebody made for it
	Pages []sideNode
	More  bool // there are others
	All   page.URL
}

// sideNode is a page or a folder of a wiki, with what is below it.
type sideNode struct {
	Name  string
	URL   page.URL // empty: it is a folder alone
	Here  bool
	Below []sideNode

	part string // of the path
}

// side is what stands beside a page.
func (x *wikiRequest) side(here string) (side wikiSide, err error) {
	own, err := x.deps.Wikis.Find(x.Context(), x.owner.Entity, sidebarSlug, "")
	switch {
	case err == nil && here != sidebarSlug:
		shown, err := x.deps.Wikis.Show(x.Context(), x.Actor, x.owner, own)
		if err != nil {
			return side, err
		}
		side.Own = []byte(shown)
	case err != nil && !fault.Is(err, fault.NotFound) && !fault.Is(err, fault.TooLarge):
		return side, err
	}
	pages, more, err := x.deps.Wikis.Contents(x.Context(), x.owner.Entity, maxSide)
	if err != nil {
		return side, err
	}
	for i := range pages {
		if p := &pages[i]; p.Slug != sidebarSlug {
			side.Pages = put(side.Pages, strings.SplitN(p.Slug, "/", maxDepth), sideNode{Name: p.Title, URL: x.Link(x.shown(p)), Here: p.Slug == here})
		}
	}
	side.All, side.More = x.Link(x.path(pagesSlug, "")), more
	return side, nil
}

// put adds a page below the folders that its path names. A page comes before the folder of its name, and they are one.
func put(nodes []sideNode, parts []string, leaf sideNode) []sideNode {
	if len(parts) == 1 {
		if leaf.part = parts[0]; strings.Contains(leaf.part, "/") {
			leaf.Name = leaf.part
		}
		return append(nodes, leaf)
	}
	i := slices.IndexFunc(nodes, func(n sideNode) bool { return n.part == parts[0] })
	if i < 0 {
		i, nodes = len(nodes), append(nodes, sideNode{Name: strings.ReplaceAll(parts[0], "-", " "), part: parts[0]})
	}
	nodes[i].Below = put(nodes[i].Below, parts[1:], leaf)
	return nodes
}

// pagesBody is one page of all pages of a wiki.
type pagesBody struct {
	Pages []pageRow
	Pager page.Pager
	Clone clone
}

// pageRow is a page in a list.
type pageRow struct {
	Title  string
	Folder string
	Format string // where it is not the usual one
	URL    page.URL
}

func showPages(x *wikiRequest) error {
	all, err := x.deps.Wikis.Pages(x.Context(), x.owner.Entity, false)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		x.Redirect(x.at(wikisPath))
		return nil
	}
	req := x.Numbered("page", pagesPerPage)
	found := paging.Cut(all, req)
	body := pagesBody{Clone: x.deps.clone(wiki.Path(x.owner))}
	for i := range found.Items {
		p := &found.Items[i]
		row := pageRow{Title: p.Title, URL: x.Link(x.shown(p))}
		if folder := path.Dir(p.Slug); folder != "." {
			row.Folder = folder
		}
		if p.Format != wiki.Markdown {
			row.Format = formatName(p.Format)
		}
		body.Pages = append(body.Pages, row)
	}
	body.Pager = x.NumberedPager(x.path(pagesSlug, ""), url.Values{}, "page", "", req, found.More)
	body.Pager.BackText, body.Pager.OnwardText = "Previous", "Next"
	body.Pager.Note = counted(found.Total, "page")
	l := x.layout("All pages", wikisPath)
	if x.may(wiki.ToWrite) {
		l.Actions = primaryLink(x.Link(x.path(newSlug, "")), "New page")
	}
	return x.Show(http.StatusOK, l, pagesPage(body))
}

// historyBody is one page of the versions of a page.
type historyBody struct {
	Versions []versionRow
	Pager    page.Pager
	Back     page.URL
	Title    string
}

// versionRow is a version in a list.
type versionRow struct {
	URL     page.URL
	Message string
	Author  string
	Commit  string
	When    *page.DisplayTime
}

func showHistory(x *wikiRequest, slug string) error {
	p, err := x.deps.Wikis.Find(x.Context(), x.owner.Entity, slug, "")
	if fault.Is(err, fault.NotFound) {
		return x.missing(slug)
	}
	if err != nil {
		return err
	}
	req := x.Numbered("page", versionsPerPage)
	found, err := x.deps.Wikis.History(x.Context(), x.owner.Entity, p, req)
	if err != nil {
		return err
	}
	body := historyBody{Back: x.Link(x.shown(p)), Title: cut(p.Title, maxTitle)}
	for _, v := range found.Items {
		said, _, _ := strings.Cut(strings.TrimSpace(v.Message), "\n")
		row := versionRow{
			URL: x.Link(x.version(slug, string(v.Commit))), Message: cut(said, maxTold), Author: v.Author, Commit: string(v.Commit)[:8], When: x.Time(&v.When),
		}
		if row.Message == "" {
			row.Message = "Without a message"
		}
		body.Versions = append(body.Versions, row)
	}
	body.Pager = x.NumberedPager(x.path(slug, historyAct), url.Values{}, "page", "", req, found.More)
	l := x.layout("History of "+body.Title, wikisPath)
	l.Facts = historyFacts(body)
	return x.Show(http.StatusOK, l, historyPage(body))
}
