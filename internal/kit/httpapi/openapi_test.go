package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"stithy/internal/kit/access"
)

type shownPerson struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
}

type shownThing struct {
	shownPerson
	Bio       *string           `json:"bio"`
	Ratio     float64           `json:"ratio"`
	Active    bool              `json:"active"`
	CreatedAt Time              `json:"created_at"`
	SeenOn    *Date             `json:"seen_on"`
	Owner     *shownPerson      `json:"owner,omitempty"`
	Parent    *shownThing       `json:"parent"`
	Members   []shownPerson     `json:"members"`
	Labels    map[string]string `json:"labels"`
	Extra     any               `json:"extra"`
	Raw       json.RawMessage   `json:"raw"`
	Count     int               `json:"count,string"`
	Anonymous struct {
		Inner int `json:"inner"`
	} `json:"anonymous"`
	Hidden  string `json:"-"`
	Unnamed string
	private string
}

type shownAdminThing struct {
	shownThing
	Note string `json:"note"`
}

type thingRef struct {
	ID string `param:"id" doc:"ID or path"`
}

type showParams struct {
	thingRef
	With bool `param:"with_labels" default:"false" doc:"Show the labels"`
}

type listThings struct {
	KeysetPaging
	Scope  []string          `param:"scope" enum:"open,closed" doc:"States to show"`
	Custom map[string]string `param:"custom_attributes" doc:"Attributes to filter by"`
	Since  time.Time         `param:"since" doc:"Only later ones"`
	Day    time.Time         `param:"day" format:"date" doc:"Only of this day"`
	Sort   string            `param:"sort" enum:"asc,desc" default:"desc" doc:"Direction"`
	Level  int               `param:"level" enum:"10,20" doc:"Level"`
}

type createThing struct {
	Name      string         `param:"name" required:"true" doc:"Name"`
	Note      Opt[string]    `param:"note" doc:"Note"`
	State     Opt[string]    `param:"state" enum:"open,closed" doc:"State"`
	Variables []richVariable `param:"variables" doc:"Variables"`
	Place     struct {
		X int `param:"x" required:"true" doc:"Left to right"`
		Y int `param:"y" doc:"Top to bottom"`
	} `param:"place" doc:"Place"`
	Avatar *File `param:"avatar" doc:"Picture"`
}

func described[P, R any](spec Spec) Endpoint {
	return Do(spec, func(context.Context, Call[None, P]) (reply R, err error) { return reply, err })
}

// registry has an endpoint for every feature of the documents.
func registry() []Endpoint {
	return []Endpoint{
		described[listThings, List[shownThing]](Spec{Route: "GET /things", Summary: "List things.", Needs: access.Anyone, Scopes: []access.Scope{access.ScopeReadUser}}),
		described[createThing, shownThing](Spec{Route: "POST /things", Summary: "Create a thing.", Needs: access.SignIn, Status: http.StatusCreated, Scopes: []access.Scope{access.ScopeReadUser}}),
		described[showParams, Either[shownThing, shownAdminThing]](Spec{Route: "GET /things/{id}", Summary: "Show a thing.", Needs: access.ReadProfiles}),
		described[thingRef, NoContent](Spec{Route: "DELETE /things/{id}", Summary: "Delete a thing.", Needs: access.Administer}),
		described[thingRef, Accepted](Spec{Route: "POST /things/{id}/export", Summary: "Export a thing.", Needs: access.SignIn, Status: http.StatusAccepted, Note: "Deprecated: use another."}),
		described[struct{}, []shownPerson](Spec{Route: "GET /job", Summary: "Show the job.", Needs: access.SignIn, JobToken: true, AnyScope: true}),
		described[struct {
			Paging
		}, List[Either[shownPerson, shownAdminThing]]](Spec{Route: "GET /mixtures", Summary: "List mixtures.", Needs: access.SignIn}),
		Do(Spec{Route: "PUT /settings", Summary: "Change settings.", Needs: access.Administer},
			func(context.Context, Call[None, Changes[shownSettings]]) (shownSettings, error) {
				return shownSettings{}, nil
			}),
	}
}

type shownSettings struct {
	Limit  int     `json:"limit" doc:"Limit"`
	Notice *string `json:"notice" doc:"Notice"`
	Mode   string  `json:"mode" doc:"Mode" enum:"calm,busy"`
}

var testInfo = Info{Title: "Test API", Version: "4", ServerURL: "https://forge.example/api/v4", SessionCookie: "_svc_session"}

func openAPI(t *testing.T, endpoints []Endpoint) ([]byte, *openapi3.T) {
	t.Helper()
	text, err := OpenAPI(testInfo, endpoints)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return text, doc
}

func TestTheDocumentIsValidOpenAPI(t *testing.T) {
	t.Parallel()
	text, doc := openAPI(t, registry())
	if err := doc.Validate(t.Context(), openapi3.EnableSchemaDefaultsValidation(), openapi3.EnableExamplesValidation()); err != nil {
		t.Errorf("%v in\n%s", err, text)
	}
	if !doc.IsOpenAPI31OrLater() {
		t.Errorf("got version %s", doc.OpenAPI)
	}
}

func TestTheDocumentDoesNotDependOnTheOrderOfEndpoints(t *testing.T) {
	t.Parallel()
	first, _ := openAPI(t, registry())
	reversed := registry()
	slices.Reverse(reversed)
	for range 5 {
		if second, _ := openAPI(t, reversed); !bytes.Equal(first, second) {
			t.Fatal(cmp.Diff(string(first), string(second)))
		}
	}
}

// part is the piece of a document at a path of keys.
func part(t *testing.T, text []byte, keys ...string) any {
	t.Helper()
	var node any
	if err := yaml.Unmarshal(text, &node); err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		mapping, _ := node.(map[string]any)
		node = mapping[key]
	}
	return node
}

func TestAnOperationSaysAllThatIsDeclared(t *testing.T) {
	t.Parallel()
	text, _ := openAPI(t, registry())
	type m = map[string]any
	type l = []any
	ref := func(kind, name string) m { return m{"$ref": "#/components/" + kind + "/" + name} }
	errors := func(extra m, statuses ...string) m {
		for status, name := range map[string]string{"401": "Unauthorized", "403": "Forbidden", "429": "TooManyRequests", "500": "InternalServerError"} {
			extra[status] = ref("responses", name)
		}
		for _, status := range statuses {
			extra[status] = ref("responses", map[string]string{"400": "BadRequest", "404": "NotFound", "412": "PreconditionFailed"}[status])
		}
		return extra
	}
	json := func(schema any) m { return m{"application/json": m{"schema": schema}} }
	credentials := l{m{"private_token": l{}}, m{"bearer": l{}}, m{"private_token_query": l{}}, m{"access_token_query": l{}}, m{"session": l{}}}
	pages := m{}
	for _, name := range []string{"Link", "X-Total", "X-Total-Pages", "X-Page", "X-Per-Page", "X-Next-Page", "X-Prev-Page"} {
		pages[name] = ref("headers", name)
	}
	for _, c := range []struct {
		path, method string
		want         m
	}{
		{"/things", "get", m{
			"tags": l{"things"}, "summary": "List things.", "operationId": "getThings",
			"security": append(l{m{}}, credentials...), "x-ability": "public", "x-scopes": l{"read_user", "api", "read_api"},
			"parameters": l{
				m{"name": "page", "in": "query", "description": "Page of the list, from 1", "schema": m{"type": "integer", "default": 1}},
				m{"name": "per_page", "in": "query", "description": "Items on a page, 100 at the most", "schema": m{"type": "integer", "default": 20}},
				m{"name": "pagination", "in": "query", "description": "keyset turns pages by cursor", "schema": m{"type": "string"}},
				m{"name": "cursor", "in": "query", "description": "Where the page starts; taken from the Link header", "schema": m{"type": "string"}},
				m{"name": "scope[]", "in": "query", "description": "States to show", "style": "form", "explode": true,
					"schema": m{"type": "array", "items": m{"type": "string", "enum": l{"open", "closed"}}}},
				m{"name": "custom_attributes", "in": "query", "description": "Attributes to filter by", "style": "deepObject", "explode": true,
					"schema": m{"type": "object", "additionalProperties": m{"type": "string"}}},
				m{"name": "since", "in": "query", "description": "Only later ones", "schema": m{"type": "string", "format": "date-time"}},
				m{"name": "day", "in": "query", "description": "Only of this day", "schema": m{"type": "string", "format": "date"}},
				m{"name": "sort", "in": "query", "description": "Direction", "schema": m{"type": "string", "enum": l{"asc", "desc"}, "default": "desc"}},
				m{"name": "level", "in": "query", "description": "Level", "schema": m{"type": "integer", "enum": l{10, 20}}},
			},
			"responses": errors(m{"200": m{"description": "OK", "headers": pages,
				"content": json(m{"type": "array", "items": ref("schemas", "httpapi.shownThing")})}}, "400"),
		}},
		{"/things", "post", m{
			"tags": l{"things"}, "summary": "Create a thing.", "operationId": "postThings", "x-ability": "sign_in", "x-scopes": l{"api"},
			"requestBody": m{"required": true, "content": m{
				"application/json":                  m{"schema": ref("schemas", "PostThings")},
				"application/x-www-form-urlencoded": m{"schema": ref("schemas", "PostThings")},
				"multipart/form-data":               m{"schema": ref("schemas", "PostThings")},
			}},
			"responses": errors(m{"201": m{"description": "Created", "content": json(ref("schemas", "httpapi.shownThing"))}}, "400"),
		}},
		{"/things/{id}", "get", m{
			"tags": l{"things"}, "summary": "Show a thing.", "operationId": "getThingsById", "x-ability": "read_profiles", "x-scopes": l{"api", "read_api"},
			"parameters": l{
				m{"name": "id", "in": "path", "description": "ID or path", "required": true, "schema": m{"type": "string"}},
				m{"name": "with_labels", "in": "query", "description": "Show the labels", "schema": m{"type": "boolean", "default": false}},
			},
			"responses": errors(m{"200": m{"description": "OK",
				"content": json(m{"anyOf": l{ref("schemas", "httpapi.shownThing"), ref("schemas", "httpapi.shownAdminThing")}})}}, "400", "404"),
		}},
		{"/things/{id}", "delete", m{
			"tags": l{"things"}, "summary": "Delete a thing.", "operationId": "deleteThingsById", "x-ability": "administer", "x-scopes": l{"api"},
			"parameters": l{m{"name": "id", "in": "path", "description": "ID or path", "required": true, "schema": m{"type": "string"}}},
			"responses":  errors(m{"204": m{"description": "No Content"}}, "400", "404", "412"),
		}},
		{"/things/{id}/export", "post", m{
			"tags": l{"things"}, "summary": "Export a thing.", "description": "Deprecated: use another.", "deprecated": true,
			"operationId": "postThingsByIdExport", "x-ability": "sign_in", "x-scopes": l{"api"},
			"parameters": l{m{"name": "id", "in": "path", "description": "ID or path", "required": true, "schema": m{"type": "string"}}},
			"responses":  errors(m{"202": m{"description": "Accepted", "content": json(ref("schemas", "httpapi.Accepted"))}}, "400", "404"),
		}},
		{"/job", "get", m{
			"tags": l{"job"}, "summary": "Show the job.", "operationId": "getJob", "x-ability": "sign_in", "x-scopes": l{},
			"security":  append(l{m{"job_token": l{}}}, credentials...),
			"responses": errors(m{"200": m{"description": "OK", "content": json(m{"type": "array", "items": ref("schemas", "httpapi.shownPerson")})}}),
		}},
	} {
		if diff := cmp.Diff(any(c.want), part(t, text, "paths", c.path, c.method)); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", c.method, c.path, diff)
		}
	}
}

func TestTypesBecomeSchemas(t *testing.T) {
	t.Parallel()
	text, _ := openAPI(t, registry())
	type m = map[string]any
	type l = []any
	person := m{"$ref": "#/components/schemas/httpapi.shownPerson"}
	orNull := func(schema any) m { return m{"anyOf": l{schema, m{"type": "null"}}} }
	for name, want := range map[string]m{
		"httpapi.shownThing": {
			"type": "object",
			"properties": m{
				"id": m{"type": "integer", "format": "int64"}, "name": m{"type": "string"}, "bio": m{"type": l{"string", "null"}},
				"ratio": m{"type": "number"}, "active": m{"type": "boolean"},
				"created_at": m{"type": "string", "format": "date-time"}, "seen_on": m{"type": l{"string", "null"}, "format": "date"},
				"owner": orNull(person), "parent": orNull(m{"$ref": "#/components/schemas/httpapi.shownThing"}),
				"members": m{"type": "array", "items": person}, "labels": m{"type": "object", "additionalProperties": m{"type": "string"}},
				"extra": m{}, "raw": m{}, "count": m{"type": "string"},
				"anonymous": m{"type": "object", "properties": m{"inner": m{"type": "integer"}}, "required": l{"inner"}},
				"Unnamed":   m{"type": "string"},
			},
			"required": l{"id", "name", "bio", "ratio", "active", "created_at", "seen_on", "parent", "members", "labels", "extra", "raw", "count", "anonymous", "Unnamed"},
		},
		"PostThings": {
			"type": "object",
			"properties": m{
				"name":  m{"type": "string", "description": "Name"},
				"note":  m{"type": l{"string", "null"}, "description": "Note"},
				"state": m{"anyOf": l{m{"type": "string", "enum": l{"open", "closed"}}, m{"type": "null"}}, "description": "State"},
				"variables": m{"type": "array", "description": "Variables", "items": m{
					"type": "object", "required": l{"key"},
					"properties": m{"key": m{"type": "string", "description": "Key"}, "value": m{"type": l{"string", "null"}, "description": "Value"}},
				}},
				"place": m{"type": "object", "description": "Place", "required": l{"x"}, "properties": m{
					"x": m{"type": "integer", "description": "Left to right"}, "y": m{"type": "integer", "description": "Top to bottom"}}},
				"avatar": m{"type": "string", "format": "binary", "description": "Picture"},
			},
			"required": l{"name"},
		},
		"PutSettings": {
			"type": "object",
			"properties": m{
				"limit": m{"type": "integer", "description": "Limit"}, "notice": m{"type": "string", "description": "Notice"},
				"mode": m{"type": "string", "enum": l{"calm", "busy"}, "description": "Mode"},
			},
		},
	} {
		if diff := cmp.Diff(any(want), part(t, text, "components", "schemas", name)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	// Members stand in the order of declaration.
	if !strings.Contains(string(text), "bio:") || strings.Index(string(text), "      ratio:") > strings.Index(string(text), "      active:") {
		t.Error("the members are out of order")
	}
}

// A document that says something else than the server does is worse than none.
func TestRepliesMatchTheirSchemas(t *testing.T) {
	t.Parallel()
	bio := "x"
	thing := shownThing{private: "not shown", Hidden: "neither", Bio: &bio, Members: []shownPerson{{}}, Labels: map[string]string{"a": "b"}, Parent: &shownThing{Labels: map[string]string{}, Members: []shownPerson{}}}
	thing.Parent.Raw, thing.Raw = json.RawMessage("1"), json.RawMessage("{}")
	thing.Parent.Extra, thing.Extra = 1, "x" // the validator takes null for no value at all
	_, doc := openAPI(t, registry())
	text, err := json.Marshal(thing)
	if err != nil {
		t.Fatal(err)
	}
	var reply any
	if err := json.Unmarshal(text, &reply); err != nil {
		t.Fatal(err)
	}
	if err := doc.ValidateSchemaJSON(doc.Components.Schemas["httpapi.shownThing"].Value, reply, openapi3.EnableJSONSchema2020()); err != nil {
		t.Error(err)
	}
	delete(reply.(map[string]any), "bio")
	if err := doc.ValidateSchemaJSON(doc.Components.Schemas["httpapi.shownThing"].Value, reply, openapi3.EnableJSONSchema2020()); err == nil {
		t.Error("a reply without a member matches")
	}
}

func TestPathsThatDifferInNamesAreOnePath(t *testing.T) {
	t.Parallel()
	type byUser struct {
		Key  string `param:"key" doc:"Key"`
		User int64  `param:"user_id" doc:"ID of the user"`
	}
	type byName struct {
		Name string `param:"name" doc:"Name of the user"`
		Key  string `param:"key" doc:"Key"`
	}
	post := described[byUser, int](Spec{Route: "POST /users/{user_id:digits}/keys/{key}", Summary: "Add.", Needs: access.SignIn})
	get := described[byName, int](Spec{Route: "GET /users/{name}/keys/{key}", Summary: "Show.", Needs: access.SignIn})
	text, doc := openAPI(t, []Endpoint{post, get})
	if err := doc.Validate(t.Context()); err != nil {
		t.Errorf("%v in\n%s", err, text)
	}
	var names []string
	for _, p := range doc.Paths.Value("/users/{name}/keys/{key}").Post.Parameters {
		names = append(names, p.Value.Name+": "+p.Value.Description)
	}
	if diff := cmp.Diff([]string{"key: Key", "name: ID of the user"}, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	clash := described[byUser, int](Spec{Route: "GET /users/{user_id:digits}/keys/{key}", Summary: "Show.", Needs: access.SignIn})
	if _, err := OpenAPI(testInfo, []Endpoint{get, clash}); err == nil {
		t.Error("one of two endpoints was dropped without a word")
	}
}

func TestTwoTypesOfOneNameAreAnError(t *testing.T) {
	t.Parallel()
	here := reflect.TypeFor[shownPerson]()
	s := schemas{named: map[string]*schema{}, types: map[string]reflect.Type{"httpapi.shownPerson": reflect.TypeFor[shownThing]()}}
	if s.of(here); s.err == nil {
		t.Error("no error")
	}
}

func TestOperationsAreNamedAfterTheirRoutes(t *testing.T) {
	t.Parallel()
	for route, want := range map[string]string{
		"GET /users":                              "getUsers",
		"GET /users/{id:digits}/keys/{key_id}":    "getUsersByIdKeysByKeyId",
		"DELETE /personal_access_tokens/self":     "deletePersonalAccessTokensSelf",
		"PUT /users/{id}/custom_attributes/{key}": "putUsersByIdCustomAttributesByKey",
	} {
		if got := answer(route, 1).ID(); got != want {
			t.Errorf("%s: got %s, want %s", route, got, want)
		}
	}
}
