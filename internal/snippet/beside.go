package snippet

import (
	"context"

	"stithy/internal/kit/access"
	"stithy/internal/project"
	"stithy/internal/user"
)

// Beside is a snippet with what lists show next to it: its project and its author.
type Beside struct {
	Place
	Author *user.Brief // nil when the account is gone
}

// Beside reads what lists show next to snippets that an actor may read. known is the project that all of them are in, nil where they may be in any.
func (s *Service) Beside(ctx context.Context, by access.Actor, known *project.Project, all ...Snippet) ([]Beside, error) {
	var people, homes []int64
	for _, one := range all {
		if one.AuthorID != nil {
			people = append(people, *one.AuthorID)
		}
		if one.ProjectID != nil && known == nil {
			homes = append(homes, *one.ProjectID)
		}
	}
	authors, err := s.deps.Users.Briefs(ctx, people...)
	if err != nil {
		return nil, err
	}
	projects := map[int64]*project.Project{}
	if len(homes) > 0 {
		if projects, err = s.deps.Projects.Among(ctx, by, homes); err != nil {
			return nil, err
		}
	}
	if known != nil {
		projects[known.ID] = known
	}
	shown := make([]Beside, 0, len(all))
	for i := range all {
		b := Beside{Place: Place{Snippet: &all[i]}}
		if b.ProjectID != nil {
			if b.Project = projects[*b.ProjectID]; b.Project == nil {
				continue // it went, or closed, while the list was made
			}
		}
		if b.AuthorID != nil {
			if author, there := authors[*b.AuthorID]; there {
				b.Author = &author
			}
		}
		shown = append(shown, b)
	}
	return shown, nil
}

// Author is who made a snippet, nil when the account is gone.
func (s *Service) Author(ctx context.Context, of *Snippet) (*user.Brief, error) {
	if of.AuthorID == nil {
		return nil, nil
	}
	people, err := s.deps.Users.Briefs(ctx, *of.AuthorID)
	if author, there := people[*of.AuthorID]; there {
		return &author, err
	}
	return nil, err
}
