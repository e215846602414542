package user

import (
	"context"
	"html"

	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi"
)

func (s *Service) statusEndpoints() []httpapi.Endpoint {
	return []httpapi.Endpoint{
		httpapi.Do(httpapi.Spec{
			Route: "GET /user/status", Needs: access.SignIn, Scopes: readUser,
			Summary: "Get the status of the authenticated user.",
		}, s.handleOwnStatus),
		httpapi.Do(httpapi.Spec{
			Route: "GET /users/{id_or_username}/status", Needs: access.Anyone, Scopes: readUser,
			Summary: "Get the status of a user.",
		}, s.handleStatus),
		httpapi.Do(httpapi.Spec{
			Route: "PUT /user/status", Needs: access.SignIn, Scopes: readUser,
			Summary: "Replace the status of the authenticated user.",
		}, s.handlePutStatus),
		httpapi.Do(httpapi.Spec{
			Route: "PATCH /user/status", Needs: access.SignIn, Scopes: readUser,
			Summary: "Change parts of the status of the authenticated user.",
		}, s.handlePatchStatus),
	}
}

type statusForm struct {
	Emoji         *string       `json:"emoji"`
	Message       *string       `json:"message"`
	Availability  *string       `json:"availability"`
	MessageHTML   *string       `json:"message_html"`
	ClearStatusAt *httpapi.Time `json:"clear_status_at"`
}

func presentStatus(st Status) statusForm {
	if st.Empty() {
		return statusForm{}
	}
	return statusForm{
		Emoji: &st.Emoji, Message: nonEmpty(st.Message), Availability: &st.Availability,
		MessageHTML: new(html.EscapeString(st.Message)), ClearStatusAt: httpapi.At(st.ClearStatusAt),
	}
}

type statusParams struct {
	Emoji            httpapi.Opt[string] `param:"emoji" doc:"Name of an emoji; speech_balloon when there is only a message"`
	Message          httpapi.Opt[string] `param:"message" doc:"What to say, in up to 100 characters"`
	Availability     httpapi.Opt[string] `param:"availability" enum:"not_set,busy" doc:"Whether the user is busy"`
	ClearStatusAfter httpapi.Opt[string] `param:"clear_status_after" enum:"30_minutes,3_hours,8_hours,1_day,3_days,7_days,30_days" doc:"When to forget the status"`
}

func (s *Service) handleOwnStatus(ctx context.Context, call httpapi.Call[httpapi.None, struct{}]) (statusForm, error) {
	st, err := s.Status(ctx, call.Actor.ID())
	return presentStatus(st), err
}

func (s *Service) handleStatus(ctx context.Context, call httpapi.Call[httpapi.None, namedRef]) (statusForm, error) {
	u, err := s.findFor(ctx, call.Actor, call.Params.Name)
	if err != nil {
		return statusForm{}, err
	}
	st, err := s.Status(ctx, u.ID)
	return presentStatus(st), err
}

func (s *Service) handlePutStatus(ctx context.Context, call httpapi.Call[httpapi.None, statusParams]) (statusForm, error) {
	p := call.Params
	st, err := s.ChangeStatus(ctx, call.Actor.ID(), StatusChange{
		Emoji: &p.Emoji.Value, Message: &p.Message.Value, Availability: &p.Availability.Value, ClearAfter: &p.ClearStatusAfter.Value,
	})
	return presentStatus(st), err
}

// handlePatchStatus answers null to a request that changes nothing.
func (s *Service) handlePatchStatus(ctx context.Context, call httpapi.Call[httpapi.None, statusParams]) (*statusForm, error) {
	p := call.Params
	c := StatusChange{
		Emoji: text(p.Emoji), Message: text(p.Message), Availability: text(p.Availability), ClearAfter: text(p.ClearStatusAfter),
	}
	if c == (StatusChange{}) {
		return nil, nil
	}
	st, err := s.ChangeStatus(ctx, call.Actor.ID(), c)
	return new(presentStatus(st)), err
}
