// Package pagetest holds the components of pages against hostile data: every text that a page shows is made to look like
// markup, and nothing of it may act.
package pagetest

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/a-h/templ"
	"golang.org/x/net/html"
)

// hostile are texts that would act if one of them were written as it is: as text, in an attribute, as an address, as
// a class and in a drawing.
var hostile = []string{
	`"'><evil onload="evil()" style="evil">&lt;evil&gt;</title></textarea></script><evil>`,
	`javascript:evil()`,
	` JaVaScRiPt:evil()`,
	`data:text/html,<evil>`,
	"x onmouseover=evil() style=evil",
}

// addresses are the attributes that a browser follows.
var addresses = []string{"href", "src", "action", "formaction", "data", "xlink:href", "data-follow"}

// NothingActs renders what show makes of a body whose texts are all hostile, and fails if one of them became markup or an
// address that acts.
func NothingActs[T any](t *testing.T, name string, show func(T) templ.Component) {
	t.Helper()
	for _, text := range hostile {
		var body T
		fill(reflect.ValueOf(&body).Elem(), text, 0)
		var out strings.Builder
		if err := show(body).Render(t.Context(), &out); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		root, err := html.Parse(strings.NewReader(out.String()))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for n := range root.Descendants() {
			for _, what := range acts(n) {
				t.Errorf("%s with %q: %s\n%s", name, text, what, out.String())
			}
		}
	}
}

// acts says what of a node came from hostile text.
func acts(n *html.Node) []string {
	if n.Type != html.ElementNode {
		return nil
	}
	var found []string
	if n.Data == "evil" || n.Data == "script" {
		found = append(found, "an element "+n.Data)
	}
	for _, a := range n.Attr {
		value := strings.ToLower(strings.TrimSpace(a.Val))
		switch {
		case a.Key == "style" || strings.HasPrefix(a.Key, "on") || strings.Contains(a.Key, "evil"):
			found = append(found, "an attribute "+a.Key)
		case slices.Contains(addresses, a.Key) && (strings.HasPrefix(value, "javascript:") || strings.HasPrefix(value, "data:text")):
			found = append(found, "an address "+a.Val)
		}
	}
	return found
}

// fill puts the text wherever a body has a text. Addresses of the instance are made by Kit.Link, which takes nothing
// else, so they have a type of their own and stay addresses.
func fill(v reflect.Value, text string, depth int) {
	const deepest = 8
	switch {
	case depth > deepest:
	case v.Type() == reflect.TypeFor[templ.SafeURL]():
		v.SetString("/a?b=" + strings.ReplaceAll(text, ":", "%3A"))
	case v.Kind() == reflect.String:
		v.SetString(text)
	case v.Kind() == reflect.Bool:
		v.SetBool(true)
	case v.CanInt():
		v.SetInt(1)
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), text, depth+1)
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() != reflect.Uint8:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			fill(v.Index(i), text, depth+1)
		}
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			if field := v.Type().Field(i); field.IsExported() || field.Anonymous {
				fill(v.Field(i), text, depth+1)
			}
		}
	}
}
