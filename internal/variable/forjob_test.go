package variable_test

import (
	"strings"
	"testing"

	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/platform/secretbox"
	"stithy/internal/variable"
)

func TestProtectedVariablesOfEveryPlaceAreForProtectedRefs(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for key, of := range map[string]bus.Entity{"TOP": w.top.Entity(), "TEAM": w.group.Entity(), "TOOL": w.project.Entity()} {
		v := &variable.Variable{Key: key, Value: secretbox.Secret("value"), Type: variable.EnvVar, Protected: true}
		if err := w.variables.CreateIn(t.Context(), access.Actor{}, of, v); err != nil {
			t.Fatal(err)
		}
	}
	v := &variable.Variable{Key: "ALL", Value: secretbox.Secret("value"), Type: variable.EnvVar, Protected: true}
	if err := w.variables.Create(t.Context(), access.Actor{}, v); err != nil {
		t.Fatal(err)
	}
	for protected, want := range map[bool]string{true: "ALL TEAM TOOL TOP", false: ""} {
		given, err := w.variables.ForJob(t.Context(), w.db, variable.Query{
			ProjectID: w.project.ID, GroupIDs: []int64{w.top.ID, w.group.ID}, Protected: protected,
		})
		if err != nil {
			t.Fatal(err)
		}
		var keys []string
		for _, v := range given {
			keys = append(keys, v.Key)
		}
		if got := strings.Join(keys, " "); got != want {
			t.Errorf("a job of a ref that is protected (%t) is given %q, want %q", protected, got, want)
		}
	}
}
