// Package sites is the pages about the site of a project (Pages): what was published and what is shown of it, the domains of the site, what is wrong with one and
// which record mends it.
package sites

import (
	"stithy/internal/kit/access"
	"stithy/internal/pages"
	"stithy/internal/web/page"
	"stithy/internal/web/projectpage"
	"stithy/internal/web/ui"
)

// Deps is what the pages call.
type Deps struct{ Sites *pages.Service }

const (
	sitePath        = "pages"
	domainsPath     = sitePath + "/domains"
	deploymentsPath = sitePath + "/deployments"
)

// ProjectPages are the pages about a project.
func ProjectPages(d Deps) []projectpage.Page {
	const site, domain, deployment = " /-/" + sitePath, " /-/" + domainsPath + "/{domain}", " /-/" + deploymentsPath + "/{id}"
	all := []projectpage.Page{
		{Route: "GET" + site, Do: d.do(showSite), Nav: page.Nav{List: projectpage.Settings, Title: "Pages", Icon: ui.IconGlobe}},
		{Route: "POST" + site, Do: d.do(saveSettings)},
		{Route: "POST" + deployment + "/activate", Do: d.do(activate)},
		{Route: "POST" + deployment + "/delete", Do: d.do(deleteDeployment)},
		{Route: "POST /-/" + domainsPath, Do: d.do(createDomain)},
		{Route: "GET" + domain, Do: d.do(showDomain)},
		{Route: "POST" + domain, Do: d.do(saveDomain)},
		{Route: "POST" + domain + "/verify", Do: d.do(verifyDomain)},
		{Route: "POST" + domain + "/delete", Do: d.do(deleteDomain)},
	}
	for i := range all {
		all[i].Needs, all[i].Has = access.AdminPages, d.Sites.On
	}
	return all
}

// request is a request for a page about a project.
type request struct {
	*projectpage.Request
	deps Deps
}

func (d Deps) do(handle func(*request) error) func(*projectpage.Request) error {
	return func(r *projectpage.Request) error { return handle(&request{Request: r, deps: d}) }
}
