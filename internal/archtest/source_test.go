package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// module is how the import paths of our own packages begin.
const module = "stithy/"

// source is one parsed file.
type source struct {
	path string // from the module's root
	room string // the package's entry in floors; empty without one
	test bool   // a test file, or part of a package of test helpers
	file *ast.File
	fset *token.FileSet
}

func (s *source) dir() string { return path.Dir(s.path) }

// is tells the layer of a room that the file belongs to: "api" is api.go and api_*.go.
func (s *source) is(layer string) bool {
	name := path.Base(s.path)
	return name == layer+".go" || strings.HasPrefix(name, layer+"_")
}

// breach says where a rule is broken and how.
func (s *source) breach(at token.Pos, format string, args ...any) string {
	return fmt.Sprintf("%s:%d: ", s.path, s.fset.Position(at).Line) + fmt.Sprintf(format, args...)
}

// local is the name by which the file calls an imported package; empty if it does not import it.
func (s *source) local(importPath string) string {
	for _, spec := range s.file.Imports {
		if imported(spec) != importPath {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		return path.Base(importPath)
	}
	return ""
}

func imported(spec *ast.ImportSpec) string {
	p, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		panic(err) // the parser has read it
	}
	return p
}

// tree is the source of the whole module, parsed once.
var tree = sync.OnceValues(func() ([]*source, error) { return load(os.DirFS("../..")) })

func theTree(t *testing.T) []*source {
	t.Helper()
	files, err := tree()
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// load parses every Go file of the module. It opens the files itself: go test keeps a result while the files that the
// test opened are unchanged, and does not know what a subprocess such as go list has read.
func load(fsys fs.FS) ([]*source, error) {
	var files []*source
	fset := token.NewFileSet()
	err := fs.WalkDir(fsys, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if p != "." && (strings.HasPrefix(d.Name(), ".") || slices.Contains(notOurs, d.Name())) {
				return fs.SkipDir
			}
			return nil
		}
		if path.Ext(p) != ".go" {
			return nil
		}
		text, err := fs.ReadFile(fsys, p)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(fset, p, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files = append(files, &source{
			path: p,
			room: roomOf(path.Dir(p)),
			test: strings.HasSuffix(p, "_test.go") || isHelper(path.Dir(p)) || strings.HasPrefix(p, "test/"),
			file: file,
			fset: fset,
		})
		return nil
	})
	return files, err
}

// notOurs are directories without packages of this module.
var notOurs = []string{"bin", "node_modules", "testdata", "tmp", "tools"}

// isHelper tells a package that helps the tests of other rooms, such as user/usertest.
func isHelper(dir string) bool {
	return path.Base(dir) == path.Base(path.Dir(dir))+"test"
}
