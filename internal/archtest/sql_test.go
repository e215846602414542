package archtest

import (
	"go/ast"
	"go/constant"
	"go/types"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"stithy/internal/platform/postgres/postgrestest"
)

func TestEverySQLConstantPrepares(t *testing.T) {
	t.Parallel()
	statements, breaches := sqlConstants(theTree(t))
	for _, breach := range breaches {
		t.Error(breach)
	}
	if len(statements) == 0 {
		t.Fatal("found no statement")
	}
	conn, err := postgrestest.New(t).Pool().Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	for _, s := range statements {
		if _, err := conn.Conn().PgConn().Prepare(t.Context(), "", s.text, nil); err != nil {
			t.Errorf("%s: %v", s.at, err)
		}
	}
	t.Logf("%d statements", len(statements))
}

// sqlConstant is a statement and where it is.
type sqlConstant struct{ at, text string }

// sqlConstants finds the constants of queries*.go that are called sql…, and what looks like a statement under another
// name.
func sqlConstants(files []*source) (statements []sqlConstant, breaches []string) {
	c := &checker{files: files, packages: map[string]*types.Package{}}
	for _, s := range files {
		if s.test || !s.is("queries") {
			continue
		}
		scope := c.check(s.dir()).Scope()
		for _, name := range scope.Names() {
			object, ok := scope.Lookup(name).(*types.Const)
			if !ok || s.fset.Position(object.Pos()).Filename != s.path {
				continue
			}
			named := strings.HasPrefix(name, "sql")
			if object.Val().Kind() != constant.String {
				if named {
					breaches = append(breaches, s.breach(object.Pos(), "%s is not a known string", name))
				}
				continue
			}
			text := constant.StringVal(object.Val())
			if named {
				statements = append(statements, sqlConstant{at: s.breach(object.Pos(), "%s", name), text: text})
			} else if statement.MatchString(text) && !slices.Contains(partsOfSQL, s.dir()+"."+name) {
				breaches = append(breaches, s.breach(object.Pos(), "the statement %s is not called sql…", name))
			}
		}
	}
	return statements, breaches
}

// checker computes constants with the type checker. It reads our own packages without the bodies of their functions,
// and takes all others to be empty: no statement is made of what they hold, so errors are of no interest.
type checker struct {
	files    []*source
	packages map[string]*types.Package
}

func (c *checker) Import(importPath string) (*types.Package, error) {
	if dir, ours := strings.CutPrefix(importPath, module); ours {
		return c.check(dir), nil
	}
	empty := types.NewPackage(importPath, path.Base(importPath))
	empty.MarkComplete()
	return empty, nil
}

func (c *checker) check(dir string) *types.Package {
	if pkg := c.packages[dir]; pkg != nil {
		return pkg
	}
	var syntax []*ast.File
	own := slices.DeleteFunc(slices.Clone(c.files), func(s *source) bool {
		return s.dir() != dir || strings.HasSuffix(s.path, "_test.go")
	})
	for _, s := range own {
		syntax = append(syntax, s.file)
	}
	config := types.Config{Importer: c, IgnoreFuncBodies: true, Error: func(error) {}}
	pkg, _ := config.Check(module+dir, c.files[0].fset, syntax, nil)
	c.packages[dir] = pkg
	return pkg
}

func TestConstantsAreComputedAcrossPackages(t *testing.T) {
	t.Parallel()
	files, err := load(fstest.MapFS{
		"internal/user/queries.go": {Data: []byte("package user\nimport \"time\"\n" +
			"const Columns = `u.id, ` + rest\nconst rest = `u.name`\nconst limit = 5\nvar sqlVariable = time.Now().String()")},
		"internal/user/queries_keys.go": {Data: []byte("package user\nconst (\n\tsqlAll = `select ` + Columns + ` from users u`\n\tall = sqlAll + ` limit 5`\n)")},
		"internal/token/queries.go": {Data: []byte("package token\nimport \"stithy/internal/user\"\n" +
			"const sqlOwner = `select ` + user.Columns + ` from tokens t join users u using (id)`\n" +
			"const sqlUnknown = `select ` + user.Missing\nconst sqlNumber = 5")},
		"internal/token/queries_test.go": {Data: []byte("package token\nconst sqlOfATest = `select 1`")},
	})
	if err != nil {
		t.Fatal(err)
	}
	statements, breaches := sqlConstants(files)
	want := []sqlConstant{
		{at: "internal/token/queries.go:3: sqlOwner", text: "select u.id, u.name from tokens t join users u using (id)"},
		{at: "internal/user/queries_keys.go:3: sqlAll", text: "select u.id, u.name from users u"},
	}
	if diff := cmp.Diff(want, statements, cmp.AllowUnexported(sqlConstant{})); diff != "" {
		t.Errorf("statements (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{
		"internal/token/queries.go:5: sqlNumber is not a known string",
		"internal/token/queries.go:4: sqlUnknown is not a known string",
		"internal/user/queries_keys.go:4: the statement all is not called sql…",
	}, breaches); diff != "" {
		t.Errorf("breaches (-want +got):\n%s", diff)
	}
}
