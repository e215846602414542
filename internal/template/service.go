package template

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"

	"stithy/internal/gitstore"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/wire"
	"stithy/internal/platform/deps"
	"stithy/internal/platform/sorting"
	"stithy/internal/project"
	"stithy/internal/repository"
)

// Deps is what the room needs from below.
type Deps struct {
	Projects     *project.Service
	Repositories *repository.Service
	Names        wire.Names
}

// Service is the use cases of templates.
type Service struct{ deps Deps }

// New puts the room together.
func New(d Deps) *Service { return &Service{deps: deps.Complete(d)} }

// files are the templates of a kind that a project has, by name, as entries of its repository. Who may not read the code sees none.
func (s *Service) files(ctx context.Context, a access.Actor, p *project.Project, kind Kind) (*gitstore.Repo, []gitstore.Entry, error) {
	if !access.Holds(a, access.ReadCode, p.Target()) {
		return nil, nil, nil
	}
	if there, err := s.deps.Repositories.HasCode(ctx, p); err != nil || !there {
		return nil, nil, err
	}
	repo, err := s.deps.Repositories.Open(ctx, p)
	if err != nil {
		return nil, nil, missing(err)
	}
	tip, err := repo.Ref(ctx, gitstore.Branches+s.deps.Projects.BranchOf(p))
	if err != nil {
		return nil, nil, missing(err)
	}
	all, err := repo.Tree(ctx, tip.Target, kind.folder(s.deps.Names))
	if err != nil {
		return nil, nil, missing(err)
	}
	all = slices.DeleteFunc(all, func(e gitstore.Entry) bool {
		return e.Mode.Kind() != gitstore.BlobKind || nameOf(path.Base(e.Path)) == ""
	})
	return repo, all[:min(len(all), maxListed)], nil
}

// missing takes what is not there, or is being prepared, for a project without templates.
func missing(err error) error {
	if errors.Is(err, gitstore.ErrNotFound) || fault.Is(err, fault.NotFound) || fault.Is(err, fault.Unavailable) {
		return nil
	}
	return err
}

// Listed are the names of the templates of a project, for an actor who sees it. The first thousand are listed.
func (s *Service) Listed(ctx context.Context, a access.Actor, p *project.Project, kind Kind) ([]string, error) {
	_, files, err := s.files(ctx, a, p, kind)
	names := make([]string, len(files))
	for n := range files {
		names[n] = nameOf(path.Base(files[n].Path))
	}
	sorting.By(names, func(a, b string) int { return strings.Compare(strings.ToLower(a), strings.ToLower(b)) })
	return names, err
}

// Find reads a template of a project by its name.
func (s *Service) Find(ctx context.Context, a access.Actor, p *project.Project, kind Kind, name string) (*Template, error) {
	return s.first(ctx, a, p, kind, func(known string) bool { return known == name })
}

// Default is what an issue of a project begins with that has no description, "" if there is no such template.
func (s *Service) Default(ctx context.Context, a access.Actor, p *project.Project) (string, error) {
	t, err := s.first(ctx, a, p, Issues, func(known string) bool { return strings.EqualFold(known, byDefault) })
	if fault.Is(err, fault.NotFound) {
		return "", nil
	} else if err != nil {
		return "", err
	}
	return t.Content, nil
}

// first reads the first template whose name is one that is looked for. One that is too large to be a description is none.
func (s *Service) first(ctx context.Context, a access.Actor, p *project.Project, kind Kind, is func(name string) bool) (*Template, error) {
	repo, files, err := s.files(ctx, a, p, kind)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(files, func(e gitstore.Entry) bool { return is(nameOf(path.Base(e.Path))) })
	if at < 0 {
		return nil, errMissing
	}
	text, err := repo.Blob(ctx, files[at].ID, maxBytes)
	if errors.Is(err, gitstore.ErrTooLarge) || errors.Is(err, gitstore.ErrNotFound) {
		return nil, errMissing
	} else if err != nil {
		return nil, err
	}
	content := strings.ReplaceAll(strings.ToValidUTF8(string(text), "?"), "\x00", "")
	return &Template{Name: nameOf(path.Base(files[at].Path)), Content: content}, nil
}
