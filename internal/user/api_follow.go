package user

import (
	"context"
	"net/http"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/httpapi"
	"stithy/internal/kit/paging"
)

func (s *Service) followEndpoints() []httpapi.Endpoint {
	return []httpapi.Endpoint{
		On(s, httpapi.Spec{
			Route: "POST /users/{id:digits}/follow", Needs: access.SignIn, Scopes: readUser, Status: http.StatusCreated,
			Summary: "Follow a user.",
		}, s.handleFollow),
		On(s, httpapi.Spec{
			Route: "POST /users/{id:digits}/unfollow", Needs: access.SignIn, Scopes: readUser, Status: http.StatusCreated,
			Summary: "Stop following a user.",
		}, s.handleUnfollow),
		On(s, httpapi.Spec{
			Route: "GET /users/{id:digits}/followers", Needs: access.ReadProfiles, Scopes: readUser,
			Summary: "List who follows a user.",
		}, s.handleFollowers),
		On(s, httpapi.Spec{
			Route: "GET /users/{id:digits}/following", Needs: access.ReadProfiles, Scopes: readUser,
			Summary: "List whom a user follows.",
		}, s.handleFollowing),
	}
}

func (s *Service) handleFollow(ctx context.Context, call httpapi.Call[*User, Ref]) (publicForm, error) {
	return s.publicForm(call.Subject), s.Follow(ctx, call.Actor.ID(), call.Subject.ID)
}

func (s *Service) handleUnfollow(ctx context.Context, call httpapi.Call[*User, Ref]) (publicForm, error) {
	return s.publicForm(call.Subject), s.StopFollowing(ctx, call.Actor.ID(), call.Subject.ID)
}

func (s *Service) handleFollowers(ctx context.Context, call httpapi.Call[*User, refPage]) (httpapi.List[publicForm], error) {
	return s.followPage(ctx, call, s.Followers)
}

func (s *Service) handleFollowing(ctx context.Context, call httpapi.Call[*User, refPage]) (httpapi.List[publicForm], error) {
	return s.followPage(ctx, call, s.Following)
}

func (s *Service) followPage(
	ctx context.Context, call httpapi.Call[*User, refPage],
	list func(context.Context, int64, paging.Request) (paging.Result[Brief], error),
) (httpapi.List[publicForm], error) {
	req, err := call.Params.Request()
	if err != nil {
		return httpapi.List[publicForm]{}, err
	}
	if !call.Subject.ShowsProfile(call.Actor) {
		return httpapi.List[publicForm]{}, fault.NotFoundf("User")
	}
	page, err := list(ctx, call.Subject.ID, req)
	return httpapi.ListOf(req, page, s.briefForm), err
}
