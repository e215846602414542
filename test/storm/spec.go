package main

import (
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// document is as much of an OpenAPI document as requests are made of.
type document struct {
	Paths      map[string]map[string]operationDoc `yaml:"paths"`
	Components struct {
		Schemas map[string]*schema `yaml:"schemas"`
	} `yaml:"components"`
}

type operationDoc struct {
	Servers []struct {
		URL string `yaml:"url"`
	} `yaml:"servers"` // of an operation outside v4
	Parameters []struct {
		Name   string  `yaml:"name"`
		In     string  `yaml:"in"`
		Schema *schema `yaml:"schema"`
	} `yaml:"parameters"`
	RequestBody struct {
		Content map[string]struct {
			Schema *schema `yaml:"schema"`
		} `yaml:"content"`
	} `yaml:"requestBody"`
}

type schema struct {
	Ref        string             `yaml:"$ref"`
	Type       any                `yaml:"type"` // a name or a list of them
	Enum       []any              `yaml:"enum"`
	Properties map[string]*schema `yaml:"properties"`
	Items      *schema            `yaml:"items"`
}

func (s *schema) kind() string {
	switch t := s.Type.(type) {
	case string:
		return t
	case []any:
		if len(t) > 0 {
			return fmt.Sprint(t[0])
		}
	}
	return "string"
}

// operation is one way to call the API.
type operation struct {
	base         string // where the path begins; {project} stands for the path of one
	method, path string
	query, body  []member
	types        []string // of bodies
}

type member struct {
	name   string
	schema *schema
}

func (o operation) String() string { return o.method + " " + o.path }

// readOperations reads all that a document offers, in a fixed order.
func readOperations(name string) ([]operation, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var d document
	if err := yaml.Unmarshal(text, &d); err != nil {
		return nil, err
	}
	for _, s := range d.Components.Schemas {
		d.resolve(s, 0)
	}
	var all []operation
	for path, methods := range d.Paths {
		for method, doc := range methods {
			o := operation{base: "/api/v4", method: strings.ToUpper(method), path: path}
			for _, s := range doc.Servers {
				at, err := url.Parse(s.URL)
				if err != nil {
					return nil, err
				}
				o.base = at.Path
			}
			for _, p := range doc.Parameters {
				if p.In == "query" && p.Schema != nil {
					o.query = append(o.query, member{p.Name, d.resolve(p.Schema, 0)})
				}
			}
			for kind, content := range doc.RequestBody.Content {
				o.types = append(o.types, kind)
				if content.Schema != nil && o.body == nil {
					for name, s := range d.resolve(content.Schema, 0).Properties {
						o.body = append(o.body, member{name, s})
					}
				}
			}
			slices.Sort(o.types)
			slices.SortFunc(o.body, func(a, b member) int { return strings.Compare(a.name, b.name) })
			all = append(all, o)
		}
	}
	slices.SortFunc(all, func(a, b operation) int { return strings.Compare(a.String(), b.String()) })
	if len(all) == 0 {
		return nil, fmt.Errorf("%s describes no operation", name)
	}
	return all, nil
}

// resolve puts schemas in the place of references, down to some depth: some refer to themselves.
func (d *document) resolve(s *schema, depth int) *schema {
	const deep = 6
	if s == nil || depth > deep {
		return &schema{}
	}
	if s.Ref != "" {
		return d.resolve(d.Components.Schemas[s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]], depth+1)
	}
	if s.Items != nil && s.Items.Ref != "" {
		s.Items = d.resolve(s.Items, depth+1)
	}
	for name, p := range s.Properties {
		if p.Ref != "" {
			s.Properties[name] = d.resolve(p, depth+1)
		}
	}
	return s
}
