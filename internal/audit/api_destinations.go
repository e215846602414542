package audit

import (
	"context"
	"net/http"

	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi"
	"stithy/internal/owner"
)

const (
	ofTop     = "Of top-level groups: others have none. 404 on the free tier"
	ofFree    = "404 on the free tier"
	toldOnce  = "The answer holds the secret token, which is not told again."
	onceAgain = "Taken once a minute for each destination; sooner it is answered with 429."
	ofStreams = "Events are sent after they were sealed, in the order of their seals, at least once each: what is sent again has the same id."
)

// destinationEndpoints are those of the places that sealed events are sent to.
func (s *Service) destinationEndpoints() []httpapi.Endpoint {
	const list, one = "/audit_event_destinations", "/audit_event_destinations/{destination_id}"
	in := s.deps.Owners
	admin := func(spec httpapi.Spec) httpapi.Spec {
		spec.Needs, spec.ExtraRefusals = access.Administer, ofFree
		return spec
	}
	group := func(spec httpapi.Spec) httpapi.Spec {
		spec.ExtraRefusals = ofTop
		return spec
	}
	return []httpapi.Endpoint{
		httpapi.Do(admin(httpapi.Spec{Route: "GET /admin" + list, Summary: "List where audit events of the instance are sent to.", Note: ofStreams}),
			func(ctx context.Context, call httpapi.Call[httpapi.None, httpapi.None]) ([]destinationForm, error) {
				return s.presentAll(ctx, call.Actor, nil)
			}),
		httpapi.Do(admin(httpapi.Spec{
			Route: "POST /admin" + list, Status: http.StatusCreated, Summary: "Send audit events of the instance somewhere.", Note: toldOnce,
		}), func(ctx context.Context, call httpapi.Call[httpapi.None, newDestination]) (destinationForm, error) {
			return s.create(ctx, call.Actor, nil, call.Params)
		}),
		httpapi.Do(admin(httpapi.Spec{Route: "PUT /admin" + one, Summary: "Change where audit events of the instance are sent to."}),
			func(ctx context.Context, call httpapi.Call[httpapi.None, struct {
				destinationRef
				changedDestination
			}]) (destinationForm, error) {
				return s.change(ctx, call.Actor, nil, call.Params.DestinationID, call.Params.changedDestination)
			}),
		httpapi.Do(admin(httpapi.Spec{Route: "DELETE /admin" + one, Summary: "Send audit events of the instance somewhere no more."}),
			func(ctx context.Context, call httpapi.Call[httpapi.None, destinationRef]) (none httpapi.NoContent, err error) {
				return none, s.RemoveDestination(ctx, call.Actor, nil, call.Params.DestinationID)
			}),
		httpapi.Do(admin(httpapi.Spec{
			Route: "POST /admin" + one + "/retry", Status: http.StatusAccepted, Summary: "Send dead letters of a destination of the instance again.", Note: onceAgain,
		}), func(ctx context.Context, call httpapi.Call[httpapi.None, destinationRef]) (destinationForm, error) {
			return s.retry(ctx, call.Actor, nil, call.Params.DestinationID)
		}),

		owner.OnGroup(in, group(httpapi.Spec{Route: "GET " + list, Summary: "List where audit events of a group are sent to.", Note: ofStreams}), toStream,
			func(ctx context.Context, call httpapi.Call[*owner.Owner, owner.Ref]) ([]destinationForm, error) {
				return s.presentAll(ctx, call.Actor, call.Subject)
			}),
		owner.OnGroup(in, group(httpapi.Spec{
			Route: "POST " + list, Status: http.StatusCreated, Summary: "Send audit events of a group and of everything in it somewhere.", Note: toldOnce,
		}), toStream, func(ctx context.Context, call httpapi.Call[*owner.Owner, struct {
			owner.Ref
			newDestination
		}]) (destinationForm, error) {
			return s.create(ctx, call.Actor, call.Subject, call.Params.newDestination)
		}),
		owner.OnGroup(in, group(httpapi.Spec{Route: "PUT " + one, Summary: "Change where audit events of a group are sent to."}), toStream,
			func(ctx context.Context, call httpapi.Call[*owner.Owner, struct {
				owner.Ref
				destinationRef
				changedDestination
			}]) (destinationForm, error) {
				return s.change(ctx, call.Actor, call.Subject, call.Params.DestinationID, call.Params.changedDestination)
			}),
		owner.OnGroup(in, group(httpapi.Spec{Route: "DELETE " + one, Summary: "Send audit events of a group somewhere no more."}), toStream,
			func(ctx context.Context, call httpapi.Call[*owner.Owner, groupDestinationRef]) (none httpapi.NoContent, err error) {
				return none, s.RemoveDestination(ctx, call.Actor, call.Subject, call.Params.DestinationID)
			}),
		owner.OnGroup(in, group(httpapi.Spec{
			Route: "POST " + one + "/retry", Status: http.StatusAccepted, Summary: "Send dead letters of a destination of a group again.", Note: onceAgain,
		}), toStream, func(ctx context.Context, call httpapi.Call[*owner.Owner, groupDestinationRef]) (destinationForm, error) {
			return s.retry(ctx, call.Actor, call.Subject, call.Params.DestinationID)
		}),
	}
}

type destinationRef struct {
	DestinationID int64 `param:"destination_id" doc:"ID of the destination"`
}

type groupDestinationRef struct {
	owner.Ref
	destinationRef
}

type newDestination struct {
	Name       string            `param:"name" required:"true" doc:"What it is called, 72 characters at the most"`
	URL        string            `param:"destination_url" required:"true" doc:"Where events are sent to, by http or https"`
	EventTypes []string          `param:"event_types" split:"comma" doc:"Only events of these types; all if there are none"`
	Active     httpapi.Opt[bool] `param:"active" doc:"Whether events are sent there; true unless said otherwise"`
}

type changedDestination struct {
	Name        httpapi.Opt[string]   `param:"name" doc:"What it is called, 72 characters at the most"`
	URL         httpapi.Opt[string]   `param:"destination_url" doc:"Where events are sent to, by http or https"`
	EventTypes  httpapi.Opt[[]string] `param:"event_types" split:"comma" doc:"Only events of these types; all if there are none"`
	Active      httpapi.Opt[bool]     `param:"active" doc:"Whether events are sent there"`
	RotateToken bool                  `param:"rotate_token" doc:"Make a new secret token, which the answer tells"`
}

// destinationForm is a destination on the wire.
type destinationForm struct {
	ID            int64         `json:"id"`
	Name          string        `json:"name"`
	URL           string        `json:"destination_url"`
	EventTypes    []string      `json:"event_types"`
	Active        bool          `json:"active"`
	CreatedAt     httpapi.Time  `json:"created_at"`
	UpdatedAt     httpapi.Time  `json:"updated_at"`
	LastSentAt    *httpapi.Time `json:"last_sent_at"`
	Behind        int           `json:"behind"`
	BehindMore    bool          `json:"behind_more"`
	BehindSince   *httpapi.Time `json:"behind_since"`
	Failures      int           `json:"failures"`
	LastFailure   *string       `json:"last_failure"`
	LastFailureAt *httpapi.Time `json:"last_failure_at"`
	DeadLetters   int           `json:"dead_letters"`
	Dropped       int64         `json:"dead_letters_dropped"`
	Token         *string       `json:"verification_token,omitempty"`
}

func (s *Service) presentDestination(ctx context.Context, d Destination) (destinationForm, error) {
	form := destinationForm{
		ID: d.ID, Name: d.Name, URL: d.URL, EventTypes: texts(d.EventTypes), Active: d.Active, CreatedAt: httpapi.Time(d.CreatedAt),
		UpdatedAt: httpapi.Time(d.UpdatedAt), LastSentAt: (*httpapi.Time)(d.SentAt), Failures: d.Failures, LastFailureAt: (*httpapi.Time)(d.FailedAt),
		Dropped: d.Dropped,
	}
	if d.Reason != "" {
		form.LastFailure = &d.Reason
	}
	behind, err := s.BehindOf(ctx, d)
	if err != nil {
		return form, err
	}
	form.Behind, form.BehindMore, form.BehindSince = behind.Count, behind.More, (*httpapi.Time)(behind.Since)
	_, form.DeadLetters, err = s.Letters(ctx, d, 1)
	return form, err
}

func (s *Service) presentAll(ctx context.Context, by access.Actor, of *owner.Owner) ([]destinationForm, error) {
	all, err := s.Destinations(ctx, by, of)
	forms := []destinationForm{}
	for _, d := range all {
		form, err := s.presentDestination(ctx, d)
		if err != nil {
			return nil, err
		}
		forms = append(forms, form)
	}
	return forms, err
}

func (s *Service) create(ctx context.Context, by access.Actor, of *owner.Owner, p newDestination) (destinationForm, error) {
	d, token, err := s.AddDestination(ctx, by, of, Draft{Name: p.Name, URL: p.URL, EventTypes: p.EventTypes, Active: p.Active.Or(true)})
	if err != nil {
		return destinationForm{}, err
	}
	form, err := s.presentDestination(ctx, d)
	form.Token = new(token.Reveal())
	return form, err
}

func (s *Service) change(ctx context.Context, by access.Actor, of *owner.Owner, id int64, p changedDestination) (destinationForm, error) {
	d, token, err := s.ChangeDestination(ctx, by, of, id, p.RotateToken, func(draft *Draft) {
		draft.Name, draft.URL, draft.Active = p.Name.Or(draft.Name), p.URL.Or(draft.URL), p.Active.Or(draft.Active)
		draft.EventTypes = p.EventTypes.Or(draft.EventTypes)
	})
	if err != nil {
		return destinationForm{}, err
	}
	form, err := s.presentDestination(ctx, d)
	if token != "" {
		form.Token = new(token.Reveal())
	}
	return form, err
}

func (s *Service) retry(ctx context.Context, by access.Actor, of *owner.Owner, id int64) (destinationForm, error) {
	if err := s.RetryDestination(ctx, by, of, id); err != nil {
		return destinationForm{}, err
	}
	d, err := s.Destination(ctx, by, of, id)
	if err != nil {
		return destinationForm{}, err
	}
	return s.presentDestination(ctx, d)
}
