package pages

import (
	"context"
	"errors"
	"strings"

	"stithy/internal/group"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
)

// Site is the site of a project, as far as readers are shown it.
type Site struct {
	ProjectID           int64
	Visibility          access.Visibility
	Features            project.Features
	UniqueDomainEnabled bool
	UniqueDomain        *string
	HTTPSOnly           bool `db:"https_only"`

	shown []Shown
}

// Shown is a deployment that readers are shown.
type Shown struct {
	ID         int64
	PathPrefix string
	BlobKey    string
	Files      int
}

// Public reports whether anyone may read the site.
func (s *Site) Public() bool {
	p := project.Project{Visibility: s.Visibility}
	return s.Features.Pages == project.Strangers || p.MayRead(access.Actor{}, s.Features.Pages, access.Guest)
}

// At finds the deployment that stands at a path below the site, and what remains of the path.
func (s *Site) At(path string) (shown *Shown, below string) {
	first, rest, deeper := strings.Cut(path, "/")
	for i := range s.shown {
		switch d := &s.shown[i]; d.PathPrefix {
		case "":
			if shown == nil {
				shown, below = d, path
			}
		case first:
			if !deeper {
				rest = ""
			}
			return d, rest
		}
	}
	return shown, below
}

// Prefixed reports whether a path is that of a prefix without the slash behind it.
func (s *Site) Prefixed(path string) bool {
	d, _ := s.At(path)
	return d != nil && d.PathPrefix != "" && d.PathPrefix == path
}

// Label is the label that a host has below the root, if it is below it.
func (s *Service) Label(host string) (label string, ok bool) {
	label, ok = strings.CutSuffix(host, "."+s.deps.Root.Host)
	return label, ok && s.On() && label != ""
}

// UniqueSite finds the site that has a label of its own. No group takes it away by being called the same: this is asked first.
func (s *Service) UniqueSite(ctx context.Context, label string) (*Site, error) {
	return s.site(ctx, sqlSiteByLabel, label)
}

// DomainSite finds the site that is served at a host of its own now.
func (s *Service) DomainSite(ctx context.Context, host string) (*Site, error) {
	d, err := s.Serve(ctx, host)
	if errors.Is(err, errNoDomain) {
		return nil, nil //nolint:nilnil // there is none
	}
	if err != nil {
		return nil, err
	}
	return s.site(ctx, sqlSite, d.ProjectID)
}

// PathSite finds the site of the project at a full path as it is now. deeper reports that there may be projects below it.
func (s *Service) PathSite(ctx context.Context, path string) (site *Site, deeper bool, err error) {
	route, err := group.Walk(ctx, s.deps.DB, path)
	if err != nil || route.Former || route.ProjectID == 0 {
		return nil, err == nil && !route.Former && route.NamespaceID != 0, err
	}
	site, err = s.site(ctx, sqlSite, route.ProjectID)
	return site, false, err
}

// site reads a site, nil where nothing is shown.
func (s *Service) site(ctx context.Context, sql string, of any) (*Site, error) {
	site, err := postgres.One[Site](ctx, s.deps.DB, sql, of)
	if errors.Is(err, postgres.ErrNoRows) || err == nil && site.Features.Pages == project.Off {
		return nil, nil //nolint:nilnil // there is none
	}
	if err != nil {
		return nil, err
	}
	site.shown, err = postgres.All[Shown](ctx, s.deps.DB, sqlShown, site.ProjectID, s.deps.Clock.Now(), mostPrefixes+1)
	if err != nil || len(site.shown) == 0 {
		return nil, err
	}
	return &site, nil
}

// MayRead reports whether a person may read a site that is not for everyone, as their rights are now.
func (s *Service) MayRead(ctx context.Context, userID, projectID int64) (bool, error) {
	by, err := s.deps.Tokens.Later(ctx, userID)
	var p *project.Project
	if err == nil {
		p, err = s.deps.Projects.Find(ctx, by, projectID)
	}
	if _, told := fault.Of(err); told {
		return false, nil
	}
	return err == nil && (p.Features.Pages == project.Strangers || p.MayRead(by, p.Features.Pages, access.Guest)), err
}
