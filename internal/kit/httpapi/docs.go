package httpapi

import (
	"cmp"
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/platform/sorting"
)

// Noun is what the endpoint is about: the first word of its path, or its dialect.
func (e Endpoint) Noun() string {
	if e.dialect != nil {
		return e.dialect.Name
	}
	noun, _, _ := strings.Cut(strings.TrimPrefix(e.Path, "/"), "/")
	return noun
}

var wordStart = regexp.MustCompile(`(^|[^A-Za-z0-9]+)([A-Za-z0-9])`)

// ID names the endpoint for documents and generated clients: getUsersByIdKeys.
func (e Endpoint) ID() string {
	words := strings.NewReplacer("{", "by_", "}", "").Replace(e.Path)
	return strings.ToLower(e.Method) + wordStart.ReplaceAllStringFunc(words, func(m string) string { return strings.ToUpper(m[len(m)-1:]) })
}

// InQuery reports whether the parameters are usually sent in the query.
func (e Endpoint) InQuery() bool {
	return e.Method == http.MethodGet || e.Method == http.MethodHead || e.Method == http.MethodDelete
}

// Deprecated reports whether the note begins by saying so.
func (e Endpoint) Deprecated() bool { return strings.HasPrefix(strings.ToLower(e.Note), "deprecated") }

// SuccessStatus is the status of an answer that succeeded.
func (e Endpoint) SuccessStatus() int {
	if e.Status == http.StatusOK && e.Reply == reflect.TypeFor[NoContent]() {
		return http.StatusNoContent
	}
	return e.Status
}

// ListOf is the type of the items of a List reply.
func (e Endpoint) ListOf() (item reflect.Type, ok bool) {
	if !e.Reply.Implements(reflect.TypeFor[lister]()) {
		return nil, false
	}
	items, _ := e.Reply.FieldByName("Items")
	return items.Type.Elem(), true
}

// AcceptedScopes are those of which a token needs one; none when any token
// will do. Outside v4 they are those of the declaration.
func (e Endpoint) AcceptedScopes() []access.Scope {
	if e.AnyScope {
		return nil
	}
	if e.dialect != nil {
		return e.Scopes
	}
	reading := e.Method == http.MethodGet || e.Method == http.MethodHead
	var accepted []access.Scope
	for _, scope := range append(slices.Clone(e.Scopes), access.ScopeAPI, access.ScopeReadAPI) {
		token := access.Credential{Kind: access.PersonalToken, Scopes: access.Scopes{scope}}
		if access.CheckScope(token, access.Demand{Extra: e.Scopes}, reading) == nil {
			accepted = append(accepted, scope)
		}
	}
	return accepted
}

// Field is a member of a reply, as documents show it.
type Field struct {
	Name string // author.name, identities[].provider
	Type string
}

// maxFieldDepth is how deep documents look into a reply.
const maxFieldDepth = 3

// ReplyFields are the members of the reply. A reply that depends on the
// caller has those of all its forms.
func (e Endpoint) ReplyFields() []Field {
	var all []Field
	for _, t := range e.forms() {
		for _, f := range fieldsOf(t, "", maxFieldDepth) {
			if !slices.ContainsFunc(all, func(known Field) bool { return known.Name == f.Name }) {
				all = append(all, f)
			}
		}
	}
	return all
}

// forms are the types that the reply, or an item of the list, may have.
func (e Endpoint) forms() []reflect.Type {
	if item, ok := e.ListOf(); ok {
		return formsOf(item)
	}
	return formsOf(e.Reply)
}

func fieldsOf(t reflect.Type, prefix string, depth int) (all []Field) {
	for t.Kind() == reflect.Pointer || (t.Kind() == reflect.Slice && prefix == "") {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || depth == 0 || TypeName(t) != "object" {
		return nil
	}
	for _, m := range jsonMembers(t) {
		name, inner := prefix+m.name, m.typ
		all = append(all, Field{Name: name, Type: TypeName(m.typ)})
		for inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if inner.Kind() == reflect.Slice {
			name, inner = name+"[]", inner.Elem()
		}
		all = append(all, fieldsOf(inner, name+".", depth-1)...)
	}
	return all
}

// TypeName is the type of a parameter or a member in a word or two.
func TypeName(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[time.Time](), reflect.TypeFor[Time]():
		return "date and time"
	case reflect.TypeFor[Date]():
		return "date"
	case reflect.TypeFor[*File]():
		return "file"
	}
	if inner, ok := optional(t); ok {
		return TypeName(inner)
	}
	switch t.Kind() {
	case reflect.Pointer:
		return TypeName(t.Elem()) + " or null"
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	}
	if t.Implements(marshalsJSON) {
		return "any"
	}
	if t.Implements(marshalsText) {
		return "string"
	}
	switch t.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "integer"
	case reflect.Float32, reflect.Float64:
		return "number"
	case reflect.Slice, reflect.Array:
		return "list of " + TypeName(t.Elem())
	case reflect.Map, reflect.Struct:
		return "object"
	}
	return "any"
}

// byPath orders endpoints for readers.
func byPath(endpoints []Endpoint) []Endpoint {
	return sorting.All(slices.Values(endpoints), func(a, b Endpoint) int {
		return cmp.Or(strings.Compare(a.Shown(), b.Shown()), strings.Compare(a.Method, b.Method))
	})
}

// Routes lists endpoints, one on a line: method, path, ability and scopes.
func Routes(endpoints []Endpoint) string {
	var b strings.Builder
	for _, e := range byPath(endpoints) {
		scopes := e.AcceptedScopes()
		if e.AnyScope {
			scopes = []access.Scope{"any"}
		}
		fmt.Fprintf(&b, "%s %s %s %v\n", e.Method, e.Shown(), e.Needs, scopes)
	}
	return b.String()
}

// Permissions is the document that says who may call what.
func Permissions(endpoints []Endpoint) string {
	var b strings.Builder
	b.WriteString("# Permissions\n\nMade from the declarations of the endpoints and the policy of `internal/kit/access`; not edited by hand.\n\n")
	b.WriteString("## Abilities\n\n| Ability | About | Held by | Meaning |\n|---|---|---|---|\n")
	for _, r := range access.Policy {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", r.Ability, r.Level, holders(r), r.Meaning)
	}
	b.WriteString("\nAdministrators hold every ability. Auditors hold those that change nothing. Who does not see a group or project is told that it does not exist.\n")
	b.WriteString("\n## Endpoints of the instance\n\nA number is the status of the refusal.\n\n")
	b.WriteString("| Endpoint | Ability | anonymous | signed in | administrator |\n|---|---|---|---|---|\n")
	for _, e := range byPath(endpoints) {
		if e.inOwner {
			continue
		}
		fmt.Fprintf(&b, "| `%s %s` | `%s` |", e.Method, e.Shown(), e.Needs)
		for _, who := range []*access.Person{nil, {ID: 1}, {ID: 1, Admin: true}} {
			b.WriteString(" " + verdict(access.Check(access.Actor{Person: who}, e.Needs)) + " |")
		}
		b.WriteString("\n")
	}
	b.WriteString("\n## Endpoints in groups and projects\n\nIn a public group or project: anonymous callers, callers without a role, each role.\n\n")
	b.WriteString("| Endpoint | Ability | anonymous | signed in | guest | reporter | developer | maintainer | owner | administrator |\n|---|---|---|---|---|---|---|---|---|---|\n")
	for _, e := range byPath(endpoints) {
		if !e.inOwner {
			continue
		}
		fmt.Fprintf(&b, "| `%s %s` | `%s` |", e.Method, e.Shown(), e.Needs)
		for _, s := range Standings {
			b.WriteString(" " + verdict(access.CheckIn(s.Actor(), e.Needs, access.Target{Visibility: access.Public, Role: s.Role})) + " |")
		}
		b.WriteString("\n")
	}
	b.WriteString("\n## Exceptions\n\n")
	for _, e := range byPath(endpoints) {
		if e.ExtraRefusals != "" {
			fmt.Fprintf(&b, "- `%s %s`: %s\n", e.Method, e.Shown(), e.ExtraRefusals)
		}
	}
	return b.String()
}

// Standing is one column of the matrix of groups and projects.
type Standing struct {
	Name  string
	Known bool
	Admin bool
	Role  access.Role
}

// Actor is a caller of this standing.
func (s Standing) Actor() access.Actor {
	if !s.Known {
		return access.Actor{}
	}
	return access.Actor{Person: &access.Person{ID: 1, Admin: s.Admin}}
}

// Standings are the columns of the matrix.
var Standings = []Standing{
	{Name: "anonymous"}, {Name: "signed in", Known: true},
	{Name: "guest", Known: true, Role: access.Guest}, {Name: "reporter", Known: true, Role: access.Reporter},
	{Name: "developer", Known: true, Role: access.Developer}, {Name: "maintainer", Known: true, Role: access.Maintainer},
	{Name: "owner", Known: true, Role: access.Owner}, {Name: "administrator", Known: true, Admin: true},
}

// InOwner reports whether the ability is about a group or project.
func (e Endpoint) InOwner() bool { return e.inOwner }

func holders(r access.Rule) string {
	switch {
	case r.Level != access.OnInstance && r.PublicToo && r.From == access.Anonymous:
		return "everyone who sees it; " + r.Role.String() + " if private"
	case r.Level != access.OnInstance && r.PublicToo:
		return "everyone signed in who sees it"
	case r.Level != access.OnInstance:
		return r.Role.String()
	case r.From == access.Anonymous:
		return "everyone"
	case r.From == access.Member:
		return "everyone signed in"
	}
	return r.From.String() + "s"
}

func verdict(err error) string {
	if err == nil {
		return "yes"
	}
	f, _ := fault.Of(err)
	return strconv.Itoa(kinds[f.Kind].status)
}

// Check lists what is missing in the declarations of endpoints.
func Check(endpoints []Endpoint) (breaches []string) {
	seen := map[string]bool{}
	for _, e := range byPath(endpoints) {
		breach := func(format string, args ...any) {
			breaches = append(breaches, e.Method+" "+e.Shown()+" "+fmt.Sprintf(format, args...))
		}
		route := e.Method + " " + e.Base() + anonymousParams(e.pattern)
		if seen[route] {
			breach("is declared twice")
		}
		seen[route] = true
		if e.Summary == "" {
			breach("has no summary")
		}
		if e.Needs == access.Anyone && e.Method != http.MethodGet {
			breach("is open to everyone and is not a GET")
		}
		for _, name := range e.names {
			if !e.takes(name) {
				breach("has no parameter %s", name)
			}
		}
		for _, p := range e.Params {
			for _, name := range undocumented("", p) {
				breach("does not explain %s", name)
			}
		}
		if _, isList := e.ListOf(); isList && !(e.takes("page") && e.takes("per_page")) {
			breach("is a list without paging")
		}
	}
	return breaches
}

func (e Endpoint) takes(name string) bool {
	return slices.ContainsFunc(e.Params, func(p Param) bool { return p.Name == name })
}

// anonymousParams leaves only the kinds of parameters in a pattern: two
// patterns that differ in names match the same paths.
func anonymousParams(pattern string) string {
	segments := strings.Split(pattern, "/")
	for i, s := range segments {
		if before, param, isParam := strings.Cut(s, "{"); isParam {
			_, kind, _ := strings.Cut(param, ":")
			segments[i] = before + "{" + kind
		}
	}
	return strings.Join(segments, "/")
}

func undocumented(prefix string, p Param) (names []string) {
	if p.Doc == "" {
		names = append(names, prefix+p.Name)
	}
	for _, child := range p.Children {
		names = append(names, undocumented(prefix+p.Name+".", child)...)
	}
	return names
}
