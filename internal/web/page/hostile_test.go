package page

import (
	"net/url"
	"testing"

	"github.com/a-h/templ"

	"stithy/internal/web/page/pagetest"
)

func TestWB01_NothingThatTheLayoutShowsActs(t *testing.T) {
	t.Parallel()
	pagetest.NothingActs(t, "bar", bar)
	pagetest.NothingActs(t, "header", header)
	pagetest.NothingActs(t, "sidebar", sidebar)
	pagetest.NothingActs(t, "form", FormOf)
	pagetest.NothingActs(t, "button", RowButton)
	pagetest.NothingActs(t, "field", field)
	for _, kind := range []Kind{Text, Password, Email, Date, Textarea, Select, Checkbox, Checkboxes} {
		pagetest.NothingActs(t, string(kind), func(f Field) templ.Component {
			f.Type = kind
			return field(f)
		})
	}
	pagetest.NothingActs(t, "filter", func(f Field) templ.Component { return Filter(f.Label, "/a", f, f.Hint) })
	pagetest.NothingActs(t, "select of a filter", func(f Field) templ.Component { return FilterSelect(f.Name, f.Label, f.Options) })
	pagetest.NothingActs(t, "pager", PagerOf)
	pagetest.NothingActs(t, "time", TimeOf)
	pagetest.NothingActs(t, "flash", flash)
	pagetest.NothingActs(t, "failure", failure)
	pagetest.NothingActs(t, "content", func(v view) templ.Component {
		v.Heading, v.Facts, v.Actions = nil, nil, nil
		return content(v, templ.NopComponent)
	})
}

func TestALinkLeadsToThisInstanceOrNowhere(t *testing.T) {
	t.Parallel()
	k := New(Deps{ExternalURL: &url.URL{Scheme: "https", Host: "forge.example", Path: "/forge"}})
	for path, want := range map[string]URL{
		"/": "/forge/", "/a/b?c=d#e": "/forge/a/b?c=d#e", "": "about:invalid", "a": "about:invalid", "//evil.example/": "about:invalid",
		`/\evil.example`: "about:invalid", "javascript:alert(1)": "about:invalid", "https://evil.example/": "about:invalid",
	} {
		if got := k.Link(path); got != want {
			t.Errorf("%q leads to %q, want %q", path, got, want)
		}
	}
}
