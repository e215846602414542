package wiki

import (
	"net/url"
	"path"
	"strings"

	"golang.org/x/net/html"

	"stithy/internal/owner"
)

// Suffix is what git clients write behind the path of the project or group that a wiki belongs to.
const Suffix = ".wiki"

// Path is how git names the repository of a wiki.
func Path(of *owner.Owner) string {
	if of.Group != nil {
		return of.Group.FullPath + Suffix
	}
	return of.Project.FullPath() + Suffix
}

// WebPath is the path of a page for people, by its slug; that of the wiki where the slug is empty.
func WebPath(of *owner.Owner, slug string) string {
	var at string
	if of.Group != nil {
		at = "/groups/" + of.Group.FullPath
	} else {
		at = "/" + of.Project.FullPath()
	}
	at += "/-/wikis"
	if slug != "" {
		at += "/" + Escaped(slug)
	}
	return at
}

// Escaped is a slug as it stands in an address.
func Escaped(slug string) string {
	parts := strings.Split(slug, "/")
	for i, part := range parts {
		parts[i] = url.PathEscape(part)
	}
	return strings.Join(parts, "/")
}

// relink reads the links of a page that was rendered from the top of its wiki, wherever the page is and wherever it is shown: at is the address
// of the wiki. Those that begin with a dot are read from the folder of the page.
func relink(shown, at, slug string) string {
	if !strings.Contains(shown, `href="`) && !strings.Contains(shown, `src="`) {
		return shown
	}
	var out strings.Builder
	z := html.NewTokenizer(strings.NewReader(shown))
	for {
		kind := z.Next()
		if kind == html.ErrorToken {
			return out.String()
		}
		raw := string(z.Raw()) // Token takes it away
		if kind != html.StartTagToken && kind != html.SelfClosingTagToken {
			out.WriteString(raw)
			continue
		}
		t, changed := z.Token(), false
		for i, a := range t.Attr {
			if to, inside := resolve(a.Val, at, slug); inside && (t.Data == "a" && a.Key == "href" || t.Data == "img" && a.Key == "src") {
				t.Attr[i].Val, changed = to, true
			}
		}
		if changed {
			raw = t.String()
		}
		out.WriteString(raw)
	}
}

// resolve is the address that a link of a page stands for, if it stays in the wiki.
func resolve(link, at, slug string) (to string, inside bool) {
	u, err := url.Parse(link)
	if err != nil || u.Scheme != "" || u.Host != "" || u.Path == "" || strings.Contains(u.Path, "/-/") {
		return "", false // it leads elsewhere, or to a part of the same page
	}
	folder := ""
	if first, _, _ := strings.Cut(u.Path, "/"); first == "." || first == ".." {
		folder = path.Dir(slug)
	}
	to = at + "/" + Escaped(strings.TrimPrefix(path.Join("/", folder, u.Path), "/"))
	u.Path, u.RawPath = "", ""
	return to + u.String(), true
}
