package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
)

// Either is a reply, or a part of one, that has one of two forms. Which one it is depends on the caller or on what was found;
// that it can be no third is for the compiler to see, and documents show both. The zero Either holds neither: it goes with
// an error, and as an answer it is a failure.
type Either[A, B any] struct{ held any }

// One is the Either that holds the first form.
func (Either[A, B]) One(form A) Either[A, B] { return Either[A, B]{form} }

// Other is the Either that holds the second form.
func (Either[A, B]) Other(form B) Either[A, B] { return Either[A, B]{form} }

// MarshalJSON writes the form that is held, and nothing around it.
func (e Either[A, B]) MarshalJSON() ([]byte, error) {
	form, err := formOf(e)
	if err != nil {
		return nil, err
	}
	return json.Marshal(form)
}

func (e Either[A, B]) form() any { return e.held }
func (Either[A, B]) forms() []reflect.Type {
	return []reflect.Type{reflect.TypeFor[A](), reflect.TypeFor[B]()}
}

// either is an Either of any two forms, or what is like it.
type either interface{ form() any }

func formOf(e either) (any, error) {
	if form := e.form(); form != nil {
		return form, nil
	}
	return nil, fmt.Errorf("a reply %T holds neither form", e)
}

// bare are the items of a list without the Either around each, so that they are not encoded twice.
func bare(items any) (any, error) {
	v := reflect.ValueOf(items)
	if !v.Type().Elem().Implements(reflect.TypeFor[either]()) {
		return items, nil
	}
	forms := make([]any, v.Len())
	for i := range forms {
		form, err := formOf(v.Index(i).Interface().(either))
		if err != nil {
			return nil, err
		}
		forms[i] = form
	}
	return forms, nil
}

// shaped is a type of the kit that answers in other forms than its own, or in none.
type shaped interface{ forms() []reflect.Type }

func (WithHeaders[T]) forms() []reflect.Type    { return []reflect.Type{reflect.TypeFor[T]()} }
func (DryRun[T]) forms() []reflect.Type         { return []reflect.Type{reflect.TypeFor[T]()} }
func (NothingCreated[T]) forms() []reflect.Type { return []reflect.Type{reflect.TypeFor[T]()} }
func (Extended[T]) forms() []reflect.Type       { return []reflect.Type{reflect.TypeFor[T]()} }
func (Later[R]) forms() []reflect.Type          { return []reflect.Type{reflect.TypeFor[R]()} }
func (NothingAvailable) forms() []reflect.Type  { return nil }
func (Stream) forms() []reflect.Type            { return nil }

// formsOf are the types that documents show for a type.
func formsOf(t reflect.Type) (all []reflect.Type) {
	s, ok := reflect.Zero(t).Interface().(shaped)
	if !ok {
		return []reflect.Type{t}
	}
	for _, form := range s.forms() {
		all = append(all, formsOf(form)...)
	}
	return all
}

// Extended is a reply that has members whose names are only known when the server runs, after those of its form.
type Extended[T any] struct {
	Body T // an object with at least one member
	More []Member
}

// Member is one such member.
type Member struct {
	Name  string
	Value any
}

// MarshalJSON writes one object.
func (e Extended[T]) MarshalJSON() ([]byte, error) {
	text, err := json.Marshal(e.Body)
	if err != nil {
		return nil, err
	}
	text = bytes.TrimSuffix(text, []byte("}"))
	for _, m := range e.More {
		one, err := json.Marshal(map[string]any{m.Name: m.Value})
		if err != nil {
			return nil, err
		}
		text = append(append(text, ','), one[1:len(one)-1]...)
	}
	return append(text, '}'), nil
}
