package repository

import (
	"context"

	"stithy/internal/gitstore"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/project"
	"stithy/internal/user"
)

// Signature is how commits name the actor: with the address that they chose
// for it, which may hide the real one. What nobody did, the instance did.
func (s *Service) Signature(ctx context.Context, by access.Actor) (gitstore.Signature, error) {
	if !by.SignedIn() {
		return gitstore.Signature{Name: s.deps.Names.Text(), Email: "noreply@localhost", When: s.deps.Clock.Now().UTC()}, nil
	}
	u, ok := by.Account.(*user.User)
	if !ok {
		var err error
		if u, err = s.deps.Users.Find(ctx, by.ID()); err != nil {
			return gitstore.Signature{}, err
		}
	}
	return gitstore.Signature{Name: u.Name, Email: s.deps.Users.CommitEmail(u), When: s.deps.Clock.Now().UTC()}, nil
}

// maker is who made a project, or nobody when the account is gone.
func (s *Service) maker(ctx context.Context, p *project.Project) (access.Actor, error) {
	by := access.Actor{Process: BeginArgs{}.Kind()}
	if p.CreatorID == nil {
		return by, nil
	}
	u, err := s.deps.Users.Find(ctx, *p.CreatorID)
	if fault.Is(err, fault.NotFound) {
		return by, nil
	}
	if err == nil {
		by.Person, by.Account = u.Person(), u
	}
	return by, err
}
