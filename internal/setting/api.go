package setting

import (
	"context"
	"net/http"
	"strings"

	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi"
)

// Endpoints are the routes of this room.
func (s *Service) Endpoints() []httpapi.Endpoint {
	readers := []access.Scope{access.ScopeReadUser, access.ScopeAIFeatures}
	return []httpapi.Endpoint{
		httpapi.Do(httpapi.Spec{
			Route: "GET /application/settings", Needs: access.Administer,
			Summary: "Show the application settings.",
		}, s.handleSettings),
		httpapi.Do(httpapi.Spec{
			Route: "PUT /application/settings", Needs: access.Administer,
			Summary: "Change application settings.",
		}, s.handleUpdate),
		httpapi.Do(httpapi.Spec{
			Route: "GET /features", Needs: access.Administer,
			Summary: "List the feature flags that were set.",
		}, s.handleFeatures),
		httpapi.Do(httpapi.Spec{
			Route: "GET /features/definitions", Needs: access.Administer,
			Summary: "List the feature flags that have a meaning.",
		}, s.handleDefinitions),
		httpapi.Do(httpapi.Spec{
			Route: "POST /features/{name}", Needs: access.Administer, Status: http.StatusCreated,
			Summary: "Set a feature flag.",
		}, s.handleSetFeature),
		httpapi.Do(httpapi.Spec{
			Route: "DELETE /features/{name}", Needs: access.Administer,
			Summary: "Give a feature flag back to its default.",
		}, s.handleRemoveFeature),
		httpapi.Do(httpapi.Spec{
			Route: "GET /version", Needs: access.SignIn, Scopes: readers,
			Summary: "Show the version of the instance.",
		}, s.handleMetadata),
		httpapi.Do(httpapi.Spec{
			Route: "GET /metadata", Needs: access.SignIn, Scopes: readers,
			Summary: "Show what the instance is.",
		}, s.handleMetadata),
	}
}

type settingsForm struct {
	ID int `json:"id"`
	Settings
	UpdatedAt httpapi.Time `json:"updated_at"`
}

func (s *Service) present() settingsForm {
	now := s.state.Load()
	return settingsForm{ID: 1, Settings: *now.settings, UpdatedAt: httpapi.Time(now.updatedAt)}
}

func (s *Service) handleSettings(context.Context, httpapi.Call[httpapi.None, httpapi.None]) (settingsForm, error) {
	return s.present(), nil
}

func (s *Service) handleUpdate(ctx context.Context, call httpapi.Call[httpapi.None, httpapi.Changes[Settings]]) (settingsForm, error) {
	err := s.Update(ctx, call.Actor, call.Params.Apply)
	return s.present(), err
}

type featureForm struct {
	Name       string          `json:"name"`
	State      string          `json:"state"`
	Gates      []gateForm      `json:"gates"`
	Definition *definitionForm `json:"definition"`
}

type gateForm struct {
	Key   string `json:"key"`
	Value any    `json:"value"`
}

type definitionForm struct {
	Name            string  `json:"name"`
	FeatureIssueURL *string `json:"feature_issue_url"`
	IntroducedByURL *string `json:"introduced_by_url"`
	RolloutIssueURL *string `json:"rollout_issue_url"`
	Milestone       *string `json:"milestone"`
	LogStateChanges *bool   `json:"log_state_changes"`
	Type            string  `json:"type"`
	Group           *string `json:"group"`
	DefaultEnabled  bool    `json:"default_enabled"`
}

// presentFeature shows the boolean gate always and the others where they are
// set, in the order that clients know.
func presentFeature(f Feature) featureForm {
	g := f.Gates
	v := featureForm{Name: f.Name, State: g.State(), Gates: []gateForm{{"boolean", g.Boolean}}}
	if len(g.Actors) > 0 {
		v.Gates = append(v.Gates, gateForm{"actors", g.Actors})
	}
	if g.PercentageOfActors > 0 {
		v.Gates = append(v.Gates, gateForm{percentageOfActors, g.PercentageOfActors})
	}
	if g.PercentageOfTime > 0 {
		v.Gates = append(v.Gates, gateForm{percentageOfTime, g.PercentageOfTime})
	}
	if len(g.Groups) > 0 {
		v.Gates = append(v.Gates, gateForm{"groups", g.Groups})
	}
	if d, known := definition(f.Name); known {
		shown := presentDefinition(d)
		v.Definition = &shown
	}
	return v
}

func presentDefinition(d Definition) definitionForm {
	return definitionForm{Name: d.Name, Type: d.Type, DefaultEnabled: d.DefaultEnabled}
}

func (s *Service) handleFeatures(context.Context, httpapi.Call[httpapi.None, httpapi.None]) ([]featureForm, error) {
	views := []featureForm{}
	for _, f := range s.Features() {
		views = append(views, presentFeature(f))
	}
	return views, nil
}

func (s *Service) handleDefinitions(context.Context, httpapi.Call[httpapi.None, httpapi.None]) ([]definitionForm, error) {
	views := []definitionForm{}
	for _, d := range Definitions {
		views = append(views, presentDefinition(d))
	}
	return views, nil
}

type featureParams struct {
	Name         string              `param:"name" doc:"Name of the flag"`
	Value        string              `param:"value" required:"true" doc:"true, false, or a percentage"`
	Key          httpapi.Opt[string] `param:"key" doc:"percentage_of_actors or percentage_of_time (default)"`
	FeatureGroup httpapi.Opt[string] `param:"feature_group" doc:"Group of actors to set the flag for"`
	User         httpapi.Opt[string] `param:"user" doc:"Usernames to set the flag for, separated by commas"`
	Group        httpapi.Opt[string] `param:"group" doc:"Paths of groups to set the flag for, separated by commas"`
	Namespace    httpapi.Opt[string] `param:"namespace" doc:"Paths of namespaces to set the flag for, separated by commas"`
	Project      httpapi.Opt[string] `param:"project" doc:"Paths of projects to set the flag for, separated by commas"`
	Repository   httpapi.Opt[string] `param:"repository" doc:"Paths of repositories to set the flag for, separated by commas"`
	Force        bool                `param:"force" doc:"Also set a flag that has no meaning; here that is always allowed"`
}

// targets are the params that name actors, in the order of declaration.
func (p featureParams) targets() []target {
	return []target{
		{"feature_group", p.FeatureGroup}, {"user", p.User}, {"group", p.Group},
		{"namespace", p.Namespace}, {"project", p.Project}, {"repository", p.Repository},
	}
}

type target struct {
	kind  string
	value httpapi.Opt[string]
}

func (t target) names() (names []string) {
	for name := range strings.SplitSeq(t.value.Value, ",") {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// Validate refuses a gate for some together with one for a share of all. An
// empty value counts as none: some clients always send every name.
func (p featureParams) Validate() (texts []string) {
	for _, t := range p.targets() {
		if t.names() != nil && p.Key.Value != "" {
			texts = append(texts, "key, "+t.kind+" are mutually exclusive")
		}
	}
	return texts
}

func (s *Service) handleSetFeature(ctx context.Context, call httpapi.Call[httpapi.None, featureParams]) (featureForm, error) {
	change := FeatureChange{Value: call.Params.Value, Key: call.Params.Key.Value}
	for _, t := range call.Params.targets() {
		for _, name := range t.names() {
			if t.kind == "feature_group" {
				change.Groups = append(change.Groups, name)
			} else {
				change.Actors = append(change.Actors, ActorRef{Kind: t.kind, Ref: name})
			}
		}
	}
	f, err := s.SetFeature(ctx, call.Actor, call.Params.Name, change)
	return presentFeature(f), err
}

type featureRef struct {
	Name string `param:"name" doc:"Name of the flag"`
}

func (s *Service) handleRemoveFeature(ctx context.Context, call httpapi.Call[httpapi.None, featureRef]) (httpapi.NoContent, error) {
	return httpapi.NoContent{}, s.RemoveFeature(ctx, call.Actor, call.Params.Name)
}

type metadataForm struct {
	Version    string  `json:"version"`
	Revision   string  `json:"revision"`
	KAS        kasForm `json:"kas"`
	Enterprise bool    `json:"enterprise"`
}

// kasForm is the server for cluster agents, which this instance has not.
type kasForm struct {
	Enabled     bool    `json:"enabled"`
	ExternalURL *string `json:"externalUrl"`
	Version     *string `json:"version"`
}

func (s *Service) handleMetadata(context.Context, httpapi.Call[httpapi.None, httpapi.None]) (metadataForm, error) {
	i := s.deps.Instance
	return metadataForm{Version: i.Version, Revision: i.Revision, Enterprise: i.Enterprise()}, nil
}
