package pagesproxy

import (
	"context"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"stithy/internal/pages"
	"stithy/internal/platform/clock"
)

// kept remembers answers for a short time, up to a number of them.
type kept[V any] struct {
	now  clock.Clock
	life time.Duration
	most int

	mu  sync.Mutex
	all map[string]answer[V]
}

type answer[V any] struct {
	value V
	until time.Time
}

func newKept[V any](now clock.Clock, life time.Duration, most int) *kept[V] {
	return &kept[V]{now: now, life: life, most: most, all: map[string]answer[V]{}}
}

// get returns what is remembered, or asks.
func (k *kept[V]) get(key string, ask func() (V, error)) (V, error) {
	now := k.now()
	k.mu.Lock()
	known, ok := k.all[key]
	k.mu.Unlock()
	if ok && now.Before(known.until) {
		return known.value, nil
	}
	value, err := ask()
	if err != nil {
		return value, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.all) >= k.most {
		clear(k.all) // all of it can be asked again
	}
	k.all[key] = answer[V]{value, now.Add(k.life)}
	return value, nil
}

// found is what a host or a path leads to.
type found struct {
	site   *pages.Site // nil where there is none
	deeper bool        // there may be some below it
}

// place is where a request leads.
type place struct {
	site  *pages.Site
	shown *pages.Shown
	base  string // of the deployment: with a slash before and none behind, or empty
	home  string // of the site, which is the same for all of its deployments
	below string // the path in the deployment
	bare  bool   // the path is that of the deployment, without the slash behind it
	moved string // the site stands elsewhere
}

func (p place) item() string { return strconv.FormatInt(p.site.ProjectID, 10) }

// maxDepth is more than groups are nested.
const maxDepth = 30

// find is the place that a host and a path lead to. Its site is nil where there is none.
func (s *Server) find(ctx context.Context, host, path string) (place, error) {
	label, ours := s.deps.Pages.Label(host)
	if !ours {
		f, err := s.hosts.get("domain "+host, func() (found, error) {
			site, err := s.deps.Pages.DomainSite(ctx, host)
			return found{site: site}, err
		})
		return within(f.site, "", path), err
	}
	// A site's own label comes first, so that no group takes it over by its name.
	f, err := s.hosts.get("label "+label, func() (found, error) {
		site, err := s.deps.Pages.UniqueSite(ctx, label)
		return found{site: site}, err
	})
	if err != nil || f.site != nil {
		return within(f.site, "", path), err
	}
	site, home, err := s.ofGroup(ctx, label, path)
	if err != nil || site == nil {
		return place{}, err
	}
	at := within(site, home, path)
	if site.UniqueDomainEnabled && site.UniqueDomain != nil {
		at.moved = s.deps.Root.At(*site.UniqueDomain, "") + (&url.URL{Path: strings.TrimPrefix(path, home)}).EscapedPath()
	}
	return at, nil
}

// ofGroup is the site below the host of a group that a path leads to: that of the project whose path it begins with, or the group's own.
func (s *Server) ofGroup(ctx context.Context, label, path string) (site *pages.Site, home string, err error) {
	ask := func(full string) (found, error) {
		return s.hosts.get("path "+full, func() (f found, err error) {
			f.site, f.deeper, err = s.deps.Pages.PathSite(ctx, full)
			return f, err
		})
	}
	full, rest := label, path[1:]
	for range maxDepth {
		segment, behind, more := strings.Cut(rest, "/")
		if segment == "" {
			break
		}
		full, home, rest = full+"/"+strings.ToLower(segment), home+"/"+segment, behind
		f, err := ask(full)
		if err != nil || f.site != nil {
			return f.site, home, err
		}
		if !f.deeper || !more {
			break
		}
	}
	f, err := ask(label + "/" + label + "." + s.deps.Root.Host)
	return f.site, "", err
}

// within is the place of a path in a site.
func within(site *pages.Site, home, path string) place {
	if site == nil {
		return place{}
	}
	at := place{site: site, home: home, base: home}
	rest, slash := strings.CutPrefix(path[len(home):], "/")
	at.bare = !slash
	at.shown, at.below = site.At(rest)
	if at.shown == nil {
		return place{}
	}
	if at.shown.PathPrefix != "" {
		at.base += "/" + at.shown.PathPrefix
		at.bare = at.bare || site.Prefixed(rest)
	}
	return at
}
