package pages

import (
	"context"

	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi"
	"stithy/internal/project"
)

func (s *Service) siteEndpoints() []httpapi.Endpoint {
	const site = " /projects/{id}/pages"
	return []httpapi.Endpoint{
		project.On(s.deps.Projects, httpapi.Spec{
			Route: "GET" + site, Needs: access.AdminPages, Summary: "Show how a project shows its site.", ExtraRefusals: refusedOff,
		}, s.handleSettings),
		project.On(s.deps.Projects, httpapi.Spec{
			Route: "PATCH" + site, Needs: access.AdminPages, Summary: "Change how a project shows its site.", ExtraRefusals: refusedOff,
		}, s.handleSet),
	}
}

type siteForm struct {
	URL                   string `json:"url"`
	IsUniqueDomainEnabled bool   `json:"is_unique_domain_enabled"`
	ForceHTTPS            bool   `json:"force_https"`
}

func (s *Service) presentSite(p *project.Project, set Settings, err error) (siteForm, error) {
	if err != nil {
		return siteForm{}, err
	}
	return siteForm{URL: s.SiteURL(p, set), IsUniqueDomainEnabled: set.UniqueDomainEnabled, ForceHTTPS: set.HTTPSOnly}, nil
}

func (s *Service) handleSettings(ctx context.Context, call httpapi.Call[*project.Project, project.Ref]) (siteForm, error) {
	set, err := s.Settings(ctx, call.Subject)
	return s.presentSite(call.Subject, set, err)
}

type setParams struct {
	project.Ref
	UniqueDomainEnabled httpapi.Opt[bool] `param:"pages_unique_domain_enabled" doc:"Whether the site has a host of its own"`
	HTTPSOnly           httpapi.Opt[bool] `param:"pages_https_only" doc:"Whether readers over HTTP are sent to HTTPS"`
}

func (s *Service) handleSet(ctx context.Context, call httpapi.Call[*project.Project, setParams]) (siteForm, error) {
	set, err := s.Set(ctx, call.Actor, call.Subject, SettingsChange{
		UniqueDomainEnabled: call.Params.UniqueDomainEnabled.Ptr(), HTTPSOnly: call.Params.HTTPSOnly.Ptr(),
	})
	return s.presentSite(call.Subject, set, err)
}
