package httpapi

import (
	"bytes"
	"cmp"
	"encoding"
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"stithy/internal/kit/access"
)

// Info heads the documents that are made from endpoints.
type Info struct {
	Title         string
	Version       string
	ServerURL     string // where the paths begin
	SessionCookie string // of a signed-in browser
}

// OpenAPI describes endpoints as an OpenAPI 3.1 document in YAML. The same
// endpoints give the same bytes, in whatever order they come.
func OpenAPI(info Info, endpoints []Endpoint) ([]byte, error) {
	shapes := schemas{named: map[string]*schema{}, types: map[string]reflect.Type{}}
	doc := document{
		OpenAPI: "3.1.0",
		Info:    heading{Title: info.Title, Version: info.Version},
		Servers: []server{{URL: info.ServerURL}},
		Paths:   map[string]map[string]operation{},
		Components: components{
			Responses: errorResponses(), Headers: pageHeaderSchemas(), Schemas: shapes.named, SecuritySchemes: securitySchemes(info),
		},
	}
	for _, scheme := range []string{"private_token", "bearer", "private_token_query", "access_token_query", "session"} {
		doc.Security = append(doc.Security, requirement{scheme: {}})
	}
	var nouns []string
	same := map[string]string{} // paths by what is left of them without names
	for _, e := range byPath(endpoints) {
		// Two paths that differ in the names of parameters are one path here.
		shape, method := anonymousParams(e.Path), strings.ToLower(e.Method)
		if same[shape] == "" {
			same[shape] = e.Path
			doc.Paths[e.Path] = map[string]operation{}
		}
		at := same[shape]
		if _, taken := doc.Paths[at][method]; taken {
			return nil, fmt.Errorf("OpenAPI cannot tell %s %s from %s", e.Method, e.Path, at)
		}
		op := shapes.operation(e, at, doc.Security)
		if !e.V4() {
			op.Servers = []server{e.server(info)}
		}
		doc.Paths[at][method] = op
		nouns = append(nouns, e.Noun())
	}
	slices.Sort(nouns)
	for _, noun := range slices.Compact(nouns) {
		doc.Tags = append(doc.Tags, tag{Name: noun})
	}
	shapes.named["Refusal"], shapes.named["Failure"] = errorSchemas()
	if shapes.err != nil {
		return nil, shapes.err
	}
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	if err := enc.Encode(doc); err != nil {
		return nil, fmt.Errorf("writing the OpenAPI document: %w", err)
	}
	return out.Bytes(), nil
}

type document struct {
	OpenAPI    string                          `yaml:"openapi"`
	Info       heading                         `yaml:"info"`
	Servers    []server                        `yaml:"servers"`
	Security   []requirement                   `yaml:"security"`
	Tags       []tag                           `yaml:"tags"`
	Paths      map[string]map[string]operation `yaml:"paths"`
	Components components                      `yaml:"components"`
}

type heading struct {
	Title   string `yaml:"title"`
	Version string `yaml:"version"`
}

type server struct {
	URL       string              `yaml:"url"`
	Variables map[string]variable `yaml:"variables,omitempty"`
}

// variable is a part of a server's address that may hold slashes, as no parameter of a path may.
type variable struct {
	Default string `yaml:"default"`
}

type tag struct {
	Name string `yaml:"name"`
}

// requirement names a security scheme; the empty one stands for no credential.
type requirement map[string][]string

type components struct {
	Schemas         map[string]*schema        `yaml:"schemas"`
	Responses       map[string]response       `yaml:"responses"`
	Headers         map[string]headerSchema   `yaml:"headers"`
	SecuritySchemes map[string]securityScheme `yaml:"securitySchemes"`
}

type operation struct {
	Tags        []string            `yaml:"tags,flow"`
	Summary     string              `yaml:"summary,omitempty"`
	Description string              `yaml:"description,omitempty"`
	OperationID string              `yaml:"operationId"`
	Servers     []server            `yaml:"servers,omitempty"`
	Deprecated  bool                `yaml:"deprecated,omitempty"`
	Parameters  []parameter         `yaml:"parameters,omitempty"`
	RequestBody *content            `yaml:"requestBody,omitempty"`
	Responses   map[string]response `yaml:"responses"`
	Security    []requirement       `yaml:"security,omitempty"`
	Ability     access.Ability      `yaml:"x-ability"`
	Scopes      []access.Scope      `yaml:"x-scopes,flow"`
}

type parameter struct {
	Name        string  `yaml:"name"`
	In          string  `yaml:"in"`
	Description string  `yaml:"description,omitempty"`
	Required    bool    `yaml:"required,omitempty"`
	Style       string  `yaml:"style,omitempty"`
	Explode     bool    `yaml:"explode,omitempty"`
	Schema      *schema `yaml:"schema"`
}

type content struct {
	Required bool             `yaml:"required,omitempty"`
	Content  map[string]media `yaml:"content"`
}

type media struct {
	Schema *schema `yaml:"schema"`
}

type response struct {
	Ref         string                  `yaml:"$ref,omitempty"`
	Description string                  `yaml:"description,omitempty"`
	Headers     map[string]headerSchema `yaml:"headers,omitempty"`
	Content     map[string]media        `yaml:"content,omitempty"`
}

type headerSchema struct {
	Ref         string  `yaml:"$ref,omitempty"`
	Description string  `yaml:"description,omitempty"`
	Schema      *schema `yaml:"schema,omitempty"`
}

type securityScheme struct {
	Type        string `yaml:"type"`
	Description string `yaml:"description,omitempty"`
	Scheme      string `yaml:"scheme,omitempty"`
	In          string `yaml:"in,omitempty"`
	Name        string `yaml:"name,omitempty"`
}

func securitySchemes(info Info) map[string]securityScheme {
	return map[string]securityScheme{
		"private_token":       {Type: "apiKey", In: "header", Name: "PRIVATE-TOKEN", Description: "A personal, project, group or impersonation access token."},
		"bearer":              {Type: "http", Scheme: "bearer", Description: "An OAuth access token, or an access token of any other kind."},
		"private_token_query": {Type: "apiKey", In: "query", Name: "private_token", Description: "An access token where headers cannot be set."},
		"access_token_query":  {Type: "apiKey", In: "query", Name: "access_token", Description: "An OAuth access token where headers cannot be set."},
		"job_token":           {Type: "apiKey", In: "header", Name: "JOB-TOKEN", Description: "The token of a running CI job."},
		"basic":               {Type: "http", Scheme: "basic", Description: "The ID and the secret of an application, or what git sends for a person or a machine."},
		"session":             {Type: "apiKey", In: "cookie", Name: cmp.Or(info.SessionCookie, "session"), Description: "A signed-in browser; writes also need X-CSRF-Token."},
	}
}

// operation describes one endpoint, whose parameters are called as in the
// path at. The usual credentials are left unsaid.
func (s *schemas) operation(e Endpoint, at string, usual []requirement) operation {
	op := operation{
		Tags: []string{e.Noun()}, Summary: e.Summary, Description: e.Note, OperationID: e.ID(),
		Deprecated: e.Deprecated(),
		Ability:    e.Needs, Scopes: e.AcceptedScopes(),
		Responses: s.responses(e),
	}
	rule, _ := access.RuleOf(e.Needs)
	if e.Needs == access.Anyone || (!e.V4() && rule.From == access.Anonymous) {
		op.Security = append(op.Security, requirement{})
	}
	for _, scheme := range e.Credentials {
		op.Security = append(op.Security, requirement{scheme: {}})
	}
	if e.JobToken {
		op.Security = append(op.Security, requirement{"job_token": {}})
	}
	if op.Security != nil && e.V4() {
		op.Security = append(op.Security, usual...)
	}
	var body []Param
	for _, p := range e.Params {
		switch {
		case p.InPath:
			name := pathNames(at)[slices.Index(e.names, p.Name)]
			op.Parameters = append(op.Parameters, parameter{Name: name, In: "path", Description: p.Doc, Required: true, Schema: s.param(p)})
		case e.InQuery():
			op.Parameters = append(op.Parameters, s.queryParameter(p))
		default:
			body = append(body, p)
		}
	}
	if body != nil {
		op.RequestBody = s.body(e, body)
	}
	return op
}

// pathNames are the parameters of a path, from left to right.
func pathNames(path string) (names []string) {
	for segment := range strings.SplitSeq(path, "/") {
		if _, name, isParam := strings.Cut(segment, "{"); isParam {
			name, _, _ = strings.Cut(name, "}")
			names = append(names, name)
		}
	}
	return names
}

func (s *schemas) queryParameter(p Param) parameter {
	out := parameter{Name: p.Name, In: "query", Description: p.Doc, Required: p.Required, Schema: s.param(p)}
	switch plain(p.Type).Kind() {
	case reflect.Slice:
		out.Name, out.Style, out.Explode = p.Name+"[]", "form", true
	case reflect.Map, reflect.Struct:
		if out.Schema.Type == "object" {
			out.Style, out.Explode = "deepObject", true
		}
	}
	return out
}

func (s *schemas) body(e Endpoint, params []Param) *content {
	id := e.ID()
	name := strings.ToUpper(id[:1]) + id[1:]
	s.named[name] = s.object(params)
	shape := media{Schema: &schema{Ref: "#/components/schemas/" + name}}
	out := &content{
		Required: len(s.named[name].Required) > 0,
		Content:  map[string]media{"application/json": shape, "application/x-www-form-urlencoded": shape},
	}
	if own := e.media(); own != jsonType[0] {
		out.Content = map[string]media{own: shape}
	}
	for _, p := range params {
		if isFile(p.Type) {
			out.Content["multipart/form-data"] = shape
		}
	}
	return out
}

func (s *schemas) responses(e Endpoint) map[string]response {
	good := response{Description: http.StatusText(e.SuccessStatus())}
	switch item, isList := e.ListOf(); {
	case isList:
		good.Headers = map[string]headerSchema{}
		for name := range pageHeaderSchemas() {
			good.Headers[name] = headerSchema{Ref: "#/components/headers/" + name}
		}
		good.Content = map[string]media{"application/json": {Schema: &schema{Type: "array", Items: s.of(item)}}}
	case e.Reply == reflect.TypeFor[Stream]():
		good.Content = map[string]media{"*/*": {Schema: &schema{Type: "string", Format: "binary"}}}
	case e.Reply != reflect.TypeFor[NoContent]():
		good.Content = map[string]media{e.media(): {Schema: s.of(e.Reply)}}
	}
	out := map[string]response{strconv.Itoa(e.SuccessStatus()): good}
	if !e.V4() {
		form := map[string]media{e.media(): {Schema: s.of(reflect.TypeOf(e.dialect.Error))}}
		out["default"] = response{Description: "A refusal.", Content: form}
		return out
	}
	for _, status := range e.errorStatuses() {
		out[strconv.Itoa(status)] = response{Ref: "#/components/responses/" + responseName(status)}
	}
	return out
}

// media is the type of what the endpoint takes and answers.
func (e Endpoint) media() string {
	if e.dialect != nil && e.dialect.Media != "" {
		return e.dialect.Media
	}
	return jsonType[0]
}

// ServerURL is the address that the path stands below.
func (e Endpoint) ServerURL(info Info) string {
	return strings.TrimSuffix(info.ServerURL, BaseV4) + e.Base()
}

func (e Endpoint) server(info Info) server {
	out := server{URL: e.ServerURL(info)}
	for _, name := range pathNames(e.Base()) {
		out.Variables = map[string]variable{name: {Default: "<" + name + ">"}}
	}
	return out
}

// errorStatuses are those that the kit itself may answer with.
func (e Endpoint) errorStatuses() []int {
	statuses := []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests, http.StatusInternalServerError}
	if len(e.Params) > 0 {
		statuses = append(statuses, http.StatusBadRequest)
	}
	if len(e.names) > 0 {
		statuses = append(statuses, http.StatusNotFound)
	}
	if e.Method == http.MethodDelete {
		statuses = append(statuses, http.StatusPreconditionFailed)
	}
	return statuses
}

func responseName(status int) string { return strings.ReplaceAll(http.StatusText(status), " ", "") }

func errorResponses() map[string]response {
	message := map[string]media{"application/json": {Schema: &schema{Ref: "#/components/schemas/Failure"}}}
	either := map[string]media{"application/json": {Schema: &schema{AnyOf: []*schema{
		{Ref: "#/components/schemas/Failure"}, {Ref: "#/components/schemas/Refusal"},
	}}}}
	out := map[string]response{}
	for status, r := range map[int]response{
		http.StatusBadRequest:          {Description: "A parameter is missing or cannot be taken.", Content: either},
		http.StatusUnauthorized:        {Description: "No credential, or one that is unknown, expired or revoked.", Content: message},
		http.StatusForbidden:           {Description: "The person or the token may not do this.", Content: either},
		http.StatusNotFound:            {Description: "Absent, or hidden from the caller.", Content: either},
		http.StatusPreconditionFailed:  {Description: "Changed after If-Unmodified-Since.", Content: message},
		http.StatusTooManyRequests:     {Description: "Too many requests. The throttle of the instance answers in plain text, with Retry-After.", Content: message},
		http.StatusInternalServerError: {Description: "A failure of the server.", Content: message},
	} {
		out[responseName(status)] = r
	}
	return out
}

// errorSchemas are the two families of errors.
func errorSchemas() (refusal, failure *schema) {
	refusal = &schema{
		Type: "object", Description: "The request was refused before it reached the code of its endpoint.", Required: []string{"error"},
		Properties: properties{
			{"error", &schema{Type: "string"}},
			{"error_description", &schema{Type: "string", Description: "With insufficient_scope."}},
			{"scope", &schema{Type: "string", Description: "What would have been enough, with insufficient_scope."}},
		},
	}
	failure = &schema{
		Type: "object", Description: "The endpoint refused: a text, or texts by attribute.", Required: []string{"message"},
		Properties: properties{{"message", &schema{Type: []string{"string", "object", "array"}}}},
	}
	return refusal, failure
}

func pageHeaderSchemas() map[string]headerSchema {
	number := &schema{Type: "string"}
	return map[string]headerSchema{
		"Link":          {Description: "The other pages: prev, next, first, last. With keyset pagination only next.", Schema: &schema{Type: "string"}},
		"X-Total":       {Description: "Items on all pages; absent above 10,000.", Schema: number},
		"X-Total-Pages": {Description: "Number of pages; absent above 10,000 items.", Schema: number},
		"X-Page":        {Description: "This page.", Schema: number},
		"X-Per-Page":    {Description: "Items on a page.", Schema: number},
		"X-Next-Page":   {Description: "The next page, or empty.", Schema: number},
		"X-Prev-Page":   {Description: "The page before, or empty.", Schema: number},
	}
}

// schema is the part of JSON Schema that Go types need.
type schema struct {
	Ref                  string     `yaml:"$ref,omitempty"`
	Type                 any        `yaml:"type,omitempty,flow"` // a name, or several
	Format               string     `yaml:"format,omitempty"`
	Description          string     `yaml:"description,omitempty"`
	Enum                 []any      `yaml:"enum,omitempty,flow"`
	Default              any        `yaml:"default,omitempty"`
	AnyOf                []*schema  `yaml:"anyOf,omitempty"`
	Items                *schema    `yaml:"items,omitempty"`
	Properties           properties `yaml:"properties,omitempty"`
	AdditionalProperties *schema    `yaml:"additionalProperties,omitempty"`
	Required             []string   `yaml:"required,omitempty,flow"`
}

func (s *schema) orNull() *schema {
	if name, simple := s.Type.(string); simple && s.Enum == nil {
		out := *s
		out.Type = []string{name, "null"}
		return &out
	}
	if s.Ref == "" && s.Type == nil && s.AnyOf == nil {
		return s // anything, null included
	}
	return &schema{AnyOf: []*schema{s, {Type: "null"}}}
}

// properties keep the order of declaration, which a map would lose.
type properties []property

type property struct {
	name   string
	schema *schema
}

// MarshalYAML writes a mapping.
func (p properties) MarshalYAML() (any, error) {
	node := &yaml.Node{Kind: yaml.MappingNode}
	for _, one := range p {
		var name, value yaml.Node
		name.SetString(one.name)
		if err := value.Encode(one.schema); err != nil {
			return nil, err
		}
		node.Content = append(node.Content, &name, &value)
	}
	return node, nil
}

// schemas turns Go types into schemas. Structs get a name and are written once.
type schemas struct {
	named map[string]*schema
	types map[string]reflect.Type
	err   error
}

var (
	marshalsJSON = reflect.TypeFor[json.Marshaler]()
	marshalsText = reflect.TypeFor[encoding.TextMarshaler]()
)

func (s *schemas) of(t reflect.Type) *schema {
	switch t {
	case reflect.TypeFor[time.Time](), reflect.TypeFor[Time]():
		return &schema{Type: "string", Format: "date-time"}
	case reflect.TypeFor[Date]():
		return &schema{Type: "string", Format: "date"}
	case reflect.TypeFor[*File]():
		return &schema{Type: "string", Format: "binary"}
	}
	if inner, ok := optional(t); ok {
		return s.of(inner).orNull()
	}
	if t.Implements(reflect.TypeFor[shaped]()) {
		return s.anyOf(formsOf(t))
	}
	switch t.Kind() {
	case reflect.String:
		return &schema{Type: "string"}
	case reflect.Bool:
		return &schema{Type: "boolean"}
	case reflect.Pointer:
		return s.of(t.Elem()).orNull()
	}
	if t.Implements(marshalsJSON) {
		return &schema{}
	}
	if t.Implements(marshalsText) {
		return &schema{Type: "string"}
	}
	switch t.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32:
		return &schema{Type: "integer"}
	case reflect.Int64, reflect.Uint64:
		return &schema{Type: "integer", Format: "int64"}
	case reflect.Float32, reflect.Float64:
		return &schema{Type: "number"}
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return &schema{Type: "string", Format: "byte"}
		}
		return &schema{Type: "array", Items: s.of(t.Elem())}
	case reflect.Map:
		return &schema{Type: "object", AdditionalProperties: s.of(t.Elem())}
	case reflect.Struct:
		return s.structure(t)
	}
	return &schema{}
}

func (s *schemas) anyOf(forms []reflect.Type) *schema {
	switch len(forms) {
	case 0:
		return &schema{}
	case 1:
		return s.of(forms[0])
	}
	out := &schema{}
	for _, form := range forms {
		out.AnyOf = append(out.AnyOf, s.of(form))
	}
	return out
}

var notInNames = regexp.MustCompile(`[^A-Za-z0-9_.]+`)

// structure is a reference to a struct's schema, or the schema itself when
// the struct has no name.
func (s *schemas) structure(t reflect.Type) *schema {
	if t.Name() == "" {
		return s.members(t)
	}
	name := path.Base(t.PkgPath()) + "." + strings.Trim(notInNames.ReplaceAllString(t.Name(), "_"), "_")
	if other, taken := s.types[name]; taken && other != t {
		s.err = fmt.Errorf("OpenAPI: %v and %v share the name %s", other, t, name)
	} else if !taken {
		s.types[name] = t // before the members, which may lead back here
		s.named[name] = s.members(t)
	}
	return &schema{Ref: "#/components/schemas/" + name}
}

func (s *schemas) members(t reflect.Type) *schema {
	out := &schema{Type: "object"}
	for _, m := range jsonMembers(t) {
		shape := s.of(m.typ)
		if m.quoted {
			shape = &schema{Type: "string"}
		}
		out.Properties = append(out.Properties, property{m.name, shape})
		if !m.omitted {
			out.Required = append(out.Required, m.name)
		}
	}
	return out
}

type jsonMember struct {
	name    string
	typ     reflect.Type
	omitted bool // when it has nothing to say
	quoted  bool
	depth   int
}

// jsonMembers are the members that encoding/json writes for a struct.
func jsonMembers(t reflect.Type) (all []jsonMember) {
	add := func(m jsonMember) {
		for i := range all {
			if all[i].name == m.name {
				if m.depth < all[i].depth {
					all[i] = m
				}
				return
			}
		}
		all = append(all, m)
	}
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		inner, pointer := f.Type, f.Type.Kind() == reflect.Pointer
		if pointer {
			inner = f.Type.Elem()
		}
		switch {
		case f.Tag.Get("json") == "-":
		case f.Anonymous && name == "" && inner.Kind() == reflect.Struct:
			for _, m := range jsonMembers(inner) {
				m.depth, m.omitted = m.depth+1, m.omitted || pointer
				add(m)
			}
		case f.IsExported():
			add(jsonMember{
				name: cmp.Or(name, f.Name), typ: f.Type, quoted: strings.Contains(options, "string"),
				omitted: strings.Contains(options, "omit"),
			})
		}
	}
	return all
}

// plain is the type of a parameter without its Opt.
func plain(t reflect.Type) reflect.Type {
	if inner, ok := optional(t); ok {
		return inner
	}
	return t
}

// param is the schema of a parameter's value.
func (s *schemas) param(p Param) *schema {
	t := plain(p.Type)
	var out *schema
	switch {
	case p.Format == "date":
		out = &schema{Type: "string", Format: "date"}
	case p.Children != nil:
		out = &schema{Type: "array", Items: s.object(p.Children)}
	case t.Kind() == reflect.Struct && t != reflect.TypeFor[time.Time]():
		var members []Param
		for _, f := range compile(t, nil).fields {
			members = append(members, f.Param)
		}
		out = s.object(members)
	default:
		out = s.of(t)
	}
	taker := out
	if out.Items != nil {
		taker = out.Items
	}
	for _, value := range p.Enum {
		taker.Enum = append(taker.Enum, typed(value, taker.Type))
	}
	if p.Default != "" {
		out.Default = typed(p.Default, out.Type)
	}
	return out
}

// object is the schema of parameters that come as one hash.
func (s *schemas) object(params []Param) *schema {
	out := &schema{Type: "object"}
	for _, p := range params {
		shape := s.param(p)
		if _, isOptional := optional(p.Type); isOptional {
			shape = shape.orNull()
		}
		shape.Description = p.Doc
		out.Properties = append(out.Properties, property{p.Name, shape})
		if p.Required {
			out.Required = append(out.Required, p.Name)
		}
	}
	return out
}

// typed is the value that a tag spells as text.
func typed(text string, kind any) any {
	var value any
	switch kind {
	case "integer", "number", "boolean":
		if err := yaml.Unmarshal([]byte(text), &value); err == nil {
			return value
		}
	case "array":
		return strings.Split(text, ",")
	}
	return text
}

// isFile reports whether a parameter is an uploaded file, required or not.
func isFile(t reflect.Type) bool {
	if inner, ok := optional(t); ok {
		t = inner
	}
	return t == reflect.TypeFor[*File]()
}
