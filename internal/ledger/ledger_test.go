package ledger_test

import (
	"os"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"stithy/internal/ledger"
)

func TestEveryRowOfTheLedgerIsShownByATest(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/spec/ledger.md")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := ledger.Parse(string(text))
	if err != nil {
		t.Fatalf("docs/spec/ledger.md: %v", err)
	}
	if len(rows) == 0 {
		t.Fatal("docs/spec/ledger.md has no row")
	}
	tests, err := ledger.Find(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range ledger.Unshown(rows, tests) {
		t.Errorf("docs/spec/ledger.md: %s", problem)
	}
}

func TestRowsAreReadFromAllTables(t *testing.T) {
	t.Parallel()
	rows, err := ledger.Parse(`
Prose with | a bar.

| name | meaning |
|---|---|
| id | not a row |

## Accounts

| id | rule | shown by |
|----|:-----|----------|
| USER-01 | Names are unique. | TestA, ` + "`user.TestB`" + ` |
|USER-02|Names are short.|e2e:names|

## Tokens

| id | rule | shown by |
|---|---|---|
| TOKEN-01 | A token is shown once. | TestC/by header |`)
	if err != nil {
		t.Fatal(err)
	}
	want := []ledger.Row{
		{Line: 12, ID: "USER-01", Rule: "Names are unique.", ShownBy: "TestA, `user.TestB`"},
		{Line: 13, ID: "USER-02", Rule: "Names are short.", ShownBy: "e2e:names"},
		{Line: 19, ID: "TOKEN-01", Rule: "A token is shown once.", ShownBy: "TestC/by header"},
	}
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAMalformedRowIsRefused(t *testing.T) {
	t.Parallel()
	const head = "| id | rule | shown by |\n|---|---|---|\n"
	for _, tt := range []struct{ fact, rows, want string }{
		{"a column too many", "| A-01 | a | b | c |", "line 3: 4 columns instead of 3"},
		{"a column too few", "| A-01 | a |", "line 3: 2 columns instead of 3"},
		{"no id", "| first | a | TestA |", `line 3: "first" is not an id`},
		{"an id twice", "| A-01 | a | TestA |\n| A-01 | b | TestB |", "line 4: A-01 stands on line 3 already"},
		{"an id twice, in two tables", "| A-01 | a | TestA |\n\n" + head + "| A-01 | b | TestB |", "line 7: A-01 stands on line 3 already"},
		{"no test", "| A-01 | a | |", "line 3: A-01 has an empty cell"},
		{"no rule", "| A-01 | | TestA |", "line 3: A-01 has an empty cell"},
	} {
		t.Run(tt.fact, func(t *testing.T) {
			t.Parallel()
			_, err := ledger.Parse(head + tt.rows)
			if err == nil || err.Error() != tt.want {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

func find(t *testing.T) *ledger.Tests {
	t.Helper()
	tests, err := ledger.Find(fstest.MapFS{
		"internal/user/user_test.go": {Data: []byte("package user_test\n" +
			"func TestAU01_NoAddress(t *testing.T) { t.Run(\"by mail\", nil) }\nfunc TestNames(t *testing.T) {}\n" +
			"func Testimony() {}\nfunc (x T) TestMethod() {}\nfunc helper() {}\nfunc FuzzAU01_Address(f *testing.F) {}")},
		"internal/token/token_test.go":  {Data: []byte("package token\nfunc TestNames(t *testing.T) { t.Run(\"short\", nil) }\nfunc TestTK10_Digests(t *testing.T) {}")},
		"internal/token/token.go":       {Data: []byte("package token\nfunc TestInCode() {}")},
		"test/e2e/e2e_test.go":          {Data: []byte("package e2e\nfunc TestScripts(t *testing.T) {}")},
		"test/e2e/testdata/login.txtar": {},
		"test/e2e/python/client.py":     {},
	})
	if err != nil {
		t.Fatal(err)
	}
	return tests
}

func TestARowMayPointToTestsSubtestsAndScripts(t *testing.T) {
	t.Parallel()
	tests := find(t)
	for name, want := range map[string]bool{
		"TestNames":                  true,
		"user.TestNames":             true,
		"token.TestNames":            true,
		"setting.TestNames":          false,
		"user.TestAU01_NoAddress":    true,
		"token.TestAU01_NoAddress":   false,
		"TestAU01_NoAddress/by mail": true,
		"TestAU01_NoAddress/by_mail": true,
		"TestAU01_NoAddress/short":   false, // written, but in the tests of another package
		"user.TestNames/short":       false,
		"TestNames/short":            true,
		"FuzzAU01_Address":           true,
		"e2e.TestScripts":            true,
		"e2e:login":                  true,
		"e2e:client":                 true,
		"e2e:e2e_test":               false,
		"TestInCode":                 false,
		"TestMethod":                 false,
		"Testimony":                  false,
		"helper":                     false,
		"":                           false,
	} {
		if got := tests.Has(name); got != want {
			t.Errorf("%q exists: %v, want %v", name, got, want)
		}
	}
}

func TestARowThatPointsToNothingIsReported(t *testing.T) {
	t.Parallel()
	got := ledger.Unshown([]ledger.Row{
		{Line: 3, ID: "A-01", ShownBy: "TestNames, `TestScripts`"},
		{Line: 4, ID: "A-02", ShownBy: "TestNames, TestNothing"},
		{Line: 5, ID: "A-03", ShownBy: "e2e:gone"},
		{Line: 6, ID: "A-04", ShownBy: "TestNames,"},
	}, find(t))
	want := []string{
		`line 4: A-02 is shown by "TestNothing", which does not exist`,
		`line 5: A-03 is shown by "e2e:gone", which does not exist`,
		`line 6: A-04 is shown by "", which does not exist`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestThreatsAndTestsNameEachOther(t *testing.T) {
	t.Parallel()
	shown, problems := ledger.Threats([]ledger.Row{{Line: 3, ID: "AU-01"}, {Line: 4, ID: "AU-02"}}, find(t))
	wantShown := map[string][]string{"AU-01": {"FuzzAU01_Address", "TestAU01_NoAddress"}, "TK-10": {"TestTK10_Digests"}}
	if diff := cmp.Diff(wantShown, shown); diff != "" {
		t.Errorf("shown (-want +got):\n%s", diff)
	}
	wantProblems := []string{"line 4: no test carries the id of AU-02", "TestTK10_Digests: no row has the id TK-10"}
	if diff := cmp.Diff(wantProblems, problems); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}
