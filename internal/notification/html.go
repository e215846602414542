package notification

import (
	"context"
	"net/url"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// html is a letter as a page of its own. Programs that read mail know little: styles stand at each element, and nothing is fetched.
func (l *letter) html() string {
	var b strings.Builder
	if err := letterPage(l).Render(context.Background(), &b); err != nil {
		return "" // nothing but memory can fail; the text says all of it
	}
	return b.String()
}

// styles of the elements that texts may have in a mail. Of others the content stays.
var styles = map[atom.Atom]string{
	atom.P: "margin:0 0 12px", atom.Br: "", atom.Strong: "", atom.B: "", atom.Em: "", atom.I: "", atom.Del: "", atom.S: "", atom.Ins: "", atom.Sub: "", atom.Sup: "",
	atom.A: "color:#2a4fc4", atom.Ul: "margin:0 0 12px;padding-left:24px", atom.Ol: "margin:0 0 12px;padding-left:24px", atom.Li: "margin:0 0 4px",
	atom.H1: "font-size:20px;margin:16px 0 8px", atom.H2: "font-size:18px;margin:16px 0 8px", atom.H3: "font-size:16px;margin:16px 0 8px",
	atom.H4: "font-size:15px;margin:16px 0 8px", atom.H5: "font-size:15px;margin:16px 0 8px", atom.H6: "font-size:15px;margin:16px 0 8px",
	atom.Blockquote: "margin:0 0 12px;padding:0 12px;border-left:3px solid #dde1e7;color:#575f6b", atom.Hr: "border:0;border-top:1px solid #dde1e7",
	atom.Code: mono + ";background:#eceff3", atom.Kbd: mono + ";background:#eceff3",
	atom.Pre:   mono + ";background:#f6f7f9;border:1px solid #dde1e7;border-radius:6px;padding:8px 12px;margin:0 0 12px;white-space:pre-wrap;overflow-wrap:anywhere",
	atom.Table: "border-collapse:collapse;margin:0 0 12px", atom.Thead: "", atom.Tbody: "", atom.Tr: "",
	atom.Th: "border:1px solid #dde1e7;padding:4px 8px;text-align:left", atom.Td: "border:1px solid #dde1e7;padding:4px 8px",
	atom.Dl: "", atom.Dt: "font-weight:600", atom.Dd: "margin:0 0 8px 16px", atom.Div: "", atom.Span: "",
}

const mono = "font-family:ui-monospace,Menlo,Consolas,monospace;font-size:13px"

// unread are elements that go with what they hold.
var unread = map[atom.Atom]bool{atom.Script: true, atom.Style: true, atom.Svg: true, atom.Head: true, atom.Title: true, atom.Iframe: true, atom.Object: true}

// styled is rendered HTML for a mail: its elements with their styles and no other attribute than the address of a link, pictures as links to them.
// What a reader's program would fetch by itself tells somebody that they read it.
func styled(rendered, at, base string) string {
	nodes, err := html.ParseFragment(strings.NewReader(rendered), &html.Node{Type: html.ElementNode, Data: "div", DataAtom: atom.Div})
	if err != nil {
		return ""
	}
	w := &mailHTML{at: at, base: base}
	for _, n := range nodes {
		w.node(n, false)
	}
	return w.String()
}

// preformatted is a text as it is.
func preformatted(text string) string {
	if text == "" {
		return ""
	}
	return `<pre style="` + styles[atom.Pre] + `">` + html.EscapeString(text) + `</pre>`
}

type mailHTML struct {
	strings.Builder
	at, base string // the page of what it is about, and of the instance
}

func (w *mailHTML) node(n *html.Node, linked bool) {
	switch n.Type {
	case html.TextNode:
		w.WriteString(html.EscapeString(n.Data))
		return
	case html.ElementNode:
	default:
		return
	}
	style, known := styles[n.DataAtom]
	switch {
	case unread[n.DataAtom]:
		return
	case n.DataAtom == atom.Img:
		w.picture(n, linked)
		return
	case n.DataAtom == atom.Input:
		box := "☐ "
		if _, checked := attribute(n, "checked"); checked {
			box = "☑ "
		}
		w.WriteString(box)
		return
	}
	name := n.DataAtom.String()
	if known {
		w.WriteString("<" + name)
		if style != "" {
			w.WriteString(` style="` + style + `"`)
		}
		if href, has := attribute(n, "href"); has && n.DataAtom == atom.A {
			if to := w.address(href); to != "" {
				w.WriteString(` href="` + html.EscapeString(to) + `"`)
			}
		}
		w.WriteString(">")
		if n.DataAtom == atom.Br || n.DataAtom == atom.Hr {
			return
		}
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		w.node(c, linked || n.DataAtom == atom.A)
	}
	if known {
		w.WriteString("</" + name + ">")
	}
}

// picture is a link to a picture, or its description where that is part of a link already.
func (w *mailHTML) picture(n *html.Node, linked bool) {
	alt, _ := attribute(n, "alt")
	if alt == "" {
		alt = "Picture"
	}
	src, _ := attribute(n, "src")
	to := w.address(src)
	if linked || to == "" {
		w.WriteString(html.EscapeString(alt))
		return
	}
	w.WriteString(`<a style="` + styles[atom.A] + `" href="` + html.EscapeString(to) + `">` + html.EscapeString(alt) + `</a>`)
}

// address is where a link leads, seen from outside. It is empty for one that leads nowhere.
func (w *mailHTML) address(href string) string {
	u, err := url.Parse(href)
	if err != nil {
		return ""
	}
	switch u.Scheme {
	case "http", "https", "mailto":
		return u.String()
	case "":
	default:
		return ""
	}
	root, err := url.Parse(w.at)
	if err != nil {
		return ""
	}
	return root.ResolveReference(u).String()
}

func attribute(n *html.Node, name string) (string, bool) {
	for _, a := range n.Attr {
		if a.Key == name && a.Namespace == "" {
			return a.Val, true
		}
	}
	return "", false
}
