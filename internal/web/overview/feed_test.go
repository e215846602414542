package overview_test

import (
	"encoding/base64"
	"encoding/xml"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"stithy/internal/kit/access"
	"stithy/internal/token/tokentest"
)

// feed is an Atom feed as a program reads it.
type feed struct {
	XMLName xml.Name  `xml:"http://www.w3.org/2005/Atom feed"`
	ID      string    `xml:"id"`
	Title   string    `xml:"title"`
	Updated time.Time `xml:"updated"`
	Links   []link    `xml:"link"`
	Entries []struct {
		ID      string    `xml:"id"`
		Title   string    `xml:"title"`
		Updated time.Time `xml:"updated"`
		Author  string    `xml:"author>name"`
		Link    link      `xml:"link"`
		Summary string    `xml:"summary"`
	} `xml:"entry"`
}

type link struct {
	Rel  string `xml:"rel,attr"`
	Href string `xml:"href,attr"`
}

// reads is a feed that is there, and has what every feed must have.
func (b *browser) reads(path string, headers ...string) feed {
	b.t.Helper()
	s := b.get(path, headers...)
	var f feed
	if err := xml.Unmarshal(s.Body.Bytes(), &f); err != nil || s.Code != http.StatusOK || s.Header().Get("Content-Type") != "application/atom+xml; charset=utf-8" {
		b.t.Fatalf("%s: %d %v %s", path, s.Code, err, s.Body)
	}
	ids := map[string]bool{}
	for _, e := range f.Entries {
		to, err := url.Parse(e.Link.Href)
		if ids[e.ID] || !strings.HasPrefix(e.ID, "tag:forge.example,") || e.Title == "" || e.Updated.IsZero() || e.Author == "" || err != nil || to.Host != "forge.example" {
			b.t.Errorf("%s: %+v", path, e)
		}
		ids[e.ID] = true
	}
	if page := "https://forge.example" + strings.TrimSuffix(path, ".atom"); f.ID != page || len(f.Links) != 2 || f.Links[0] != (link{"self", page + ".atom"}) ||
		f.Links[1] != (link{"alternate", page}) || f.Title == "" || f.Updated.IsZero() {
		b.t.Errorf("%s: %+v", path, f)
	}
	return f
}

func (f feed) titles() string {
	var all strings.Builder
	for _, e := range f.Entries {
		all.WriteString(e.Title + "\n" + e.Summary + "\n")
	}
	return all.String()
}

var feeds = []string{ofPerson + ".atom", ofProject + ".atom", ofGroup + ".atom"}

func TestActivityIsFollowedAsAtom(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for _, path := range feeds {
		if f := w.anonymous(t).reads(path); len(f.Entries) != 0 {
			t.Errorf("%s: nothing happened, and it has %d entries", path, len(f.Entries))
		}
	}
	w.joins(t, w.owner, w.open.ID, 30)
	w.Turn(time.Hour)
	const evil = `<script>alert("1")</script> & ]]>`
	for n, path := range feeds {
		w.do(t, "POST", w.open, "/issues", object{"title": evil})
		b, opened := w.anonymous(t), 2*n+1
		f := b.reads(path)
		if len(f.Entries) != 20 || !strings.Contains(f.Entries[0].Title, fmt.Sprintf("opened issue #%d %s", opened, evil)) || !f.Updated.Equal(f.Entries[0].Updated) ||
			f.Entries[0].Link.Href != fmt.Sprintf("https://forge.example/house/tool/-/issues/%d", opened) {
			t.Errorf("%s: %d entries, %+v", path, len(f.Entries), f.Entries[0])
		}
		if s := b.shows(strings.TrimSuffix(path, ".atom")); !s.says(`<link rel="alternate" type="application/atom+xml" title="Activity" href="` + path + `">`) {
			t.Errorf("the page does not name %s", path)
		}
		first := b.get(path)
		if strings.Contains(first.Body.String(), "<script") {
			t.Errorf("%s: %s", path, first.Body)
		}
		if s := b.get(path, "If-None-Match", first.Header().Get("Etag")); s.Code != http.StatusNotModified || s.Body.Len() != 0 || s.Header().Get("Cache-Control") != "private, no-cache" {
			t.Errorf("%s: what did not change is sent again: %d", path, s.Code)
		}
		w.do(t, "POST", w.open, "/issues", object{"title": "x"})
		if s := b.get(path, "If-None-Match", first.Header().Get("Etag")); s.Code != http.StatusOK {
			t.Errorf("%s: what changed is not sent: %d", path, s.Code)
		}
	}
}

// A token opens to a program what its person may read, if it carries enough; whoever may not read something follows nothing of it.
func TestPE02_AFeedHoldsWhatItsReaderMayRead(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.do(t, "POST", w.closed, "/issues", object{"title": "In private"})
	w.do(t, "POST", w.open, "/issues", object{"title": "In confidence", "confidential": true})
	w.do(t, "POST", w.open, "/issues", object{"title": "In the open"})
	secretOf := func(id int64, scope access.Scope) string { return tokentest.New(t, w.DB, w.Box, id, scope) }
	owners := secretOf(w.owner.ID, access.ScopeReadAPI)
	hidden := func(f feed) bool {
		return strings.Contains(f.titles(), "In private") || strings.Contains(f.titles(), "house/secret") || strings.Contains(f.titles(), "In confidence")
	}
	for _, path := range feeds {
		for name, f := range map[string]feed{
			"nobody": w.anonymous(t).reads(path), "a stranger": w.browser(t, w.stranger).reads(path),
			"a stranger's token": w.anonymous(t).reads(path, "Private-Token", secretOf(w.stranger.ID, access.ScopeAPI)),
		} {
			if hidden(f) || !strings.Contains(f.titles(), "In the open") {
				t.Errorf("%s at %s: %s", name, path, f.titles())
			}
		}
		for _, header := range [][]string{
			{"Private-Token", owners}, {"Authorization", "Bearer " + owners}, {"Authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte("any:"+owners))},
		} {
			if f := w.anonymous(t).reads(path, header...); !hidden(f) {
				t.Errorf("the owner's token at %s, in %s: %s", path, header[0], f.titles())
			}
		}
		for secret, want := range map[string]int{
			"nonsense": http.StatusUnauthorized, strings.Repeat("x", 1000): http.StatusUnauthorized, secretOf(w.owner.ID, access.ScopeReadRepository): http.StatusForbidden,
		} {
			if s := w.anonymous(t).get(path, "Private-Token", secret); s.Code != want || s.says("In the open") {
				t.Errorf("%s: a token that is not good for it: %d", path, s.Code)
			}
		}
	}
	if s := w.anonymous(t).get(feeds[0], "Private-Token", secretOf(w.owner.ID, access.ScopeReadUser)); s.Code != http.StatusOK {
		t.Errorf("read_user: %d", s.Code)
	}
	if s := w.anonymous(t).get("/house/secret/-/activity.atom"); s.Code != http.StatusSeeOther {
		t.Errorf("a private project: %d", s.Code)
	}
	// A page is for browsers, whatever a program shows.
	if s := w.anonymous(t).get(ofPerson, "Private-Token", owners); s.says("In private") {
		t.Error("a token opens a page")
	}
	w.exec(t, `update users set state = 'blocked' where id = $1`, w.owner.ID)
	if s := w.anonymous(t).get(feeds[1], "Private-Token", owners); s.Code != http.StatusForbidden {
		t.Errorf("somebody who is blocked: %d", s.Code)
	}
}
