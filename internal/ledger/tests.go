package ledger

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Tests is what can be pointed to in a source tree.
type Tests struct {
	packages map[string][]string        // test or fuzz function → names of the packages that have it
	texts    map[string]map[string]bool // package name → string literals of its tests, as subtests would be called
	scripts  map[string]bool            // end-to-end scripts
}

const scriptDir = "test/e2e/"

// Find reads the test files of a module.
func Find(module fs.FS) (*Tests, error) {
	t := &Tests{packages: map[string][]string{}, texts: map[string]map[string]bool{}, scripts: map[string]bool{}}
	err := fs.WalkDir(module, ".", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if file != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules" || d.Name() == "bin") {
				return fs.SkipDir
			}
			return nil
		}
		if strings.HasSuffix(file, "_test.go") {
			return t.read(module, file)
		}
		if strings.HasPrefix(file, scriptDir) && path.Ext(file) != ".go" {
			t.scripts[strings.TrimSuffix(d.Name(), path.Ext(file))] = true
		}
		return nil
	})
	return t, err
}

func (t *Tests) read(module fs.FS, name string) error {
	text, err := fs.ReadFile(module, name)
	if err != nil {
		return err
	}
	file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
	if err != nil {
		return fmt.Errorf("reading tests: %w", err)
	}
	pkg := path.Base(path.Dir(name))
	for _, decl := range file.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if ok && fn.Recv == nil && isTest.MatchString(fn.Name.Name) {
			t.packages[fn.Name.Name] = append(t.packages[fn.Name.Name], pkg)
		}
	}
	if t.texts[pkg] == nil {
		t.texts[pkg] = map[string]bool{}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if text, err := strconv.Unquote(lit.Value); err == nil {
				t.texts[pkg][strings.ReplaceAll(text, " ", "_")] = true
			}
		}
		return true
	})
	return nil
}

var isTest = regexp.MustCompile(`^(Test|Fuzz)[^a-z]`)

// Has tells whether what a row points to exists. A subtest exists if its name is written in the tests of the package.
func (t *Tests) Has(name string) bool {
	if script, ok := strings.CutPrefix(name, "e2e:"); ok {
		return t.scripts[script]
	}
	name, subtest, nested := strings.Cut(name, "/")
	pkg, function, qualified := strings.Cut(name, ".")
	if !qualified {
		function = name
	}
	return slices.ContainsFunc(t.packages[function], func(p string) bool {
		return (!qualified || p == pkg) && (!nested || t.texts[p][strings.ReplaceAll(subtest, " ", "_")])
	})
}

var threatID = regexp.MustCompile(`^(?:Test|Fuzz)([A-Z]{2})([0-9]{2})_`)

// ByThreat groups the tests that carry the id of a threat.
func (t *Tests) ByThreat() map[string][]string {
	found := map[string][]string{}
	for name := range t.packages {
		if m := threatID.FindStringSubmatch(name); m != nil {
			id := m[1] + "-" + m[2]
			found[id] = append(found[id], name)
		}
	}
	for _, names := range found {
		slices.Sort(names)
	}
	return found
}
