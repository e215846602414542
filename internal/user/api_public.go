package user

import (
	"context"

	"stithy/internal/kit/access"
	"stithy/internal/platform/postgres"
)

// Public is an account as everyone sees it, for the forms of other rooms.
type Public = publicForm

// PublicForm presents an account to everyone.
func (s *Service) PublicForm(b Brief) Public { return s.briefForm(b) }

// PublicForms reads accounts by their ids, of which some may be nil. The function that it returns presents one of them; nil where there is no
// id, and where the account is gone.
func (s *Service) PublicForms(ctx context.Context, ids ...*int64) (func(id *int64) *Public, error) {
	var known []int64
	for _, id := range ids {
		if id != nil {
			known = append(known, *id)
		}
	}
	briefs, err := s.Briefs(ctx, known...)
	return func(id *int64) *Public {
		if id == nil {
			return nil
		}
		b, found := briefs[*id]
		if !found {
			return nil
		}
		return new(s.PublicForm(b))
	}, err
}

// Profile is an account as people who are signed in see it, for the forms of
// other rooms. What a private profile hides is left out.
type Profile = profileForm

// Profiles presents some accounts by their ids. Those that are gone are left
// out.
func (s *Service) Profiles(ctx context.Context, to access.Actor, ids ...int64) (map[int64]Profile, error) {
	found := map[int64]Profile{}
	if len(ids) == 0 {
		return found, nil
	}
	users, err := postgres.All[User](ctx, s.deps.DB, sqlAmong, ids)
	for i := range users {
		form := s.profileForm(&users[i], to, false)
		form.IsFollowed = nil
		found[users[i].ID] = form
	}
	return found, err
}
