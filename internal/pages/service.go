package pages

import (
	"context"
	"net/url"
	"strings"

	"stithy/internal/artifact"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/wire"
	"stithy/internal/pipeline"
	"stithy/internal/platform/blob"
	"stithy/internal/platform/clock"
	"stithy/internal/platform/deps"
	"stithy/internal/platform/jobqueue"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/secretbox"
	"stithy/internal/project"
	"stithy/internal/setting"
	"stithy/internal/token"
)

// Resolver answers which texts DNS holds under a name.
type Resolver interface {
	LookupTXT(ctx context.Context, name string) ([]string, error)
}

// Deps is what the room needs from below.
type Deps struct {
	DB          *postgres.DB
	Bus         *bus.Bus
	Queue       *jobqueue.Queue
	Box         *secretbox.Box
	Settings    *setting.Service
	Tokens      *token.Service
	Projects    *project.Service
	Artifacts   *artifact.Service
	Pipelines   *pipeline.Service
	Blobs       blob.Store
	Resolver    Resolver
	Clock       clock.Clock
	ExternalURL *url.URL // of the forge
	Root        Root
	Names       wire.Names
}

// Root is the address below which sites stand; all is empty where the instance has no Pages.
type Root struct{ Scheme, Host, Port string }

// RootOf is the root that an address names, or none.
func RootOf(u *url.URL) Root {
	if u == nil {
		return Root{}
	}
	return Root{Scheme: u.Scheme, Host: strings.ToLower(u.Hostname()), Port: u.Port()}
}

// At is the address of a host below the root, by its label.
func (r Root) At(label, path string) string {
	host := label + "." + r.Host
	if r.Port != "" {
		host += ":" + r.Port
	}
	return (&url.URL{Scheme: r.Scheme, Host: host, Path: path}).String()
}

// Service is the use cases of sites.
type Service struct{ deps Deps }

// New puts the room together.
func New(d Deps) *Service { return &Service{deps: deps.Complete(d)} }

// errOff is what everything is answered with where the instance has no Pages.
var errOff = fault.New(fault.NotFound)

func (s *Service) on() error {
	if !s.On() {
		return errOff
	}
	return nil
}

// On reports whether the instance has Pages.
func (s *Service) On() bool { return s.deps.Root.Host != "" }
