// Package deps checks that a room or a door was given all that it needs. A
// field that was forgotten stops the process at its start, with the name of the
// field, and not the first request that needs it.
package deps

import (
	"fmt"
	"reflect"
)

// Complete returns d, a struct of dependencies, and panics if one of its fields
// is nil. Something that may be absent is given as a value that does nothing.
func Complete[D any](d D) D {
	if missing := Missing(reflect.ValueOf(d)); missing != "" {
		panic(fmt.Sprintf("%T.%s is nil: give it where the application is put together", d, missing))
	}
	return d
}

// Missing is the first field of a struct that is nil, or "". A struct within it
// is part of it; what a pointer leads to is not.
func Missing(d reflect.Value) string {
	for i := range d.NumField() {
		field, name := d.Field(i), d.Type().Field(i).Name
		switch field.Kind() {
		case reflect.Struct:
			if within := Missing(field); within != "" {
				return name + "." + within
			}
		case reflect.Pointer, reflect.Interface, reflect.Func, reflect.Map, reflect.Chan, reflect.Slice:
			if field.IsNil() {
				return name
			}
		}
	}
	return ""
}
