package variable

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"stithy/internal/platform/postgres/postgrestest"
	"stithy/internal/platform/secretbox"
)

func TestEveryQueryIsUnderstood(t *testing.T) {
	t.Parallel()
	tx := postgrestest.Tx(t)
	for name, sql := range map[string]string{
		"by_key": sqlByKey, "lock": sqlLock, "room": sqlRoom, "create": sqlCreate, "update": sqlUpdate, "delete": sqlDelete,
	} {
		if _, err := tx.Prepare(t.Context(), name, sql); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := tx.Exec(t.Context(), sqlLockAll); err != nil {
		t.Error(err)
	}
}

func TestWhichValuesCanBeMasked(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		value         string
		expanded, raw bool
	}{
		{"12345678", true, true},
		{"1234567", false, false},
		{"aZ0_+=/@:.~-", true, true},
		{"ääääääää", false, true},
		{"äääääää", false, false},
		{"$12345678", false, true},
		{"1234 5678", false, false},
		{"12345678\n", false, false},
		{"12345678\n12345678", false, false},
		{"12345678\u00a0", false, false},
		{"", false, false},
	} {
		for _, raw := range []bool{false, true} {
			v := &Variable{Key: "A", Value: secretbox.Secret(test.value), Masked: true, Raw: raw}
			want := test.expanded
			if raw {
				want = test.raw
			}
			if got := v.check() == nil; got != want {
				t.Errorf("%q, raw %v: maskable is %v", test.value, raw, got)
			}
			if v.Masked = false; v.check() != nil {
				t.Errorf("%q is refused without a mask", test.value)
			}
		}
	}
}

func TestNothingThatIsCheckedShowsTheValue(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		value := "canary" + rapid.String().Draw(t, "value")
		v := &Variable{
			Key: rapid.String().Draw(t, "key"), Value: secretbox.Secret(value),
			Masked: rapid.Bool().Draw(t, "masked"), Raw: rapid.Bool().Draw(t, "raw"),
		}
		said := fmt.Sprintf("%v %+v %#v", v, *v, *v)
		if err := v.check(); err != nil {
			said += err.Error()
		}
		if strings.Contains(said, "canary") {
			t.Fatal(said)
		}
	})
}
