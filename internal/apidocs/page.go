package apidocs

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi"
	"stithy/internal/platform/httpfile"
	"stithy/internal/platform/sorting"
)

// page is what is shown at one address.
type page struct {
	Title  string
	Server string
	Sheets []string
	Nouns  []noun
	Noun   *noun  // nil on the first page
	Base   string // from the page to those of the nouns
}

// heading is the title of the page in the browser.
func (p page) heading() string {
	if p.Noun == nil {
		return p.Title
	}
	return p.Noun.Title + " · " + p.Title
}

type noun struct {
	Name      string
	Title     string
	Endpoints []endpoint
}

type endpoint struct {
	httpapi.Endpoint
	Callers string
	Params  []param
	Answer  string
	IsList  bool
	Fields  []httpapi.Field
	Curl    string
}

// answer is what comes back, in words.
func (e endpoint) answer() string {
	if e.IsList {
		return e.Answer + ", a page of a list"
	}
	return e.Answer
}

type param struct {
	Name     string
	Type     string
	Place    string // path, query or body
	Required bool
	Values   []string
	Default  string
	Doc      string
}

func render(p page) httpfile.File {
	var out bytes.Buffer
	if err := document(p).Render(context.Background(), &out); err != nil {
		panic("apidocs: " + err.Error())
	}
	return httpfile.New("text/html; charset=utf-8", out.Bytes())
}

// nounsOf groups endpoints by what they are about.
func nounsOf(endpoints []httpapi.Endpoint, info httpapi.Info) (nouns []noun) {
	for _, e := range sorting.All(slices.Values(endpoints), forReaders) {
		name := e.Noun()
		if len(nouns) == 0 || nouns[len(nouns)-1].Name != name {
			nouns = append(nouns, noun{Name: name, Title: title(name)})
		}
		last := &nouns[len(nouns)-1]
		last.Endpoints = append(last.Endpoints, describe(e, info))
	}
	return nouns
}

var pathParam = regexp.MustCompile(`{[^}]*}`)

// methods in the order in which readers look for them.
var methods = []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}

// forReaders orders by path, whatever its parameters are called, and method.
func forReaders(a, b httpapi.Endpoint) int {
	return cmp.Or(
		strings.Compare(a.Noun(), b.Noun()),
		strings.Compare(pathParam.ReplaceAllString(a.Path, "{}"), pathParam.ReplaceAllString(b.Path, "{}")),
		cmp.Compare(slices.Index(methods, a.Method), slices.Index(methods, b.Method)),
	)
}

func title(name string) string {
	words := strings.ReplaceAll(name, "_", " ")
	return strings.ToUpper(words[:1]) + words[1:]
}

func describe(e httpapi.Endpoint, info httpapi.Info) endpoint {
	_, isList := e.ListOf()
	out := endpoint{
		Endpoint: e, Callers: callers(e), IsList: isList, Fields: e.ReplyFields(), Curl: curl(e, e.ServerURL(info)),
		Answer: fmt.Sprintf("%d %s", e.SuccessStatus(), http.StatusText(e.SuccessStatus())),
	}
	for _, p := range e.Params {
		out.Params = append(out.Params, rows(e, p, p.Name)...)
	}
	return out
}

func callers(e httpapi.Endpoint) string {
	switch rule, _ := access.RuleOf(e.Needs); rule.From {
	case access.Anonymous:
		return "Anyone"
	case access.Member:
		return "Anyone signed in"
	}
	return "Administrators"
}

// rows are a parameter and what a list of hashes holds.
func rows(e httpapi.Endpoint, p httpapi.Param, name string) []param {
	row := param{
		Name: name, Type: httpapi.TypeName(p.Type), Place: "body", Required: p.Required || p.InPath,
		Values: p.Enum, Default: p.Default, Doc: p.Doc,
	}
	switch {
	case p.InPath:
		row.Place = "path"
	case e.InQuery():
		row.Place = "query"
	}
	if p.Format == "date" {
		row.Type = "date"
	}
	all := []param{row}
	for _, child := range p.Children {
		all = append(all, rows(e, child, name+"[]["+child.Name+"]")...)
	}
	return all
}

// angled writes the names of what is to be filled in as samples do.
var angled = strings.NewReplacer("{", "<", "}", ">")

// curl is a call that works once its placeholders are filled in.
func curl(e httpapi.Endpoint, server string) string {
	path, query := e.Path, ""
	var lines []string
	if e.Method != http.MethodGet {
		lines = append(lines, "--request "+e.Method)
	}
	switch {
	case slices.Contains(e.Credentials, "basic"):
		lines = append(lines, `--user "$NAME:$SECRET"`)
	case slices.Contains(e.Credentials, "bearer"):
		lines = append(lines, `--header "Authorization: Bearer $TOKEN"`)
	case e.Needs != access.Anyone:
		lines = append(lines, `--header "PRIVATE-TOKEN: $TOKEN"`)
	}
	for _, p := range e.Params {
		switch {
		case p.InPath:
			path = strings.ReplaceAll(path, "{"+p.Name+"}", sample(p))
		case !p.Required:
		case e.InQuery():
			query += "&" + named(p)
		case p.Type == reflect.TypeFor[*httpapi.File]():
			lines = append(lines, `--form "`+p.Name+`=@<file>"`)
		default:
			lines = append(lines, `--data-urlencode "`+named(p)+`"`)
		}
	}
	if query != "" {
		path += "?" + query[1:]
	}
	lines = append(lines, strconv.Quote(angled.Replace(server)+path))
	return "curl " + strings.Join(lines, " \\\n  ")
}

func named(p httpapi.Param) string {
	if strings.HasPrefix(httpapi.TypeName(p.Type), "list of") {
		return p.Name + "[]=" + sample(p)
	}
	return p.Name + "=" + sample(p)
}

// sample is a value to begin with.
func sample(p httpapi.Param) string {
	switch kind := httpapi.TypeName(p.Type); {
	case len(p.Enum) > 0:
		return p.Enum[0]
	case p.Default != "":
		return p.Default
	case strings.HasSuffix(kind, "integer"):
		return "1"
	case kind == "boolean":
		return "true"
	case p.Type == reflect.TypeFor[time.Time]():
		return "2024-01-31"
	}
	return "<" + p.Name + ">"
}
