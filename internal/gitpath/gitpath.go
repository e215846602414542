// Package gitpath finds the repositories of wikis and snippets by the paths
// that git clients use, for all doors alike.
package gitpath

import (
	"context"
	"regexp"
	"strconv"
	"strings"

	"stithy/internal/gitstore"
	"stithy/internal/group"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/owner"
	"stithy/internal/platform/deps"
	"stithy/internal/project"
	"stithy/internal/repository"
	"stithy/internal/snippet"
	"stithy/internal/wiki"
)

// Deps is what the package needs from below.
type Deps struct {
	Projects *project.Service
	Groups   *group.Service
	Wikis    *wiki.Service
	Snippets *snippet.Service
}

// Service finds repositories by paths.
type Service struct{ deps Deps }

// New puts it together.
func New(d Deps) *Service { return &Service{deps: deps.Complete(d)} }

var snippetPattern = regexp.MustCompile(`^(?:(.+)/)?snippets/([1-9][0-9]{0,17})$`)

// Find is the repository of texts that a path names, for an actor who may use a service of git on it. named is false where the
// path is that of a project, or may be. The token of a job reaches what is in projects that it reaches, and nothing that
// belongs to people or groups: those who started the job did not mean to show it.
func (s *Service) Find(ctx context.Context, by access.Actor, path string, service gitstore.Service) (at repository.TextTarget, named bool, err error) {
	of, isWiki := strings.CutSuffix(path, wiki.Suffix)
	number := snippetPattern.FindStringSubmatch(path)
	if !isWiki && number == nil {
		return at, false, nil
	}
	// A project may have such a path, too.
	if id, err := s.deps.Projects.IDByPath(ctx, path); err != nil || id != 0 {
		return at, false, err
	}
	if err := repository.CheckCredential(by, service); err != nil {
		return at, true, err
	}
	if isWiki {
		at, err = s.wiki(ctx, by, of, service)
		return at, true, err
	}
	if by.Credential.Kind == access.JobToken {
		return at, true, fault.NotFoundf("Snippet")
	}
	id, err := strconv.ParseInt(number[2], 10, 64)
	if err != nil {
		return at, true, err
	}
	at, err = s.deps.Snippets.GitTarget(ctx, by, id, service)
	if err == nil && at.Path != path {
		err = fault.NotFoundf("Snippet") // it is somewhere else
	}
	return at, true, err
}

func (s *Service) wiki(ctx context.Context, by access.Actor, of string, service gitstore.Service) (repository.TextTarget, error) {
	p, _, err := s.deps.Projects.FindByRef(ctx, by, of)
	if err == nil {
		return s.deps.Wikis.GitTarget(ctx, by, owner.OfProject(p), service)
	}
	if !fault.Is(err, fault.NotFound) || by.Credential.Kind == access.JobToken {
		return repository.TextTarget{}, err
	}
	g, err := s.deps.Groups.FindByRef(ctx, by, of)
	if err != nil {
		return repository.TextTarget{}, err
	}
	return s.deps.Wikis.GitTarget(ctx, by, owner.OfGroup(g), service)
}
