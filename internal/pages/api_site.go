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
			Route: "DELETE" + site, Needs: access.RemovePages, Summary: "Remove the site of a project.", ExtraRefusals: refusedOff,
		}, s.handleUnpublish),
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

	Deployments []deploymentForm `json:"deployments"`
}

type deploymentForm struct {
	CreatedAt     httpapi.Time `json:"created_at"`
	URL           string       `json:"url"`
	PathPrefix    string       `json:"path_prefix"`
	RootDirectory string       `json:"root_directory"`
}

func (s *Service) presentSite(ctx context.Context, p *project.Project, set Settings, err error) (siteForm, error) {
	if err != nil {
		return siteForm{}, err
	}
	f := siteForm{
		URL: s.SiteURL(p, set), IsUniqueDomainEnabled: set.UniqueDomainEnabled, ForceHTTPS: set.HTTPSOnly, Deployments: []deploymentForm{},
	}
	active, err := s.Active(ctx, p)
	for _, d := range active {
		f.Deployments = append(f.Deployments, deploymentForm{
			CreatedAt: httpapi.Time(d.CreatedAt), URL: DeploymentURL(f.URL, &d), PathPrefix: d.PathPrefix, RootDirectory: d.RootDirectory,
		})
	}
	return f, err
}

func (s *Service) handleSettings(ctx context.Context, call httpapi.Call[*project.Project, project.Ref]) (siteForm, error) {
	set, err := s.Settings(ctx, call.Subject)
	return s.presentSite(ctx, call.Subject, set, err)
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
	return s.presentSite(ctx, call.Subject, set, err)
}

func (s *Service) handleUnpublish(ctx context.Context, call httpapi.Call[*project.Project, project.Ref]) (none httpapi.NoContent, err error) {
	return none, s.Unpublish(ctx, call.Actor, call.Subject)
}
