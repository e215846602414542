package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"stithy/internal/platform/postgres"
	"stithy/internal/platform/postgres/postgrestest"
)

func TestConstraintNamesTheViolatedRule(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, sql, want string }{
		{"unique", "insert into houses values (1, 'a'), (2, 'a')", "houses_name_key"},
		{"check", "insert into houses values (1, '')", "houses_name_check"},
		{"not null", "insert into houses values (1, null)", "name"},
		{"foreign key", "insert into rooms values (1, '[1,2]')", "rooms_house_id_fkey"},
		{"still referenced", "insert into houses values (1, 'a'); insert into rooms values (1, '[1,2]'); delete from houses",
			"rooms_house_id_fkey"},
		{"exclusion", "insert into houses values (1, 'a'); insert into rooms values (1, '[1,3]'), (1, '[2,4]')",
			"rooms_span_excl"},
		{"another error", "select 1/0", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			tx := postgrestest.Tx(t)
			_, err := tx.Exec(t.Context(), `
				create temporary table houses (id int primary key, name text not null unique check (name <> ''));
				create temporary table rooms (house_id int references houses, span int4range, exclude using gist (span with &&));
				`+test.sql)
			if err == nil {
				t.Fatal("no error")
			}
			name, ok := postgres.Constraint(fmt.Errorf("saving: %w", err))
			if name != test.want || ok != (test.want != "") {
				t.Errorf("got %q, %t; the error is %v", name, ok, err)
			}
		})
	}
}

func TestFaultsTranslateOnlyWhatTheyName(t *testing.T) {
	t.Parallel()
	taken := errors.New("name has been taken")
	faults := postgres.Faults{"houses_name_key": taken}
	tx := postgrestest.Tx(t)
	_, err := tx.Exec(t.Context(), `create temporary table houses (name text unique); insert into houses values ('a'), ('a')`)

	if got := faults.Translate(err); got != taken {
		t.Errorf("got %v", got)
	}
	if got := (postgres.Faults{"other_key": taken}).Translate(err); got != err {
		t.Errorf("got %v", got)
	}
	if got := faults.Translate(context.Canceled); got != context.Canceled {
		t.Errorf("got %v", got)
	}
	if got := faults.Translate(nil); got != nil {
		t.Errorf("got %v", got)
	}
}
