package user

import (
	"context"

	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi"
)

func (s *Service) preferenceEndpoints() []httpapi.Endpoint {
	return []httpapi.Endpoint{
		httpapi.Do(httpapi.Spec{
			Route: "GET /user/preferences", Needs: access.SignIn, Scopes: readUser,
			Summary: "Get the preferences of the authenticated user.",
		}, s.handlePreferences),
		httpapi.Do(httpapi.Spec{
			Route: "PUT /user/preferences", Needs: access.SignIn, Scopes: readUser,
			Summary: "Change the preferences of the authenticated user.",
		}, s.handleSetPreferences),
	}
}

type preferencesForm struct {
	ID                        int64 `json:"id"`
	UserID                    int64 `json:"user_id"`
	ViewDiffsFileByFile       bool  `json:"view_diffs_file_by_file"`
	ShowWhitespaceInDiffs     bool  `json:"show_whitespace_in_diffs"`
	PassUserIdentitiesToCIJWT bool  `json:"pass_user_identities_to_ci_jwt"`
}

// presentPreferences gives them the id of their owner: each has one set.
func presentPreferences(p Preferences) preferencesForm {
	return preferencesForm{
		ID: p.UserID, UserID: p.UserID, ViewDiffsFileByFile: p.ViewDiffsFileByFile,
		ShowWhitespaceInDiffs: p.ShowWhitespaceInDiffs, PassUserIdentitiesToCIJWT: p.PassUserIdentitiesToCIJWT,
	}
}

type preferencesParams struct {
	ViewDiffsFileByFile       httpapi.Opt[bool] `param:"view_diffs_file_by_file" doc:"Whether diffs show one file at a time"`
	ShowWhitespaceInDiffs     httpapi.Opt[bool] `param:"show_whitespace_in_diffs" doc:"Whether diffs show changes of white space"`
	PassUserIdentitiesToCIJWT httpapi.Opt[bool] `param:"pass_user_identities_to_ci_jwt" doc:"Whether the tokens of CI jobs name the user's identities elsewhere"`
}

// Validate asks for something to change.
func (p preferencesParams) Validate() []string {
	if p.ViewDiffsFileByFile.Given || p.ShowWhitespaceInDiffs.Given || p.PassUserIdentitiesToCIJWT.Given {
		return nil
	}
	return []string{"view_diffs_file_by_file, show_whitespace_in_diffs, pass_user_identities_to_ci_jwt are missing, at least one parameter must be provided"}
}

func (s *Service) handlePreferences(ctx context.Context, call httpapi.Call[httpapi.None, struct{}]) (preferencesForm, error) {
	p, err := s.Preferences(ctx, call.Actor.ID())
	return presentPreferences(p), err
}

func (s *Service) handleSetPreferences(ctx context.Context, call httpapi.Call[httpapi.None, preferencesParams]) (preferencesForm, error) {
	p, err := s.SetPreferences(ctx, call.Actor.ID(), PreferencesChange{
		ViewDiffsFileByFile:       call.Params.ViewDiffsFileByFile.Ptr(),
		ShowWhitespaceInDiffs:     call.Params.ShowWhitespaceInDiffs.Ptr(),
		PassUserIdentitiesToCIJWT: call.Params.PassUserIdentitiesToCIJWT.Ptr(),
	})
	return presentPreferences(p), err
}
