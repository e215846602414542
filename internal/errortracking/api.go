package errortracking

import (
	"context"
	"net/http"
	"slices"

	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi"
	"stithy/internal/project"
)

// Endpoints of the room: those that administer it and show errors, and in a dialect of their own those that programs report to.
func (s *Service) Endpoints() []httpapi.Endpoint {
	return slices.Concat(s.settingsEndpoints(), s.errorEndpoints(), s.intakeEndpoints())
}

func (s *Service) settingsEndpoints() []httpapi.Endpoint {
	spec := func(route, summary string) httpapi.Spec {
		return httpapi.Spec{Route: route, Needs: access.AdminErrorTracking, Summary: summary}
	}
	const settings, keys = " /projects/{id}/error_tracking/settings", " /projects/{id}/error_tracking/client_keys"
	create := spec("POST"+keys, "Create a client key of a project.")
	create.Status = http.StatusCreated
	return []httpapi.Endpoint{
		project.On(s.deps.Projects, spec("GET"+settings, "Show how a project tracks errors."), s.handleSettings),
		project.On(s.deps.Projects, spec("PUT"+settings, "Set how a project tracks errors."), s.handleSet),
		project.On(s.deps.Projects, spec("PATCH"+settings, "Change how a project tracks errors."), s.handleUpdate),
		project.On(s.deps.Projects, spec("GET"+keys, "List the client keys of a project."), s.handleKeys),
		project.On(s.deps.Projects, create, s.handleCreateKey),
		project.On(s.deps.Projects, spec("DELETE"+keys+"/{key_id}", "Delete a client key of a project."), s.handleDeleteKey),
	}
}

type settingsForm struct {
	Active       bool    `json:"active"`
	ProjectName  *string `json:"project_name"`
	APIURL       *string `json:"api_url"`
	Integrated   bool    `json:"integrated"`
	PersonalData bool    `json:"personal_data"`
	PerMinute    int     `json:"events_per_minute"`
	Percent      int     `json:"sample_percent"`
}

// settingsReply has one member whose name follows that of the backend.
type settingsReply = httpapi.Extended[settingsForm]

func (s *Service) presentSettings(row *Settings, err error) (settingsReply, error) {
	if err != nil {
		return settingsReply{}, err
	}
	return settingsReply{
		Body: settingsForm{
			Active: row.Active, ProjectName: row.Title(), APIURL: row.APIURL, Integrated: row.Integrated, PersonalData: row.PersonalData,
			PerMinute: row.PerMinute, Percent: row.Percent,
		},
		More: []httpapi.Member{{Name: s.deps.Names.ErrorsExternalURL(), Value: row.ExternalURL()}},
	}, nil
}

func (s *Service) handleSettings(ctx context.Context, call httpapi.Call[*project.Project, project.Ref]) (settingsReply, error) {
	return s.presentSettings(s.Settings(ctx, call.Subject.ID))
}

type setParams struct {
	project.Ref
	Active       bool              `param:"active" required:"true" blank:"refuse" doc:"Whether errors are tracked"`
	Integrated   bool              `param:"integrated" required:"true" doc:"Whether this instance takes them, not a backend elsewhere"`
	PersonalData httpapi.Opt[bool] `param:"personal_data" doc:"Whether addresses of people and machines in reports are kept"`
	PerMinute    httpapi.Opt[int]  `param:"events_per_minute" doc:"How many events are taken in a minute; administrators alone set more than 1000"`
	Percent      httpapi.Opt[int]  `param:"sample_percent" doc:"Percentage of events that are taken"`
}

func (s *Service) handleSet(ctx context.Context, call httpapi.Call[*project.Project, setParams]) (settingsReply, error) {
	p := call.Params
	return s.presentSettings(s.Set(ctx, call.Actor, call.Subject, Change{
		Active: p.Active, Integrated: &p.Integrated, PersonalData: p.PersonalData.Ptr(), PerMinute: p.PerMinute.Ptr(), Percent: p.Percent.Ptr(),
	}))
}

type updateParams struct {
	project.Ref
	Active       bool              `param:"active" required:"true" blank:"refuse" doc:"Whether errors are tracked"`
	Integrated   httpapi.Opt[bool] `param:"integrated" doc:"Whether this instance takes them, not a backend elsewhere"`
	PersonalData httpapi.Opt[bool] `param:"personal_data" doc:"Whether addresses of people and machines in reports are kept"`
	PerMinute    httpapi.Opt[int]  `param:"events_per_minute" doc:"How many events are taken in a minute; administrators alone set more than 1000"`
	Percent      httpapi.Opt[int]  `param:"sample_percent" doc:"Percentage of events that are taken"`
}

func (s *Service) handleUpdate(ctx context.Context, call httpapi.Call[*project.Project, updateParams]) (settingsReply, error) {
	p := call.Params
	return s.presentSettings(s.Update(ctx, call.Actor, call.Subject, Change{
		Active: p.Active, Integrated: p.Integrated.Ptr(), PersonalData: p.PersonalData.Ptr(), PerMinute: p.PerMinute.Ptr(), Percent: p.Percent.Ptr(),
	}))
}

type keyForm struct {
	ID        int64  `json:"id"`
	Active    bool   `json:"active"`
	PublicKey string `json:"public_key"`
}

// keyReply has one member whose name follows that of the backend.
type keyReply = httpapi.Extended[keyForm]

func (s *Service) presentKey(k Key) keyReply {
	return keyReply{
		Body: keyForm{ID: k.ID, Active: k.Active, PublicKey: k.Public().Reveal()},
		More: []httpapi.Member{{Name: s.deps.Names.ErrorsDSN(), Value: s.DSN(&k)}},
	}
}

type keysParams struct {
	project.Ref
	httpapi.Paging
}

func (s *Service) handleKeys(ctx context.Context, call httpapi.Call[*project.Project, keysParams]) (none httpapi.List[keyReply], err error) {
	req, err := call.Params.Request()
	if err != nil {
		return none, err
	}
	page, err := s.Keys(ctx, call.Subject.ID, req)
	return httpapi.ListOf(req, page, s.presentKey), err
}

func (s *Service) handleCreateKey(ctx context.Context, call httpapi.Call[*project.Project, project.Ref]) (keyReply, error) {
	k, err := s.CreateKey(ctx, call.Actor, call.Subject)
	if err != nil {
		return keyReply{}, err
	}
	return s.presentKey(*k), nil
}

type keyRef struct {
	project.Ref
	KeyID int64 `param:"key_id" doc:"ID of the client key"`
}

func (s *Service) handleDeleteKey(ctx context.Context, call httpapi.Call[*project.Project, keyRef]) (keyReply, error) {
	k, err := s.DeleteKey(ctx, call.Actor, call.Subject, call.Params.KeyID)
	if err != nil {
		return keyReply{}, err
	}
	return s.presentKey(*k), nil
}
