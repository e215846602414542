package overview

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"net/http"
	"strconv"
	"time"

	"stithy/internal/event"
	"stithy/internal/kit/paging"
	"stithy/internal/web/page"
)

// feedSuffix follows the path of what happened, as programs read it.
const feedSuffix = ".atom"

// feedEntries is how many events a feed holds.
const feedEntries = 20

// atomFeed is a list of what happened, as RFC 4287 has it.
type atomFeed struct {
	XMLName xml.Name    `xml:"http://www.w3.org/2005/Atom feed"`
	ID      string      `xml:"id"`
	Title   string      `xml:"title"`
	Updated string      `xml:"updated"`
	Links   []atomLink  `xml:"link"`
	Entries []atomEntry `xml:"entry"`
}

type atomLink struct {
	Rel  string `xml:"rel,attr"`
	Type string `xml:"type,attr"`
	Href string `xml:"href,attr"`
}

type atomEntry struct {
	ID      string     `xml:"id"`
	Title   string     `xml:"title"`
	Updated string     `xml:"updated"`
	Author  atomPerson `xml:"author"`
	Link    atomLink   `xml:"link"`
	Summary string     `xml:"summary,omitempty"`
}

type atomPerson struct {
	Name string `xml:"name"`
	URI  string `xml:"uri"`
}

const atomType = "application/atom+xml"

// feed answers with the latest events. What is asked for again and did not change is not sent again.
func (a activity) feed(x *page.Request) error {
	found, err := a.list(paging.Request{PerPage: feedEntries, Keyset: true, Desc: true})
	if err != nil {
		return err
	}
	content, err := xml.MarshalIndent(a.atom(x, found.Items), "", " ")
	if err != nil {
		return err
	}
	content = append([]byte(xml.Header), content...)
	sum := sha256.Sum256(content)
	x.Headers()
	h := x.W.Header()
	h.Set("Content-Type", atomType+"; charset=utf-8")
	h.Set("Cache-Control", "private, no-cache")
	h.Set("Etag", `"`+hex.EncodeToString(sum[:16])+`"`)
	http.ServeContent(x.W, x.R, "", time.Time{}, bytes.NewReader(content))
	return nil
}

func (a activity) atom(x *page.Request, events []event.Shown) atomFeed {
	whole := func(at page.URL) string { return x.ExternalURL.Scheme + "://" + x.ExternalURL.Host + string(at) }
	self := whole(x.Link(a.path))
	f := atomFeed{
		ID: self, Title: "Activity · " + a.title, Updated: stamp(a.since),
		Links: []atomLink{{"self", atomType, self + feedSuffix}, {"alternate", "text/html", self}},
	}
	for n := range events {
		e := &events[n]
		words := a.words(x.Kit, e)
		one := atomEntry{
			ID:    "tag:" + x.ExternalURL.Hostname() + "," + e.CreatedAt.UTC().Format(time.DateOnly) + ":event/" + strconv.FormatInt(e.ID, 10),
			Title: e.Author.Name + " " + sentence(words), Updated: stamp(e.CreatedAt), Summary: detailOf(e),
			Author: atomPerson{Name: e.Author.Name, URI: whole(x.Link(activityOf(e.Author.Username)))},
			Link:   atomLink{"alternate", "text/html", whole(x.Link("/" + e.Project.FullPath()))},
		}
		for _, w := range words {
			if w.URL != "" {
				one.Link.Href = whole(w.URL) // the first is what it is about
				break
			}
		}
		f.Entries = append(f.Entries, one)
	}
	if len(f.Entries) > 0 {
		f.Updated = f.Entries[0].Updated
	}
	return f
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func feedProjectActivity(x *projectRequest) error {
	return projectActivity(x).feed(x.Request.Request)
}

func feedGroupActivity(x *groupRequest) error {
	return groupActivity(x).feed(x.Request.Request)
}

func feedPersonActivity(x *request) error {
	u, err := personOf(x)
	if err != nil {
		return err
	}
	return personActivity(x, u).feed(x.Request)
}
