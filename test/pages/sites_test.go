package pages

import "fmt"

// sitePages are the pages about the site of a project and its domains.
func (f *forge) sitePages() []page {
	f.t.Helper()
	team := f.api("POST", "/groups", map[string]any{"name": "Shore", "path": "shore"}, "ada")
	home := f.api("POST", "/projects", map[string]any{"name": "tide-table", "namespace_id": id(team)}, "ada")
	f.api("POST", "/projects", map[string]any{"name": "quiet", "namespace_id": id(team), "pages_access_level": "disabled"}, "ada")
	domains := fmt.Sprintf("/projects/%d/pages/domains", id(home))
	for _, name := range []string{"www.tide-table.invalid", "tides.shore.invalid"} {
		f.api("POST", domains, map[string]any{"domain": name}, "ada")
	}
	const own = "/shore/tide-table/-/pages"
	return []page{
		{Name: "site", Path: own, As: "ada", Small: true},
		{Name: "site-off", Path: "/shore/quiet/-/pages", As: "ada"},
		{Name: "site-domain", Path: own + "/domains/www.tide-table.invalid", As: "ada", Small: true},
		{Name: "site-domain-refused", Path: own, As: "ada", Send: "domain", Text: "two words", Status: 422},
	}
}
